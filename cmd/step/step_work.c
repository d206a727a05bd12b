/*
 * The work in tries: each sets the call's error anew, and the loop around them decides. A try
 * is not repeated if it may have had an effect, or if something in it had one.
 */
#include "step/step_call.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/retried.h"
#include "base/clock.h"
#include "base/terminal.h"
#include "json/writer.h"
#include "run/roster.h"
#include "step/group.h"
#include "step/inside.h"

/* Cut off in the middle: an effect may have happened, so it is not repeated. A tool
 * that declares none may have any. */
static bool
may_have_happened(const struct step_call *call)
{
	const struct step *s = call->step;
	bool outside = effects_outside(s->effects) ||
	    (s->operation != NULL && s->effects == EFFECTS_UNDECLARED);

	return outside && !s->idempotent &&
	    (call->end.error.code == ERROR_TIMEOUT || call->end.error.code == ERROR_CANCELLED ||
	    call->end.error.code == ERROR_INTERRUPTED || call->end.killed);
}

/* What the command has started may have done what is not to be done twice: what failed stands
 * then, and says so. So may the recorded call, which this one has taken over: what a try takes
 * over, the next one does not. */
static bool
would_repeat(struct step_call *call)
{
	const struct recalled *r = &call->verdict.recalled;
	struct error *error = &call->end.error, why = *error;
	struct buffer what = BUFFER_INIT;
	bool repeats = call->verdict.recalls && !r->changed && r->changed_inside != NULL;

	if (repeats)
		buffer_text(&what, r->changed_inside);
	else
		repeats = inside_changed(call->step->run, call->id, call->record_from, &what);
	if (repeats)
		error_set(error, why.code, *why.place != '\0' ? why.place : NULL,
		    "%s; not tried again, as %s has changed something", why.message,
		    buffer_string(&what));
	buffer_free(&what);
	return repeats;
}

/* A try that failed, and that another follows, in the end of the call. */
static void
note_retry(struct step_end *end, int64_t began)
{
	struct writer w;

	if (end->retries.len > 0)
		buffer_byte(&end->retries, ',');
	writer_begin(&w, &end->retries);
	writer_object(&w);
	writer_members_error(&w, &end->error);
	if (end->exit_code >= 0)
		writer_member_integer(&w, "exit_code", end->exit_code);
	writer_member_integer(&w, "duration_ms", clock_monotonic() - began);
	writer_object_end(&w);
}

/* For the calls that the next try makes: if it succeeds, those of the tries before need
 * not have. */
static void
number_try(struct step_call *call, int failed_before)
{
	struct step *s = call->step;
	char text[16];

	snprintf(text, sizeof text, "%d", failed_before);
	environment_set(&s->environment, CALL_TRY, text);
	if (s->command != NULL)
		roster_forgive(s->run->directory, call->id);
}

/* Tries until it succeeds or may not be tried again. -1: the machine failed. */
static int
run_with_retries(struct step_call *call, int (*try)(struct step_call *, struct error *),
    struct error *err)
{
	const struct step *s = call->step;
	struct error *error = &call->end.error;
	struct retried retried = { .name = s->name, .why = error, .tries = s->retry.retries + 1 };
	int repeats = step_repeated_tries(call), tried;
	int64_t began;

	for (tried = 1;; tried++) {
		began = clock_monotonic();
		if (tried > 1)
			number_try(call, tried - 1);
		memset(error, 0, sizeof *error);
		if (interrupted(&s->interrupts, error))
			return 0;
		if (try(call, err) == -1)
			return -1;
		step_note_ending(call);
		if (error->code != ERROR_NONE && tried <= repeats)
			continue;
		if (error->code == ERROR_NONE || error->code == ERROR_WAITING ||
		    may_have_happened(call) || step_replays(s) ||
		    !retry_wanted(&s->retry, error->code, tried) || would_repeat(call))
			return 0;
		note_retry(&call->end, began);
		retried.tried = tried;
		retried.delay_ms = retry_delay(&s->retry, tried, 0);
		if (retried_record(&call->events, call->started, &retried,
		    terminal_is(STDERR_FILENO), err) == -1)
			return -1;
		if (interrupts_sleep(&s->interrupts, retried.delay_ms, error) == -1)
			return 0;
	}
}

/* A result that no step could read is none. */
static void
check_size(struct step_end *end)
{
	size_t total = 0;

	for (size_t i = 0; i < end->result_count; i++)
		total += end->results[i].json.len + 1;
	for (size_t i = 0; i < end->passed_count; i++)
		total += end->passed[i].data.json.len + end->passed[i].metadata.len + 1;
	if (total > DATA_LIMIT)
		error_set(&end->error, ERROR_SCHEMA, NULL,
		    "the result is longer than a line can be (256 MiB)");
}

int
step_work(struct step_call *call, struct error *err)
{
	const struct step *s = call->step;
	struct step_end *end = &call->end;
	int result = 0;

	step_take_tries(call);
	if (s->approve) {
		result = step_approve(call, err);
	} else if (s->group == GROUP_LOOP) {
		result = group_run_loop(call, err);
	} else if (s->group == GROUP_PARALLEL) {
		result = group_run_parallel(call, err);
	} else if (s->command != NULL) {
		/* A look at the workspace around its tries has no counterpart in a replay. */
		if (s->effects == EFFECTS_WORKSPACE && !step_replays(s))
			changed_begin_all(&end->changed, s->run->directory);
		result = run_with_retries(call, step_try_command, err);
		changed_end(&end->changed);
	} else if (s->operation != NULL) {
		result = run_with_retries(call, step_try_operation, err);
	} else {
		step_run_agent(call);
	}
	if (end->error.code == ERROR_SYSTEM && !end->told) {
		if (err != NULL)
			*err = end->error;
		return -1;
	}
	if (result == 0 && s->into != NULL)
		step_end_put_into(end, s->into, call->item);
	if (end->error.code == ERROR_NONE)
		check_size(end);
	return result;
}
