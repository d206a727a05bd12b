/*
 * The path says what is requested, and mostly of which API; if two APIs have the same path, as for
 * the list of models, a header field that only one of them has decides. Requests in no table may
 * change something.
 */
#include "apis.h"

#include <string.h>
#include <strings.h>

#include "json/writer.h"
#include "net/http.h"
#include "request_path.h"

const char *const family_names[FAMILIES] = {
	[FAMILY_OPENAI] = "openai", [FAMILY_ANTHROPIC] = "anthropic", [FAMILY_GOOGLE] = "google",
	[FAMILY_VERTEX] = "vertex"
};
const char *const family_bases[FAMILIES] = {
	[FAMILY_OPENAI] = "https://api.openai.com/v1",
	[FAMILY_ANTHROPIC] = "https://api.anthropic.com",
	[FAMILY_GOOGLE] = "https://generativelanguage.googleapis.com",
	[FAMILY_VERTEX] = "https://aiplatform.googleapis.com"
};

/* ---- what a request means ---- */

/* Ends of paths of POST requests: generations, and requests that change nothing. */
static const struct {
	const char *end;
	const struct stream_api *generation;
	bool chat;
} posts[] = {
	{ "/messages", &anthropic_stream, false },
	{ "/chat/completions", &openai_stream, true },
	{ "/completions", &openai_stream, true },
	{ "/responses", &openai_responses_stream, false },
	{ ":generateContent", &google_stream, false },
	{ ":streamGenerateContent", &google_stream, false },
	{ "/count_tokens", NULL, false },
	{ "/input_tokens", NULL, false },
	{ "/embeddings", NULL, false },
	{ "/moderations", NULL, false },
	{ "/rerank", NULL, false },
	{ ":countTokens", NULL, false },
	{ ":computeTokens", NULL, false },
	{ ":embedContent", NULL, false },
	{ ":batchEmbedContents", NULL, false },
	{ ":predict", NULL, false }
};

static struct span
path_of(struct span target)
{
	const char *query = memchr(target.at, '?', target.len);

	return query != NULL ? span_of(target.at, (size_t)(query - target.at)) : target;
}

static bool
apis_has_prefix(struct span path, const char *with)
{
	return path.len >= strlen(with) && memcmp(path.at, with, strlen(with)) == 0;
}

static bool
apis_has_suffix(struct span path, const char *with)
{
	size_t len = strlen(with);

	return path.len >= len && memcmp(path.at + path.len - len, with, len) == 0;
}

/* Finds the value of a query parameter; .at NULL: there is none. */
static struct span
apis_find_parameter(struct span target, const char *name)
{
	const char *at = memchr(target.at, '?', target.len), *end = target.at + target.len;
	size_t len = strlen(name);

	while (at != NULL && ++at < end) {
		const char *stop = memchr(at, '&', (size_t)(end - at));

		if ((size_t)(end - at) > len && memcmp(at, name, len) == 0 && at[len] == '=')
			return span_of(at + len + 1, (size_t)((stop != NULL ? stop : end) - at) - len - 1);
		at = stop;
	}
	return SPAN_NONE;
}

static enum family
family_of(const struct head *h, struct span path)
{
	static const char *const vertex[] = { "/v1/projects/", "/v1beta1/", "/v1/publishers/" };
	static const char *const google[] = { "/v1beta/", "/v1alpha/", "/upload/", "/v1main/" };

	for (size_t i = 0; i < sizeof vertex / sizeof *vertex; i++)
		if (apis_has_prefix(path, vertex[i]))
			return FAMILY_VERTEX;
	for (size_t i = 0; i < sizeof google / sizeof *google; i++)
		if (apis_has_prefix(path, google[i]))
			return FAMILY_GOOGLE;
	if (apis_has_prefix(path, "/messages") || apis_has_prefix(path, "/v1/messages") ||
	    head_value(h, "anthropic-version").at != NULL || head_value(h, "x-api-key").at != NULL)
		return FAMILY_ANTHROPIC;
	if (head_value(h, "x-goog-api-key").at != NULL ||
	    apis_find_parameter(h->target, "key").at != NULL)
		return FAMILY_GOOGLE;
	return FAMILY_OPENAI;
}

struct meaning
apis_meaning(const struct head *h)
{
	struct span path = path_of(h->target);
	struct meaning m = { .family = family_of(h, path) };

	m.reads = head_is(h->method, "GET") || head_is(h->method, "HEAD");
	for (size_t i = 0; head_is(h->method, "POST") && i < sizeof posts / sizeof *posts; i++)
		if (apis_has_suffix(path, posts[i].end)) {
			m.generation = posts[i].generation;
			m.chat = posts[i].chat;
			m.reads = true;
			break;
		}
	return m;
}

/* ---- credentials ---- */

static const char *const credentials[] = { "authorization", "x-api-key", "x-goog-api-key", "api-key",
	NULL };

bool
apis_is_credential(struct span name)
{
	for (const char *const *known = credentials; *known != NULL; known++)
		if (head_is(name, *known))
			return true;
	return false;
}

/* What the vendors' clients send. A name that ends in a hyphen stands for all that begin with it. */
static const char *const known_fields[] = { "accept", "accept-language", "user-agent", "content-type",
	"content-encoding", "range", "if-none-match", "anthropic-beta", "anthropic-version",
	"anthropic-dangerous-direct-browser-access", "openai-beta", "http-referer", "x-title", "x-app", "originator",
	"idempotency-key", "x-request-id", "x-client-request-id", "session_id", "conversation_id", "x-session-id",
	"x-session-affinity", "x-grok-conv-id", "x-server-timeout", "x-stainless-", "x-goog-api-client",
	"x-goog-upload-", "traceparent", "tracestate", NULL };

bool
apis_is_known_field(struct span name)
{
	for (const char *const *known = known_fields; *known != NULL; known++) {
		const size_t len = strlen(*known);

		if (head_is(name, *known) ||
		    ((*known)[len - 1] == '-' && name.len > len && strncasecmp(name.at, *known, len) == 0))
			return true;
	}
	return false;
}

/* The token in "Bearer TOKEN", or the value itself. */
static struct span
apis_strip_bearer(struct span value)
{
	static const char bearer[] = "bearer ";
	const size_t len = sizeof bearer - 1;

	if (value.len > len && strncasecmp(value.at, bearer, len) == 0)
		return span_of(value.at + len, value.len - len);
	return value;
}

/* Takes time that depends only on the length. */
static bool
is_token(struct span value, const char *token)
{
	unsigned differ = 0;

	if (value.len != strlen(token))
		return false;
	for (size_t i = 0; i < value.len; i++)
		differ |= (unsigned char)value.at[i] ^ (unsigned char)token[i];
	return differ == 0;
}

bool
apis_admit(const struct head *h, const char *token)
{
	struct span key = apis_find_parameter(h->target, "key");
	bool found = false;

	for (size_t i = 0; i < h->count; i++) {
		if (!apis_is_credential(h->fields[i].name))
			continue;
		if (!is_token(apis_strip_bearer(h->fields[i].value), token))
			return false;
		found = true;
	}
	return key.at != NULL ? is_token(key, token) : found;
}

bool
apis_swap(struct buffer *out, struct span value, const char *token, const char *key)
{
	struct span old = apis_strip_bearer(value);

	if (key == NULL || !is_token(old, token))
		return false;
	buffer_append(out, value.at, (size_t)(old.at - value.at));
	buffer_text(out, key);
	return true;
}

/* Appends a target with its parameter "key" replaced by this key, or (NULL) removed. */
static void
add_target(struct buffer *out, struct span target, const char *key)
{
	struct span old = apis_find_parameter(target, "key");
	const char *end = target.at + target.len, *begin;

	if (old.at == NULL) {
		buffer_append(out, target.at, target.len);
		return;
	}
	begin = old.at - strlen("key=");
	if (key != NULL) {
		buffer_append(out, target.at, (size_t)(old.at - target.at));
		http_escape(out, key);
		buffer_append(out, old.at + old.len, (size_t)(end - old.at) - old.len);
	} else if (old.at + old.len < end) { /* with the & after it */
		buffer_append(out, target.at, (size_t)(begin - target.at));
		buffer_append(out, old.at + old.len + 1, (size_t)(end - old.at) - old.len - 1);
	} else { /* with the ? or & before it */
		buffer_append(out, target.at, (size_t)(begin - target.at) - 1);
	}
}

void
apis_bare_target(struct buffer *out, struct span target)
{
	add_target(out, target, NULL);
}

/* ---- the target ---- */

const char *
apis_refuses(const struct head *h)
{
	return head_is(h->method, "CONNECT") || head_is(h->method, "TRACE") ?
	    "awf-models-proxy passes on requests to model APIs, and no CONNECT or TRACE" : NULL;
}

const char *
apis_target(struct buffer *out, struct span target)
{
	struct span path = path_of(target);
	const char *wrong = request_path_normalize(path, out);

	buffer_append(out, target.at + path.len, target.len - path.len);
	return wrong;
}

void
apis_url(struct buffer *out, enum family family, const char *base, struct span target,
    const char *key)
{
	static const char version[] = "/v1";
	const size_t len = sizeof version - 1;
	size_t size = strlen(base);
	bool versioned = target.len > len && apis_has_prefix(target, version) &&
	    (target.at[len] == '/' || target.at[len] == '?');

	while (size > 0 && base[size - 1] == '/')
		size--;
	/* OpenAI's base contains the version, Anthropic's does not; clients write it either way. */
	if (family == FAMILY_ANTHROPIC && size > len && memcmp(base + size - len, version, len) == 0)
		size -= len;
	buffer_append(out, base, size);
	if (family == FAMILY_OPENAI && versioned)
		target = span_of(target.at + len, target.len - len);
	else if (family == FAMILY_ANTHROPIC && !versioned)
		buffer_text(out, version);
	add_target(out, target, key);
}

/* ---- errors ---- */

void
apis_error(struct buffer *out, enum family family, unsigned status, const char *message)
{
	static const struct word {
		unsigned status;
		const char *anthropic, *openai, *code, *google;
	} words[] = {
		{ 400, "invalid_request_error", "invalid_request_error", NULL, "INVALID_ARGUMENT" },
		{ 401, "authentication_error", "invalid_request_error", "invalid_api_key",
		    "UNAUTHENTICATED" },
		{ 413, "request_too_large", "invalid_request_error", "string_above_max_length",
		    "INVALID_ARGUMENT" },
		{ 426, "invalid_request_error", "invalid_request_error", NULL, "FAILED_PRECONDITION" },
		{ 502, "api_error", "server_error", NULL, "UNAVAILABLE" },
		{ 0, "invalid_request_error", "invalid_request_error", NULL, "INVALID_ARGUMENT" }
	};
	const struct word *word = words;
	struct writer w;

	while (word->status != 0 && word->status != status)
		word++;
	writer_begin(&w, out);
	writer_object(&w);
	if (family == FAMILY_ANTHROPIC)
		writer_member_string(&w, "type", "error");
	writer_member_object(&w, "error");
	if (family == FAMILY_ANTHROPIC) {
		writer_member_string(&w, "type", word->anthropic);
		writer_member_string(&w, "message", message);
	} else if (family == FAMILY_OPENAI) {
		writer_member_string(&w, "message", message);
		writer_member_string(&w, "type", word->openai);
		writer_key(&w, "param");
		writer_null(&w);
		writer_key(&w, "code");
		writer_string(&w, word->code);
	} else {
		writer_member_integer(&w, "code", status);
		writer_member_string(&w, "message", message);
		writer_member_string(&w, "status", word->google);
	}
	writer_object_end(&w);
	writer_object_end(&w);
}
