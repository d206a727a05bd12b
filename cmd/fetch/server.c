/*
 * The URL is parsed strictly: what is not understood is refused. Requests with a wait for the
 * answer use connections of their own, not those of the runs that are followed.
 */
#include "server.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "ingest/serve_address.h"
#include "io/file.h"
#include "io/polling.h"
#include "json/scan.h"

#define TOKEN "AWF_SERVE_TOKEN"
#define TEXT_LIMIT ((size_t)256 << 20)
#define LOOK_MS 1000 /* one wait for libcurl */

/* ---- its address ---- */

/* Escapes a segment of a path for a request line; existing escapes are kept. */
static char *
server_escape_segment(const char *text, size_t len)
{
	static const char plain[] = "-._~!$&'()*+,;=:@%";
	struct buffer out = BUFFER_INIT;

	for (size_t i = 0; i < len; i++)
		if (isalnum((unsigned char)text[i]) != 0 || strchr(plain, text[i]) != NULL)
			buffer_byte(&out, text[i]);
		else
			buffer_format(&out, "%%%02X", (unsigned char)text[i]);
	return buffer_take(&out);
}

static int
read_url(struct server *s, const char *url, struct error *err)
{
	const char *path = serve_address_read(url, &s->origin, &s->direct), *end, *run, *prefix;
	size_t authority, run_len;

	if (path == NULL || *path != '/')
		return error_set(err, ERROR_USAGE, url, "is no URL of a run "
		    "(https://HOST[:PORT]/runs/RUN)");
	/* The part after # is used only by the web page. */
	end = path + strcspn(path, "#");
	if (memchr(path, '?', (size_t)(end - path)) != NULL)
		return error_set(err, ERROR_USAGE, url, "the URL of a run has no parameters");
	while (end > path && end[-1] == '/')
		end--;
	for (run = end; run > path && run[-1] != '/'; run--)
		continue;
	run_len = (size_t)(end - run);
	prefix = run - strlen("/runs/");
	if (run_len == 0 || prefix < path || strncmp(prefix, "/runs/", 6) != 0)
		return error_set(err, ERROR_USAGE, url, "does not end in /runs/RUN");
	if (prefix - path >= 4 && strncmp(prefix - 4, "/api", 4) == 0)
		prefix -= 4;
	for (const char *at = path; at < prefix; at++)
		if (isgraph((unsigned char)*at) == 0 || strchr("\"<>\\^`{|}", *at) != NULL)
			return error_set(err, ERROR_USAGE, url, "has a character that must be escaped");
	authority = (size_t)(path - url);
	s->base = memory_format("%.*s%.*s", (int)authority, url, (int)(prefix - path), path);
	s->run = server_escape_segment(run, run_len);
	return 0;
}

int
server_open(struct server *s, const char *url, struct error *err)
{
	*s = (struct server){ .base = NULL };
	if (read_url(s, url, err) != 0 || serve_address_token(TOKEN, s->origin, s->base, &s->authorization, err) != 0)
		return -1;
	s->headers[0] = s->authorization;
	s->http = http_open(err);
	return s->http == NULL ? -1 : 0;
}

void
server_close(struct server *s)
{
	http_close(s->http);
	free(s->authorization);
	free(s->base);
	free(s->origin);
	free(s->run);
	*s = (struct server){ .base = NULL };
}

/* ---- requests ---- */

bool
server_wanted(void)
{
	static bool gone;
	char bytes[512];

	/* Input is ignored. */
	while (!gone && poll_now(STDIN_FILENO, POLLIN) != 0)
		gone = read(STDIN_FILENO, bytes, sizeof bytes) <= 0;
	return !gone;
}

int
server_get(const struct server *s, struct http *http, struct http_call *g, char *path,
    struct error *err)
{
	char *url = memory_format("%s%s", s->base, path);
	int failed;

	free(path);
	http_answer_free(&g->answer);
	g->request.headers = s->headers;
	g->request.direct = s->direct;
	g->request.url = url;
	failed = http_begin(http, g, err);
	free(url);
	return failed;
}

/* The server's own message for an error; "" if it is not an awf-serve. */
static void
message_of(const struct http_call *g, char *text, size_t size)
{
	const struct buffer *body = &g->answer.body;
	struct span message = SPAN_NONE;
	char *copy;
	size_t bad;

	if (body->len > 0 && scan_within(body->data, body->len, SCAN_LINE_DEPTH, &bad) == NULL)
		message = span_path(span_of(body->data, body->len), "error", "message", NULL);
	copy = span_text(message);
	snprintf(text, size, "%s%s", copy != NULL ? ": " : "", copy != NULL ? copy : "");
	free(copy);
}

enum answered
server_judge(const struct server *s, struct http_call *g, struct error *err)
{
	const long status = g->answer.status;
	enum answered answered;
	char said[256];

	message_of(g, said, sizeof said);
	if (g->error.code != ERROR_NONE) {
		answered = g->error.code == ERROR_NETWORK ? ANSWERED_LATER : ANSWERED_NEVER;
		error_set(err, ERROR_SYSTEM, s->base, "%s", g->error.message);
	} else if (status >= 200 && status < 300) {
		answered = ANSWERED;
	} else if (status == 404) {
		answered = ANSWERED_NONE;
		error_set(err, ERROR_USAGE, s->base, "there is no such run there, or the token is not for "
		    "it%s", said);
	} else if (status == 429 || (status >= 502 && status <= 504)) {
		answered = ANSWERED_LATER;
		error_set(err, ERROR_SYSTEM, s->base, "HTTP %ld%s", status, said);
	} else {
		answered = ANSWERED_NEVER;
		if (status == 401 && s->authorization == NULL)
			error_set(err, ERROR_SYSTEM, s->base, "a token is needed, and the keys file has none: "
			    TOKEN "=%s TOKEN, see awf-tail(1)", s->origin);
		else if (status == 401)
			error_set(err, ERROR_SYSTEM, s->base, "its token in the keys file is not "
			    "valid (any more)");
		else if (status >= 300 && status < 400)
			error_set(err, ERROR_SYSTEM, s->base, "redirects to %s, and the token is "
			    "not sent elsewhere: use that "
			    "URL", g->answer.location[0] != '\0' ? g->answer.location : "another "
			    "place");
		else
			error_set(err, status == 400 ? ERROR_USAGE : ERROR_SYSTEM, s->base, "HTTP %ld%s",
			    status, said);
	}
	http_answer_free(&g->answer);
	return answered;
}

/* limit: bytes of the answer; 0: none. */
static enum answered
server_get_with_callback(struct server *s, char *path,
    int (*take)(void *context, const char *bytes, size_t len),
    void *context, size_t limit, struct error *err)
{
	struct http_call g = { .request = { .take = take, .context = context, .limit = limit } };
	struct pollfd input = { STDIN_FILENO, POLLIN, 0 };

	if (server_get(s, s->http, &g, path, err) != 0)
		return ANSWERED_NEVER;
	while (!g.ended) {
		if (http_wait(s->http, &input, 1, LOOK_MS, err) != 0) {
			http_stop(s->http, &g);
			return ANSWERED_NEVER;
		}
		if (!g.ended && !server_wanted()) {
			http_stop(s->http, &g);
			http_answer_free(&g.answer);
			error_set(err, ERROR_CANCELLED, NULL, "the copy is not needed any more");
			return ANSWERED_NOBODY;
		}
	}
	return server_judge(s, &g, err);
}

enum answered
server_ask(struct server *s, char *path, int (*take)(void *context, const char *bytes, size_t len),
    void *context, struct error *err)
{
	return server_get_with_callback(s, path, take, context, 0, err);
}

static int
server_append_text(void *context, const char *bytes, size_t len)
{
	buffer_append(context, bytes, len);
	return 0;
}

enum answered
server_ask_text(struct server *s, char *path, struct buffer *text, struct error *err)
{
	buffer_clear(text);
	return server_get_with_callback(s, path, server_append_text, text, TEXT_LIMIT, err);
}
