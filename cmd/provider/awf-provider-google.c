/*
 * The Gemini API of Google, streaming. An answer is a row of parts, in pieces: texts
 * of a kind that follow each other are one part, everything else comes whole. What
 * kinds there are stands in one table for each direction.
 *
 * A signature belongs to the part that it came with and goes back there, whatever
 * the part is; newer models take no conversation in which a call has lost its own.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "pass.h"
#include "stream.h"
#include "thinking.h"

#define API "google"
#define CODE_TOOL "code_execution" /* what the API runs itself */
/* Instead of the signature of a call that another model made. */
#define NO_SIGNATURE "skip_thought_signature_validator"

static const char usage[] =
"awf-provider-google < requests\n"
"\n"
"Speaks to the Gemini API for awf-step: one request per line on stdin, answers on\n"
"stdout, see awf-provider(7). The key is read from GEMINI_API_KEY, else from\n"
"GOOGLE_API_KEY, another server's URL from GEMINI_BASE_URL.";

/* What the events say. */

static void
take_signature(struct block *b, struct span part)
{
	span_decode(span_member(part, "thoughtSignature"), &b->signature);
	if (b->signature.len > 0)
		b->api = API;
}

/* Whether text goes on in a block: a part has one signature. */
static bool
is_same_part(const struct block *b, struct span part)
{
	return b->raw.len == 0 &&
	    (b->signature.len == 0 || span_member(part, "thoughtSignature").at == NULL);
}

static void
take_text(struct stream *s, struct span part, struct span text)
{
	bool thinking = span_true(span_member(part, "thought"));
	enum block_type type = thinking ? BLOCK_THINKING : BLOCK_TEXT;
	struct block *b;

	if (span_is(text, "") && span_member(part, "thoughtSignature").at == NULL)
		return;
	b = message_last(&s->message, type);
	if (!is_same_part(b, part))
		b = message_add(&s->message, type, -1);
	if (thinking)
		b->api = API;
	take_signature(b, part);
	stream_text(s, b, thinking ? "thinking" : "text", text);
}

/* The id goes into raw too: ours may have to be another one. */
static void
take_call(struct stream *s, struct span part, struct span call)
{
	struct span id = span_member(call, "id"), args = span_member(call, "args");
	struct block *b;

	/* Each piece would be a call of its own, without its arguments. */
	if (span_member(call, "partialArgs").at != NULL || span_true(span_member(call, "willContinue"))) {
		stream_error(s, ERROR_INVALID, "the API sends the arguments of calls in pieces "
		    "(partialArgs): leave out streamFunctionCallArguments");
		return;
	}
	b = message_add(&s->message, BLOCK_TOOL_USE, -1);
	text_once(&b->tool_name, span_member(call, "name"));
	if (says_something(args))
		scan_minify(args, &b->text);
	if (span_type(id) == 's' && !span_is(id, "")) {
		text_once(&b->tool_id, id);
		block_keep_as(b, "id", id);
		b->api = API;
	}
	take_signature(b, part);
}

/* A part that goes back as it came: raw has its kind as `type`, and all of it that has
 * no place in the block. */
static void
take_special(struct block *b, struct span part, struct span type)
{
	bool placed = b->text.len > 0;

	block_keep(b, span_of("\"type\"", 6), type);
	for (struct span_walk member = span_walk(part); span_next(&member);)
		if (!span_is(member.key, "thoughtSignature") &&
		    !(placed && member.key.len == type.len &&
		    memcmp(member.key.at, type.at, type.len) == 0))
			block_keep(b, member.key, member.value);
	b->api = API;
	take_signature(b, part);
}

static void
take_code(struct stream *s, struct span part, struct span code)
{
	struct block *b = message_add(&s->message, BLOCK_TOOL_USE, -1);

	b->ran = true;
	b->tool_name = memory_text(CODE_TOOL);
	text_once(&b->tool_id, span_member(code, "id"));
	scan_minify(code, &b->text);
	take_special(b, part, span_of("\"executableCode\"", 16));
}

static void
take_code_result(struct stream *s, struct span part, struct span result)
{
	struct block *b = message_add(&s->message, BLOCK_TOOL_RESULT, -1);

	b->ran = true;
	b->is_error = !span_is(span_member(result, "outcome"), "OUTCOME_OK");
	text_once(&b->tool_id, span_member(result, "id"));
	scan_minify(result, &b->text);
	take_special(b, part, span_of("\"codeExecutionResult\"", 21));
}

static const struct {
	const char *member;
	void (*take)(struct stream *s, struct span part, struct span value);
} parts[] = {
	{ "text", take_text },
	{ "functionCall", take_call },
	{ "executableCode", take_code },
	{ "codeExecutionResult", take_code_result }
};

/* Pictures and what else there may be: the kind is the member that is an object. */
static void
take_other(struct stream *s, struct span part)
{
	for (struct span_walk member = span_walk(part); span_next(&member);)
		if (span_type(member.value) == 'o' && !span_is(member.key, "partMetadata")) {
			take_special(message_add(&s->message, BLOCK_TEXT, -1), part, member.key);
			return;
		}
}

static void
take_part(struct stream *s, struct span part)
{
	struct span value;
	size_t i;

	for (i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		value = span_member(part, parts[i].member);
		if (value.at != NULL) {
			parts[i].take(s, part, value);
			return;
		}
	}
	take_other(s, part);
}

/* What an answer rests on, for whoever reads it: kept with its last text. */
static void
take_sources(struct stream *s, struct span candidate)
{
	static const char *const members[] = { "groundingMetadata", "citationMetadata",
	    "urlContextMetadata" };
	struct span value;
	struct span_walk first;
	struct block *b;
	size_t i;

	for (i = 0; i < sizeof members / sizeof members[0]; i++) {
		value = span_member(candidate, members[i]);
		first = span_walk(value);
		if (!span_next(&first))
			continue;
		b = message_find(&s->message, BLOCK_TEXT, -1);
		if (b == NULL)
			b = message_add(&s->message, BLOCK_TEXT, -1);
		b->api = API;
		buffer_format(&b->citations, "%s{\"%s\":", b->citations.len > 0 ? "," : "", members[i]);
		scan_minify(value, &b->citations);
		buffer_byte(&b->citations, '}');
	}
}

/* GenerateContentResponse, Candidate.FinishReason: https://ai.google.dev/api/generate-content.
 * An answer that was stopped is one, what the API itself calls broken is none. */
static const struct end ends[] = {
	{ "STOP", "end_turn", ERROR_NONE },
	{ "MAX_TOKENS", "max_tokens", ERROR_NONE },
	{ "SAFETY", "refusal", ERROR_NONE },
	{ "RECITATION", "refusal", ERROR_NONE },
	{ "LANGUAGE", "refusal", ERROR_NONE },
	{ "BLOCKLIST", "refusal", ERROR_NONE },
	{ "PROHIBITED_CONTENT", "refusal", ERROR_NONE },
	{ "SPII", "refusal", ERROR_NONE },
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

/* The API counts thoughts apart; a count of 0 it leaves out. */
static void
take_usage(struct usage *u, struct span object)
{
	long long prompt = -1, said = -1, thoughts = -1, tools = -1;

	number_set(&prompt, span_member(object, "promptTokenCount"));
	number_set(&tools, span_member(object, "toolUsePromptTokenCount"));
	number_set(&u->cache_read, span_member(object, "cachedContentTokenCount"));
	number_set(&said, span_member(object, "candidatesTokenCount"));
	number_set(&thoughts, span_member(object, "thoughtsTokenCount"));
	if (prompt >= 0)
		u->input = prompt + (tools > 0 ? tools : 0);
	if (thoughts >= 0)
		u->reasoning = thoughts;
	if (said >= 0 || thoughts >= 0)
		u->output = (said > 0 ? said : 0) + (u->reasoning > 0 ? u->reasoning : 0);
}

/* Numbers are totals so far. */
static void
take_event(struct stream *s, struct span data)
{
	struct span candidate = span_element(span_member(data, "candidates"), 0);
	struct span feedback = span_member(data, "promptFeedback");
	struct span reason = span_member(feedback, "blockReason"), content;

	text_once(&s->message.model, span_member(data, "modelVersion"));
	text_once(&s->message.request_id, span_member(data, "responseId"));
	take_usage(&s->message.usage, span_member(data, "usageMetadata"));
	if (span_type(reason) == 's') { /* it takes no prompt like this */
		char *word = span_text(reason);
		char *why = span_text(span_member(feedback, "blockReasonMessage"));

		stream_error(s, ERROR_REFUSED, "%s%s%s", word, why == NULL ? "" : ": ",
		    why == NULL ? "" : why);
		free(word);
		free(why);
		return;
	}
	content = span_path(candidate, "content", "parts", NULL);
	for (struct span_walk part = span_walk(content); span_next(&part);)
		take_part(s, part.value);
	take_sources(s, candidate);
	reason = span_member(candidate, "finishReason");
	if (span_type(reason) == 's')
		stream_end(s, ends, reason, span_member(candidate, "finishMessage"));
}

/* What the API ran has ids only of late; results are for the run before. */
static void
name_results(struct message *m)
{
	const char *id = NULL;
	size_t i;

	for (i = 0; i < m->count; i++) {
		struct block *b = &m->blocks[i];

		if (b->type == BLOCK_TOOL_USE && b->ran)
			id = b->tool_id;
		if (b->type == BLOCK_TOOL_RESULT && b->tool_id == NULL && id != NULL)
			b->tool_id = memory_text(id);
	}
}

/* A reason to finish is all that says that the answer is whole; more may follow it. */
static void
finish(struct stream *s)
{
	struct message *m = &s->message;

	m->ended = m->stop_reason != NULL;
	message_settle(m, s->request->messages);
	name_results(m);
}

/* How a request is written. */

/* The conversation while it is written: results name the tool of their call. */
struct conversation {
	struct writer *w;
	bool signs;          /* calls need a signature */
	bool signed_call;    /* one of this message had its turn */
	struct map calls;    /* tool_id, as it stands: index of its block in these */
	struct span *blocks;
	size_t count;
};

/* Models before Gemini 3 think by numbers of tokens, need no signatures, and do not
 * answer by a schema if they have tools. */
static bool
is_older_model(const struct stream *s)
{
	static const char *const older[] = { "gemini-1*", "gemini-2*", NULL };

	return stream_model(s->request->model, older);
}

static void
write_signature(struct writer *w, struct span block)
{
	if (stream_own(block, API))
		pass_member(w, "thoughtSignature", span_member(block, "signature"));
}

static void
write_text(struct conversation *c, struct span block)
{
	pass_member(c->w, "text", span_member(block, "text"));
	write_signature(c->w, block);
}

static void
write_thought(struct conversation *c, struct span block)
{
	pass_member(c->w, "text", span_member(block, "thinking"));
	writer_member_bool(c->w, "thought", true);
	write_signature(c->w, block);
}

/* The id that the API gave a call, if it did. */
static struct span
own_id(struct span call)
{
	return stream_own(call, API) ? span_path(call, "raw", "id", NULL) : SPAN_NONE;
}

/* Of calls in a row the first one has the signature. */
static void
write_call(struct conversation *c, struct span block)
{
	bool own = stream_own(block, API) && span_member(block, "signature").at != NULL;
	struct span id = span_member(block, "tool_id");

	writer_member_object(c->w, "functionCall");
	pass_member(c->w, "id", own_id(block));
	pass_member(c->w, "name", span_member(block, "tool_name"));
	pass_input(c->w, "args", span_member(block, "tool_input"));
	writer_object_end(c->w);
	if (own)
		write_signature(c->w, block);
	else if (c->signs && !c->signed_call)
		writer_member_string(c->w, "thoughtSignature", NO_SIGNATURE);
	c->signed_call = true;
	c->blocks = memory_array(c->blocks, c->count + 1, sizeof *c->blocks);
	c->blocks[c->count] = block;
	map_put(&c->calls, id.at, id.len, c->count++);
}

/* A result is an object whose one member says what it is. */
static void
write_result(struct conversation *c, struct span block)
{
	struct span id = span_member(block, "tool_id"), content = span_member(block, "tool_content");
	const size_t *index = map_get(&c->calls, id.at, id.len);
	struct span call = index == NULL ? SPAN_NONE : c->blocks[*index];
	bool error = span_true(span_member(block, "is_error"));

	writer_member_object(c->w, "functionResponse");
	pass_member(c->w, "id", own_id(call));
	pass_member(c->w, "name", index == NULL ? id : span_member(call, "tool_name"));
	writer_member_object(c->w, "response");
	pass_member(c->w, error ? "error" : "output", content);
	writer_object_end(c->w);
	writer_object_end(c->w);
}

static void
write_attachment(struct conversation *c, struct span block)
{
	writer_member_object(c->w, "inlineData");
	pass_member(c->w, "mimeType", span_member(block, "media_type"));
	pass_member(c->w, "data", span_member(block, "data"));
	writer_object_end(c->w);
}

static const struct kind {
	const char *type;
	const char *content; /* the member that has what the API ran */
	void (*write)(struct conversation *c, struct span block);
} kinds[] = {
	{ "text", NULL, write_text },
	{ "thinking", NULL, write_thought },
	{ "tool_use", "tool_input", write_call },
	{ "tool_result", "tool_content", write_result },
	{ "image", NULL, write_attachment },
	{ "document", NULL, write_attachment }
};

static const struct kind *
kind_of(struct span block)
{
	struct span type = span_member(block, "type");
	size_t i;

	for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (span_is(type, kinds[i].type))
			return &kinds[i];
	return NULL;
}

/* Nothing is sent of thoughts of others, and of texts that say nothing. */
static bool
is_sendable(struct span block)
{
	const struct kind *kind = kind_of(block);
	bool own = stream_own(block, API);

	if (kind == NULL || stream_foreign(block, API))
		return false;
	if (kind->write == write_thought)
		return own;
	return kind->write != write_text || !span_is(span_member(block, "text"), "") ||
	    (own && (span_member(block, "signature").at != NULL ||
	    stream_own_type(block).at != NULL));
}

/* A part that came in a way of its own: what stands in raw, and the content of what
 * the API ran, under its kind. */
static void
write_special(struct writer *w, const struct kind *kind, struct span block)
{
	static const char *const ours[] = { "type", "citations", NULL };
	struct span raw = span_member(block, "raw");

	if (kind->content != NULL)
		pass_raw(w, span_member(raw, "type"), span_member(block, kind->content));
	pass_others(w, raw, ours);
	write_signature(w, block);
}

static void
write_part(struct conversation *c, struct span block)
{
	const struct kind *kind = kind_of(block);

	writer_object(c->w);
	if (span_type(stream_own_type(block)) == 's')
		write_special(c->w, kind, block);
	else
		kind->write(c, block);
	writer_object_end(c->w);
}

/* The role waits for a part: the API refuses messages without any. */
static void
write_content(struct conversation *c, struct span message)
{
	bool model = span_is(span_member(message, "role"), "assistant");
	bool begun = false;

	c->signed_call = false;
	for (struct span_walk block = span_walk(span_member(message, "blocks")); span_next(&block);) {
		if (!is_sendable(block.value))
			continue;
		if (!begun) {
			writer_object(c->w);
			writer_member_string(c->w, "role", model ? "model" : "user");
			writer_member_array(c->w, "parts");
			begun = true;
		}
		write_part(c, block.value);
	}
	if (begun) {
		writer_array_end(c->w);
		writer_object_end(c->w);
	}
}

static void
write_contents(const struct stream *s, struct writer *w)
{
	struct conversation c = { .w = w, .signs = !is_older_model(s), .calls = MAP_INIT };

	writer_member_array(w, "contents");
	for (struct span_walk message = span_walk(s->request->messages); span_next(&message);)
		write_content(&c, message.value);
	writer_array_end(w);
	map_free(&c.calls);
	free(c.blocks);
}

static void
write_system(struct writer *w, struct span system)
{
	if (system.at == NULL || span_is(system, ""))
		return;
	writer_member_object(w, "systemInstruction");
	writer_member_array(w, "parts");
	writer_object(w);
	pass_member(w, "text", system);
	writer_object_end(w);
	writer_array_end(w);
	writer_object_end(w);
}

static void
write_tools(struct writer *w, struct span tools)
{
	if (span_element(tools, 0).at == NULL)
		return;
	writer_member_array(w, "tools");
	writer_object(w);
	writer_member_array(w, "functionDeclarations");
	for (struct span_walk tool = span_walk(tools); span_next(&tool);) {
		writer_object(w);
		pass_tool(w, tool.value, "parametersJsonSchema");
		writer_object_end(w);
	}
	writer_array_end(w);
	writer_object_end(w);
	writer_array_end(w);
}

/* `true` leaves it to the model how much; an effort is LOW, MEDIUM … Of the models that think
 * unless told otherwise, few can be told. */
static void
write_thinking(const struct stream *s, struct writer *w, struct span thinking)
{
	static const char *const silenced[] = { "gemini-2.5-flash*", NULL };
	bool older = is_older_model(s);
	char type = span_type(thinking);
	bool none = type != 's' && thinking_budget(thinking) == 0;

	if (type == 'o') {
		pass_member(w, "thinkingConfig", thinking);
		return;
	}
	if (none && !stream_model(s->request->model, silenced))
		return;
	writer_member_object(w, "thinkingConfig");
	if (!none)
		writer_member_bool(w, "includeThoughts", true);
	if (none) {
		writer_member_integer(w, "thinkingBudget", 0);
	} else if (type == 's' && !older) {
		char *level = span_text(thinking);

		for (char *at = level; *at != '\0'; at++)
			*at = (char)toupper((unsigned char)*at);
		writer_member_string(w, "thinkingLevel", level);
		free(level);
	} else if (type != 't' || older) {
		writer_member_integer(w, "thinkingBudget", type == 't' ? -1 : thinking_budget(thinking));
	}
	writer_object_end(w);
}

static const struct {
	const char *ours, *theirs;
} param_names[] = {
	{ "max_tokens", "maxOutputTokens" },
	{ "top_p", "topP" },
	{ "stop_sequences", "stopSequences" }
};

/* Members of the request itself; all others are of its generationConfig. */
static const char *const outer_params[] = { "cachedContent", "labels", "safetySettings",
    "serviceTier", "toolConfig", NULL };

static void
write_config_param(const struct stream *s, struct writer *w, struct span key, struct span value)
{
	size_t i;

	if (span_is(key, "cache"))
		return; /* the API caches by itself */
	if (span_is(key, "thinking")) {
		write_thinking(s, w, value);
		return;
	}
	for (i = 0; i < sizeof param_names / sizeof param_names[0]; i++)
		if (span_is(key, param_names[i].ours)) {
			pass_member(w, param_names[i].theirs, value);
			return;
		}
	pass_raw(w, key, value);
}

/* The API passes over the parts of a schema that it does not know. */
static void
write_output_schema(const struct stream *s, struct writer *w)
{
	struct span schema = s->request->output_schema;

	if (schema.at == NULL || span_member(s->request->params, "responseMimeType").at != NULL ||
	    (is_older_model(s) && span_element(s->request->tools, 0).at != NULL))
		return;
	writer_member_string(w, "responseMimeType", "application/json");
	pass_member(w, "responseJsonSchema", schema);
}

static void
write_params(const struct stream *s, struct writer *w)
{
	struct buffer config = BUFFER_INIT;
	struct writer inner;

	writer_begin(&inner, &config);
	writer_object(&inner);
	for (struct span_walk member = span_walk(s->request->params); span_next(&member);) {
		if (span_one_of(member.key, outer_params) != NULL)
			pass_raw(w, member.key, member.value);
		else
			write_config_param(s, &inner, member.key, member.value);
	}
	write_output_schema(s, &inner);
	writer_object_end(&inner);
	if (config.len > 2)
		writer_member_buffer(w, "generationConfig", &config);
	buffer_free(&config);
}

static void
write_body(const struct stream *s, struct writer *w)
{
	writer_object(w);
	write_system(w, s->request->system);
	write_params(s, w);
	write_tools(w, s->request->tools);
	write_contents(s, w);
	writer_object_end(w);
}

/* A name may say its collection; what else is in it is no part of the path. */
static void
write_model_path(const struct stream *s, struct buffer *url)
{
	static const char *const collections[] = { "models/", "tunedModels/" };
	char *model = span_text(s->request->model);
	const char *name = model, *collection = collections[0];
	size_t i;

	for (i = 0; i < sizeof collections / sizeof collections[0]; i++)
		if (strncmp(model, collections[i], strlen(collections[i])) == 0) {
			collection = collections[i];
			name = model + strlen(collection);
		}
	buffer_format(url, "/v1beta/%s", collection);
	for (; *name != '\0'; name++) {
		if (isalnum((unsigned char)*name) || strchr("-._~", *name) != NULL)
			buffer_byte(url, *name);
		else
			buffer_format(url, "%%%02X", (unsigned)(unsigned char)*name);
	}
	buffer_text(url, ":streamGenerateContent?alt=sse");
	free(model);
}

int
main(int argc, char **argv)
{
	static const char *const media_types[] = { "image/png", "image/jpeg", "image/webp",
	    "image/heic", "image/heif", "application/pdf", NULL };
	static const struct stream_api api = {
		.program = "awf-provider-google",
		.usage = usage,
		.base_variable = "GEMINI_BASE_URL",
		.base_default = "https://generativelanguage.googleapis.com",
		.key_variable = "GEMINI_API_KEY",
		.key_header = "x-goog-api-key: ",
		.key_fallback = "GOOGLE_API_KEY",
		.media_types = media_types,
		.model_path = write_model_path,
		.body = write_body,
		.event = take_event,
		.finish = finish
	};

	return stream_main(&api, argc, argv);
}
