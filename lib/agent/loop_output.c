/*
 * The result, where it is to keep to a schema: an answer that does not is sent back. A stop
 * command, which reads the last text, ends the call with 0 and lets it go on with 1.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/loop.h"
#include "agent/sandboxing.h"
#include "agent/toolrun.h"
#include "base/list.h"
#include "base/memory.h"
#include "transcript/event_keys.h"

/* Tells the model what is wrong, as a message of the user, as often as the agent allows. */
static int
send_back(struct loop *l, const struct buffer *why, struct error *err)
{
	const struct agent *agent = &l->turns->member->agent;
	struct buffer text = BUFFER_INIT;
	int status;

	if (l->conversation.repairs >= agent->output_repairs)
		return error_set(err, ERROR_SCHEMA, agent->name,
		    "the answer does not keep to output_schema: %s", why->data);
	l->conversation.repairs++;
	l->turn.sent_back = true;
	buffer_format(&text, "The answer does not keep to the JSON Schema: %s\n\n"
	    "Give the whole answer again: the JSON value alone, nothing before or behind it.",
	    why->data);
	status = loop_prompt_again(l, &text, err);
	buffer_free(&text);
	return status;
}

int
loop_finish(struct loop *l, struct error *err)
{
	const struct output_schema *output = &l->turns->member->agent.output;
	struct span text = span_of(buffer_string(&l->conversation.text), l->conversation.text.len);
	struct buffer *result = &l->turns->result, why = BUFFER_INIT;
	int status = ENDED;

	if (output->schema == NULL)
		json_quote(result, text.at, text.len);
	else if (output_schema_read(output, text, result, &why) != 0)
		status = send_back(l, &why, err);
	buffer_free(&why);
	return status;
}

bool
loop_was_sent_back(const struct loop *l)
{
	const struct recalled_event *e = loop_recorded_prompt(l);

	return e != NULL && span_element(span_member(e->view.payload, KEY_BLOCKS), 0).at != NULL;
}

/* The tool whose input is the result, or has it. */
static const char *
result_tool(const struct loop *l)
{
	return phases_given(l) ? PHASE_FINISH : l->turns->member->agent.stop_tool;
}

int
loop_count_refused(struct loop *l, const struct tool_runs *runs, struct error *err)
{
	const struct agent *agent = &l->turns->member->agent;
	const char *name = agent->output.schema == NULL ? NULL : result_tool(l);

	for (size_t i = 0; name != NULL && i < runs->count; i++) {
		const struct tool_run *run = &runs->list[i];

		if (strcmp(run->name, name) == 0 && run->error.code == ERROR_SCHEMA &&
		    l->conversation.repairs++ >= agent->output_repairs)
			return error_set(err, ERROR_SCHEMA, agent->name, "%s: %s", name,
			    run->error.message);
	}
	return 0;
}

/* The stop command, which may run what the agent wrote: in the sandbox of its tools. In
 * memory of its own. */
static char **
stop_argv(const struct turns *t, struct error *err)
{
	const struct member *m = t->member;
	char **words = agent_command(m->agent.stop_command), **argv = NULL;
	struct sandbox decided;

	if (sandboxing_decide_judge(&decided, t->sandbox, &m->agent, m->tools, m->tool_count,
	    err) == 0)
		argv = sandbox_holds(&decided) ? sandbox_argv(&decided, NULL, NULL, NULL, words) :
		    list_copy(words);
	free((void *)words);
	return argv;
}

int
loop_ask_stop_command(struct loop *l, struct error *err)
{
	const struct turns *t = l->turns;
	struct subprocess process = { .environment = t->environment->list,
	    .input = buffer_string(&l->conversation.text), .input_len = l->conversation.text.len };
	int status = FAILED;

	if (t->member->agent.stop_command == NULL)
		return CONTINUES;
	if (loop_went_on(l) && t->recalled->mode == RECALL_RESUME)
		return loop_was_sent_back(l) ? loop_finish(l, err) : CONTINUES;
	process.argv = stop_argv(t, err);
	if (process.argv == NULL)
		return FAILED;
	process.timeout_ms = loop_time(l);
	process.timeout_ms = process.timeout_ms == -1 ? 1 : process.timeout_ms;
	if (subprocesses_run(&process, 1, t->interrupts, err) == 0)
		status = process.error.code == ERROR_NONE ? ENDED :
		    process.error.code == ERROR_EXIT_STATUS && process.exit_code == 1 ? CONTINUES : FAILED;
	if (status == ENDED)
		status = loop_finish(l, err);
	else if (status == FAILED && process.error.code != ERROR_NONE)
		error_set(err, process.error.code, t->member->agent.name, "the command of stop_when: %s",
		    process.error.message);
	subprocess_free(&process);
	list_free((char **)(uintptr_t)process.argv);
	return status;
}
