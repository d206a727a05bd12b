/*
 * A recorded call is found by id, name and arguments among those that follow the same answer.
 * A resume takes its result, or refuses where nobody knows whether it was done. A replay
 * takes the results of what lies outside and makes the others again, to be compared.
 */
#include "agent/toolrun.h"

#include <string.h>

#include "json/writer.h"
#include "transcript/event_keys.h"

/* Whether it may have changed something, and may not be done twice. */
static bool
may_not_repeat(const struct recalled_event *called)
{
	struct span effects = span_member(called->view.payload, KEY_EFFECTS);

	return !span_is(effects, "none") && !span_is(effects, "read") &&
	    !span_true(span_member(called->view.payload, KEY_IDEMPOTENT));
}

static void
take_result(struct tool_run *run, const struct recalled_event *e)
{
	struct span output = span_member(e->view.payload, KEY_OUTPUT);
	long long exit_code = 0;

	if (!recalled_error(e, &run->error))
		run->error.code = ERROR_NONE;
	span_integer(span_member(e->view.payload, KEY_EXIT_CODE), &exit_code);
	run->process.exit_code = (int)exit_code;
	buffer_clear(&run->output);
	if (output.at != NULL)
		buffer_append(&run->output, output.at, output.len);
	buffer_clear(&run->process.errors);
	span_decode(span_member(e->view.payload, KEY_STDERR), &run->process.errors);
	changed_free(&run->changed);
	changed_take(&run->changed, e->view.payload);
}

static void
take(struct tool_run *run, const struct recalled_event *called,
    const struct recalled_event *result)
{
	run->source = TOOL_TAKEN;
	memcpy(run->called, called->id, ID_SIZE);
	memcpy(run->resulted, result->id, ID_SIZE);
	take_result(run, result);
}

static int
undecided(const struct tool_run *run, struct error *err)
{
	return error_set(err, ERROR_WAITING, run->name,
	    "whether this tool has done its work is not known: resume with --redo or --skip");
}

static int
resume_run(const struct tool_runs *r, struct tool_run *run, const struct recalled_event *called,
    struct error *err)
{
	const struct recalled *recalled = r->turns->recalled;
	const struct recalled_event *result = recalled_tool_result(recalled, called->id);
	/* What the model has read is as it was, whatever it was. */
	bool cut = result == NULL || (!r->went_on && recalled_cut_off(result));
	struct error error = ERROR_INIT;

	if (!cut && r->cause == NULL && recalled_error(result, &error))
		return 0;
	if (cut && (!may_not_repeat(called) || recalled->decided == RECALL_REDO))
		return 0;
	if (cut && recalled->decided != RECALL_SKIP)
		return undecided(run, err);
	if (result != NULL) {
		take(run, called, result);
		return 0;
	}
	run->source = TOOL_SKIPPED;
	memcpy(run->called, called->id, ID_SIZE);
	error_set(&run->error, ERROR_INTERRUPTED, NULL,
	    "interrupted: it may have done its work, and was not run again");
	return 0;
}

/* How the recorded call ended, if that tells of what went on around it. */
static bool
ended_by_circumstance(const struct recalled *recalled, struct error *error)
{
	return recalled->end == RECALL_FAILED && recalled_error(recalled_result(recalled), error) &&
	    recalled_circumstance(error->code);
}

/* The recorded call did not get to this tool, or not to its end. */
static void
replay_ends(const struct recalled *recalled, const struct tool_run *run, struct error *ending)
{
	if (ended_by_circumstance(recalled, ending))
		return;
	if (run->named_call[0] == '\0')
		error_set(ending, ERROR_DIVERGENCE, run->name,
		    "the recording has no such call of this tool");
	else if (recalled->end != RECALL_FAILED || !recalled_error(recalled_result(recalled), ending))
		error_set(ending, ERROR_DIVERGENCE, run->name,
		    "the recording ends in this tool's call");
}

/* Whether the replay goes on after it. */
static bool
replay_run(const struct tool_runs *r, struct tool_run *run, const struct recalled_event *called)
{
	const struct recalled_event *result;
	struct error error = ERROR_INIT;
	bool outside = run->tool != NULL && (run->tool->effects == EFFECTS_READ ||
	    run->tool->effects == EFFECTS_EXTERNAL);

	if (called == NULL)
		return false;
	memcpy(run->named_call, called->id, ID_SIZE);
	result = recalled_tool_result(r->turns->recalled, called->id);
	if (result == NULL)
		return false;
	memcpy(run->named_result, result->id, ID_SIZE);
	run->recorded = result;
	if (outside || (recalled_error(result, &error) && recalled_circumstance(error.code))) {
		run->source = TOOL_RECORDED;
		take_result(run, result);
	}
	return true;
}

/* A tool that was ended with the whole call has a result, and nothing follows. */
static void
replay_last(struct tool_runs *r)
{
	struct error error = ERROR_INIT;

	if (r->reach == r->count && r->count > 0 && !r->went_on &&
	    recalled_cut_off(r->list[r->count - 1].recorded) &&
	    ended_by_circumstance(r->turns->recalled, &error))
		r->ending = error;
}

int
tool_runs_recall(struct tool_runs *r, struct error *err)
{
	const struct recalled *recalled = r->turns->recalled;
	bool replays;

	if (recalled == NULL)
		return 0;
	replays = recalled_replays(recalled);
	for (size_t i = 0; i < r->reach; i++) {
		struct tool_run *run = &r->list[i];
		struct recall_tool tool = { r->cause, run->name, run->call_id, run->input };
		struct recalled_event *called = recalled_tool_call(recalled, &tool);

		/* It may have been refused where now defaults are filled in. */
		tool.input = run->asked;
		if (called == NULL && run->filled.len > 0)
			called = recalled_tool_call(recalled, &tool);
		if (called != NULL)
			called->used = true;
		if (replays && !replay_run(r, run, called)) {
			replay_ends(recalled, run, &r->ending);
			r->reach = i;
		}
		if (!replays && called != NULL && resume_run(r, run, called, err) == -1)
			return -1;
	}
	if (replays)
		replay_last(r);
	return 0;
}

int
tool_run_compare(const struct tool_run *run, struct error *err)
{
	struct error recorded = ERROR_INIT;
	struct span output;

	if (run->recorded == NULL || run->source == TOOL_RECORDED)
		return 0;
	output = span_member(run->recorded->view.payload, KEY_OUTPUT);
	if (recalled_error(run->recorded, &recorded)) {
		if (recorded.code == run->error.code && strcmp(recorded.message, run->error.message) == 0)
			return 0;
		return error_set(err, ERROR_DIVERGENCE, run->name, run->error.code == ERROR_NONE ?
		    "it succeeded, the recorded one failed: %s" :
		    "it failed in another way than the recorded one: %s", recorded.message);
	}
	if (run->error.code != ERROR_NONE)
		return error_set(err, ERROR_DIVERGENCE, run->name,
		    "it failed, the recorded one did not: %s", run->error.message);
	if (output.len == run->output.len && memcmp(output.at, run->output.data, output.len) == 0)
		return 0;
	return error_set(err, ERROR_DIVERGENCE, run->name,
	    "its result is %.*s, the recorded one %.*s",
	    run->output.len > 120 ? 120 : (int)run->output.len, buffer_string(&run->output),
	    output.len > 120 ? 120 : (int)output.len, output.at);
}
