/*
 * AWF's tools for an agent CLI, which calls them while it answers. Each is run like any tool of an
 * answer (toolrun.h), one after another, but its cause is the event that the answer would follow:
 * the answer itself is recorded after they have run, and follows them.
 *
 * Their ids are numbers within the turn, in the order of the calls, since the CLIs' own ids do not
 * reach the programs that run them. So, after a resume, if a CLI calls again what it had called
 * before it was interrupted, the recorded calls are found.
 */
#include <stdio.h>
#include <string.h>

#include "transcript/event_keys.h"
#include "turn/loop.h"
#include "turn/toolrun.h"

static int
loop_run_one_tool(struct loop *l, const char *cause, struct span name, struct span call_id,
    struct span input, bool went_on, struct buffer *block, struct error *err)
{
	struct tool_runs runs;
	const struct tool_run *made;
	int status;

	tool_runs_begin(&runs, l->turns, loop_offered(l), cause);
	runs.withheld = &l->tools.withheld;
	runs.went_on = went_on;
	tool_runs_add(&runs, name, call_id, input);
	status = tool_runs_run(&runs, err);
	made = &runs.list[0];
	if (made->called[0] != '\0')
		emitted_add(&l->turn.emitted, made->called, made->resulted);
	if (status == 0 && block != NULL)
		tool_runs_blocks(&runs, block);
	tool_runs_free(&runs);
	return status;
}

int
loop_run_tool(struct loop *l, struct span name, struct span input, struct buffer *block,
    struct error *err)
{
	char cause[ID_SIZE], id[64];

	memcpy(cause, l->turns->call->last, sizeof cause);
	snprintf(id, sizeof id, "\"awf_%lld_%lld\"", (long long)l->turn.number,
	    (long long)++l->turn.ran);
	return loop_run_one_tool(l, cause, name, span_of(id, strlen(id)), input, false, block, err);
}

int
loop_repeat_tools(struct loop *l, const struct recalled_event *answer, struct error *err)
{
	struct recalled *r = l->turns->recalled;
	int status = 0;

	for (size_t i = 0; status == 0 && i < r->event_count; i++) {
		struct recalled_event *e = &r->events[i];
		struct span payload = e->view.payload;
		char cause[ID_SIZE];

		if (e->used || !recalled_ran_before(r, e, answer))
			continue;
		if (r->mode != RECALL_REPLAY) {
			e->used = true;
			l->turns->outcome.tool_calls++;
			continue;
		}
		if (!event_copy_id(e->view.parent_event_id, cause))
			continue;
		status = loop_run_one_tool(l, cause, span_member(payload, KEY_NAME),
		    span_member(payload, KEY_CALL_ID),
		    span_member(payload, KEY_INPUT), answer != NULL, NULL, err);
	}
	return status;
}
