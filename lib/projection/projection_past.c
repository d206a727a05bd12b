/*
 * The turns are those of calls that AWF itself has made: of events of other programs it is not known
 * which belong together. If the blocks of an answer are in a blob, it is not known how many tools it
 * wants; then the next turn begins with its answer.
 */
#include "projection/projection_past.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "projection/projection_placed.h"
#include "transcript/event_keys.h"

#define HANDS_OVER "transfer_to_" /* the beginning of the names of tools that hand over */

struct past_call {
	bool begun;
	bool asked;                  /* the next turn has begun: all tools have answered */
	int64_t turn;                /* of its last answer */
	size_t tools;                /* that have not answered yet */
};

static struct past_call *
past_find_call(struct projection_past *past, const struct model_call *call)
{
	const char *key = (const char *)&call->number;
	const size_t *index = map_get(&past->numbers, key, sizeof call->number);

	if (index != NULL)
		return &past->calls[*index];
	if (past->count == past->room) {
		past->room = past->room == 0 ? 16 : 2 * past->room;
		past->calls = memory_array(past->calls, past->room, sizeof *past->calls);
	}
	map_put(&past->numbers, key, sizeof call->number, past->count);
	past->calls[past->count] = (struct past_call){ .begun = false };
	return &past->calls[past->count++];
}

/* The tools that an answer wants. 0 if one of them hands the conversation over: then the message to the
 * next agent begins its turn. */
static size_t
count_tools(struct span payload)
{
	struct span blocks = span_member(payload, KEY_BLOCKS);
	size_t count = 0;

	if (span_type(blocks) != 'a')
		return 0;
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		struct span name = span_member(block.value, KEY_TOOL_NAME);

		if (name.len > sizeof HANDS_OVER && memcmp(name.at + 1, HANDS_OVER, sizeof HANDS_OVER - 1) == 0)
			return 0;
		count += span_is(span_member(block.value, KEY_TYPE), "tool_use");
	}
	return count;
}

void
past_take(struct projection_past *past, const struct placed *at, struct projection_news *news)
{
	const struct event_view *event = at->event;
	bool of_turn = event->told == EVENT_MESSAGE_USER || event->told == EVENT_MESSAGE_ASSISTANT;
	bool inside = of_turn || event->told == EVENT_TOOL_CALL || event->told == EVENT_TOOL_RESULT;
	struct past_call *c;
	long long turn = 0;

	*news = (struct projection_news){ .turn_begins = of_turn };
	if (past == NULL || event->type == EVENT_TYPES || at->call == NULL || !placed_by_agent(at) ||
	    !(inside || event->type == EVENT_STEP_COMPLETED))
		return;
	c = past_find_call(past, at->call);
	/* A call that took its result from an earlier attempt did not begin, nor did one that failed
	 * before anything happened in it. */
	news->agent_begins = !c->begun && (inside || (placed_outcome_of(at) == PLACED_SUCCESS &&
	    !at->call->reused));
	c->begun |= news->agent_begins;
	news->agent_begun = c->begun;
	span_integer(span_member(event->payload, KEY_TURN), &turn);
	/* Another try begins the conversation again. */
	if (event->type == EVENT_MESSAGE_USER && turn == 0) {
		c->asked = false;
		c->tools = 0;
	}
	news->turn_begins = of_turn && !c->asked;
	if (event->type == EVENT_MESSAGE_ASSISTANT && placed_whole(at)) {
		c->asked = false;
		c->turn = turn;
		c->tools = count_tools(event->payload);
	} else if (event->type == EVENT_TOOL_RESULT && c->tools > 0 && --c->tools == 0) {
		news->turn_begins = c->asked = true;
		news->turn = c->turn + 1;
	}
}

void
past_free(struct projection_past *past)
{
	map_free(&past->numbers);
	free(past->calls);
	*past = (struct projection_past){ .calls = NULL };
}
