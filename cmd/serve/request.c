/*
 * The head of a request is checked before its body is read. The response's header fields are
 * written here.
 */
#include "serve/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/patience.h"
#include "httpd/descriptors.h"
#include "io/file.h"
#include "json/writer.h"
#include "serve/serve.h"
#include "serve_runs/log.h"
#include "serve_runs/stream.h"

static const struct refusal not_found = { 404, "not_found", "there is nothing of this name" };
static const struct refusal unauthorized = { 401, "unauthorized",
	"a token is needed: Authorization: Bearer awf_…" };
static const struct refusal too_many_clients = { 503, "unavailable",
	"too many clients: try again later" };
static const struct refusal closing = { 503, "unavailable", "the server is being stopped" };
static const struct refusal too_many_from = { 429, "too_many",
	"too many clients from this address" };
static const struct refusal too_busy = { 503, "unavailable",
	"the server has too many files open: try again later" };
static const struct refusal unanswered = { 500, "internal", "the server failed to answer" };

/* ---- the head of the answer ---- */

/* Header fields of every response, unless it sets another value. */
static const char *const usual[] = {
	"Cache-Control", "no-cache",
	"X-Content-Type-Options", "nosniff",
	"Referrer-Policy", "no-referrer",
	"Cross-Origin-Resource-Policy", "same-origin",
	"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox",
	NULL
};

static void
add_field(struct buffer *head, const char *name, const char *value)
{
	buffer_format(head, "%s: %s\r\n", name, value);
}

static bool
has_field(const char *const *fields, const char *name)
{
	for (; fields != NULL && *fields != NULL; fields += 2)
		if (strcasecmp(*fields, name) == 0)
			return true;
	return false;
}

/* The methods allowed for a path, for status 405. */
static void add_allowed(struct buffer *head, const struct request *r);

static void
add_date(struct buffer *head)
{
	time_t now = time(NULL);
	struct tm parts;
	char text[40];

	/* In the C locale, which awf-serve never changes. */
	if (gmtime_r(&now, &parts) != NULL &&
	    strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts) > 0)
		add_field(head, "Date", text);
}

/* Writes the response's header fields. */
static void
begin_answer(struct request *r, struct buffer *head, unsigned status, const char *type,
    const char *const *more)
{
	add_date(head);
	if (type != NULL)
		add_field(head, "Content-Type", type);
	for (size_t i = 0; usual[i] != NULL; i += 2)
		if (!has_field(more, usual[i]))
			add_field(head, usual[i], usual[i + 1]);
	for (const char *const *field = more; field != NULL && *field != NULL; field += 2)
		add_field(head, field[0], field[1]);
	if (status == 401)
		add_field(head, "WWW-Authenticate", "Bearer");
	if ((status == 429 || status == 503) && !has_field(more, "Retry-After"))
		add_field(head, "Retry-After", "5");
	if (status == 405)
		add_allowed(head, r);
	r->answered = true;
	r->waiting = false;
	if (status >= 400)
		r->server->counts.refused++;
}

/* ---- the answer ---- */

void
request_bytes(struct request *r, unsigned status, const char *type, struct buffer *bytes,
    const char *const *more)
{
	struct buffer head = BUFFER_INIT;

	begin_answer(r, &head, status, type, more);
	connection_answer(r->connection, status, &head, bytes);
}

void
request_json(struct request *r, unsigned status, struct buffer *json)
{
	request_bytes(r, status, "application/json", json, NULL);
}

void
request_status(struct request *r, unsigned status, const char *const *more)
{
	struct buffer none = BUFFER_INIT;

	request_bytes(r, status, NULL, &none, more);
}

void
request_error(struct request *r, unsigned status, const char *code, const char *format, ...)
{
	struct buffer json = BUFFER_INIT;
	struct writer w;
	char message[1024];
	va_list list;

	va_start(list, format);
	vsnprintf(message, sizeof message, format, list);
	va_end(list);
	writer_begin(&w, &json);
	writer_object(&w);
	writer_member_object(&w, "error");
	writer_member_string(&w, "code", code);
	writer_member_string(&w, "message", message);
	writer_object_end(&w);
	writer_object_end(&w);
	buffer_byte(&json, '\n');
	request_json(r, status, &json);
}

void
request_refuse(struct request *r, const struct refusal *refusal)
{
	request_error(r, refusal->status, refusal->code, "%s", refusal->message);
}

void
request_fail(struct request *r, const struct error *err)
{
	switch (err->code) {
	case ERROR_USAGE:
	case ERROR_INVALID_INPUT:
	case ERROR_SCHEMA:
		request_error(r, 400, "invalid_input", "%s", err->message);
		break;
	case ERROR_BLOCKED:
		request_error(r, 409, "conflict", "%s", err->message);
		break;
	case ERROR_OVERLOADED:
		request_refuse(r, &too_busy);
		break;
	default:
		/* The system's message may contain a path of the storage, which only the server's
		 * owner may see. */
		log_warn(err);
		request_error(r, 500, "internal", "the server failed to do it: its log says why");
		break;
	}
}

void
request_file(struct request *r, const char *type, int fd, int64_t offset, int64_t len,
    const char *const *more)
{
	struct buffer head = BUFFER_INIT;

	if (!descriptors_left(fd, DESCRIPTORS_HELD)) {
		file_close(&fd);
		request_refuse(r, &too_busy);
		return;
	}
	begin_answer(r, &head, 200, type, more);
	connection_answer_file(r->connection, 200, &head, fd, offset, len);
}

void
request_stream(struct request *r, struct stream *stream)
{
	static const char *const more[] = { "X-Accel-Buffering", "no", NULL };
	struct buffer head = BUFFER_INIT;

	r->stream = stream;
	begin_answer(r, &head, 200, stream->source->type, more);
	connection_stream(r->connection, 200, &head, -1);
	if (r->connection->bodiless) {
		connection_end(r->connection, false);
		return;
	}
	buffer_free(&r->head);
	stream_begin(stream, r->connection);
}

void
request_wait(struct request *r)
{
	r->waiting = true;
	connection_wait(r->connection);
}

void
request_hold(struct request *r, bool held)
{
	connection_pause(r->connection, held);
}

void
request_wake(struct request *r)
{
	if (!r->waiting)
		return;
	r->waiting = false;
	connection_wake(r->connection);
}

/* ---- the request ---- */

const char *
request_parameter(const struct request *r, const char *name)
{
	return target_parameter(&r->target, name);
}

bool
request_number(struct request *r, const char *name, int64_t most, int64_t *value)
{
	if (target_number(&r->target, name, most, value))
		return true;
	request_error(r, 400, "invalid_input", "%s is to be a whole number from 0 to %" PRId64, name, most);
	return false;
}

struct span
request_header(const struct request *r, const char *name)
{
	struct head head;

	/* It was parsed when it arrived, so it is valid. */
	if (r->head.len == 0 || head_read(&head, r->head.data, r->head.len) != NULL)
		return SPAN_NONE;
	return head_value(&head, name);
}

const char *
request_segment(const struct request *r, size_t star)
{
	const char *at = r->route->pattern;

	for (size_t i = 0; i < r->target.segment_count; i++) {
		size_t len = strcspn(at, "/");

		if (*at == '*' && star-- == 0)
			return r->target.segments[i];
		at += len + (at[len] == '/');
	}
	return "";
}

static bool
request_matches_pattern(const char *pattern, const struct target *t)
{
	for (size_t i = 0; i < t->segment_count; i++) {
		size_t len = strcspn(pattern, "/");

		if (len == 0 || (strncmp(pattern, "*", len) != 0 &&
		    (strlen(t->segments[i]) != len || memcmp(pattern, t->segments[i], len) != 0)))
			return false;
		pattern += len + (pattern[len] == '/');
	}
	return *pattern == '\0';
}

static bool
is_method(const struct request *r, const struct route *route)
{
	return strcmp(route->method, r->method) == 0 ||
	    (strcmp(route->method, "GET") == 0 && strcmp(r->method, "HEAD") == 0);
}

static void
list_allowed(struct buffer *list, const struct request *r)
{
	for (const struct route *route = r->server->routes; route->method != NULL; route++)
		if (request_matches_pattern(route->pattern, &r->target))
			buffer_format(list, "%s%s%s", list->len > 0 ? ", " : "", route->method,
			    strcmp(route->method, "GET") == 0 ? ", HEAD" : "");
}

static void
add_allowed(struct buffer *head, const struct request *r)
{
	struct buffer list = BUFFER_INIT;

	list_allowed(&list, r);
	add_field(head, "Allow", buffer_string(&list));
	buffer_free(&list);
}

/* A refusal with a message of its own, whose text is stored in the request. */
static const struct refusal *__attribute__((format(printf, 4, 5)))
refuse_saying(struct request *r, unsigned status, const char *code, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(r->said.text, sizeof r->said.text, format, list);
	va_end(list);
	r->said.refusal = (struct refusal){ status, code, r->said.text };
	return &r->said.refusal;
}

static const struct refusal *
refuse_method(struct request *r)
{
	struct buffer allowed = BUFFER_INIT;

	list_allowed(&allowed, r);
	refuse_saying(r, 405, "method_not_allowed", "%s is not for what is asked for: %s", r->method,
	    buffer_string(&allowed));
	buffer_free(&allowed);
	return &r->said.refusal;
}

static const struct refusal *
refuse_parameter(struct request *r, const char *name)
{
	const size_t len = strlen(r->route->parameters);

	return refuse_saying(r, 400, "invalid_input", "the parameter %s is not known here%s%.*s", name,
	    len > 0 ? ", but these: " : "", len > 0 ? (int)len - 1 : 0, r->route->parameters);
}

static const struct refusal *
refuse_size(struct request *r)
{
	return refuse_saying(r, 413, "too_large", "the body is too large: %zu bytes are taken here",
	    r->route->body);
}

static const struct refusal *
find_route(struct request *r)
{
	bool there = false;

	for (const struct route *route = r->server->routes; route->method != NULL; route++) {
		if (!request_matches_pattern(route->pattern, &r->target))
			continue;
		there = true;
		if (is_method(r, route)) {
			r->route = route;
			return NULL;
		}
	}
	return there ? refuse_method(r) : &not_found;
}

/* ---- checks of the client ---- */

/* Whether a Content-Type is this one, with any parameters. */
static bool
is_type(struct span given, const char *type)
{
	size_t len = strlen(type);

	return given.at != NULL && given.len >= len && strncasecmp(given.at, type, len) == 0 &&
	    (given.len == len || given.at[len] == ';' || given.at[len] == ' ');
}

bool
request_has_type(const struct request *r, const char *type)
{
	return is_type(request_header(r, "Content-Type"), type);
}

#define LABEL_SHOWN 100
#define DIGITS_SHOWN 12 /* --list-tokens shows as many digits of a digest */

/* Refuses a request whose token lacks a right; the message names the role that is needed and that
 * of the token. */
static const struct refusal *
refuse_role(struct request *r, unsigned may)
{
	const struct token *token = r->token->parent != NULL ? r->token->parent : r->token;
	const char *needed = token_role_of(may);
	const bool labelled = token->label != NULL && *token->label != '\0';

	return refuse_saying(r, 403, "forbidden", "the token %.*s has the role %s, and this "
	    "takes the role %s (awf-serve --new-token %s makes one)",
	    labelled ? LABEL_SHOWN : DIGITS_SHOWN, labelled ? token->label : token->digest,
	    token_role_of(r->token->may), needed, needed);
}

/* Checks everything that can be checked before the body. NULL, or why the request is refused. */
static const struct refusal *
request_check_head(struct request *r, const struct head *h)
{
	struct access *a = &r->server->access;
	const struct connection_peer *peer = &r->connection->peer;
	const struct refusal *refusal;
	bool safe = strcmp(r->method, "GET") == 0 || r->connection->bodiless, needs_token;
	const char *unknown;
	char address[PEER_ADDRESS];

	access_address(a, peer, h, address);
	if (!connection_from(r->connection, address))
		return &too_many_from;
	if ((refusal = access_host(a, peer, h)) != NULL ||
	    (refusal = target_read(&r->target, h->target)) != NULL ||
	    (refusal = find_route(r)) != NULL)
		return refusal;
	/* Other sites may link to the page, but the page's requests to the API must come from the
	 * page itself. */
	if ((!safe || r->route->may != 0) && (refusal = access_origin(h)) != NULL)
		return refusal;
	needs_token = r->route->may != 0 && !((r->route->may & MAY_SIGNED) != 0 && access_signed(h));
	if (needs_token) {
		r->token = access_token(a, peer, h, safe, clock_wall());
		r->connection->admitted |= r->token != NULL;
	}
	/* Some connections above the limit are reserved for clients with a valid token. */
	if (r->token == NULL && r->server->httpd.count > r->server->httpd.limits.connections)
		return &too_many_clients;
	if (needs_token) {
		unsigned may = r->route->may & MAY_ALL;

		if (r->token == NULL)
			return &unauthorized;
		/* request_run() checks whose the run is. */
		if ((r->route->may & MAY_OWN) != 0 && (r->token->may & MAY_START) != 0)
			may &= ~(unsigned)MAY_READ;
		if ((r->token->may & may) != may)
			return refuse_role(r, may);
	}
	if ((unknown = target_unknown(&r->target, r->route->parameters)) != NULL)
		return refuse_parameter(r, unknown);
	if (r->route->type != NULL && !is_type(head_value(h, "Content-Type"), r->route->type))
		return refuse_saying(r, 415, "invalid_input", "the body is of another type: Content-Type: %s is "
		    "taken here", r->route->type);
	return h->length <= (int64_t)r->route->body ? NULL : refuse_size(r);
}

static struct request *
make_request(struct connection *c)
{
	struct request *r = memory_zero(1, sizeof *r);

	r->server = (struct server *)(void *)((char *)c->httpd - offsetof(struct server, httpd));
	r->connection = c;
	r->server->counts.requests++;
	c->request = r;
	return r;
}

static const struct refusal *
begin_request(struct connection *c, const struct head *h, struct span bytes)
{
	struct request *r = make_request(c);
	const struct refusal *refusal;
	struct error err;
	bool revoked;

	if (h->method.len < sizeof r->method)
		memcpy(r->method, h->method.at, h->method.len);
	r->secure = head_is(head_value(h, "X-Forwarded-Proto"), "https");
	if (tokens_refresh(&r->server->access.tokens, &revoked, &err) != 0)
		log_warn(&err);
	if (revoked)
		streams_check(&r->server->streams);
	refusal = request_check_head(r, h);
	if (refusal == NULL)
		buffer_append(&r->head, bytes.at, bytes.len);
	if (refusal == NULL && r->route->take != NULL)
		c->body_ms = CLIENT_UPLOAD_MS;
	return refusal;
}

static const struct refusal *
request_receive_body(struct connection *c, struct span piece, int64_t left)
{
	struct request *r = c->request;

	if (r->received + piece.len + (size_t)left > r->route->body)
		return refuse_size(r);
	r->received += piece.len;
	if (piece.len == 0)
		return NULL;
	return r->route->take != NULL ? r->route->take(r, piece) : connection_keep(c, piece);
}

static void
answer_request(struct connection *c)
{
	struct request *r = c->request;

	if (r->server->closing)
		request_refuse(r, &closing);
	else
		r->route->answer(r);
	if (!r->answered && !r->waiting)
		request_refuse(r, &unanswered);
}

static void
refuse_request(struct connection *c, const struct refusal *refusal)
{
	request_refuse(c->request != NULL ? c->request : make_request(c), refusal);
}

static void
write_more(struct connection *c)
{
	const struct request *r = c->request;

	stream_wake(r->stream);
}

static void
end_request(struct connection *c)
{
	struct request *r = c->request;

	stream_free(r->stream);
	if (r->free_state != NULL)
		r->free_state(r->state);
	token_release(r->token);
	target_free(&r->target);
	buffer_free(&r->head);
	free(r);
}

const struct connection_handler request_handler = {
	.begin = begin_request, .body = request_receive_body, .answer = answer_request,
	.refuse = refuse_request, .ready = write_more, .end = end_request,
};
