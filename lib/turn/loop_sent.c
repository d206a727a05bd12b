/*
 * Two members are added to a request after it was hashed and recorded: the provider that is asked,
 * and in each message of a model the provider that gave it. They are not part of the digest, so
 * that recordings of older versions stay valid. A replay can derive them again: a list next to the
 * conversation's messages says who gave each (struct givers). If a before_turn program has chosen
 * other messages, who gave them is found by their blocks.
 */
#include "turn/loop.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "json/sorted.h"
#include "transcript/event_keys.h"

void
loop_add_giver(struct loop *l, const char *from, size_t offered)
{
	struct givers *g = &l->conversation.givers;

	if ((g->count & (g->count - 1)) == 0)
		g->list = memory_array(g->list, g->count == 0 ? 1 : g->count * 2, sizeof *g->list);
	g->list[g->count++] = (struct giver){ from == NULL ? NULL : memory_text(from), offered };
}

void
givers_free(struct givers *g)
{
	for (size_t i = 0; i < g->count; i++)
		free(g->list[i].from);
	free(g->list);
	*g = (struct givers){ .list = NULL };
}

void
loop_add_givers_before(struct loop *l)
{
	const struct turns *t = l->turns;
	struct givers after = l->conversation.givers;

	l->conversation.givers = (struct givers){ .list = NULL };
	for (char *const *from = t->continued->from; from != NULL && *from != NULL; from++)
		loop_add_giver(l, **from == '\0' ? NULL : *from, 0);
	for (size_t i = 0; i < after.count; i++)
		loop_add_giver(l, after.list[i].from, after.list[i].offered);
	givers_free(&after);
}

/* Whether a block is known by who gave it: a call by its id, or what has something of the API's. */
static bool
tells_giver(struct span block)
{
	return span_member(block, KEY_API).at != NULL ||
	    span_is(span_member(block, KEY_TYPE), "tool_use");
}

/* Lists the blocks of the conversation's answers, each with the index of its message. */
static void
list_blocks(const struct loop *l, struct map *list)
{
	const struct buffer *all = &l->conversation.messages;
	struct buffer messages = BUFFER_INIT, sorted = BUFFER_INIT;
	size_t i = 0;

	buffer_byte(&messages, '[');
	buffer_append(&messages, all->data, all->len);
	buffer_byte(&messages, ']');
	for (struct span_walk message = span_walk(span_of(messages.data, messages.len));
	    span_next(&message); i++)
		for (struct span_walk block = span_walk(span_member(message.value, KEY_BLOCKS));
		    l->conversation.givers.list[i].from != NULL && span_next(&block);) {
			if (!tells_giver(block.value))
				continue;
			buffer_clear(&sorted);
			sorted_write(block.value, &sorted);
			map_put(list, sorted.data, sorted.len, i);
		}
	buffer_free(&messages);
	buffer_free(&sorted);
}

/* Who gave all blocks of a message that a program chose; NULL: it is not known, or several. */
static const char *
find_giver(const struct loop *l, const struct map *list, struct span message)
{
	struct buffer sorted = BUFFER_INIT;
	const char *from = NULL;
	bool known = true;

	for (struct span_walk block = span_walk(span_member(message, KEY_BLOCKS));
	    known && span_next(&block);) {
		const size_t *at;
		const char *giver;

		if (!tells_giver(block.value))
			continue;
		buffer_clear(&sorted);
		sorted_write(block.value, &sorted);
		at = map_get(list, sorted.data, sorted.len);
		giver = at == NULL ? NULL : l->conversation.givers.list[*at].from;
		known = giver != NULL && (from == NULL || strcmp(from, giver) == 0);
		from = giver;
	}
	buffer_free(&sorted);
	return known ? from : NULL;
}

void
loop_add_beside(const struct loop *l, const char *provider, struct buffer *text,
    size_t messages_end)
{
	const struct change *change = &l->turn.change;
	const bool chosen = change->messages.at != NULL;
	const size_t len = chosen ? change->messages.len - 2 : l->conversation.messages.len;
	const size_t start = messages_end - len - 1; /* with the brackets */
	struct span messages = span_of(text->data + start, len + 2);
	struct buffer sent = BUFFER_INIT;
	struct map blocks = MAP_INIT;
	bool answers = false;
	struct writer w;
	size_t i = 0;

	for (struct span_walk message = span_walk(messages); !answers && span_next(&message);)
		answers = span_is(span_member(message.value, KEY_ROLE), "assistant");
	if (!answers)
		return;
	if (chosen)
		list_blocks(l, &blocks);
	buffer_append(&sent, text->data, start);
	writer_begin(&w, &sent);
	writer_array(&w);
	for (struct span_walk message = span_walk(messages); span_next(&message); i++) {
		const struct giver *giver = chosen ? NULL : &l->conversation.givers.list[i];
		const char *from = chosen ? find_giver(l, &blocks, message.value) : giver->from;

		if (!span_is(span_member(message.value, KEY_ROLE), "assistant") ||
		    span_member(message.value, KEY_FROM).at != NULL) {
			writer_span(&w, message.value);
			continue;
		}
		writer_object(&w);
		writer_key(&w, KEY_FROM);
		writer_string(&w, from);
		if (chosen || change->narrows || giver->offered != l->conversation.offered)
			writer_member_bool(&w, KEY_MOVED, true);
		for (struct span_walk member = span_walk(message.value); span_next(&member);)
			writer_raw_member(&w, member.key, member.value);
		writer_object_end(&w);
	}
	writer_array_end(&w);
	buffer_append(&sent, text->data + messages_end + 1, text->len - messages_end - 2);
	writer_begin(&w, &sent);
	w.comma = true;
	writer_member_string(&w, KEY_PROVIDER, provider);
	buffer_byte(&sent, '}');
	buffer_free(text);
	*text = sent;
	map_free(&blocks);
}
