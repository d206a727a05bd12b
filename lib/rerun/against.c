/*
 * Both sides are read in canonical form, in the order of their lines, and the counterpart of an
 * event is found by its id. Of each event, only some members are compared. They are written for
 * both sides in the same way, digests last: so the first difference usually says what differs, not
 * only that something does. A missing child run may be the effect of an earlier difference, so it
 * is reported only if all other recorded events agree; and the end of the run only if the replay
 * has no additional events either.
 */
#include "rerun/against.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "transcript/event_keys.h"

/* The two sides of the comparison. */
struct against {
	struct canonical recording, replay;
	struct map unknown;        /* calls that only the replay has, by name: their starts */
	struct map taken;          /* calls of the recording that a replay does not make again;
	                              filled in when first needed */
	bool taken_known;
	int attempt;
	struct difference *difference;
};

/* ---- which members are compared ---- */

/* Members that are not compared. Instead of files, their digest is. */
static const char *const dropped[] = { KEY_ATTEMPT, KEY_CALL, KEY_FILES, KEY_CLAIMS,
	KEY_REUSED_FROM, KEY_APPROVAL, KEY_PARTS, KEY_SEAL, KEY_TOOL_CALL, KEY_TRY, KEY_MADE_AGAIN, KEY_PROGRAM_CHANGED,
	KEY_DIRECTORY, KEY_VARIABLES, KEY_START, KEY_COMPARED_WITH, NULL };
/* Digests show only that something differs, so they are compared last. */
static const char *const digests[] = { KEY_INPUT_SHA256, KEY_DEFINITION_SHA256, KEY_REQUEST_SHA256,
	NULL };
/* Members of run.completed that are compared; others may contain paths. */
static const char *const end_keys[] = { KEY_STATUS, KEY_EXIT_CODE, NULL };

static void
put_member(struct buffer *out, struct span key, struct span value)
{
	if (out->data[out->len - 1] != '{')
		buffer_byte(out, ',');
	buffer_append(out, key.at, key.len);
	buffer_byte(out, ':');
	buffer_append(out, value.at, value.len);
}

/* Writes the members of an object whose keys are listed. */
static void
put_listed(struct buffer *out, struct span object, const char *const *names)
{
	for (struct span_walk member = span_walk(object); span_next(&member);)
		if (span_one_of(member.key, names))
			put_member(out, member.key, member.value);
}

/* Writes what is compared of an event, from its canonical line. own is the event's own line: type,
 * path, iteration and name come from it, even if line is that of another event, from which a result
 * was reused. pathed: the path is compared; a step may have had another path in an earlier
 * attempt. */
static void
put_comparable(struct buffer *out, struct span line, struct span own, const char *iteration, bool pathed)
{
	static const char *const names[] = { KEY_TYPE, KEY_PATH, NULL }, *const type[] = { KEY_TYPE, NULL };
	static const char *const after[] = { KEY_CHILD_RUN_ID, KEY_REFS, NULL };
	struct span payload = span_member(line, KEY_PAYLOAD);
	struct span name = span_member(span_member(own, KEY_PAYLOAD), KEY_NAME);

	buffer_byte(out, '{');
	put_listed(out, own, pathed ? names : type);
	if (*iteration != '\0')
		buffer_format(out, ",\"iteration\":%s", iteration);
	buffer_text(out, ",\"payload\":{");
	if (span_is(span_member(line, KEY_TYPE), event_type_name(EVENT_RUN_COMPLETED))) {
		put_listed(out, payload, end_keys);
	} else {
		for (struct span_walk member = span_walk(payload); span_next(&member);)
			if (!span_one_of(member.key, dropped) && !span_one_of(member.key, digests))
				put_member(out, member.key, name.at != NULL && span_is(member.key, KEY_NAME) ? name :
				    member.value);
		put_listed(out, payload, digests);
	}
	buffer_byte(out, '}');
	put_listed(out, line, after);
	buffer_byte(out, '}');
}

static struct span
buffer_span(const struct buffer *b)
{
	return span_of(buffer_string(b), b->len);
}

/* ---- calls that a replay does not make again ---- */

/*
 * A replay takes some results from the recording instead of making the call again: those of
 * commands whose effects must not be repeated or that ran elsewhere, and of calls that were ended
 * from outside (a time limit, a signal). It does not make the calls inside these either, nor those
 * of a tool whose result it takes. So the events of tools are read before those of calls. The name
 * of a call begins with those of all enclosing calls, so looking up its prefixes tells whether it
 * is inside one whose result is taken.
 */

/* What the replay does not make again: only the calls inside a call, or the call itself, too. */
enum { INSIDE, ITSELF };

static bool
start_is_taken(struct span payload)
{
	static const char *const effects[] = { "read", "external", NULL };

	return span_one_of(span_member(payload, KEY_EFFECTS), effects) != NULL ||
	    span_member(payload, KEY_VIA).at != NULL;
}

/* State while a recording is read. */
struct reading {
	struct map *taken;
	struct canonical *recording;
	bool *tools;       /* for each node: it is a tool.call whose result is taken */
};

static void
against_note_event(struct reading *r, uint32_t i, struct span payload)
{
	const struct graph *g = &r->recording->graph;
	const struct graph_node *node = &g->nodes[i];
	uint32_t parent = node->parented ? g->causes[node->cause] : GRAPH_NONE;
	char *call = span_text(span_member(payload, KEY_CALL));
	char *code = span_text(span_path(payload, KEY_ERROR, KEY_CODE, NULL));
	bool ended = code != NULL && error_is_of_circumstances(error_from_name(code, strlen(code)));

	if (event_type_starts_call((enum event_type)node->type)) {
		/* The tool's result is taken, so the call that the tool made is not made again. */
		if (call != NULL && parent != GRAPH_NONE && r->tools[parent])
			map_put(r->taken, call, strlen(call), ITSELF);
		else if (call != NULL && start_is_taken(payload))
			map_put(r->taken, call, strlen(call), INSIDE);
	} else if (node->type == EVENT_TOOL_CALL) {
		r->tools[i] |= start_is_taken(payload);
	} else if (node->type == EVENT_TOOL_RESULT && ended && parent != GRAPH_NONE) {
		r->tools[parent] = true;
	} else if (node->type == EVENT_STEP_COMPLETED && ended && call != NULL) {
		map_put(r->taken, call, strlen(call), INSIDE);
	}
	free(code);
	free(call);
}

/* Reads the events of tools (tools is true), or those of calls. */
static int
read_events(struct reading *r, bool tools, struct error *err)
{
	struct buffer line = BUFFER_INIT;
	int failed = 0;

	for (uint32_t i = 0; failed == 0 && i < r->recording->graph.count; i++) {
		const struct graph_node *node = &r->recording->graph.nodes[i];
		enum event_type type = (enum event_type)node->type;

		if (tools ? type != EVENT_TOOL_CALL && type != EVENT_TOOL_RESULT
		    : !event_type_starts_call(type) && type != EVENT_STEP_COMPLETED)
			continue;
		buffer_clear(&line);
		failed = canonical_read(r->recording, node, &line, err);
		if (failed == 0)
			against_note_event(r, i, span_member(span_of(buffer_string(&line),
			    line.len), KEY_PAYLOAD));
	}
	buffer_free(&line);
	return failed;
}

/* Fills in the map of calls that a replay does not make again. -1: *err. */
static int
taken_read(struct map *taken, struct canonical *recording, struct error *err)
{
	struct reading r = { .taken = taken, .recording = recording,
		.tools = memory_zero(recording->graph.count + 1, sizeof *r.tools) };
	int failed = read_events(&r, true, err);

	if (failed == 0)
		failed = read_events(&r, false, err);
	free(r.tools);
	return failed;
}

/* Whether the replay does not make the call: a call around it is taken, or a tool whose result is
 * taken made it. */
static bool
taken_encloses(const struct map *taken, const char *call)
{
	const size_t *found = map_get(taken, call, strlen(call));

	if (found != NULL && *found == ITSELF)
		return true;
	for (const char *end = strchr(call, '/'); end != NULL; end = strchr(end + 1, '/'))
		if (map_get(taken, call, (size_t)(end - call)) != NULL)
			return true;
	return false;
}

/* ---- events and their counterparts ---- */

static const struct graph_node *
against_find_counterpart(const struct canonical *c, struct uuid id)
{
	uint32_t found = graph_find(&c->graph, id);

	return found == GRAPH_NONE ? NULL : &c->graph.nodes[found];
}

static int
against_describe_event(struct against *a, enum difference_kind kind, struct canonical *c,
    const struct graph_node *node, struct error *err)
{
	return difference_event(a->difference, kind, c, node, err) != 0 ? -1 : 1;
}

#define ITERATION_SIZE 24

/* The number of an item in its group; "" for an event of an earlier attempt, where the item may
 * have had another number. */
static void
iteration_of(const struct against *a, const struct graph_node *recorded, struct span line,
    char iteration[ITERATION_SIZE])
{
	struct span value = span_member(line, KEY_ITERATION);

	iteration[0] = '\0';
	if (recorded->attempt == a->attempt && value.len < ITERATION_SIZE) {
		memcpy(iteration, value.at, value.len);
		iteration[value.len] = '\0';
	}
}

/* Writes what is compared of an event. If a call reused the result of another call, that call's
 * event is written instead; if that is in another recording, nothing is written. */
static int
put_event(struct against *a, struct canonical *c, const struct graph_node *recorded,
    const struct graph_node *node, bool around, struct buffer *out, struct error *err)
{
	struct buffer line = BUFFER_INIT, other = BUFFER_INIT;
	char iteration[ITERATION_SIZE];
	const struct graph_node *from = node;
	int failed = canonical_read_as(c, node, around, &line, err);

	if (failed == 0) {
		struct span reused = span_path(buffer_span(&line), KEY_PAYLOAD, KEY_REUSED_FROM, NULL);
		struct uuid id;

		iteration_of(a, recorded, buffer_span(&line), iteration);
		if (c == &a->recording && reused.at != NULL)
			from = graph_id_read(reused, &id) ? against_find_counterpart(c, id) : NULL;
	}
	if (failed == 0 && from != NULL && from != node)
		failed = canonical_read_as(c, from, around, &other, err);
	if (failed == 0 && from != NULL)
		put_comparable(out, buffer_span(from != node ? &other : &line), buffer_span(&line), iteration,
		    recorded->attempt == a->attempt);
	buffer_free(&line);
	buffer_free(&other);
	return failed;
}

/* Appends the message with which a call last failed, and its stderr; nothing if it succeeded. */
static int
read_failure(struct canonical *c, const char *call, struct buffer *failure, struct buffer *errors,
    struct error *err)
{
	struct buffer name = BUFFER_INIT, line = BUFFER_INIT;
	int failed = 0;

	for (uint32_t i = c->graph.count; failed == 0 && line.len == 0 && i-- > 0;) {
		const struct graph_node *node = &c->graph.nodes[i];
		struct span payload, error;
		const char *whole;

		if (node->type != EVENT_STEP_COMPLETED)
			continue;
		buffer_clear(&name);
		failed = canonical_call(c, node, &name, err);
		if (failed != 0 || !buffer_equal(&name, call))
			continue;
		failed = canonical_read(c, node, &line, err);
		payload = span_member(buffer_span(&line), KEY_PAYLOAD);
		error = span_member(payload, KEY_ERROR);
		/* The canonical form may lack the message, so read the original line. */
		whole = failed == 0 && span_type(error) == 'o' ? graph_line(&c->graph, node, err) : NULL;
		if (whole != NULL) {
			span_decode(span_path(span_of(whole, node->length), KEY_PAYLOAD, KEY_ERROR, KEY_MESSAGE,
			    NULL), failure);
			span_decode(span_member(payload, KEY_STDERR), errors);
			/* If stderr is a single line, the message ends with it: do not print it
			 * twice. */
			if (text_ends(buffer_string(failure), buffer_string(errors)) ||
			    (errors->len > 1 && errors->data[errors->len - 1] == '\n' &&
			    errors->len - 1 <= failure->len && memcmp(failure->data + failure->len -
			    (errors->len - 1), errors->data, errors->len - 1) == 0))
				buffer_clear(errors);
		}
	}
	buffer_free(&name);
	buffer_free(&line);
	return failed;
}

/* If the call failed only in the replay, adds why it failed. */
static int
against_describe_failure(struct against *a, struct error *err)
{
	struct difference *d = a->difference;
	struct buffer failure = BUFFER_INIT, errors = BUFFER_INIT;
	int failed = 0;

	if (d->call.len > 0)
		failed = read_failure(&a->recording, d->call.data, &failure, &errors, err);
	if (failed == 0 && d->call.len > 0 && failure.len == 0) {
		buffer_clear(&errors);
		failed = read_failure(&a->replay, d->call.data, &d->failure, &d->errors, err);
	}
	buffer_free(&failure);
	buffer_free(&errors);
	return failed;
}

/* Compares a recorded event with that of the replay. 1: they differ, and *d describes how; 0: they
 * do not; -1: *err. */
static int
against_compare_events(struct against *a, const struct graph_node *recorded,
    const struct graph_node *replayed, struct error *err)
{
	struct buffer first = BUFFER_INIT, second = BUFFER_INIT;
	/* Leave out stderr on both sides if either is a call around another run: in an earlier
	 * attempt, another call may have had the name. */
	int around = canonical_is_around(&a->recording, recorded, err), differ;

	if (around == 0)
		around = canonical_is_around(&a->replay, replayed, err);
	differ = around == -1 ? -1 : put_event(a, &a->recording, recorded, recorded, around, &first, err);
	if (differ == 0 && first.len > 0)
		differ = put_event(a, &a->replay, recorded, replayed, around, &second, err);
	if (differ == 0 && first.len > 0 && !buffer_equal(&second, first.data)) {
		differ = against_describe_event(a, DIFFERENCE_VALUE, &a->recording, recorded, err);
		if (differ == 1) {
			difference_values(a->difference, buffer_span(&first), buffer_span(&second));
			if (against_describe_failure(a, err) != 0)
				differ = -1;
		}
	}
	buffer_free(&first);
	buffer_free(&second);
	return differ;
}

/* ---- calls that have no counterpart by their ids ---- */

/* Lists the calls that only the replay has. A recorded call that the replay does not have may have
 * one of these as its counterpart, by name. */
static int
list_unknown(struct against *a, struct error *err)
{
	struct canonical *c = &a->replay;
	struct buffer call = BUFFER_INIT;
	int failed = 0;

	for (uint32_t i = 0; failed == 0 && i < c->graph.count; i++) {
		const struct graph_node *node = &c->graph.nodes[i];

		if (!event_type_starts_call((enum event_type)node->type) ||
		    against_find_counterpart(&a->recording, node->id) != NULL)
			continue;
		buffer_clear(&call);
		failed = canonical_call(c, node, &call, err);
		map_put(&a->unknown, buffer_string(&call), call.len, i);
	}
	buffer_free(&call);
	return failed;
}

/* Handles a recorded event that the replay does not have. That is no difference if the event
 * belongs to a call that no replay makes again. */
static int
compare_missing(struct against *a, const struct graph_node *node, struct error *err)
{
	const size_t *found = NULL;
	struct difference *d = a->difference;
	int differ = against_describe_event(a, DIFFERENCE_FIRST_ONLY, &a->recording, node, err);

	if (differ != 1)
		return differ;
	if (!a->taken_known && taken_read(&a->taken, &a->recording, err) != 0)
		return -1;
	a->taken_known = true;
	if (taken_encloses(&a->taken, buffer_string(&d->call)))
		return 0;
	if (event_type_starts_call((enum event_type)node->type))
		found = map_get(&a->unknown, buffer_string(&d->call), d->call.len);
	if (found != NULL) {
		differ = against_compare_events(a, node, &a->replay.graph.nodes[*found], err);
		if (differ != 0)
			return differ;
		differ = against_describe_event(a, DIFFERENCE_FIRST_ONLY, &a->recording, node, err);
	}
	return differ == 1 && against_describe_failure(a, err) != 0 ? -1 : differ;
}

/* ---- all of them ---- */

/* Whether the status of an attempt's end is compared: it is not if a signal or a time limit from
 * outside ended the attempt, which does not happen again in a replay. */
static bool
end_counts(const struct canonical *c)
{
	static const char *const from_inside[] = { "success", "failed", "waiting", NULL };
	struct span line = buffer_span(&c->bytes);

	/* Nor if it ended because its reader closed the pipe. */
	return span_one_of(span_path(line, KEY_PAYLOAD, KEY_STATUS, NULL), from_inside) != NULL &&
	    !span_is(span_path(line, KEY_PAYLOAD, KEY_ERROR, KEY_CODE, NULL),
	    error_name(ERROR_DOWNSTREAM_CLOSED));
}

/* Compares the recorded events of the last attempt: without its end, or (ends) only its end, which
 * is compared after events that only the replay has. A child run that is missing is reported only
 * if nothing else differs: it may be missing because the lines that it would have read are
 * others. */
static int
compare_recorded(struct against *a, bool ends, struct error *err)
{
	const struct graph_node *other, *child = NULL;
	struct span line;
	int got, differ = 0;

	a->recording.next = 0;
	while (differ == 0 && (got = canonical_next(&a->recording, err)) != 0) {
		const struct graph_node *node = a->recording.node;

		if (got < 0)
			return -1;
		line = buffer_span(&a->recording.bytes);
		/* Skip decisions, and waits for them: they came from outside, and a replay has none. */
		if (node->attempt != a->attempt || node->type == EVENT_RUN_STARTED ||
		    node->type == EVENT_STEP_WAITING ||
		    (node->type == EVENT_RUN_COMPLETED) != ends || (ends && !end_counts(&a->recording)) ||
		    span_type(span_path(line, KEY_PAYLOAD, KEY_APPROVAL, KEY_DECIDES, NULL)) == 's')
			continue;
		other = against_find_counterpart(&a->replay, node->id);
		if (other == NULL && node->type == EVENT_CALL_WORKFLOW_STARTED)
			child = child != NULL ? child : node;
		else
			differ = other != NULL ? against_compare_events(a, node, other, err) :
			    compare_missing(a, node, err);
	}
	return differ != 0 || child == NULL ? differ : compare_missing(a, child, err);
}

/* Finds events that only the replay has, and compares events that it made again with those of an
 * earlier attempt. If the recorded attempt has no end, or was ended from outside, additional events
 * are no difference: it is not known what would have followed. */
static int
compare_replayed(struct against *a, struct error *err)
{
	const struct graph_node *other;
	bool cut_off = true;
	int got, differ = 0;

	a->recording.next = 0;
	while ((got = canonical_next(&a->recording, err)) == 1)
		if (a->recording.node->attempt == a->attempt &&
		    a->recording.node->type == EVENT_RUN_COMPLETED)
			cut_off = !end_counts(&a->recording);
	if (got < 0)
		return -1;
	while (differ == 0 && (got = canonical_next(&a->replay, err)) != 0) {
		const struct graph_node *node = a->replay.node;

		if (got < 0)
			return -1;
		if (node->type == EVENT_RUN_STARTED || node->type == EVENT_RUN_COMPLETED)
			continue;
		other = against_find_counterpart(&a->recording, node->id);
		if (other == NULL)
			differ = cut_off ? 0 : against_describe_event(a, DIFFERENCE_SECOND_ONLY,
			    &a->replay, node, err);
		else if (other->attempt != a->attempt)
			differ = against_compare_events(a, other, node, err);
	}
	return differ;
}

/* Puts events in the order in which they were recorded: of several differences, the first one has
 * caused the others, even where the graph does not show it. */
static void
order_by_time(struct canonical *c)
{
	free(c->order);
	c->order = graph_order_seq(&c->graph);
}

int
against_recording(const char *recording, const char *replay, int attempt, struct difference *d,
    struct error *err)
{
	struct against a = { .unknown = MAP_INIT, .taken = MAP_INIT, .attempt = attempt,
		.difference = d };
	int differ;

	memset(d, 0, sizeof *d);
	if (canonical_open_both(&a.recording, &a.replay, recording, replay, err) != 0)
		return -1;
	order_by_time(&a.recording);
	order_by_time(&a.replay);
	differ = list_unknown(&a, err);
	if (differ == 0)
		differ = compare_recorded(&a, false, err);
	if (differ == 0)
		differ = compare_replayed(&a, err);
	if (differ == 0)
		differ = compare_recorded(&a, true, err);
	map_free(&a.unknown);
	map_free(&a.taken);
	canonical_close(&a.recording);
	canonical_close(&a.replay);
	return differ;
}
