/*
 * The reader goes through the file. If the target wants to know a line's call and its cost, which
 * are not in the line itself, the run's model follows behind it. For a run that continues both stay
 * open; for one that has ended and was sent they are closed, and would read from the beginning
 * again.
 */
#include "ingest/shipment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "ingest/blobs.h"
#include "ingest/ship_protocol.h"
#include "io/file.h"
#include "json/writer.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

struct shipment *
shipment_new(const struct storage *s, const char *run_id, const char *path)
{
	struct shipment *new = memory_zero(1, sizeof *new);

	memcpy(new->run_id, run_id, ID_SIZE);
	new->path = path != NULL ? memory_text(path) : storage_transcript(s, run_id);
	shipment_look(new);
	return new;
}

static void
close_file(struct shipment *s)
{
	if (s->open)
		reader_close(&s->reader);
	if (s->modelled)
		model_free(&s->model);
	s->open = s->modelled = false;
}

void
shipment_restart(struct shipment *s)
{
	close_file(s);
	map_free(&s->blobs);
	s->blobs = (struct map)MAP_INIT;
	s->state = SHIPMENT_NEW;
	s->more = true;
}

void
shipment_look(struct shipment *s)
{
	struct stat now;

	if (stat(s->path, &now) != 0) {
		s->gone = errno == ENOENT;
		return;
	}
	s->gone = false;
	if (s->seen.st_ino != 0 && (now.st_ino != s->seen.st_ino || now.st_dev != s->seen.st_dev))
		shipment_restart(s);
	if (now.st_size != s->seen.st_size)
		s->more = true;
	s->seen = now;
}

/* Syncs everything that is there now; that much may be sent. */
static int
sync_file(struct shipment *s, const struct shipping *with, struct error *err)
{
	int fd = open(s->path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	int failed = 0;

	if (fd == -1 || fstat(fd, &status) != 0 || (with->synced && fdatasync(fd) != 0))
		failed = error_errno(err, ERROR_SYSTEM, s->path,
		    fd == -1 ? "unable to read" : "unable to sync");
	else
		s->limit = status.st_size;
	file_close(&fd);
	return failed;
}

int
shipment_ask(struct shipment *s, const struct shipping *with, struct buffer *out,
    struct error *err)
{
	struct writer w;

	if (sync_file(s, with, err) != 0)
		return -1;
	writer_begin(&w, out);
	writer_object(&w);
	writer_member_string(&w, KEY_RUN_ID, s->run_id);
	writer_member_string(&w, SHIP_ORIGIN, with->origin);
	writer_member_string(&w, SHIP_TRANSCRIPT, s->path);
	writer_member_integer(&w, SHIP_SIZE, s->limit);
	writer_object_end(&w);
	buffer_byte(out, '\n');
	s->state = SHIPMENT_ASKED;
	return 0;
}

/* Feeds the model with the lines before the one that was read last, which is the first to be
 * sent. If no line is to be sent, the model is not needed. */
static int
feed_model(struct shipment *s, struct error *err)
{
	const int64_t end = s->reader.line_start;
	struct reader before;
	const char *line;
	size_t len;
	int got = 1;

	model_begin(&s->model, MODEL_EVENTS);
	s->modelled = true;
	if (end == 0)
		return 0;
	if (reader_open(&before, s->path, err) != 0)
		return -1;
	while (before.position < end &&
	    (got = reader_next(&before, &line, &len, err)) == 1) {
		const struct event_place place = { before.line_start, (uint32_t)len };
		struct event_view view;
		struct placed placed;

		model_line(&s->model, line, len, place, &view, &placed);
	}
	reader_close(&before);
	return got < 0 ? -1 : 0;
}

/* Opens the file after the line with this seq. 1; 0: it does not exist (any more); -1 with *err. */
static int
open_behind(struct shipment *s, int64_t seq, const char *digest, struct error *err)
{
	const char *line;
	int64_t found = 0;
	size_t len;
	int got;

	close_file(s);
	if (reader_open(&s->reader, s->path, err) != 0)
		return -1;
	s->open = true;
	memset(s->digest, '0', DIGEST_SIZE - 1);
	s->seq = seq;
	if (seq > 0) {
		got = reader_seek_after(&s->reader, seq - 1, err) == 0 ?
		    reader_next(&s->reader, &line, &len, err) : -1;
		if (got == 1 && event_seq(line, len, &found) && found == seq)
			digest_blake2b(line, len, s->digest);
		if (got == 1 && (found != seq || (*digest != '\0' && strcmp(digest, s->digest) != 0)))
			return error_set(err, ERROR_DIVERGENCE, s->run_id, "the target has another line %lld: "
			    "it is another transcript from there on, and nothing more of it is sent",
			    (long long)seq);
		if (got != 1)
			return got;
	}
	return 1;
}

int
shipment_begin(struct shipment *s, int64_t seq, const char *digest, struct error *err)
{
	int opened = open_behind(s, seq, digest, err);

	s->acknowledged = seq;
	s->state = SHIPMENT_SENDING;
	s->more = opened == 1;
	/* Another sender has sent more to the target: the lines here are compared when there are
	 * as many. */
	if (opened == 0) {
		close_file(s);
		s->state = SHIPMENT_NEW;
	}
	s->told &= opened < 0;
	return opened < 0 ? -1 : 0;
}

/* Whether the line is an event of the run, and the one after the last. */
static int
check_line(const struct shipment *s, const char *line, size_t len, struct event_view *view,
    struct error *err)
{
	char place[ID_SIZE + 32], id[ID_SIZE];

	if (event_view_whole(line, len, view) && view->seq == s->seq + 1 &&
	    span_is(view->run_id, s->run_id) && event_copy_id(view->event_id, id) &&
	    view->prev.len == DIGEST_SIZE + 1 &&
	    memcmp(view->prev.at + 1, s->digest, DIGEST_SIZE - 1) == 0)
		return 0;
	snprintf(place, sizeof place, "%s:%lld", s->run_id, (long long)s->seq + 1);
	return error_set(err, ERROR_SCHEMA, place, "the line does not follow from the one before it, and "
	    "nothing more of the run is sent: see awf-verify");
}

/* What is not in the line itself. */
static void
write_about(struct shipment *s, const struct shipping *with, const struct event_view *view,
    size_t len, struct buffer *out)
{
	const struct event_place place = { s->reader.line_start, (uint32_t)len };
	char call[ID_SIZE], dollars[MONEY_SIZE];
	struct placed placed;
	struct writer w;
	int64_t cost;

	model_take(&s->model, view, place, &placed);
	cost = cost_take(with->cost, &placed);
	if (placed.call == NULL && cost < 0)
		return;
	writer_begin(&w, out);
	writer_object(&w);
	if (placed.call != NULL)
		writer_member_string(&w, KEY_CALL, model_call_event_id(placed.call, call));
	if (cost >= 0) {
		money_number(cost, dollars);
		writer_key(&w, SHIP_COST);
		writer_raw(&w, dollars, strlen(dollars));
	}
	writer_object_end(&w);
	buffer_byte(out, '\n');
}

/* Blobs that the line names, each once, if they exist and are not too large. */
static void
write_blobs(struct shipment *s, const struct shipping *with, const char *line, size_t len,
    struct buffer *out)
{
	char **names = with->takes_blobs && with->blobs > 0 ? blobs_named(line, len) : NULL;
	char *directory = names != NULL ? storage_blobs(with->storage, s->run_id) : NULL;

	for (char **name = names; name != NULL && *name != NULL; name++) {
		char *path = path_join(directory, *name);
		struct stat status;
		struct writer w;

		if (map_get(&s->blobs, *name, DIGEST_SIZE - 1) == NULL && stat(path, &status) == 0 &&
		    status.st_size <= with->blobs) {
			map_put(&s->blobs, *name, DIGEST_SIZE - 1, 0);
			writer_begin(&w, out);
			writer_object(&w);
			writer_member_string(&w, SHIP_BLOB, *name);
			writer_member_string(&w, KEY_RUN_ID, s->run_id);
			writer_member_string(&w, SHIP_PATH, path);
			writer_object_end(&w);
			buffer_byte(out, '\n');
		}
		free(path);
	}
	free(directory);
	list_free(names);
}

int
shipment_send(struct shipment *s, const struct shipping *with, size_t room, struct buffer *out,
    struct error *err)
{
	struct event_view view;
	const char *line;
	size_t len;
	int got = 1;

	if (!s->open) {
		char digest[DIGEST_SIZE];

		memcpy(digest, s->digest, sizeof digest);
		got = open_behind(s, s->seq, digest, err);
		if (got != 1) {
			s->more = false;
			return got;
		}
	}
	if (with->follow && s->seen.st_size > s->limit && sync_file(s, with, err) != 0)
		return -1;
	while (out->len < room && (got = reader_next(&s->reader, &line, &len, err)) == 1) {
		/* Lines added since may not be on disk. */
		if (s->reader.position > s->limit) {
			reader_seek(&s->reader, s->reader.line_start);
			got = 0;
			break;
		}
		if (check_line(s, line, len, &view, err) != 0)
			return -1;
		if (with->takes_about && !s->modelled && feed_model(s, err) != 0)
			return -1;
		write_blobs(s, with, line, len, out);
		if (s->modelled)
			write_about(s, with, &view, len, out);
		buffer_append(out, line, len);
		buffer_byte(out, '\n');
		digest_blake2b(line, len, s->digest);
		s->seq = view.seq;
	}
	if (got == 0) {
		s->more = false;
		if (!storage_run_alive(with->storage, s->run_id))
			close_file(s);
	}
	return got < 0 ? -1 : 0;
}

bool
shipment_done(const struct shipment *s)
{
	return s->gone || (!s->more && s->state != SHIPMENT_ASKED && s->acknowledged >= s->seq);
}

void
shipment_rest(struct shipment *s)
{
	close_file(s);
}

void
shipment_refuse(struct shipment *s, int64_t again)
{
	close_file(s);
	s->state = SHIPMENT_REFUSED;
	s->more = false;
	s->acknowledged = s->seq;
	s->again = again;
}

void
shipment_free(struct shipment *s)
{
	close_file(s);
	map_free(&s->blobs);
	free(s->path);
	free(s);
}
