/*
 * Both sides are read in canonical form, in the order of their lines, and the counterpart of an
 * event is found by its id. What is compared is a line with the members that count, written for
 * both in the same way, with digests last, so that the first difference says what differs, and not
 * only that something does. A missing child run is reported after all other recorded events, since
 * these may be the reason, and the end of the run after what the replay did in addition.
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
	struct map unknown;        /* starts that only the replay has, by their calls */
	struct map taken;          /* of the recording; read when it is first needed */
	bool taken_known;
	int attempt;
	struct difference *difference;
};

/* ---- which members are compared ---- */

/* Never compared. A digest is compared instead of files. */
static const char *const dropped[] = { KEY_ATTEMPT, KEY_CALL, KEY_FILES, KEY_CLAIMS,
	KEY_REUSED_FROM, KEY_APPROVAL, KEY_PARTS, KEY_SEAL, KEY_TOOL_CALL, KEY_TRY, KEY_MADE_AGAIN, KEY_PROGRAM_CHANGED,
	KEY_DIRECTORY, KEY_VARIABLES, KEY_START, KEY_COMPARED_WITH, NULL };
/* These show that something differs, but not what: they are compared last. */
static const char *const digests[] = { KEY_INPUT_SHA256, KEY_DEFINITION_SHA256, KEY_REQUEST_SHA256,
	NULL };
/* Members of the end of the run that are compared; others may contain paths. */
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

/* The members of an object whose keys are listed. */
static void
put_listed(struct buffer *out, struct span object, const char *const *names)
{
	for (struct span_walk member = span_walk(object); span_next(&member);)
		if (span_one_of(member.key, names))
			put_member(out, member.key, member.value);
}

/* What is compared of an event, from its canonical line. Where in its stream it was, and what its step is
 * called, is told by the event itself (own), though what is compared be of another; in an earlier attempt the
 * step may have had another path (pathed: it counts). */
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
 * The calls of a recording whose ends a replay takes from it: commands whose effects are not
 * repeated, or that ran elsewhere, and calls that ended because of something around them (a time
 * limit, a signal). Calls inside these are not made again, nor is what a tool ran whose result is
 * taken. Tools are looked at before calls: whether a call is made depends on the tool that made it.
 * The name of a call begins with those of all enclosing calls, so looking up its prefixes tells
 * whether it is inside one that is taken.
 */

/* What is not repeated: the calls inside it, or the whole call. */
enum { INSIDE, ITSELF };

static bool
start_is_taken(struct span payload)
{
	static const char *const effects[] = { "read", "external", NULL };

	return span_one_of(span_member(payload, KEY_EFFECTS), effects) != NULL ||
	    span_member(payload, KEY_VIA).at != NULL;
}

/* What is known of a recording while it is read. */
struct reading {
	struct map *taken;
	struct canonical *recording;
	bool *tools;       /* nodes of tool.call whose result is taken */
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
		/* A call made by a tool whose result is taken is not made either. */
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

/* Reads the events of tools, or those of calls. */
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

/* Lists them. -1: *err. */
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

/* Whether the call is not made again: an enclosing call is taken, or a tool ran it. */
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

/* An item may have had another position in an earlier attempt: then the position is "". */
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

/* Writes what is compared of an event; nothing if that is not available. If a call took over its
 * result from another, that one is used instead; it may be in another recording. */
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

/* Appends why a call failed, by its last end, and its stderr; nothing if it succeeded. */
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
		/* The compared form may lack the message. */
		whole = failed == 0 && span_type(error) == 'o' ? graph_line(&c->graph, node, err) : NULL;
		if (whole != NULL) {
			span_decode(span_path(span_of(whole, node->length), KEY_PAYLOAD, KEY_ERROR, KEY_MESSAGE,
			    NULL), failure);
			span_decode(span_member(payload, KEY_STDERR), errors);
			/* A single line is at the end of the message already. */
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

/* A call that failed only in the replay gives the reason. */
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

/* 1: they differ, and *d describes how, for the recorded event. */
static int
against_compare_events(struct against *a, const struct graph_node *recorded,
    const struct graph_node *replayed, struct error *err)
{
	struct buffer first = BUFFER_INIT, second = BUFFER_INIT;
	/* In an earlier attempt another call may have had the name. */
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

/* Lists the calls that were not recorded: one of them may replace a recorded call that was not
 * made again. */
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

/* A recorded event that the replay does not have. It is no difference if it belongs to a call
 * that no replay makes. */
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

/* Whether the end of an attempt depends on its work: a signal or a time limit from outside does
 * not occur again. */
static bool
end_counts(const struct canonical *c)
{
	static const char *const from_inside[] = { "success", "failed", "waiting", NULL };
	struct span line = buffer_span(&c->bytes);

	/* Nor does an end because nobody read any more. */
	return span_one_of(span_path(line, KEY_PAYLOAD, KEY_STATUS, NULL), from_inside) != NULL &&
	    !span_is(span_path(line, KEY_PAYLOAD, KEY_ERROR, KEY_CODE, NULL),
	    error_name(ERROR_DOWNSTREAM_CLOSED));
}

/* What the last attempt recorded, but for its end: that comes after what the replay
 * did more. A child run starts before those whose lines it reads, and is not made again if
 * they are others: it is looked at when it ends. */
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
		/* A decision came from outside: a replay does not have it. */
		if (node->attempt != a->attempt || node->type == EVENT_RUN_STARTED ||
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

/* Finds events that only the replay has, or made again although an earlier attempt recorded
 * them. An attempt that did not end, or was ended from outside, does not tell what would
 * have followed. */
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

/* The first difference has caused the others, even if no event shows how. */
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
