/*
 * What is there already is compared with the file without a lock, for no line that is there
 * changes; what comes next is for the transcript to say, under its lock. If others have gone on
 * with it meanwhile, that begins again from where they are.
 */
#include "ingest/mirror.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/memory.h"
#include "ingest/blobs.h"
#include "run/waiting.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/form.h"

#define FORMAT 1
#define PREV_FROM_END (DIGEST_SIZE - 1 + sizeof "\"}" - 1)

/* ---- lines ---- */

bool
mirror_line_run(const char *line, size_t len, char run_id[ID_SIZE])
{
	struct event_view view;

	return event_view(line, len, &view) == 0 && event_copy_id(view.run_id, run_id);
}

static int64_t
wall_of(struct span timestamp)
{
	char text[CLOCK_TEXT_SIZE];
	int64_t wall = 0;

	return span_copy(timestamp, text, sizeof text) && clock_parse(text, 0, &wall) == 0 ? wall : 0;
}

/* The digest of the line before it, which a whole line has at its end. */
static const char *
prev_of(const char *line, size_t len)
{
	return line + len - PREV_FROM_END;
}

int
mirror_lines_add(struct mirror_lines *lines, const char *line, size_t len, struct error *err)
{
	struct span members = span_of(line, len);
	struct form_fault fault;
	struct form form;
	long long format;
	int64_t wall;

	if (form_check(line, len, &form, &fault) == -1)
		return error_set(err, ERROR_INVALID_INPUT, NULL, "byte %zu: %s", fault.at,
		    fault.what.message);
	if (form.seq == 1 && form.type != EVENT_RUN_STARTED)
		return error_set(err, ERROR_INVALID_INPUT, NULL, "the first line is no run.started");
	if (form.seq == 1 && strspn(prev_of(line, len), "0") != DIGEST_SIZE - 1)
		return error_set(err, ERROR_INVALID_INPUT, NULL, "the first line follows another");
	if (form.type == EVENT_RUN_STARTED &&
	    span_integer(span_path(members, KEY_PAYLOAD, KEY_FORMAT, NULL), &format) && format > FORMAT)
		return error_set(err, ERROR_INVALID_INPUT, NULL,
		    "is of format %lld, which this version does not know", format);
	wall = wall_of(form.timestamp);
	if (lines->count > 0 && (line != lines->text.at + lines->text.len ||
	    form.seq != lines->seq + (int64_t)lines->count || wall < lines->wall ||
	    memcmp(prev_of(line, len), lines->digest, DIGEST_SIZE - 1) != 0))
		return 0;
	if (lines->count == 0) {
		lines->text = span_of(line, 0);
		lines->seq = form.seq;
	}
	lines->text.len += len + 1;
	lines->count++;
	lines->wall = wall;
	digest_blake2b(line, len, lines->digest);
	return 1;
}

/* ---- the transcript ---- */

void
mirror_begin(struct mirror *m, const struct storage *s, const char *run_id, const char *sender)
{
	*m = (struct mirror){ .storage = s, .sender = memory_text(sender), .origin = { NULL, -1 },
		.transcript = { .fd = -1 } };
	memcpy(m->run_id, run_id, ID_SIZE);
}

static void
close_transcript(struct mirror *m)
{
	if (m->open)
		transcript_close(&m->transcript);
	if (m->reading)
		reader_close(&m->reader);
	origin_close(&m->origin);
	m->open = m->reading = false;
	m->read_seq = 0;
}

/* Makes the run the sender's, and its transcript if there is none yet; the lock of the origin is
 * held, by this process alone. */
static int
open_transcript(struct mirror *m, enum mirror_fault *fault, struct error *err)
{
	char *path, *blobs;
	int failed;

	*fault = MIRROR_FAILED;
	if (origin_claim(&m->origin, m->storage, m->run_id, m->sender, ORIGIN_LINES, err) != 0) {
		if (err->code == ERROR_BLOCKED)
			*fault = MIRROR_FORBIDDEN;
		return -1;
	}
	path = storage_transcript(m->storage, m->run_id);
	blobs = storage_blobs(m->storage, m->run_id);
	failed = blobs_adopt(m->storage, m->run_id, err);
	if (failed == 0)
		failed = (access(path, F_OK) == 0 ? transcript_open : transcript_create)(&m->transcript,
		    path, blobs, m->run_id, err);
	m->transcript.repaired = m->repaired;
	m->open = failed == 0;
	if (failed != 0)
		origin_close(&m->origin);
	free(blobs);
	free(path);
	return failed;
}

/* Begins to write: the lock of the origin is held. 1: the run is not there, and does not begin
 * with these lines. */
static int
enter(struct mirror *m, bool begins, enum mirror_fault *fault, struct error *err)
{
	char *path;
	bool begun;
	int shared;

	*fault = MIRROR_FAILED;
	if (m->open) {
		shared = origin_share(&m->origin, err);
		if (shared == -1)
			return -1;
		if (shared == 1 && lock_named(m->transcript.fd, m->transcript.path))
			return 0;
		/* It was removed, or its transcript alone: what is sent now is a run anew. */
		close_transcript(m);
	}
	path = storage_transcript(m->storage, m->run_id);
	begun = transcript_begun(path);
	free(path);
	return begun || begins ? open_transcript(m, fault, err) : 1;
}

/* ---- what is there ---- */

/* Whether the line is the same as that of its seq in the file: 1, 0, or -1 with *err. */
static int
is_there(struct mirror *m, int64_t seq, const char *line, size_t len, struct error *err)
{
	const char *there;
	size_t there_len;
	int got;

	if (!m->reading && reader_open(&m->reader, m->transcript.path, err) != 0)
		return -1;
	m->reading = true;
	if (m->read_seq != seq && reader_seek_after(&m->reader, seq - 1, err) != 0)
		return -1;
	got = reader_next(&m->reader, &there, &there_len, err);
	m->read_seq = got == 1 ? seq + 1 : 0;
	if (got != 1)
		return got;
	return there_len == len && memcmp(there, line, len) == 0;
}

/* How many of the blobs that the lines name are not there. */
static int64_t
count_missing(const struct mirror *m, struct span lines)
{
	int64_t missing = 0;

	for (const char *line = lines.at, *end; line < lines.at + lines.len; line = end + 1) {
		end = memchr(line, '\n', (size_t)(lines.at + lines.len - line));
		missing += blobs_missing(m->storage, m->run_id, line, (size_t)(end - line));
	}
	return missing;
}

/* ---- taking ---- */

/* Why the line with this seq cannot come next, behind what the transcript ends in. */
static int
refuse(const struct transcript *t, int64_t seq, bool same, struct mirror_result *result,
    struct error *err)
{
	result->wanted = t->seq + 1;
	if (seq > t->seq + 1) {
		result->fault = MIRROR_GAP;
		return error_set(err, ERROR_BLOCKED, t->run_id, "seq %lld would leave a gap: %lld is wanted",
		    (long long)seq, (long long)result->wanted);
	}
	result->fault = MIRROR_CONFLICT;
	if (seq == t->seq + 1 && same)
		return error_set(err, ERROR_BLOCKED, t->run_id,
		    "seq %lld does not follow from the line before it that is there", (long long)seq);
	return error_set(err, ERROR_BLOCKED, t->run_id, "another line is there as seq %lld",
	    (long long)seq);
}

static int
take(struct mirror *m, const struct mirror_lines *lines, struct mirror_result *result,
    struct error *err)
{
	struct transcript *t = &m->transcript;
	const char *line = lines->text.at, *end = line + lines->text.len;
	int64_t seq = lines->seq, before;

	for (;;) {
		struct event_view view;
		struct span rest;
		size_t len;
		int done;

		while (line < end && seq <= t->seq) {
			len = (size_t)((const char *)memchr(line, '\n', (size_t)(end - line)) - line);
			done = is_there(m, seq, line, len, err);
			if (done == -1) {
				result->fault = MIRROR_FAILED;
				return -1;
			}
			if (done == 0)
				return refuse(t, seq, false, result, err);
			result->known++;
			line += len + 1;
			seq++;
		}
		if (line == end)
			return 0;
		len = (size_t)((const char *)memchr(line, '\n', (size_t)(end - line)) - line);
		if (event_view(line, len, &view) != 0)
			return refuse(t, seq, true, result, err);
		rest = span_of(line, (size_t)(end - line));
		done = transcript_extend(t, rest, seq, prev_of(line, len), wall_of(view.timestamp), err);
		if (done == 0 && t->seq >= seq)
			continue; /* another has sent it meanwhile */
		if (done == 0)
			return refuse(t, seq, true, result, err);
		before = seq - 1;
		if (t->seq > before) {
			result->taken += t->seq - before;
			result->missing += count_missing(m, done == 1 ? rest : SPAN_NONE);
		}
		if (done == -1)
			result->fault = MIRROR_FAILED;
		return done == 1 ? 0 : -1;
	}
}

int
mirror_take(struct mirror *m, const struct mirror_lines *lines, struct mirror_result *result,
    struct error *err)
{
	const struct transcript none = { .seq = 0 };
	int entered, failed;

	*result = (struct mirror_result){ .fault = MIRROR_NONE };
	entered = enter(m, lines->seq == 1, &result->fault, err);
	if (entered == -1)
		return -1;
	if (entered == 1) {
		struct transcript absent = none;

		memcpy(absent.run_id, m->run_id, ID_SIZE);
		return refuse(&absent, lines->seq, false, result, err);
	}
	result->fault = MIRROR_NONE;
	m->unsynced = true;
	failed = take(m, lines, result, err);
	origin_release(&m->origin);
	return failed;
}

int
mirror_sync(struct mirror *m, int64_t lease_ms, struct error *err)
{
	int ended, shared;

	if (!m->unsynced || !m->open)
		return 0;
	shared = origin_share(&m->origin, err);
	/* What was removed meanwhile had come to be there. */
	m->unsynced = shared == -1;
	if (shared != 1)
		return shared;
	ended = transcript_sync(&m->transcript, err) == 0 ? waiting_run_ended(&m->transcript, err) : -1;
	if (ended != -1 && origin_lease(&m->origin,
	    clock_wall() + (ended == 1 ? 0 : lease_ms * 1000), err) != 0)
		ended = -1;
	origin_release(&m->origin);
	m->unsynced = ended == -1;
	return ended == -1 ? -1 : 0;
}

void
mirror_end(struct mirror *m)
{
	close_transcript(m);
	free(m->sender);
	m->sender = NULL;
}
