/*
 * One item, and the end of the input. After the last item the end of the input itself is
 * judged, once EOF is seen: only then the locks of whoever wrote it tell whether they died. The
 * status is the worst of all calls.
 */
#include "step/stream_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/terminal.h"
#include "transcript/event_keys.h"

/* ---- the output ---- */

/* The worse of two exit statuses. */
static int
worse(int a, int b)
{
	static const int ranks[] = { STATUS_OK, STATUS_WAITING, STATUS_USAGE, STATUS_WORK,
		STATUS_SYSTEM };
	size_t i, rank_a = 0, rank_b = 0;

	for (i = 0; i < sizeof ranks / sizeof *ranks; i++) {
		if (ranks[i] == a)
			rank_a = i;
		if (ranks[i] == b)
			rank_b = i;
	}
	return rank_a > rank_b ? a : b;
}

/* Text of models and commands goes to a terminal made harmless, and so do lines. */
static int
put(const struct stream *s, const struct buffer *out)
{
	struct buffer shown = BUFFER_INIT;
	int result;

	if (!terminal_is(s->out))
		return state_put(s->out, out->data, out->len, s->step->interrupts.signal_number);
	if (s->step->raw)
		terminal_text(&shown, out->data, out->len);
	else
		terminal_json(&shown, out->data, out->len);
	result = state_put(s->out, buffer_string(&shown), shown.len,
	    s->step->interrupts.signal_number);
	buffer_free(&shown);
	return result;
}

int
stream_deliver(struct stream *s, const struct step_result *result, struct error *err)
{
	s->status = worse(s->status, result->status);
	s->closed = s->closed || result->closed;
	s->gone = s->gone || result->gone;
	if (result->report[0] != '\0')
		s->report(result->report);
	/* Of what -r prints an empty text may be all. */
	s->printed = s->printed || result->out.len > 0 || s->step->raw;
	if (s->out == -1 || s->closed || result->out.len == 0)
		return 0;
	if (put(s, &result->out) == 0)
		return 0;
	if (errno == EINTR)
		return 0; /* the signal ends the stream */
	if (errno != EPIPE)
		return error_errno(err, ERROR_SYSTEM, "stdout", "unable to write");
	/* A replay makes every call that was recorded, however soon its reader goes. */
	s->closed = s->step->reader == 0;
	s->gone = true;
	s->out = -1;
	return 0;
}

/* Whether no further call may begin. */
bool
stream_must_stop(struct stream *s, const struct step_result *result)
{
	struct error why = ERROR_INIT;

	if (!result->stop && !s->closed && !interrupted(&s->step->interrupts, &why))
		return false;
	if (why.code == ERROR_DOWNSTREAM_CLOSED)
		s->closed = true;
	return true;
}

/* ---- the input's end ---- */

int
stream_fail_input(struct stream *s, const struct item *item, const struct error *why,
    struct error *err)
{
	struct step_result result = { .out = BUFFER_INIT };
	struct item empty;
	int failed;

	memset(&empty, 0, sizeof empty);
	if (item == NULL) {
		data_null(&empty.data);
		item = &empty;
	}
	failed = step_fail(s->step, item, why, s->index++, &result, err);
	if (failed == 0)
		failed = stream_deliver(s, &result, err);
	buffer_free(&result.out);
	item_free(&empty);
	return failed;
}

/* What the reader refused. A line cut off by a dead producer is that, no nonsense. */
int
stream_fail_read(struct stream *s, const struct error *wrong, struct error *err)
{
	struct error why = *wrong;

	if (wrong->code == ERROR_CANCELLED)
		return 0;
	if (wrong->code != ERROR_INVALID_INPUT) {
		*err = *wrong;
		return -1;
	}
	producers_dead(&s->producers, &why);
	return stream_fail_input(s, NULL, &why, err);
}

/* Whether no input at all is a fault here. */
bool
stream_lacks_input(const struct stream *s)
{
	const struct state_reader *r = s->reader;

	return !r->any_byte && !s->allow_empty && r->form != INPUT_LINES &&
	    r->form != INPUT_NUL && r->form != INPUT_JSON && r->form != INPUT_NONE;
}

int
stream_no_input(const struct stream *s, struct error *err)
{
	return error_set(err, ERROR_NO_INPUT, "stdin", s->joined ?
	    "no input (--allow-empty if there may be none)" :
	    "no input (-n if there is none to be, --allow-empty if there may be none)");
}

/* Who writes to this very pipe has died, or, of an input of which nothing came, some step
 * beside this one: behind a filter nobody knows whom it read. */
static bool
upstream_died(const struct stream *s, const struct upstream *u, struct error *why)
{
	const struct step *step = s->step;
	const bool beside = u->died && !u->relayed;
	struct roster_death death;

	if (!u->died && (s->reader->any_byte || u->known ||
	    !roster_died_beside(s->roster, &death)))
		return false;
	error_set(why, ERROR_UPSTREAM_INCOMPLETE, NULL, "the step %s%s%s died before its end",
	    beside ? step->enclosing : "", beside && *step->enclosing != '\0' ? "/" : "",
	    u->died ? u->process : death.process);
	return true;
}

/* In a replay of a child there are no runs around it, of which somebody is dead; a call of no
 * item, after items from there, tells that it was so. step_fail() takes what is recorded. */
static bool
recorded_torn(const struct stream *s)
{
	const struct recall *recall = s->step->recall;
	struct recalled_event started = { .line = BUFFER_INIT };
	struct recall_query query;
	char *call;
	bool torn;

	if (!step_replays(s->step) || !s->producers.foreign)
		return false;
	query = step_query(s->step, s->index);
	if (!recall->peek(recall->history, &query, &started))
		return false;
	call = memory_format("%s:%lld", s->step->process, (long long)s->index);
	torn = span_type(span_member(started.view.payload, KEY_INPUT)) == '0' &&
	    span_is(span_member(started.view.payload, KEY_CALL), call);
	free(call);
	recalled_event_free(&started);
	return torn;
}

bool
stream_wrong_end(const struct stream *s, struct error *why)
{
	struct upstream upstream;

	roster_upstream(s->roster, s->reader->fd, &upstream);
	if (producers_dead(&s->producers, why) || upstream_died(s, &upstream, why))
		return true;
	/* No items, as all who write here had none, are an input too. */
	if ((stream_lacks_input(s) && !upstream.all_empty) || recorded_torn(s))
		stream_no_input(s, why);
	return why->code != ERROR_NONE;
}

int
stream_judge_end(struct stream *s, struct error *err)
{
	struct error why = ERROR_INIT;

	return stream_wrong_end(s, &why) ? stream_fail_input(s, NULL, &why, err) : 0;
}

/* ---- one item ---- */

/* The call of an item, if the gate takes it. What failed before is no call's to make. */
int
stream_call_gated(struct stream *s, const struct item *item, int64_t index,
    struct step_result *result, struct error *err)
{
	const struct gate *gate = &s->step->gate;
	struct buffer causes = BUFFER_INIT;
	struct error why = ERROR_INIT;
	bool failed = item_error(item).at != NULL;
	bool refused = gate->count > 0 && !failed && gate_pass(gate, item, &why) == -1;
	int called;

	if (!refused && !failed && s->step->compared == STEP_CUT_OFF) {
		error_set(&why, ERROR_UPSTREAM_INCOMPLETE, "stdin", "broke off before it was known "
		    "which of the recorded calls this is");
		refused = true;
	}
	step_causes(item, &causes);
	called = step_call(s->step, item, &causes, refused ? &why : NULL, index, result, err);
	buffer_free(&causes);
	return called;
}

int
stream_call_item(struct stream *s, const struct item *item, int64_t index,
    struct step_result *result, struct error *err)
{
	int called;

	step_result_clear(result);
	called = stream_call_gated(s, item, index, result, err);
	if (called == 0)
		called = stream_deliver(s, result, err);
	return called;
}

int
stream_describe_item(struct stream *s, const struct item *item, struct buffer *out,
    struct error *err)
{
	bool failed = item_error(item).at != NULL;

	return failed == s->step->rescue ? step_describe(s->step, item, out, err) : 0;
}
