/*
 * awf-ship-http: sends transcripts to an awf-serve, which receives them by POST /api/ingest
 * (awf-serve(1), awf-ship(7)).
 *
 * What the code relies on:
 *   - The server's answers say what it has: a line that it has already is a duplicate; a line
 *     that is not the next one is refused with the seq that is wanted; a different line is a
 *     conflict. So it is asked by sending the last line that is on disk here.
 *   - What it has acknowledged is on disk there.
 *   - A blob is sent before the line that names it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ingest/serve_address.h"
#include "io/file.h"
#include "json/scan.h"
#include "ship/poster.h"
#include "ship/target.h"
#include "transcript/blob.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/reader.h"

#define PROGRAM "awf-ship-http"
#define TOKEN "AWF_INGEST_TOKEN"
#define INGEST "/api/ingest"

struct server {
	struct poster poster;
	char *base;               /* the URL before /api */
	char *authorization[2];   /* header; NULL: there is no token */
};

/* ---- the server's answers ---- */

/* A member of the error; .at NULL if there is none. */
static struct span
http_refusal_member(const struct server *s, const char *name)
{
	return span_member(span_member(poster_answer(&s->poster), KEY_ERROR), name);
}

/* An error that is not about one run: nothing more can be sent. */
static int
http_set_error(const struct server *s, struct error *err)
{
	char *message = span_text(http_refusal_member(s, KEY_MESSAGE));

	if (s->poster.status == 401 && s->authorization[0] == NULL)
		error_set(err, ERROR_USAGE, s->base, "a token is needed, and the keys file has none: "
		    TOKEN "=%s TOKEN, see awf-ship(1)", s->base);
	else if (s->poster.status == 401)
		error_set(err, ERROR_USAGE, s->base, "its token in the keys file is not valid "
		    "(any more)");
	else
		error_set(err, ERROR_SYSTEM, s->base, "HTTP %ld%s%s", s->poster.status, message != NULL ? ": " : "",
		    message != NULL ? message : "");
	free(message);
	return -1;
}

/* The server's reason for refusing a run. */
static int
http_set_refusal(const struct server *s, const struct batch_run *run, struct error *err)
{
	char *message = span_text(http_refusal_member(s, KEY_MESSAGE));

	error_set(err, s->poster.status == 409 ? ERROR_DIVERGENCE : ERROR_BLOCKED, run->run_id,
	    "HTTP %ld: %s", s->poster.status, message != NULL ? message : "it is not taken");
	free(message);
	return -1;
}

/* ---- the address ---- */

static int
open_server(void *context, const char *url, int64_t keep_ms, struct error *err)
{
	struct server *s = context;
	const char *path;
	char *origin;
	size_t len;
	int failed;

	(void)keep_ms;
	path = serve_address_read(url, &origin, &s->poster.direct);
	if (path == NULL || path[strcspn(path, "?# ")] != '\0') {
		free(origin);
		return error_set(err, ERROR_USAGE, url, "is no URL of an awf-serve "
		    "(https://HOST[:PORT]" INGEST ")");
	}
	len = strlen(url);
	while (len > 0 && url[len - 1] == '/')
		len--;
	if (len >= strlen(INGEST) && strncmp(url + len - strlen(INGEST), INGEST, strlen(INGEST)) == 0)
		len -= strlen(INGEST);
	s->base = memory_copy(url, len);
	failed = serve_address_token(TOKEN, origin, s->base, &s->authorization[0], err);
	free(origin);
	s->poster.base = s->base;
	s->poster.headers = s->authorization;
	return failed == 0 ? poster_open(&s->poster, err) : -1;
}

static void
close_server(void *context)
{
	struct server *s = context;

	poster_close(&s->poster);
	free(s->authorization[0]);
	free(s->base);
}

/* ---- what the server has ---- */

/* The last whole line that is on disk. 1; 0: there is none; -1. */
static int
last_line(const struct batch_run *run, struct buffer *line, struct error *err)
{
	struct reader r;
	const char *at;
	size_t len;
	int got;

	if (reader_open(&r, run->transcript, err) != 0)
		return -1;
	got = reader_seek_last(&r, 1, err) == 0 ? reader_next(&r, &at, &len, err) : -1;
	/* Lines that were added later are not sent yet. */
	while (got == 1 && r.line_start + (int64_t)len >= run->size) {
		reader_seek(&r, r.line_start);
		got = reader_previous(&r, &at, &len, err);
		r.line_start = r.position;
	}
	if (got == 1)
		buffer_append(line, at, len);
	reader_close(&r);
	return got;
}

/* Sends lines of one run. 0: the server has all of them, or *wanted is the seq from which on it
 * needs lines (0: none are missing). -1: the run was refused, or sending ends. */
static int
send_lines(struct server *s, const struct batch_run *run, const char *lines, size_t len,
    int64_t *wanted, struct error *err)
{
	struct span told;
	long long seq = 0;

	*wanted = 0;
	if (poster_send(&s->poster, NULL, INGEST, "application/x-ndjson", lines, len, err) != 0)
		return -1;
	if (s->poster.status == 200 && http_refusal_member(s, KEY_CODE).at == NULL)
		return 0;
	told = span_member(poster_answer(&s->poster), "wanted");
	if (s->poster.status == 409 && span_is(http_refusal_member(s, KEY_CODE), "gap") &&
	    span_integer(told, &seq)) {
		*wanted = seq;
		return 0;
	}
	if (s->poster.status == 400 || s->poster.status == 403 || s->poster.status == 409 || s->poster.status == 413)
		return http_set_refusal(s, run, err);
	return http_set_error(s, err);
}

static int
http_ask_position(void *context, struct batch_run *run, struct position *have, struct error *err)
{
	struct server *s = context;
	struct buffer line = BUFFER_INIT;
	int64_t wanted = 0, seq = 0;
	int got = last_line(run, &line, err);

	*have = (struct position){ .seq = 0 };
	if (got == 1 && event_seq(line.data, line.len, &seq)) {
		buffer_byte(&line, '\n');
		got = send_lines(s, run, line.data, line.len, &wanted, err) == 0 ? 1 : -1;
		have->seq = wanted > 0 ? wanted - 1 : seq;
		if (wanted == 0)
			digest_blake2b(line.data, line.len - 1, have->digest);
	}
	buffer_free(&line);
	return got < 0 ? -1 : 0;
}

/* ---- sending ---- */

/* A blob that cannot be read counts as not existing; one that the server refuses is missing
 * there. */
static int
send_blobs(struct server *s, const struct batch_run *run, struct error *err)
{
	for (size_t i = 0; i < run->blob_count; i++) {
		const struct batch_blob *blob = &run->blobs[i];
		char *directory = path_directory(blob->path);
		char *path = memory_format("/api/runs/%s/blobs/%s", run->run_id, blob->sha256);
		struct buffer bytes = BUFFER_INIT;
		int failed = 0;

		if (blob_read(directory, blob->sha256, &bytes, NULL) == 0)
			failed = poster_send(&s->poster, "PUT", path, "application/octet-stream", buffer_string(&bytes),
			    bytes.len, err);
		buffer_free(&bytes);
		free(path);
		free(directory);
		if (failed != 0)
			return -1;
		if (s->poster.status == 403)
			return http_set_refusal(s, run, err);
		if (s->poster.status == 401 || s->poster.status >= 500)
			return http_set_error(s, err);
	}
	return 0;
}

static int
http_write_batch(void *context, struct batch *b, struct error *err)
{
	struct server *s = context;

	for (size_t i = 0; i < b->with_count; i++) {
		struct batch_run *run = b->with[i];
		struct position have;
		int64_t wanted = 0;

		if (run->refused)
			continue;
		if (send_blobs(s, run, err) != 0 ||
		    send_lines(s, run, run->text.data, run->text.len, &wanted, err) != 0) {
			if (err->code != ERROR_DIVERGENCE && err->code != ERROR_BLOCKED)
				return -1;
			target_refuse(run, err);
			*err = (struct error)ERROR_INIT;
		} else if (wanted > 0) {
			error_set(err, ERROR_DIVERGENCE, run->run_id, "the target has lost lines: it wants %lld",
			    (long long)wanted);
			target_refuse(run, err);
			*err = (struct error)ERROR_INIT;
		} else {
			batch_position(run, &have);
			target_have(run, &have);
		}
	}
	return 0;
}

int
main(int argc, char **argv)
{
	struct server s = { .base = NULL };
	const struct target target = { .program = PROGRAM, .form = "https://HOST[:PORT]" INGEST,
		.blobs = true, .open = open_server, .ask = http_ask_position,
		.write = http_write_batch, .close = close_server, .context = &s };

	return target_main(&target, argc, argv);
}
