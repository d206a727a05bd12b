/*
 * Sends a request by HTTP, and reads its answer as it comes (api/stream.h). The outcome is judged
 * at the end: if the API had said that the answer is complete, it does not matter that the
 * connection breaks after that. Where to send it, and how, is said by the endpoint (destination.h).
 * The key, and what else of the headers is a secret, is hidden in the server's texts.
 *
 * A request whose key is not there yet waits for the command that prints it; the others go on.
 */
#include "exchange.h"

#include "destination.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/key_command.h"
#include "api/told_cost.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "foreign.h"
#include "strict.h"
#include "transcript/event_keys.h"

#define PROGRAM_BEGIN "awf-provider-"
#define MODELS_LIST_LIMIT ((size_t)32 << 20)
#define MEMORY_LIMIT ((size_t)256 << 20) /* for answers that have not ended or were not read */
#define SILENT_MS 10000 /* after which others do not wait for the end of an answer */

const char *const request_media_types[] = { "image/png", "image/jpeg", "image/gif", "image/webp",
    "application/pdf", NULL };

/* What lives as long as the program. */
struct client {
	const struct exchange_api *api;
	struct endpoint *endpoint;
	struct destination_keys keys;
	struct http *http;
	struct exchange *all;
	struct exchange *waiting; /* for the command that says the key */
	size_t memory;            /* of all */
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

struct span
request_endpoint(const struct exchange *x, const char *key)
{
	return endpoint_member(x->endpoint, x->model, key);
}

enum schema_use
request_schema(const struct exchange *x)
{
	struct span takes = request_endpoint(x, "schema");
	const bool tools = span_element(x->request->tools, 0).at != NULL;

	if (x->request->output_schema.at == NULL || span_is(takes, "none"))
		return SCHEMA_UNSAID;
	if (takes.at == NULL || span_is(takes, "with_tools"))
		return SCHEMA_WHOLE;
	if (tools)
		return SCHEMA_UNSAID;
	return span_is(takes, "json_object") ? SCHEMA_JSON : SCHEMA_WHOLE;
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
	{ "minimal", 1024 }, { "low", 2048 }, { "medium", 8192 }, { "high", 24576 },
	{ "xhigh", 32000 }, { "max", 32000 }
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

/* Whether more of an answer may come. If all together have too much, only that goes on which has the most: so
 * it ends, and leaves room. */
static bool
exchange_has_room(const struct exchange *x)
{
	const int64_t silent = clock_monotonic() - SILENT_MS;
	size_t least = x->memory; /* of those that go first; of as many bytes the first in the list */

	if (x->client->memory + provider_unread_memory() <= MEMORY_LIMIT)
		return true;
	for (const struct exchange *other = x->client->all; other != NULL; other = other->next)
		if (other == x)
			least++;
		else if (other->memory >= least && !other->behind && (other->crowded || other->fed_at > silent))
			return false;
	return true;
}

static int
on_bytes(void *context, const char *bytes, size_t len)
{
	struct exchange *x = context;
	int result;

	x->behind = provider_is_behind(x->provider);
	x->crowded = !x->behind && !exchange_has_room(x);
	if (x->behind || x->crowded)
		return HTTP_HOLD;
	result = stream_feed(&x->stream, bytes, len);
	x->client->memory -= x->memory;
	x->memory = stream_memory(&x->stream);
	x->client->memory += x->memory;
	x->fed_at = clock_monotonic();
	return result != 0 ? HTTP_STOP : HTTP_TAKEN;
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

/* The body: what the program writes, and what changes it, in this order. */
static void
exchange_write_body(const struct exchange *x, const struct destination *destination,
    struct buffer *body)
{
	struct span models = span_member(endpoint_text(x->endpoint), "models");
	struct writer w;

	writer_begin(&w, body);
	x->api->body(x, &w);
	destination_patch(body, span_member(endpoint_text(x->endpoint), "body"));
	for (struct span_walk one = span_walk(models); span_next(&one);)
		if (endpoint_matches(one.value, x->model))
			destination_patch(body, span_member(one.value, "body"));
	destination_patch(body, span_of(destination->thinking.data, destination->thinking.len));
	destination_patch(body, destination->body);
}

static void exchange_end(struct http_call *call);

static int
exchange_post_request(struct exchange *x, struct error *err)
{
	struct destination *destination = &x->destination;
	struct buffer url = BUFFER_INIT, path = BUFFER_INIT;
	int result;

	x->call = (struct http_call){ .request = { .take = on_bytes, .context = x, .progress = on_progress },
		.on_end = exchange_end, .owner = x };
	if (x->api->path != NULL)
		buffer_text(&path, x->api->path);
	else
		x->api->model_path(x, &path);
	destination_write_url(destination, buffer_string(&path), x->api->model_path != NULL, &url);
	buffer_clear(&x->body);
	exchange_write_body(x, destination, &x->body);
	x->call.request.url = url.data;
	x->call.request.body = x->body.data;
	x->call.request.body_len = x->body.len;
	x->call.request.kept_header = x->told;
	result = destination_set_request(destination, &x->call.request, x->api->header, err);
	x->stream.secrets = destination->secrets;
	provider_hide(x->provider, destination->secrets);
	if (result == 0)
		result = http_begin(x->client->http, &x->call, err);
	buffer_free(&url);
	buffer_free(&path);
	return result;
}

/* Names the variable with the key that the server refuses. Google's API refuses it with status
 * 400. */
static void
name_key(struct exchange *x)
{
	struct error *error = &x->stream.failure.error, said = *error;
	char *place;

	if (said.code != ERROR_AUTH ||
	    (x->stream.failure.status != 401 && strstr(said.message, "API key") == NULL))
		return;
	place = destination_name_key(x->endpoint, x->key != NULL);
	if (place != NULL && x->key != NULL)
		error_set(error, said.code, NULL, "%s (is %s right?)", said.message, place);
	else if (place != NULL)
		error_set(error, said.code, NULL, "%s (no key was sent: set %s)", said.message, place);
	free(place);
}

/* Adds the end of what the server sent and nobody understood, to an error that says too little. */
static void
exchange_quote_strange(struct exchange *x)
{
	struct error *error = &x->stream.failure.error, said = *error;
	struct buffer *strange = &x->stream.strange;

	if (strange->len == 0 || x->stream.first == '<' || !utf8_valid(strange->data, strange->len))
		return;
	text_hide_all(strange->data, strange->len, x->destination.secrets);
	error_set(error, said.code, NULL, "%s; it sent: %s", said.message, buffer_string(strange));
}

/* A page for people in the place of an answer, such as that of a gateway that wants a login. */
static void
exchange_report_page(struct exchange *x)
{
	char *title = failure_first_words(buffer_string(&x->stream.whole));
	size_t len = strlen(title);

	text_hide_all(title, len, x->destination.secrets);
	error_set(&x->stream.failure.error, ERROR_PROVIDER, NULL, "the server sent a page for people%s%s: is "
	    "%s right?", len > 0 && utf8_valid(title, len) ? ", " : "",
	    utf8_valid(title, len) ? title : "", x->place);
	free(title);
}

/* What came in the place of an answer, or of its end. */
static void
exchange_report_unended(struct exchange *x)
{
	struct stream *s = &x->stream;
	struct error *error = &s->failure.error;
	size_t bad;

	if (s->events > 0 || (s->whole.len == 0 && s->strange.len > 0))
		error_set(error, ERROR_NETWORK, NULL, "the stream ended before the answer did");
	else if (s->first == '<')
		exchange_report_page(x);
	else if (s->whole.len == 0)
		error_set(error, ERROR_PROVIDER, NULL, "the server sent no events: is %s right?", x->place);
	else if (scan_check(s->whole.data, s->whole.len, &bad) != NULL)
		error_set(error, ERROR_PROVIDER, NULL, "the server answered in JSON that is broken at "
		    "byte %zu", bad + 1);
	else if (s->message.count > 0)
		error_set(error, ERROR_CUT_OFF, NULL, "the server answered without saying how the answer "
		    "ended");
	else
		error_set(error, ERROR_PROVIDER, NULL, "the server answered in JSON that is no answer of "
		    "this API: is %s right?", x->place);
}

/* 0 if the message is complete, else -1 with s->failure. */
static int
exchange_judge_answer(struct exchange *x)
{
	static const char *const without[] = { "max_tokens", "refusal", "pause" };
	struct stream *s = &x->stream;
	const struct message *m = &s->message;
	struct failure *f = &s->failure;
	const struct http_answer *answer = &x->call.answer;
	const enum error_code code = x->call.error.code;
	bool empty = message_says_nothing(m);

	if (answer->retry_after_ms > 0)
		f->retry_after_ms = answer->retry_after_ms;
	if (answer->request_id[0] != '\0')
		memcpy(f->request_id, answer->request_id, sizeof f->request_id);
	else if (m->request_id != NULL)
		snprintf(f->request_id, sizeof f->request_id, "%s", m->request_id);
	if (s->failed)
		return -1;
	if (code == ERROR_NONE && (answer->status < 200 || answer->status > 299)) {
		f->status = answer->status;
		failure_from_body(f, &answer->body, x->destination.secrets);
		name_key(x);
		return -1;
	}
	if (!m->ended || (code != ERROR_NONE && code != ERROR_NETWORK)) {
		if (code != ERROR_NONE)
			f->error = x->call.error;
		else
			exchange_report_unended(x);
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

/* Whether what says the key is to be asked again: a token that it printed may have expired. */
static bool
is_refused(const struct endpoint *e, const struct http_answer *answer)
{
	static const char expired[] = "ExpiredToken";

	return (answer->status == 401 || (answer->status == 403 && answer->body.len > 0 &&
	    strstr(buffer_string(&answer->body), expired) != NULL)) && endpoint_has_command(e);
}

/* A server that echoes the request may do so anywhere. In its errors secrets are hidden where they are
 * read, before they are cut off, and in all that the provider writes (provider_hide()). */
static void
hide_secrets(struct exchange *x)
{
	struct message *m = &x->stream.message;
	char *text = x->stream.failure.error.message, *const *secrets = x->destination.secrets;

	text_hide_all(x->call.answer.request_id, strlen(x->call.answer.request_id), secrets);
	if (m->request_id != NULL)
		text_hide_all(m->request_id, strlen(m->request_id), secrets);
	text_hide_all(text, strlen(text), secrets);
}

/* Hides secrets that blocks of a type have when they are read one behind the other, as the text of an answer
 * is. */
static void
hide_across_blocks(struct exchange *x, enum block_type type)
{
	struct message *m = &x->stream.message;
	struct buffer whole = BUFFER_INIT;
	size_t at = 0;

	for (size_t i = 0; i < m->count; i++)
		if (m->blocks[i].type == type)
			buffer_append(&whole, buffer_string(&m->blocks[i].text), m->blocks[i].text.len);
	text_hide_in_data(whole.data, whole.len, x->destination.secrets);
	for (size_t i = 0; i < m->count; i++)
		if (m->blocks[i].type == type && m->blocks[i].text.len > 0) {
			memcpy(m->blocks[i].text.data, whole.data + at, m->blocks[i].text.len);
			at += m->blocks[i].text.len;
		}
	buffer_free(&whole);
}

/* ---- the key ---- */

/* Whether the request must wait for the command that says the key; then it does. */
static bool
exchange_waits_for_key(struct exchange *x)
{
	struct key_command *command = destination_key_command(&x->client->keys);
	struct exchange **last = &x->client->waiting;

	if (command == NULL || key_command_ready(command))
		return false;
	while (*last != NULL)
		last = &(*last)->next_waiting;
	*last = x;
	x->next_waiting = NULL;
	return true;
}

/* Ends its wait. False: it did not wait. */
static bool
exchange_end_wait(struct exchange *x)
{
	for (struct exchange **at = &x->client->waiting; *at != NULL; at = &(*at)->next_waiting)
		if (*at == x) {
			*at = x->next_waiting;
			return true;
		}
	return false;
}

/* Sends the request for the first time. */
static int
exchange_send_first(struct exchange *x, struct error *err)
{
	if (destination_find_key(&x->destination, err) == -1 ||
	    destination_take_params(&x->destination, &x->own_request.params, err) == -1)
		return -1;
	x->base = x->destination.base;
	x->key = x->destination.key;
	x->place = x->destination.place;
	if (x->api->check != NULL && x->api->check(x, err) == -1)
		return -1;
	if (x->api->rooted != NULL && strict_check_tools(x->request->tools, x->api->rooted, err) == -1)
		return -1;
	return check_attachments(x, err) == -1 ? -1 : exchange_post_request(x, err);
}

/* Sends it with the key that was asked for again. False: there is none; x->call.error. */
static bool
exchange_send_again(struct exchange *x)
{
	struct error err = ERROR_INIT;
	bool begun = destination_find_key(&x->destination, &err) == 0;

	x->key = x->destination.key; /* the old one is freed in any case */
	begun = begun && exchange_post_request(x, &err) == 0;
	x->call.error = err;
	return begun;
}

/* Asks whoever says the key again, and sends the request with the new one. False: there is none;
 * x->call.error. */
static bool
exchange_ask_again(struct exchange *x)
{
	http_answer_free(&x->call.answer);
	memset(&x->call.answer, 0, sizeof x->call.answer);
	x->asked_again = true;
	destination_key_refused(&x->destination);
	return exchange_waits_for_key(x) || exchange_send_again(x);
}

static void
exchange_free(struct exchange *x)
{
	struct exchange **at = &x->client->all;

	while (*at != x)
		at = &(*at)->next;
	*at = x->next;
	x->client->memory -= x->memory;
	http_answer_free(&x->call.answer);
	stream_close(&x->stream);
	buffer_free(&x->messages);
	buffer_free(&x->body);
	destination_end(&x->destination);
	free(x->told);
	free(x->model_text);
	free(x);
}

/* Judges what came, and answers the client. */
static void
exchange_answer_client(struct exchange *x)
{
	struct message *m = &x->stream.message;
	const enum error_code code = x->call.error.code;

	hide_secrets(x);
	/* A connection that breaks after the API has said that the answer ends does no harm. */
	if (!x->stream.failed && (code == ERROR_NONE || m->ended || code == ERROR_NETWORK))
		stream_finish(&x->stream);
	if (x->api->read != NULL)
		x->api->read(x);
	told_cost_take_header(&m->usage, x->call.answer.kept);
	told_cost_by_price(m, x->endpoint, x->model);
	stream_end_deltas(&x->stream);
	if (exchange_judge_answer(x) != 0) {
		hide_secrets(x);
		x->stream.failure.spent = m;
		provider_error(x->provider, &x->stream.failure);
		return;
	}
	hide_secrets(x);
	if (m->request_id == NULL && x->call.answer.request_id[0] != '\0')
		m->request_id = memory_text(x->call.answer.request_id);
	if (x->api->answered != NULL)
		x->api->answered(x);
	hide_across_blocks(x, BLOCK_TEXT);
	hide_across_blocks(x, BLOCK_THINKING);
	if (x->destination.note.len > 0)
		provider_note(x->provider, buffer_string(&x->destination.note));
	provider_message(x->provider, m);
}

static void
exchange_end(struct http_call *call)
{
	struct exchange *x = call->owner;

	if (call->error.code == ERROR_NONE && !x->asked_again && is_refused(x->endpoint, &call->answer) &&
	    exchange_ask_again(x))
		return;
	exchange_answer_client(x);
	exchange_free(x);
}

/* The messages as they go to the model that is asked; the memory is out's. */
static void
exchange_fit_messages(const struct exchange *x, struct provider_request *r, struct buffer *out)
{
	struct span match = span_member(request_endpoint(x, "ids"), "match");
	struct buffer own = BUFFER_INIT;
	char *ids = span_text(match);
	struct foreign foreign = { .ids = ids != NULL ? ids : x->api->ids,
	    .echoes = span_type(request_endpoint(x, "echo")) != 'f' };

	if (r->provider.at != NULL)
		span_decode(r->provider, &own);
	else
		buffer_text(&own, x->api->program + sizeof PROGRAM_BEGIN - 1);
	buffer_byte(&own, '/');
	span_decode(r->model, &own);
	foreign.own = own.data;
	if (foreign_write(&foreign, r->messages, out))
		r->messages = span_of(out->data, out->len);
	free(ids);
	buffer_free(&own);
}

/* Answers a request that cannot be sent. */
static void
exchange_fail(struct exchange *x)
{
	hide_secrets(x);
	provider_error(x->provider, &x->stream.failure);
	exchange_free(x);
}

static void *
exchange_begin(void *context, struct provider *p, const struct provider_request *r)
{
	struct client *client = context;
	struct exchange *x = memory_zero(1, sizeof *x);
	struct error *error = &x->stream.failure.error;

	x->client = client;
	x->next = client->all;
	client->all = x;
	x->api = client->api;
	x->endpoint = client->endpoint;
	x->provider = p;
	x->own_request = *r;
	x->request = &x->own_request;
	x->bound = &x->own_bound;
	x->model = x->model_text = span_text(r->model);
	x->unthinking = span_type(span_member(r->params, "thinking")) == 'f' ||
	    span_is(span_member(r->params, "thinking"), "none");
	destination_begin(&x->destination, client->endpoint, &client->keys, x->model, client->api->key_header,
	    client->api->key_optional);
	stream_open(&x->stream, x->api->stream);
	x->stream.messages = r->messages;
	x->stream.context = p;
	x->stream.delta = r->stream ? on_delta : NULL;
	x->stream.cost = request_endpoint(x, "cost");
	x->stream.ends = request_endpoint(x, "ends");
	x->stream.failure.rules = request_endpoint(x, "errors");
	x->told = told_cost_header(x->stream.cost);
	exchange_fit_messages(x, &x->own_request, &x->messages);
	if (destination_find_server(&x->destination, error) == 0 &&
	    (exchange_waits_for_key(x) || exchange_send_first(x, error) == 0))
		return x;
	exchange_fail(x);
	return NULL;
}

/* Sends the requests that have waited for the command that says the key, which has ended. */
static void
exchange_send_waiting(struct client *client)
{
	struct exchange *x;

	while ((x = client->waiting) != NULL) {
		client->waiting = x->next_waiting;
		if (!x->asked_again) {
			if (exchange_send_first(x, &x->stream.failure.error) == -1)
				exchange_fail(x);
		} else if (!exchange_send_again(x)) {
			exchange_answer_client(x);
			exchange_free(x);
		}
	}
	key_command_settle(destination_key_command(&client->keys));
}

/* Nobody waits for the answer any more. */
static void
exchange_stop(void *going)
{
	struct exchange *x = going;

	if (exchange_end_wait(x))
		error_set(&x->call.error, ERROR_CANCELLED, NULL, "cancelled");
	http_stop(x->client->http, &x->call);
	exchange_answer_client(x);
	exchange_free(x);
}

static void
exchange_resume(void *going)
{
	struct exchange *x = going;

	x->behind = false;
	http_resume(x->client->http, &x->call);
}

/* Lets answers go on for which there is room now. */
static void
exchange_resume_crowded(struct client *client)
{
	for (struct exchange *x = client->all; x != NULL; x = x->next)
		if (x->crowded && exchange_has_room(x)) {
			x->crowded = false;
			http_resume(client->http, &x->call);
		}
}

static int
exchange_wait(void *context, struct pollfd *fds, size_t count, int64_t limit_ms, struct error *err)
{
	struct client *client = context;
	struct key_command *command = destination_key_command(&client->keys);
	struct pollfd key_fds[KEY_COMMAND_FDS], *all;
	int64_t deadline, left_ms = limit_ms;
	int result;

	exchange_resume_crowded(client);
	if (command == NULL || !key_command_poll(command, key_fds, &deadline))
		return http_wait(client->http, fds, count, limit_ms, err);
	if (deadline != 0)
		left_ms = deadline - clock_monotonic();
	left_ms = left_ms < 0 ? 0 : left_ms > limit_ms ? limit_ms : left_ms;
	all = memory_array(NULL, count + KEY_COMMAND_FDS, sizeof *all);
	memcpy(all, fds, count * sizeof *fds);
	memcpy(all + count, key_fds, sizeof key_fds);
	result = http_wait(client->http, all, count + KEY_COMMAND_FDS, left_ms, err);
	memcpy(fds, all, count * sizeof *fds);
	if (result == 0 && key_command_serve(command, all + count))
		exchange_send_waiting(client);
	free(all);
	return result;
}

static int
client_open_endpoint(struct client *client, struct error *err)
{
	const char *name = client->api->program + sizeof PROGRAM_BEGIN - 1;

	return endpoint_given(&client->endpoint, name, client->api->endpoint, err) == 0 &&
	    destination_keys_open(&client->keys, client->endpoint, err) == 0 ? 0 : -1;
}

static int
exchange_open_client(void *context, struct error *err)
{
	struct client *client = context;

	if (client_open_endpoint(client, err) != 0)
		return -1;
	client->http = http_open(err);
	return client->http == NULL ? -1 : 0;
}

/* URLs may contain passwords: the message has the variable's name, not its value. A command for the
 * key is not run. */
static int
exchange_check_settings(void *context, struct writer *w, struct error *err)
{
	struct client *client = context;
	struct destination destination;
	char *key;
	int failed;

	if (client_open_endpoint(client, err) != 0)
		return -1;
	destination_begin(&destination, client->endpoint, &client->keys, NULL, client->api->key_header,
	    client->api->key_optional);
	failed = destination_find_server(&destination, err);
	key = destination_name_key(client->endpoint, true);
	writer_member_string(w, "key", key);
	if (destination.users)
		writer_member_string(w, "server", destination.place);
	if (failed == 0 && !endpoint_has_command(client->endpoint))
		failed = destination_find_key(&destination, err);
	free(key);
	destination_end(&destination);
	return failed;
}

static int
ignore_bytes(void *context, const char *bytes, size_t len)
{
	(void)context;
	(void)bytes;
	(void)len;
	return 0;
}

/* What lists the models: the same for most APIs, beside the path that answers requests. */
static const char *
models_path(const struct exchange_api *api)
{
	if (api->path == NULL)
		return "/v1beta/models";
	return strncmp(api->path, "/v1/", 4) == 0 ? "/v1/models" : "/models";
}

/* Asks for the list of models once, with all that a request has but its body. */
static int
exchange_get_models(struct client *client, struct destination *destination, struct http_answer *answer,
    struct error *err)
{
	struct http_request request = { .method = "GET", .take = ignore_bytes, .limit = MODELS_LIST_LIMIT,
		.total_ms = MODELS_LIST_LIMIT_MS };
	struct buffer url = BUFFER_INIT;
	int result;

	memset(answer, 0, sizeof *answer);
	destination_write_models_url(destination, models_path(client->api), &url);
	request.url = url.data;
	result = destination_set_request(destination, &request, client->api->header, err);
	if (result == 0)
		result = http_post(client->http, &request, answer, err);
	buffer_free(&url);
	return result;
}

static int
exchange_ask_server(void *context, struct writer *w, struct error *err)
{
	struct client *client = context;
	struct failure failure = { .error = ERROR_INIT };
	struct http_answer answer = { .status = 0 };
	struct destination destination;
	char *origin, *key;
	int result;

	if (exchange_open_client(context, err) != 0)
		return -1;
	destination_begin(&destination, client->endpoint, &client->keys, NULL, client->api->key_header,
	    client->api->key_optional);
	key = destination_name_key(client->endpoint, true);
	writer_member_string(w, "key", key);
	free(key);
	result = destination_find_server(&destination, err);
	if (result == 0) {
		origin = endpoint_origin(destination.base);
		writer_member_string(w, "server", origin);
		free(origin);
		result = destination_find_key(&destination, err);
	}
	if (result == 0)
		result = exchange_get_models(client, &destination, &answer, err);
	if (result == 0 && is_refused(client->endpoint, &answer)) {
		http_answer_free(&answer);
		memset(&answer, 0, sizeof answer);
		destination_key_refused(&destination);
		result = destination_find_key(&destination, err);
		if (result == 0)
			result = exchange_get_models(client, &destination, &answer, err);
	}
	if (result == 0) {
		writer_member_integer(w, "status", answer.status);
		failure.status = answer.status;
		if (answer.status < 200 || answer.status > 299) {
			failure_from_body(&failure, &answer.body, destination.secrets);
			*err = failure.error;
			result = -1;
		}
	}
	http_answer_free(&answer);
	destination_end(&destination);
	return result;
}

int
exchange_main(const struct exchange_api *api, int argc, char **argv)
{
	struct client client = { .api = api };
	const struct provider_api program = { .program = api->program, .usage = api->usage,
		.start = exchange_open_client, .check = exchange_check_settings, .ask = exchange_ask_server,
		.begin = exchange_begin, .stop = exchange_stop, .resume = exchange_resume, .wait = exchange_wait,
		.context = &client };
	int status = provider_main(&program, argc, argv);

	http_close(client.http);
	destination_keys_close(&client.keys);
	endpoint_free(client.endpoint);
	return status;
}
