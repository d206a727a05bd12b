/*
 * A wait is an end of the call with the error `waiting` and, in payload.approval, what it
 * waits for. What is decided is told there too.
 */
#include "step/step_call.h"

#include "base/clock.h"
#include "run/decision.h"
#include "transcript/event_keys.h"

struct writer
step_begin_approval(struct step_call *call)
{
	struct writer w;

	buffer_clear(&call->end.approval);
	writer_begin(&w, &call->end.approval);
	writer_object(&w);
	return w;
}

/* Whether a decision can come: it goes by the record, and so does resuming. */
static bool
can_wait(struct step_call *call)
{
	const struct run *run = call->step->run;

	if (run->keep_transcript && !run->transcript.masked)
		return true;
	error_set(&call->end.error, ERROR_BLOCKED, NULL, "nobody can decide later about a run that %s",
	    run->keep_transcript ? "is masked (--mask)" : "keeps no transcript (--no-transcript)");
	return false;
}

void
step_wait(struct step_call *call, enum waiting_for what, const char *form, int64_t timeout_ms)
{
	struct writer w;

	if (!can_wait(call))
		return;
	error_set(&call->end.error, ERROR_WAITING, NULL, "%s",
	    what == WAITING_APPROVAL ? WAITING_FOR_DECISION : WAITING_FOR_RESULT);
	w = step_begin_approval(call);
	decision_write_limits(what, form, timeout_ms, &w);
	writer_object_end(&w);
}

/* The members of payload.approval that are listed. */
static void
copy_approval(struct step_call *call, struct span approval, const char *const *names)
{
	struct writer w = step_begin_approval(call);

	for (struct span_walk member = span_walk(approval); span_next(&member);) {
		if (span_one_of(member.key, names) != NULL)
			writer_raw_member(&w, member.key, member.value);
	}
	writer_object_end(&w);
}

static struct span
recorded_approval(const struct step_call *call)
{
	return span_member(recalled_result(&call->verdict.recalled)->view.payload, KEY_APPROVAL);
}

void
step_take_approval(struct step_call *call)
{
	static const char *const names[] = { "asks", "form", "timeout_ms", "deadline", "decision",
		"by", "reason", NULL };

	if (span_type(recorded_approval(call)) == 'o')
		copy_approval(call, recorded_approval(call), names);
}

void
step_wait_on(struct step_call *call)
{
	static const char *const names[] = { "asks", "form", "timeout_ms", "deadline", NULL };
	struct span approval = recorded_approval(call);
	char deadline[CLOCK_TEXT_SIZE];
	int64_t wall = 0;

	if (span_copy(span_member(approval, "deadline"), deadline, sizeof deadline) &&
	    clock_parse(deadline, 0, &wall) == 0 && clock_wall() > wall) {
		error_set(&call->end.error, ERROR_TIMEOUT, NULL, "no result came until %s", deadline);
		return;
	}
	error_set(&call->end.error, ERROR_WAITING, NULL, WAITING_FOR_RESULT);
	copy_approval(call, approval, names);
}
