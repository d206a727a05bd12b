/*
 * The Messages API of Anthropic, streaming: its events, and what a request says beside its
 * messages. Models are told apart by their names alone.
 */
#include "anthropic_blocks.h"
#include "pass.h"
#include "stream.h"
#include "strict.h"
#include "thinking.h"

#define MAX_TOKENS 8192 /* the API wants a number; thinking comes on top */

static const char usage[] =
"awf-provider-anthropic < requests\n"
"\n"
"Speaks to the Messages API for awf-step: one request per line on stdin, answers\n"
"on stdout, see awf-provider(7). The key is read from ANTHROPIC_API_KEY, another\n"
"server's URL from ANTHROPIC_BASE_URL.";

/* What the events say. */

/* Numbers are totals so far: later ones replace earlier ones. Where the API asked its models
 * several times for one answer (to compact the conversation first, say), the totals are those
 * of the last, and `iterations` what each was billed for. */
static void
take_usage(struct usage *u, struct span counted)
{
	static const struct usage_place places[] = {
		USAGE(input, "input_tokens"),
		USAGE(output, "output_tokens"),
		USAGE(cache_read, "cache_read_input_tokens"),
		USAGE(cache_write, "cache_creation_input_tokens"),
		USAGE_END
	};
	static const struct usage nothing = USAGE_INIT;
	struct span iterations = span_member(counted, "iterations");

	if (span_element(iterations, 0).at == NULL) {
		usage_set(u, counted, places);
		return;
	}
	*u = nothing;
	for (struct span_walk each = span_walk(iterations); span_next(&each);)
		usage_add(u, each.value, places);
}

static void
message_start(struct stream *s, struct span event)
{
	struct span message = span_member(event, "message");

	/* Of two answers in one stream neither is to be trusted: both would call their tools. */
	if (s->message.begun) {
		stream_fail(s, "a second answer begins before the first has ended");
		return;
	}
	s->message.begun = true;
	text_once(&s->message.model, span_member(message, "model"));
	take_usage(&s->message.usage, span_member(message, "usage"));
}

/* Messages API, "stop_reason": https://docs.claude.com/en/api/messages and
 * https://docs.claude.com/en/api/handling-stop-reasons; of a pause after compaction
 * https://docs.claude.com/en/build-with-claude/compaction. */
static const struct end ends[] = {
	{ "end_turn", "end_turn", ERROR_NONE },
	{ "tool_use", "tool_use", ERROR_NONE },
	{ "max_tokens", "max_tokens", ERROR_NONE },
	{ "model_context_window_exceeded", "max_tokens", ERROR_NONE },
	{ "stop_sequence", "stop_sequence", ERROR_NONE },
	{ "refusal", "refusal", ERROR_NONE },
	{ "pause_turn", "pause", ERROR_NONE },
	{ "compaction", "pause", ERROR_NONE },
	{ NULL, NULL, ERROR_NONE }
};

static void
message_delta(struct stream *s, struct span event)
{
	struct span delta = span_member(event, "delta"), reason = span_member(delta, "stop_reason");

	take_usage(&s->message.usage, span_member(event, "usage"));
	if (span_type(reason) == 's')
		stream_end(s, ends, reason, span_path(delta, "stop_details", "explanation", NULL));
}

static void
message_stop(struct stream *s, struct span event)
{
	(void)event;
	if (s->message.stop_reason == NULL)
		stream_error(s, ERROR_CUT_OFF, "the answer ended without a stop_reason");
	else
		s->message.ended = true;
}

/* Other events (ping, and those of later versions) are passed over, as the API
 * asks its clients to. */
static const struct stream_event events[] = {
	{ "content_block_delta", anthropic_block_delta },
	{ "content_block_start", anthropic_block_start },
	{ "message_start", message_start },
	{ "message_delta", message_delta },
	{ "message_stop", message_stop },
	{ NULL, NULL }
};

static void
take_event(struct stream *s, struct span data)
{
	stream_dispatch(s, data, events);
}

/* The API counts cached input apart; ours is all of it. */
static void
finish(struct stream *s)
{
	struct usage *u = &s->message.usage;

	if (u->input < 0)
		return;
	u->input += u->cache_read > 0 ? u->cache_read : 0;
	u->input += u->cache_write > 0 ? u->cache_write : 0;
}

/* How a request is written. */

/* Whether the model decides itself how long it thinks, by an effort: those after 4.5, which
 * take no number of tokens. Models of other names are other servers'. */
static bool
is_adaptive(struct span model)
{
	static const char *const all[] = { "claude-*", NULL };
	static const char *const older[] = { "claude-2*", "claude-3*", "claude-instant*",
	    "claude-*-4-0*", "claude-*-4-1*", "claude-*-4-2*", "claude-*-4-5*", NULL };

	return stream_model(model, all) && !stream_model(model, older);
}

static void
write_thinking(struct writer *w, struct span model, struct span thinking)
{
	long long budget = thinking_budget(thinking);

	if (span_type(thinking) == 'o') {
		pass_member(w, "thinking", thinking);
		return;
	}
	if (budget == 0)
		return;
	writer_member_object(w, "thinking");
	writer_member_string(w, "type", is_adaptive(model) ? "adaptive" : "enabled");
	if (!is_adaptive(model))
		writer_member_integer(w, "budget_tokens", budget);
	writer_object_end(w);
}

static void
write_params(struct writer *w, struct span model, struct span params)
{
	static const char *const apart[] = { "cache", "output_config", "thinking", NULL };
	struct span thinking = span_member(params, "thinking");

	if (span_member(params, "max_tokens").at == NULL)
		writer_member_integer(w, "max_tokens", MAX_TOKENS + thinking_budget(thinking));
	write_thinking(w, model, thinking);
	pass_others(w, params, apart);
}

/* Turns of an agent with tools repeat all that came before; a single answer has nobody to
 * keep anything for. */
static bool
is_cached(const struct provider_request *r)
{
	struct span cache = span_member(r->params, "cache");
	char type = span_type(cache);

	return type == 't' || (type != 'f' && span_element(r->tools, 0).at != NULL);
}

static void
write_system(struct writer *w, struct span system, bool cached)
{
	if (system.at == NULL || span_is(system, ""))
		return;
	if (!cached) {
		pass_member(w, "system", system);
		return;
	}
	writer_member_array(w, "system");
	writer_object(w);
	writer_member_string(w, "type", "text");
	pass_member(w, "text", system);
	anthropic_write_cache_mark(w);
	writer_object_end(w);
	writer_array_end(w);
}

/* Whether the model is of those before `output_config`. */
static bool
is_older_model(struct span model)
{
	static const char *const older[] = { "claude-2*", "claude-3*", "claude-instant*",
	    "claude-opus-4-0*", "claude-opus-4-2*", "claude-sonnet-4-0*", "claude-sonnet-4-2*", NULL };

	return stream_model(model, older);
}

static bool
takes_schema(const struct provider_request *r)
{
	static const char *const keywords[] = { "$defs", "$ref", "additionalProperties", "anyOf",
	    "const", "default", "definitions", "description", "enum", "format", "items",
	    "properties", "required", "title", "type", NULL };
	static const char *const formats[] = { "date", "date-time", "duration", "email", "hostname",
	    "ipv4", "ipv6", "time", "uri", "uuid", NULL };
	static const struct strict strict = { keywords, formats, false, false };

	return r->output_schema.at != NULL && !is_older_model(r->model) &&
	    strict_takes(&strict, r->output_schema);
}

/* The effort of thinking as the API has it; "" if it is not to be said, or the caller has. */
static const char *
effort_of(const struct provider_request *r)
{
	static const char *const efforts[] = { "low", "medium", "high", NULL };
	struct span thinking = span_member(r->params, "thinking");
	const char *effort = thinking_effort(thinking);

	if (!is_adaptive(r->model) || span_true(thinking) ||
	    span_path(r->params, "output_config", "effort", NULL).at != NULL)
		return "";
	if (effort == NULL && span_is(thinking, "minimal"))
		effort = "low";
	if (effort == NULL)
		effort = span_one_of(thinking, efforts);
	return effort == NULL ? "" : effort;
}

/* The other members are the caller's. */
static void
write_output_config(struct writer *w, const struct provider_request *r)
{
	struct span config = span_member(r->params, "output_config");
	const char *effort = effort_of(r);
	const char *const written[] = { takes_schema(r) ? "format" : "effort", NULL };

	if (!takes_schema(r) && *effort == '\0') {
		pass_member(w, "output_config", config);
		return;
	}
	writer_member_object(w, "output_config");
	pass_others(w, config, written);
	if (*effort != '\0')
		writer_member_string(w, "effort", effort);
	if (takes_schema(r)) {
		writer_member_object(w, "format");
		writer_member_string(w, "type", "json_schema");
		strict_write(w, "schema", r->output_schema);
		writer_object_end(w);
	}
	writer_object_end(w);
}

static void
write_body(const struct stream *s, struct writer *w)
{
	const struct provider_request *r = s->request;
	bool cached = is_cached(r);

	writer_object(w);
	pass_member(w, "model", r->model);
	writer_member_bool(w, "stream", true);
	write_params(w, r->model, r->params);
	write_output_config(w, r);
	write_system(w, r->system, cached);
	if (span_element(r->tools, 0).at != NULL)
		pass_member(w, "tools", r->tools);
	else
		anthropic_write_called_tools(w, r);
	anthropic_write_messages(w, r->messages, cached);
	writer_object_end(w);
}

int
main(int argc, char **argv)
{
	static const struct stream_api api = {
		.program = "awf-provider-anthropic",
		.usage = usage,
		.base_variable = "ANTHROPIC_BASE_URL",
		.base_default = "https://api.anthropic.com",
		.key_variable = "ANTHROPIC_API_KEY",
		.key_header = "x-api-key: ",
		.header = "anthropic-version: 2023-06-01",
		.media_types = stream_media_types,
		.path = "/v1/messages",
		.body = write_body,
		.event = take_event,
		.finish = finish
	};

	return stream_main(&api, argc, argv);
}
