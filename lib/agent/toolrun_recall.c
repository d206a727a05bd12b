#include "agent/toolrun.h"

#include <string.h>

#include "json/writer.h"

/* Whether it may have changed something, and may not be done twice. */
static bool
may_not_repeat(const struct recalled_event *called)
{
	struct span effects = span_member(called->view.payload, "effects");

	return !span_is(effects, "none") && !span_is(effects, "read") &&
	    !span_true(span_member(called->view.payload, "idempotent"));
}

static void
take_result(struct tool_run *run, const struct recalled_event *e)
{
	struct span output = span_member(e->view.payload, "output");

	if (!recalled_error(e, &run->error))
		run->error.code = ERROR_NONE;
	buffer_clear(&run->output);
	if (output.at != NULL)
		buffer_append(&run->output, output.at, output.len);
	buffer_clear(&run->body.errors);
	span_decode(span_member(e->view.payload, "stderr"), &run->body.errors);
}

/* Whether the recorded result tells that the tool was cut off, and the model has not
 * read that. */
static bool
was_cut_off(const struct tool_runs *r, const struct recalled_event *result)
{
	struct error error = ERROR_INIT;

	return !r->went_on && recalled_error(result, &error) &&
	    (error.code == ERROR_TIMEOUT || error.code == ERROR_CANCELLED ||
	    error.code == ERROR_INTERRUPTED);
}

static int
undecided(const struct tool_run *run, struct error *err)
{
	return error_set(err, ERROR_WAITING, run->name,
	    "whether this tool has done its work is not known: resume with --redo or --skip");
}

static int
resume_run(const struct tool_runs *r, struct tool_run *run, struct recalled_event *called,
    struct error *err)
{
	const struct recalled *recalled = r->turns->recalled;
	struct recalled_event *result = recalled_tool_result(recalled, called->id);

	if (result != NULL && !was_cut_off(r, result)) {
		run->source = TOOL_TAKEN;
		memcpy(run->called, called->id, ID_SIZE);
		memcpy(run->resulted, result->id, ID_SIZE);
		take_result(run, result);
		return 0;
	}
	if (!may_not_repeat(called) || recalled->decided == RECALL_REDO)
		return 0;
	if (recalled->decided != RECALL_SKIP)
		return undecided(run, err);
	run->source = TOOL_SKIPPED;
	memcpy(run->called, called->id, ID_SIZE);
	error_set(&run->error, ERROR_INTERRUPTED, NULL,
	    "interrupted: it may have done its work, and was not run again");
	return 0;
}

static int
replay_run(const struct tool_runs *r, struct tool_run *run, struct recalled_event *called,
    struct error *err)
{
	const struct recalled *recalled = r->turns->recalled;
	struct recalled_event *result = recalled_tool_result(recalled, called->id);
	struct error error = ERROR_INIT;
	bool outside = run->tool != NULL && (run->tool->effects == EFFECTS_READ ||
	    run->tool->effects == EFFECTS_EXTERNAL);

	memcpy(run->named_call, called->id, ID_SIZE);
	if (result == NULL) {
		if (recalled->end == RECALL_FAILED && recalled_error(recalled_result(recalled), err))
			return -1;
		return error_set(err, ERROR_DIVERGENCE, run->name,
		    "the recording ends in this tool's call");
	}
	memcpy(run->named_result, result->id, ID_SIZE);
	run->recorded = result;
	if (outside || (recalled_error(result, &error) && recalled_circumstance(error.code))) {
		run->source = TOOL_RECORDED;
		take_result(run, result);
	}
	return 0;
}

int
tool_runs_recall(struct tool_runs *r, struct error *err)
{
	const struct recalled *recalled = r->turns->recalled;

	for (size_t i = 0; recalled != NULL && i < r->count; i++) {
		struct tool_run *run = &r->list[i];
		struct recalled_event *called = recalled_tool_call(recalled, r->cause, run->call_id);

		if (called == NULL && recalled->mode == RECALL_REPLAY)
			return error_set(err, ERROR_DIVERGENCE, run->name,
			    "the recording has no such call of this tool");
		if (called == NULL)
			continue;
		called->used = true;
		if ((recalled->mode == RECALL_REPLAY ? replay_run : resume_run)(r, run, called, err) == -1)
			return -1;
	}
	return 0;
}

int
tool_run_compare(const struct tool_run *run, struct error *err)
{
	struct error recorded = ERROR_INIT;
	struct span output;

	if (run->recorded == NULL || run->source == TOOL_RECORDED)
		return 0;
	output = span_member(run->recorded->view.payload, "output");
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
