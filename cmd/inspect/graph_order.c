/*
 * The edges of a graph, and the order that follows from them: Kahn's algorithm, with a heap of
 * the nodes that wait for nothing. What is left over when the heap is empty waits for itself.
 */
#include "inspect/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"

#define CIRCLE_SHOWN 8 /* events of a circle that a message names */

/* What Kahn's algorithm works with. */
struct sorting {
	const struct graph *graph;
	uint32_t *effects;       /* nodes, by the node that is their cause */
	uint32_t *first_effect;  /* of each node, and one more at the end */
	uint32_t *waits;         /* causes of each node that are not out */
	uint32_t *heap;          /* nodes that wait for nothing */
	uint32_t heaped;
	uint32_t *order;
	uint32_t ordered;
};

static const struct graph_node *
cause_of(const struct graph *g, const struct graph_node *node, uint32_t i)
{
	return &g->nodes[g->causes[node->cause + i]];
}

/* Of several faults the one of the earliest line is told. */
struct fault {
	const struct graph_node *node;
	uint32_t cause; /* which of its causes */
};

static void
note_fault(struct fault *fault, const struct graph_node *node, uint32_t cause)
{
	if (!fault->node || node->offset < fault->node->offset)
		*fault = (struct fault){ node, cause };
}

static const char *
role(const struct fault *fault)
{
	return fault->node->parented && fault->cause == 0 ? "parent" : "link";
}

/* The start of a transcript whose first attempt is a later one, as that of a replay may
 * be; else GRAPH_NONE. */
static uint32_t
late_start(const struct graph *g)
{
	uint32_t first = GRAPH_NONE;

	for (uint32_t i = 0; i < g->count; i++)
		if (g->nodes[i].type == EVENT_RUN_STARTED &&
		    (first == GRAPH_NONE || g->nodes[i].attempt < g->nodes[first].attempt))
			first = i;
	return first != GRAPH_NONE && g->nodes[first].attempt > 1 ? first : GRAPH_NONE;
}

/* Causes from ids to nodes. What an attempt that is not there has made, and a later one
 * passes on, is known from the start. */
static int
find_causes(struct graph *g, struct error *err)
{
	char text[ID_SIZE], cause[ID_SIZE];
	struct fault fault = { NULL, 0 };
	uint32_t start = late_start(g);

	g->causes = memory_array(NULL, g->cause_count + 1, sizeof *g->causes);
	for (uint32_t i = 0; i < g->count; i++) {
		const struct graph_node *node = &g->nodes[i];

		for (uint32_t c = 0; c < node->causes; c++) {
			bool link = !node->parented || c > 0;

			g->causes[node->cause + c] = graph_find(g, g->named[node->cause + c]);
			if (g->causes[node->cause + c] == GRAPH_NONE && link)
				g->causes[node->cause + c] = start;
			if (g->causes[node->cause + c] == GRAPH_NONE)
				note_fault(&fault, node, c);
		}
	}
	if (!fault.node)
		return 0;
	return error_set(err, ERROR_SCHEMA, uuid_write(fault.node->id, text),
	    "the %s of this %s (seq %lld), event %s, is not recorded", role(&fault),
	    event_type_name(fault.node->type), (long long)fault.node->seq,
	    uuid_write(g->named[fault.node->cause + fault.cause], cause));
}

/* Only a run.started, and a type that this version does not know, may have none. */
static int
check_parents(const struct graph *g, struct error *err)
{
	char text[ID_SIZE];
	struct fault fault = { NULL, 0 };

	for (uint32_t i = 0; i < g->count; i++)
		if (!g->nodes[i].parented && g->nodes[i].type != EVENT_RUN_STARTED &&
		    g->nodes[i].type != EVENT_TYPES)
			note_fault(&fault, &g->nodes[i], 0);
	if (!fault.node)
		return 0;
	return error_set(err, ERROR_SCHEMA, uuid_write(fault.node->id, text),
	    "this %s (seq %lld) has no parent", event_type_name(fault.node->type),
	    (long long)fault.node->seq);
}

/* Of what an event does not say itself, the latest attempt of its causes: one may go on with
 * what an earlier one made. Causes stand before their effects in the file; where they do not,
 * that comes out later. */
static void
find_attempts(struct graph *g)
{
	uint32_t *order = graph_order_seq(g);

	for (uint32_t i = 0; i < g->count; i++) {
		struct graph_node *node = &g->nodes[order[i]];
		int32_t latest = 1;

		for (uint32_t c = 0; c < node->causes; c++)
			if (cause_of(g, node, c)->attempt > latest)
				latest = cause_of(g, node, c)->attempt;
		if (node->attempt == 0)
			node->attempt = latest;
	}
	free(order);
}

static int
check_attempts(const struct graph *g, struct error *err)
{
	char text[ID_SIZE], other[ID_SIZE];
	struct fault fault = { NULL, 0 };
	const struct graph_node *cause;

	for (uint32_t i = 0; i < g->count; i++) {
		const struct graph_node *node = &g->nodes[i];

		for (uint32_t c = 0; c < node->causes; c++) {
			cause = cause_of(g, node, c);
			if (cause->attempt > node->attempt ||
			    (cause->attempt == node->attempt && cause->type == EVENT_RUN_COMPLETED))
				note_fault(&fault, node, c);
		}
	}
	if (!fault.node)
		return 0;
	cause = cause_of(g, fault.node, fault.cause);
	return error_set(err, ERROR_SCHEMA, uuid_write(fault.node->id, text),
	    "the %s of this %s (seq %lld), event %s, is %s attempt %d", role(&fault),
	    event_type_name(fault.node->type), (long long)fault.node->seq,
	    uuid_write(cause->id, other),
	    cause->attempt == fault.node->attempt ? "the end of the same" : "of the later",
	    (int)cause->attempt);
}

/* Edges the other way round: counted, then filled in from behind. */
static void
find_effects(struct sorting *s)
{
	const struct graph *g = s->graph;

	s->first_effect = memory_zero((size_t)g->count + 1, sizeof *s->first_effect);
	s->effects = memory_array(NULL, g->cause_count + 1, sizeof *s->effects);
	for (size_t i = 0; i < g->cause_count; i++)
		s->first_effect[g->causes[i]]++;
	for (uint32_t i = 1; i <= g->count; i++)
		s->first_effect[i] += s->first_effect[i - 1];
	for (uint32_t i = g->count; i-- > 0;)
		for (uint32_t c = 0; c < g->nodes[i].causes; c++)
			s->effects[--s->first_effect[g->causes[g->nodes[i].cause + c]]] = i;
}

static int
rank(const struct graph_node *node)
{
	return node->type == EVENT_RUN_STARTED ? 0 : node->type == EVENT_RUN_COMPLETED ? 2 : 1;
}

/* Nodes are kept by id, so the index decides where nothing else does. */
static bool
goes_first(const struct graph *g, uint32_t left, uint32_t right)
{
	const struct graph_node *a = &g->nodes[left], *b = &g->nodes[right];

	if (a->attempt != b->attempt)
		return a->attempt < b->attempt;
	return rank(a) != rank(b) ? rank(a) < rank(b) : left < right;
}

static void
heap_add(struct sorting *s, uint32_t node)
{
	uint32_t at = s->heaped++;

	for (; at > 0 && goes_first(s->graph, node, s->heap[(at - 1) / 2]); at = (at - 1) / 2)
		s->heap[at] = s->heap[(at - 1) / 2];
	s->heap[at] = node;
}

static uint32_t
heap_take(struct sorting *s)
{
	uint32_t first = s->heap[0], last = s->heap[--s->heaped], at = 0, below;

	while ((below = 2 * at + 1) < s->heaped) {
		if (below + 1 < s->heaped && goes_first(s->graph, s->heap[below + 1], s->heap[below]))
			below++;
		if (!goes_first(s->graph, s->heap[below], last))
			break;
		s->heap[at] = s->heap[below];
		at = below;
	}
	s->heap[at] = last;
	return first;
}

static void
sort(struct sorting *s, struct graph *g)
{
	for (uint32_t i = 0; i < g->count; i++) {
		s->waits[i] = g->nodes[i].causes;
		if (s->waits[i] == 0)
			heap_add(s, i);
	}
	while (s->heaped > 0) {
		uint32_t out = heap_take(s);
		struct graph_node *node = &g->nodes[out];

		/* An event is part of the call that it starts, or that its parent is part of. */
		if (event_type_starts_call(node->type))
			node->call = out;
		else if (node->parented && node->type != EVENT_RUN_COMPLETED)
			node->call = cause_of(g, node, 0)->call;
		s->order[s->ordered++] = out;
		for (uint32_t e = s->first_effect[out]; e < s->first_effect[out + 1]; e++)
			if (--s->waits[s->effects[e]] == 0)
				heap_add(s, s->effects[e]);
	}
}

/* A cause of a node that waits, one that waits itself: there always is one. */
static uint32_t
waiting_cause(const struct sorting *s, uint32_t node, uint32_t from)
{
	const struct graph_node *n = &s->graph->nodes[node];

	while (from < n->causes && s->waits[s->graph->causes[n->cause + from]] == 0)
		from++;
	return from;
}

/* A node on a circle: whoever goes from cause to cause among those that wait comes to
 * one that he has seen. */
static uint32_t
find_circle(const struct sorting *s)
{
	const struct graph *g = s->graph;
	bool *seen = memory_zero(g->count, sizeof *seen);
	uint32_t at = 0;

	while (s->waits[at] == 0)
		at++;
	while (!seen[at]) {
		seen[at] = true;
		at = g->causes[g->nodes[at].cause + waiting_cause(s, at, 0)];
	}
	free(seen);
	return at;
}

/* The shortest way from a node to itself, by causes that wait: found breadth first;
 * next[i] is the node that i was reached from. */
static uint32_t *
shortest_circle(const struct sorting *s, uint32_t start)
{
	const struct graph *g = s->graph;
	uint32_t *next = memory_array(NULL, g->count, sizeof *next);
	uint32_t *queue = memory_array(NULL, g->count, sizeof *queue);
	uint32_t head = 0, tail = 0;

	memset(next, 0xff, g->count * sizeof *next);
	queue[tail++] = start;
	while (next[start] == GRAPH_NONE) {
		uint32_t at = queue[head++];
		const struct graph_node *node = &g->nodes[at];

		for (uint32_t c = waiting_cause(s, at, 0); c < node->causes;
		    c = waiting_cause(s, at, c + 1)) {
			uint32_t cause = g->causes[node->cause + c];

			if (next[cause] != GRAPH_NONE)
				continue;
			next[cause] = at;
			queue[tail++] = cause;
		}
	}
	free(queue);
	return next;
}

/* next[] leads from causes to effects. */
static void
tell_circle(const struct graph *g, uint32_t start, const uint32_t *next, struct error *err)
{
	struct buffer way = BUFFER_INIT;
	char text[ID_SIZE];
	uint32_t count = 0;

	for (uint32_t at = next[start]; at != start; at = next[at], count++)
		if (count < CIRCLE_SHOWN)
			buffer_format(&way, "%s%s", count == 0 ? ", by way of " : ", ",
			    uuid_write(g->nodes[at].id, text));
	if (count > CIRCLE_SHOWN)
		buffer_format(&way, " and %u more", count - CIRCLE_SHOWN);
	error_set(err, ERROR_SCHEMA, uuid_write(g->nodes[start].id, text),
	    "this %s (seq %lld) is a cause of itself%s", event_type_name(g->nodes[start].type),
	    (long long)g->nodes[start].seq, buffer_string(&way));
	buffer_free(&way);
}

uint32_t *
graph_order(struct graph *g, struct error *err)
{
	struct sorting s = { .graph = g };
	size_t size = sizeof *s.order;

	if (find_causes(g, err) != 0 || check_parents(g, err) != 0)
		return NULL;
	free(g->named);
	g->named = NULL;
	find_attempts(g);
	if (check_attempts(g, err) != 0)
		return NULL;
	find_effects(&s);
	s.waits = memory_array(NULL, (size_t)g->count + 1, size);
	s.heap = memory_array(NULL, (size_t)g->count + 1, size);
	s.order = memory_array(NULL, (size_t)g->count + 1, size);
	sort(&s, g);
	if (s.ordered < g->count) {
		uint32_t start = find_circle(&s), *next = shortest_circle(&s, start);

		tell_circle(g, start, next, err);
		free(next);
		free(s.order);
		s.order = NULL;
	}
	free(s.effects);
	free(s.first_effect);
	free(s.waits);
	free(s.heap);
	return s.order;
}

struct numbered {
	int64_t seq, offset;
	uint32_t node;
};

static int
by_seq(const void *left, const void *right)
{
	const struct numbered *a = left, *b = right;

	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	return a->offset < b->offset ? -1 : 1;
}

uint32_t *
graph_order_seq(const struct graph *g)
{
	struct numbered *events = memory_array(NULL, (size_t)g->count + 1, sizeof *events);
	uint32_t *order = memory_array(NULL, (size_t)g->count + 1, sizeof *order);

	for (uint32_t i = 0; i < g->count; i++)
		events[i] = (struct numbered){ g->nodes[i].seq, g->nodes[i].offset, i };
	if (g->count > 1)
		qsort(events, g->count, sizeof *events, by_seq);
	for (uint32_t i = 0; i < g->count; i++)
		order[i] = events[i].node;
	free(events);
	return order;
}
