/*
 * libmicrohttpd calls handle() with the head of a request, with pieces of its body, and when all
 * is there; again after the request was let wait. It forgives much that serve/head.h must see to
 * refuse: fields come as it took them apart, in its own buffer, so where each stands tells whether
 * they stood on lines of their own.
 */
#include "serve/request.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/patience.h"
#include "json/writer.h"
#include "serve/log.h"
#include "serve/serve.h"
#include "serve/stream.h"

/* Of the library, for each connection: the head of a request, what it makes of it, and the head
 * of the answer. */
#define CONNECTION_MEMORY 8192
#define BODY_DRAINED ((size_t)1 << 20)  /* of a body that is too large, before it is broken off */
#define SPARE_CONNECTIONS 32            /* for those that are told that there are too many */

/* From 0.9.76 on the library refuses these itself, if it is asked to be strict. */
#define FORGIVING (MHD_VERSION < 0x00097601)

static const struct refusal not_found = { 404, "not_found", "there is nothing of this name" };
static const struct refusal unauthorized = { 401, "unauthorized",
	"a token is needed: Authorization: Bearer awf_…" };
static const struct refusal forbidden = { 403, "forbidden", "the token has not the role for it" };
static const struct refusal bad_method = { 405, "method_not_allowed",
	"this method is not for what is asked for" };
static const struct refusal bad_type = { 415, "invalid_input",
	"the body is of another type (Content-Type)" };
static const struct refusal too_large = { 413, "too_large", "the body is too large" };
static const struct refusal unknown_parameter = { 400, "invalid_input",
	"a parameter is not known here" };
static const struct refusal too_many_clients = { 503, "unavailable",
	"too many clients: try again later" };
static const struct refusal closing = { 503, "unavailable", "the server is being stopped" };
static const struct refusal too_many_from = { 429, "too_many",
	"too many clients from this address" };

/* ---- the answer ---- */

static void
add_field(struct MHD_Response *response, const char *name, const char *value)
{
	MHD_add_response_header(response, name, value);
}

/* Names of methods that a path is for, for a 405. */
static void
add_allowed(struct MHD_Response *response, const struct request *r);

static void
send_response(struct request *r, unsigned status, const char *type,
    struct MHD_Response *response, const char *const *more)
{
	if (type != NULL)
		add_field(response, "Content-Type", type);
	add_field(response, "Cache-Control", "no-cache");
	add_field(response, "X-Content-Type-Options", "nosniff");
	add_field(response, "Referrer-Policy", "no-referrer");
	add_field(response, "Cross-Origin-Resource-Policy", "same-origin");
	for (; more != NULL && *more != NULL; more += 2)
		add_field(response, more[0], more[1]);
	if (MHD_get_response_header(response, "Content-Security-Policy") == NULL)
		add_field(response, "Content-Security-Policy",
		    "default-src 'none'; frame-ancestors 'none'; sandbox");
	if (status == 401)
		add_field(response, "WWW-Authenticate", "Bearer");
	if (status == 429 || status == 503)
		add_field(response, "Retry-After", "5");
	if (status == 405)
		add_allowed(response, r);
	r->answered = true;
	if (status >= 400)
		r->server->counts.refused++;
	MHD_queue_response(r->connection, status, response);
	MHD_destroy_response(response);
}

void
request_bytes(struct request *r, unsigned status, const char *type, struct buffer *bytes,
    const char *const *more)
{
	size_t len = bytes->len;
	char *memory = buffer_take(bytes);

	send_response(r, status, type,
	    MHD_create_response_from_buffer(len, memory, MHD_RESPMEM_MUST_FREE), more);
}

void
request_json(struct request *r, unsigned status, struct buffer *json)
{
	request_bytes(r, status, "application/json", json, NULL);
}

void
request_status(struct request *r, unsigned status, const char *const *more)
{
	send_response(r, status, NULL, MHD_create_response_from_buffer(0, NULL,
	    MHD_RESPMEM_PERSISTENT), more);
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
	default:
		/* What the system says names places of the storage: that is for whose it is. */
		log_warn(err);
		request_error(r, 500, "internal", "the server failed to do it: its log says why");
		break;
	}
}

void
request_file(struct request *r, const char *type, int fd, int64_t offset, int64_t len,
    const char *const *more)
{
	struct MHD_Response *response;

	if (len == 0) {
		file_close(&fd);
		response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	} else {
		response = MHD_create_response_from_fd_at_offset64((uint64_t)len, fd, (uint64_t)offset);
	}
	send_response(r, 200, type, response, more);
}

/* Called for what follows the head: there the stream begins; when the connection comes back, it
 * has ended. */
static ssize_t
read_stream(void *context, uint64_t position, char *bytes, size_t most)
{
	struct request *r = context;
	struct stream *s = r->stream;

	(void)position, (void)bytes, (void)most;
	if (s->connection == NULL) {
		stream_begin(s, r->connection, r->client->fd, r->http11);
		return 0;
	}
	return s->failed ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
}

void
request_stream(struct request *r, struct stream *stream)
{
	static const char *const more[] = { "X-Accel-Buffering", "no", NULL };
	const char *type = stream->source->type;

	r->stream = stream;
	send_response(r, 200, type, MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1,
	    read_stream, r, NULL), more);
}

void
request_wait(struct request *r)
{
	if (r->waiting)
		return;
	r->waiting = true;
	MHD_suspend_connection(r->connection);
}

void
request_wake(struct request *r)
{
	if (!r->waiting)
		return;
	r->waiting = false;
	MHD_resume_connection(r->connection);
	r->server->resumed = true;
}

/* ---- what is asked for ---- */

const char *
request_parameter(const struct request *r, const char *name)
{
	return target_parameter(&r->target, name);
}

bool
request_number(struct request *r, const char *name, int64_t most, int64_t *value)
{
	const struct refusal *refusal = target_number(&r->target, name, most, value);

	if (refusal != NULL)
		request_refuse(r, refusal);
	return refusal == NULL;
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
matches(const char *pattern, const struct target *t)
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
add_allowed(struct MHD_Response *response, const struct request *r)
{
	struct buffer list = BUFFER_INIT;

	for (const struct route *route = r->server->routes; route->method != NULL; route++)
		if (matches(route->pattern, &r->target))
			buffer_format(&list, "%s%s%s", list.len > 0 ? ", " : "", route->method,
			    strcmp(route->method, "GET") == 0 ? ", HEAD" : "");
	add_field(response, "Allow", buffer_string(&list));
	buffer_free(&list);
}

static const struct refusal *
find_route(struct request *r)
{
	bool there = false;

	for (const struct route *route = r->server->routes; route->method != NULL; route++) {
		if (!matches(route->pattern, &r->target))
			continue;
		there = true;
		if (is_method(r, route)) {
			r->route = route;
			return NULL;
		}
	}
	return there ? &bad_method : &not_found;
}

/* ---- the head ---- */

struct gathered {
	struct head head;
	const char *next;        /* where the next field's name must stand */
};

static enum MHD_Result
gather(void *context, enum MHD_ValueKind kind, const char *name, size_t name_len,
    const char *value, size_t value_len)
{
	struct gathered *g = context;

	(void)kind;
	if (value == NULL)
		value = "";
	if (g->head.count < HEAD_FIELDS)
		g->head.fields[g->head.count] = (struct head_field){ span_of(name, name_len),
			span_of(value, value_len) };
	g->head.count++;
	/* The library puts a NUL in the place of the colon, and two in that of CR LF. A field that
	 * was folded, that a bare LF ended, or that holds a NUL, leaves a gap. */
	if (FORGIVING && value < name + name_len)
		g->head.torn = true;
	if (FORGIVING && !g->head.torn) {
		for (const char *at = name + name_len + 1; at < value; at++)
			g->head.torn |= *at != ' ' && *at != '\t';
		g->head.torn |= name != g->next;
		g->next = value + value_len + 2;
	}
	return MHD_YES;
}

static char *
copy_span(struct span value)
{
	return value.at != NULL ? memory_copy(value.at, value.len) : NULL;
}

/* Whether the type of a body is this one, whatever its parameters. */
static bool
is_type(struct span given, const char *type)
{
	size_t len = strlen(type);

	return given.at != NULL && given.len >= len && strncasecmp(given.at, type, len) == 0 &&
	    (given.len == len || given.at[len] == ';' || given.at[len] == ' ');
}

/* What is wrong with a request, as far as its head tells. *at_once: nothing more of it is to be
 * read. */
static const struct refusal *
judge(struct request *r, const struct head *h, bool *at_once)
{
	struct access *a = &r->server->access;
	const struct refusal *refusal;
	bool safe = strcmp(r->method, "GET") == 0 || strcmp(r->method, "HEAD") == 0;
	char address[PEER_ADDRESS];

	if (r->server->client_count > (size_t)r->server->settings.clients)
		return &too_many_clients;
	access_address(a, &r->client->peer, h, address);
	if (!client_from(r->client, address))
		return &too_many_from;
	refusal = access_host(a, &r->client->peer, h);
	if (refusal == NULL)
		refusal = target_read(&r->target, r->raw);
	if (refusal == NULL)
		refusal = find_route(r);
	/* A link from elsewhere may lead to the page; what the page asks for is its own. */
	if (refusal == NULL && (!safe || r->route->may != 0))
		refusal = access_origin(h);
	if (refusal == NULL && r->route->may != 0) {
		r->token = access_token(a, &r->client->peer, h, safe, clock_wall());
		if (r->token == NULL)
			refusal = &unauthorized;
		else if ((r->token->may & r->route->may) != r->route->may)
			refusal = &forbidden;
	}
	if (refusal == NULL && !target_only(&r->target, r->route->parameters))
		refusal = &unknown_parameter;
	*at_once = refusal != NULL && (h->chunked || h->length > 0);
	if (refusal != NULL)
		return refusal;
	if (r->route->type != NULL && !is_type(head_value(h, "Content-Type"), r->route->type))
		return &bad_type;
	if (h->length <= (int64_t)r->route->body)
		return NULL;
	*at_once = true;
	return &too_large;
}

/* Looks at the head: a refusal that cannot wait for the body is answered here. */
static void
begin(struct request *r, const char *method, const char *version)
{
	struct gathered g = { .head = { .method = method, .version = version } };
	const union MHD_ConnectionInfo *size;
	const struct refusal *refusal;
	bool at_once = true, revoked;
	struct error err;

	r->begun = true;
	r->server->counts.requests++;
	snprintf(r->method, sizeof r->method, "%s", method);
	r->http11 = strcmp(version, "HTTP/1.1") == 0;
	g.next = version + strlen(version) + 2;
	MHD_get_connection_values_n(r->connection, MHD_HEADER_KIND, gather, &g);
	size = MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	if (FORGIVING && size != NULL && g.next + 2 != method + size->header_size)
		g.head.torn = true;
	refusal = head_check(&g.head);
	if (refusal == NULL) {
		if (tokens_refresh(&r->server->access.tokens, &revoked, &err) != 0)
			log_warn(&err);
		if (revoked)
			streams_check(r->server);
		r->last_event_id = copy_span(head_value(&g.head, "Last-Event-ID"));
		r->match = copy_span(head_value(&g.head, "If-None-Match"));
		r->secure = head_is(head_value(&g.head, "X-Forwarded-Proto"), "https");
		refusal = judge(r, &g.head, &at_once);
	}
	r->refusal = refusal;
	client_limit(r->client, CLIENT_BODY_MS);
	if (refusal != NULL && at_once)
		request_refuse(r, refusal);
}

/* Takes a piece of the body. What is above the limit is not kept, and soon not taken. */
static enum MHD_Result
take_body(struct request *r, const char *bytes, size_t len)
{
	if (r->body.len + len > (r->route != NULL ? r->route->body : 0)) {
		r->too_large = true;
		buffer_free(&r->body);
	}
	if (!r->too_large)
		buffer_append(&r->body, bytes, len);
	r->drained += len;
	return r->too_large && r->drained > BODY_DRAINED ? MHD_NO : MHD_YES;
}

static enum MHD_Result
handle(void *context, struct MHD_Connection *connection, const char *url, const char *method,
    const char *version, const char *upload, size_t *upload_size, void **state)
{
	struct request *r = *state;

	(void)context, (void)url, (void)connection;
	if (r == NULL)
		return MHD_NO;
	if (!r->begun) {
		begin(r, method, version);
		return MHD_YES;
	}
	if (*upload_size > 0) {
		size_t len = *upload_size;

		*upload_size = 0;
		return take_body(r, upload, len);
	}
	if (r->answered || r->waiting)
		return MHD_YES;
	client_limit(r->client, 0);
	if (r->server->closing)
		request_refuse(r, &closing);
	else if (r->refusal != NULL)
		request_refuse(r, r->refusal);
	else if (r->too_large)
		request_refuse(r, &too_large);
	else
		r->route->answer(r);
	return MHD_YES;
}

/* The request line is there, and with it the request. */
static void *
arrive(void *context, const char *uri, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection,
	    MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct request *r;

	if (info == NULL || info->socket_context == NULL)
		return NULL;
	r = memory_zero(1, sizeof *r);
	r->server = context;
	r->client = info->socket_context;
	r->connection = connection;
	r->raw = memory_text(uri != NULL ? uri : "");
	r->client->request = r;
	client_limit(r->client, CLIENT_HEAD_MS);
	return r;
}

static void
complete(void *context, struct MHD_Connection *connection, void **state,
    enum MHD_RequestTerminationCode code)
{
	struct request *r = *state;

	(void)context, (void)connection, (void)code;
	*state = NULL;
	if (r == NULL)
		return;
	client_limit(r->client, CLIENT_IDLE_MS);
	r->client->request = NULL;
	stream_free(r->stream);
	if (r->free_state != NULL)
		r->free_state(r->state);
	token_release(r->token);
	target_free(&r->target);
	buffer_free(&r->body);
	free(r->last_event_id);
	free(r->match);
	free(r->raw);
	free(r);
}

/* ---- the library ---- */

/* serve/target.h takes a target apart; the library is to leave it as it is. */
static size_t
leave_escaped(void *context, struct MHD_Connection *connection, char *text)
{
	(void)context, (void)connection;
	return strlen(text);
}

/* What it says of requests that it refuses is of interest to nobody. */
static void
keep_quiet(void *context, const char *format, va_list list)
{
	(void)context, (void)format, (void)list;
}

static void
library_ready(struct loop_source *source, uint32_t events)
{
	struct server *s = (struct server *)(void *)((char *)source - offsetof(struct server, library));

	(void)events;
	MHD_run(s->daemon);
}

void
requests_end(struct server *s)
{
	struct client *next;

	s->closing = true;
	for (struct client *c = s->clients; c != NULL; c = next) {
		next = c->next;
		if (c->request != NULL)
			request_wake(c->request);
	}
}

int
request_daemon(struct server *s, struct error *err)
{
	unsigned limit = (unsigned)s->settings.clients + SPARE_CONNECTIONS;
	const union MHD_DaemonInfo *info;

	s->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET |
	    MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL, handle, s,
	    MHD_OPTION_EXTERNAL_LOGGER, keep_quiet, NULL,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
	    MHD_OPTION_CONNECTION_LIMIT, limit,
	    MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(STREAM_STALL_MS + 999) / 1000,
	    MHD_OPTION_STRICT_FOR_CLIENT, 1,
	    MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
	    MHD_OPTION_URI_LOG_CALLBACK, arrive, s,
	    MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL,
	    MHD_OPTION_NOTIFY_COMPLETED, complete, s,
	    MHD_OPTION_NOTIFY_CONNECTION, client_notify, s,
	    MHD_OPTION_END);
	info = s->daemon != NULL ? MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	if (info == NULL)
		return error_set(err, ERROR_SYSTEM, NULL, "unable to start the HTTP library");
	s->library = (struct loop_source){ .fd = info->epoll_fd, .ready = library_ready };
	return loop_add(&s->loop, &s->library, EPOLLIN, err);
}
