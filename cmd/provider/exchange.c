/*
 * Sends a request by HTTP, and reads its answer as it comes (api/stream.h). The outcome is judged
 * at the end: if the API had said that the answer is complete, it does not matter that the
 * connection breaks after that. The key is hidden in the server's texts.
 */
#include "exchange.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/told_cost.h"
#include "base/memory.h"
#include "base/text.h"
#include "transcript/event_keys.h"

#define PROGRAM_BEGIN "awf-provider-"

const char *const request_media_types[] = { "image/png", "image/jpeg", "image/gif", "image/webp",
    "application/pdf", NULL };

/* What lives as long as the program. */
struct client {
	const struct exchange_api *api;
	const struct provider_variables *variables;
	struct endpoint *endpoint;
	struct http *http;
};

bool
request_model(struct span model, const char *const *patterns)
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
request_own(struct span block, const char *api)
{
	return span_is(span_member(block, KEY_API), api);
}

struct span
request_own_type(struct span block)
{
	return span_path(block, KEY_RAW, "type", NULL);
}

bool
request_foreign(struct span block, const char *api)
{
	return request_own_type(block).at != NULL && !request_own(block, api);
}

bool
request_type(struct span block, const char *type)
{
	return span_is(span_member(block, KEY_TYPE), type);
}

struct span
request_own_raw(struct span block, const char *api, const char *member)
{
	return request_own(block, api) ? span_path(block, KEY_RAW, member, NULL) : SPAN_NONE;
}

/* Efforts as numbers of tokens; a number becomes an effort by the same limits. */
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
on_bytes(void *context, const char *bytes, size_t len)
{
	struct exchange *x = context;

	return stream_feed(&x->stream, bytes, len);
}

static int64_t
on_progress(void *context)
{
	return ((struct exchange *)context)->stream.progress;
}

static void
on_delta(void *context, const char *kind, const char *text, size_t len)
{
	provider_delta(context, kind, text, len);
}

static enum http_watch
on_input(void *context)
{
	return provider_look(((struct exchange *)context)->provider);
}

static void
before_wait(void *context)
{
	provider_flush(((struct exchange *)context)->provider);
}

/* The variable that has the key; NULL: none. */
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
exchange_find_server_and_key(struct exchange *x, struct error *err)
{
	const struct provider_variables *v = x->variables;
	const char *variable = key_variable(v), *base = environment_text(v->base);

	x->base = base != NULL ? base : x->api->base;
	x->key = variable == NULL ? NULL : environment_text(variable);
	if (strncmp(x->base, "http://", 7) != 0 && strncmp(x->base, "https://", 8) != 0)
		return error_set(err, ERROR_INVALID, v->base,
		    "expected a URL that begins with http:// or https://");
	if (x->key == NULL && !(base != NULL && x->api->key_optional))
		return error_set(err, ERROR_AUTH, NULL, "no API key: set %s", v->key);
	for (const char *at = x->key; at != NULL && *at != '\0'; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			return error_set(err, ERROR_AUTH, variable,
			    "the key holds a control character (a line end?)");
	return 0;
}

static int
check_attachments(const struct exchange *x, struct error *err)
{
	static const char *const attachments[] = { "image", "document", NULL };

	for (struct span_walk message = span_walk(x->request->messages); span_next(&message);) {
		struct span blocks = span_member(message.value, KEY_BLOCKS);

		if (!span_is(span_member(message.value, KEY_ROLE), "user"))
			continue;
		for (struct span_walk block = span_walk(blocks); span_next(&block);) {
			struct span media_type = span_member(block.value, KEY_MEDIA_TYPE);
			char *type, *name;

			if (span_one_of(span_member(block.value, KEY_TYPE), attachments) == NULL ||
			    span_one_of(media_type, x->api->media_types) != NULL)
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
exchange_post_request(struct exchange *x, struct http *http, struct http_answer *answer,
    struct error *err)
{
	char *key = x->key == NULL ? NULL : memory_format("%s%s", x->api->key_header, x->key);
	const char *headers[4];
	struct buffer url = BUFFER_INIT, body = BUFFER_INIT;
	struct http_request request = { .headers = headers, .take = on_bytes, .context = x,
	    .watch_fd = 0, .look = on_input, .output_fd = 1, .before_wait = before_wait,
	    .progress = on_progress };
	size_t count = 0, len = strlen(x->base);
	struct writer w;
	int result;

	if (key != NULL)
		headers[count++] = key;
	headers[count++] = "content-type: application/json";
	headers[count++] = x->api->header; /* may be the end of the list */
	headers[count] = NULL;
	while (len > 0 && x->base[len - 1] == '/')
		len--;
	buffer_append(&url, x->base, len);
	if (x->api->path != NULL)
		buffer_text(&url, x->api->path);
	else
		x->api->model_path(x, &url);
	writer_begin(&w, &body);
	x->api->body(x, &w);
	request.url = url.data;
	request.body = body.data;
	request.body_len = body.len;
	result = http_post(http, &request, answer, err);
	buffer_free(&url);
	buffer_free(&body);
	free(key);
	return result;
}

/* Names the variable with the key that the server refuses. Google's API refuses it with status
 * 400. */
static void
name_key(struct exchange *x)
{
	const struct provider_variables *v = x->variables;
	const char *variable = key_variable(v);
	struct error *error = &x->stream.failure.error, said = *error;

	if (said.code != ERROR_AUTH ||
	    (x->stream.failure.status != 401 && strstr(said.message, "API key") == NULL))
		return;
	if (variable != NULL)
		error_set(error, said.code, NULL, "%s (is %s right?)", said.message, variable);
	else
		error_set(error, said.code, NULL, "%s (no key was sent: set %s)", said.message, v->key);
}

/* Adds the end of what the server sent and nobody understood, to an error that says too little. */
static void
exchange_quote_strange(struct exchange *x)
{
	struct error *error = &x->stream.failure.error, said = *error;
	struct buffer *strange = &x->stream.strange;

	if (strange->len == 0 || !utf8_valid(strange->data, strange->len))
		return;
	text_hide(strange->data, strange->len, x->key);
	error_set(error, said.code, NULL, "%s; it sent: %s", said.message, buffer_string(strange));
}

/* 0 if the message is complete, else -1 with s->failure. posted: the result of
 * exchange_post_request(), whose error is in s->failure unless an event failed. */
static int
exchange_judge_answer(struct exchange *x, int posted, const struct http_answer *answer,
    const struct error *err)
{
	static const char *const without[] = { "max_tokens", "refusal", "pause" };
	struct stream *s = &x->stream;
	const struct message *m = &s->message;
	struct failure *f = &s->failure;
	bool empty = message_only_thinks(m);

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
		failure_from_body(f, &answer->body, x->key);
		name_key(x);
		return -1;
	}
	if (!m->ended || (posted != 0 && err->code != ERROR_NETWORK)) {
		if (posted != 0)
			f->error = *err;
		else if (s->events == 0 && (s->first == '{' || s->first == '['))
			error_set(&f->error, ERROR_PROVIDER, NULL, "the server answered without a "
			    "stream, in JSON, although one was asked for: is %s that of an API that "
			    "streams?", x->variables->base);
		else if (s->events == 0 && s->strange.len == 0)
			error_set(&f->error, ERROR_PROVIDER, NULL,
			    "the server sent no events: is %s right?", x->variables->base);
		else
			error_set(&f->error, ERROR_NETWORK, NULL,
			    "the stream ended before the answer did");
		exchange_quote_strange(x);
		return -1;
	}

	/* An answer without content is not an answer, whatever reason of its end the API gives, nor
	 * are thoughts alone; unless the agent may stay silent. Nor is a tool call without a name. */
	for (size_t i = 0; m->stop_reason != NULL && i < sizeof without / sizeof without[0]; i++)
		empty = empty && strcmp(m->stop_reason, without[i]) != 0;
	if (empty && !x->request->may_be_empty) {
		stream_fail(s, m->count == 0 ? "the answer is empty" :
		    "the model thought, and said nothing");
		exchange_quote_strange(x);
	}
	for (size_t i = 0; i < m->count; i++)
		if (m->blocks[i].type == BLOCK_TOOL_USE && !m->blocks[i].ran &&
		    (m->blocks[i].tool_name == NULL || m->blocks[i].tool_name[0] == '\0'))
			stream_fail(s, "the answer calls a tool without saying which");
	return s->failed ? -1 : 0;
}

static void
exchange_ask_model(struct exchange *x, struct http *http)
{
	struct message *m = &x->stream.message;
	struct error err = ERROR_INIT;
	struct http_answer answer;
	char *model = span_text(x->request->model);
	int posted;

	x->stream.cost = endpoint_member(x->endpoint, model, "cost");
	x->stream.ends = endpoint_member(x->endpoint, model, "ends");
	x->stream.failure.rules = endpoint_member(x->endpoint, model, "errors");
	posted = exchange_post_request(x, http, &answer, &err);

	/* A server that echoes the request may do so anywhere. */
	text_hide(answer.request_id, strlen(answer.request_id), x->key);
	if (m->request_id != NULL)
		text_hide(m->request_id, strlen(m->request_id), x->key);
	/* A connection that breaks after the API has said that the answer ends does no harm. */
	if (!x->stream.failed && (posted == 0 || m->ended || err.code == ERROR_NETWORK))
		stream_finish(&x->stream);
	told_cost_by_price(m, x->endpoint, model);
	free(model);
	if (exchange_judge_answer(x, posted, &answer, &err) != 0) {
		x->stream.failure.spent = m;
		provider_error(x->provider, &x->stream.failure);
	} else {
		if (m->request_id == NULL && answer.request_id[0] != '\0')
			m->request_id = memory_text(answer.request_id);
		provider_message(x->provider, m);
	}
	http_answer_free(&answer);
}

static void
exchange_answer_request(void *context, struct provider *p, const struct provider_request *r)
{
	struct client *client = context;
	struct exchange x = { .api = client->api, .variables = client->variables, .endpoint = client->endpoint,
		.provider = p, .request = r };
	struct error *error = &x.stream.failure.error;

	stream_open(&x.stream, x.api->stream);
	x.stream.messages = r->messages;
	x.stream.context = p;
	x.stream.delta = r->stream ? on_delta : NULL;
	if (exchange_find_server_and_key(&x, error) == 0 &&
	    (x.api->check == NULL || x.api->check(r, error) == 0) &&
	    check_attachments(&x, error) == 0) {
		x.stream.secret = x.key;
		exchange_ask_model(&x, client->http);
	} else {
		provider_error(p, &x.stream.failure);
	}
	stream_close(&x.stream);
}

static int
exchange_open_client(void *context, struct error *err)
{
	struct client *client = context;

	if (endpoint_given(&client->endpoint, client->variables->provider, client->api->endpoint, err) != 0)
		return -1;
	client->http = http_open(err);
	return client->http == NULL ? -1 : 0;
}

/* URLs may contain passwords: the message has the variable's name, not its value. */
static int
exchange_check_settings(void *context, struct writer *w, struct error *err)
{
	const struct client *client = context;
	struct exchange x = { .api = client->api, .variables = client->variables };

	writer_member_string(w, "key", key_variable(x.variables));
	if (environment_text(x.variables->base) != NULL)
		writer_member_string(w, "server", x.variables->base);
	return exchange_find_server_and_key(&x, err);
}

int
exchange_main(const struct exchange_api *api, int argc, char **argv)
{
	struct client client = { api, provider_variables(api->program + sizeof PROGRAM_BEGIN - 1), NULL,
		NULL };
	const struct provider_api program = { .program = api->program, .usage = api->usage,
		.stays = true, .start = exchange_open_client, .check = exchange_check_settings,
		.answer = exchange_answer_request, .context = &client };
	int status = provider_main(&program, argc, argv);

	http_close(client.http);
	endpoint_free(client.endpoint);
	return status;
}
