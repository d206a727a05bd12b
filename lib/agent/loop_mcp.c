/*
 * The tools of a conversation are those that its events tell. Servers are asked only where no
 * event does, and between turns whether they have others now; only a list that differs is
 * recorded.
 */
#include "agent/loop.h"

static bool
has_tools(const struct recalled_event *e)
{
	return e != NULL && span_member(e->view.payload, "mcp").at != NULL;
}

/* A replay starts no server: where the recording has no tools, there are none. */
static bool
replays(const struct loop *l)
{
	return l->turns->recalled != NULL && l->turns->recalled->mode == RECALL_REPLAY;
}

/* Without a server there is no other sign that one failed to tell its tools. */
static int
fail_as_recorded(const struct loop *l, struct error *err)
{
	const struct recalled *r = l->turns->recalled;

	return recalled_answer(r, l->turn.number) == NULL && r->end == RECALL_FAILED &&
	    recalled_error(recalled_result(r), err) ? -1 : 0;
}

int
loop_begin_mcp(struct loop *l, const struct recalled_event *prompt, struct error *err)
{
	mcp_tools_free(&l->tools.mcp);
	if (l->turns->member->server_count == 0)
		return 0;
	if (has_tools(prompt))
		return mcp_tools_recall(&l->tools.mcp, l->turns, prompt->view.payload, err);
	if (prompt != NULL)
		return 0;
	return replays(l) ? fail_as_recorded(l, err) : mcp_tools_list(&l->tools.mcp, l->turns, err);
}

/* Takes the tools that the recorded call went on with. */
static int
take_recorded(struct loop *l, const struct recalled_event *e, struct error *err)
{
	int taken;

	mcp_tools_free(&l->tools.mcp);
	if (mcp_tools_recall(&l->tools.mcp, l->turns, e->view.payload, err) == -1 ||
	    loop_offer(l, err) == -1)
		return -1;
	taken = loop_take_prompt(l, e, err);
	if (taken != 0)
		return taken == 1 ? 0 : -1;
	return loop_record_tools(l, err);
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
	const struct recalled_event *e;
	int changed;

	if (l->turns->member->server_count == 0)
		return CONTINUES;
	e = loop_recorded_prompt(l);
	if (has_tools(e))
		return take_recorded(l, e, err);
	if (replays(l) || (l->turns->recalled != NULL &&
	    recalled_answer(l->turns->recalled, l->turn.number) != NULL))
		return CONTINUES;
	changed = mcp_tools_changed(&l->tools.mcp, l->turns, err);
	return changed == 1 ? list_anew(l, err) : changed;
}
