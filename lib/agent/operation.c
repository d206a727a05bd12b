/*
 * An operation is the machinery of a turn's tools with one call that no model asked for.
 */
#include "agent/turn.h"

#include <stdlib.h>
#include <string.h>

#include "agent/toolrun.h"
#include "base/memory.h"

#define OPERATION_ID "1" /* the call_id of its tool call */

int
turns_operation(struct turns *t, const struct tool *tool, struct span input,
    struct error *err)
{
	struct buffer name = BUFFER_INIT;
	struct tool_runs runs;
	int status;

	json_quote(&name, tool->name, strlen(tool->name));
	tool_runs_begin(&runs, t, NULL, NULL);
	tool_runs_add(&runs, span_of(name.data, name.len),
	    span_of("\"" OPERATION_ID "\"", sizeof OPERATION_ID + 1), input);
	runs.list[0].tool = tool;
	status = tool_runs_run(&runs, err);
	t->exit_code = runs.list[0].process.exit_code;
	if (status == 0 && runs.list[0].source == TOOL_TAKEN)
		call_follow_recorded(t->call, runs.list[0].resulted, t->started);
	if (status == 0 && runs.list[0].error.code != ERROR_NONE) {
		/* That of a recorded result does not say which tool it is. */
		if (runs.list[0].source != TOOL_RECORDED ||
		    !recalled_error(recalled_result(t->recalled), err))
			*err = runs.list[0].error;
		status = -1;
	}
	if (status == 0 || runs.list[0].source == TOOL_RUN)
		buffer_append(&t->result, runs.list[0].output.data, runs.list[0].output.len);
	tool_runs_free(&runs);
	buffer_free(&name);
	return status;
}

static struct recalled_event *
event_of(const struct recalled *r, struct span id)
{
	for (size_t i = 0; i < r->event_count; i++)
		if (span_is(id, r->events[i].id))
			return &r->events[i];
	return NULL;
}

int
turns_repeat(const struct turns *t, struct recalled_event *e, struct error *err)
{
	struct buffer payload = BUFFER_INIT;
	int status;

	buffer_append(&payload, e->view.payload.at, e->view.payload.len);
	call_name_next(t->call, e->id);
	status = call_event(t->call, e->view.type, NULL, &payload, NULL, err);
	e->used = true;
	buffer_free(&payload);
	return status;
}

int
turns_repeat_tries(struct turns *t, const struct tool *tool, struct span input,
    struct error *err)
{
	struct recalled *r = t->recalled;
	const struct recall_tool last = { NULL, tool->name, OPERATION_ID, input };
	struct recalled_event *e = recalled_tool_call(r, &last);
	struct recalled_event **tries = memory_array(NULL, r->event_count + 1, sizeof *tries);
	size_t count = 0;
	int status = 0;

	/* Each follows the one before; the first, the start of its attempt. */
	while (e != NULL && count < r->event_count &&
	    (e = event_of(r, e->view.parent_event_id)) != NULL)
		tries[count++] = e;
	while (status == 0 && count-- > 0)
		status = turns_repeat(t, tries[count], err);
	free(tries);
	return status;
}
