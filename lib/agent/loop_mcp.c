/*
 * The tools of a conversation are those that its events tell. Servers are asked only where no
 * event does, and between turns whether they have others now; only a list that differs is
 * recorded.
 */
#include "agent/loop.h"
#include "transcript/event_keys.h"

static bool
has_tools(const struct recalled_event *e)
{
	return e != NULL && span_member(e->view.payload, KEY_MCP).at != NULL;
}

int
loop_begin_mcp(struct loop *l, const struct recalled_event *prompt, struct error *err)
{
	const struct recalled *r = l->turns->recalled;

	mcp_tools_free(&l->tools.mcp);
	if (l->turns->member->server_count == 0)
		return 0;
	if (has_tools(prompt))
		return mcp_tools_recall(&l->tools.mcp, l->turns, prompt->view.payload, err);
	if (prompt != NULL)
		return 0;
	if (!recalled_replays(r))
		return mcp_tools_list(&l->tools.mcp, l->turns, err);
	/* A replay starts no server: where the recording has no tools, there are none. That one
	 * failed to tell its tools shows by the end of the call alone. */
	return recalled_answer(r, l->turn.number) == NULL && r->end == RECALL_FAILED &&
	    recalled_error(recalled_result(r), err) ? -1 : 0;
}

/* What they are, as it is recorded. */
static void
describe(const struct loop *l, struct buffer *out)
{
	const struct offer none = { .count = 0 };
	struct writer w;

	writer_begin(&w, out);
	mcp_tools_write(&l->tools.mcp, &none, &w);
}

static int
list_anew(struct loop *l, struct error *err)
{
	struct buffer before = BUFFER_INIT, now = BUFFER_INIT;
	int status;

	describe(l, &before);
	mcp_tools_free(&l->tools.mcp);
	status = mcp_tools_list(&l->tools.mcp, l->turns, err);
	if (status == 0)
		status = loop_offer(l, err);
	describe(l, &now);
	if (status == 0 && !buffer_equal(&now, buffer_string(&before)))
		status = loop_record_tools(l, err);
	buffer_free(&before);
	buffer_free(&now);
	return status;
}

int
loop_refresh_mcp(struct loop *l, struct error *err)
{
	const struct recalled *r = l->turns->recalled;
	const struct recalled_event *e;
	int status;

	if (l->turns->member->server_count == 0)
		return CONTINUES;
	e = loop_recorded_prompt(l);
	if (has_tools(e)) {
		mcp_tools_free(&l->tools.mcp);
		if (mcp_tools_recall(&l->tools.mcp, l->turns, e->view.payload, err) == -1 ||
		    loop_offer(l, err) == -1)
			return FAILED;
		status = loop_take_prompt(l, e, err);
		return status == 0 ? loop_record_tools(l, err) : status == 1 ? CONTINUES : FAILED;
	}
	if (recalled_replays(r) || (r != NULL && recalled_answer(r, l->turn.number) != NULL))
		return CONTINUES;
	status = mcp_tools_changed(&l->tools.mcp, l->turns, err);
	return status == 1 ? list_anew(l, err) : status;
}
