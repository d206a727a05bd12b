/* The result, where it is to keep to a schema: an answer that does not is sent back. */
#include <string.h>

#include "agent/loop.h"
#include "agent/toolrun.h"

/* Tells the model what is wrong, as a message of the user, as often as the agent allows. */
static int
send_back(struct loop *l, const struct buffer *why, struct error *err)
{
	const struct agent *agent = &l->turns->member->agent;
	struct buffer text = BUFFER_INIT;
	int status;

	if (l->repairs >= agent->output_repairs)
		return error_set(err, ERROR_SCHEMA, agent->name,
		    "the answer does not keep to output_schema: %s", why->data);
	l->repairs++;
	l->sent_back = true;
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
	struct buffer *result = &l->turns->result, why = BUFFER_INIT;
	int status = ENDED;

	if (output->schema == NULL)
		json_quote(result, buffer_string(&l->text), l->text.len);
	else if (output_schema_read(output, span_of(buffer_string(&l->text), l->text.len), result,
	    &why) != 0)
		status = send_back(l, &why, err);
	buffer_free(&why);
	return status;
}

bool
loop_was_sent_back(const struct loop *l)
{
	const struct recalled_event *e = loop_recorded_prompt(l);

	return e != NULL && span_element(span_member(e->view.payload, "blocks"), 0).at != NULL;
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
		    l->repairs++ >= agent->output_repairs)
			return error_set(err, ERROR_SCHEMA, agent->name, "%s: %s", name,
			    run->error.message);
	}
	return 0;
}
