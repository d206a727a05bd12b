/*
 * The work of a call, in as many tries as are allowed, and the conditions before and after it.
 *
 * Each try sets the call's error anew, and the loop around them decides. A try is not repeated if
 * it, or something inside it, may have had an effect.
 *
 * A condition is shell text that reads a state line. A resume takes the recorded answer; a replay
 * evaluates the condition again, and an answer that differs is the call's error.
 */
#include "step_call/step_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/patience.h"
#include "io/terminal.h"
#include "limits/retried.h"
#include "proc/last_words.h"
#include "proc/subprocess.h"
#include "step_call/work.h"
#include "transcript/event_keys.h"
#include "view/screen.h"

/* ---- tries ---- */

/* Begun elsewhere, and the connection was lost: it may still be running there. */
static bool
is_lost(const struct step_call *call)
{
	return call->end.error.code == ERROR_LOST && call->end.begun_elsewhere;
}

/* Interrupted during the work: an effect may have happened, so it is not repeated. A tool that
 * declares no effects may have any. */
static bool
may_have_happened(const struct step_call *call)
{
	const struct step *s = call->step;
	enum error_code code = call->end.error.code;
	bool outside = effects_outside(s->options.effects) ||
	    (s->definition.work->undeclared_changes && s->options.effects == EFFECTS_UNDECLARED);

	return outside && !s->options.idempotent && (code == ERROR_TIMEOUT || code == ERROR_CANCELLED ||
	    code == ERROR_INTERRUPTED || call->end.killed || is_lost(call));
}

/* Calls that the command started may have done something that must not be done twice: then the
 * failure is final, and says so. The same for the recorded call that this one has taken over:
 * what one try took over, the next try does not. */
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
		repeats = step_has_changed(call, &what);
	if (repeats)
		error_set(error, why.code, *why.place != '\0' ? why.place : NULL,
		    "%s; not tried again, as %s has changed something", why.message,
		    buffer_string(&what));
	buffer_free(&what);
	return repeats;
}

int
step_try(struct step_call *call, int (*try)(struct step_call *, void *, struct error *),
    void *context, int repeats, struct error *err)
{
	struct step *s = call->step;
	struct step_end *end = &call->end;
	struct error *error = &end->error;
	struct retried retried = { .name = s->options.name, .why = error, .tries = s->options.retry.retries + 1 };
	char text[16];

	for (int tried = 1;; tried++) {
		int64_t began = clock_monotonic();

		if (tried > 1) {
			/* Tells the calls made in this try: if it succeeds, calls of the tries
			 * before may stay failed. */
			snprintf(text, sizeof text, "%d", tried - 1);
			environment_set(&s->place.environment, CALL_TRY, text);
		}
		if (call->task != NULL)
			step_name_try(call);
		memset(error, 0, sizeof *error);
		if (interrupts_arrived(&s->place.interrupts, error))
			return 0;
		call->tried = tried - 1;
		if (try(call, context, err) == -1)
			return -1;
		step_note_ending(call);
		if (error->code != ERROR_NONE && tried <= repeats)
			continue;
		if (error->code == ERROR_NONE || error->code == ERROR_WAITING ||
		    may_have_happened(call) || step_replays(s) ||
		    !retry_wanted(&s->options.retry, error->code, tried) || would_repeat(call))
			return 0;

		/* A failed try that is followed by another: kept for the end of the call, and
		 * recorded at once. */
		retried_list(&end->retries, &(struct failed_try){ .why = error,
		    .exit_code = end->exit_code, .duration_ms = clock_monotonic() - began, .turn = -1 });
		retried.tried = tried;
		retried.delay_ms = retry_delay(&s->options.retry, tried, is_lost(call) ? FAR_GONE_MS : 0);
		if (retried_record(&call->events, call->started, &retried,
		    terminal_is_told(STDERR_FILENO), err) == -1)
			return -1;
		if (interrupts_sleep(&s->place.interrupts, retried.delay_ms, error) == -1)
			return 0;
	}
}

int
step_work(struct step_call *call, struct error *err)
{
	const struct step *s = call->step;
	struct step_end *end = &call->end;
	int result = s->definition.work->run(call, step_take_tries(call), err);
	size_t size = 0;

	if (end->error.code == ERROR_SYSTEM && !end->told) {
		if (err != NULL)
			*err = end->error;
		return -1;
	}
	if (result == 0 && s->options.output.into != NULL)
		step_put_into(call);

	/* A result that no step could read is not a result. */
	for (size_t i = 0; i < end->result_count; i++)
		size += end->results[i].json.len + 1;
	for (size_t i = 0; i < end->passed_count; i++)
		size += end->passed[i].data.json.len + end->passed[i].metadata.len + 1;
	if (end->error.code == ERROR_NONE && size > DATA_LIMIT)
		error_set(&end->error, ERROR_SCHEMA, NULL,
		    "the result is longer than a line can be (256 MiB)");
	return result;
}

/* ---- conditions ---- */

/* Evaluates a condition on a state line. recorded: the answer of the recorded call. */
static int
step_work_ask_condition(struct step_call *call, const struct condition *condition,
    const struct buffer *line,
    struct span recorded, struct condition_answer *answer, struct error *err)
{
	struct step *s = call->step;
	struct error *error = &call->end.error;
	const struct buffer *data = &call->item->data.json;
	char *argv[4];
	struct subprocess process = { .argv = argv, .environment = s->place.environment.list,
		.timeout_ms = s->options.timeout_ms, .input = line->data, .input_len = line->len };
	bool unknown;
	int result;

	process_shell(argv, condition->text);
	result = subprocesses_run(&process, 1, &s->place.interrupts, err);
	answer->asked = true;
	answer->yes = process.error.code == ERROR_NONE;
	answer->answered = answer->yes ||
	    (process.error.code == ERROR_EXIT_STATUS && process.exit_code == 1);
	if (process.error.code == ERROR_EXIT_STATUS && process.exit_code > 1) {
		const char *hint = ""; /* what the user probably meant */

		unknown = process.exit_code == PROCESS_NOT_FOUND;
		if (unknown && condition->text[strspn(condition->text, " ")] == '.')
			hint = ": it is a shell command that reads the state line, such as jq -e .data";
		else if (!unknown && data->len > 0 && span_holds_json(span_of(data->data, data->len)))
			hint = ": " DATA_HOLDS_JSON;
		error_set(error, ERROR_EXIT_STATUS, NULL, "the condition of --%s ended with status %d%s",
		    condition->word, process.exit_code, hint);
		if (hint[0] == '\0')
			last_words_add(error, buffer_string(&process.errors), process.errors.len);
	} else if (process.error.code != ERROR_NONE && process.error.code != ERROR_EXIT_STATUS) {
		*error = process.error;
	} else {
		step_look_for_dead(call);
	}
	subprocess_free(&process);
	if (step_replays(s) && error->code == ERROR_NONE && recorded.at != NULL &&
	    span_true(recorded) != answer->yes)
		error_set(error, ERROR_DIVERGENCE, NULL, "the condition of --%s %s, the recorded one %s",
		    condition->word, answer->yes ? "holds" : "does not hold",
		    answer->yes ? "did not" : "did");
	return result;
}

/* The answer in an event of the recorded call; .at NULL: there is none. */
static struct span
recorded_answer(const struct step_call *call, const struct recalled_event *e)
{
	return call->verdict.recalls ? span_path(e->view.payload, KEY_CONDITION, KEY_OUTCOME, NULL) :
	    SPAN_NONE;
}

/* Takes the recorded answer in an event of the recorded call; false if the condition is to be evaluated: it
 * was edited, or the user wants a call made that it left out. */
static bool
step_work_reuse_condition(const struct step_call *call, const struct condition *condition,
    const struct recalled_event *e, struct condition_answer *answer)
{
	const struct recalled *r = &call->verdict.recalled;
	const struct span recorded = recorded_answer(call, e);

	if (r->changed || (r->end == RECALL_SKIPPED && r->decided == RECALL_REDO) ||
	    (recorded.at != NULL && !span_is(span_path(e->view.payload, KEY_CONDITION, condition->word, NULL),
	    condition->text)))
		return false;
	answer->yes = span_true(recorded);
	answer->asked = answer->answered = answer->yes || span_type(recorded) == 'f';
	return answer->asked;
}

int
step_ask_when(struct step_call *call, struct error *err)
{
	const struct recalled *r = &call->verdict.recalled;
	struct span recorded = recorded_answer(call, &r->started);
	bool replays = step_replays(call->step);
	struct buffer line = BUFFER_INIT;
	struct error error;
	int asked = 0;

	/* There is no recorded answer, and the call failed: something around it ended the
	 * condition, so it ends the same way now. */
	if (call->verdict.recalls && replays && r->end == RECALL_FAILED &&
	    span_type(recorded) == '0' && recalled_error(recalled_result(r), &error) &&
	    error_is_of_circumstances(error.code)) {
		call->when.asked = true;
		call->end.error = error;
		return 0;
	}
	if (replays || !step_work_reuse_condition(call, &call->step->options.when, &r->started, &call->when)) {
		step_state_line(call, false, &line);
		asked = step_work_ask_condition(call, &call->step->options.when, &line, recorded,
		    &call->when, err);
		buffer_free(&line);
	}
	if (call->end.error.code == ERROR_NONE && !call->when.yes)
		call->end.skipped = "condition";
	return asked;
}

int
step_ask_until(struct step_call *call, struct error *err)
{
	const struct recalled_event *result = recalled_result(&call->verdict.recalled);
	struct span recorded = recorded_answer(call, result);
	struct step_end *end = &call->end;
	struct buffer line = BUFFER_INIT;
	int asked = 0;

	if (call->verdict.says != VERDICT_TAKE || !step_work_reuse_condition(call,
	    &call->step->definition.until, result, &end->until)) {
		step_put_results(call, NULL, &line);
		asked = step_work_ask_condition(call, &call->step->definition.until, &line,
		    recorded, &end->until, err);
		buffer_free(&line);
	}
	if (end->error.code != ERROR_NONE)
		end->exit_code = -1; /* the body is not what failed */
	return asked;
}
