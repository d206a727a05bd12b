/*
 * The Responses API of OpenAI, streaming and stateless: the API keeps nothing, so
 * its items go back to it with every request as they came. What an item says when it
 * is done counts; the pieces before are for looking at.
 */
#include <stdlib.h>
#include <string.h>

#include "openai.h"
#include "pass.h"
#include "responses.h"
#include "stream.h"
#include "thinking.h"

static const char usage[] =
"awf-provider-openai-responses < requests\n"
"\n"
"Speaks to the Responses API of OpenAI for awf-step: one request per line on\n"
"stdin, answers on stdout, see awf-provider(7). The key is read from\n"
"OPENAI_API_KEY, another server's URL (up to and with its /v1) from\n"
"OPENAI_BASE_URL; such a server may need no key.";

/* What the events say. */

static void
item_added(struct stream *s, struct span event)
{
	(void)event;
	s->message.open++;
}

static void
item_done(struct stream *s, struct span event)
{
	responses_take(&s->message, span_member(event, "item"));
	if (s->message.open > 0)
		s->message.open--;
}

static void
delta(struct stream *s, struct span event, const char *kind)
{
	struct buffer text = BUFFER_INIT;

	span_decode(span_member(event, "delta"), &text);
	provider_delta(s->provider, kind, buffer_string(&text), text.len);
	buffer_free(&text);
}

static void
text_delta(struct stream *s, struct span event)
{
	delta(s, event, "text");
}

static void
thinking_delta(struct stream *s, struct span event)
{
	delta(s, event, "thinking");
}

/* As take_texts() joins them. */
static void
summary_part_added(struct stream *s, struct span event)
{
	long long index = 0;

	number_set(&index, span_member(event, "summary_index"));
	if (index > 0)
		provider_delta(s->provider, "thinking", "\n\n", 2);
}

static void
take_response(struct stream *s, struct span event)
{
	struct span response = span_member(event, "response");
	struct span counts = span_member(response, "usage");
	struct usage *u = &s->message.usage;

	text_once(&s->message.model, span_member(response, "model"));
	number_set(&u->input, span_member(counts, "input_tokens"));
	number_set(&u->output, span_member(counts, "output_tokens"));
	number_set(&u->cache_read, span_path(counts, "input_tokens_details", "cached_tokens", NULL));
	number_set(&u->reasoning, span_path(counts, "output_tokens_details", "reasoning_tokens", NULL));
}

static const struct {
	const char *theirs, *ours;
} incomplete_reasons[] = {
	{ "max_output_tokens", "max_tokens" },
	{ "content_filter", "refusal" }
};

static void
take_incomplete(struct message *m, struct span reason)
{
	size_t i;

	if (span_type(reason) != 's')
		return;
	m->stop_reason = "other";
	for (i = 0; i < sizeof incomplete_reasons / sizeof incomplete_reasons[0]; i++)
		if (span_is(reason, incomplete_reasons[i].theirs))
			m->stop_reason = incomplete_reasons[i].ours;
}

/* Some servers do not say of each item that it is done; then all of them are here. */
static void
take_output(struct stream *s, struct span output)
{
	struct span_walk walk;
	struct span key, item;

	if (s->message.open == 0 && s->message.count > 0)
		return;
	if (span_element(output, 0).at != NULL) {
		message_clear(&s->message);
		s->message.open = 0;
	}
	span_walk_begin(&walk, output);
	while (span_walk_next(&walk, &key, &item))
		responses_take(&s->message, item);
	if (s->message.open > 0)
		stream_fail(s, "the answer ended, %zu of its items did not", s->message.open);
}

static void
response_ended(struct stream *s, struct span event)
{
	struct span response = span_member(event, "response");

	take_response(s, event);
	take_output(s, span_member(response, "output"));
	take_incomplete(&s->message, span_path(response, "incomplete_details", "reason", NULL));
	s->message.ended = !s->failed;
}

static void
response_failed(struct stream *s, struct span event)
{
	struct span error = span_path(event, "response", "error", NULL);

	if (span_type(error) == 'o')
		stream_refused(s, error);
	else
		stream_fail(s, "the API failed and did not say why");
}

/* Other events (the progress of tools, parts and their ends, those of later versions)
 * say nothing that the items do not say again. */
static const struct stream_event events[] = {
	{ "response.output_text.delta", text_delta },
	{ "response.refusal.delta", text_delta },
	{ "response.reasoning_summary_text.delta", thinking_delta },
	{ "response.reasoning_text.delta", thinking_delta },
	{ "response.reasoning_summary_part.added", summary_part_added },
	{ "response.output_item.added", item_added },
	{ "response.output_item.done", item_done },
	{ "response.created", take_response },
	{ "response.completed", response_ended },
	{ "response.incomplete", response_ended },
	{ "response.failed", response_failed },
	{ "error", stream_refused },
	{ NULL, NULL }
};

static void
take_event(struct stream *s, struct span data)
{
	stream_dispatch(s, data, events);
}

/* Why the model stopped, where the API did not say. */
static void
finish(struct stream *s)
{
	struct message *m = &s->message;

	message_name_calls(m, s->request->messages);
	if (m->stop_reason == NULL)
		m->stop_reason = message_calls(m) ? "tool_use" : "end_turn";
}

/* How a request is written. */

/* Our names have no type, and strict schemas are a part of JSON Schema that a tool's
 * need not keep to. */
static void
write_tools(struct writer *w, struct span list)
{
	struct span_walk walk;
	struct span key, tool;

	if (span_element(list, 0).at == NULL)
		return;
	writer_key(w, "tools");
	writer_array(w);
	span_walk_begin(&walk, list);
	while (span_walk_next(&walk, &key, &tool)) {
		writer_object(w);
		writer_member_string(w, "type", "function");
		pass_member(w, "name", span_member(tool, "name"));
		pass_member(w, "description", span_member(tool, "description"));
		pass_member(w, "parameters", span_member(tool, "input_schema"));
		writer_member_bool(w, "strict", false);
		writer_object_end(w);
	}
	writer_array_end(w);
}

/* true, an effort, a number of tokens, or the API's own object. */
static void
write_thinking(struct writer *w, struct span thinking)
{
	const char *effort = thinking_effort(thinking);

	if (span_type(thinking) == 'o') {
		pass_member(w, "reasoning", thinking);
	} else if (effort != NULL || span_type(thinking) == 's') {
		writer_key(w, "reasoning");
		writer_object(w);
		if (effort == NULL)
			pass_member(w, "effort", thinking);
		writer_member_string(w, "effort", effort);
		writer_member_string(w, "summary", "auto");
		writer_object_end(w);
	}
}

/* The other members of `text` are the caller's. */
static void
write_text(const struct stream *s, struct writer *w)
{
	struct span text = span_member(s->request->params, "text");

	if (!openai_takes_schema(s)) {
		pass_member(w, "text", text);
		return;
	}
	writer_key(w, "text");
	writer_object(w);
	pass_others(w, text, "format");
	writer_key(w, "format");
	writer_object(w);
	writer_member_string(w, "type", "json_schema");
	openai_write_schema(w, s->request->output_schema);
	writer_object_end(w);
	writer_object_end(w);
}

static void
write_param(struct writer *w, struct span key, struct span value)
{
	static const char *const unsent[] = { "cache", "stop_sequences", "text", NULL };

	if (span_is(key, "thinking"))
		write_thinking(w, value);
	else if (span_is(key, "max_tokens"))
		pass_member(w, "max_output_tokens", value);
	else if (span_one_of(key, unsent) == NULL)
		pass_raw(w, key, value);
}

/* Whether a model may think; the API refuses to encrypt the thoughts of one that
 * does not. */
static bool
may_think(struct span model)
{
	static const char *const unthinking[] = { "gpt-3*", "gpt-4*", "chatgpt-*", "gpt-5-chat*",
	    NULL };

	return !stream_model(model, unthinking);
}

/* The API keeps nothing: what it thought comes encrypted, to be sent back. */
static void
write_stateless(struct writer *w, const struct provider_request *r)
{
	writer_member_bool(w, "store", false);
	if (!may_think(r->model) || span_member(r->params, "include").at != NULL)
		return;
	writer_key(w, "include");
	writer_array(w);
	writer_string(w, "reasoning.encrypted_content");
	writer_array_end(w);
}

static void
write_body(const struct stream *s, struct writer *w)
{
	const struct provider_request *r = s->request;
	struct span_walk walk;
	struct span key, value;

	writer_object(w);
	pass_member(w, "model", r->model);
	writer_member_bool(w, "stream", true);
	write_stateless(w, r);
	span_walk_begin(&walk, r->params);
	while (span_walk_next(&walk, &key, &value))
		write_param(w, key, value);
	write_text(s, w);
	if (!span_is(r->system, ""))
		pass_member(w, "instructions", r->system);
	write_tools(w, r->tools);
	responses_write(w, "input", r->messages);
	writer_object_end(w);
}

static int
check_request(const struct provider_request *r, struct error *err)
{
	if (span_element(span_member(r->params, "stop_sequences"), 0).at == NULL)
		return 0;
	return error_set(err, ERROR_INVALID, "stop_sequences",
	    "the Responses API has none: take the provider openai, or leave them out");
}

int
main(int argc, char **argv)
{
	static const char *const headers[] = { NULL };
	static const char *const media_types[] = { "image/png", "image/jpeg", "image/gif",
	    "image/webp", "application/pdf", NULL };
	static const struct stream_api api = {
		.program = "awf-provider-openai-responses",
		.usage = usage,
		.base_variable = "OPENAI_BASE_URL",
		.base_default = "https://api.openai.com/v1",
		.key_variable = "OPENAI_API_KEY",
		.key_header = "authorization: Bearer ",
		.key_optional = true,
		.headers = headers,
		.media_types = media_types,
		.check = check_request,
		.path = "/responses",
		.body = write_body,
		.event = take_event,
		.finish = finish
	};

	return stream_main(&api, argc, argv);
}
