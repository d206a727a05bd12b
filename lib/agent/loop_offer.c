/*
 * What the model may call: the agent's tools, those of its servers, and control tools: a
 * transfer for each agent that may go on, the stop tool, or what ends a phase. It is put
 * together anew when an agent, a phase or a server's list changes. A transfer only notes whom
 * it names; the hand-over happens when all results of the answer stand.
 */
#include "agent/loop.h"

#include <stdlib.h>

#include "agent/toolrun.h"
#include "base/memory.h"
#include "json/writer.h"

#define HANDOFF_LIMIT 32 /* in a call */

static const char transfer_schema[] = "{\"type\":\"object\",\"properties\":{\"reason\":"
    "{\"type\":\"string\",\"description\":\"Why the other agent is to go on.\"}}}";

struct transfer {
	struct control control;
	struct loop *loop;
	const struct member *to;
};

/* The conversation goes on with one agent: the first that the answer names. */
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

static int
offer_transfers(struct loop *l, struct error *err)
{
	const struct member *m = l->turns->member;
	int status = 0;

	l->tools.transfers = memory_zero(m->handoff_count + 1, sizeof *l->tools.transfers);
	l->tools.transfer_count = m->handoff_count;
	for (size_t i = 0; status == 0 && i < m->handoff_count; i++) {
		struct transfer *t = &l->tools.transfers[i];
		const struct agent *to = &m->handoffs[i].to->agent;
		char *description = memory_format("Hands the conversation over to %s, who goes on with "
		    "it.%s%s", to->name, to->description == NULL ? "" : " ",
		    to->description == NULL ? "" : to->description);

		status = control_begin(&t->control, m->handoffs[i].tool, description, transfer_schema,
		    err);
		free(description);
		t->loop = l;
		t->to = m->handoffs[i].to;
		t->control.answer = transfer_answer;
		t->control.settle = transfer_settle;
		t->control.context = t;
		offer_add_control(&l->tools.offer, &t->control);
	}
	return status;
}

/* One that has no executable only gives the result: what the schema of its file accepts,
 * without a file any object. */
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

	loop_withdraw(l);
	if (phases_given(l)) {
		phases_offer(l);
		return 0;
	}
	for (size_t i = 0; i < m->tool_count; i++)
		offer_add(&l->tools.offer, &m->tools[i]);
	mcp_tools_offer(&l->tools.mcp, m, m->agent.tools, false, &l->tools.offer);
	mcp_tools_withhold(&l->tools.mcp, &l->tools.offer, &l->tools.withheld);
	if (offer_transfers(l, err) == -1)
		return -1;
	return offer_stop_tool(l, err);
}
