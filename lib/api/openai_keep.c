/*
 * Members of the message are joined as they arrive (api/joined.h), and put into a block at the end,
 * when all blocks are known. A picture gets a text that describes it, which is all that another
 * model, or a reader, sees of it.
 */
#include "api/openai_keep.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "transcript/event_keys.h"

const char *const openai_silent[] = { "annotations", "citations", NULL };

/* Members that are not kept: they are read elsewhere, are about the answer and not part of it, or
 * are audio. */
static const char *const placed[] = { "audio", "content", "finish_reason", "function_call", IMAGES, "index",
	"logprobs", "reasoning", "reasoning_content", "refusal", "role", "tool_calls", "usage", NULL };

/* The number of bytes in a URL data:TYPE;base64,… */
static size_t
data_bytes(const char *url)
{
	const char *comma = strchr(url, ',');
	size_t len = comma == NULL ? 0 : strlen(comma + 1), padding = 0;

	while (padding < len && comma[len - padding] == '=')
		padding++;
	return (len - padding) * 3 / 4;
}

/* Adds a picture as a block with a text that describes it, and the member that is sent back. */
static void
keep_picture(struct stream *s, struct span picture, const char *member, bool listed)
{
	struct block *b = message_add(&s->message, BLOCK_TEXT, -1);
	char *url = span_text(span_path(picture, "image_url", "url", NULL));
	struct buffer value = BUFFER_INIT;

	if (url == NULL)
		url = span_text(span_member(picture, "image_url"));
	if (url != NULL && strncmp(url, "data:", 5) == 0)
		buffer_format(&b->text, "[picture: %.*s, %zu bytes]", (int)strcspn(url + 5, ";,"), url + 5,
		    data_bytes(url));
	else
		buffer_format(&b->text, "[picture%s%s]", url == NULL ? "" : ": ", url == NULL ? "" : url);
	free(url);
	buffer_text(&value, listed ? "[" : "");
	scan_minify(picture, &value);
	buffer_text(&value, listed ? "]" : "");
	block_keep_as(b, member, span_of(value.data, value.len));
	buffer_free(&value);
	b->api = OPENAI;
}

void
openai_keep_part(struct stream *s, struct span part)
{
	struct block *b;

	if (span_member(part, "image_url").at != NULL) {
		keep_picture(s, part, PART, false);
		return;
	}
	if (span_type(part) != 'o')
		return;
	b = message_add(&s->message, BLOCK_TEXT, -1);
	block_keep_as(b, PART, part);
	b->api = OPENAI;
}

void
openai_keep_thought(struct block *b, struct span part)
{
	b->api = OPENAI;
	b->field = CONTENT_FIELD;
	buffer_clear(&b->raw);
	for (struct span_walk member = span_walk(part); span_next(&member);)
		if (!span_is(member.key, "type") && !span_is(member.key, "thinking") &&
		    says_something(member.value))
			block_keep(b, member.key, member.value);
}

void
openai_keep_summary(struct block *b, struct span summary)
{
	b->api = OPENAI;
	b->field = SUMMARY_FIELD;
	for (struct span_walk part = span_walk(summary); span_next(&part);) {
		struct span signature = span_member(part.value, "signature");

		if (signature.at == NULL || !says_something(signature))
			continue;
		buffer_clear(&b->raw);
		block_keep_as(b, "signature", signature);
	}
}

void
openai_place_summaries(struct message *m)
{
	static const char before[] = "{\"type\":\"reasoning\",\"summary\":[{\"type\":\"summary_text\",\"text\":";

	for (size_t i = 0; i < m->count; i++) {
		struct block *b = &m->blocks[i];
		struct buffer part = BUFFER_INIT;

		if (b->type != BLOCK_THINKING || b->field == NULL || strcmp(b->field, SUMMARY_FIELD) != 0)
			continue;
		buffer_text(&part, before);
		json_quote(&part, buffer_string(&b->text), b->text.len);
		buffer_format(&part, "%s%s}]}", b->raw.len > 0 ? "," : "", buffer_string(&b->raw));
		buffer_clear(&b->raw);
		block_keep_as(b, PART, span_of(part.data, part.len));
		buffer_free(&part);
	}
}

void
openai_keep_delta(struct stream *s, struct span delta)
{
	for (struct span_walk member = span_walk(delta); member.object && span_next(&member);) {
		if (span_is(member.key, IMAGES))
			for (struct span_walk picture = span_walk(member.value); span_next(&picture);)
				keep_picture(s, picture.value, IMAGES, true);
		/* DeepSeek requires thoughts to be sent back even if they are empty. */
		if (span_is(member.key, "reasoning_content") ? span_is(member.value, "") :
		    span_one_of(member.key, placed) == NULL && says_something(member.value) &&
		    !span_is(member.value, ""))
			joined_add(&s->kept, member.key, member.value);
	}
}

void
openai_keep_citations(struct stream *s, struct span citations)
{
	if (citations.at != NULL && says_something(citations))
		joined_set(&s->kept, span_of("\"citations\"", 11), citations);
}

void
openai_keep_call(struct block *b, struct span call)
{
	static const char *const of_call[] = { "function", "id", "index", NULL };

	for (struct span_walk member = span_walk(call); span_next(&member);) {
		struct buffer known = BUFFER_INIT;
		char *key;

		if (span_one_of(member.key, of_call) != NULL || !says_something(member.value) ||
		    (span_is(member.key, "type") && span_is(member.value, "function")))
			continue;
		/* Later pieces may repeat a member. */
		buffer_format(&known, "{%s}", buffer_string(&b->raw));
		key = span_text(member.key);
		if (span_member(span_of(known.data, known.len), key).at == NULL &&
		    !span_is(member.key, "type"))
			block_keep(b, member.key, member.value);
		free(key);
		buffer_free(&known);
		if (b->raw.len > 0)
			b->api = OPENAI;
	}
}

void
openai_take_tags(struct message *m)
{
	struct buffer text = BUFFER_INIT;
	struct block *b;
	const char *end;
	size_t i = 0, skipped, len;

	while (i < m->count && m->blocks[i].type != BLOCK_TEXT)
		i++;
	if (i == m->count)
		return;
	b = &m->blocks[i];
	skipped = strspn(buffer_string(&b->text), " \t\r\n");
	if (strncmp(buffer_string(&b->text) + skipped, TAG_BEGIN, strlen(TAG_BEGIN)) != 0)
		return;
	skipped += strlen(TAG_BEGIN);
	end = strstr(b->text.data + skipped, TAG_END);
	/* If the closing tag is missing, the whole text is a thought that was cut off. */
	len = end == NULL ? b->text.len : (size_t)(end - b->text.data);
	buffer_append(&text, b->text.data + skipped, len - skipped);
	buffer_drop(&b->text, end == NULL ? len : len + strlen(TAG_END));
	message_add(m, BLOCK_THINKING, -1);
	b = &m->blocks[m->count - 1];
	b->text = text;
	b->api = OPENAI;
	b->field = TAG_FIELD;
	message_raise(m, i);
	if (m->blocks[i + 1].text.len == 0 && m->blocks[i + 1].raw.len == 0)
		message_remove(m, i + 1);
}

/* The block whose `raw` gets the members of the message: the last thought, else the last text. */
static struct block *
openai_kept_block(struct message *m)
{
	struct block *text = NULL;

	for (size_t i = m->count; i-- > 0;) {
		struct block *b = &m->blocks[i];

		if (b->type == BLOCK_THINKING)
			return b;
		if (b->type == BLOCK_TEXT && text == NULL && b->raw.len == 0)
			text = b;
	}
	if (text != NULL)
		return text;
	/* There is neither: add an empty thought at the beginning. */
	message_add(m, BLOCK_THINKING, -1);
	message_raise(m, 0);
	return &m->blocks[0];
}

void
openai_place_kept(struct stream *s)
{
	struct message *m = &s->message;
	bool thought = false;
	struct buffer members = BUFFER_INIT;
	struct block *b;
	struct writer w;

	for (size_t i = 0; i < m->count; i++)
		thought |= m->blocks[i].type == BLOCK_THINKING && m->blocks[i].text.len > 0;
	/* Keep an empty thought only with tool calls: many servers send one with every piece. */
	if (joined_has(&s->kept, "reasoning_content") && (thought || !message_calls(m)))
		joined_drop(&s->kept, "reasoning_content");
	if (s->kept.count == 0 || m->count == 0)
		return;
	b = openai_kept_block(m);
	b->api = OPENAI;
	writer_begin(&w, &members);
	joined_write(&s->kept, &w);
	if (b->raw.len > 0)
		buffer_byte(&b->raw, ',');
	buffer_append(&b->raw, members.data, members.len);
	buffer_free(&members);
}
