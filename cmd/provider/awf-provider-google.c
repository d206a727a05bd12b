/*
 * The Gemini API of Google, streaming. An answer is a row of parts, in pieces: texts
 * of a kind that follow each other are one part, everything else comes whole.
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
#include "transcript/event_keys.h"

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

static void
take_text(struct stream *s, struct span part, struct span text)
{
	bool thinking = span_true(span_member(part, "thought"));
	bool is_signed = span_member(part, "thoughtSignature").at != NULL;
	enum block_type type = thinking ? BLOCK_THINKING : BLOCK_TEXT;
	struct block *b;

	if (span_is(text, "") && !is_signed)
		return;
	/* Text goes on in a block unless that has a signature: a part has one. */
	b = message_last(&s->message, type);
	if (b->raw.len > 0 || (b->signature.len > 0 && is_signed))
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
	stream_call(s, b->tool_name, buffer_string(&b->text), b->text.len);
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

	block_keep_as(b, "type", type);
	for (struct span_walk member = span_walk(part); span_next(&member);)
		if (!span_is(member.key, "thoughtSignature") &&
		    !(placed && member.key.len == type.len &&
		    memcmp(member.key.at, type.at, type.len) == 0))
			block_keep(b, member.key, member.value);
	b->api = API;
	take_signature(b, part);
}

/* Code that the API runs, or what came of it. */
static void
take_code(struct stream *s, struct span part, struct span code, bool result)
{
	struct block *b = message_add(&s->message, result ? BLOCK_TOOL_RESULT : BLOCK_TOOL_USE, -1);

	b->ran = true;
	if (result)
		b->is_error = !span_is(span_member(code, "outcome"), "OUTCOME_OK");
	else
		b->tool_name = memory_text(CODE_TOOL);
	text_once(&b->tool_id, span_member(code, "id"));
	scan_minify(code, &b->text);
	take_special(b, part, result ? span_of("\"codeExecutionResult\"", 21) :
	    span_of("\"executableCode\"", 16));
}

static void
take_part(struct stream *s, struct span part)
{
	enum { TEXT, CALL, CODE, RESULT, KINDS };
	static const char *const kinds[KINDS] = { "text", "functionCall", "executableCode",
	    "codeExecutionResult" };
	struct span values[KINDS];

	span_members(part, kinds, KINDS, values);
	if (values[TEXT].at != NULL) {
		take_text(s, part, values[TEXT]);
	} else if (values[CALL].at != NULL) {
		take_call(s, part, values[CALL]);
	} else if (values[CODE].at != NULL) {
		take_code(s, part, values[CODE], false);
	} else if (values[RESULT].at != NULL) {
		take_code(s, part, values[RESULT], true);
	} else {
		/* Pictures and what else there may be: the kind is the member that is an object. */
		for (struct span_walk member = span_walk(part); span_next(&member);)
			if (span_type(member.value) == 'o' && !span_is(member.key, "partMetadata")) {
				take_special(message_add(&s->message, BLOCK_TEXT, -1), part, member.key);
				return;
			}
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
	static const char *const sources[] = { "groundingMetadata", "citationMetadata",
	    "urlContextMetadata" };
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
	/* What the answer rests on, for whoever reads it: kept with its last text. */
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

/* A reason to finish is all that says that the answer is whole; more may follow it. */
static void
finish(struct stream *s)
{
	struct message *m = &s->message;
	const char *id = NULL;

	m->ended = m->stop_reason != NULL;
	message_settle(m, s->request->messages);
	/* What the API ran has ids only of late; results are for the run before. */
	for (size_t i = 0; i < m->count; i++) {
		struct block *b = &m->blocks[i];

		if (b->type == BLOCK_TOOL_USE && b->ran)
			id = b->tool_id;
		if (b->type == BLOCK_TOOL_RESULT && b->tool_id == NULL && id != NULL)
			b->tool_id = memory_text(id);
	}
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

/* Of files that the API takes. */
static const char *const media_types[] = { "image/png", "image/jpeg", "image/webp", "image/heic",
	"image/heif", "application/pdf", NULL };

static void
write_signature(struct writer *w, struct span block)
{
	if (stream_own(block, API))
		pass_of(w, "thoughtSignature", block, KEY_SIGNATURE);
}

/* Whether a block of a request is sent: thoughts of others are not, nor texts that say nothing. */
static bool
is_sent(struct span block)
{
	static const char *const types[] = { "text", "thinking", "tool_use", "tool_result", "image",
	    "document", NULL };
	bool own = stream_own(block, API);

	if (span_one_of(span_member(block, KEY_TYPE), types) == NULL || stream_foreign(block, API))
		return false;
	if (stream_type(block, "thinking"))
		return own;
	return !stream_type(block, "text") || !span_is(span_member(block, KEY_TEXT), "") ||
	    (own && (span_member(block, KEY_SIGNATURE).at != NULL ||
	    stream_own_type(block).at != NULL));
}

static void
write_bytes(struct conversation *c, struct span block)
{
	writer_member_object(c->w, "inlineData");
	pass_of(c->w, "mimeType", block, KEY_MEDIA_TYPE);
	pass_of(c->w, "data", block, KEY_DATA);
	writer_object_end(c->w);
}

/* The files of a tool's result, as parts; key NULL: into the list that is open. */
static void
write_files(struct conversation *c, struct span result, const char *key)
{
	bool begun = key == NULL;

	for (struct span_walk x = span_walk(pass_result_blocks(result)); span_next(&x);) {
		if (!pass_is_file(x.value, media_types))
			continue;
		if (!begun)
			writer_member_array(c->w, key);
		begun = true;
		writer_object(c->w);
		write_bytes(c, x.value);
		writer_object_end(c->w);
	}
	if (begun && key != NULL)
		writer_array_end(c->w);
}

static void
write_part(struct conversation *c, struct span block)
{
	static const char *const ours[] = { "type", "citations", NULL };
	struct span type = stream_own_type(block);
	bool call = stream_type(block, "tool_use"), result = stream_type(block, "tool_result");

	writer_object(c->w);
	if (span_type(type) == 's') {
		/* One that came in a way of its own: what stands in raw, and the content of what the
		 * API ran, under its kind. */
		if (call || result)
			pass_raw(c->w, type, span_member(block, call ? KEY_TOOL_INPUT : KEY_TOOL_CONTENT));
		pass_others(c->w, span_member(block, KEY_RAW), ours);
		write_signature(c->w, block);
	} else if (call) {
		bool own = stream_own(block, API) && span_member(block, KEY_SIGNATURE).at != NULL;
		struct span id = span_member(block, KEY_TOOL_ID);

		writer_member_object(c->w, "functionCall");
		pass_member(c->w, "id", stream_own_raw(block, API, "id"));
		pass_of(c->w, "name", block, KEY_TOOL_NAME);
		pass_input(c->w, "args", span_member(block, KEY_TOOL_INPUT));
		writer_object_end(c->w);
		/* Of calls in a row the first one has the signature. */
		if (own)
			write_signature(c->w, block);
		else if (c->signs && !c->signed_call)
			writer_member_string(c->w, "thoughtSignature", NO_SIGNATURE);
		c->signed_call = true;
		c->blocks = memory_array(c->blocks, c->count + 1, sizeof *c->blocks);
		c->blocks[c->count] = block;
		map_put(&c->calls, id.at, id.len, c->count++);
	} else if (result) {
		struct span id = span_member(block, KEY_TOOL_ID);
		const size_t *index = map_get(&c->calls, id.at, id.len);
		struct span made = index == NULL || c->blocks == NULL ? SPAN_NONE : c->blocks[*index];
		bool error = span_true(span_member(block, KEY_IS_ERROR));

		writer_member_object(c->w, "functionResponse");
		pass_member(c->w, "id", stream_own_raw(made, API, "id"));
		pass_member(c->w, "name", index == NULL ? id : span_member(made, KEY_TOOL_NAME));
		/* A result is an object whose one member says what it is. */
		writer_member_object(c->w, "response");
		pass_of(c->w, error ? "error" : "output", block, KEY_TOOL_CONTENT);
		writer_object_end(c->w);
		if (c->signs) /* Gemini 3 and later take files within a response */
			write_files(c, block, "parts");
		writer_object_end(c->w);
	} else if (stream_type(block, "text")) {
		pass_of(c->w, "text", block, KEY_TEXT);
		write_signature(c->w, block);
	} else if (stream_type(block, "thinking")) {
		pass_of(c->w, "text", block, KEY_THINKING);
		writer_member_bool(c->w, "thought", true);
		write_signature(c->w, block);
	} else {
		write_bytes(c, block);
	}
	writer_object_end(c->w);
}

static void
write_contents(const struct stream *s, struct writer *w)
{
	struct conversation c = { .w = w, .signs = !is_older_model(s), .calls = MAP_INIT };

	writer_member_array(w, "contents");
	for (struct span_walk message = span_walk(s->request->messages); span_next(&message);) {
		bool model = span_is(span_member(message.value, KEY_ROLE), "assistant");
		struct span blocks = span_member(message.value, KEY_BLOCKS);
		bool begun = false;

		/* The role waits for a part: the API refuses messages without any. */
		c.signed_call = false;
		for (struct span_walk block = span_walk(blocks); span_next(&block);) {
			if (!is_sent(block.value))
				continue;
			if (!begun) {
				writer_object(w);
				writer_member_string(w, "role", model ? "model" : "user");
				writer_member_array(w, "parts");
				begun = true;
			}
			write_part(&c, block.value);
		}
		/* Older models take files beside the responses alone. */
		for (struct span_walk block = span_walk(blocks); begun && !c.signs && span_next(&block);)
			write_files(&c, block.value, NULL);
		if (begun) {
			writer_array_end(w);
			writer_object_end(w);
		}
	}
	writer_array_end(w);
	map_free(&c.calls);
	free(c.blocks);
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

static void
write_params(const struct stream *s, struct writer *w)
{
	/* Members of the request itself; all others are of its generationConfig. */
	static const char *const outer[] = { "cachedContent", "labels", "safetySettings",
	    "serviceTier", "toolConfig", NULL };
	struct span schema = s->request->output_schema;
	struct buffer config = BUFFER_INIT;
	struct writer inner;

	writer_begin(&inner, &config);
	writer_object(&inner);
	for (struct span_walk param = span_walk(s->request->params); span_next(&param);) {
		if (span_one_of(param.key, outer) != NULL)
			pass_raw(w, param.key, param.value);
		else if (span_is(param.key, "thinking"))
			write_thinking(s, &inner, param.value);
		else if (span_is(param.key, "max_tokens"))
			pass_member(&inner, "maxOutputTokens", param.value);
		else if (span_is(param.key, "top_p"))
			pass_member(&inner, "topP", param.value);
		else if (span_is(param.key, "stop_sequences"))
			pass_member(&inner, "stopSequences", param.value);
		else if (!span_is(param.key, "cache")) /* the API caches by itself */
			pass_raw(&inner, param.key, param.value);
	}
	/* The API passes over the parts of a schema that it does not know. */
	if (schema.at != NULL && span_member(s->request->params, "responseMimeType").at == NULL &&
	    !(is_older_model(s) && span_element(s->request->tools, 0).at != NULL)) {
		writer_member_string(&inner, "responseMimeType", "application/json");
		pass_member(&inner, "responseJsonSchema", schema);
	}
	writer_object_end(&inner);
	if (config.len > 2)
		writer_member_buffer(w, "generationConfig", &config);
	buffer_free(&config);
}

static void
write_body(const struct stream *s, struct writer *w)
{
	struct span system = s->request->system;

	writer_object(w);
	if (system.at != NULL && !span_is(system, "")) {
		writer_member_object(w, "systemInstruction");
		writer_member_array(w, "parts");
		writer_object(w);
		pass_member(w, "text", system);
		writer_object_end(w);
		writer_array_end(w);
		writer_object_end(w);
	}
	write_params(s, w);
	if (span_element(s->request->tools, 0).at != NULL) {
		writer_member_array(w, "tools");
		writer_object(w);
		writer_member_array(w, "functionDeclarations");
		for (struct span_walk tool = span_walk(s->request->tools); span_next(&tool);) {
			writer_object(w);
			pass_tool(w, tool.value, "parametersJsonSchema");
			writer_object_end(w);
		}
		writer_array_end(w);
		writer_object_end(w);
		writer_array_end(w);
	}
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
	static const struct stream_api api = {
		.program = "awf-provider-google",
		.usage = usage,
		.base = "https://generativelanguage.googleapis.com",
		.key_header = "x-goog-api-key: ",
		.media_types = media_types,
		.model_path = write_model_path,
		.body = write_body,
		.event = take_event,
		.finish = finish
	};

	return stream_main(&api, argc, argv);
}
