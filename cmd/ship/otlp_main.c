/*
 * awf-ship-otlp: sends runs as traces of OpenTelemetry, awf-ship(7): what awf-tail --as otlp makes
 * of the lines, in requests to a collector by OTLP over HTTP, in JSON.
 *
 * What the code relies on:
 *   - A collector cannot be asked what it has. So the storage records how far each run was sent
 *     to it, on disk before that is reported: spans that were sent and not recorded are sent
 *     again, with the same ids.
 *   - Only one process at a time sends to a collector, and has its positions.
 *   - A span is sent when what it describes has ended. What an attempt that died has left open is
 *     sent when the next one begins: otherwise spans inside it would never get their parent.
 *   - The model of a run needs its lines from the first one on: those that were sent before are
 *     read from the transcript.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "ingest/serve_address.h"
#include "io/file.h"
#include "io/lock.h"
#include "json/writer.h"
#include "model/model.h"
#include "proc/message.h"
#include "projection/projection.h"
#include "ship/poster.h"
#include "ship/target.h"
#include "storage/storage.h"
#include "transcript/event.h"
#include "transcript/sync_mode.h"

#define PROGRAM "awf-ship-otlp"
#define SCHEME "otlp+"
#define TRACES "/v1/traces"
#define REQUEST_BYTES ((size_t)2 << 20) /* collectors accept some MiB per request */
#define COMPACT_BYTES ((size_t)1 << 20)
#define POSITIONS_LIMIT ((size_t)1 << 30)
#define NOTE_SIZE (ID_SIZE + DIGEST_SIZE + 20) /* "RUN SEQ DIGEST" and NUL, at most */

/* A run that is being sent. */
struct traced {
	char run_id[ID_SIZE];
	struct position sent;     /* how far, as recorded */
	struct model model;
	bool modelled;
};

struct collector {
	char *url;
	struct poster poster;
	char **headers;
	struct traced **runs;
	size_t count;
	struct map places;
	char *path;               /* of positions */
	int lock, fd;             /* the lock of their directory; the file, opened to append */
	bool synced;
	struct buffer notes;      /* positions that are not written yet */
	struct buffer lines, body;
};

/* ---- positions ---- */

static struct traced *
otlp_find_run(struct collector *c, const char *run_id)
{
	const size_t *place = map_get(&c->places, run_id, ID_SIZE - 1);

	if (place != NULL)
		return c->runs[*place];
	c->runs = memory_array(c->runs, c->count + 1, sizeof *c->runs);
	c->runs[c->count] = memory_zero(1, sizeof **c->runs);
	memcpy(c->runs[c->count]->run_id, run_id, ID_SIZE);
	map_put(&c->places, run_id, ID_SIZE - 1, c->count);
	return c->runs[c->count++];
}

static void
otlp_note_position(struct collector *c, const char *run_id, const struct position *sent)
{
	buffer_format(&c->notes, "%s %" PRId64 " %s\n", run_id, sent->seq, sent->digest);
	otlp_find_run(c, run_id)->sent = *sent;
}

/* Reads lines "RUN SEQ DIGEST"; the last of a run counts, and a line that was cut off does not. */
static void
read_notes(struct collector *c, const struct buffer *text)
{
	const char *rest = buffer_string(text), *line;
	size_t len;

	while ((line = text_part(&rest, '\n', &len)) != NULL && rest != NULL) {
		struct position sent = { .seq = 0 };
		char run_id[ID_SIZE] = "", copy[NOTE_SIZE];

		if (len >= sizeof copy)
			continue;
		/* sscanf() goes through the whole text up to its NUL. */
		memcpy(copy, line, len);
		copy[len] = '\0';
		if (sscanf(copy, "%36s %" SCNd64 " %64s", run_id, &sent.seq, sent.digest) == 3 &&
		    id_valid(run_id, strlen(run_id)) && strlen(sent.digest) == DIGEST_SIZE - 1)
			otlp_find_run(c, run_id)->sent = sent;
	}
}

/* The file gets a line for each batch: if it has many more lines than runs, it is rewritten. */
static int
otlp_compact_notes(struct collector *c, size_t len, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	struct replacement r;
	int failed;

	if (len < COMPACT_BYTES || len < 4 * c->count * NOTE_SIZE)
		return 0;
	for (size_t i = 0; i < c->count; i++)
		buffer_format(&text, "%s %" PRId64 " %s\n", c->runs[i]->run_id, c->runs[i]->sent.seq,
		    c->runs[i]->sent.digest);
	failed = replacement_open(&r, c->path, 0600, err);
	if (failed == 0 && file_write(r.fd, text.data, text.len) != 0) {
		failed = error_errno(err, ERROR_SYSTEM, c->path, "unable to write");
		replacement_abandon(&r);
	} else if (failed == 0) {
		failed = replacement_commit(&r, c->synced, err);
	}
	buffer_free(&text);
	if (failed != 0)
		return -1;
	file_close(&c->fd);
	c->fd = file_open_plain(c->path, O_WRONLY | O_APPEND, 0);
	return c->fd != -1 ? 0 : error_errno(err, ERROR_SYSTEM, c->path, "unable to open");
}

/* ship/DIGEST OF URL/ in the storage; the process that has its lock sends there. */
static int
open_positions(struct collector *c, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	char digest[DIGEST_SIZE], *directory, *all;
	struct storage storage;
	int failed = -1;

	if (storage_prepare(&storage, err) != 0)
		return -1;
	all = path_join(storage.root, "ship");
	directory = path_join(all, digest_sha256(c->url, strlen(c->url), digest));
	c->path = path_join(directory, "positions");
	if (storage_make_directory(all, c->synced, err) != 0 ||
	    storage_make_directory(directory, c->synced, err) != 0)
		goto end;
	c->lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->lock == -1 || lock_file_take(c->lock) != 0)
		error_errno(err, ERROR_SYSTEM, directory, c->lock != -1 && errno == EWOULDBLOCK ?
		    "another awf-ship sends to this collector" : "unable to lock");
	else if ((c->fd = file_open_plain(c->path, O_RDWR | O_CREAT | O_APPEND, 0600)) == -1 ||
	    file_read(c->fd, &text, POSITIONS_LIMIT) != 0)
		error_errno(err, ERROR_SYSTEM, c->path, "unable to read");
	else {
		read_notes(c, &text);
		/* End a line that was cut off, so that nothing is appended to it. */
		if (text.len > 0 && text.data[text.len - 1] != '\n')
			buffer_byte(&c->notes, '\n');
		failed = otlp_compact_notes(c, text.len, err);
	}
end:
	buffer_free(&text);
	free(directory);
	free(all);
	storage_close(&storage);
	return failed;
}

static int
write_notes(struct collector *c, struct error *err)
{
	int failed = c->notes.len > 0 && (file_write(c->fd, c->notes.data, c->notes.len) != 0 ||
	    (c->synced && fdatasync(c->fd) != 0));

	buffer_clear(&c->notes);
	return failed ? error_errno(err, ERROR_SYSTEM, c->path, "unable to write") : 0;
}

/* ---- the address ---- */

/* OTEL_EXPORTER_OTLP_HEADERS: "name=value,name=value", values escaped as in a URL. */
static void
read_headers(struct collector *c)
{
	char **pairs = list_split(environment_text("OTEL_EXPORTER_OTLP_HEADERS"), ',');

	for (char **pair = pairs; pair != NULL && *pair != NULL; pair++) {
		char *value = strchr(*pair, '='), *to;

		if (value == NULL)
			continue;
		*value++ = '\0';
		to = value;
		for (const char *from = value; *from != '\0'; from++) {
			unsigned byte;

			if (*from == '%' && sscanf(from + 1, "%2x", &byte) == 1 && strlen(from) > 2 && byte >= ' ') {
				*to++ = (char)byte;
				from += 2;
			} else {
				*to++ = *from;
			}
		}
		*to = '\0';
		list_take(&c->headers, memory_format("%s: %s", *pair + strspn(*pair, " "), value));
	}
	list_free(pairs);
}

/* The endpoint from the URL or, if it is empty, from the environment. */
static int
read_url(struct collector *c, const char *url, struct error *err)
{
	const char *whole = environment_text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
	const char *base = environment_text("OTEL_EXPORTER_OTLP_ENDPOINT"), *path = NULL;
	char *origin = NULL;
	size_t len;

	if (strcmp(url, "otlp:") != 0) {
		base = strncmp(url, SCHEME, strlen(SCHEME)) == 0 ? url + strlen(SCHEME) : url;
		whole = NULL;
	} else if (base == NULL && whole == NULL) {
		return error_set(err, ERROR_USAGE, url, "names no collector, nor does "
		    "OTEL_EXPORTER_OTLP_ENDPOINT");
	}
	len = strlen(whole != NULL ? whole : base);
	if (whole == NULL && len > strlen(TRACES) && text_ends(base, TRACES))
		whole = base;
	while (whole == NULL && len > 0 && base[len - 1] == '/')
		len--;
	c->url = whole != NULL ? memory_text(whole) : memory_format("%.*s" TRACES, (int)len, base);
	path = serve_address_read(c->url, &origin, &c->poster.direct);
	free(origin);
	if (path == NULL || path[strcspn(path, "# ")] != '\0')
		return error_set(err, ERROR_USAGE, url, "is no URL of a collector "
		    "(otlp+https://HOST[:PORT])");
	return 0;
}

static int
open_collector(void *context, const char *url, int64_t keep_ms, struct error *err)
{
	struct collector *c = context;
	enum sync_mode sync;

	(void)keep_ms;
	if (sync_mode_from_environment(&sync, err) != 0 || read_url(c, url, err) != 0)
		return -1;
	c->synced = sync != SYNC_NONE;
	read_headers(c);
	c->poster.base = c->url;
	c->poster.headers = c->headers;
	return open_positions(c, err) != 0 || poster_open(&c->poster, err) != 0 ? -1 : 0;
}

static void
close_collector(void *context)
{
	struct collector *c = context;

	poster_close(&c->poster);
	for (size_t i = 0; i < c->count; i++) {
		if (c->runs[i]->modelled)
			model_free(&c->runs[i]->model);
		free(c->runs[i]);
	}
	free(c->runs);
	map_free(&c->places);
	file_close(&c->fd);
	file_close(&c->lock);
	buffer_free(&c->notes);
	buffer_free(&c->lines);
	buffer_free(&c->body);
	list_free(c->headers);
	free(c->path);
	free(c->url);
}

static int
otlp_ask_position(void *context, struct batch_run *run, struct position *have, struct error *err)
{
	(void)err;
	*have = otlp_find_run(context, run->run_id)->sent;
	return 0;
}

/* ---- spans ---- */

/* Reads the lines that were sent before. */
static int
otlp_feed_sent_line(void *context, const char *line, size_t len, int64_t offset, struct error *err)
{
	struct traced *run = context;
	const struct event_place place = { offset, (uint32_t)len };
	struct event_view view;
	struct placed placed;
	int64_t seq;

	(void)err;
	if (!event_seq(line, len, &seq) || seq > run->sent.seq)
		return 1;
	model_line(&run->model, line, len, place, &view, &placed);
	run->model.position = offset + (int64_t)len + 1;
	return 0;
}

static int
begin_model(struct traced *run, const char *transcript, struct error *err)
{
	if (run->modelled)
		return 0;
	model_begin(&run->model, MODEL_EVENTS);
	run->modelled = true;
	return run->sent.seq > 0 && model_lines(transcript, 0, otlp_feed_sent_line, run, err) < 0 ?
	    -1 : 0;
}

/* Lines in the otlp vocabulary for an event. */
static void
add_spans(struct collector *c, struct traced *run, struct span line)
{
	const struct event_place place = { run->model.position, (uint32_t)line.len };
	struct event_view view;
	struct placed placed;
	int64_t number = 1;

	if (event_view(line.at, line.len, &view) != 0)
		return;
	if (view.type == EVENT_RUN_STARTED)
		projection_otlp_died(&run->model, &c->lines);
	model_take(&run->model, &view, place, &placed);
	run->model.position += (int64_t)line.len + 1;
	projection_write(&projection_otlp, false, &placed, NULL, &number, &c->lines);
}

/* Sends the collected spans: {"resourceSpans":[...]} with those of each line. */
static int
send_spans(struct collector *c, struct error *err)
{
	const char *rest = buffer_string(&c->lines), *line;
	struct span partial;
	long long rejected = 0;
	bool some = false;
	char *message;
	size_t len;

	buffer_clear(&c->body);
	buffer_text(&c->body, "{\"resourceSpans\":[");
	while ((line = text_part(&rest, '\n', &len)) != NULL && len > 0) {
		struct span spans = span_element(span_member(span_of(line, len), "resourceSpans"), 0);

		if (some)
			buffer_byte(&c->body, ',');
		buffer_append(&c->body, spans.at, spans.len);
		some = true;
	}
	buffer_text(&c->body, "]}");
	buffer_clear(&c->lines);
	if (!some)
		return 0;
	if (poster_send(&c->poster, NULL, "", "application/json", c->body.data, c->body.len, err) != 0)
		return -1;
	if (c->poster.status < 200 || c->poster.status > 299) {
		message = span_text(span_member(poster_answer(&c->poster), "message"));
		error_set(err, ERROR_SYSTEM, c->url, "HTTP %ld%s%s", c->poster.status,
		    message != NULL ? ": " : "", message != NULL ? message : "");
		free(message);
		return -1;
	}
	/* The collector has accepted the request but rejected some spans: sending them again is
	 * useless. */
	partial = span_member(poster_answer(&c->poster), "partialSuccess");
	message = span_text(span_member(partial, "rejectedSpans"));
	if (message != NULL)
		rejected = strtoll(message, NULL, 10);
	else
		span_integer(span_member(partial, "rejectedSpans"), &rejected);
	free(message);
	if (rejected > 0) {
		message = span_text(span_member(partial, "errorMessage"));
		message_print(PROGRAM, "%s: %lld spans were rejected: %s", c->url, rejected,
		    message != NULL ? message : "");
		free(message);
	}
	return 0;
}

/* Sends spans of the new lines of a run, as many at once as a collector accepts. */
static int
send_run(struct collector *c, struct batch_run *sent, struct error *err)
{
	struct traced *run = otlp_find_run(c, sent->run_id);
	struct position now;

	if (begin_model(run, sent->transcript, err) != 0)
		return -1;
	for (size_t i = 0; i < sent->count; i++) {
		if (sent->lines[i].seq <= run->sent.seq)
			continue;
		add_spans(c, run, batch_line_text(sent, i));
		if (c->lines.len >= REQUEST_BYTES && send_spans(c, err) != 0)
			return -1;
	}
	batch_position(sent, &now);
	otlp_note_position(c, sent->run_id, &now);
	/* A run that has ended needs no model, unless it is resumed. */
	if (run->model.ended) {
		model_free(&run->model);
		run->modelled = false;
	}
	return 0;
}

static int
otlp_write_batch(void *context, struct batch *b, struct error *err)
{
	struct collector *c = context;

	for (size_t i = 0; i < b->with_count; i++)
		if (send_run(c, b->with[i], err) != 0)
			return -1;
	if (send_spans(c, err) != 0 || write_notes(c, err) != 0)
		return -1;
	for (size_t i = 0; i < b->with_count; i++)
		target_have(b->with[i], &otlp_find_run(c, b->with[i]->run_id)->sent);
	return 0;
}

int
main(int argc, char **argv)
{
	struct collector c = { .lock = -1, .fd = -1 };
	const struct target target = { .program = PROGRAM, .form = "otlp+https://HOST[:PORT]",
		.open = open_collector, .ask = otlp_ask_position, .write = otlp_write_batch,
		.close = close_collector, .context = &c };

	return target_main(&target, argc, argv);
}
