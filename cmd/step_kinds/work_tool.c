/*
 * -t: calls a tool with the item's data, without a model. It is retried like a command. A replay
 * runs it again or takes its recorded result, as for any tool call.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "definitions/trust.h"
#include "io/file.h"
#include "io/terminal.h"
#include "limits/ceiling.h"
#include "step_kinds/kinds.h"
#include "step_kinds/work_turns.h"
#include "transcript/event_keys.h"

static bool
tool_asked(const struct step_options *o)
{
	return o->tool != NULL;
}

static void
tool_unload(struct step *s)
{
	tool_free(s->definition.state);
	free(s->definition.state);
}

/* Loads the tool. If the user has not decided yet whether it may run, asks. */
static int
load_trusted(struct step *s, struct tool *tool, struct error *err)
{
	struct trust_items items = { NULL, 0 };
	int result;

	if (tool_load(tool, s->options.tool, getenv("AWF_WORKFLOW_DIR"), err) == -1)
		return -1;
	if (s->options.effects == EFFECTS_UNDECLARED) {
		s->options.effects = tool->effects;
		s->options.idempotent = tool->idempotent;
	}
	if (work_settle_tool(s, NULL, tool, err) == -1)
		return -1;
	trust_add_tool_of(&items, NULL, tool, &s->options.sandbox);
	result = trust_check(&items, err);
	trust_items_free(&items);
	return result;
}

static int
tool_load_step(struct step *s, struct error *err)
{
	const char *name = s->options.tool;
	int result;

	if (ceiling_check(err) == -1)
		return -1;
	if (ceiling_forbids(name))
		return error_set(err, ERROR_DEFINITION, "-t",
		    "the run does not allow the tool '%s' (awf-run --allow-tools)", name);
	s->definition.state = memory_zero(1, sizeof(struct tool));
	trust_ask_from_now("awf-step", NULL);
	result = load_trusted(s, s->definition.state, err);
	trust_ask_from_now(NULL, NULL);
	return result;
}

static void
tool_define(const struct step *s, struct writer *w)
{
	const struct tool *tool = s->definition.state;

	if (s->options.output.into != NULL)
		writer_string(w, s->options.output.into);
	writer_string(w, tool->sha256);
}

static void
tool_files(const struct step *s, struct step_files *f)
{
	work_name_tool(f, s->definition.state);
}

static int
tool_describe(struct step *s, const struct item *item, struct buffer *out, struct error *err)
{
	const struct tool *tool = s->definition.state;
	struct writer w = step_describe_begin(out);

	(void)err;
	writer_member_string(&w, "tool", tool->name);
	step_describe_end(&w, item);
	return 0;
}

static void
tool_label(const struct step *s, struct buffer *out)
{
	const struct tool *tool = s->definition.state;

	if (tool == NULL)
		buffer_text(out, STEP_DEFINITION_WRONG);
	else
		buffer_format(out, "tool %s", tool->name);
}

static void
tool_record_work(const struct step_call *call, struct writer *w)
{
	const struct tool *tool = call->step->definition.state;

	if (tool != NULL)
		writer_member_string(w, KEY_TOOL, tool->name);
	step_write_timeout(call->step, w);
}

/* Prints the output of a tool that failed, like stderr: it is not a result. */
static void
print_output(const struct buffer *json)
{
	struct buffer text = BUFFER_INIT, shown = BUFFER_INIT;

	span_plain(span_of(json->data, json->len), &text);
	if (text.len > 0) {
		if (terminal_is(STDERR_FILENO))
			terminal_text(&shown, text.data, text.len);
		else
			buffer_append(&shown, text.data, text.len);
		buffer_byte(&shown, '\n');
		file_write(STDERR_FILENO, shown.data, shown.len);
	}
	buffer_free(&shown);
	buffer_free(&text);
}

static int
tool_try(struct step_call *call, void *context, struct error *err)
{
	const struct tool *tool = context;
	struct span input = span_of(call->item->data.json.data, call->item->data.json.len);
	struct turns t;
	int result;

	work_turns_begin(call, &t);
	t.timeout_ms = call->step->options.timeout_ms;
	if (step_replays(call->step)) {
		if (t.recalled != NULL && turns_repeat_tries(&t, tool, input, err) == -1)
			return -1;
	} else if (call->end.retries.len > 0) {
		t.recalled = NULL; /* only the first try is in the recording */
	}
	result = turns_operation(&t, tool, input, &call->end.error);
	call->end.killed = t.outcome.exit_code > 128;
	call->end.begun_elsewhere = t.outcome.begun_elsewhere;
	if (result == -1)
		print_output(&t.outcome.result);
	work_turns_end(call, &t, result);
	return 0;
}

/* In a replay the failed tries are repeated by turns_repeat_tries(). */
static int
tool_run_step(struct step_call *call, int repeats, struct error *err)
{
	(void)repeats;
	return step_try(call, tool_try, call->step->definition.state, 0, err);
}

const struct work work_tool = {
	.kind = "operation",
	.undeclared_changes = true,
	.asked = tool_asked,
	.load = tool_load_step,
	.define = tool_define,
	.files = tool_files,
	.describe = tool_describe,
	.label = tool_label,
	.judge = step_judge_again,
	.record_work = tool_record_work,
	.run = tool_run_step,
	.unload = tool_unload,
};
