/*
 * Calls about which somebody decides. A wait is an end of the call with the error `waiting` and, in
 * payload.approval, what it waits for. The decision is recorded there too.
 */
#include "step_call/step_call.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "decide/decision.h"
#include "model/waiting.h"
#include "transcript/event_keys.h"

/* ---- waiting ---- */

/* payload.approval, empty, for its members. */
static struct writer
begin_approval(struct step_call *call)
{
	struct writer w;

	buffer_clear(&call->end.approval);
	writer_begin(&w, &call->end.approval);
	writer_object(&w);
	return w;
}

void
step_wait_until(struct step_call *call, int64_t due)
{
	char deadline[CLOCK_TEXT_SIZE];
	struct writer w;

	error_set(&call->end.error, ERROR_WAITING, NULL, WAITING_FOR_TIME " until %s",
	    clock_text(due, deadline));
	w = begin_approval(call);
	writer_member_string(&w, KEY_ASKS, waiting_word(WAITING_TIME));
	writer_member_string(&w, KEY_DEADLINE, deadline);
	writer_object_end(&w);
}

void
step_wake(struct step_call *call)
{
	struct data data = { BUFFER_INIT, false, false };

	call->end.error = (struct error)ERROR_INIT;
	buffer_clear(&call->end.approval);
	data_copy(&data, &call->item->data);
	step_add_result(&call->end, &data);
}

void
step_wait(struct step_call *call, enum waiting_for what, const char *form, int64_t timeout_ms)
{
	const struct run *run = call->step->place.run;
	struct writer w;

	/* Decisions and resumes need the record. */
	if (!run->keep_transcript || run->transcript.masked) {
		error_set(&call->end.error, ERROR_BLOCKED, NULL,
		    "nobody can decide later about a run that %s", run->keep_transcript ?
		    "is masked (--mask)" : "keeps no transcript (--no-transcript)");
		return;
	}
	error_set(&call->end.error, ERROR_WAITING, NULL, "%s",
	    what == WAITING_APPROVAL ? WAITING_FOR_DECISION : WAITING_FOR_RESULT);
	w = begin_approval(call);
	decision_write_limits(what, form, timeout_ms, &w);
	if (call->task != NULL) {
		writer_member_string(&w, KEY_TASK, call->task);
		writer_member_integer(&w, KEY_TRY, call->number);
	}
	writer_object_end(&w);
}

/* The task is named after the call that began it, followed by the attempt if that was not the
 * first, since an earlier call may have had the same name. A call that is another one now, or
 * new, is another task. */
void
step_name_task(struct step_call *call)
{
	const struct step *s = call->step;
	const struct recalled *r = &call->verdict.recalled;
	struct span recorded = r->started.view.payload, began = span_path(recorded, KEY_PENDING,
	    KEY_TASK, NULL);
	char *task;

	if (call->verdict.recalls && !r->changed && r->run_id[0] == '\0')
		call->task = span_type(began) == 's' ? span_text(began) :
		    span_text(span_member(recorded, KEY_CALL));
	if (call->task == NULL)
		call->task = s->place.run->attempt <= 1 ? memory_text(call->id) :
		    memory_format("%s@%lld", call->id, (long long)s->place.run->attempt);
	task = memory_format("%s/%s", s->place.run->id, call->task);
	environment_set(&call->step->place.environment, "AWF_TASK", task);
	free(task);
}

void
step_name_try(struct step_call *call)
{
	struct step *s = call->step;
	char *name = waiting_token(call->id, s->place.run->attempt, ++call->number);
	char *token = memory_format("%s/%s", s->place.run->id, name);

	environment_set(&s->place.environment, "AWF_TASK_TOKEN", token);
	free(token);
	free(name);
}

void
step_note_decision(struct step_call *call, const struct decision *d)
{
	struct writer w = begin_approval(call);

	decision_write(d, &w);
	writer_object_end(&w);
}

/* Copies the listed members of the recorded payload.approval. */
static void
copy_approval(struct step_call *call, struct span approval, const char *const *names)
{
	struct writer w = begin_approval(call);

	for (struct span_walk member = span_walk(approval); span_next(&member);)
		if (span_one_of(member.key, names) != NULL)
			writer_raw_member(&w, member.key, member.value);
	writer_object_end(&w);
}

void
step_take_approval(struct step_call *call)
{
	static const char *const names[] = { KEY_ASKS, KEY_FORM, KEY_TIMEOUT_MS, KEY_DEADLINE,
		KEY_DECISION, KEY_BY, KEY_REASON, KEY_TASK, KEY_TRY, NULL };
	struct span approval = span_member(recalled_result(&call->verdict.recalled)->view.payload,
	    KEY_APPROVAL);

	if (span_type(approval) == 'o')
		copy_approval(call, approval, names);
}

void
step_end_wait(struct step_call *call, int64_t deadline)
{
	char text[CLOCK_TEXT_SIZE];

	if (call->step->options.sleep.asked) {
		step_wake(call);
		return;
	}
	buffer_clear(&call->end.approval);
	error_set(&call->end.error, ERROR_TIMEOUT, NULL, "no result came until %s",
	    clock_text(deadline, text));
}

void
step_wait_on(struct step_call *call)
{
	static const char *const names[] = { KEY_ASKS, KEY_FORM, KEY_TIMEOUT_MS, KEY_DEADLINE, NULL };
	struct span approval = span_member(recalled_result(&call->verdict.recalled)->view.payload,
	    KEY_APPROVAL);
	char deadline[CLOCK_TEXT_SIZE];
	int64_t wall = 0;

	if (span_copy(span_member(approval, KEY_DEADLINE), deadline, sizeof deadline) &&
	    clock_parse(deadline, 0, &wall) == 0 && clock_wall() > wall) {
		step_end_wait(call, wall);
		return;
	}
	error_set(&call->end.error, ERROR_WAITING, NULL, WAITING_FOR_RESULT);
	copy_approval(call, approval, names);
}
