/*
 * Reads answers of Chat Completions APIs: OpenAI's and compatible ones (Azure, Groq, DeepSeek, xAI,
 * Mistral, OpenRouter, Ollama, vLLM, llama.cpp …). They agree on the outline and differ in details,
 * so no member is required, and each is looked up in every place where one of them puts it.
 */
#include <stdlib.h>
#include <string.h>

#include "api/openai_keep.h"
#include "base/memory.h"

#define API OPENAI
#define REFUSAL 1 /* the index of a block that is a refusal; texts have no index in this API */

/* Reads text into a block of the right type; or parts, as Mistral sends them: {"type":"text",
 * "text":…}, {"type":"thinking","thinking":[parts]}; or as Databricks does: {"type":"reasoning",
 * "summary":[parts]}. */
static void
openai_read_content(struct stream *s, struct span content, const char *kind)
{
	enum block_type type = strcmp(kind, "thinking") == 0 ? BLOCK_THINKING : BLOCK_TEXT;

	if (span_type(content) == 's' && !span_is(content, "")) {
		struct block *b = message_last(&s->message, type);

		if (type == BLOCK_TEXT && b->raw.len > 0) /* that block is a part of its own */
			b = message_add(&s->message, type, -1);
		stream_text(s, b, kind, content);
	}
	if (span_type(content) != 'a')
		return;
	for (struct span_walk part = span_walk(content); span_next(&part);) {
		struct span thinking = span_member(part.value, "thinking");
		struct span text = span_member(part.value, "text");
		struct span summary = span_member(part.value, SUMMARY_FIELD);

		if (thinking.at != NULL) {
			openai_read_content(s, thinking, "thinking");
			openai_keep_thought(message_last(&s->message, BLOCK_THINKING), part.value);
		} else if (span_type(summary) == 'a') {
			openai_read_content(s, summary, "thinking");
			openai_keep_summary(message_last(&s->message, BLOCK_THINKING), summary);
		} else if (text.at != NULL) {
			openai_read_content(s, text, kind);
		} else {
			openai_keep_part(s, part.value);
		}
	}
}

/* The block of the call with this id; NULL: none. */
static struct block *
openai_find_call(struct stream *s, const char *id)
{
	struct message *m = &s->message;
	const bool seen = id != NULL && map_get(&s->items, id, strlen(id)) != NULL;

	for (size_t i = m->count; seen && i-- > 0;)
		if (m->blocks[i].type == BLOCK_TOOL_USE && m->blocks[i].tool_id != NULL &&
		    strcmp(m->blocks[i].tool_id, id) == 0)
			return &m->blocks[i];
	return NULL;
}

/* Whether it is unknown to which call a piece of arguments without id and index belongs: several
 * calls began in one event and have no arguments yet. */
static bool
is_ambiguous(const struct message *m)
{
	const struct block *last = NULL;
	size_t waiting = 0;

	for (size_t i = m->count; i-- > 0;) {
		const struct block *b = &m->blocks[i];

		if (b->type != BLOCK_TOOL_USE)
			continue;
		if (last == NULL)
			last = b;
		waiting += b->event == last->event && b->text.len == 0;
	}
	return waiting > 1;
}

/* Whether a piece with a name begins a new call instead of continuing b. A piece without a name
 * never does: some servers change the id of a call from piece to piece. Others number all calls 0,
 * or give no number and no ids, or repeat the name in each piece. */
static bool
is_new_call(const struct block *b, struct span name, const char *id)
{
	size_t bad;

	if (b == NULL)
		return true;
	if (span_type(name) != 's' || span_is(name, ""))
		return false;
	if (id != NULL && id[0] != '\0' && b->tool_id != NULL)
		return strcmp(b->tool_id, id) != 0;
	if (b->tool_id != NULL || b->tool_name == NULL)
		return false;
	/* Nothing can be appended to complete arguments. */
	return b->index < 0 || !span_is(name, b->tool_name) ||
	    (b->text.len > 0 && scan_check(b->text.data, b->text.len, &bad) == NULL);
}

static void
openai_read_function(struct stream *s, struct block *b, struct span function)
{
	struct span name = span_member(function, "name");
	struct span arguments = span_member(function, "arguments");
	const bool named = b->tool_name != NULL;
	const size_t before = b->text.len;

	if (!span_is(name, ""))
		text_once(&b->tool_name, name);
	if (span_type(arguments) == 'o')
		scan_minify(arguments, &b->text);
	else
		span_decode(arguments, &b->text);
	stream_call(s, named ? NULL : b->tool_name, buffer_string(&b->text) + before,
	    b->text.len - before);
}

/* A piece of a call belongs to the block with its id, or to the one with its index or, if it has
 * neither, to the last block. If that is ambiguous it is an error: a tool must not run with the
 * arguments of another call, nor with none. */
static void
openai_read_call(struct stream *s, struct span call)
{
	struct span function = span_member(call, "function");
	char *id = span_text(span_member(call, "id"));
	long long index = -1;
	struct block *b;

	number_set(&index, span_member(call, "index"));
	b = openai_find_call(s, id);
	if (b != NULL && index >= 0 && b->index >= 0 && b->index != index) /* b is another call */
		b = NULL;
	if (b == NULL) {
		b = message_find(&s->message, BLOCK_TOOL_USE, index);
		if (is_new_call(b, span_member(function, "name"), id)) {
			b = message_add(&s->message, BLOCK_TOOL_USE, index);
			b->event = s->events;
		} else if (index < 0 && (id == NULL || id[0] == '\0') && is_ambiguous(&s->message)) {
			stream_fail(s, "the server sends the arguments of several calls and does not "
			    "say of which");
			free(id);
			return;
		}
	}
	if (b->tool_id == NULL && id != NULL && id[0] != '\0')
		b->tool_id = memory_text(id);
	if (b->tool_id != NULL)
		map_put(&s->items, b->tool_id, strlen(b->tool_id), 1);
	free(id);
	openai_keep_call(b, call);
	openai_read_function(s, b, function);
}

/* Chat Completions, "finish_reason": the first five of
 * https://platform.openai.com/docs/api-reference/chat/streaming; eos_token and stop_sequence of
 * https://huggingface.co/docs/text-generation-inference (TGI's own), eos of
 * https://docs.together.ai/reference/chat-completions-1, model_length of
 * https://docs.mistral.ai/api (the model's own limit), sensitive of
 * https://docs.z.ai/api-reference/llm/chat-completion. Gateways pass on the words of others:
 * end_turn, max_tokens, tool_use and refusal of the Messages API
 * (https://docs.claude.com/en/api/messages); content_filtered and guardrail_intervened of Bedrock
 * (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html); COMPLETE to
 * ERROR of https://docs.cohere.com/reference/chat; STOP to RECITATION of Gemini (google.c). Words
 * for a failure (DeepSeek's insufficient_system_resource, vLLM's and SGLang's abort, Z.ai's
 * network_error, OpenRouter's and Mistral's error) do not end an answer: the request may be sent
 * again. */
static const struct end ends[] = {
	{ "stop", "end_turn", ERROR_NONE },
	{ "length", "max_tokens", ERROR_NONE },
	{ "tool_calls", "tool_use", ERROR_NONE },
	{ "function_call", "tool_use", ERROR_NONE },
	{ "content_filter", "refusal", ERROR_NONE },
	{ "eos", "end_turn", ERROR_NONE },
	{ "eos_token", "end_turn", ERROR_NONE },
	{ "stop_sequence", "stop_sequence", ERROR_NONE },
	{ "model_length", "max_tokens", ERROR_NONE },
	{ "sensitive", "refusal", ERROR_NONE },
	{ "end_turn", "end_turn", ERROR_NONE },
	{ "max_tokens", "max_tokens", ERROR_NONE },
	{ "tool_use", "tool_use", ERROR_NONE },
	{ "refusal", "refusal", ERROR_NONE },
	{ "content_filtered", "refusal", ERROR_NONE },
	{ "guardrail_intervened", "refusal", ERROR_NONE },
	{ "COMPLETE", "end_turn", ERROR_NONE },
	{ "MAX_TOKENS", "max_tokens", ERROR_NONE },
	{ "STOP_SEQUENCE", "stop_sequence", ERROR_NONE },
	{ "TOOL_CALL", "tool_use", ERROR_NONE },
	{ "ERROR_TOXIC", "refusal", ERROR_NONE },
	{ "ERROR", NULL, ERROR_PROVIDER },
	{ "STOP", "end_turn", ERROR_NONE },
	{ "SAFETY", "refusal", ERROR_NONE },
	{ "RECITATION", "refusal", ERROR_NONE },
	{ "insufficient_system_resource", NULL, ERROR_PROVIDER },
	{ "abort", NULL, ERROR_PROVIDER },
	{ "network_error", NULL, ERROR_PROVIDER },
	{ "error", NULL, ERROR_PROVIDER },
	{ NULL, NULL, ERROR_NONE }
};

/* Members of a piece, of its choice and of the delta, each found in one pass. Pieces have only a
 * few bytes of text, so this is most of the work for an answer. */
enum { CHOICES, MODEL, USAGE_OF_PIECE, X_GROQ, CITATIONS, PIECE_MEMBERS };
enum { DELTA, MESSAGE, FINISH_REASON, USAGE_OF_CHOICE, ERROR_OF_CHOICE, INDEX_OF_CHOICE, CHOICE_MEMBERS };
enum { CONTENT, REASONING_CONTENT, REASONING, SAID_REFUSAL, TOOL_CALLS, FUNCTION_CALL,
	DELTA_MEMBERS };
static const char *const of_piece[] = { "choices", "model", "usage", "x_groq", "citations" };
static const char *const of_choice[] = { "delta", "message", "finish_reason", "usage",
	"error", "index" };
static const char *const of_delta[] = { "content", "reasoning_content", "reasoning", "refusal",
	"tool_calls", "function_call" };

/* Whether a piece contains a part of the answer. */
static bool
has_content(const struct span delta[DELTA_MEMBERS])
{
	for (size_t i = 0; i < DELTA_MEMBERS; i++)
		if (delta[i].at != NULL && says_something(delta[i]) && !span_is(delta[i], ""))
			return true;
	return false;
}

/* output_tokens includes reasoning. xAI counts reasoning separately; Gemini's thoughts are only in
 * the total, from which they are computed. */
static void
openai_read_usage(struct usage *u, struct span object)
{
	static const struct usage_place places[] = {
		USAGE(input, "prompt_tokens"),
		USAGE(output, "completion_tokens"),
		USAGE(cache_read, "cached_tokens"), /* Moonshot */
		USAGE(cache_read, "prompt_cache_hit_tokens"),
		USAGE_IN(cache_read, "prompt_tokens_details", "cached_tokens"),
		USAGE(cache_write, "cache_creation_input_tokens"),
		USAGE_IN(cache_write, "prompt_tokens_details", "cache_creation_tokens"),
		USAGE_IN(cache_write, "prompt_tokens_details", "cache_write_tokens"),
		USAGE_IN(reasoning, "completion_tokens_details", "reasoning_tokens"),
		USAGE_END
	};
	long long total = -1;

	if (span_type(object) != 'o')
		return;
	usage_set(u, object, places);
	number_set(&total, span_member(object, "total_tokens"));
	if (u->reasoning > 0 && u->input >= 0 && u->output >= 0 &&
	    total == u->input + u->output + u->reasoning)
		u->output += u->reasoning;
	else if (u->reasoning < 0 && u->input >= 0 && u->output >= 0 && total > u->input + u->output) {
		u->reasoning = total - u->input - u->output;
		u->output = total - u->input;
	}
	if (u->cache_read > u->input && u->input >= 0)
		u->cache_read = u->input;
}

static void
openai_read_event(struct stream *s, struct span data)
{
	static const int thoughts[] = { REASONING_CONTENT, REASONING };
	struct span piece[PIECE_MEMBERS], choice[CHOICE_MEMBERS], delta[DELTA_MEMBERS];
	struct span first, said, reason;
	long long index = 0;

	span_members(data, of_piece, PIECE_MEMBERS, piece);
	first = span_element(piece[CHOICES], 0);
	span_members(first, of_choice, CHOICE_MEMBERS, choice);
	if (!span_is(piece[MODEL], ""))
		text_once(&s->message.model, piece[MODEL]);
	openai_read_usage(&s->message.usage, span_member(piece[X_GROQ], "usage"));
	openai_read_usage(&s->message.usage, choice[USAGE_OF_CHOICE]);
	openai_read_usage(&s->message.usage, piece[USAGE_OF_PIECE]);
	if (first.at == NULL) {
		if (piece[CHOICES].at == NULL && piece[USAGE_OF_PIECE].at == NULL)
			stream_strange(s, data);
		return;
	}
	/* Of several choices only the first is read. A whole message after its pieces repeats
	 * them. */
	number_set(&index, choice[INDEX_OF_CHOICE]);
	if (index > 0)
		return;
	if (choice[DELTA].at == NULL && s->message.count > 0)
		choice[MESSAGE] = SPAN_NONE;
	/* OpenRouter: the server behind it has failed. */
	if (span_type(choice[ERROR_OF_CHOICE]) == 'o') {
		stream_refused(s, choice[ERROR_OF_CHOICE]);
		return;
	}

	said = choice[DELTA].at != NULL ? choice[DELTA] : choice[MESSAGE];
	span_members(said, of_delta, DELTA_MEMBERS, delta);
	openai_keep_citations(s, piece[CITATIONS]);
	/* Some servers send the same thoughts under both names. */
	for (size_t i = 0; i < sizeof thoughts / sizeof thoughts[0]; i++) {
		struct span thought = delta[thoughts[i]];

		if (span_type(thought) == 's' && !span_is(thought, "")) {
			struct block *b = message_last(&s->message, BLOCK_THINKING);

			b->api = API;
			b->field = of_delta[thoughts[i]];
			stream_text(s, b, "thinking", thought);
			break;
		}
	}
	openai_read_content(s, delta[CONTENT], "text");
	if (span_type(delta[SAID_REFUSAL]) == 's' && !span_is(delta[SAID_REFUSAL], "")) {
		openai_read_content(s, delta[SAID_REFUSAL], "text");
		message_set_index(&s->message, s->message.count - 1, REFUSAL);
	}
	for (struct span_walk call = span_walk(delta[TOOL_CALLS]); span_next(&call);)
		openai_read_call(s, call.value);
	/* The older form of calls, which allows only one. */
	if (span_type(delta[FUNCTION_CALL]) == 'o')
		openai_read_function(s, message_last(&s->message, BLOCK_TOOL_USE),
		    delta[FUNCTION_CALL]);

	openai_keep_delta(s, said);

	/* On some servers (watsonx, older TGI) "" ends an answer if it comes alone after the text;
	 * others send it in every piece, instead of null. */
	reason = choice[FINISH_REASON];
	if (span_type(reason) != 's' || s->message.stop_reason != NULL)
		return;
	if (!span_is(reason, ""))
		stream_end(s, ends, reason, SPAN_NONE);
	else if (has_content(delta))
		s->blank_reasons = true;
	else if (!s->blank_reasons && s->message.count > 0)
		s->message.stop_reason = "end_turn";
}

/* A finish reason ends the answer too: not every server sends [DONE]. */
static void
openai_finish_message(struct stream *s)
{
	struct message *m = &s->message;

	m->ended |= m->stop_reason != NULL;
	for (size_t i = 0; i < m->count; i++)
		if (m->blocks[i].type == BLOCK_TOOL_USE)
			block_repair_input(&m->blocks[i]);
	openai_place_summaries(m);
	openai_place_kept(s);
	message_settle(m, s->messages);
	if (message_find(m, BLOCK_TEXT, REFUSAL) != NULL)
		m->stop_reason = "refusal";
}

/* A body that is not a stream has the form of one piece, with `message` in place of `delta`. */
const struct stream_api openai_stream = {
	.name = API,
	.done_ends = true,
	.event = openai_read_event,
	.body = openai_read_event,
	.finish = openai_finish_message
};
