/*
 * Three tables are searched one after another: the APIs' words for errors, phrases of messages,
 * HTTP statuses. A word that says little more than "an error" (an invalid request, a fault of the
 * server) counts only if the status is ambiguous, since APIs also use it for missing keys and
 * overlong prompts.
 */
#define _GNU_SOURCE /* strcasestr() */
#include "api/failure.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/text.h"

#define SHOWN 300 /* bytes of a body that is not JSON */

/* Values of `code`, `type` and `status` in error objects, and of `reason` in their
 * details. */
static const struct {
	const char *word;
	enum error_code category;
} words[] = {
	/* Messages API */
	{ "invalid_request_error", ERROR_INVALID },
	{ "authentication_error", ERROR_AUTH },
	{ "permission_error", ERROR_AUTH },
	{ "billing_error", ERROR_AUTH },
	{ "not_found_error", ERROR_INVALID },
	{ "request_too_large", ERROR_CONTEXT_LENGTH },
	{ "rate_limit_error", ERROR_RATE_LIMIT },
	{ "timeout_error", ERROR_OVERLOADED },
	{ "overloaded_error", ERROR_OVERLOADED },
	/* Chat Completions and servers that are compatible with it */
	{ "invalid_api_key", ERROR_AUTH },
	{ "insufficient_quota", ERROR_AUTH },
	{ "billing_hard_limit_reached", ERROR_AUTH },
	{ "account_deactivated", ERROR_AUTH },
	{ "model_not_found", ERROR_INVALID },
	{ "context_length_exceeded", ERROR_CONTEXT_LENGTH },
	{ "string_above_max_length", ERROR_CONTEXT_LENGTH },
	{ "exceed_context_size_error", ERROR_CONTEXT_LENGTH },
	{ "rate_limit_exceeded", ERROR_RATE_LIMIT },
	{ "engine_overloaded_error", ERROR_OVERLOADED },
	{ "service_unavailable", ERROR_OVERLOADED },
	{ "content_filter", ERROR_REFUSED },
	{ "content_policy_violation", ERROR_REFUSED },
	/* Responses */
	{ "cyber_policy_violation", ERROR_REFUSED },
	{ "invalid_image", ERROR_INVALID },
	{ "invalid_image_format", ERROR_INVALID },
	{ "invalid_image_mode", ERROR_INVALID },
	{ "invalid_image_url", ERROR_INVALID },
	{ "invalid_base64_image", ERROR_INVALID },
	{ "image_parse_error", ERROR_INVALID },
	{ "image_too_large", ERROR_INVALID },
	{ "image_too_small", ERROR_INVALID },
	{ "image_file_too_large", ERROR_INVALID },
	{ "image_file_not_found", ERROR_INVALID },
	{ "empty_image_file", ERROR_INVALID },
	{ "unsupported_image_media_type", ERROR_INVALID },
	{ "failed_to_download_image", ERROR_INVALID },
	{ "image_content_policy_violation", ERROR_REFUSED },
	{ "server_is_overloaded", ERROR_OVERLOADED },
	{ "slow_down", ERROR_OVERLOADED },
	/* google.rpc.Code, and reasons of google.rpc.ErrorInfo */
	{ "INVALID_ARGUMENT", ERROR_INVALID },
	{ "FAILED_PRECONDITION", ERROR_INVALID },
	{ "OUT_OF_RANGE", ERROR_INVALID },
	{ "NOT_FOUND", ERROR_INVALID },
	{ "UNIMPLEMENTED", ERROR_INVALID },
	{ "UNAUTHENTICATED", ERROR_AUTH },
	{ "PERMISSION_DENIED", ERROR_AUTH },
	{ "API_KEY_INVALID", ERROR_AUTH },
	{ "BILLING_DISABLED", ERROR_AUTH },
	{ "RESOURCE_EXHAUSTED", ERROR_RATE_LIMIT },
	{ "UNAVAILABLE", ERROR_OVERLOADED },
	{ "DEADLINE_EXCEEDED", ERROR_OVERLOADED },
	/* vague words: anything more exact comes first, the status too */
	{ "invalid_prompt", ERROR_INVALID },
	{ "api_error", ERROR_PROVIDER },
	{ "server_error", ERROR_PROVIDER },
	{ "internal_server_error", ERROR_PROVIDER },
	{ "InternalServerError", ERROR_PROVIDER },
	{ "INTERNAL", ERROR_PROVIDER },
	{ "UNKNOWN", ERROR_PROVIDER }
};

/* Phrases of messages, where an API has no word of its own. */
static const struct {
	const char *phrase;
	enum error_code category;
} phrases[] = {
	{ "prompt is too long", ERROR_CONTEXT_LENGTH },
	{ "context length", ERROR_CONTEXT_LENGTH },
	{ "context_length", ERROR_CONTEXT_LENGTH },
	{ "prompt length", ERROR_CONTEXT_LENGTH },
	{ "input length", ERROR_CONTEXT_LENGTH },
	{ "input_too_large", ERROR_CONTEXT_LENGTH },
	{ "input tokens exceed", ERROR_CONTEXT_LENGTH },
	{ "too many input tokens", ERROR_CONTEXT_LENGTH },
	{ "max_model_len", ERROR_CONTEXT_LENGTH },
	{ "max_new_tokens", ERROR_CONTEXT_LENGTH },
	{ "context window", ERROR_CONTEXT_LENGTH },
	{ "context limit", ERROR_CONTEXT_LENGTH },
	{ "context size", ERROR_CONTEXT_LENGTH },
	{ "maximum number of tokens", ERROR_CONTEXT_LENGTH },
	{ "maximum prompt length", ERROR_CONTEXT_LENGTH },
	{ "API key not valid", ERROR_AUTH },
	{ "API key expired", ERROR_AUTH },
	{ "incorrect API key", ERROR_AUTH },
	{ "invalid API key", ERROR_AUTH },
	{ "credit balance", ERROR_AUTH },
	{ "insufficient balance", ERROR_AUTH },
	{ "flagged", ERROR_REFUSED },
	{ "limited access to this content", ERROR_REFUSED },
	{ "safety reasons", ERROR_REFUSED },
	{ "usage policy", ERROR_REFUSED },
	{ "usage policies", ERROR_REFUSED },
	{ "content policy", ERROR_REFUSED },
	{ "overloaded", ERROR_OVERLOADED }
};

static const struct {
	long from, to;
	enum error_code category;
} statuses[] = {
	{ 401, 403, ERROR_AUTH },
	{ 407, 407, ERROR_AUTH },
	{ 408, 408, ERROR_NETWORK },
	{ 413, 413, ERROR_CONTEXT_LENGTH },
	{ 429, 429, ERROR_RATE_LIMIT },
	{ 300, 499, ERROR_INVALID },
	{ 503, 504, ERROR_OVERLOADED },
	{ 529, 529, ERROR_OVERLOADED }
};

/* Ignores case: some write theirs in capitals. */
static enum error_code
word_category(struct span word)
{
	char text[64];

	if (!span_copy(word, text, sizeof text))
		return ERROR_NONE;
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strcasecmp(text, words[i].word) == 0)
			return words[i].category;
	return ERROR_NONE;
}

static enum error_code
status_category(long status)
{
	for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
		if (status >= statuses[i].from && status <= statuses[i].to)
			return statuses[i].category;
	return ERROR_PROVIDER;
}

/* A member that one of the objects in the array `details` has. */
static struct span
find_detail(struct span object, const char *member)
{
	struct span value;

	for (struct span_walk detail = span_walk(span_member(object, "details")); span_next(&detail);) {
		value = span_member(detail.value, member);
		if (value.at != NULL)
			return value;
	}
	return SPAN_NONE;
}

/* First exact words, then phrases; a vague word counts only if the status is ambiguous. */
static enum error_code
failure_categorise(struct span object, const char *message, long status)
{
	enum { CODE, REASON, TYPE, MODERATED, PHRASE, STATUS, SOURCES };
	struct span metadata = span_member(object, "metadata");
	enum error_code said[SOURCES] = {
		[CODE] = word_category(span_member(object, "code")),
		[REASON] = word_category(find_detail(object, "reason")),
		[TYPE] = word_category(span_member(object, "type")),
		[STATUS] = status == 0 ? ERROR_NONE : status_category(status)
	};

	if (said[TYPE] == ERROR_NONE)
		said[TYPE] = word_category(span_member(object, "status"));
	/* OpenRouter reports an input that it does not pass on in this form. */
	if (span_member(metadata, "flagged_input").at != NULL ||
	    (span_type(span_member(metadata, "reasons")) == 'a' &&
	    span_member(metadata, "provider_name").at != NULL))
		said[MODERATED] = ERROR_REFUSED;
	for (size_t i = 0; i < sizeof phrases / sizeof phrases[0] && said[PHRASE] == ERROR_NONE; i++)
		if (strcasestr(message, phrases[i].phrase) != NULL)
			said[PHRASE] = phrases[i].category;

	/* APIs use vague words also for missing keys, overlong prompts and unknown models. */
	for (size_t i = 0; i < SOURCES; i++)
		if (said[i] != ERROR_NONE && said[i] != ERROR_INVALID && said[i] != ERROR_PROVIDER)
			return said[i];
	if (status >= 400)
		return said[STATUS];
	for (size_t i = 0; i < SOURCES; i++)
		if (said[i] != ERROR_NONE)
			return said[i];
	return ERROR_PROVIDER;
}

/* Shortens a text that is not a message. The secret is hidden before: a part of it would not be
 * found. */
static void
failure_cut_text(char *text, const char *secret)
{
	size_t len = strlen(text);

	text_hide(text, len, secret);
	if (len > SHOWN)
		text[utf8_whole(text, SHOWN)] = '\0';
}

struct span
failure_object(struct span value)
{
	return span_type(value) == 'a' ? span_element(value, 0) : value;
}

void
failure_from_json(struct failure *f, struct span value, const char *secret)
{
	static const char *const keys[] = { "message", "detail", "error" };
	struct buffer text = BUFFER_INIT;
	char *message, delay[32], *end;
	long long code = 0;
	double seconds;
	size_t i;

	/* The message of an object, or a text, or else everything that was sent as the error. */
	for (i = 0; i < sizeof keys / sizeof keys[0] && text.len == 0; i++)
		span_decode(span_member(value, keys[i]), &text);
	span_decode(value, &text);
	if (text.len > 0) {
		message = buffer_take(&text);
		text_hide(message, strlen(message), secret);
	} else {
		buffer_append(&text, value.at, value.len);
		message = buffer_take(&text);
		failure_cut_text(message, secret);
	}

	/* If a stream began with 200, a later failure has its status here. */
	if (f->status == 0 && span_integer(span_member(value, "code"), &code) &&
	    code >= 300 && code <= 599)
		f->status = (long)code;
	/* google.rpc.RetryInfo: seconds, "12.5s". */
	if (f->retry_after_ms == 0 &&
	    span_copy(find_detail(value, "retryDelay"), delay, sizeof delay)) {
		seconds = strtod(delay, &end);
		if (strcmp(end, "s") == 0 && seconds > 0 && seconds < 1e9)
			f->retry_after_ms = (int64_t)(seconds * 1000);
	}
	error_set(&f->error, failure_categorise(value, message, f->status), NULL, "%s", message);
	free(message);
}

void
failure_take_request_id(struct failure *f, struct span object)
{
	char id[HTTP_REQUEST_ID_SIZE];

	if (f->request_id[0] == '\0' && span_copy(span_member(object, "request_id"), id, sizeof id))
		memcpy(f->request_id, id, sizeof id);
}

void
failure_from_body(struct failure *f, const struct buffer *body, const char *secret)
{
	const char *text = buffer_string(body), *colon;
	struct span value = span_of(text, body->len), error;
	struct error said;
	size_t bad;

	if (scan_check(value.at, value.len, &bad) != NULL) {
		char *line = memory_copy(text, strcspn(text, "\r\n"));

		failure_cut_text(line, secret);
		error_set(&f->error, status_category(f->status), NULL, "%s",
		    utf8_valid(line, strlen(line)) ? line : "");
		free(line);
	} else {
		failure_take_request_id(f, value);
		error = span_member(failure_object(value), "error");
		failure_from_json(f, span_type(error) == 'o' ? error : value, secret);
	}

	/* Often there is only the status; the id is for questions to the API's support. */
	said = f->error;
	colon = said.message[0] == '\0' ? "" : ": ";
	if (f->request_id[0] != '\0')
		error_set(&f->error, said.code, NULL, "HTTP %ld (request %s)%s%s", f->status,
		    f->request_id, colon, said.message);
	else
		error_set(&f->error, said.code, NULL, "HTTP %ld%s%s", f->status, colon, said.message);
}
