/*
 * Google's Gemini API, streaming: how a request is written. A signature is sent back with the part
 * with which it came (api/google.c); newer models refuse a conversation in which a call has lost
 * its own.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "exchange.h"
#include "pass.h"
#include "strict.h"
#include "transcript/event_keys.h"

#define API "google"
/* In place of the signature, for a call of another model. */
#define NO_SIGNATURE "skip_thought_signature_validator"

static const char usage[] =
"awf-provider-google < requests\n"
"\n"
"Speaks to the Gemini API for awf-step: one request per line on stdin, answers on\n"
"stdout, see awf-provider(7). The key is read from GEMINI_API_KEY, else from\n"
"GOOGLE_API_KEY, another server's URL from GEMINI_BASE_URL.";

/* The conversation while it is written: a result must name the tool of its call. */
struct conversation {
	struct writer *w;
	bool signs;          /* calls need a signature */
	bool signed_call;    /* a call of this message was written */
	struct map calls;    /* tool_id, as in the text: index of its block in these */
	struct span *blocks;
	size_t count;
};

/* Whether the model is older than Gemini 3: such models take a number of tokens for thinking,
 * need no signatures, and cannot match a schema if they have tools. */
static bool
is_older_model(const struct exchange *x)
{
	static const char *const older[] = { "gemini-1*", "gemini-2*", NULL };

	return request_model(x->request->model, older);
}

/* Types of files that the API accepts. */
static const char *const media_types[] = { "image/png", "image/jpeg", "image/webp", "image/heic",
	"image/heif", "application/pdf", NULL };

static void
write_signature(struct writer *w, struct span block)
{
	if (request_own(block, API))
		pass_of(w, "thoughtSignature", block, KEY_SIGNATURE);
}

/* Whether a block of a request is sent: thoughts of other models are not, nor empty texts. */
static bool
is_sent(struct span block)
{
	static const char *const types[] = { "text", "thinking", "tool_use", "tool_result", "image",
	    "document", NULL };
	bool own = request_own(block, API);

	if (span_one_of(span_member(block, KEY_TYPE), types) == NULL || request_foreign(block, API))
		return false;
	if (request_type(block, "thinking"))
		return own;
	return !request_type(block, "text") || !span_is(span_member(block, KEY_TEXT), "") ||
	    (own && (span_member(block, KEY_SIGNATURE).at != NULL ||
	    request_own_type(block).at != NULL));
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
	struct span type = request_own_type(block);
	bool call = request_type(block, "tool_use"), result = request_type(block, "tool_result");

	writer_object(c->w);
	if (span_type(type) == 's') {
		/* A part of the API's own form: the members in raw and, for what the API ran,
		 * the content under its kind. */
		if (call || result)
			pass_raw(c->w, type, span_member(block, call ? KEY_TOOL_INPUT : KEY_TOOL_CONTENT));
		pass_others(c->w, span_member(block, KEY_RAW), ours);
		write_signature(c->w, block);
	} else if (call) {
		bool own = request_own(block, API) && span_member(block, KEY_SIGNATURE).at != NULL;
		struct span id = span_member(block, KEY_TOOL_ID);

		writer_member_object(c->w, "functionCall");
		pass_member(c->w, "id", request_own_raw(block, API, "id"));
		pass_of(c->w, "name", block, KEY_TOOL_NAME);
		pass_input(c->w, "args", span_member(block, KEY_TOOL_INPUT));
		writer_object_end(c->w);
		/* Of several calls in a row, the first has the signature. */
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
		pass_member(c->w, "id", request_own_raw(made, API, "id"));
		pass_member(c->w, "name", index == NULL ? id : span_member(made, KEY_TOOL_NAME));
		/* A result is an object with one member, whose name says what it is. */
		writer_member_object(c->w, "response");
		pass_of(c->w, error ? "error" : "output", block, KEY_TOOL_CONTENT);
		writer_object_end(c->w);
		if (c->signs) /* Gemini 3 and later accept files inside a response */
			write_files(c, block, "parts");
		writer_object_end(c->w);
	} else if (request_type(block, "text")) {
		pass_of(c->w, "text", block, KEY_TEXT);
		write_signature(c->w, block);
	} else if (request_type(block, "thinking")) {
		pass_of(c->w, "text", block, KEY_THINKING);
		writer_member_bool(c->w, "thought", true);
		write_signature(c->w, block);
	} else {
		write_bytes(c, block);
	}
	writer_object_end(c->w);
}

static void
write_contents(const struct exchange *x, struct writer *w)
{
	struct conversation c = { .w = w, .signs = !is_older_model(x), .calls = MAP_INIT };

	writer_member_array(w, "contents");
	for (struct span_walk message = span_walk(x->request->messages); span_next(&message);) {
		bool model = span_is(span_member(message.value, KEY_ROLE), "assistant");
		struct span blocks = span_member(message.value, KEY_BLOCKS);
		bool begun = false;

		/* The role is written with the first part: the API refuses messages without
		 * parts. */
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
		/* Older models accept files only beside the responses. */
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

/* Those that can be told not to think. */
static const char *const silenced[] = { "gemini-2.5-flash*", NULL };

/* Who says `false` wants no thinking as far as that can be had; who says `none` wants none. */
static int
check_request(const struct exchange *x, struct error *err)
{
	if (span_is(span_member(x->request->params, "thinking"), "none") &&
	    !request_model(x->request->model, silenced))
		return error_set(err, ERROR_INVALID, "thinking", "%s cannot be told not to think: minimal or low "
		    "is the least", x->model);
	return 0;
}

/* `true` lets the model decide how much; an effort is LOW, MEDIUM … Few of the models that think
 * by default can be told not to. */
static void
write_thinking(const struct exchange *x, struct writer *w, struct span thinking)
{
	bool older = is_older_model(x);
	char type = span_type(thinking);
	bool none = span_is(thinking, "none") || (type != 's' && thinking_budget(thinking) == 0);

	if (type == 'o') {
		pass_member(w, "thinkingConfig", thinking);
		return;
	}
	if (none && !request_model(x->request->model, silenced))
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
write_params(const struct exchange *x, struct writer *w)
{
	/* Members of the request itself; all others belong to its generationConfig. */
	static const char *const outer[] = { "cachedContent", "labels", "safetySettings",
	    "serviceTier", "toolConfig", NULL };
	struct span schema = x->request->output_schema;
	const enum schema_use use = request_schema(x);
	struct buffer config = BUFFER_INIT;
	struct writer inner;

	writer_begin(&inner, &config);
	writer_object(&inner);
	for (struct span_walk param = span_walk(x->request->params); span_next(&param);) {
		if (span_one_of(param.key, outer) != NULL)
			pass_raw(w, param.key, param.value);
		else if (span_is(param.key, "thinking"))
			write_thinking(x, &inner, param.value);
		else if (span_is(param.key, "max_tokens"))
			pass_member(&inner, "maxOutputTokens", param.value);
		else if (span_is(param.key, "top_p"))
			pass_member(&inner, "topP", param.value);
		else if (span_is(param.key, "stop_sequences"))
			pass_member(&inner, "stopSequences", param.value);
		else if (!span_is(param.key, "cache")) /* the API caches by itself */
			pass_raw(&inner, param.key, param.value);
	}
	/* The API ignores parts of a schema that it does not know. */
	if (use != SCHEMA_UNSAID && span_member(x->request->params, "responseMimeType").at == NULL &&
	    !(is_older_model(x) && span_element(x->request->tools, 0).at != NULL)) {
		writer_member_string(&inner, "responseMimeType", "application/json");
		if (use == SCHEMA_WHOLE)
			pass_member(&inner, "responseJsonSchema", schema);
	}
	writer_object_end(&inner);
	if (config.len > 2)
		writer_member_buffer(w, "generationConfig", &config);
	buffer_free(&config);
}

static void
google_write_body(const struct exchange *x, struct writer *w)
{
	struct span system = x->request->system;

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
	write_params(x, w);
	if (span_element(x->request->tools, 0).at != NULL) {
		writer_member_array(w, "tools");
		writer_object(w);
		writer_member_array(w, "functionDeclarations");
		for (struct span_walk tool = span_walk(x->request->tools); span_next(&tool);) {
			writer_object(w);
			strict_write_tool(w, tool.value, "parametersJsonSchema");
			writer_object_end(w);
		}
		writer_array_end(w);
		writer_object_end(w);
		writer_array_end(w);
	}
	write_contents(x, w);
	writer_object_end(w);
}

/* A name may contain its collection; its other characters are escaped in the path. */
static void
write_model_path(const struct exchange *x, struct buffer *url)
{
	static const char *const collections[] = { "models/", "tunedModels/" };
	char *model = span_text(x->request->model);
	const char *name = model, *collection = collections[0];
	size_t i;

	for (i = 0; i < sizeof collections / sizeof collections[0]; i++)
		if (strncmp(model, collections[i], strlen(collections[i])) == 0) {
			collection = collections[i];
			name = model + strlen(collection);
		}
	buffer_format(url, "/v1beta/%s", collection);
	http_escape(url, name);
	buffer_text(url, ":streamGenerateContent?alt=sse");
	free(model);
}

int
main(int argc, char **argv)
{
	static const struct exchange_api api = {
		.program = "awf-provider-google",
		.usage = usage,
		.endpoint = "{\"protocol\": \"gemini\", \"base_url\": \"https://generativelanguage.googleapis.com\","
		    " \"base_env\": \"GEMINI_BASE_URL\","
		    " \"key\": {\"env\": [\"GEMINI_API_KEY\", \"GOOGLE_API_KEY\"], \"header\": \"x-goog-api-key: \"}}",
		.stream = &google_stream,
		.key_header = "x-goog-api-key: ",
		.media_types = media_types,
		.check = check_request,
		.model_path = write_model_path,
		.body = google_write_body
	};

	return exchange_main(&api, argc, argv);
}
