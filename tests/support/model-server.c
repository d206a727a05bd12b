/*
 * A model API for tests: serves recorded streams over HTTP/1.1 on loopback,
 * counts and logs the requests, and misbehaves on request. --help tells how.
 *
 * Each connection has a thread of its own, so an answer may wait as long as it
 * likes without holding up the others. What the threads share (which answer is
 * next, the counts, the log) is under one lock.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../cmd/program.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/options.h"
#include "io/file.h"
#include "json/scan.h"
#include "json/writer.h"

#define PROGRAM "model-server"
#define ANSWER_LIMIT ((size_t)64 << 20)
#define OVERSIZED ((size_t)80 << 20)
#define BLOCK 65536
#define SLOW_PIECE 64

static const char usage[] =
"model-server [options]\n"
"\n"
"Prints its base URL when it is ready and serves every POST until SIGTERM.\n"
"GET /count tells how many requests and connections there were, and how many requests\n"
"were under way at most.\n"
"\n"
"Each answer file is one stream: a line is the data of one server-sent event,\n"
"whose name is the line's \"type\" if it has one; Chat Completions streams end\n"
"with [DONE]. A file of one line that is a whole answer (a chat.completion, a message or a\n"
"response) is served as that, without a stream. Errors are in the form of the API that the path is of. A request\n"
"gets the next unused answer of the first matching --answer-for, else the next\n"
"--answer, else status 400. An answer spoilt by a fault other than split and slow\n"
"stays unused, for the request that tries again.\n"
"\n"
"A fault is N:KIND[:ARG], N the number of the request (from 1) or *; several\n"
"for one request add up. KIND is one of\n"
"  401, 429, 500, 529 or another status; ARG is the Retry-After header, or\n"
"                 retry-after-ms if it ends in \"ms\"\n"
"  error:STATUS:FILE  STATUS, 200 too, with the bytes of FILE as its body\n"
"  split:N        pieces of N bytes\n"
"  slow:MS        MS milliseconds before each piece (of 64 bytes, or split:N)\n"
"  cut:BYTES      closes the connection after BYTES bytes\n"
"  cut-each       closes it after as many bytes as there were requests before\n"
"  end-each       ends the answer after so many bytes, as if it was whole\n"
"  stall          half of the events, then nothing\n"
"  error-event[:TYPE]  half of the events, then an error event\n"
"  oversized      a line of 80 MiB after half of the events\n"
"  badutf8        bytes that are not UTF-8 in a string in mid-stream";

enum { OPT_ANSWER = 1, OPT_ANSWER_FOR, OPT_LOOP, OPT_LOG, OPT_FAULT, OPT_TLS };

static const struct option_spec options[] = {
	{ OPT_ANSWER, 'a', "answer", "FILE", "serve FILE, in the order given" },
	{ OPT_ANSWER_FOR, 0, "answer-for", "PATTERN FILE", "serve FILE where the body contains PATTERN" },
	{ OPT_LOOP, 'l', "loop", NULL, "start over when all answers are used" },
	{ OPT_LOG, 0, "log", "FILE", "append each request as a line of JSON" },
	{ OPT_FAULT, 'f', "fault", "FAULT", "misbehave" },
	{ OPT_TLS, 0, "tls", "CERT KEY", "serve HTTPS, with these files in PEM" },
	{ 0, 0, NULL, NULL, NULL }
};

struct answer {
	const char *pattern; /* NULL: any request */
	struct buffer stream;
	size_t half;         /* where the second half of its events begins */
	bool done, used;
	bool whole;          /* one JSON value, no stream */
};

/* An answer on its way to one client. */
struct delivery {
	struct buffer bytes;
	size_t sent, half, piece, cut_at, stall_at;
	long delay_ms;
	unsigned status;
	const char *retry_after;
	long number;         /* of its request */
	struct server *server;
	bool over;           /* it is not under way any more */
	bool ends;           /* at cut_at, as if it was whole */
	bool events;         /* a stream of them */
	const struct form *form;
};

struct fault {
	long request; /* 0: all */
	const struct fault_kind *kind;
	const char *argument;
	unsigned status;
	struct buffer body;
};

struct fault_kind {
	const char *name;
	int least;   /* the argument is a number, this or more; -1: it is none */
	bool spares; /* the answer is whole and counts as given */
	void (*apply)(struct delivery *d, const struct fault *f);
};

struct server {
	struct answer *answers;
	size_t answer_count;
	struct fault *faults;
	size_t fault_count;
	bool loop;
	int log;
	struct buffer certificate, key; /* empty: HTTP */
	pthread_mutex_t lock; /* of everything below, and answers[].used */
	long requests, connections;
	long under_way, most; /* requests */
};

struct exchange {
	struct buffer body;
	long connection;
};

static const struct status {
	unsigned status;
	const char *type; /* Messages API */
	const char *code; /* Chat Completions */
	const char *rpc;  /* Gemini */
} statuses[] = {
	{ 400, "invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT" },
	{ 401, "authentication_error", "invalid_api_key", "UNAUTHENTICATED" },
	{ 403, "permission_error", "permission_denied", "PERMISSION_DENIED" },
	{ 404, "not_found_error", "model_not_found", "NOT_FOUND" },
	{ 413, "request_too_large", "request_too_large", "INVALID_ARGUMENT" },
	{ 429, "rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED" },
	{ 500, "api_error", "server_error", "INTERNAL" },
	{ 503, "api_error", "server_error", "UNAVAILABLE" },
	{ 529, "overloaded_error", "overloaded", "UNAVAILABLE" },
	{ 0, "api_error", "server_error", "UNKNOWN" }
};

/* {"type":"error","error":{"type","message"}} */
static void
messages_error(struct writer *w, const struct status *s, const char *word, const char *message)
{
	writer_member_string(w, "type", "error");
	writer_key(w, "error");
	writer_object(w);
	writer_member_string(w, "type", word == NULL ? s->type : word);
	writer_member_string(w, "message", message);
	writer_object_end(w);
}

/* {"error":{"type","code","message"}} */
static void
chat_error(struct writer *w, const struct status *s, const char *word, const char *message)
{
	writer_key(w, "error");
	writer_object(w);
	writer_member_string(w, "type", word == NULL ? s->type : word);
	writer_member_string(w, "code", word == NULL ? s->code : word);
	writer_member_string(w, "message", message);
	writer_object_end(w);
}

/* {"error":{"code","message","status"}} */
static void
gemini_error(struct writer *w, const struct status *s, const char *word, const char *message)
{
	writer_key(w, "error");
	writer_object(w);
	writer_member_integer(w, "code", s->status);
	writer_member_string(w, "message", message);
	writer_member_string(w, "status", word == NULL ? s->rpc : word);
	writer_object_end(w);
}

/* How an API says errors; the first is that of any other path. */
static const struct form {
	const char *path;
	/* The members of an error; word: the API's own, in an event, else NULL. */
	void (*error)(struct writer *w, const struct status *s, const char *word, const char *message);
	const char *word;  /* of an error event that says none */
	const char *event; /* the event's name; NULL: none */
} forms[] = {
	{ "/messages", messages_error, "overloaded_error", "error" },
	{ "/chat/completions", chat_error, "server_error", NULL },
	{ ":streamGenerateContent", gemini_error, "UNAVAILABLE", NULL }
};

static const struct form *
form_of(const char *url)
{
	size_t i;

	for (i = 0; i < sizeof forms / sizeof forms[0]; i++)
		if (strstr(url, forms[i].path) != NULL)
			return &forms[i];
	return &forms[0];
}

/* The row of a status, or of an API's word for it; the last row if there is none. */
static const struct status *
status_find(unsigned status, const char *word)
{
	const struct status *s = statuses;

	while (s->status != 0 && s->status != status && (word == NULL || strcmp(s->rpc, word) != 0))
		s++;
	return s;
}

static void
error_body(struct buffer *out, const struct form *form, const struct status *s, const char *word,
    const char *message)
{
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	form->error(&w, s, word, message);
	writer_object_end(&w);
}

static void
delivery_status(struct delivery *d, unsigned status, const char *message)
{
	d->status = status;
	d->events = false;
	buffer_clear(&d->bytes);
	error_body(&d->bytes, d->form, status_find(status, NULL), NULL, message);
}

/* Puts bytes into the stream at a position. */
static void
delivery_insert(struct delivery *d, size_t at, const void *bytes, size_t len)
{
	buffer_reserve(&d->bytes, len);
	memmove(d->bytes.data + at + len, d->bytes.data + at, d->bytes.len - at);
	memcpy(d->bytes.data + at, bytes, len);
	d->bytes.len += len;
}

static void
fault_status(struct delivery *d, const struct fault *f)
{
	delivery_status(d, f->status, "a fault on request");
	d->retry_after = f->argument;
}

static void
fault_error(struct delivery *d, const struct fault *f)
{
	d->status = f->status;
	d->events = false;
	buffer_clear(&d->bytes);
	buffer_append(&d->bytes, f->body.data, f->body.len);
}

static void
fault_split(struct delivery *d, const struct fault *f)
{
	d->piece = strtoul(f->argument, NULL, 10);
}

static void
fault_slow(struct delivery *d, const struct fault *f)
{
	d->delay_ms = strtol(f->argument, NULL, 10);
	if (d->piece == BLOCK)
		d->piece = SLOW_PIECE;
}

static void
fault_cut(struct delivery *d, const struct fault *f)
{
	d->cut_at = strtoul(f->argument, NULL, 10);
}

static void
fault_cut_each(struct delivery *d, const struct fault *f)
{
	(void)f;
	d->cut_at = (size_t)d->number - 1;
}

static void
fault_end_each(struct delivery *d, const struct fault *f)
{
	fault_cut_each(d, f);
	d->ends = true;
}

static void
fault_stall(struct delivery *d, const struct fault *f)
{
	(void)f;
	d->stall_at = d->half;
}

static void
fault_error_event(struct delivery *d, const struct fault *f)
{
	const char *word = f->argument == NULL ? d->form->word : f->argument;

	d->bytes.len = d->half;
	if (d->form->event != NULL)
		buffer_format(&d->bytes, "event: %s\n", d->form->event);
	buffer_text(&d->bytes, "data: ");
	error_body(&d->bytes, d->form, status_find(0, word), word, "an error event on request");
	buffer_text(&d->bytes, "\n\n");
}

static void
fault_oversized(struct delivery *d, const struct fault *f)
{
	static const char start[] = "data: {\"type\":\"ping\",\"x\":\"";
	static const char end[] = "\"}\n\n";
	struct buffer line = BUFFER_INIT;

	(void)f;
	buffer_text(&line, start);
	memset(buffer_reserve(&line, OVERSIZED), 'x', OVERSIZED);
	line.len += OVERSIZED;
	buffer_text(&line, end);
	delivery_insert(d, d->half, line.data, line.len);
	buffer_free(&line);
}

static void
fault_badutf8(struct delivery *d, const struct fault *f)
{
	size_t at = d->half;

	(void)f;
	buffer_byte(&d->bytes, '\0');
	d->bytes.len--;
	/* Into the first key of the event: {" */
	at += strcspn(d->bytes.data + at, "{");
	at += strcspn(d->bytes.data + at, "\"");
	if (at < d->bytes.len)
		delivery_insert(d, at + 1, "\xc3\x28", 2);
}

static const struct fault_kind fault_kinds[] = {
	{ "split", 1, true, fault_split },
	{ "slow", 1, true, fault_slow },
	{ "cut", 0, false, fault_cut },
	{ "cut-each", -1, false, fault_cut_each },
	{ "end-each", -1, false, fault_end_each },
	{ "stall", -1, false, fault_stall },
	{ "error-event", -1, false, fault_error_event },
	{ "oversized", -1, false, fault_oversized },
	{ "badutf8", -1, false, fault_badutf8 }
};
static const struct fault_kind status_kind = { "status", -1, false, fault_status };
static const struct fault_kind error_kind = { "error", -1, false, fault_error };

/* The status in text up to a colon or the end, or 0. */
static unsigned
status_parse(const char *text)
{
	char *end;
	long status = strtol(text, &end, 10);

	if (end == text || (*end != ':' && *end != '\0') || status < 300 || status > 599)
		return 0;
	return (unsigned)status;
}

static int
fault_parse_error(struct fault *f, const char *text, struct error *err)
{
	const char *file = f->argument == NULL ? NULL : strchr(f->argument, ':');

	f->kind = &error_kind;
	f->status = file == NULL ? 0 :
	    strncmp(f->argument, "200:", 4) == 0 ? 200 : status_parse(f->argument);
	if (f->status == 0)
		return error_set(err, ERROR_USAGE, "--fault", "'%s': expected error:STATUS:FILE", text);
	return file_load(file + 1, ANSWER_LIMIT, &f->body, err);
}

static int
fault_check_number(const struct fault *f, const char *text, struct error *err)
{
	long long number;

	if (f->kind->least < 0)
		return 0;
	if (f->argument == NULL)
		return error_set(err, ERROR_USAGE, "--fault", "'%s': expected a number", text);
	return options_number("--fault", f->argument, f->kind->least, INT_MAX, &number, err);
}

/* The kind of the fault, its name being the first len bytes of name. */
static int
fault_parse_kind(struct fault *f, const char *name, size_t len, const char *text,
    struct error *err)
{
	size_t i;

	if (len == 5 && memcmp(name, "error", 5) == 0)
		return fault_parse_error(f, text, err);
	f->status = status_parse(name);
	if (f->status != 0) {
		f->kind = &status_kind;
		return 0;
	}
	for (i = 0; i < sizeof fault_kinds / sizeof fault_kinds[0]; i++) {
		if (strlen(fault_kinds[i].name) != len || memcmp(fault_kinds[i].name, name, len) != 0)
			continue;
		f->kind = &fault_kinds[i];
		return fault_check_number(f, text, err);
	}
	return error_set(err, ERROR_USAGE, "--fault", "'%s': unknown kind", text);
}

/* N:KIND[:ARG] */
static int
fault_parse(struct fault *f, const char *text, struct error *err)
{
	const char *kind = strchr(text, ':');
	char *end;
	size_t len;

	memset(f, 0, sizeof *f);
	if (kind == NULL)
		return error_set(err, ERROR_USAGE, "--fault", "'%s': expected N:KIND", text);
	kind++;
	if (text[0] != '*') {
		f->request = strtol(text, &end, 10);
		if (end + 1 != kind || f->request < 1)
			return error_set(err, ERROR_USAGE, "--fault",
			    "'%s': expected a request's number or *", text);
	}
	len = strcspn(kind, ":");
	f->argument = kind[len] == ':' ? kind + len + 1 : NULL;
	return fault_parse_kind(f, kind, len, text, err);
}

/* One event from the len bytes of its data. */
static void
answer_event(struct answer *a, const char *data, size_t len)
{
	struct span line = span_of(data, len);
	char *type = span_text(span_member(line, "type"));

	if (span_is(span_member(line, "object"), "chat.completion.chunk"))
		a->done = true;
	if (type != NULL)
		buffer_format(&a->stream, "event: %s\n", type);
	free(type);
	buffer_text(&a->stream, "data: ");
	buffer_append(&a->stream, data, len);
	buffer_text(&a->stream, "\n\n");
}

static size_t
count_lines(const struct buffer *b)
{
	size_t i, count = 0;

	for (i = 0; i < b->len; i++)
		count += b->data[i] == '\n';
	return count + (b->len > 0 && b->data[b->len - 1] != '\n');
}

/* Whether a line is all of an answer. */
static bool
is_whole(struct span line)
{
	static const char *const objects[] = { "chat.completion", "response", NULL };

	return span_one_of(span_member(line, "object"), objects) != NULL ||
	    span_is(span_member(line, "type"), "message");
}

static int
answer_load(struct answer *a, const char *pattern, const char *path, struct error *err)
{
	struct buffer file = BUFFER_INIT;
	size_t at, len, lines, line;

	memset(a, 0, sizeof *a);
	a->pattern = pattern;
	if (file_load(path, ANSWER_LIMIT, &file, err) != 0)
		return -1;
	lines = count_lines(&file);
	if (lines == 1 && is_whole(span_of(file.data, file.len))) {
		a->whole = true;
		a->stream = file;
		return 0;
	}
	for (at = 0, line = 0; line < lines; line++, at += len + 1) {
		const char *end = memchr(file.data + at, '\n', file.len - at);

		len = end == NULL ? file.len - at : (size_t)(end - (file.data + at));
		if (line == lines / 2)
			a->half = a->stream.len;
		if (len > 0)
			answer_event(a, file.data + at, len);
	}
	if (a->done)
		buffer_text(&a->stream, "data: [DONE]\n\n");
	buffer_free(&file);
	return 0;
}

static bool
answer_matches(const struct answer *a, const struct buffer *body, bool patterns)
{
	if (a->used || (a->pattern != NULL) != patterns)
		return false;
	return a->pattern == NULL || strstr(buffer_string(body), a->pattern) != NULL;
}

static struct answer *
answer_find(struct server *s, const struct buffer *body)
{
	int patterns;
	size_t i;

	for (patterns = 1; patterns >= 0; patterns--)
		for (i = 0; i < s->answer_count; i++)
			if (answer_matches(&s->answers[i], body, patterns != 0))
				return &s->answers[i];
	return NULL;
}

/* Whether two answers are for the same pattern, or both for none. */
static bool
same_list(const struct answer *a, const struct answer *b)
{
	if (a->pattern == NULL || b->pattern == NULL)
		return a->pattern == b->pattern;
	return strcmp(a->pattern, b->pattern) == 0;
}

/* The answer counts as given; with --loop its list starts over after the last. */
static void
answer_use(struct server *s, struct answer *a)
{
	size_t i;

	a->used = true;
	if (!s->loop)
		return;
	for (i = 0; i < s->answer_count; i++)
		if (!s->answers[i].used && same_list(&s->answers[i], a))
			return;
	for (i = 0; i < s->answer_count; i++)
		if (same_list(&s->answers[i], a))
			s->answers[i].used = false;
}

static void
log_header(struct writer *w, struct MHD_Connection *c, const char *name)
{
	writer_member_string(w, name, MHD_lookup_connection_value(c, MHD_HEADER_KIND, name));
}

/* Of a header with a key the log says that it was there, no more. */
static void
log_secret(struct writer *w, struct MHD_Connection *c, const char *name)
{
	writer_member_bool(w, name, MHD_lookup_connection_value(c, MHD_HEADER_KIND, name) != NULL);
}

static enum MHD_Result
log_argument(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
	(void)kind;
	writer_member_string(context, name, value == NULL ? "" : value);
	return MHD_YES;
}

/* What follows the path in the URL, if anything does. */
static void
log_query(struct writer *w, struct MHD_Connection *c)
{
	if (MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, NULL, NULL) == 0)
		return;
	writer_key(w, "query");
	writer_object(w);
	MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, log_argument, w);
	writer_object_end(w);
}

static void
log_body(struct writer *w, const struct buffer *body)
{
	struct buffer minified = BUFFER_INIT;
	size_t bad;

	writer_key(w, "body");
	if (scan_check(buffer_string(body), body->len, &bad) != NULL) {
		writer_bytes(w, buffer_string(body), body->len);
		return;
	}
	scan_minify(span_of(body->data, body->len), &minified);
	writer_raw(w, minified.data, minified.len);
	buffer_free(&minified);
}

static void
log_request(struct server *s, struct MHD_Connection *c, const char *url,
    const struct exchange *x, long number)
{
	char time[CLOCK_TEXT_SIZE];
	struct buffer line = BUFFER_INIT;
	struct writer w;

	writer_begin(&w, &line);
	writer_object(&w);
	writer_member_string(&w, "time", clock_text(clock_wall(), time));
	writer_member_integer(&w, "request", number);
	writer_member_integer(&w, "connection", x->connection);
	writer_member_string(&w, "method", "POST");
	writer_member_string(&w, "path", url);
	writer_key(&w, "headers");
	writer_object(&w);
	log_header(&w, c, "content-type");
	log_header(&w, c, "accept");
	log_header(&w, c, "user-agent");
	log_header(&w, c, "anthropic-version");
	log_header(&w, c, "anthropic-beta");
	log_secret(&w, c, "authorization");
	log_secret(&w, c, "x-api-key");
	if (form_of(url)->error == gemini_error)
		log_secret(&w, c, "x-goog-api-key");
	writer_object_end(&w);
	log_query(&w, c);
	log_body(&w, &x->body);
	writer_object_end(&w);
	buffer_byte(&line, '\n');
	if (file_write(s->log, line.data, line.len) != 0)
		fprintf(stderr, PROGRAM ": log: unable to write: %s\n", strerror(errno));
	buffer_free(&line);
}

static struct delivery *
delivery_new(struct server *s, const char *url, struct answer *a, long number)
{
	struct delivery *d = memory_zero(1, sizeof *d);
	bool spoilt = a == NULL;
	size_t i;

	d->status = MHD_HTTP_OK;
	d->piece = BLOCK;
	d->cut_at = d->stall_at = SIZE_MAX;
	d->number = number;
	d->form = form_of(url);
	d->server = s;
	if (++s->under_way > s->most)
		s->most = s->under_way;
	if (a == NULL) {
		delivery_status(d, 400, "model-server: no answer is left");
	} else {
		buffer_append(&d->bytes, a->stream.data, a->stream.len);
		d->half = a->half;
		d->events = !a->whole;
	}
	for (i = 0; i < s->fault_count; i++) {
		const struct fault *f = &s->faults[i];

		if (f->request != 0 && f->request != number)
			continue;
		f->kind->apply(d, f);
		spoilt |= !f->kind->spares;
	}
	if (!spoilt)
		answer_use(s, a);
	return d;
}

/* Before its client can have all of it: who is let go by that comes later. */
static void
delivery_over(struct delivery *d)
{
	if (d->over)
		return;
	d->over = true;
	pthread_mutex_lock(&d->server->lock);
	d->server->under_way--;
	pthread_mutex_unlock(&d->server->lock);
}

static void
delivery_free(void *context)
{
	struct delivery *d = context;

	delivery_over(d);
	buffer_free(&d->bytes);
	free(d);
}

static void
sleep_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		;
}

static size_t
smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Called by the library for the next bytes of an answer. */
static ssize_t
delivery_next(void *context, uint64_t position, char *out, size_t size)
{
	struct delivery *d = context;
	size_t end = smaller(d->bytes.len, smaller(d->cut_at, d->stall_at));
	size_t len = smaller(end - d->sent, smaller(d->piece, size));

	(void)position;
	if (len > 0) {
		if (d->delay_ms > 0)
			sleep_ms(d->delay_ms);
		memcpy(out, d->bytes.data + d->sent, len);
		d->sent += len;
		if (d->sent == end && d->sent != d->stall_at)
			delivery_over(d);
		return (ssize_t)len;
	}
	while (d->sent == d->stall_at)
		pause();
	return d->sent == d->cut_at && !d->ends ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
}

static enum MHD_Result
queue(struct MHD_Connection *c, unsigned status, struct MHD_Response *r)
{
	enum MHD_Result result = MHD_queue_response(c, status, r);

	MHD_destroy_response(r);
	return result;
}

static void
add_retry_after(struct MHD_Response *r, const char *value)
{
	size_t len = strlen(value);
	char ms[32];

	if (len < 3 || strcmp(value + len - 2, "ms") != 0) {
		MHD_add_response_header(r, "Retry-After", value);
		return;
	}
	snprintf(ms, sizeof ms, "%.*s", (int)len - 2, value);
	MHD_add_response_header(r, "retry-after-ms", ms);
}

static enum MHD_Result
serve_post(struct server *s, struct MHD_Connection *c, const char *url, const struct exchange *x)
{
	struct delivery *d;
	struct MHD_Response *r;
	char id[32];
	long number;

	pthread_mutex_lock(&s->lock);
	number = ++s->requests;
	if (s->log >= 0)
		log_request(s, c, url, x, number);
	d = delivery_new(s, url, answer_find(s, &x->body), number);
	pthread_mutex_unlock(&s->lock);
	r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, delivery_next, d, delivery_free);
	snprintf(id, sizeof id, "req_%ld", number);
	MHD_add_response_header(r, "request-id", id);
	MHD_add_response_header(r, "Content-Type",
	    d->events ? "text/event-stream" : "application/json");
	if (d->retry_after != NULL)
		add_retry_after(r, d->retry_after);
	return queue(c, d->status, r);
}

static enum MHD_Result
serve_get(struct server *s, struct MHD_Connection *c, const char *url)
{
	char text[96] = "not found\n";
	unsigned status = MHD_HTTP_NOT_FOUND;

	if (strcmp(url, "/count") == 0) {
		status = MHD_HTTP_OK;
		pthread_mutex_lock(&s->lock);
		snprintf(text, sizeof text, "{\"requests\":%ld,\"connections\":%ld,\"most\":%ld}\n",
		    s->requests, s->connections, s->most);
		pthread_mutex_unlock(&s->lock);
	}
	return queue(c, status, MHD_create_response_from_buffer(strlen(text), text,
	    MHD_RESPMEM_MUST_COPY));
}

static enum MHD_Result
on_request(void *context, struct MHD_Connection *c, const char *url, const char *method,
    const char *version, const char *bytes, size_t *len, void **state)
{
	struct server *s = context;
	struct exchange *x = *state;
	const union MHD_ConnectionInfo *info;

	(void)version;
	if (x == NULL) {
		*state = x = memory_zero(1, sizeof *x);
		info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
		x->connection = (long)(intptr_t)info->socket_context;
		return MHD_YES;
	}
	if (*len > 0) {
		buffer_append(&x->body, bytes, *len);
		*len = 0;
		return MHD_YES;
	}
	if (strcmp(method, "POST") == 0)
		return serve_post(s, c, url, x);
	return serve_get(s, c, url);
}

static void
on_end(void *context, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode code)
{
	struct exchange *x = *state;

	(void)context;
	(void)c;
	(void)code;
	if (x == NULL)
		return;
	buffer_free(&x->body);
	free(x);
	*state = NULL;
}

static void
on_connection(void *context, struct MHD_Connection *c, void **state,
    enum MHD_ConnectionNotificationCode code)
{
	struct server *s = context;

	(void)c;
	if (code != MHD_CONNECTION_NOTIFY_STARTED)
		return;
	pthread_mutex_lock(&s->lock);
	*state = (void *)(intptr_t)++s->connections;
	pthread_mutex_unlock(&s->lock);
}

static int
add_answer(struct server *s, const char *pattern, const char *path, struct error *err)
{
	s->answers = memory_array(s->answers, s->answer_count + 1, sizeof *s->answers);
	return answer_load(&s->answers[s->answer_count++], pattern, path, err);
}

static int
add_answer_for(struct server *s, struct options *o, struct error *err)
{
	const char *pattern = o->value;

	if (o->next >= o->argc)
		return error_set(err, ERROR_USAGE, "--answer-for", "expected PATTERN and FILE");
	return add_answer(s, pattern, o->argv[o->next++], err);
}

static int
add_fault(struct server *s, const char *text, struct error *err)
{
	s->faults = memory_array(s->faults, s->fault_count + 1, sizeof *s->faults);
	return fault_parse(&s->faults[s->fault_count++], text, err);
}

static int
open_log(struct server *s, const char *path, struct error *err)
{
	s->log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	return s->log < 0 ? error_errno(err, ERROR_SYSTEM, path, "unable to open") : 0;
}

static int
add_tls(struct server *s, struct options *o, struct error *err)
{
	if (o->next >= o->argc)
		return error_set(err, ERROR_USAGE, "--tls", "expected CERT and KEY");
	if (file_load(o->value, ANSWER_LIMIT, &s->certificate, err) != 0 ||
	    file_load(o->argv[o->next++], ANSWER_LIMIT, &s->key, err) != 0)
		return -1;
	/* The library reads them as strings. */
	buffer_string(&s->certificate);
	buffer_string(&s->key);
	return 0;
}

/* 0, -1 with *err, or the id of --help or --version. */
static int
read_options(struct server *s, int argc, char **argv, struct error *err)
{
	struct options o;
	int id, result = 0;

	options_begin(&o, options, argc, argv);
	while (result == 0 && (id = options_next(&o, err)) != OPTION_END) {
		switch (id) {
		case OPT_ANSWER:
			result = add_answer(s, NULL, o.value, err);
			break;
		case OPT_ANSWER_FOR:
			result = add_answer_for(s, &o, err);
			break;
		case OPT_LOOP:
			s->loop = true;
			break;
		case OPT_LOG:
			result = open_log(s, o.value, err);
			break;
		case OPT_FAULT:
			result = add_fault(s, o.value, err);
			break;
		case OPT_TLS:
			result = add_tls(s, &o, err);
			break;
		case OPTION_WORD:
			result = error_set(err, ERROR_USAGE, o.value, "unexpected argument");
			break;
		default:
			result = id;
		}
	}
	return result;
}

static struct MHD_Daemon *
start(struct server *s)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	bool tls = s->certificate.len > 0;
	struct MHD_OptionItem files[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, s->certificate.data },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, s->key.data },
		{ MHD_OPTION_END, 0, NULL }
	};

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD |
	    (tls ? MHD_USE_TLS : 0),
	    0, NULL, NULL, on_request, s,
	    MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
	    MHD_OPTION_NOTIFY_COMPLETED, on_end, s,
	    MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
	    MHD_OPTION_ARRAY, tls ? files : files + 2,
	    MHD_OPTION_END);
}

int
main(int argc, char **argv)
{
	static struct server s = { .log = -1, .lock = PTHREAD_MUTEX_INITIALIZER };
	struct error err = ERROR_INIT;
	struct MHD_Daemon *daemon;
	sigset_t signals;
	int id, signal;

	id = read_options(&s, argc, argv, &err);
	if (id == OPTION_HELP) {
		options_help(stdout, usage, options, OPTION_HELP);
		return program_end(PROGRAM, STATUS_OK);
	}
	if (id == OPTION_VERSION)
		return program_version(PROGRAM);
	if (id != 0)
		return program_fail(PROGRAM, &err);

	/* Before the threads start, so that all of them leave these to sigwait(). */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	daemon = start(&s);
	if (daemon == NULL) {
		error_errno(&err, ERROR_SYSTEM, NULL, "unable to serve on 127.0.0.1");
		return program_fail(PROGRAM, &err);
	}
	printf("%s://127.0.0.1:%u\n", s.certificate.len > 0 ? "https" : "http",
	    (unsigned)MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
	if (program_end(PROGRAM, STATUS_OK) != STATUS_OK)
		return STATUS_SYSTEM;
	sigwait(&signals, &signal);
	/* Threads of stalled answers would keep MHD_stop_daemon() waiting for ever. */
	_exit(STATUS_OK);
}
