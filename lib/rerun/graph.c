/*
 * One pass over the transcript makes a node for each event; nodes are then sorted by id and found
 * by bisection. Causes are kept as ids until then, because a link may name a later event. The
 * capacity of an array of n is the power of two at or above n, so it need not be stored.
 *
 * The order follows from the edges by Kahn's algorithm, with a heap of the nodes that wait for
 * nothing. Nodes that are left when the heap is empty are on a cycle, or caused by nodes on one.
 */
#include "rerun/graph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "transcript/event_keys.h"

#define CIRCLE_SHOWN 8 /* most events of a cycle that a message lists */

bool
graph_id_read(struct span value, struct uuid *id)
{
	return span_type(value) == 's' && uuid_read(value.at + 1, value.len - 2, id);
}

static int
compare_ids(struct uuid a, struct uuid b)
{
	if (a.high != b.high)
		return a.high < b.high ? -1 : 1;
	return a.low < b.low ? -1 : a.low > b.low;
}

static int
by_id(const void *left, const void *right)
{
	const struct graph_node *a = left, *b = right;
	int order = compare_ids(a->id, b->id);

	return order != 0 ? order : a->offset < b->offset ? -1 : 1;
}

uint32_t
graph_find(const struct graph *g, struct uuid id)
{
	uint32_t low = 0, high = g->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order = compare_ids(g->nodes[middle].id, id);

		if (order == 0)
			return middle;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return GRAPH_NONE;
}

/* Makes room for one more element than count; the capacity is the power of two at or
 * above count. */
static void *
graph_grow_array(void *array, size_t count, size_t size)
{
	if ((count & (count - 1)) != 0)
		return array;
	return memory_array(array, count == 0 ? 1 : 2 * count, size);
}

static int
graph_set_damaged_error(const struct graph *g, const char *what, struct error *err)
{
	return error_set(err, ERROR_INVALID_INPUT, g->reader.path,
	    "line %u is damaged: %s (see awf-verify)", g->lines, what);
}

/* Parses an id; false if it is not one. */
static bool
add_cause(struct graph *g, struct graph_node *node, struct span id)
{
	g->named = graph_grow_array(g->named, g->cause_count, sizeof *g->named);
	if (!graph_id_read(id, &g->named[g->cause_count]))
		return false;
	g->cause_count++;
	node->causes++;
	return true;
}

/* Adds the parent, then the links; links to other runs are objects and are skipped. False if
 * anything else is in the list. */
static bool
add_causes(struct graph *g, struct graph_node *node, const struct event_view *event)
{
	if (span_type(event->parent_event_id) == 's') {
		if (!add_cause(g, node, event->parent_event_id))
			return false;
		node->parented = true;
	}
	if (span_type(event->links) != 'a')
		return true;
	for (struct span_walk link = span_walk(event->links); span_next(&link);)
		if (span_type(link.value) != 'o' && !add_cause(g, node, link.value))
			return false;
	return true;
}

static int
add_event(struct graph *g, const char *line, size_t len, struct error *err)
{
	struct graph_node node = { .offset = g->reader.line_start, .length = (uint32_t)len,
		.cause = (uint32_t)g->cause_count, .call = GRAPH_NONE };
	struct event_view event;
	long long attempt = 0;
	size_t bad;

	if (!event_line_whole(line, len, &node.seq))
		return graph_set_damaged_error(g, "it is not whole", err);
	if (scan_within(line, len, SCAN_LINE_DEPTH, &bad) || event_view(line, len, &event) != 0)
		return graph_set_damaged_error(g, "it is no event", err);
	if (!graph_id_read(event.event_id, &node.id) || !add_causes(g, &node, &event))
		return graph_set_damaged_error(g, "its ids are no UUIDs", err);
	if (g->count + 1 >= GRAPH_NONE || g->cause_count >= GRAPH_NONE)
		return error_set(err, ERROR_INVALID_INPUT, g->reader.path, "too many events");
	node.type = (uint8_t)event.type;
	node.foreign = event_is_foreign(event.told, event.payload);
	node.unlike = event_type_starts_call(event.type) ? event.child_run_id.at != NULL :
	    event_type_ends_call(event.type) &&
	    span_is(span_path(event.payload, KEY_ERROR, KEY_CODE, NULL), error_name(ERROR_CANCELLED));
	/* The attempt that the event itself names; 0: it names none. */
	if ((event.type == EVENT_RUN_STARTED || event_type_starts_call(event.type)) &&
	    span_integer(span_member(event.payload, KEY_ATTEMPT), &attempt) && attempt >= 1 &&
	    attempt <= INT32_MAX)
		node.attempt = (int32_t)attempt;
	else
		node.attempt = event.type == EVENT_RUN_STARTED;
	g->nodes = graph_grow_array(g->nodes, g->count, sizeof *g->nodes);
	g->nodes[g->count++] = node;
	return 0;
}

int
graph_open_damaged(struct graph *g, const char *path,
    void (*warn)(const struct error *warning), struct error *err)
{
	const char *line;
	size_t len;
	int got;

	memset(g, 0, sizeof *g);
	if (reader_open(&g->reader, path, err) != 0)
		return -1;
	window_begin(&g->window, g->reader.fd);
	while ((got = reader_next(&g->reader, &line, &len, err)) == 1) {
		size_t causes = g->cause_count;

		g->lines++;
		if (add_event(g, line, len, err) == 0)
			continue;
		if (!warn || err->code != ERROR_INVALID_INPUT) {
			got = -1;
			break;
		}
		warn(err);
		g->cause_count = causes; /* drop the causes of a damaged line */
	}
	if (got == 0 && g->count > 1)
		qsort(g->nodes, g->count, sizeof *g->nodes, by_id);
	for (uint32_t i = 1; got == 0 && i < g->count; i++) {
		const struct graph_node *a = &g->nodes[i - 1], *b = &g->nodes[i];
		char text[ID_SIZE];

		if (compare_ids(a->id, b->id) == 0)
			got = error_set(err, ERROR_SCHEMA, uuid_write(a->id, text),
			    "this event is recorded twice, as seq %lld and %lld",
			    (long long)a->seq, (long long)b->seq);
	}
	if (got != 0)
		graph_close(g);
	return got;
}

int
graph_open(struct graph *g, const char *path, struct error *err)
{
	return graph_open_damaged(g, path, NULL, err);
}

const char *
graph_line(struct graph *g, const struct graph_node *node, struct error *err)
{
	const char *line = window_bytes(&g->window, node->offset,
	    node->offset + node->length + 1);

	if (!line)
		error_errno(err, ERROR_SYSTEM, g->reader.path, "unable to read byte %lld again",
		    (long long)node->offset);
	return line;
}

/* ---- order ---- */

/* State of Kahn's algorithm. */
struct sorting {
	const struct graph *graph;
	uint32_t *effects;       /* nodes, by the node that is their cause */
	uint32_t *first_effect;  /* index into effects for each node, and one more at the end */
	uint32_t *waits;         /* causes of each node that were not output yet */
	uint32_t *heap;          /* nodes without remaining causes */
	uint32_t heaped;
	uint32_t *order;
	uint32_t ordered;
};

static const struct graph_node *
cause_of(const struct graph *g, const struct graph_node *node, uint32_t i)
{
	return &g->nodes[g->causes[node->cause + i]];
}

/* Of several errors, the one in the earliest line is reported. */
struct fault {
	const struct graph_node *node;
	uint32_t cause; /* index of the wrong cause among the node's causes */
};

static void
note_fault(struct fault *fault, const struct graph_node *node, uint32_t cause)
{
	if (!fault->node || node->offset < fault->node->offset)
		*fault = (struct fault){ node, cause };
}

/* Sets ERROR_SCHEMA: what is wrong with a cause, given its id. */
static int
graph_set_cause_error(const struct fault *fault, struct uuid cause, const char *wrong,
    struct error *err)
{
	const struct graph_node *node = fault->node;
	char text[ID_SIZE], other[ID_SIZE];

	return error_set(err, ERROR_SCHEMA, uuid_write(node->id, text),
	    "the %s of this %s (seq %lld), event %s, is %s",
	    node->parented && fault->cause == 0 ? "parent" : "link", event_type_name(node->type),
	    (long long)node->seq, uuid_write(cause, other), wrong);
}

/* Converts causes from ids to nodes. If the transcript begins with a later attempt, as that of a
 * replay may, a link to an event of an earlier attempt becomes a link to the first run.started.
 * Only run.started and events of unknown type may have no parent. */
static int
find_causes(struct graph *g, struct error *err)
{
	char text[ID_SIZE];
	struct fault lost = { NULL, 0 }, orphan = { NULL, 0 };
	uint32_t start = GRAPH_NONE;

	for (uint32_t i = 0; i < g->count; i++)
		if (g->nodes[i].type == EVENT_RUN_STARTED &&
		    (start == GRAPH_NONE || g->nodes[i].attempt < g->nodes[start].attempt))
			start = i;
	if (start != GRAPH_NONE && g->nodes[start].attempt <= 1)
		start = GRAPH_NONE;
	g->causes = memory_array(NULL, g->cause_count + 1, sizeof *g->causes);
	for (uint32_t i = 0; i < g->count; i++) {
		const struct graph_node *node = &g->nodes[i];

		for (uint32_t c = 0; c < node->causes; c++) {
			uint32_t *cause = &g->causes[node->cause + c];

			*cause = graph_find(g, g->named[node->cause + c]);
			if (*cause == GRAPH_NONE && (!node->parented || c > 0))
				*cause = start;
			if (*cause == GRAPH_NONE)
				note_fault(&lost, node, c);
		}
		if (!node->parented && node->type != EVENT_RUN_STARTED && node->type != EVENT_TYPES)
			note_fault(&orphan, node, 0);
	}
	if (lost.node)
		return graph_set_cause_error(&lost, g->named[lost.node->cause + lost.cause],
		    "not recorded", err);
	if (orphan.node)
		return error_set(err, ERROR_SCHEMA, uuid_write(orphan.node->id, text),
		    "this %s (seq %lld) has no parent", event_type_name(orphan.node->type),
		    (long long)orphan.node->seq);
	free(g->named);
	g->named = NULL;
	return 0;
}

/* Determines the attempt of an event that does not contain one: the latest attempt of its causes,
 * since an attempt may continue what an earlier one made, but not the reverse. Causes should
 * precede their effects in the file; if they do not, that is found later. */
static int
find_attempts(struct graph *g, struct error *err)
{
	uint32_t *order = graph_order_seq(g);
	struct fault fault = { NULL, 0 };
	const struct graph_node *cause;
	char wrong[64];

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
	snprintf(wrong, sizeof wrong, "%s attempt %d",
	    cause->attempt == fault.node->attempt ? "the end of the same" : "of the later",
	    (int)cause->attempt);
	return graph_set_cause_error(&fault, cause->id, wrong, err);
}

/* ---- Kahn's algorithm ---- */

/* The order of the heap: by attempt; in an attempt, run.started first and run.completed last;
 * otherwise by index, that is by id. */
static bool
goes_first(const struct graph *g, uint32_t left, uint32_t right)
{
	static const int ranks[EVENT_TYPES + 1] = { [EVENT_RUN_STARTED] = -1, [EVENT_RUN_COMPLETED] = 1 };
	const struct graph_node *a = &g->nodes[left], *b = &g->nodes[right];
	int rank_a = ranks[a->type], rank_b = ranks[b->type];

	if (a->attempt != b->attempt)
		return a->attempt < b->attempt;
	return rank_a != rank_b ? rank_a < rank_b : left < right;
}

static void
heap_add(struct sorting *s, uint32_t node)
{
	uint32_t at = s->heaped++;

	for (; at > 0 && goes_first(s->graph, node, s->heap[(at - 1) / 2]); at = (at - 1) / 2)
		s->heap[at] = s->heap[(at - 1) / 2];
	s->heap[at] = node;
	INVARIANT(s->heaped <= s->graph->count && (at == 0 ||
	    !goes_first(s->graph, node, s->heap[(at - 1) / 2])));
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
	INVARIANT(s->heaped == 0 || !goes_first(s->graph, s->heap[0], first));
	return first;
}

static void
graph_sort_nodes(struct sorting *s, struct graph *g)
{
	/* Reverse the edges: count them, then fill them in from the end. */
	for (size_t i = 0; i < g->cause_count; i++)
		s->first_effect[g->causes[i]]++;
	for (uint32_t i = 1; i <= g->count; i++)
		s->first_effect[i] += s->first_effect[i - 1];
	for (uint32_t i = g->count; i-- > 0;)
		for (uint32_t c = 0; c < g->nodes[i].causes; c++)
			s->effects[--s->first_effect[g->causes[g->nodes[i].cause + c]]] = i;

	for (uint32_t i = 0; i < g->count; i++) {
		s->waits[i] = g->nodes[i].causes;
		if (s->waits[i] == 0)
			heap_add(s, i);
	}
	while (s->heaped > 0) {
		uint32_t out = heap_take(s);
		struct graph_node *node = &g->nodes[out];

		/* An event belongs to the call that it starts, or else to that of its parent. */
		if (event_type_starts_call(node->type))
			node->call = out;
		else if (node->parented && node->type != EVENT_RUN_COMPLETED)
			node->call = cause_of(g, node, 0)->call;
		INVARIANT(s->waits[out] == 0 && s->ordered < g->count);
		s->order[s->ordered++] = out;
		for (uint32_t e = s->first_effect[out]; e < s->first_effect[out + 1]; e++)
			if (--s->waits[s->effects[e]] == 0)
				heap_add(s, s->effects[e]);
	}
}

/* A cause of a waiting node that is waiting itself; there always is one. */
static uint32_t
waiting_cause(const struct sorting *s, uint32_t node, uint32_t from)
{
	const struct graph_node *n = &s->graph->nodes[node];

	while (from < n->causes && s->waits[s->graph->causes[n->cause + from]] == 0)
		from++;
	return from;
}

/* Reports a cycle: finds a node on a cycle, and the shortest cycle through it. */
static void
graph_set_cycle_error(const struct sorting *s, struct error *err)
{
	const struct graph *g = s->graph;
	bool *seen = memory_zero(g->count, sizeof *seen);
	uint32_t *next = memory_array(NULL, g->count, sizeof *next); /* for each node, the next one
	                                                                on the way, from cause to
	                                                                effect */
	uint32_t *queue = memory_array(NULL, g->count, sizeof *queue);
	uint32_t start = 0, head = 0, tail = 0, count = 0;
	struct buffer way = BUFFER_INIT;
	char text[ID_SIZE];

	/* Follow waiting causes until a node comes for the second time: it is on a cycle. */
	while (s->waits[start] == 0)
		start++;
	while (!seen[start]) {
		seen[start] = true;
		start = g->causes[g->nodes[start].cause + waiting_cause(s, start, 0)];
	}

	/* Breadth-first search along waiting causes for the shortest way from that node back to
	 * itself. */
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
	free(seen);
	free(next);
	free(queue);
}

uint32_t *
graph_order(struct graph *g, struct error *err)
{
	struct sorting s = { .graph = g };
	size_t size = sizeof *s.order;

	if (find_causes(g, err) != 0 || find_attempts(g, err) != 0)
		return NULL;
	s.first_effect = memory_zero((size_t)g->count + 1, size);
	s.effects = memory_array(NULL, g->cause_count + 1, size);
	s.waits = memory_array(NULL, (size_t)g->count + 1, size);
	s.heap = memory_array(NULL, (size_t)g->count + 1, size);
	s.order = memory_array(NULL, (size_t)g->count + 1, size);
	graph_sort_nodes(&s, g);
	if (s.ordered < g->count) {
		graph_set_cycle_error(&s, err);
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

void
graph_close(struct graph *g)
{
	window_free(&g->window);
	reader_close(&g->reader);
	free(g->nodes);
	free(g->named);
	free(g->causes);
	memset(g, 0, sizeof *g);
	g->reader.fd = -1;
}
