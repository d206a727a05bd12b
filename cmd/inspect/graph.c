/*
 * One pass over the transcript makes a node for each event, sorted then by id and found by
 * bisection. Causes are kept as ids meanwhile, as a link may name what comes later in the
 * file. An array of n has room for the power of two at or above n, so its room need not be
 * stored.
 */
#include "inspect/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "transcript/event_keys.h"

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

/* The array with room for one more than count: its room is the power of two at or
 * above that. */
static void *
grown(void *array, size_t count, size_t size)
{
	if ((count & (count - 1)) != 0)
		return array;
	return memory_array(array, count == 0 ? 1 : 2 * count, size);
}

static int
damaged(const struct graph *g, const char *what, struct error *err)
{
	return error_set(err, ERROR_INVALID_INPUT, g->reader.path,
	    "line %u is damaged: %s (see awf-verify)", g->lines, what);
}

/* false: it is no id. */
static bool
add_cause(struct graph *g, struct graph_node *node, struct span id)
{
	g->named = grown(g->named, g->cause_count, sizeof *g->named);
	if (!graph_id_read(id, &g->named[g->cause_count]))
		return false;
	g->cause_count++;
	node->causes++;
	return true;
}

/* The parent first, then the links; those into other runs are objects. false: there is
 * something else. */
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

/* What an event says itself of its attempt, 0: nothing. */
static int32_t
said_attempt(const struct event_view *event)
{
	long long attempt = 0;

	if (event->type != EVENT_RUN_STARTED && !event_type_starts_call(event->type))
		return 0;
	if (!span_integer(span_member(event->payload, KEY_ATTEMPT), &attempt) || attempt < 1 ||
	    attempt > INT32_MAX)
		return event->type == EVENT_RUN_STARTED;
	return (int32_t)attempt;
}

static int
add_event(struct graph *g, const char *line, size_t len, struct error *err)
{
	struct graph_node node = { .offset = g->reader.line_start, .length = (uint32_t)len,
		.cause = (uint32_t)g->cause_count, .call = GRAPH_NONE };
	struct event_view event;
	size_t bad;

	if (!event_line_whole(line, len, &node.seq))
		return damaged(g, "it is not whole", err);
	if (scan_within(line, len, SCAN_LINE_DEPTH, &bad) || event_view(line, len, &event) != 0)
		return damaged(g, "it is no event", err);
	if (!graph_id_read(event.event_id, &node.id) || !add_causes(g, &node, &event))
		return damaged(g, "its ids are no UUIDs", err);
	if (g->count + 1 >= GRAPH_NONE || g->cause_count >= GRAPH_NONE)
		return error_set(err, ERROR_INVALID_INPUT, g->reader.path, "too many events");
	node.type = (uint8_t)event.type;
	node.unlike = event_type_starts_call(event.type) ? event.child_run_id.at != NULL :
	    event_type_ends_call(event.type) &&
	    span_is(span_path(event.payload, KEY_ERROR, KEY_CODE, NULL), "cancelled");
	node.attempt = said_attempt(&event);
	g->nodes = grown(g->nodes, g->count, sizeof *g->nodes);
	g->nodes[g->count++] = node;
	return 0;
}

static int
read_events(struct graph *g, void (*warn)(const struct error *), struct error *err)
{
	const char *line;
	size_t len;
	int got;

	while ((got = reader_next(&g->reader, &line, &len, err)) == 1) {
		size_t causes = g->cause_count;

		g->lines++;
		if (add_event(g, line, len, err) == 0)
			continue;
		if (!warn || err->code != ERROR_INVALID_INPUT)
			return -1;
		warn(err);
		g->cause_count = causes; /* what was taken of a damaged line goes again */
	}
	return got;
}

/* Sorts them; no two may be the same. */
static int
sort_events(struct graph *g, struct error *err)
{
	char text[ID_SIZE];

	if (g->count > 1)
		qsort(g->nodes, g->count, sizeof *g->nodes, by_id);
	for (uint32_t i = 1; i < g->count; i++) {
		const struct graph_node *a = &g->nodes[i - 1], *b = &g->nodes[i];

		if (compare_ids(a->id, b->id) == 0)
			return error_set(err, ERROR_SCHEMA, uuid_write(a->id, text),
			    "this event is recorded twice, as seq %lld and %lld",
			    (long long)a->seq, (long long)b->seq);
	}
	return 0;
}

int
graph_open_damaged(struct graph *g, const char *path,
    void (*warn)(const struct error *warning), struct error *err)
{
	memset(g, 0, sizeof *g);
	if (reader_open(&g->reader, path, err) != 0)
		return -1;
	window_begin(&g->window, g->reader.fd);
	if (read_events(g, warn, err) == 0 && sort_events(g, err) == 0)
		return 0;
	graph_close(g);
	return -1;
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
