/*
 * Reads answers of Google's Gemini API: a list of parts, which arrives in pieces. Consecutive texts
 * of one kind are one part; every other part arrives whole. A signature belongs to the part that it
 * came with, whatever its kind, and is sent back with it.
 */
#include <stdlib.h>
#include <string.h>

#include "api/stream.h"
#include "base/memory.h"
#include "transcript/event_keys.h"

#define API "google"
#define CODE_TOOL "code_execution" /* run by the API itself */

static void
google_read_signature(struct block *b, struct span part)
{
	span_decode(span_member(part, "thoughtSignature"), &b->signature);
	if (b->signature.len > 0)
		b->api = API;
}

static void
google_read_text(struct stream *s, struct span part, struct span text)
{
	bool thinking = span_true(span_member(part, "thought"));
	bool is_signed = span_member(part, "thoughtSignature").at != NULL;
	enum block_type type = thinking ? BLOCK_THINKING : BLOCK_TEXT;
	struct block *b;

	if (span_is(text, "") && !is_signed)
		return;
	/* Append text to the last block, unless that has a signature: then this is another part. */
	b = message_last(&s->message, type);
	if (b->raw.len > 0 || (b->signature.len > 0 && is_signed))
		b = message_add(&s->message, type, -1);
	if (thinking)
		b->api = API;
	google_read_signature(b, part);
	stream_text(s, b, thinking ? "thinking" : "text", text);
}

/* The id is kept in raw too, as AWF may have to use another one. */
static void
google_read_call(struct stream *s, struct span part, struct span call)
{
	struct span id = span_member(call, "id"), args = span_member(call, "args");
	struct block *b;

	/* Each piece would be read as a call of its own, without its arguments. */
	if (span_member(call, "partialArgs").at != NULL || span_true(span_member(call, "willContinue"))) {
		stream_error(s, ERROR_INVALID, "the API sends the arguments of calls in pieces "
		    "(partialArgs): leave out streamFunctionCallArguments");
		return;
	}
	b = message_add(&s->message, BLOCK_TOOL_USE, -1);
	text_once(&b->tool_name, span_member(call, "name"));
	if (says_something(args))
		scan_minify(args, &b->text);
	stream_call(s, b->tool_name, buffer_string(&b->text), b->text.len);
	if (span_type(id) == 's' && !span_is(id, "")) {
		text_once(&b->tool_id, id);
		block_keep_as(b, "id", id);
		b->api = API;
	}
	google_read_signature(b, part);
}

/* Reads a part that is sent back unchanged: raw has its kind as `type`, and everything that has no
 * place in the block. */
static void
google_read_special_part(struct block *b, struct span part, struct span type)
{
	bool placed = b->text.len > 0;

	block_keep_as(b, "type", type);
	for (struct span_walk member = span_walk(part); span_next(&member);)
		if (!span_is(member.key, "thoughtSignature") &&
		    !(placed && span_same(member.key, type)))
			block_keep(b, member.key, member.value);
	b->api = API;
	google_read_signature(b, part);
}

/* Reads code that the API runs, or its result. */
static void
google_read_code(struct stream *s, struct span part, struct span code, bool result)
{
	struct block *b = message_add(&s->message, result ? BLOCK_TOOL_RESULT : BLOCK_TOOL_USE, -1);

	b->ran = true;
	if (result)
		b->is_error = !span_is(span_member(code, "outcome"), "OUTCOME_OK");
	else
		b->tool_name = memory_text(CODE_TOOL);
	text_once(&b->tool_id, span_member(code, "id"));
	scan_minify(code, &b->text);
	google_read_special_part(b, part, result ? span_of("\"codeExecutionResult\"", 21) :
	    span_of("\"executableCode\"", 16));
}

static void
google_read_part(struct stream *s, struct span part)
{
	enum { TEXT, CALL, CODE, RESULT, KINDS };
	static const char *const kinds[KINDS] = { "text", "functionCall", "executableCode",
	    "codeExecutionResult" };
	struct span values[KINDS];

	span_members(part, kinds, KINDS, values);
	if (values[TEXT].at != NULL) {
		google_read_text(s, part, values[TEXT]);
	} else if (values[CALL].at != NULL) {
		google_read_call(s, part, values[CALL]);
	} else if (values[CODE].at != NULL) {
		google_read_code(s, part, values[CODE], false);
	} else if (values[RESULT].at != NULL) {
		google_read_code(s, part, values[RESULT], true);
	} else {
		/* Pictures and other parts: the kind is the name of the member that is an
		 * object. */
		for (struct span_walk member = span_walk(part); span_next(&member);)
			if (span_type(member.value) == 'o' && !span_is(member.key, "partMetadata")) {
				google_read_special_part(message_add(&s->message, BLOCK_TEXT, -1),
				    part, member.key);
				return;
			}
	}
}

/* GenerateContentResponse, Candidate.FinishReason: https://ai.google.dev/api/generate-content. An
 * answer that was stopped counts as an answer; one that the API calls malformed does not. */
static const struct end ends[] = {
	{ "STOP", "end_turn", ERROR_NONE },
	{ "MAX_TOKENS", "max_tokens", ERROR_NONE },
	{ "SAFETY", "refusal", ERROR_NONE },
	{ "RECITATION", "refusal", ERROR_NONE },
	{ "LANGUAGE", "refusal", ERROR_NONE },
	{ "BLOCKLIST", "refusal", ERROR_NONE },
	{ "PROHIBITED_CONTENT", "refusal", ERROR_NONE },
	{ "SPII", "refusal", ERROR_NONE },
	{ "FUNCTION_CALL", "tool_use", ERROR_NONE }, /* sent by servers that imitate the API */
	{ "MODEL_ARMOR", "refusal", ERROR_NONE }, /* Vertex AI */
	{ "IMAGE_SAFETY", "refusal", ERROR_NONE },
	{ "IMAGE_PROHIBITED_CONTENT", "refusal", ERROR_NONE },
	{ "IMAGE_RECITATION", "refusal", ERROR_NONE },
	{ "MALFORMED_FUNCTION_CALL", NULL, ERROR_PROVIDER },
	{ "MALFORMED_RESPONSE", NULL, ERROR_PROVIDER },
	{ "UNEXPECTED_TOOL_CALL", NULL, ERROR_PROVIDER },
	{ "TOO_MANY_TOOL_CALLS", NULL, ERROR_PROVIDER },
	{ "MISSING_THOUGHT_SIGNATURE", NULL, ERROR_INVALID },
	{ "OTHER", NULL, ERROR_CUT_OFF },
	{ "IMAGE_OTHER", NULL, ERROR_CUT_OFF },
	{ "NO_IMAGE", NULL, ERROR_CUT_OFF },
	{ NULL, NULL, ERROR_NONE }
};

/* The API counts thoughts separately, and leaves out a count of 0. Some models include thoughts in
 * the count of output tokens, which shows in the total. */
static void
google_read_usage(struct usage *u, struct span object)
{
	long long prompt = -1, said = -1, thoughts = -1, tools = -1, total = -1;
	bool included;

	number_set(&prompt, span_member(object, "promptTokenCount"));
	number_set(&tools, span_member(object, "toolUsePromptTokenCount"));
	number_set(&u->cache_read, span_member(object, "cachedContentTokenCount"));
	number_set(&said, span_member(object, "candidatesTokenCount"));
	number_set(&thoughts, span_member(object, "thoughtsTokenCount"));
	number_set(&total, span_member(object, "totalTokenCount"));
	if (prompt >= 0)
		u->input = prompt + (tools > 0 ? tools : 0);
	if (thoughts >= 0)
		u->reasoning = thoughts;
	included = said >= u->reasoning && prompt >= 0 &&
	    (total == prompt + said || total == u->input + said);
	if (said >= 0 || thoughts >= 0)
		u->output = (said > 0 ? said : 0) + (u->reasoning > 0 && !included ? u->reasoning : 0);
}

/* Token counts are totals so far. */
static void
google_read_event(struct stream *s, struct span data)
{
	static const char *const sources[] = { "groundingMetadata", "citationMetadata",
	    "urlContextMetadata" };
	struct span candidate = span_element(span_member(data, "candidates"), 0);
	struct span feedback = span_member(data, "promptFeedback");
	struct span reason = span_member(feedback, "blockReason"), content;

	text_once(&s->message.model, span_member(data, "modelVersion"));
	text_once(&s->message.request_id, span_member(data, "responseId"));
	google_read_usage(&s->message.usage, span_member(data, "usageMetadata"));
	if (span_type(reason) == 's') { /* the prompt is refused */
		char *word = span_text(reason);
		char *why = span_text(span_member(feedback, "blockReasonMessage"));

		stream_error(s, ERROR_REFUSED, "%s%s%s", word, why == NULL ? "" : ": ",
		    why == NULL ? "" : why);
		free(word);
		free(why);
		return;
	}
	if (candidate.at == NULL && span_member(data, "usageMetadata").at == NULL &&
	    feedback.at == NULL)
		stream_strange(s, data);
	content = span_path(candidate, "content", "parts", NULL);
	for (struct span_walk part = span_walk(content); span_next(&part);)
		google_read_part(s, part.value);
	/* Keep the sources of the answer, which are for its reader, with its last text. */
	for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
		struct span value = span_member(candidate, sources[i]);
		struct span_walk first = span_walk(value);
		struct block *b;

		if (!span_next(&first))
			continue;
		b = message_find(&s->message, BLOCK_TEXT, -1);
		if (b == NULL)
			b = message_add(&s->message, BLOCK_TEXT, -1);
		b->api = API;
		buffer_format(&b->citations, "%s{\"%s\":", b->citations.len > 0 ? "," : "",
		    sources[i]);
		scan_minify(value, &b->citations);
		buffer_byte(&b->citations, '}');
	}
	reason = span_member(candidate, "finishReason");
	if (span_type(reason) == 's')
		stream_end(s, ends, reason, span_member(candidate, "finishMessage"));
}

/* The answer is complete only if there is a finish reason; more events may follow it. */
static void
google_finish_message(struct stream *s)
{
	struct message *m = &s->message;
	const char *id = NULL;

	m->ended = m->stop_reason != NULL;
	for (size_t i = 0; i < m->count; i++)
		if (m->blocks[i].type == BLOCK_TOOL_USE && !m->blocks[i].ran)
			block_repair_input(&m->blocks[i]);
	message_settle(m, s->messages);
	/* Calls that the API ran have ids only in newer versions; a result belongs to the call
	 * before it. */
	for (size_t i = 0; i < m->count; i++) {
		struct block *b = &m->blocks[i];

		if (b->type == BLOCK_TOOL_USE && b->ran)
			id = b->tool_id;
		if (b->type == BLOCK_TOOL_RESULT && b->tool_id == NULL && id != NULL)
			b->tool_id = memory_text(id);
	}
}

/* Without event framing, the answer is an array of the objects that events would contain. */
static void
google_read_body(struct stream *s, struct span body)
{
	if (span_type(body) != 'a')
		google_read_event(s, body);
	for (struct span_walk piece = span_walk(body);
	    span_type(body) == 'a' && !s->failed && span_next(&piece);)
		google_read_event(s, piece.value);
}

const struct stream_api google_stream = {
	.name = API,
	.event = google_read_event,
	.body = google_read_body,
	.finish = google_finish_message
};
