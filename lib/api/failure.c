/*
 * One reader for every form in which APIs report errors: failure_find() finds the object that
 * describes the error, wherever an API puts it, and failure_from_json() categorises it. Three
 * sources are used, in this order: the API's word (a code or type), phrases in the message, the
 * HTTP status. A vague word (invalid request, server error) counts only if the status is ambiguous,
 * since APIs also use such words for missing keys and overlong prompts.
 *
 * Messages are written for people; they also quote what the user wrote, and mention other limits
 * than that of the prompt: so text between quotes is ignored, and a message about the length of the
 * answer, of a name or of an image is not about the prompt.
 */
#define _GNU_SOURCE /* strcasestr() */
#include "api/failure.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"

#define SHOWN 300 /* bytes that are shown of a body that is not JSON */
#define RETRY_LIMIT_MS ((int64_t)3600 * 1000) /* a longer wait in a message is ignored */
#define QUOTE_SHORTEST 12 /* bytes between quotes, from which on they are more than a name or a
                             value */

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
	/* Chat Completions and compatible servers */
	{ "invalid_api_key", ERROR_AUTH },
	{ "insufficient_quota", ERROR_AUTH },
	{ "billing_hard_limit_reached", ERROR_AUTH },
	{ "exceeded_current_quota_error", ERROR_AUTH }, /* Moonshot */
	{ "Arrearage", ERROR_AUTH },                    /* DashScope */
	{ "1113", ERROR_AUTH },                         /* Zhipu: no balance */
	{ "1008", ERROR_AUTH },                         /* MiniMax: no balance */
	{ "budget_exceeded", ERROR_AUTH },              /* LiteLLM */
	{ "account_deactivated", ERROR_AUTH },
	{ "model_not_found", ERROR_INVALID },
	{ "context_length_exceeded", ERROR_CONTEXT_LENGTH },
	{ "string_above_max_length", ERROR_CONTEXT_LENGTH },
	{ "model_max_prompt_tokens_exceeded", ERROR_CONTEXT_LENGTH },
	{ "1261", ERROR_CONTEXT_LENGTH },               /* Zhipu */
	{ "2013", ERROR_CONTEXT_LENGTH },               /* MiniMax */
	{ "exceed_context_size_error", ERROR_CONTEXT_LENGTH },
	{ "rate_limit_exceeded", ERROR_RATE_LIMIT },
	{ "engine_overloaded_error", ERROR_OVERLOADED },
	{ "1002", ERROR_RATE_LIMIT },                   /* MiniMax */
	{ "1302", ERROR_RATE_LIMIT },                   /* Zhipu */
	{ "1305", ERROR_OVERLOADED },                   /* Zhipu */
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
	{ "data_inspection_failed", ERROR_REFUSED }, /* DashScope */
	{ "1301", ERROR_REFUSED },                   /* Zhipu */
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
	/* vague words: they count only if neither a more exact word nor the status says more */
	{ "invalid_prompt", ERROR_INVALID },
	{ "api_error", ERROR_PROVIDER },
	{ "server_error", ERROR_PROVIDER },
	{ "internal_server_error", ERROR_PROVIDER },
	{ "InternalServerError", ERROR_PROVIDER },
	{ "INTERNAL", ERROR_PROVIDER },
	{ "UNKNOWN", ERROR_PROVIDER }
};

/* Phrases in messages, for APIs without a word for the error: extended regular expressions, matched
 * without regard to case, and the statuses at which they count. */
static const struct {
	const char *pattern;
	enum error_code category;
	enum { ALWAYS, MONEY_STATUS, PROMPT_STATUS } at;
} phrases[] = {
	/* The prompt does not fit: exact phrases. */
	{ "prompt is too long|(prompt|input) length|input_too_large|input tokens exceed|"
	    "too many input tokens|max_model_len|max_new_tokens|"
	    "context([ _]?length|[ _]?window| limit| size)|maximum (number of tokens|prompt length)|"
	    "[0-9] tokens > [0-9]+ maximum",
	    ERROR_CONTEXT_LENGTH, ALWAYS },
	/* The key or the account. */
	{ "API key (not valid|expired)|(incorrect|invalid) API key|credit balance|"
	    "insufficient balance", ERROR_AUTH, ALWAYS },
	{ "insufficient (account )?(credits?|funds|quota)|out of credits|"
	    "(used|exhausted) all (your )?(available )?credits|spending limit|"
	    "account[^.]{0,30} (is )?suspended|check your plan and billing|recharge|good standing|"
	    "payment required|usage limits?|budget limit|limit: 0([^0-9.]|$)", ERROR_AUTH, MONEY_STATUS },
	/* The content that the user or the model wrote, and the server's load. */
	{ "flagged|limited access to this content|safety (reasons|system)|usage polic(y|ies)|"
	    "content[ _]?((management|filter)[ _])?policy|violates our policy", ERROR_REFUSED, ALWAYS },
	{ "overloaded|server busy|model is not ready|currently loading|out of capacity",
	    ERROR_OVERLOADED, ALWAYS },
	{ "throttl(ed|ing)|too many requests|request limit exceeded|resource exhausted",
	    ERROR_RATE_LIMIT, ALWAYS },
	/* The prompt does not fit: other phrases, unless the message is about another length. */
	{ "(number of |prompt |input |request )tokens? (count )?[^.]{0,40}exceed|"
	    "(prompt|input|context|messages?|request)[^.]{0,60}"
	    "(too long|too large|exceed[a-z]*|[^a-z]over[^a-z])"
	    "[^.]{0,60}(token|context|length|window|model|limit of [0-9]{4}|[.]?$)|"
	    "exceed[a-z]* (model )?(the )?(token|context|max[a-z]* (prompt|input|context) )[a-z ]*"
	    "(limit|length|window|size)|too many tokens|range of input length|"
	    "reduce the length of the (messages|prompt)|prompt exceeds max length|"
	    "tokens? (to keep|exceeds?)[^.]*context", ERROR_CONTEXT_LENGTH, PROMPT_STATUS }
};

/* Phrases about other lengths than that of the prompt. */
#define OF_ANOTHER "max_(completion_|output_|new_)?tokens?[^_a-z.][^.]{0,30}(exceed|>|too)|" \
	"image|stop sequence|[^a-z]names?[^a-z]|[^a-z]id[^a-z.]{0,12}too long|tool_calls\\["

static const struct {
	long from, to;
	enum error_code category;
} statuses[] = {
	{ 401, 403, ERROR_AUTH },
	{ 407, 407, ERROR_AUTH },
	{ 408, 408, ERROR_NETWORK },
	{ 409, 409, ERROR_OVERLOADED },
	{ 499, 499, ERROR_NETWORK },
	{ 413, 413, ERROR_CONTEXT_LENGTH },
	{ 429, 429, ERROR_RATE_LIMIT },
	{ 424, 424, ERROR_OVERLOADED }, /* Azure: the model is not ready */
	{ 300, 499, ERROR_INVALID },
	{ 503, 504, ERROR_OVERLOADED },
	{ 521, 524, ERROR_OVERLOADED }, /* Cloudflare: the server behind it does not answer */
	{ 529, 529, ERROR_OVERLOADED }
};

/* Compares without regard to case; a word may also be a number. */
static enum error_code
word_category(struct span word)
{
	char text[64];
	long long number;

	if (span_integer(word, &number))
		snprintf(text, sizeof text, "%lld", number);
	else if (!span_copy(word, text, sizeof text))
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

static bool
text_matches(const char *text, const char *pattern)
{
	regex_t compiled;
	bool found = regcomp(&compiled, pattern, REG_EXTENDED | REG_ICASE | REG_NOSUB) == 0;

	INVARIANT(found);
	if (!found)
		return false;
	found = regexec(&compiled, text, 0, NULL, 0) == 0;
	regfree(&compiled);
	return found;
}

/* Removes text between quotes if it is longer than a name or a value: it was written by somebody
 * else. An apostrophe within a word is not a quote. */
static void
text_remove_quotes(char *text)
{
	char *to = text;

	for (const char *at = text; *at != '\0';) {
		const char *end = NULL;

		if ((*at == '\'' || *at == '"') && (at == text || strchr(" (:=,[{", at[-1]) != NULL))
			end = strchr(at + 1, *at);
		if (end != NULL && end - at > QUOTE_SHORTEST)
			at = end + 1;
		else
			*to++ = *at++;
	}
	*to = '\0';
}

static enum error_code
phrase_category(const char *message, long status)
{
	char *text = memory_text(message);
	enum error_code found = ERROR_NONE;
	const bool counts[] = {
		[ALWAYS] = true,
		[MONEY_STATUS] = status == 0 || status == 400 || (status >= 402 && status <= 403) ||
		    status == 412 || status == 429,
		[PROMPT_STATUS] = status == 0 || status == 400 || status == 413 || status == 422 ||
		    status == 500
	};

	text_remove_quotes(text);
	for (size_t i = 0; i < sizeof phrases / sizeof phrases[0] && found == ERROR_NONE; i++)
		if (counts[phrases[i].at] && text_matches(text, phrases[i].pattern) &&
		    (phrases[i].at != PROMPT_STATUS || !text_matches(text, OF_ANOTHER)))
			found = phrases[i].category;
	free(text);
	return found;
}

/* The member of the first object in the array `details` that has it. */
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

/* The category of the first of the endpoint's rules whose conditions all match. */
static enum error_code
rule_category(struct span rules, struct span object, const char *message, long status)
{
	enum error_code found = ERROR_NONE;

	for (struct span_walk rule = span_walk(rules); found == ERROR_NONE && span_next(&rule);) {
		struct span at = span_member(rule.value, "status");
		struct span code = span_member(rule.value, "code");
		struct span said = span_member(object, "code");
		char *text = span_text(span_member(rule.value, "text"));
		char *is = span_text(span_member(rule.value, "is"));
		char *wanted = span_text(code), *got = span_text(said);
		long long number;
		bool fits = is != NULL;

		fits = fits && (at.at == NULL || (span_integer(at, &number) && number == status));
		fits = fits && (text == NULL || strcasestr(message, text) != NULL);
		/* A code may be a string or a number: "1113" equals 1113. */
		if (fits && code.at != NULL) {
			struct span one = wanted == NULL ? code : span_of(wanted, strlen(wanted));
			struct span other = got == NULL ? said : span_of(got, strlen(got));

			fits = one.len > 0 && span_same(one, other);
		}
		if (fits)
			found = error_from_name(is, strlen(is));
		free(text);
		free(is);
		free(wanted);
		free(got);
	}
	return found;
}

/* Exact words come first, then phrases in the message; a vague word counts only if the status is
 * ambiguous. waits: the API says how long to wait. */
static enum error_code
failure_categorise(struct span object, const char *message, long status, bool waits)
{
	enum { CODE, REASON, TYPE, MODERATED, PHRASE, STATUS, SOURCES };
	struct span metadata = span_member(object, "metadata");
	enum error_code said[SOURCES] = {
		[CODE] = word_category(span_member(object, "code")),
		[REASON] = word_category(find_detail(object, "reason")),
		[TYPE] = word_category(span_member(object, "type")),
		[PHRASE] = phrase_category(message, status),
		[STATUS] = status == 0 ? ERROR_NONE : status_category(status)
	};

	/* Groq: the model wrote a tool call that cannot be parsed; another try may succeed. */
	if (span_is(span_member(object, "code"), "tool_use_failed"))
		return ERROR_PROVIDER;
	/* Anthropic: the account does not cover a prompt of this length. */
	if (strcasestr(message, "extra usage is required") != NULL)
		return ERROR_CONTEXT_LENGTH;
	/* Groq: the request has more tokens than are allowed per minute, so waiting does not
	 * help. */
	if (text_matches(message, "request too large.*(TPM|tokens per minute)") &&
	    strcasestr(message, "try again in") == NULL)
		return ERROR_CONTEXT_LENGTH;
	if (said[CODE] == ERROR_NONE)
		said[CODE] = word_category(span_member(object, "status_code")); /* MiniMax */
	if (said[CODE] == ERROR_NONE)
		said[CODE] = word_category(span_member(object, "error_code")); /* Databricks */
	/* A quota of 0, or one that is used up without a time to wait, is not a rate limit. */
	if (said[PHRASE] == ERROR_AUTH && status == 429)
		return waits && !text_matches(message, "limit: 0([^0-9.]|$)") ? ERROR_RATE_LIMIT : ERROR_AUTH;
	if (said[TYPE] == ERROR_NONE)
		said[TYPE] = word_category(span_member(object, "status"));
	/* OpenRouter reports an input that it has blocked in this form. */
	if (span_member(metadata, "flagged_input").at != NULL ||
	    (span_type(span_member(metadata, "reasons")) == 'a' &&
	    span_member(metadata, "provider_name").at != NULL))
		said[MODERATED] = ERROR_REFUSED;

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

/* Shortens a text that is not a message. The secret is hidden first: a part of it would not be
 * found. */
static void
failure_cut_text(char *text, char *const *secrets)
{
	size_t len = strlen(text);

	text_hide_all(text, len, secrets);
	if (len > SHOWN)
		text[utf8_whole(text, SHOWN)] = '\0';
}

static char *failure_message(struct span value, char *const *secrets);

/* Adds the beginning of a text inside an error: what the model wrote, or the answer of the server
 * behind a router. */
static void
failure_add_excerpt(struct buffer *message, const char *before, struct span value, char *const *secrets)
{
	char *text = span_type(value) == 's' ? span_text(value) :
	    value.at == NULL || span_type(value) == '0' ? NULL : memory_copy(value.at, value.len);

	if (text != NULL && *text != '\0') {
		failure_cut_text(text, secrets);
		buffer_format(message, "%s%s", before, text);
	}
	free(text);
}

/* Adds the answer of the server behind a router: its message, if it is JSON, else its text. */
static void
failure_add_raw(struct buffer *message, struct span raw, char *const *secrets)
{
	struct buffer inner = BUFFER_INIT;
	struct span found = SPAN_NONE;
	size_t bad;

	span_decode(raw, &inner);
	if (inner.len > 0 && scan_check(inner.data, inner.len, &bad) == NULL)
		found = failure_find(span_of(inner.data, inner.len));
	if (found.at != NULL) {
		char *said = failure_message(found, secrets);

		buffer_format(message, ": %s", said);
		free(said);
	} else {
		failure_add_excerpt(message, ": ", raw, secrets);
	}
	buffer_free(&inner);
}

/* How long a message asks to wait, in ms: the sum of "1h2m3.5s", "20 ms", "6 minutes"; 0: it does
 * not say, or the time is too long. */
static int64_t
wait_in_text(const char *message)
{
	static const char *const begins[] = { "try again in ", "try again after ", "retry in ",
	    "retry after ", "wait for ", "wait " };
	static const struct { const char *unit; double ms; } units[] = {
		{ "ms", 1 }, { "millisecond", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }
	};
	const char *at = NULL;
	double sum = 0;

	for (size_t i = 0; i < sizeof begins / sizeof begins[0] && at == NULL; i++) {
		at = strcasestr(message, begins[i]);
		if (at != NULL)
			at += strlen(begins[i]);
	}
	while (at != NULL && *at >= '0' && *at <= '9') {
		char *end;
		double number = strtod(at, &end);
		size_t i = 0;

		end += strspn(end, " ");
		while (i < sizeof units / sizeof units[0] &&
		    strncasecmp(end, units[i].unit, strlen(units[i].unit)) != 0)
			i++;
		/* "m" is also a prefix of "ms" and "milliseconds", which come first in the
		 * table. */
		if (i == sizeof units / sizeof units[0])
			break;
		sum += number * units[i].ms;
		at = end + strspn(end, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
		at += strspn(at, " ,");
	}
	return sum > 0 && sum <= (double)RETRY_LIMIT_MS ? (int64_t)(sum + 0.5) : 0;
}

/* Converts a number of seconds to ms; 0: it is not a number, or is too long. */
static int64_t
seconds_ms(struct span number)
{
	char text[32] = "";
	double ms;

	if (span_type(number) != 'n' || number.len >= sizeof text)
		return 0;
	memcpy(text, number.at, number.len);
	ms = strtod(text, NULL) * 1000;
	return ms > 0 && ms <= (double)RETRY_LIMIT_MS ? (int64_t)ms : 0;
}

struct span
failure_find(struct span value)
{
	enum { FOUND, LIST, BASE_RESP, OBJECT, TYPE, ERROR_NUMBER, TEXT, DETAIL, CHOICES, CANDIDATES,
		CONTENT, OUTPUT, MEMBERS };
	static const char *const keys[MEMBERS] = { "error", "errors", "base_resp", "object", "type",
	    "error_code", "message", "detail", "choices", "candidates", "content", "output" };
	struct span object = span_type(value) == 'a' ? span_element(value, 0) : value;
	struct span at[MEMBERS], first;
	long long number = 0;
	bool answers;

	if (span_type(object) != 'o')
		return SPAN_NONE;
	/* In one pass: this is called for each event of each answer. */
	span_members(object, keys, MEMBERS, at);
	if (span_type(at[FOUND]) == 'o')
		return at[FOUND];
	/* xAI, Ollama: a string, with more members beside it. */
	if (span_type(at[FOUND]) == 's' && !span_is(at[FOUND], ""))
		return object;
	first = span_element(at[LIST], 0);
	if (first.at != NULL)
		return span_type(first) == 'o' ? first : object;
	/* MiniMax: present in each answer; 0 is success. */
	if (span_integer(span_member(at[BASE_RESP], "status_code"), &number) && number != 0)
		return at[BASE_RESP];
	/* Mistral, Cohere, Bedrock, Databricks, FastAPI: the members of the error are at the top
	 * level. */
	answers = at[CHOICES].at != NULL || at[CANDIDATES].at != NULL || at[CONTENT].at != NULL ||
	    at[OUTPUT].at != NULL;
	if (span_is(at[OBJECT], "error") || span_is(at[TYPE], "error") ||
	    span_type(at[ERROR_NUMBER]) == 's' || (span_type(at[TEXT]) == 's' && !answers) ||
	    (span_type(at[DETAIL]) == 's' && !answers) ||
	    span_member(span_element(at[DETAIL], 0), "msg").at != NULL)
		return object;
	return SPAN_NONE;
}

/* The message of an error: its text, or else everything that was sent as the error. Allocated. */
static char *
failure_message(struct span value, char *const *secrets)
{
	static const char *const keys[] = { "message", "status_msg", "detail", "details", "error",
	    "error_msg" };
	struct span metadata = span_member(value, "metadata");
	struct buffer text = BUFFER_INIT;
	char *message;

	for (size_t i = 0; i < sizeof keys / sizeof keys[0] && text.len == 0; i++)
		span_decode(span_member(value, keys[i]), &text);
	span_decode(value, &text);
	if (text.len == 0)
		span_decode(span_member(span_element(span_member(value, "detail"), 0), "msg"), &text);
	if (text.len == 0)
		span_decode(span_element(span_member(value, "errors"), 0), &text);
	if (text.len > 0) {
		/* Add the answer of the server behind a router, and what a model wrote instead of a
		 * tool call. */
		failure_add_raw(&text, span_member(metadata, "raw"), secrets);
		failure_add_excerpt(&text, ", it wrote: ", span_member(value, "failed_generation"),
		    secrets);
		message = buffer_take(&text);
		text_hide_all(message, strlen(message), secrets);
	} else {
		buffer_append(&text, value.at, value.len);
		message = buffer_take(&text);
		failure_cut_text(message, secrets);
	}
	return message;
}

void
failure_from_json(struct failure *f, struct span value, char *const *secrets)
{
	char *message = failure_message(value, secrets), delay[32], *end;
	enum error_code category;
	long long code = 0;
	double seconds = 0;

	/* If a stream began with status 200, the status of a later failure is here. */
	if ((f->status == 0 || (f->status >= 200 && f->status <= 299)) &&
	    (span_integer(span_member(value, "code"), &code) ||
	    span_integer(span_member(value, "status"), &code)) && code >= 300 && code <= 599)
		f->status = (long)code;
	category = rule_category(f->rules, value, message, f->status);
	if (category == ERROR_NONE)
		category = failure_categorise(value, message,
		    f->status >= 200 && f->status <= 299 ? 0 : f->status,
		    f->retry_after_ms > 0 || find_detail(value, "retryDelay").at != NULL ||
		    wait_in_text(message) > 0);

	/* google.rpc.RetryInfo: a string of seconds, "12.5s"; Hugging Face: a number of seconds. */
	if (f->retry_after_ms == 0 &&
	    span_copy(find_detail(value, "retryDelay"), delay, sizeof delay)) {
		seconds = strtod(delay, &end);
		if (strcmp(end, "s") == 0 && seconds > 0 && seconds < 1e9)
			f->retry_after_ms = (int64_t)(seconds * 1000);
	}
	if (f->retry_after_ms == 0)
		f->retry_after_ms = seconds_ms(span_member(value, "estimated_time"));
	if (f->retry_after_ms == 0 && (category == ERROR_RATE_LIMIT || category == ERROR_OVERLOADED))
		f->retry_after_ms = wait_in_text(message);
	error_set(&f->error, category, NULL, "%s", message);
	free(message);
}

void
failure_take_request_id(struct failure *f, struct span object)
{
	char id[HTTP_REQUEST_ID_SIZE];

	if (f->request_id[0] == '\0' && span_copy(span_member(object, "request_id"), id, sizeof id))
		memcpy(f->request_id, id, sizeof id);
}

char *
failure_first_words(const char *text)
{
	const char *title = strcasestr(text, "<title>");

	text += strspn(text, " \t\r\n");
	if (*text == '<' && title != NULL) {
		title += strlen("<title>");
		title += strspn(title, " \t\r\n");
		return memory_copy(title, strcspn(title, "<\r\n"));
	}
	return memory_copy(text, strcspn(text, "\r\n"));
}

/* The data of the first event, if the body is an event stream; else the body. */
static struct span
first_event(struct span body)
{
	static const char field[] = "\ndata:";
	const char *at, *end;

	if (body.len == 0 || *body.at == '{' || *body.at == '[')
		return body;
	if (body.len >= 5 && memcmp(body.at, field + 1, 5) == 0)
		at = body.at + 5;
	else
		at = strstr(body.at, field);
	if (at == NULL)
		return body;
	at += at == body.at + 5 ? 0 : sizeof field - 1;
	end = at + strcspn(at, "\r\n");
	return span_trim(span_of(at, (size_t)(end - at)));
}

void
failure_from_body(struct failure *f, const struct buffer *body, char *const *secrets)
{
	const size_t mark = text_byte_order_mark(buffer_string(body), body->len);
	const char *text = buffer_string(body) + mark, *colon;
	struct span value = first_event(span_of(text, body->len - mark)), found;
	struct error said;
	size_t bad;

	if (scan_check(value.at, value.len, &bad) != NULL) {
		char *line = failure_first_words(text);

		/* It is in another encoding: show only the ASCII characters. */
		for (char *at = line; !utf8_valid(line, strlen(line)) && *at != '\0'; at++)
			if ((unsigned char)*at >= 0x80)
				*at = '?';
		failure_cut_text(line, secrets);
		error_set(&f->error, status_category(f->status), NULL, "%s", line);
		free(line);
	} else {
		failure_take_request_id(f, value);
		found = failure_find(value);
		failure_from_json(f, found.at != NULL ? found : value, secrets);
	}

	/* Often there is only the status; the request id is for the API's support. */
	said = f->error;
	colon = said.message[0] == '\0' ? "" : ": ";
	if (f->request_id[0] != '\0')
		error_set(&f->error, said.code, NULL, "HTTP %ld (request %s)%s%s", f->status,
		    f->request_id, colon, said.message);
	else
		error_set(&f->error, said.code, NULL, "HTTP %ld%s%s", f->status, colon, said.message);
}
