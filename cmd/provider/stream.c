/*
 * The way of an answer: bytes of HTTP, server-sent events of these (net/sse.h), JSON of each,
 * which the API's table takes. An event {"error": …} is an error in all APIs, and is
 * recognised here. What it all was is judged at the end: if the API had said that the answer
 * is whole, a connection that breaks after that takes nothing away. The key is hidden in what
 * the server says.
 */
#include "stream.h"

#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "failure.h"
#include "transcript/event_keys.h"

#define ANSWER_LIMIT SCAN_LINE_LIMIT /* bytes; no message that is longer would be taken */
#define BLOCKS_LIMIT 100000
#define PROGRAM_BEGIN "awf-provider-"
#define CALLING_PAUSE_MS 50 /* between two deltas of calls of tools */
#define DONE "[DONE]" /* the one event that is no JSON */

const char *const stream_media_types[] = { "image/png", "image/jpeg", "image/gif", "image/webp",
    "application/pdf", NULL };

/* What lives as long as the program. */
struct client {
	const struct stream_api *api;
	const struct provider_variables *variables;
	struct http *http;
};

void
stream_error(struct stream *s, enum error_code category, const char *format, ...)
{
	char text[sizeof s->failure.error.message];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	error_set(&s->failure.error, category, NULL, "%s", text);
	s->failed = true;
}

void
stream_refused(struct stream *s, struct span error)
{
	failure_from_json(&s->failure, error, s->key);
	s->failed = true;
}

void
stream_end(struct stream *s, const struct end *ends, struct span word, struct span said)
{
	const char *reason = end_reason(ends, word, said, &s->failure.error);

	if (reason != NULL)
		s->message.stop_reason = reason;
	else
		s->failed = true;
}

void
stream_text(struct stream *s, struct block *b, const char *kind, struct span text)
{
	size_t old = b->text.len;

	span_decode(text, &b->text);
	provider_delta(s->provider, kind, buffer_string(&b->text) + old, b->text.len - old);
}

/* An input may be a whole file, in pieces of a few bytes, which nobody needs one by one. */
void
stream_call(struct stream *s, const char *name, const char *input, size_t len)
{
	int64_t now;

	if (!s->request->stream)
		return;
	if (name != NULL)
		buffer_format(&s->calling, "%s%s ", s->calls++ > 0 ? "\n" : "", name);
	buffer_append(&s->calling, input, len);
	now = clock_monotonic();
	if (s->called != 0 && now < s->called + CALLING_PAUSE_MS)
		return;
	provider_delta(s->provider, "tool", buffer_string(&s->calling), s->calling.len);
	buffer_clear(&s->calling);
	s->called = now;
}

bool
stream_model(struct span model, const char *const *patterns)
{
	char *text = span_text(model);
	const char *slash = strrchr(text, '/');
	const char *name = slash == NULL ? text : slash + 1;
	bool found = false;

	for (; *patterns != NULL && !found; patterns++)
		found = fnmatch(*patterns, name, 0) == 0;
	free(text);
	return found;
}

bool
stream_own(struct span block, const char *api)
{
	return span_is(span_member(block, KEY_API), api);
}

struct span
stream_own_type(struct span block)
{
	return span_path(block, KEY_RAW, "type", NULL);
}

bool
stream_foreign(struct span block, const char *api)
{
	return stream_own_type(block).at != NULL && !stream_own(block, api);
}

bool
stream_type(struct span block, const char *type)
{
	return span_is(span_member(block, KEY_TYPE), type);
}

struct span
stream_own_raw(struct span block, const char *api, const char *member)
{
	return stream_own(block, api) ? span_path(block, KEY_RAW, member, NULL) : SPAN_NONE;
}

/* Efforts as numbers of tokens; the other way goes by the same limits. */
static const struct {
	const char *effort;
	long long budget;
} efforts[] = {
	{ "minimal", 1024 }, { "low", 2048 }, { "medium", 8192 }, { "high", 24576 }
};

long long
thinking_budget(struct span thinking)
{
	long long budget = 0;

	if (span_type(thinking) == 'o')
		thinking = span_member(thinking, "budget_tokens");
	number_set(&budget, thinking);
	if (span_true(thinking))
		budget = 8192; /* medium */
	for (size_t i = 0; i < sizeof efforts / sizeof efforts[0]; i++)
		if (span_is(thinking, efforts[i].effort))
			budget = efforts[i].budget;
	return budget;
}

const char *
thinking_effort(struct span thinking)
{
	long long budget = 0;

	if (span_true(thinking))
		return "medium";
	number_set(&budget, thinking);
	if (budget <= 0)
		return NULL;
	return budget <= 2048 ? "low" : budget <= 8192 ? "medium" : "high";
}

static int
on_event(void *context, const char *name, const char *data, size_t len)
{
	struct stream *s = context;
	struct span value = span_of(data, len), error;
	const char *why;
	size_t bad;

	(void)name;
	s->events++;
	if (s->message.ended || len == 0)
		return 0;
	if (len == strlen(DONE) && memcmp(data, DONE, len) == 0) {
		s->message.ended = s->api->done_ends;
		return 0;
	}
	why = scan_loosely(data, len, &bad);
	if (why != NULL) {
		stream_fail(s, "event %ld of the stream is not JSON: byte %zu: %s", s->events,
		    bad + 1, why);
		return s->failed;
	}
	/* An error, whatever the API: {"error": …}, or an array of it. */
	error = span_member(failure_object(value), "error");
	if (span_type(error) == 'o' || span_type(error) == 's') {
		failure_take_request_id(&s->failure, value);
		stream_refused(s, error);
	} else {
		s->api->event(s, value);
	}
	if (s->message.count > BLOCKS_LIMIT)
		stream_fail(s, "the answer has more than %d blocks", BLOCKS_LIMIT);
	return s->failed;
}

static int
on_bytes(void *context, const char *bytes, size_t len)
{
	struct stream *s = context;
	int result;

	for (size_t i = 0; i < len && s->first == '\0'; i++)
		if (strchr(" \t\r\n", bytes[i]) == NULL)
			s->first = bytes[i];
	s->bytes += len;
	if (s->bytes > ANSWER_LIMIT) {
		stream_fail(s, "the answer is above %zu MiB", ANSWER_LIMIT >> 20);
		return -1;
	}
	result = sse_feed(&s->sse, bytes, len);
	if (result == -1)
		stream_fail(s, "an event of the stream is above %zu MiB", SSE_EVENT_LIMIT >> 20);
	return result;
}

static enum http_watch
on_input(void *context)
{
	return provider_look(((struct stream *)context)->provider);
}

static void
before_wait(void *context)
{
	provider_flush(((struct stream *)context)->provider);
}

/* The variable that holds the key; NULL: none does. */
static const char *
key_variable(const struct provider_variables *v)
{
	if (environment_text(v->key) != NULL)
		return v->key;
	return v->key_fallback != NULL && environment_text(v->key_fallback) != NULL ?
	    v->key_fallback : NULL;
}

/* Finds the server and the key. */
static int
configure(struct stream *s, struct error *err)
{
	const struct provider_variables *v = s->variables;
	const char *variable = key_variable(v), *base = environment_text(v->base);

	s->base = base != NULL ? base : s->api->base;
	s->key = variable == NULL ? NULL : environment_text(variable);
	if (strncmp(s->base, "http://", 7) != 0 && strncmp(s->base, "https://", 8) != 0)
		return error_set(err, ERROR_INVALID, v->base,
		    "expected a URL that begins with http:// or https://");
	if (s->key == NULL && !(base != NULL && s->api->key_optional))
		return error_set(err, ERROR_AUTH, NULL, "no API key: set %s", v->key);
	for (const char *at = s->key; at != NULL && *at != '\0'; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			return error_set(err, ERROR_AUTH, variable,
			    "the key holds a control character (a line end?)");
	return 0;
}

static int
check_attachments(const struct stream *s, struct error *err)
{
	static const char *const attachments[] = { "image", "document", NULL };

	for (struct span_walk message = span_walk(s->request->messages); span_next(&message);) {
		struct span blocks = span_member(message.value, KEY_BLOCKS);

		if (!span_is(span_member(message.value, KEY_ROLE), "user"))
			continue;
		for (struct span_walk block = span_walk(blocks); span_next(&block);) {
			struct span media_type = span_member(block.value, KEY_MEDIA_TYPE);
			char *type, *name;

			if (span_one_of(span_member(block.value, KEY_TYPE), attachments) == NULL ||
			    span_one_of(media_type, s->api->media_types) != NULL)
				continue;
			type = span_text(media_type);
			name = span_text(span_member(block.value, KEY_NAME));
			error_set(err, ERROR_INVALID, name, "the API takes no attachments of the type %s",
			    type == NULL ? "(none)" : type);
			free(type);
			free(name);
			return -1;
		}
	}
	return 0;
}

static int
post(struct stream *s, struct http *http, struct http_answer *answer, struct error *err)
{
	char *key = s->key == NULL ? NULL : memory_format("%s%s", s->api->key_header, s->key);
	const char *headers[4];
	struct buffer url = BUFFER_INIT, body = BUFFER_INIT;
	struct http_request request = { .headers = headers, .take = on_bytes, .context = s,
	    .watch_fd = 0, .look = on_input, .output_fd = 1, .before_wait = before_wait };
	size_t count = 0, len = strlen(s->base);
	struct writer w;
	int result;

	if (key != NULL)
		headers[count++] = key;
	headers[count++] = "content-type: application/json";
	headers[count++] = s->api->header; /* may be the end of the list */
	headers[count] = NULL;
	while (len > 0 && s->base[len - 1] == '/')
		len--;
	buffer_append(&url, s->base, len);
	if (s->api->path != NULL)
		buffer_text(&url, s->api->path);
	else
		s->api->model_path(s, &url);
	writer_begin(&w, &body);
	s->api->body(s, &w);
	sse_begin(&s->sse, on_event, s);
	request.url = url.data;
	request.body = body.data;
	request.body_len = body.len;
	result = http_post(http, &request, answer, err);
	sse_free(&s->sse);
	buffer_free(&url);
	buffer_free(&body);
	free(key);
	return result;
}

/* Says which variable has the key that the server does not take. Google's API says so with the
 * status 400. */
static void
name_key(struct stream *s)
{
	const struct provider_variables *v = s->variables;
	const char *variable = key_variable(v);
	struct error *error = &s->failure.error, said = *error;

	if (said.code != ERROR_AUTH ||
	    (s->failure.status != 401 && strstr(said.message, "API key") == NULL))
		return;
	if (variable != NULL)
		error_set(error, said.code, NULL, "%s (is %s right?)", said.message, variable);
	else
		error_set(error, said.code, NULL, "%s (no key was sent: set %s)", said.message, v->key);
}

/* 0 if the message is whole, else -1 with s->failure. posted is the result of
 * post(), its error being in s->failure unless an event failed. */
static int
judge(struct stream *s, int posted, const struct http_answer *answer, const struct error *err)
{
	static const char *const without[] = { "max_tokens", "refusal", "pause" };
	const struct message *m = &s->message;
	struct provider_failure *f = &s->failure;
	bool empty = m->count == 0;

	if (answer->retry_after_ms > 0)
		f->retry_after_ms = answer->retry_after_ms;
	if (answer->request_id[0] != '\0')
		memcpy(f->request_id, answer->request_id, sizeof f->request_id);
	else if (m->request_id != NULL)
		snprintf(f->request_id, sizeof f->request_id, "%s", m->request_id);
	if (s->failed)
		return -1;
	if (posted == 0 && (answer->status < 200 || answer->status > 299)) {
		f->status = answer->status;
		failure_from_body(f, &answer->body, s->key);
		name_key(s);
		return -1;
	}
	if (!m->ended || (posted != 0 && err->code != ERROR_NETWORK)) {
		if (posted != 0)
			f->error = *err;
		else if (s->events == 0 && (s->first == '{' || s->first == '['))
			error_set(&f->error, ERROR_PROVIDER, NULL, "the server answered without a "
			    "stream, in JSON, although one was asked for: is %s that of an API that "
			    "streams?", s->variables->base);
		else if (s->events == 0)
			error_set(&f->error, ERROR_PROVIDER, NULL,
			    "the server sent no events: is %s right?", s->variables->base);
		else
			error_set(&f->error, ERROR_NETWORK, NULL,
			    "the stream ended before the answer did");
		return -1;
	}

	/* What it says is no answer, whatever its end: nothing, although the API says that it
	 * ended well, or the call of a tool that is not named. */
	for (size_t i = 0; m->stop_reason != NULL && i < sizeof without / sizeof without[0]; i++)
		empty = empty && strcmp(m->stop_reason, without[i]) != 0;
	if (empty)
		stream_fail(s, "the answer is empty");
	for (size_t i = 0; i < m->count; i++)
		if (m->blocks[i].type == BLOCK_TOOL_USE && !m->blocks[i].ran &&
		    (m->blocks[i].tool_name == NULL || m->blocks[i].tool_name[0] == '\0'))
			stream_fail(s, "the answer calls a tool without saying which");
	return s->failed ? -1 : 0;
}

static void
exchange(struct stream *s, struct http *http)
{
	struct message *m = &s->message;
	struct error err = ERROR_INIT;
	struct http_answer answer;
	int posted = post(s, http, &answer, &err);

	/* A server that echoes what it got may do so anywhere. */
	text_hide(answer.request_id, strlen(answer.request_id), s->key);
	if (m->request_id != NULL)
		text_hide(m->request_id, strlen(m->request_id), s->key);
	if (!s->failed && (posted == 0 || m->ended))
		s->api->finish(s);
	if (judge(s, posted, &answer, &err) != 0) {
		s->failure.spent = m;
		provider_error(s->provider, &s->failure);
	} else {
		if (m->request_id == NULL && answer.request_id[0] != '\0')
			m->request_id = memory_text(answer.request_id);
		provider_message(s->provider, m);
	}
	http_answer_free(&answer);
}

static void
answer(void *context, struct provider *p, const struct provider_request *r)
{
	struct client *client = context;
	struct stream s = { .api = client->api, .variables = client->variables, .provider = p,
		.request = r };

	message_begin(&s.message);
	message_begin(&s.draft);
	if (configure(&s, &s.failure.error) == 0 &&
	    (s.api->check == NULL || s.api->check(r, &s.failure.error) == 0) &&
	    check_attachments(&s, &s.failure.error) == 0)
		exchange(&s, client->http);
	else
		provider_error(p, &s.failure);
	message_free(&s.message);
	message_free(&s.draft);
	buffer_free(&s.calling);
}

static int
start(void *context, struct error *err)
{
	struct client *client = context;

	client->http = http_open(err);
	return client->http == NULL ? -1 : 0;
}

/* URLs may hold passwords: the variable is named, and not what it says. */
static int
check(void *context, struct writer *w, struct error *err)
{
	const struct client *client = context;
	struct stream s = { .api = client->api, .variables = client->variables };

	writer_member_string(w, "key", key_variable(s.variables));
	if (environment_text(s.variables->base) != NULL)
		writer_member_string(w, "server", s.variables->base);
	return configure(&s, err);
}

int
stream_main(const struct stream_api *api, int argc, char **argv)
{
	struct client client = { api, provider_variables(api->program + sizeof PROGRAM_BEGIN - 1), NULL };
	const struct provider_api program = { .program = api->program, .usage = api->usage,
		.stays = true, .start = start, .check = check, .answer = answer, .context = &client };
	int status = provider_main(&program, argc, argv);

	http_close(client.http);
	return status;
}
