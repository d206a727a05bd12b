/*
 * Anthropic's Messages API, streaming: how a request is written. One table says which member of the
 * API's block is which member of AWF's (api/anthropic.h), for both directions. Members without a
 * place in AWF's block are in `raw`. Models are recognized only by their names.
 */
#include <stdlib.h>
#include <string.h>

#include "api/anthropic.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "bound.h"
#include "exchange.h"
#include "pass.h"
#include "strict.h"
#include "transcript/event_keys.h"

#define MAX_TOKENS 8192 /* the API demands a number; tokens for thinking are added */
#define MAX_TOKENS_THINKING 32000 /* of models that think though nobody asked them to */

static const char usage[] =
"awf-provider-anthropic < requests\n"
"\n"
"Speaks to the Messages API for awf-step: one request per line on stdin, answers\n"
"on stdout, see awf-provider(7). The key is read from ANTHROPIC_API_KEY, another\n"
"server's URL from ANTHROPIC_BASE_URL.";

static enum anthropic_kind
kind_of(struct span block)
{
	struct span type = span_member(block, KEY_TYPE);
	int kind = KIND_TEXT;

	if (span_member(block, "redacted").at != NULL)
		return KIND_REDACTED;
	while (kind <= KIND_DOCUMENT && !span_is(type, anthropic_blocks[kind].type))
		kind++;
	return kind > KIND_DOCUMENT ? KIND_OTHER : (enum anthropic_kind)kind;
}

/* Whether a text has nothing but white space (of Unicode's), which the API refuses. */
static bool
is_blank(struct span text)
{
	static const char *const spaces[] = { " ", "\t", "\r", "\n", "\f", "\v", "\x1c", "\x1d", "\x1e",
		"\x1f", "\xc2\x85", "\xc2\xa0", "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81",
		"\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86",
		"\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\xa8",
		"\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80" };
	struct buffer decoded = BUFFER_INIT;
	size_t at = 0, i = 0;
	bool blank;

	if (span_type(text) != 's')
		return false;
	span_decode(text, &decoded);
	while (at < decoded.len && i < sizeof spaces / sizeof *spaces)
		if (strncmp(decoded.data + at, spaces[i], strlen(spaces[i])) == 0) {
			at += strlen(spaces[i]);
			i = 0;
		} else {
			i++;
		}
	blank = at == decoded.len;
	buffer_free(&decoded);
	return blank;
}

/* Models that have no check of what came before a thought, but demand the thoughts of the last
 * answer if its tools are answered: those before `adaptive` thinking. */
static const char *const older_models[] = { "claude-2*", "claude-3*", "claude-instant*",
    "claude-*-4-0*", "claude-*-4-1*", "claude-*-4-2*", "claude-*-4-5*", NULL };

/* A request while it is written. */
struct conversation {
	struct writer *w;
	struct bound *bound;  /* to which the next block would be bound */
	bool checks;          /* the server refuses thoughts that are bound to something else */
	bool unsigned_too;    /* the server takes its own thoughts without a signature */
	bool thoughtless;     /* a model that takes thoughts only while it is asked to think, and is not */
	bool moved;           /* what was sent before the present message has changed since */
	bool lacks;           /* something that the model said before is left out */
	size_t mark;          /* where in the body the mark for the cache goes; 0: nowhere */
};

/* Whether a thought goes back. It was this model's (request_own()), and nothing that was sent
 * before it has changed. Of thoughts recorded by older versions that is known only if nothing
 * could have changed. */
static bool
is_sendable_thought(const struct conversation *c, const struct bound *bound, struct span block)
{
	struct span recorded = span_member(block, KEY_BOUND);

	if (!request_own(block, ANTHROPIC) || c->thoughtless)
		return false;
	if (kind_of(block) == KIND_THINKING && span_member(block, KEY_SIGNATURE).at == NULL)
		return c->unsigned_too;
	if (!c->checks)
		return true;
	return recorded.at == NULL ? !c->moved && !c->lacks : bound_is(bound, recorded);
}

/* Whether a block of a request can be sent: an empty text is refused, and what another API or
 * model ran or thought is left out. bound: what the block would be bound to. */
static bool
is_sendable(const struct conversation *c, const struct bound *bound, struct span block)
{
	if (request_own_type(block).at != NULL)
		return request_own(block, ANTHROPIC);
	switch (kind_of(block)) {
	case KIND_TEXT:
		return !is_blank(span_member(block, KEY_TEXT));
	case KIND_THINKING:
	case KIND_REDACTED:
		return is_sendable_thought(c, bound, block);
	case KIND_OTHER:
		return false;
	default:
		return true;
	}
}

/* An object with only a type. */
static void
write_typed(struct writer *w, const char *key, const char *type)
{
	writer_member_object(w, key);
	writer_member_string(w, "type", type);
	writer_object_end(w);
}

/* The mark in a block: the input up to here is worth caching, because the next request repeats
 * it. */
static void
write_cache_mark(struct writer *w)
{
	write_typed(w, "cache_control", "ephemeral");
}

static void write_block(struct writer *w, struct span block, bool came);

/* A tool result that is not only text. */
static void
anthropic_write_tool_result(struct writer *w, struct span blocks)
{
	writer_member_array(w, "content");
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		if (pass_is_file(block.value, request_media_types)) {
			write_block(w, block.value, false);
			continue;
		}
		writer_object(w);
		writer_member_string(w, "type", "text");
		pass_of(w, "text", block.value, KEY_TEXT);
		writer_object_end(w);
	}
	writer_array_end(w);
}

/* A block in the API's form. came: as the API gave it; else as it goes back, where an input that
 * is no object is put into one. */
static void
write_block(struct writer *w, struct span block, bool came)
{
	enum anthropic_kind kind = kind_of(block);
	bool special = request_own_type(block).at != NULL;

	writer_object(w);
	if (!special)
		writer_member_string(w, "type", anthropic_blocks[kind].type);
	for (const struct anthropic_member *m = anthropic_members; m < anthropic_members + ANTHROPIC_MEMBERS; m++) {
		struct span value = m->kind == kind ? span_member(block, m->ours) : SPAN_NONE;

		if (value.at == NULL || (kind == KIND_TEXT && special && span_is(value, "")))
			continue;
		if (kind == KIND_TOOL_RESULT && m->form == FORM_JSON && pass_result_blocks(block).at != NULL) {
			anthropic_write_tool_result(w, pass_result_blocks(block));
			continue;
		}
		if (m->form != FORM_JSON || special)
			pass_member(w, m->theirs, value);
		else if (kind == KIND_TOOL_USE && !came)
			pass_input(w, m->theirs, value);
		else if (kind == KIND_TOOL_USE)
			pass_member(w, m->theirs, value);
		else
			pass_as_text(w, m->theirs, value);
	}
	/* An attachment: its bytes, and the name of a document, which models cite. */
	if (kind == KIND_IMAGE || kind == KIND_DOCUMENT) {
		writer_member_object(w, "source");
		writer_member_string(w, "type", "base64");
		pass_of(w, "media_type", block, KEY_MEDIA_TYPE);
		pass_of(w, "data", block, KEY_DATA);
		writer_object_end(w);
	}
	if (kind == KIND_DOCUMENT)
		pass_of(w, "title", block, KEY_NAME);
	if (request_own(block, ANTHROPIC))
		pass_others(w, span_member(block, KEY_RAW), NULL);
	writer_object_end(w);
}

/* Writes a block that can be sent. Thinking cannot be marked for the cache, and the API's own
 * blocks are sent back unchanged. */
static void
send_block(struct conversation *c, struct span block)
{
	const enum anthropic_kind kind = kind_of(block);
	struct buffer written = BUFFER_INIT;
	struct writer w;

	writer_begin(&w, &written);
	write_block(&w, block, false);
	bound_add(c->bound, "block", span_of(written.data, written.len));
	writer_raw(c->w, written.data, written.len);
	if (kind != KIND_THINKING && kind != KIND_REDACTED && span_member(block, KEY_RAW).at == NULL)
		c->mark = c->w->out->len - 1;
	buffer_free(&written);
}

/* A message without anything to send is left out: the API refuses empty messages, and accepts two
 * of the same role in a row. */
static void
send_message(struct conversation *c, struct span message)
{
	const char *role = span_is(span_member(message, KEY_ROLE), "assistant") ? "assistant" : "user";
	struct bound within = *c->bound;
	bool begun = false;

	bound_add(&within, role, SPAN_NONE);
	c->moved = span_true(span_member(message, KEY_MOVED));
	for (struct span_walk block = span_walk(span_member(message, KEY_BLOCKS)); span_next(&block);) {
		if (!is_sendable(c, begun ? c->bound : &within, block.value)) {
			c->lacks = c->lacks || strcmp(role, "assistant") == 0;
			continue;
		}
		if (!begun) {
			*c->bound = within;
			c->mark = 0;
			writer_object(c->w);
			writer_member_string(c->w, "role", role);
			writer_member_array(c->w, "content");
			begun = true;
		}
		send_block(c, block.value);
	}
	if (begun) {
		writer_array_end(c->w);
		writer_object_end(c->w);
	}
}

/* cached: the input up to the last block is worth caching, because the next request repeats it. Its
 * mark goes into the last message's last block that can have one. */
static void
write_messages(struct conversation *c, struct span messages, bool cached)
{
	struct buffer tail = BUFFER_INIT;
	struct buffer *out = c->w->out;
	struct writer w;

	writer_member_array(c->w, "messages");
	for (struct span_walk message = span_walk(messages); span_next(&message);)
		send_message(c, message.value);
	writer_array_end(c->w);
	if (!cached || c->mark == 0)
		return;
	buffer_append(&tail, out->data + c->mark, out->len - c->mark);
	out->len = c->mark;
	writer_begin(&w, out);
	w.comma = true;
	write_cache_mark(&w);
	buffer_append(out, tail.data, tail.len);
	buffer_free(&tail);
}

/* The API refuses a conversation with tool calls if the request has no tools, for example when
 * an agent without tools continues it. So the tools that were called are named, but may not be
 * called again. */
static void
write_called_tools(struct writer *tools, const struct provider_request *r)
{
	struct map named = MAP_INIT;

	writer_array(tools);
	for (struct span_walk message = span_walk(r->messages); span_next(&message);) {
		struct span blocks = span_member(message.value, KEY_BLOCKS);

		for (struct span_walk block = span_walk(blocks); span_next(&block);) {
			struct span name = span_member(block.value, KEY_TOOL_NAME);

			if (kind_of(block.value) != KIND_TOOL_USE ||
			    request_own_type(block.value).at != NULL ||
			    map_get(&named, name.at, name.len) != NULL)
				continue;
			map_put(&named, name.at, name.len, 0);
			writer_object(tools);
			pass_member(tools, "name", name);
			write_typed(tools, "input_schema", "object");
			writer_object_end(tools);
		}
	}
	writer_array_end(tools);
	map_free(&named);
}

/* The caller's own members of a tool go with it. */
static void
write_offered_tools(struct writer *w, struct span tools)
{
	writer_array(w);
	for (struct span_walk tool = span_walk(tools); span_next(&tool);) {
		writer_object(w);
		for (struct span_walk member = span_walk(tool.value); span_next(&member);)
			if (span_is(member.key, KEY_INPUT_SCHEMA))
				strict_write_input(w, KEY_INPUT_SCHEMA, member.value);
			else
				pass_raw(w, member.key, member.value);
		writer_object_end(w);
	}
	writer_array_end(w);
}

/* The tools that may be called, or those that were. */
static void
write_tools(struct writer *w, const struct provider_request *r, struct bound *bound)
{
	const bool offered = span_element(r->tools, 0).at != NULL;
	struct buffer list = BUFFER_INIT;
	struct writer tools;

	writer_begin(&tools, &list);
	if (offered)
		write_offered_tools(&tools, r->tools);
	else
		write_called_tools(&tools, r);
	bound_add(bound, "tools", span_of(list.data, list.len));
	if (list.len > 2)
		writer_member_buffer(w, "tools", &list);
	if (list.len > 2 && !offered && span_member(r->params, "tool_choice").at == NULL)
		write_typed(w, "tool_choice", "none");
	buffer_free(&list);
}

/* Whether a model is one of these. Other servers put words before the name: "us.anthropic.claude-…". */
static bool
is_claude(struct span model, const char *const *patterns)
{
	static const char begin[] = "claude-";
	char *text = span_text(model), *at = text, *next, *quoted;
	bool is;

	while ((next = strstr(at + (at != text), begin)) != NULL && next != at)
		at = next;
	quoted = memory_format("\"%s\"", at);
	is = strncmp(at, begin, sizeof begin - 1) == 0 &&
	    request_model(span_of(quoted, strlen(quoted)), patterns);
	free(quoted);
	free(text);
	return is;
}

/* Whether the model decides itself how long it thinks, guided by an effort: models after 4.5,
 * which accept no number of tokens. Other names belong to other servers. */
static bool
is_adaptive(struct span model)
{
	static const char *const all[] = { "claude-*", NULL };

	return is_claude(model, all) && !is_claude(model, older_models);
}

/* Sampling cannot be set for these, and how little one thinks is its own matter. */
static int
check_request(const struct exchange *x, struct error *err)
{
	static const char *const fixed[] = { "claude-*-5-[5-9]*", "claude-*-[6-9]", "claude-*-[6-9]-*", NULL };
	static const char *const always[] = { "claude-opus-5-[5-9]*", NULL };
	static const char *const sampling[] = { "temperature", "top_p", "top_k" };
	struct span params = x->request->params, model = x->request->model;

	for (size_t i = 0; i < sizeof sampling / sizeof *sampling; i++) {
		struct span value = span_member(params, sampling[i]);
		long long number;

		if (value.at != NULL && !(span_integer(value, &number) && number == 1) &&
		    is_claude(model, fixed))
			return error_set(err, ERROR_INVALID, sampling[i],
			    "%s takes none but its own: leave it out", x->model);
	}
	if (span_is(span_member(params, "thinking"), "none") && is_claude(model, always))
		return error_set(err, ERROR_INVALID, "thinking", "%s cannot be told not to think: low is the "
		    "least", x->model);
	return 0;
}

/* The output format and the effort of thinking in the API's form, unless the caller has set the
 * effort. The other members are the caller's. */
static void
write_output_config(const struct exchange *x, struct writer *w)
{
	/* Those before `output_config`. */
	static const char *const older[] = { "claude-2*", "claude-3*", "claude-instant*",
	    "claude-opus-4-0*", "claude-opus-4-2*", "claude-sonnet-4-0*", "claude-sonnet-4-2*", NULL };
	static const char *const keywords[] = { "$defs", "$ref", "additionalProperties", "anyOf",
	    "const", "default", "definitions", "description", "enum", "format", "items",
	    "properties", "required", "title", "type", NULL };
	static const char *const formats[] = { "date", "date-time", "duration", "email", "hostname",
	    "ipv4", "ipv6", "time", "uri", "uuid", NULL };
	static const struct strict strict = { keywords, formats, false, false };
	static const char *const efforts[] = { "low", "medium", "high", "xhigh", "max", NULL };
	const struct provider_request *r = x->request;
	struct span config = span_member(r->params, "output_config");
	struct span thinking = span_member(r->params, "thinking");
	const char *effort = NULL;
	bool schema = request_schema(x) == SCHEMA_WHOLE && !request_model(r->model, older) &&
	    strict_takes(&strict, r->output_schema);
	const char *const written[] = { schema ? "format" : "effort", NULL };

	if (is_adaptive(r->model) && !span_true(thinking) &&
	    span_member(config, "effort").at == NULL) {
		effort = thinking_effort(thinking);
		if (effort == NULL)
			effort = span_is(thinking, "minimal") ? "low" :
			    span_one_of(thinking, efforts);
	}
	if (!schema && effort == NULL) {
		pass_member(w, "output_config", config);
		return;
	}
	writer_member_object(w, "output_config");
	pass_others(w, config, written);
	writer_member_string(w, "effort", effort);
	if (schema) {
		writer_member_object(w, "format");
		writer_member_string(w, "type", "json_schema");
		strict_write(w, "schema", r->output_schema);
		writer_object_end(w);
	}
	writer_object_end(w);
}

/* Whether the tools of the last answer are answered now, and it does not begin with a thought that is
 * sent: it was another model's, or was given without thinking. An older model refuses to be asked to
 * think then ("a final assistant message must start with a thinking block",
 * https://docs.claude.com/en/docs/build-with-claude/extended-thinking). */
static bool
continues_without_thought(const struct conversation *c, struct span messages)
{
	struct span last = SPAN_NONE, question = SPAN_NONE;
	bool answers = false;

	for (struct span_walk message = span_walk(messages); span_next(&message);) {
		if (span_is(span_member(message.value, KEY_ROLE), "assistant"))
			last = message.value;
		else
			question = message.value;
	}
	for (struct span_walk block = span_walk(span_member(question, KEY_BLOCKS)); span_next(&block);)
		answers |= kind_of(block.value) == KIND_TOOL_RESULT;
	if (!answers || last.at == NULL)
		return false;
	for (struct span_walk block = span_walk(span_member(last, KEY_BLOCKS)); span_next(&block);)
		if (is_sendable(c, c->bound, block.value))
			return kind_of(block.value) != KIND_THINKING && kind_of(block.value) != KIND_REDACTED;
	return false;
}

static void
anthropic_write_body(const struct exchange *x, struct writer *w)
{
	static const char *const apart[] = { "cache", "output_config", "thinking", NULL };
	const struct provider_request *r = x->request;
	struct span thinking = span_member(r->params, "thinking");
	long long budget = thinking_budget(thinking);
	bool adaptive = is_adaptive(r->model);
	bool tools = span_element(r->tools, 0).at != NULL;
	/* The turns of an agent with tools repeat everything before; a single answer has nothing
	 * to cache for. */
	char cache = span_type(span_member(r->params, "cache"));
	bool cached = cache == 't' || (cache != 'f' && tools);
	struct conversation c = { .w = w, .bound = x->bound,
		.checks = !request_model(r->model, older_models) &&
		    span_type(request_endpoint(x, "bound")) != 'f',
		.unsigned_too = strstr(x->base, "//api.anthropic.com") == NULL };

	if (request_model(r->model, older_models)) {
		c.thoughtless = budget == 0 && span_type(thinking) != 'o';
		if (budget != 0 && span_type(thinking) != 'o' &&
		    continues_without_thought(&c, r->messages)) {
			provider_note(x->provider, "thinking is left out until the next question: the answer "
			    "that goes on was given without");
			budget = 0;
			thinking = SPAN_NONE;
			c.thoughtless = true;
		}
	}
	writer_object(w);
	pass_member(w, "model", r->model);
	writer_member_bool(w, "stream", true);
	if (span_member(r->params, "max_tokens").at == NULL)
		writer_member_integer(w, "max_tokens", adaptive ? MAX_TOKENS_THINKING : MAX_TOKENS + budget);
	if (span_type(thinking) == 'o') {
		pass_member(w, "thinking", thinking);
	} else if (adaptive && span_is(thinking, "none")) {
		static const char *const between[] = { "claude-sonnet-5-[5-9]*", NULL };

		write_typed(w, "thinking", is_claude(r->model, between) ? "between_tools" : "disabled");
	} else if (budget != 0) {
		writer_member_object(w, "thinking");
		writer_member_string(w, "type", adaptive ? "adaptive" : "enabled");
		if (!adaptive)
			writer_member_integer(w, "budget_tokens", budget);
		writer_object_end(w);
	}
	pass_others(w, r->params, apart);
	write_output_config(x, w);

	bound_begin(x->bound);
	if (r->system.at != NULL && !is_blank(r->system)) {
		bound_add(x->bound, "system", r->system);
		if (cached) {
			writer_member_array(w, "system");
			writer_object(w);
			writer_member_string(w, "type", "text");
			pass_member(w, "text", r->system);
			write_cache_mark(w);
			writer_object_end(w);
			writer_array_end(w);
		} else {
			pass_member(w, "system", r->system);
		}
	}
	write_tools(w, r, x->bound);
	write_messages(&c, r->messages, cached);
	writer_object_end(w);
}

/* Each thought of an answer is bound to what was sent, and to what came before it. */
static void
anthropic_bind_thoughts(struct exchange *x)
{
	struct message *m = &x->stream.message;
	struct buffer block = BUFFER_INIT, written = BUFFER_INIT;
	struct writer w;

	bound_add(x->bound, "assistant", SPAN_NONE);
	for (size_t i = 0; i < m->count; i++) {
		if (m->blocks[i].type == BLOCK_THINKING)
			bound_tell(x->bound, m->blocks[i].bound);
		buffer_clear(&block);
		buffer_clear(&written);
		writer_begin(&w, &block);
		message_write_block(&w, &m->blocks[i]);
		writer_begin(&w, &written);
		write_block(&w, span_of(block.data, block.len), true);
		/* What AWF has changed in a block, it does not know any more as it came. */
		bound_add(x->bound, m->blocks[i].note == NULL ? "block" : "changed block",
		    span_of(written.data, written.len));
	}
	buffer_free(&block);
	buffer_free(&written);
}

int
main(int argc, char **argv)
{
	static const struct exchange_api api = {
		.program = "awf-provider-anthropic",
		.usage = usage,
		.endpoint = "{\"protocol\": \"messages\", \"base_url\": \"https://api.anthropic.com\","
		    " \"base_env\": \"ANTHROPIC_BASE_URL\","
		    " \"key\": {\"env\": [\"ANTHROPIC_API_KEY\"], \"header\": \"x-api-key: \"}}",
		.stream = &anthropic_stream,
		.key_header = "x-api-key: ",
		.header = "anthropic-version: 2023-06-01",
		.media_types = request_media_types,
		.ids = "[a-zA-Z0-9_-]{1,64}",
		.rooted = "the Messages API",
		.check = check_request,
		.path = "/v1/messages",
		.body = anthropic_write_body,
		.answered = anthropic_bind_thoughts
	};

	return exchange_main(&api, argc, argv);
}
