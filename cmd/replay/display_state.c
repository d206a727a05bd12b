/*
 * The requested calls and their ends are found in one walk in the order of time; then their lines
 * are read again. An input or result that is not in these lines is read where it was recorded: in
 * the end of the previous call, or by following `reused_from`, from attempt to attempt and into the
 * transcript of the forked run.
 */
#include "replay/display.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "json/writer.h"
#include "model/follow.h"
#include "model/results.h"
#include "rerun/graph.h"
#include "transcript/blob.h"
#include "transcript/call.h"
#include "transcript/event_keys.h"
#include "transcript/filter.h"
#include "transcript/layout.h"

#define REUSES_MOST 100 /* most steps from one attempt to an earlier one */

/* A transcript, and the line that was read last, with its blobs put back. */
struct recording {
	struct graph graph;
	struct buffer line;
	struct event_view event;  /* the event in that line */
	bool input_raw, result_raw; /* whether they were bytes that are not UTF-8 */
};

/* A requested call. */
struct flow {
	uint32_t start, end; /* indexes of nodes; end GRAPH_NONE: it did not end */
	int32_t attempt;
};

struct state {
	const struct display *display;
	struct recording run, other;
	char other_id[ID_SIZE];  /* id of the forked run whose recording is open; "": none */
	struct flow *flows;
	size_t count;
	struct map open;         /* flows of calls that have not ended */
	int32_t attempt;
	struct buffer out;
};

/* The line of a node, and its event; NULL with *err if the file has something else there now. */
static const char *
read_event(struct recording *r, const struct graph_node *node, struct event_view *event,
    struct error *err)
{
	const char *line = graph_line(&r->graph, node, err);

	if (!line || event_view(line, node->length, event) == 0)
		return line;
	error_set(err, ERROR_INVALID_INPUT, r->graph.reader.path,
	    "the line at byte %lld was written over", (long long)node->offset);
	return NULL;
}

/* Reads the line of a node. */
static int
display_state_load_event(struct recording *r, uint32_t node, struct error *err)
{
	const struct graph_node *n = &r->graph.nodes[node];
	const char *line = read_event(r, n, &r->event, err);
	char run_id[ID_SIZE], *blobs;
	int failed;

	if (!line)
		return -1;
	r->input_raw = r->result_raw = false;
	for (struct span_walk ref = span_walk(r->event.refs); span_next(&ref);) {
		struct span at = span_member(ref.value, KEY_AT);

		if (!span_is(span_member(ref.value, KEY_ENCODING), "raw"))
			continue;
		r->input_raw |= span_is(at, "/payload/" KEY_INPUT);
		r->result_raw |= span_is(at, "/payload/" KEY_RESULT);
	}
	event_copy_id(r->event.run_id, run_id);
	blobs = transcript_blobs(r->graph.reader.path, run_id);
	buffer_clear(&r->line);
	failed = blob_inline(blobs, line, n->length, &r->line, err);
	free(blobs);
	if (failed == 0)
		event_view(r->line.data, r->line.len, &r->event);
	return failed;
}

/* Finds the recording and the node that `reused_from` names; the transcript of a forked run is in
 * the same directory. 1; 0: it does not exist; -1: *err. */
static int
find_origin(struct state *s, struct recording **r, uint32_t *node, struct error *err)
{
	struct span from = span_member((*r)->event.payload, KEY_REUSED_FROM), run_id = SPAN_NONE;
	bool elsewhere = span_type(from) == 'o';
	char other[ID_SIZE];
	struct uuid id;

	if (elsewhere) {
		run_id = span_member(from, KEY_RUN_ID);
		from = span_member(from, KEY_EVENT_ID);
	}
	if (!graph_id_read(from, &id))
		return 0;
	if (elsewhere) {
		if (!event_copy_id(run_id, other))
			return 0;
		if (strcmp(other, s->other_id) != 0) {
			char *path = layout_beside(s->run.graph.reader.path, other);
			int failed;

			if (s->other_id[0] != '\0')
				graph_close(&s->other.graph);
			s->other_id[0] = '\0';
			failed = graph_open_damaged(&s->other.graph, path, s->display->warn, err);
			free(path);
			if (failed != 0)
				return -1;
			memcpy(s->other_id, other, sizeof other);
		}
		*r = &s->other;
	}
	*node = graph_find(&(*r)->graph, id);
	return *node != GRAPH_NONE;
}

/* The result in the end of a call, or of the call whose result it reused; nothing if it has none,
 * or that was removed. The result of a group is the data of its lines: one value, or an array. */
static int
display_state_write_result(struct state *s, struct writer *w, const char *key, const char *encoding,
    uint32_t node, struct error *err)
{
	struct recording *r = &s->run;

	for (int i = 0; i < REUSES_MOST; i++) {
		struct span payload, result;
		int got;

		if (display_state_load_event(r, node, err) != 0)
			return -1;
		payload = r->event.payload;
		result = span_member(payload, KEY_RESULT);
		if (!result.at) {
			got = find_origin(s, &r, &node, err);
			if (got <= 0)
				return got;
			continue;
		}
		if (strcmp(result_member(payload), KEY_RESULT) != 0) {
			writer_member_span(w, key, span_member(span_element(result, 0), "data"));
		} else if (span_member(payload, KEY_COUNT).at == NULL) {
			writer_member_span(w, key, result);
		} else {
			writer_member_array(w, key);
			for (struct span_walk line = span_walk(result); span_next(&line);)
				writer_span(w, span_member(line.value, "data"));
			writer_array_end(w);
		}
		if (r->result_raw)
			writer_member_string(w, encoding, "base64");
		return 0;
	}
	return 0;
}

/* Leaves out an input that is neither recorded nor the result of the parent, and an output that is
 * not recorded or was removed. */
static int
print_flow(struct state *s, const struct flow *flow, struct error *err)
{
	struct span input, skipped, error;
	struct writer w;
	struct uuid id;
	uint32_t parent = GRAPH_NONE;

	if (display_state_load_event(&s->run, flow->start, err) != 0)
		return -1;
	buffer_clear(&s->out);
	writer_begin(&w, &s->out);
	writer_object(&w);
	writer_member_span(&w, "call", span_member(s->run.event.payload, KEY_CALL));
	writer_member_integer(&w, "attempt", flow->attempt);

	input = span_member(s->run.event.payload, KEY_INPUT);
	writer_member_span(&w, "input", input);
	if (input.at && s->run.input_raw)
		writer_member_string(&w, "input_encoding", "base64");
	if (!input.at && graph_id_read(s->run.event.parent_event_id, &id))
		parent = graph_find(&s->run.graph, id);
	if (parent != GRAPH_NONE && event_type_ends_call(s->run.graph.nodes[parent].type) &&
	    display_state_write_result(s, &w, "input", "input_encoding", parent, err) != 0)
		return -1;

	if (flow->end == GRAPH_NONE) {
		writer_member_bool(&w, "unfinished", true);
	} else {
		if (display_state_load_event(&s->run, flow->end, err) != 0)
			return -1;
		skipped = span_member(s->run.event.payload, KEY_SKIPPED);
		error = span_member(s->run.event.payload, KEY_ERROR);
		if (member_set(skipped))
			writer_member_span(&w, "skipped", skipped);
		else if (member_set(error))
			writer_member_span(&w, "error", error);
		else if (display_state_write_result(s, &w, "output", "output_encoding", flow->end,
		    err) != 0)
			return -1;
	}
	writer_object_end(&w);
	buffer_byte(&s->out, '\n');
	return outlet_json(s->display->out, s->out.data, s->out.len, err);
}

static void
note_call(struct state *s, uint32_t node, const struct event_view *event, const char *call)
{
	const char *wanted = s->display->argument;
	const size_t *at = map_get(&s->open, call, strlen(call));
	char *path;
	bool named;

	if (event_type_ends_call(event->type)) {
		if (at && s->flows[*at].end == GRAPH_NONE)
			s->flows[*at].end = node;
		return;
	}
	path = span_text(event->path);
	named = path != NULL && call_is_named(wanted, call, path, event->iteration);
	free(path);
	if (!named)
		return;
	if (s->run.graph.nodes[node].attempt > 0)
		s->attempt = s->run.graph.nodes[node].attempt;
	s->flows = memory_array(s->flows, s->count + 1, sizeof *s->flows);
	s->flows[s->count] = (struct flow){ node, GRAPH_NONE, s->attempt };
	map_put(&s->open, call, strlen(call), s->count++);
}

/* No call matches: suggests a similar name. */
static int
refuse_unknown(struct state *s, struct error *err)
{
	char **names = memory_zero(1, sizeof *names), *hint;
	struct event_view event;
	struct error ignored;

	for (uint32_t i = 0; i < s->run.graph.count; i++) {
		const struct graph_node *n = &s->run.graph.nodes[i];
		char *path, *call;

		if (!event_type_starts_call(n->type) || !read_event(&s->run, n, &event, &ignored))
			continue;
		path = span_text(event.path);
		call = span_text(span_member(event.payload, KEY_CALL));
		if (path != NULL && !list_has(names, path))
			list_add(&names, path);
		if (call != NULL && strchr(s->display->argument, ':') != NULL)
			list_add(&names, call);
		free(path);
		free(call);
	}
	hint = text_hint(s->display->argument, (const char *const *)(uintptr_t)names);
	error_set(err, ERROR_USAGE, "--state", "this run has no step or call '%s'%s",
	    s->display->argument, *hint != '\0' ? hint : " (see awf-replay --tree)");
	free(hint);
	list_free(names);
	return -1;
}

/* Finds the requested calls, in the order of time. */
static int
find_flows(struct state *s, struct error *err)
{
	uint32_t *order = graph_order_seq(&s->run.graph);
	int failed = 0;

	for (uint32_t i = 0; failed == 0 && i < s->run.graph.count; i++) {
		const struct graph_node *n = &s->run.graph.nodes[order[i]];
		struct event_view event;
		char *call;

		/* Calls in the next attempt may have the same names. */
		if (n->type == EVENT_RUN_STARTED) {
			s->attempt = n->attempt;
			map_free(&s->open);
			s->open = (struct map)MAP_INIT;
		}
		if (!event_type_starts_call(n->type) && !event_type_ends_call(n->type))
			continue;
		if (!read_event(&s->run, n, &event, err)) {
			failed = -1;
			break;
		}
		call = span_text(span_member(event.payload, KEY_CALL));
		if (call)
			note_call(s, order[i], &event, call);
		free(call);
	}
	free(order);
	if (failed == 0 && s->count == 0)
		return refuse_unknown(s, err);
	return failed;
}

int
display_state(const struct display *d, struct error *err)
{
	struct state s = { .display = d, .open = MAP_INIT, .attempt = 1 };
	int failed;

	if (!call_name_valid(d->argument))
		return error_set(err, ERROR_USAGE, "--state",
		    "'%s' is neither a step (a.b) nor a call (a[0], or a:0:0/b:0:0)", d->argument);
	if (graph_open_damaged(&s.run.graph, d->run->path, d->warn, err) != 0)
		return -1;
	failed = find_flows(&s, err);
	for (size_t i = 0; failed == 0 && i < s.count; i++)
		failed = print_flow(&s, &s.flows[i], err);
	graph_close(&s.run.graph);
	if (s.other_id[0] != '\0')
		graph_close(&s.other.graph);
	buffer_free(&s.run.line);
	buffer_free(&s.other.line);
	buffer_free(&s.out);
	map_free(&s.open);
	free(s.flows);
	return failed;
}
