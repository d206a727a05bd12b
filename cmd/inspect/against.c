/*
 * Both sides are read in canonical form, in the order of their lines, and an event's
 * counterpart is found by its id. What is compared is a line of what counts, written for both
 * alike, with digests last, so that the first difference says what differs and not only that
 * something does. A child run that is missing is told of after all else that was recorded, as
 * that may be why, and the end of the run after what the replay did more.
 */
#include "inspect/against.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "inspect/taken.h"
#include "transcript/event_keys.h"

/* The two sides of the comparison. */
struct against {
	struct canonical recording, replay;
	struct map unknown;        /* starts that only the replay has, by their calls */
	struct map taken;          /* of the recording; read when it is first asked for */
	bool taken_known;
	int attempt;
	struct difference *difference;
};

/* ---- what of an event is compared ---- */

/* Left out everywhere. What is in the files, a digest tells. */
static const char *const dropped[] = { "attempt", "call", "files", KEY_CLAIMS, KEY_REUSED_FROM,
	"approval", "parts", "seal", "try", NULL };
/* These say that something differs, but not what: they come last. */
static const char *const digests[] = { KEY_INPUT_SHA256, KEY_DEFINITION_SHA256, NULL };
/* Of the end of the run, which may speak of paths. */
static const char *const end_keys[] = { "status", "exit_code", NULL };

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

/* All of a payload that counts, the digests last. */
static void
put_payload(struct buffer *out, struct span payload)
{
	for (struct span_walk member = span_walk(payload); span_next(&member);)
		if (!span_one_of(member.key, dropped) && !span_one_of(member.key, digests))
			put_member(out, member.key, member.value);
	put_listed(out, payload, digests);
}

/* What is compared of an event, from its canonical line. Where in its stream it was is
 * told by the event itself, though what is compared be of another. */
static void
put_comparable(struct buffer *out, struct span line, const char *iteration)
{
	static const char *const before[] = { "type", "path", NULL };
	static const char *const after[] = { KEY_CHILD_RUN_ID, "refs", NULL };
	struct span payload = span_member(line, KEY_PAYLOAD);

	buffer_byte(out, '{');
	put_listed(out, line, before);
	if (*iteration != '\0')
		buffer_format(out, ",\"iteration\":%s", iteration);
	buffer_text(out, ",\"payload\":{");
	if (span_is(span_member(line, KEY_TYPE), event_type_name(EVENT_RUN_COMPLETED)))
		put_listed(out, payload, end_keys);
	else
		put_payload(out, payload);
	buffer_byte(out, '}');
	put_listed(out, line, after);
	buffer_byte(out, '}');
}

static struct span
buffer_span(const struct buffer *b)
{
	return span_of(buffer_string(b), b->len);
}

/* ---- events and their counterparts ---- */

static const struct graph_node *
counterpart(const struct canonical *c, struct uuid id)
{
	uint32_t found = graph_find(&c->graph, id);

	return found == GRAPH_NONE ? NULL : &c->graph.nodes[found];
}

static int
tell(struct against *a, enum difference_kind kind, struct canonical *c,
    const struct graph_node *node, struct error *err)
{
	return difference_event(a->difference, kind, c, node, err) != 0 ? -1 : 1;
}

/* The event whose contents stand for those of this one: where a call took its result
 * over from. NULL if that lies in another recording. */
static const struct graph_node *
original(const struct canonical *c, const struct graph_node *node, struct span line)
{
	struct span from = span_path(line, KEY_PAYLOAD, KEY_REUSED_FROM, NULL);
	struct uuid id;

	if (from.at == NULL)
		return node;
	return graph_id_read(from, &id) ? counterpart(c, id) : NULL;
}

#define ITERATION_SIZE 24

/* An item may have come at another position in an earlier attempt: that is "" then. */
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

/* Adds what is compared of a recorded event; nothing if that is not at hand. */
static int
put_recorded(struct against *a, const struct graph_node *node, struct buffer *out,
    struct error *err)
{
	struct canonical *c = &a->recording;
	const struct graph_node *from;
	struct buffer line = BUFFER_INIT;
	char iteration[ITERATION_SIZE] = "";
	int failed = canonical_read(c, node, &line, err);

	if (failed == 0)
		iteration_of(a, node, buffer_span(&line), iteration);
	from = failed == 0 ? original(c, node, buffer_span(&line)) : NULL;
	if (from != NULL && from != node) {
		buffer_clear(&line);
		failed = canonical_read(c, from, &line, err);
	}
	if (failed == 0 && from != NULL)
		put_comparable(out, buffer_span(&line), iteration);
	buffer_free(&line);
	return failed;
}

static int
put_replayed(struct against *a, const struct graph_node *recorded,
    const struct graph_node *node, struct buffer *out, struct error *err)
{
	char iteration[ITERATION_SIZE];
	struct buffer line = BUFFER_INIT;
	int failed = canonical_read(&a->replay, node, &line, err);

	if (failed == 0) {
		iteration_of(a, recorded, buffer_span(&line), iteration);
		put_comparable(out, buffer_span(&line), iteration);
	}
	buffer_free(&line);
	return failed;
}

/* A call that failed in the replay alone says why. */
static void
note_failure(struct difference *d, struct span recorded, struct span replayed)
{
	struct span payload = span_member(replayed, KEY_PAYLOAD);
	struct span error = span_member(payload, KEY_ERROR);

	if (span_type(error) != 'o' || span_path(recorded, KEY_PAYLOAD, KEY_ERROR, NULL).at != NULL)
		return;
	span_decode(span_member(error, KEY_MESSAGE), &d->failure);
	span_decode(span_member(payload, KEY_STDERR), &d->errors);
}

/* 1: they differ, and how is told of the recorded one. */
static int
compare(struct against *a, const struct graph_node *recorded, const struct graph_node *replayed,
    struct error *err)
{
	struct buffer first = BUFFER_INIT, second = BUFFER_INIT;
	int differ = put_recorded(a, recorded, &first, err);

	if (differ == 0 && first.len > 0)
		differ = put_replayed(a, recorded, replayed, &second, err);
	if (differ == 0 && first.len > 0 && !buffer_equal(&second, first.data)) {
		differ = tell(a, DIFFERENCE_VALUE, &a->recording, recorded, err);
		if (differ == 1) {
			difference_values(a->difference, buffer_span(&first), buffer_span(&second));
			note_failure(a->difference, buffer_span(&first), buffer_span(&second));
		}
	}
	buffer_free(&first);
	buffer_free(&second);
	return differ;
}

/* ---- calls that have no counterpart by their ids ---- */

/* Lists the calls that were not recorded: one of them may stand for one that was, and
 * was not made again. */
static int
list_unknown(struct against *a, struct error *err)
{
	struct canonical *c = &a->replay;
	struct buffer call = BUFFER_INIT;
	int failed = 0;

	for (uint32_t i = 0; failed == 0 && i < c->graph.count; i++) {
		const struct graph_node *node = &c->graph.nodes[i];

		if (!event_type_starts_call((enum event_type)node->type) ||
		    counterpart(&a->recording, node->id) != NULL)
			continue;
		buffer_clear(&call);
		failed = canonical_call(c, node, &call, err);
		map_put(&a->unknown, buffer_string(&call), call.len, i);
	}
	buffer_free(&call);
	return failed;
}

/* Whether the event is of a call that no replay makes. 1, 0, or -1. */
static int
not_repeated(struct against *a, const char *call, struct error *err)
{
	if (!a->taken_known && taken_read(&a->taken, &a->recording, err) != 0)
		return -1;
	a->taken_known = true;
	return taken_encloses(&a->taken, call);
}

/* A recorded event that the replay does not have. */
static int
compare_missing(struct against *a, const struct graph_node *node, struct error *err)
{
	const size_t *found = NULL;
	struct difference *d = a->difference;
	int differ = tell(a, DIFFERENCE_FIRST_ONLY, &a->recording, node, err), taken;

	taken = differ == 1 ? not_repeated(a, buffer_string(&d->call), err) : 0;
	if (taken != 0)
		return taken == 1 ? 0 : -1;
	if (differ == 1 && event_type_starts_call((enum event_type)node->type))
		found = map_get(&a->unknown, buffer_string(&d->call), d->call.len);
	if (found == NULL)
		return differ;
	differ = compare(a, node, &a->replay.graph.nodes[*found], err);
	return differ != 0 ? differ : tell(a, DIFFERENCE_FIRST_ONLY, &a->recording, node, err);
}

/* ---- all of them ---- */

/* Whether the end of an attempt tells of its work: a signal or a time limit from
 * outside does not come again. */
static bool
end_counts(const struct canonical *c)
{
	static const char *const from_inside[] = { "success", "failed", "waiting", NULL };
	struct span line = buffer_span(&c->bytes);

	return span_one_of(span_path(line, KEY_PAYLOAD, KEY_STATUS, NULL), from_inside) != NULL;
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
		/* A decision came from outside: a replay has nothing of it. */
		if (node->attempt != a->attempt || node->type == EVENT_RUN_STARTED ||
		    (node->type == EVENT_RUN_COMPLETED) != ends || (ends && !end_counts(&a->recording)) ||
		    span_type(span_path(line, KEY_PAYLOAD, KEY_APPROVAL, KEY_DECIDES, NULL)) == 's')
			continue;
		other = counterpart(&a->replay, node->id);
		if (other == NULL && node->type == EVENT_CALL_WORKFLOW_STARTED)
			child = child != NULL ? child : node;
		else
			differ = other != NULL ? compare(a, node, other, err) : compare_missing(a, node, err);
	}
	return differ != 0 || child == NULL ? differ : compare_missing(a, child, err);
}

/* Whether the attempt was ended from outside, so that a replay may go further. */
static int
cut_off(struct against *a, bool *cut_off, struct error *err)
{
	int got;

	*cut_off = true;
	a->recording.next = 0;
	while ((got = canonical_next(&a->recording, err)) == 1)
		if (a->recording.node->attempt == a->attempt &&
		    a->recording.node->type == EVENT_RUN_COMPLETED)
			*cut_off = !end_counts(&a->recording);
	return got;
}

/* What only the replay did, or did of what an earlier attempt had recorded. */
static int
compare_replayed(struct against *a, struct error *err)
{
	const struct graph_node *other;
	bool further;
	int got, differ = cut_off(a, &further, err);

	while (differ == 0 && (got = canonical_next(&a->replay, err)) != 0) {
		const struct graph_node *node = a->replay.node;

		if (got < 0)
			return -1;
		if (node->type == EVENT_RUN_STARTED || node->type == EVENT_RUN_COMPLETED)
			continue;
		other = counterpart(&a->recording, node->id);
		if (other == NULL)
			differ = further ? 0 : tell(a, DIFFERENCE_SECOND_ONLY, &a->replay, node, err);
		else if (other->attempt != a->attempt)
			differ = compare(a, other, node, err);
	}
	return differ;
}

/* What differs first has made the rest differ, be it by a way that no event tells of. */
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
