/*
 * What the model may call: the agent's tools, those of its MCP servers, and control tools: a
 * transfer for each agent that may take over, the stop tool, or the tool that ends a phase. The
 * list is built again when the agent, the phase or a server's list changes. A transfer only notes
 * the agent that it names; the conversation is handed over when all results of the answer are
 * recorded.
 *
 * The events of a conversation say which tools it has. Servers are asked only if no event does;
 * between turns they are asked whether their tools have changed, and only a changed list is
 * recorded.
 */
#include "turn/loop.h"

#include <stdlib.h>

#include "base/memory.h"
#include "json/writer.h"
#include "transcript/event_keys.h"
#include "turn/toolrun.h"

#define HANDOFF_LIMIT 32 /* in a call */

static const char transfer_schema[] = "{\"type\":\"object\",\"properties\":{\"reason\":"
    "{\"type\":\"string\",\"description\":\"Why the other agent is to go on.\"}}}";

struct transfer {
	struct control control;
	struct loop *loop;
	const struct member *to;
};

/* The conversation continues with one agent: the first that the answer names. */
static int
transfer_answer(void *context, struct tool_run *run, struct error *err)
{
	const struct transfer *t = context;
	const char *name = t->to->agent.name;
	struct writer w;

	(void)err;
	if (t->loop->turn.next != NULL) {
		error_set(&run->error, ERROR_BLOCKED, NULL,
		    "the conversation is handed over to '%s' already", t->loop->turn.next->agent.name);
	} else if (t->loop->conversation.handoffs >= HANDOFF_LIMIT) {
		error_set(&run->error, ERROR_BLOCKED, NULL,
		    "the conversation was handed over %d times: go on yourself", HANDOFF_LIMIT);
	} else {
		writer_begin(&w, &run->output);
		writer_object(&w);
		writer_member_string(&w, "transferred_to", name);
		writer_object_end(&w);
	}
	return 0;
}

static void
transfer_settle(void *context, const struct tool_run *run)
{
	const struct transfer *t = context;

	if (run->error.code == ERROR_NONE)
		t->loop->turn.next = t->to;
}

/* A stop tool without an executable only gives the result: any input that the schema of its file
 * accepts or, without a file, any object. */
static int
offer_stop_tool(struct loop *l, struct error *err)
{
	const struct member *m = l->turns->member;
	const char *name = m->agent.stop_tool, *schema = "{\"type\":\"object\"}";
	const char *description = "Gives the result and ends the work.";
	struct span output = span_of(m->agent.output.text.data, m->agent.output.text.len);

	if (name == NULL || offer_find(&l->tools.offer, name) != NULL)
		return 0;
	if (m->stop.name != NULL && !m->stop.missing) {
		offer_add(&l->tools.offer, &m->stop);
		return 0;
	}
	if (m->stop.name != NULL)
		schema = buffer_string(&m->stop.input_schema);
	else if (span_is(span_member(output, "type"), "object"))
		schema = output.at;
	if (m->stop.description != NULL)
		description = m->stop.description;
	if (control_begin(&l->tools.stopping, name, description, schema, err) == -1)
		return -1;
	offer_add_control(&l->tools.offer, &l->tools.stopping);
	return 0;
}

void
loop_withdraw(struct loop *l)
{
	offer_clear(&l->tools.offer);
	offer_clear(&l->tools.withheld);
	for (size_t i = 0; i < l->tools.transfer_count; i++)
		control_free(&l->tools.transfers[i].control);
	free(l->tools.transfers);
	l->tools.transfers = NULL;
	l->tools.transfer_count = 0;
	control_free(&l->tools.stopping);
}

int
loop_offer(struct loop *l, struct error *err)
{
	const struct member *m = l->turns->member;
	struct offer *offer = &l->tools.offer;

	loop_withdraw(l);
	l->conversation.offered++;
	if (phases_given(l)) {
		phases_offer(l);
		return 0;
	}
	for (size_t i = 0; i < m->tool_count; i++)
		offer_add(offer, &m->tools[i]);
	mcp_tools_offer(&l->tools.mcp, m, m->agent.tools, false, offer);
	mcp_tools_withhold(&l->tools.mcp, offer, &l->tools.withheld);

	l->tools.transfers = memory_zero(m->handoff_count + 1, sizeof *l->tools.transfers);
	l->tools.transfer_count = m->handoff_count;
	for (size_t i = 0; i < m->handoff_count; i++) {
		struct transfer *t = &l->tools.transfers[i];
		const struct agent *to = &m->handoffs[i].to->agent;
		char *description = memory_format("Hands the conversation over to %s, who goes on with "
		    "it.%s%s", to->name, to->description == NULL ? "" : " ",
		    to->description == NULL ? "" : to->description);
		int status = control_begin(&t->control, m->handoffs[i].tool, description,
		    transfer_schema, err);

		free(description);
		if (status == -1)
			return -1;
		t->loop = l;
		t->to = m->handoffs[i].to;
		t->control.answer = transfer_answer;
		t->control.settle = transfer_settle;
		t->control.context = t;
		offer_add_control(offer, &t->control);
	}
	return offer_stop_tool(l, err);
}

/* ---- the tools of servers ---- */

static bool
tells_tools(const struct recalled_event *e)
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
	if (tells_tools(prompt))
		return mcp_tools_recall(&l->tools.mcp, l->turns, prompt->view.payload, err);
	if (prompt != NULL)
		return 0;
	if (!recalled_replays(r))
		return mcp_tools_list(&l->tools.mcp, l->turns, err);
	/* A replay starts no server: if the recording has no tools, there are none. That a
	 * server failed to list its tools shows only in the end of the call. */
	return recalled_answer(r, l->turn.number) == NULL && r->end == RECALL_FAILED &&
	    recalled_error(recalled_result(r), err) ? -1 : 0;
}

/* The tools, as they are recorded. */
static void
loop_describe_mcp_tools(const struct loop *l, struct buffer *out)
{
	const struct offer none = { .count = 0 };
	struct writer w;

	writer_begin(&w, out);
	mcp_tools_write(&l->tools.mcp, &none, &w);
}

int
loop_refresh_mcp(struct loop *l, struct error *err)
{
	static const struct user_message message = { .kind = MESSAGE_TOOLS };
	const struct recalled *r = l->turns->recalled;
	const struct recalled_event *e;
	struct buffer before = BUFFER_INIT, now = BUFFER_INIT;
	int status;

	if (l->turns->member->server_count == 0)
		return CONTINUES;
	e = loop_recorded_prompt(l);
	if (tells_tools(e)) {
		mcp_tools_free(&l->tools.mcp);
		if (mcp_tools_recall(&l->tools.mcp, l->turns, e->view.payload, err) == -1 ||
		    loop_offer(l, err) == -1)
			return FAILED;
		return loop_tell(l, e, &message, err);
	}
	if (recalled_replays(r) || (r != NULL && recalled_answer(r, l->turn.number) != NULL))
		return CONTINUES;
	status = mcp_tools_changed(&l->tools.mcp, l->turns, err);
	if (status != 1)
		return status;

	loop_describe_mcp_tools(l, &before);
	mcp_tools_free(&l->tools.mcp);
	status = mcp_tools_list(&l->tools.mcp, l->turns, err);
	if (status == 0)
		status = loop_offer(l, err);
	loop_describe_mcp_tools(l, &now);
	if (status == 0 && !buffer_equal(&now, buffer_string(&before)))
		status = loop_record_user(l, &message, err);
	buffer_free(&before);
	buffer_free(&now);
	return status;
}
