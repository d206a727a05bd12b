/*
 * A tool for each agent that may go on, which only notes whom it names. The hand-over happens
 * when all results of the answer stand. The conversation goes along, but without thoughts if
 * another model reads it, as these are signed for the one that had them.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/loop.h"
#include "agent/toolrun.h"
#include "base/clock.h"
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
	if (t->loop->next != NULL) {
		error_set(&run->error, ERROR_BLOCKED, NULL,
		    "the conversation is handed over to '%s' already", t->loop->next->agent.name);
	} else if (t->loop->handoffs >= HANDOFF_LIMIT) {
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
		t->loop->next = t->to;
}

static int
offer_transfer(struct loop *l, struct transfer *t, const struct handoff *h, struct error *err)
{
	const struct agent *to = &h->to->agent;
	char *description = memory_format("Hands the conversation over to %s, who goes on with it.%s%s",
	    to->name, to->description == NULL ? "" : " ",
	    to->description == NULL ? "" : to->description);
	int result = control_begin(&t->control, h->tool, description, transfer_schema, err);

	free(description);
	t->loop = l;
	t->to = h->to;
	t->control.answer = transfer_answer;
	t->control.settle = transfer_settle;
	t->control.context = t;
	offer_add_control(&l->offer, &t->control);
	return result;
}

int
loop_offer_transfers(struct loop *l, struct error *err)
{
	const struct member *m = l->turns->member;

	l->transfers = memory_zero(m->handoff_count + 1, sizeof *l->transfers);
	l->transfer_count = m->handoff_count;
	for (size_t i = 0; i < m->handoff_count; i++)
		if (offer_transfer(l, &l->transfers[i], &m->handoffs[i], err) == -1)
			return -1;
	return 0;
}

void
loop_drop_transfers(struct loop *l)
{
	for (size_t i = 0; i < l->transfer_count; i++)
		control_free(&l->transfers[i].control);
	free(l->transfers);
	l->transfers = NULL;
	l->transfer_count = 0;
}

/* Whether the agent asks the model that was asked until now. */
static bool
same_model(const struct loop *l, const struct agent *to)
{
	return strcmp(loop_provider_name(l), to->provider) == 0 &&
	    strcmp(loop_model(l), to->model) == 0;
}

static void
add_without_thoughts(struct loop *l, struct span message)
{
	char *role = span_text(span_member(message, "role"));
	struct buffer blocks = BUFFER_INIT;
	struct span_walk walk;
	struct span key, block;

	span_walk_begin(&walk, span_member(message, "blocks"));
	while (span_walk_next(&walk, &key, &block)) {
		if (span_is(span_member(block, "type"), "thinking"))
			continue;
		if (blocks.len > 0)
			buffer_byte(&blocks, ',');
		buffer_append(&blocks, block.at, block.len);
	}
	if (blocks.len > 0)
		loop_add_message(l, role, blocks.data, blocks.len);
	buffer_free(&blocks);
	free(role);
}

/* What a model thought only that model can read. */
static void
forget_thoughts(struct loop *l)
{
	struct buffer before = BUFFER_INIT;
	struct span_walk walk;
	struct span key, message;

	buffer_format(&before, "[%s]", buffer_string(&l->messages));
	buffer_clear(&l->messages);
	span_walk_begin(&walk, span_of(before.data, before.len));
	while (span_walk_next(&walk, &key, &message))
		add_without_thoughts(l, message);
	buffer_free(&before);
}

/* The time of the call, or that of the agent's part in it if it ends sooner. */
static int64_t
deadline_of(const struct loop *l, const struct member *m)
{
	int64_t own = clock_monotonic() + m->agent.timeout_ms;

	if (m == l->lead || m->agent.timeout_ms == 0)
		return l->deadline;
	return l->deadline != 0 && l->deadline < own ? l->deadline : own;
}

int
loop_hand_over(struct loop *l, struct error *err)
{
	struct turns *t = l->turns;
	const struct member *from = t->member, *to = l->next;

	l->next = NULL;
	l->repairs = 0;
	l->handoffs++;
	if (!same_model(l, &to->agent))
		forget_thoughts(l);
	l->fallen = 0;
	t->member = to;
	t->deadline = deadline_of(l, to);
	loop_forget_asked(l);
	if (loop_begin_mcp(l, loop_recorded_prompt(l), err) == -1 || loop_offer(l, err) == -1)
		return -1;
	return loop_recall_handoff(l, &from->agent, err);
}
