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

/* An item began. What it says comes in pieces, which count where the server does not say
 * that the item is done. */
static void
item_added(struct stream *s, struct span event)
{
	(void)event;
	s->message.open++;
}

static long long
output_index(struct span event)
{
	long long index = -1;

	number_set(&index, span_member(event, "output_index"));
	return index;
}

static void
item_done(struct stream *s, struct span event)
{
	responses_take(&s->message, span_member(event, "item"));
	message_drop(&s->draft, output_index(event));
	if (s->message.open > 0)
		s->message.open--;
}

/* The draft of an item, which has one kind of text: the number is the item's. */
static struct block *
draft_block(struct stream *s, struct span event, enum block_type type)
{
	long long index = output_index(event);
	struct block *b = message_find(&s->draft, type, index);

	return b != NULL ? b : message_add(&s->draft, type, index);
}

static void
text_delta(struct stream *s, struct span event)
{
	stream_text(s, draft_block(s, event, BLOCK_TEXT), "text", span_member(event, "delta"));
}

static void
refusal_delta(struct stream *s, struct span event)
{
	s->draft_refused = true;
	text_delta(s, event);
}

static void
thinking_delta(struct stream *s, struct span event)
{
	stream_text(s, draft_block(s, event, BLOCK_THINKING), "thinking",
	    span_member(event, "delta"));
}

/* As take_texts() joins them. */
static void
summary_part_added(struct stream *s, struct span event)
{
	long long index = 0;

	number_set(&index, span_member(event, "summary_index"));
	if (index > 0)
		stream_text(s, draft_block(s, event, BLOCK_THINKING), "thinking",
		    span_of("\"\\n\\n\"", 6));
}

static void
take_response(struct stream *s, struct span event)
{
	static const struct usage_place places[] = {
		USAGE(input, "input_tokens"),
		USAGE(output, "output_tokens"),
		USAGE_IN(cache_read, "input_tokens_details", "cached_tokens"),
		USAGE_IN(cache_write, "input_tokens_details", "cache_write_tokens"),
		USAGE_IN(reasoning, "output_tokens_details", "reasoning_tokens"),
		USAGE_END
	};
	struct span response = span_member(event, "response");

	text_once(&s->message.model, span_member(response, "model"));
	usage_set(&s->message.usage, span_member(response, "usage"), places);
}

/* Of two answers in one stream neither is to be trusted: both would call their tools. */
static void
response_created(struct stream *s, struct span event)
{
	if (s->message.begun)
		stream_fail(s, "a second answer begins before the first has ended");
	s->message.begun = true;
	take_response(s, event);
}

/* Responses API, "incomplete_details.reason" of a response that is "incomplete":
 * https://platform.openai.com/docs/api-reference/responses/object. */
static const struct end ends[] = {
	{ "max_output_tokens", "max_tokens", ERROR_NONE },
	{ "content_filter", "refusal", ERROR_NONE },
	{ NULL, NULL, ERROR_NONE }
};

/* Likewise, "status"; what a completed one ended with, its items say. "failed" comes with an
 * error, "in_progress" and "queued" are no ends. */
static const struct end statuses[] = {
	{ "completed", "end_turn", ERROR_NONE },
	{ "cancelled", NULL, ERROR_CUT_OFF },
	{ NULL, NULL, ERROR_NONE }
};

/* Takes what came in pieces for what it is. */
static void
take_draft(struct stream *s)
{
	size_t i;

	for (i = 0; i < s->draft.count; i++) {
		struct block *from = &s->draft.blocks[i];

		if (from->text.len > 0)
			buffer_append(&message_add(&s->message, from->type, -1)->text,
			    from->text.data, from->text.len);
	}
	if (s->draft_refused && s->draft.count > 0)
		s->message.stop_reason = "refusal";
	message_clear(&s->draft);
}

/* Some servers do not say of each item that it is done; then all of them are here, or in
 * the pieces. An answer that was cut off at a limit has items that never ended. */
static void
take_output(struct stream *s, struct span output, bool whole)
{
	if (s->message.open == 0 && s->message.count > 0)
		return;
	if (span_element(output, 0).at != NULL) {
		message_clear(&s->message);
		message_clear(&s->draft);
		s->message.open = 0;
	}
	for (struct span_walk item = span_walk(output); span_next(&item);)
		responses_take(&s->message, item.value);
	if (whole && s->message.open > 0)
		stream_fail(s, "the answer ended, %zu of its items did not", s->message.open);
	else
		take_draft(s);
}

/* Why the API gave no answer. */
static void
take_error(struct stream *s, struct span response)
{
	struct span error = span_member(response, "error");

	if (span_type(error) == 'o')
		stream_refused(s, error);
	else
		stream_fail(s, "the API failed and did not say why");
}

static void
take_incomplete(struct stream *s, struct span response)
{
	struct span reason = span_path(response, "incomplete_details", "reason", NULL);

	take_output(s, span_member(response, "output"), false);
	if (span_type(reason) != 's')
		reason = span_of("\"incomplete\"", 12);
	stream_end(s, ends, reason, SPAN_NONE);
}

/* The status counts; a server that says none said it by the event. */
static void
response_ended(struct stream *s, struct span event)
{
	struct span response = span_member(event, "response");
	struct span status = span_member(response, "status");
	struct error why = ERROR_INIT;

	if (span_type(status) != 's')
		status = span_is(span_member(event, "type"), "response.incomplete") ?
		    span_of("\"incomplete\"", 12) : span_of("\"completed\"", 11);
	take_response(s, event);
	if (span_is(status, "failed"))
		take_error(s, response);
	else if (span_is(status, "incomplete") ||
	    span_type(span_path(response, "incomplete_details", "reason", NULL)) == 's')
		take_incomplete(s, response);
	else if (end_reason(statuses, status, SPAN_NONE, &why) != NULL)
		take_output(s, span_member(response, "output"), true);
	else
		stream_error(s, why.code, "%s", why.message);
	s->message.ended = !s->failed;
}

static void
response_failed(struct stream *s, struct span event)
{
	take_error(s, span_member(event, "response"));
}

/* Other events (the progress of tools, parts and their ends, those of later versions)
 * say nothing that the items do not say again. */
static const struct stream_event events[] = {
	{ "response.output_text.delta", text_delta },
	{ "response.refusal.delta", refusal_delta },
	{ "response.reasoning_summary_text.delta", thinking_delta },
	{ "response.reasoning_text.delta", thinking_delta },
	{ "response.reasoning_summary_part.added", summary_part_added },
	{ "response.output_item.added", item_added },
	{ "response.output_item.done", item_done },
	{ "response.created", response_created },
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

/* Why the model stopped, where the API did not say; and what nobody here can do for it. */
static void
finish(struct stream *s)
{
	struct message *m = &s->message;
	const struct block *waiting = responses_waiting(m);

	if (m->ended && waiting != NULL)
		stream_error(s, ERROR_INVALID, "the model waits for '%s', which is the client's to do: "
		    "leave that tool out", waiting->tool_name);

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
	if (span_element(list, 0).at == NULL)
		return;
	writer_member_array(w, "tools");
	for (struct span_walk tool = span_walk(list); span_next(&tool);) {
		writer_object(w);
		writer_member_string(w, "type", "function");
		pass_tool(w, tool.value, "parameters");
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
		writer_member_object(w, "reasoning");
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
	static const char *const without[] = { "format", NULL };
	struct span text = span_member(s->request->params, "text");

	if (!openai_takes_schema(s)) {
		pass_member(w, "text", text);
		return;
	}
	writer_member_object(w, "text");
	pass_others(w, text, without);
	writer_member_object(w, "format");
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
	writer_member_array(w, "include");
	writer_string(w, "reasoning.encrypted_content");
	writer_array_end(w);
}

static void
write_body(const struct stream *s, struct writer *w)
{
	const struct provider_request *r = s->request;

	writer_object(w);
	pass_member(w, "model", r->model);
	writer_member_bool(w, "stream", true);
	write_stateless(w, r);
	for (struct span_walk member = span_walk(r->params); span_next(&member);)
		write_param(w, member.key, member.value);
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
	static const struct stream_api api = {
		.program = "awf-provider-openai-responses",
		.usage = usage,
		.base_variable = "OPENAI_BASE_URL",
		.base_default = "https://api.openai.com/v1",
		.key_variable = "OPENAI_API_KEY",
		.key_header = "authorization: Bearer ",
		.key_optional = true,
		.media_types = stream_media_types,
		.check = check_request,
		.path = "/responses",
		.body = write_body,
		.event = take_event,
		.finish = finish
	};

	return stream_main(&api, argc, argv);
}
