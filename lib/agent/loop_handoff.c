/*
 * Another agent goes on. The conversation goes along, but without thoughts if another model
 * reads it, as these are signed for the one that had them.
 */
#include "agent/loop.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static void
add_without_thoughts(struct loop *l, struct span message)
{
	char *role = span_text(span_member(message, "role"));
	struct buffer blocks = BUFFER_INIT;

	for (struct span_walk block = span_walk(span_member(message, "blocks"));
	    span_next(&block);) {
		if (span_is(span_member(block.value, "type"), "thinking"))
			continue;
		if (blocks.len > 0)
			buffer_byte(&blocks, ',');
		buffer_append(&blocks, block.value.at, block.value.len);
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

	buffer_format(&before, "[%s]", buffer_string(&l->conversation.messages));
	buffer_clear(&l->conversation.messages);
	for (struct span_walk message = span_walk(span_of(before.data, before.len));
	    span_next(&message);)
		add_without_thoughts(l, message.value);
	buffer_free(&before);
}

int
loop_hand_over(struct loop *l, struct error *err)
{
	struct turns *t = l->turns;
	const struct member *from = t->member, *to = l->turn.next;
	int64_t own = clock_monotonic() + to->agent.timeout_ms;

	if (strcmp(loop_provider_name(l), to->agent.provider) != 0 ||
	    strcmp(loop_model(l), to->agent.model) != 0)
		forget_thoughts(l);
	l->turn.next = NULL;
	l->conversation.repairs = 0;
	l->conversation.handoffs++;
	l->conversation.fallen = 0;
	t->member = to;
	/* The time of the call, or that of the agent's part in it if it ends sooner. */
	t->deadline = l->deadline;
	if (to != l->lead && to->agent.timeout_ms != 0 && (l->deadline == 0 || own < l->deadline))
		t->deadline = own;
	loop_forget_asked(l);
	if (loop_begin_mcp(l, loop_recorded_prompt(l), err) == -1 || loop_offer(l, err) == -1)
		return -1;
	return loop_recall_handoff(l, &from->agent, err);
}
