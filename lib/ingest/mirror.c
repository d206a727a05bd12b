/*
 * Lines that exist already are compared with the file without a lock, because existing lines never
 * change; under its lock the transcript decides which line comes next. If others have appended
 * meanwhile, this starts again from the new end.
 */
#include "ingest/mirror.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/patience.h"
#include "ingest/blobs.h"
#include "io/file.h"
#include "io/lock.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

#define FORMAT 1
#define PREV_FROM_END (DIGEST_SIZE - 1 + sizeof "\"}" - 1)

/* ---- lines ---- */

bool
mirror_line_run(const char *line, size_t len, char run_id[ID_SIZE])
{
	struct event_view view;

	return event_view(line, len, &view) == 0 && event_copy_id(view.run_id, run_id);
}

/* The digest of the previous line, which a whole line has at its end. */
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
	if (lines->count > 0 && (line != lines->text.at + lines->text.len ||
	    form.seq != lines->seq + (int64_t)lines->count ||
	    memcmp(prev_of(line, len), lines->digest, DIGEST_SIZE - 1) != 0))
		return 0;
	if (lines->count == 0) {
		lines->text = span_of(line, 0);
		lines->seq = form.seq;
	}
	lines->text.len += len + 1;
	lines->count++;
	digest_blake2b(line, len, lines->digest);
	return 1;
}

/* ---- the transcript ---- */

void
mirror_begin(struct mirror *m, const struct storage *s, const char *run_id, const char *sender)
{
	*m = (struct mirror){ .storage = s, .sender = memory_text(sender), .origin = { .fd = -1 },
		.transcript = { .fd = -1 }, .lock_ms = TRANSCRIPT_LOCK_MS };
	memcpy(m->run_id, run_id, ID_SIZE);
}

static void
close_transcript(struct mirror *m)
{
	if (m->open)
		transcript_close(&m->transcript);
	if (m->reading)
		reader_close(&m->reader);
	if (m->checking)
		verify_lines_free(&m->checked);
	origin_close(&m->origin);
	m->open = m->reading = m->checking = m->unsynced = false;
	m->read_seq = 0;
}

/* Makes the sender the owner of the run, and creates its transcript if there is none; this
 * process holds the lock of the origin. */
static int
open_transcript(struct mirror *m, enum mirror_fault *fault, struct error *err)
{
	char *path, *blobs;
	int failed;

	*fault = MIRROR_FAILED;
	if (origin_claim(&m->origin, m->storage, m->run_id, m->sender, ORIGIN_LINES, m->lock_ms, err) != 0) {
		if (err->code == ERROR_BLOCKED)
			*fault = MIRROR_FORBIDDEN;
		return -1;
	}
	path = storage_transcript(m->storage, m->run_id);
	blobs = storage_blobs(m->storage, m->run_id);
	failed = blobs_adopt(m->storage, m->run_id, err);
	/* Whoever sees its first line must also see that more may come. */
	if (failed == 0 && m->lease_ms > 0 && !transcript_begun(path))
		failed = origin_lease(&m->origin, clock_wall() + m->lease_ms * 1000, err);
	if (failed == 0)
		failed = (access(path, F_OK) == 0 ? transcript_open : transcript_create)(&m->transcript,
		    path, blobs, m->run_id, err);
	m->transcript.repaired = m->repaired;
	m->transcript.lock_ms = m->lock_ms;
	m->open = failed == 0;
	if (failed != 0)
		origin_close(&m->origin);
	free(blobs);
	free(path);
	return failed;
}

/* Begins to write: the lock of the origin is held. 1: the run does not exist, and does not begin
 * with these lines. */
static int
mirror_begin_writing(struct mirror *m, bool begins, enum mirror_fault *fault, struct error *err)
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
		/* The run, or only its transcript, was removed: the lines that are sent now
		 * begin a new run. */
		close_transcript(m);
	}
	path = storage_transcript(m->storage, m->run_id);
	begun = transcript_begun(path);
	free(path);
	return begun || begins ? open_transcript(m, fault, err) : 1;
}

/* ---- existing lines ---- */

/* Reads the line with this seq from the file; the result is that of reader_next(). */
static int
mirror_read_line_of_seq(struct mirror *m, int64_t seq, const char **line, size_t *len,
    struct error *err)
{
	int got;

	if (!m->reading && reader_open(&m->reader, m->transcript.path, err) != 0)
		return -1;
	m->reading = true;
	if (m->read_seq != seq && reader_seek_after(&m->reader, seq - 1, err) != 0)
		return -1;
	got = reader_next(&m->reader, line, len, err);
	m->read_seq = got == 1 ? seq + 1 : 0;
	return got;
}

/* Whether the line is the same as that of its seq in the file: 1, 0, or -1 with *err. */
static int
mirror_has_line(struct mirror *m, int64_t seq, const char *line, size_t len, struct error *err)
{
	const char *there;
	size_t there_len;
	int got = mirror_read_line_of_seq(m, seq, &there, &there_len, err);

	return got != 1 ? got : there_len == len && memcmp(there, line, len) == 0;
}

/* How many of the blobs that the lines name do not exist. */
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

/* ---- the check of lines ---- */

static void
begin_check(struct mirror *m)
{
	if (m->checking)
		verify_lines_free(&m->checked);
	m->report = (struct verify_report){ .lines = 0 };
	verify_lines_begin(&m->checked, NULL, &m->report);
	memset(m->checked_digest, '0', DIGEST_SIZE - 1);
	m->checked_digest[DIGEST_SIZE - 1] = '\0';
	m->checking = true;
}

/* Makes the check know the last lines of the transcript. Its present state is right if it ends
 * with the digest that the next line names; after a partial write it is ahead. */
static int
check_what_is_there(struct mirror *m, enum mirror_fault *fault, struct error *err)
{
	const struct transcript *t = &m->transcript;
	struct error wrong;
	const char *line;
	size_t len;

	if (!m->checking || m->report.lines > t->seq || (m->report.lines == t->seq &&
	    memcmp(m->checked_digest, t->prev, DIGEST_SIZE) != 0))
		begin_check(m);
	for (bool first = true; m->report.lines < t->seq; first = false) {
		int got = mirror_read_line_of_seq(m, m->report.lines + 1, &line, &len, err);

		*fault = MIRROR_FAILED;
		if (got == 0)
			error_set(err, ERROR_SYSTEM, t->path, "line %lld cannot be found",
			    (long long)m->report.lines + 1);
		if (got != 1)
			return -1;
		if (first && memcmp(prev_of(line, len), m->checked_digest, DIGEST_SIZE - 1) != 0) {
			begin_check(m);
			m->read_seq = 0;
			continue;
		}
		if (verify_lines_next(&m->checked, line, len, &wrong) != 0) {
			*fault = MIRROR_CONFLICT;
			return error_set(err, ERROR_BLOCKED, t->run_id, "line %lld here is none that may follow: "
			    "%s (see awf-verify)", (long long)m->report.lines + 1, wrong.message);
		}
	}
	memcpy(m->checked_digest, t->prev, DIGEST_SIZE);
	return 0;
}

/* Checks lines that follow the known ones; *good gets the lines before the first faulty one,
 * which *err then describes. last: the digest of the last of them. */
static int
check_next(struct mirror *m, struct span lines, const char *last, struct span *good,
    struct error *err)
{
	const char *line = lines.at, *end = line + lines.len;

	*good = lines;
	while (line < end) {
		size_t len = (size_t)((const char *)memchr(line, '\n', (size_t)(end - line)) - line);

		if (verify_lines_next(&m->checked, line, len, err) != 0) {
			*good = span_of(lines.at, (size_t)(line - lines.at));
			memcpy(m->checked_digest, prev_of(line, len), DIGEST_SIZE - 1);
			err->code = ERROR_INVALID_INPUT;
			return -1;
		}
		line += len + 1;
	}
	memcpy(m->checked_digest, last, DIGEST_SIZE);
	return 0;
}

/* Whether a run can begin with these lines. */
static int
check_first(const struct mirror_lines *lines, struct error *err)
{
	struct verify_report report = { .lines = 0 };
	const char *line = lines->text.at;
	struct verify_lines v;
	int failed;

	verify_lines_begin(&v, NULL, &report);
	failed = verify_lines_next(&v, line,
	    (size_t)((const char *)memchr(line, '\n', lines->text.len) - line), err);
	verify_lines_free(&v);
	if (failed != 0)
		err->code = ERROR_INVALID_INPUT;
	return failed;
}

/* ---- taking ---- */

/* Refuses the line with this seq, which cannot be the next line of the transcript. */
static int
mirror_refuse_line(const struct transcript *t, int64_t seq, bool same, struct mirror_result *result,
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

/* Compares the lines that exist already, and appends the others. */
static int
mirror_append_lines(struct mirror *m, const struct mirror_lines *lines,
    struct mirror_result *result, struct error *err)
{
	struct transcript *t = &m->transcript;
	const char *line = lines->text.at, *end = line + lines->text.len;
	int64_t seq = lines->seq, before;

	/* Find the end of the file. */
	result->fault = MIRROR_FAILED;
	if (transcript_extend(t, SPAN_NONE, 0, NULL, err) == -1)
		return -1;
	for (;;) {
		struct span rest, good;
		bool faulty;
		size_t len;
		int done;

		while (line < end && seq <= t->seq) {
			len = (size_t)((const char *)memchr(line, '\n', (size_t)(end - line)) - line);
			done = mirror_has_line(m, seq, line, len, err);
			if (done == -1)
				return -1;
			if (done == 0)
				return mirror_refuse_line(t, seq, false, result, err);
			result->known++;
			line += len + 1;
			seq++;
		}
		if (line == end)
			break;
		len = (size_t)((const char *)memchr(line, '\n', (size_t)(end - line)) - line);
		if (seq != t->seq + 1 || memcmp(prev_of(line, len), t->prev, DIGEST_SIZE - 1) != 0)
			return mirror_refuse_line(t, seq, true, result, err);
		rest = span_of(line, (size_t)(end - line));
		if (check_what_is_there(m, &result->fault, err) != 0)
			return -1;
		faulty = check_next(m, rest, lines->digest, &good, err) != 0;
		if (faulty && good.len == 0) {
			result->fault = MIRROR_INVALID;
			return -1;
		}
		before = seq - 1;
		done = transcript_extend(t, good, seq, prev_of(line, len), err);
		if (done == 0)
			continue; /* another process has appended it meanwhile */
		result->taken += t->seq - before;
		result->missing += count_missing(m, done == 1 ? good : SPAN_NONE);
		if (done == -1)
			return -1;
		if (!faulty)
			break;
		line += good.len;
		seq = t->seq + 1;
	}
	result->fault = MIRROR_NONE;
	return 0;
}

int
mirror_take(struct mirror *m, const struct mirror_lines *lines, struct mirror_result *result,
    struct error *err)
{
	const struct transcript none = { .seq = 0 };
	int entered, failed;

	*result = (struct mirror_result){ .fault = MIRROR_INVALID };
	if (!m->open && lines->seq == 1 && check_first(lines, err) != 0)
		return -1;
	entered = mirror_begin_writing(m, lines->seq == 1, &result->fault, err);
	if (entered == -1)
		return -1;
	if (entered == 1) {
		struct transcript absent = none;

		memcpy(absent.run_id, m->run_id, ID_SIZE);
		return mirror_refuse_line(&absent, lines->seq, false, result, err);
	}
	m->unsynced = true;
	failed = mirror_append_lines(m, lines, result, err);
	origin_release(&m->origin);
	return failed;
}

int
mirror_sync(struct mirror *m, struct error *err)
{
	if (m->unsynced && transcript_sync(&m->transcript, err) != 0)
		return -1;
	m->unsynced = false;
	return 0;
}

void
mirror_trim(struct mirror *m)
{
	if (m->open)
		transcript_trim(&m->transcript);
	if (m->reading)
		reader_trim(&m->reader);
}

void
mirror_end(struct mirror *m)
{
	close_transcript(m);
	free(m->sender);
	m->sender = NULL;
}
