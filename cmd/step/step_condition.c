/*
 * A condition is shell text that reads a state line. In a resume a recorded answer is taken; a
 * replay asks again, and another answer than the recorded one is the call's error.
 */
#include "step/step_call.h"

#include <string.h>

#include "proc/subprocess.h"
#include "transcript/event_keys.h"

/* What was probably meant. */
static const char *
hint(const struct step_call *call, const struct condition *condition, int exit_code)
{
	const struct buffer *data = &call->item->data.json;

	if (exit_code == PROCESS_NOT_FOUND && condition->text[strspn(condition->text, " ")] == '.')
		return ": it is a shell command that reads the state line, such as jq -e .data";
	if (exit_code != PROCESS_NOT_FOUND && data->len > 0 &&
	    span_holds_json(span_of(data->data, data->len)))
		return ": " DATA_HOLDS_JSON;
	return "";
}

/* Asks about a state line. recorded: the answer of the recorded call. */
static int
ask(struct step_call *call, const struct condition *condition, const struct buffer *line,
    struct span recorded, struct condition_answer *answer, struct error *err)
{
	struct step *s = call->step;
	struct error *error = &call->end.error;
	char *argv[4];
	struct subprocess process = { .argv = argv, .environment = s->environment.list,
		.timeout_ms = s->timeout_ms, .input = line->data, .input_len = line->len };
	int result;

	process_shell(argv, condition->text);
	result = subprocesses_run(&process, 1, &s->interrupts, err);
	answer->asked = true;
	answer->yes = process.error.code == ERROR_NONE;
	answer->answered = answer->yes ||
	    (process.error.code == ERROR_EXIT_STATUS && process.exit_code == 1);
	if (process.error.code == ERROR_EXIT_STATUS && process.exit_code > 1)
		error_set(error, ERROR_EXIT_STATUS, NULL, "the condition of --%s ended with status %d%s",
		    condition->word, process.exit_code, hint(call, condition, process.exit_code));
	else if (process.error.code != ERROR_NONE && process.error.code != ERROR_EXIT_STATUS)
		*error = process.error;
	else
		step_look_for_dead(call);
	subprocess_free(&process);
	if (step_replays(s) && error->code == ERROR_NONE && recorded.at != NULL &&
	    span_true(recorded) != answer->yes)
		error_set(error, ERROR_DIVERGENCE, NULL, "the condition of --%s %s, the recorded one %s",
		    condition->word, answer->yes ? "holds" : "does not hold",
		    answer->yes ? "did not" : "did");
	return result;
}

/* What an event of the recorded call says that the answer was; .at NULL: there is none. */
static struct span
recorded_answer(const struct step_call *call, const struct recalled_event *e)
{
	return call->verdict.recalls ? span_path(e->view.payload, KEY_CONDITION, KEY_OUTCOME, NULL) :
	    span_of(NULL, 0);
}

/* False if it is to be asked. */
static bool
take_answer(const struct step_call *call, struct span recorded, struct condition_answer *answer)
{
	if (call->verdict.recalled.changed)
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

	/* No recorded answer, and a failure: the asking was ended by something around it, and so
	 * it is now. */
	if (call->verdict.recalls && replays && r->end == RECALL_FAILED &&
	    span_type(recorded) == '0' && recalled_error(recalled_result(r), &error) &&
	    recalled_circumstance(error.code)) {
		call->when.asked = true;
		call->end.error = error;
		return 0;
	}
	if (replays || !take_answer(call, recorded, &call->when)) {
		step_body_line(call, &line);
		asked = ask(call, &call->step->when, &line, recorded, &call->when, err);
		buffer_free(&line);
	}
	if (call->end.error.code == ERROR_NONE && !call->when.yes)
		call->end.skipped = "condition";
	return asked;
}

int
step_ask_until(struct step_call *call, struct error *err)
{
	struct span recorded = recorded_answer(call, recalled_result(&call->verdict.recalled));
	struct step_end *end = &call->end;
	struct buffer line = BUFFER_INIT;
	int asked = 0;

	if (call->verdict.says != VERDICT_TAKE || !take_answer(call, recorded, &end->until)) {
		step_put_results(call, NULL, &line);
		asked = ask(call, &call->step->until, &line, recorded, &end->until, err);
		buffer_free(&line);
	}
	if (end->error.code != ERROR_NONE)
		end->exit_code = -1; /* the body is not what failed */
	return asked;
}
