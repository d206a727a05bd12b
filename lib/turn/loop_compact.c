/*
 * Compaction: when a conversation comes to the agent's limit of tokens, its older messages are
 * replaced by a summary, which its model, or that of another agent, makes of them as a text, without
 * tools. What is kept begins with an answer, so that calls of tools and their results stay together. The
 * event of the summary says how many messages are kept: a resume and a replay go by it, and ask nobody. A
 * resume also takes an answer that is recorded without that event, because the step was killed between the two.
 */
#include "turn/loop.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"
#include "providers/provider_find.h"
#include "transcript/event_keys.h"

#define BYTES_OF_TOKEN 4 /* of messages, as long as the API has not counted them */
#define RESULT_SHOWN 4000 /* bytes of a tool's result that the summary is made of */

static const char system_prompt[] =
    "You summarise the older part of a conversation between a user and an agent, which will go on "
    "with your summary in place of it. Keep what the agent needs to go on: what the user wants and "
    "has decided, what was done and found, names, numbers and paths exactly, what is still open. "
    "Leave out what is settled and needed no more. Give the summary alone.";
static const char heading[] = "Summary of the conversation before this:\n\n";

/* ---- the messages ---- */

void
compact_messages(const struct buffer *messages, size_t kept, struct span blocks, struct buffer *out)
{
	struct buffer all = BUFFER_INIT, rest = BUFFER_INIT;
	size_t count = 0, i = 0;

	buffer_byte(&all, '[');
	buffer_append(&all, messages->data, messages->len);
	buffer_byte(&all, ']');
	for (struct span_walk each = span_walk(span_of(all.data, all.len)); span_next(&each);)
		count++;
	buffer_text(out, "{\"" KEY_ROLE "\":\"user\",\"" KEY_BLOCKS "\":[");
	buffer_append(out, blocks.at, blocks.len);
	buffer_text(out, "]}");
	for (struct span_walk each = span_walk(span_of(all.data, all.len)); span_next(&each); i++) {
		if (i + kept < count)
			continue;
		buffer_clear(&rest);
		for (struct span_walk block = span_walk(span_member(each.value, KEY_BLOCKS)); span_next(&block);)
			if (!span_is(span_member(block.value, KEY_TYPE), "thinking") ||
			    span_member(block.value, KEY_BOUND).at == NULL) {
				buffer_text(&rest, rest.len > 0 ? "," : "");
				buffer_append(&rest, block.value.at, block.value.len);
			}
		buffer_byte(out, ',');
		if (rest.len == 0) {
			buffer_append(out, each.value.at, each.value.len);
			continue;
		}
		buffer_text(out, "{\"" KEY_ROLE "\":");
		buffer_append(out, span_member(each.value, KEY_ROLE).at, span_member(each.value, KEY_ROLE).len);
		buffer_text(out, ",\"" KEY_BLOCKS "\":[");
		buffer_append(out, rest.data, rest.len);
		buffer_text(out, "]}");
	}
	buffer_free(&rest);
	buffer_free(&all);
}

static size_t
count_messages(const struct buffer *messages)
{
	struct buffer all = BUFFER_INIT;
	size_t count = 0;

	buffer_format(&all, "[%s]", messages->data);
	for (struct span_walk each = span_walk(span_of(all.data, all.len)); span_next(&each);)
		count++;
	buffer_free(&all);
	return count;
}

/* Replaces all messages but the last by the summary, a block. */
static void
apply_summary(struct loop *l, struct span block, size_t kept)
{
	struct givers was = l->conversation.givers;
	struct buffer out = BUFFER_INIT;

	if (kept > was.count)
		kept = was.count;
	compact_messages(&l->conversation.messages, kept, block, &out);
	buffer_free(&l->conversation.messages);
	l->conversation.messages = out;
	l->conversation.givers = (struct givers){ .list = NULL };
	loop_add_giver(l, NULL, 0);
	for (size_t i = was.count - kept; i < was.count; i++)
		loop_add_giver(l, was.list[i].from, 0);
	givers_free(&was);
	INVARIANT(l->conversation.givers.count == kept + 1 && count_messages(&l->conversation.messages) == kept + 1);
	l->conversation.tokens = 0;
	loop_forget_asked(l);
}

/* ---- when, and what ---- */

static int64_t
count_tokens(const struct loop *l)
{
	const size_t len = l->conversation.messages.len;

	return l->conversation.tokens == 0 || l->conversation.tokens_len > len ?
	    (int64_t)(len / BYTES_OF_TOKEN) : l->conversation.tokens +
	    (int64_t)((len - l->conversation.tokens_len) / BYTES_OF_TOKEN);
}

/* The number of last messages to be kept: as many as the agent says, or fewer if those would be more than half
 * of its limit; then as many more as it takes to begin with an answer. 0: nothing can be replaced. */
static size_t
count_kept(const struct loop *l, struct span messages, int64_t tokens)
{
	const struct agent *agent = &l->turns->member->agent;
	const size_t count = l->conversation.givers.count;
	const double half = (double)agent->limits.compact_at / 2 * (double)messages.len / (double)tokens;
	struct span *list = memory_array(NULL, count + 1, sizeof *list);
	size_t start = count, i = 0, len = 0;

	for (struct span_walk each = span_walk(messages); i < count && span_next(&each);)
		list[i++] = each.value;
	while (start > 0 && count - start < (size_t)agent->limits.compact_keep &&
	    (start == count || (double)(len + list[start - 1].len) <= half))
		len += list[--start].len;
	while (start > 0 && !span_is(span_member(list[start], KEY_ROLE), "assistant"))
		start--;
	free(list);
	return start > 1 ? count - start : 0;
}

/* Whether the message after the replaced ones is an answer of the model. */
static bool
begins_with_answer(struct span messages, size_t replaced)
{
	size_t i = 0;

	for (struct span_walk each = span_walk(messages); span_next(&each); i++)
		if (i == replaced)
			return span_is(span_member(each.value, KEY_ROLE), "assistant");
	return false;
}

/* Writes a block as text for the request of the summary; leaves out thinking. */
static void
write_block(struct span block, struct buffer *out)
{
	struct span type = span_member(block, KEY_TYPE);
	struct buffer text = BUFFER_INIT;

	if (span_is(type, "text")) {
		span_decode(span_member(block, KEY_TEXT), &text);
	} else if (span_is(type, "tool_use")) {
		buffer_text(&text, "[calls ");
		span_decode(span_member(block, KEY_TOOL_NAME), &text);
		buffer_byte(&text, ' ');
		span_plain(span_member(block, KEY_TOOL_INPUT), &text);
		buffer_byte(&text, ']');
	} else if (span_is(type, "tool_result")) {
		buffer_text(&text, "[its result: ");
		span_plain(span_member(block, KEY_TOOL_CONTENT), &text);
		if (text.len > RESULT_SHOWN) {
			text.len = utf8_whole(text.data, RESULT_SHOWN);
			buffer_text(&text, " …");
		}
		buffer_byte(&text, ']');
	} else if (!span_is(type, "thinking")) {
		buffer_byte(&text, '[');
		span_decode(type, &text);
		buffer_byte(&text, ']');
	}
	buffer_append(out, buffer_string(&text), text.len);
	buffer_text(out, text.len > 0 ? "\n" : "");
	buffer_free(&text);
}

/* The request for a summary of the first messages. */
static void
write_request(const struct loop *l, struct span messages, size_t replaced, struct request *request)
{
	const struct member *maker = l->turns->member;
	const char *said = maker->summarises ? maker->agent.system : NULL;
	struct buffer text = BUFFER_INIT;
	struct writer w;
	size_t i = 0;

	for (struct span_walk each = span_walk(messages); i < replaced && span_next(&each); i++) {
		buffer_text(&text, span_is(span_member(each.value, KEY_ROLE), "assistant") ? "AGENT:\n" : "USER:\n");
		for (struct span_walk block = span_walk(span_member(each.value, KEY_BLOCKS)); span_next(&block);)
			write_block(block.value, &text);
		buffer_byte(&text, '\n');
	}
	writer_begin(&w, &request->text);
	writer_object(&w);
	writer_member_string(&w, KEY_MODEL, loop_asked(l).model);
	writer_member_string(&w, "system", said != NULL ? said : system_prompt);
	writer_member_array(&w, "messages");
	writer_object(&w);
	writer_member_string(&w, KEY_ROLE, "user");
	writer_member_array(&w, KEY_BLOCKS);
	loop_write_text(&w, span_of(buffer_string(&text), text.len), NULL);
	writer_array_end(&w);
	writer_object_end(&w);
	writer_array_end(&w);
	writer_member_array(&w, KEY_TOOLS);
	writer_array_end(&w);
	loop_write_params(&w, l->turns->member->agent.params);
	writer_member_bool(&w, "stream", true);
	writer_member_string(&w, KEY_PROVIDER, loop_asked(l).provider);
	writer_object_end(&w);
	digest_sha256(request->text.data, request->text.len, request->sha256);
	buffer_free(&text);
}

static int
record_summary(struct loop *l, const struct buffer *summary, size_t replaced, size_t kept, struct error *err)
{
	struct buffer payload = BUFFER_INIT;
	struct writer w;
	int status;

	writer_begin(&w, &payload);
	writer_object(&w);
	writer_member_string(&w, KEY_ROLE, "user");
	writer_member_array(&w, KEY_BLOCKS);
	loop_write_text(&w, span_of(summary->data, summary->len), "router");
	writer_array_end(&w);
	writer_member_object(&w, KEY_COMPACT);
	writer_member_integer(&w, KEY_REPLACED, (int64_t)replaced);
	writer_member_integer(&w, KEY_KEPT, (int64_t)kept);
	writer_object_end(&w);
	writer_member_integer(&w, KEY_TURN, l->turn.number);
	writer_object_end(&w);
	status = call_event(l->turns->call, EVENT_MESSAGE_USER, NULL, &payload, NULL, err);
	buffer_free(&payload);
	return status;
}

/* ---- who is asked ---- */

/* While a summary is made, its maker works, with a first model of its own. */
struct maker {
	const struct member *member;
	size_t fallen;
};

static struct maker
enter_maker(struct loop *l)
{
	const struct maker was = { l->turns->member, l->conversation.fallen };

	l->turn.change.model = SPAN_NONE; /* it was chosen for the turn before */
	if (was.member->summariser != NULL) {
		l->turns->member = was.member->summariser;
		l->conversation.fallen = 0;
	}
	return was;
}

static void
leave_maker(struct loop *l, const struct maker *was)
{
	l->turns->member = was->member;
	l->conversation.fallen = was->fallen;
}

/* The recorded answer to this request; NULL: there is none. */
static const struct recalled_event *
find_recorded_answer(const struct loop *l, const struct request *request)
{
	const struct recalled *r = l->turns->recalled;

	for (size_t i = 0; r != NULL && i < r->event_count; i++) {
		const struct recalled_event *e = &r->events[i];

		if (span_is(e->view.parent_event_id, l->turns->call->last) &&
		    span_true(span_member(e->view.payload, KEY_COMPACT)) &&
		    span_is(span_member(e->view.payload, KEY_REQUEST_SHA256), request->sha256))
			return e;
	}
	return NULL;
}

/* Appends the text of an answer. */
static void
read_text(struct span blocks, struct buffer *text)
{
	for (struct span_walk block = span_walk(blocks); span_next(&block);)
		if (span_is(span_member(block.value, KEY_TYPE), "text"))
			span_decode(span_member(block.value, KEY_TEXT), text);
}

/* Takes a summary of the first messages that one of the maker's models has made already. */
static bool
take_recorded_answer(struct loop *l, struct span messages, size_t replaced, struct buffer *summary)
{
	const size_t most = l->turns->member->agent.fallback.count, was = l->conversation.fallen;
	struct request request = { .text = BUFFER_INIT };
	const struct recalled_event *e = NULL;

	for (; l->turns->recalled != NULL && e == NULL && l->conversation.fallen <= most; l->conversation.fallen++) {
		buffer_clear(&request.text);
		write_request(l, messages, replaced, &request);
		e = find_recorded_answer(l, &request);
		if (e != NULL) {
			loop_count(l, span_member(e->view.payload, KEY_MODEL), span_member(e->view.payload, KEY_USAGE));
			read_text(span_member(e->view.payload, KEY_BLOCKS), summary);
		}
	}
	l->conversation.fallen = was;
	buffer_free(&request.text);
	return e != NULL;
}

/* Asks for a summary of the first messages, and other models if one does not answer. */
static int
ask_for_summary(struct loop *l, struct span messages, size_t replaced, struct buffer *summary, struct error *err)
{
	const struct maker was = enter_maker(l);
	struct request request = { .text = BUFFER_INIT };
	int status;

	if (take_recorded_answer(l, messages, replaced, summary)) {
		leave_maker(l, &was);
		return 0;
	}
	for (;; l->conversation.fallen++) {
		buffer_clear(&request.text);
		write_request(l, messages, replaced, &request);
		status = loop_ask_aside(l, &request, err);
		if (status == 0 || l->conversation.fallen >= l->turns->member->agent.fallback.count ||
		    !fallback_helps(err->code) || (l->turns->deadline != 0 && clock_monotonic() >= l->turns->deadline))
			break;
	}
	if (status == 0) {
		*err = (struct error)ERROR_INIT; /* of tries before */
		read_text(l->turn.answer.blocks, summary);
	}
	leave_maker(l, &was);
	buffer_free(&request.text);
	return status;
}

/* ---- the recorded one ---- */

static void
apply_text(struct loop *l, const struct buffer *summary, size_t kept)
{
	struct buffer block = BUFFER_INIT;
	struct writer w;

	writer_begin(&w, &block);
	loop_write_text(&w, span_of(summary->data, summary->len), NULL);
	apply_summary(l, span_of(block.data, block.len), kept);
	buffer_free(&block);
}

/* Counts what a recorded answer with a summary has used. */
static void
count_recorded(struct loop *l, struct span payload)
{
	const struct maker was = enter_maker(l);
	long long fallen = 0;

	if (span_integer(span_member(payload, KEY_FALLBACK), &fallen) && fallen > 0 &&
	    (size_t)fallen <= l->turns->member->agent.fallback.count)
		l->conversation.fallen = (size_t)fallen;
	loop_count(l, span_member(payload, KEY_MODEL), span_member(payload, KEY_USAGE));
	leave_maker(l, &was);
}

/* Applies the compaction that is recorded before this turn. A replay records it again, with the answers to
 * the requests for it. Returns 1; 0: none is recorded; -1: *err. */
static int
recall_summary(struct loop *l, struct error *err)
{
	const struct turns *t = l->turns;
	struct recalled *r = t->recalled;
	struct recalled_event *e = r == NULL ? NULL : recalled_effect(r, t->call->last, EVENT_MESSAGE_USER);
	struct buffer text = BUFFER_INIT;
	char before[ID_SIZE];
	long long kept = 0;

	if (e == NULL || !span_integer(span_path(e->view.payload, KEY_COMPACT, KEY_KEPT, NULL), &kept) || kept < 0)
		return 0;
	memcpy(before, t->call->last, ID_SIZE);
	for (size_t i = 0; i < r->event_count; i++) {
		struct recalled_event *asked = &r->events[i];

		if (!span_is(asked->view.parent_event_id, before) ||
		    !span_true(span_member(asked->view.payload, KEY_COMPACT)))
			continue;
		count_recorded(l, asked->view.payload);
		if (recalled_replays(r) && call_aside(t->call, EVENT_MESSAGE_ASSISTANT, asked->id, before,
		    asked->view.payload, err) == -1)
			return -1;
	}
	if (!recalled_replays(r))
		call_follow_recorded(t->call, e->id, t->started);
	else if (turns_repeat(t, e, err) == -1)
		return -1;
	span_decode(span_member(span_element(span_member(e->view.payload, KEY_BLOCKS), 0), KEY_TEXT), &text);
	buffer_string(&text);
	apply_text(l, &text, (size_t)kept);
	buffer_free(&text);
	return 1;
}

int
loop_compact(struct loop *l, struct error *err)
{
	const struct agent *agent = &l->turns->member->agent;
	const bool paused = l->turn.number > 0 && span_is(l->turn.answer.stop_reason, "pause");
	struct buffer all = BUFFER_INIT, summary = BUFFER_INIT;
	size_t kept, replaced;
	int64_t tokens;
	int status = recall_summary(l, err);

	if (status != 0)
		return status == -1 ? FAILED : CONTINUES;
	tokens = count_tokens(l);
	if (agent->limits.compact_at == 0 || tokens <= agent->limits.compact_at || paused ||
	    recalled_replays(l->turns->recalled) || loop_is_answered(l) || provider_is_cli(loop_asked(l).provider))
		return CONTINUES;
	buffer_format(&all, "[%s]", buffer_string(&l->conversation.messages));
	kept = count_kept(l, span_of(all.data, all.len), tokens);
	if (kept > 0) {
		replaced = l->conversation.givers.count - kept;
		INVARIANT(replaced > 0 && begins_with_answer(span_of(all.data, all.len), replaced));
		buffer_text(&summary, heading);
		status = ask_for_summary(l, span_of(all.data, all.len), replaced, &summary, err);
		if (status == 0 && summary.len == sizeof heading - 1)
			status = error_set(err, ERROR_PROVIDER, agent->name,
			    "compact: the model gave no summary of the conversation");
		if (status == 0)
			status = record_summary(l, &summary, replaced, kept, err);
		if (status == 0)
			apply_text(l, &summary, kept);
	}
	buffer_free(&summary);
	buffer_free(&all);
	return status == 0 ? CONTINUES : FAILED;
}
