/*
 * awf-mirror: keeps a directory equal to a database that awf-ship fills, for programs that read
 * files, such as awf-serve --db. The kind of database is known only to a filter, awf-mirror-NAME,
 * which reports the runs and sends the lines and blobs that it is asked for (awf-ship(7)).
 *
 * What the code relies on:
 *   - The database is right. The digest of the last line in the directory is compared with it; a
 *     run that differs is removed and copied again.
 *   - Answers come in the order of the questions, so each line is known to be the next one of the
 *     run that was asked for before it is parsed.
 *   - A run that cannot be copied does not delay others. The reason is printed once, and the run is
 *     tried again after longer and longer pauses.
 *   - If the database cannot be reached or the directory not be written, the copy stays as it is,
 *     and both are tried again after longer and longer pauses, until an answer was written
 *     completely or everything is here.
 *   - It ends when its stdin is closed, so also when the process that started it dies.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/patience.h"
#include "io/file.h"
#include "io/polling.h"
#include "io/terminal.h"
#include "json/writer.h"
#include "mirror/directory.h"
#include "mirror/protocol.h"
#include "proc/libexec.h"
#include "proc/message.h"
#include "proc/peer.h"
#include "program.h"
#include "storage/origin.h"
#include "transcript/blob.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

#define PROGRAM "awf-mirror"
#define FILTER "awf-mirror"
#define ASKED_AT_ONCE 16           /* runs */
#define TEXT_MOST ((size_t)1 << 20) /* of lines that are written at once */
#define SAID_PAUSE_MS 1000         /* between progress messages */
#define REFUSED_MOST INT64_C(32)            /* maximum pause before a refused run is tried again, as
                                               a multiple of the first one */

static const struct option_spec no_options[] = { { OPTION_END, 0, NULL, NULL, NULL } };

enum state {
	RUN_SAME,                  /* the directory has what the database last reported */
	RUN_WANTED,                /* it is in the list of runs to ask for */
	RUN_ASKED,
	RUN_REFUSED,               /* it cannot be copied in the version last reported */
	RUN_GONE                   /* removed from the database, with its lines or completely */
};

struct run {
	char run_id[ID_SIZE];
	char digest[DIGEST_SIZE];  /* of line seq in the database */
	char have_digest[DIGEST_SIZE];
	int64_t seq;               /* last line in the database */
	int64_t have;              /* last line in the directory; -1: not read yet */
	int64_t seen;              /* when the database got its last line, µs since 1970 */
	int64_t again;             /* when to try a refused run again, clock_monotonic() */
	int64_t pause;             /* before the next try */
	char *origin;
	enum state state;
	bool reason_printed;       /* why it was refused */
	bool renewed;              /* it was removed here, and no complete answer has
	                              arrived since */
	bool checked;              /* request its last line again and compare it */
};

struct copier {
	const char *url;
	char *filter;              /* path of the filter */
	struct directory directory;
	struct run **runs;
	size_t count;
	struct map places;         /* run id → index in runs */
	struct run **wanted;       /* to be asked for, in order, from next_wanted on */
	size_t wanted_count, next_wanted;
	struct run *asked[ASKED_AT_ONCE];
	size_t asked_count;

	struct {
		struct buffer text;    /* lines that are not in the directory yet */
		int64_t next;          /* seq of the next expected line */
		bool skipping;         /* ignore it */
		bool answered;         /* one was written completely since the filter was started */
	} answer;                  /* the current answer, to asked[0] */

	struct peer peer;
	bool ready, listed;        /* it has said what it is; it has listed all runs */
	bool misspoken;            /* the filter has failed, not the directory */
	int64_t pause, start_at;   /* before the filter is started again */
	int64_t again;             /* when the first refused run is tried again; 0: none
	                              was refused */
	size_t refused, gone;
	struct {
		bool lost, same;       /* the database cannot be reached; everything is here */
		bool unwritable;       /* the directory cannot be written */
		int64_t said_at;       /* time of the last progress message */
		size_t said_refused, said_there, said_behind;
	} told;                    /* what was printed last */
};

/* ---- output ---- */

static size_t
mirror_count_pending_runs(const struct copier *m)
{
	return m->wanted_count - m->next_wanted + m->asked_count;
}

/* Prints the progress on stdout, if it has changed. */
static void
mirror_print_progress(struct copier *m)
{
	const bool same = m->listed && mirror_count_pending_runs(m) == 0;
	struct buffer line = BUFFER_INIT;
	/* While the database cannot be reached: as before. */
	const size_t there = m->listed ? m->count - m->gone : m->told.said_there;
	struct writer w;

	if (same == m->told.same && m->refused == m->told.said_refused && there == m->told.said_there &&
	    mirror_count_pending_runs(m) == m->told.said_behind)
		return;
	if (same == m->told.same && clock_monotonic() - m->told.said_at < SAID_PAUSE_MS)
		return;
	m->told.said_at = clock_monotonic();
	m->told.same = same;
	m->told.said_refused = m->refused;
	m->told.said_there = there;
	m->told.said_behind = mirror_count_pending_runs(m);
	writer_begin(&w, &line);
	writer_object(&w);
	writer_member_bool(&w, "same", same);
	writer_member_bool(&w, "connected", m->listed);
	writer_member_integer(&w, "runs", (int64_t)there);
	writer_member_integer(&w, "behind", (int64_t)mirror_count_pending_runs(m));
	writer_member_integer(&w, "refused", (int64_t)m->refused);
	writer_object_end(&w);
	buffer_byte(&line, '\n');
	(void)!terminal_write_json(STDOUT_FILENO, line.data, line.len);
	buffer_free(&line);
}

/* The filter has violated awf-ship(7). */
static int
mirror_set_protocol_error(struct copier *m, const char *how, struct error *err)
{
	m->misspoken = true;
	return error_set(err, ERROR_SYSTEM, m->filter, "%s", how);
}

/* ---- runs ---- */

static struct run *
mirror_find_run(const struct copier *m, const char *run_id)
{
	const size_t *place = map_get(&m->places, run_id, ID_SIZE - 1);

	return place != NULL ? m->runs[*place] : NULL;
}

static struct run *
add_run(struct copier *m, const char *run_id)
{
	struct run *run = mirror_find_run(m, run_id);

	if (run != NULL)
		return run;
	run = memory_zero(1, sizeof *run);
	memcpy(run->run_id, run_id, ID_SIZE);
	run->have = -1;
	run->state = RUN_GONE;
	m->gone++;
	if ((m->count & (m->count - 1)) == 0)
		m->runs = memory_array(m->runs, m->count == 0 ? 1 : 2 * m->count, sizeof *m->runs);
	m->runs[m->count] = run;
	map_put(&m->places, run_id, ID_SIZE - 1, m->count++);
	return run;
}

static void
set_state(struct copier *m, struct run *run, enum state state)
{
	m->refused -= run->state == RUN_REFUSED;
	m->refused += state == RUN_REFUSED;
	m->gone -= run->state == RUN_GONE;
	m->gone += state == RUN_GONE;
	run->state = state;
}

static void
mirror_queue_run(struct copier *m, struct run *run)
{
	set_state(m, run, RUN_WANTED);
	if (m->next_wanted == m->wanted_count)
		m->next_wanted = m->wanted_count = 0;
	if ((m->wanted_count & (m->wanted_count - 1)) == 0)
		m->wanted = memory_array(m->wanted, m->wanted_count == 0 ? 1 : 2 * m->wanted_count,
		    sizeof *m->wanted);
	m->wanted[m->wanted_count++] = run;
}

/* Ignores the rest of the answer for this run. */
static void
mirror_skip_answer(struct copier *m, const struct run *run)
{
	if (m->asked_count == 0 || m->asked[0] != run)
		return;
	m->answer.skipping = true;
	buffer_clear(&m->answer.text);
}

static void
mirror_refuse_run(struct copier *m, struct run *run, const struct error *why)
{
	struct error told = ERROR_INIT;

	mirror_skip_answer(m, run);
	set_state(m, run, RUN_REFUSED);
	run->pause = run->pause == 0 ? SHIP_REFUSED_MS : run->pause < REFUSED_MOST * SHIP_REFUSED_MS ?
	    2 * run->pause : run->pause;
	run->again = clock_monotonic() + run->pause;
	if (m->again == 0 || run->again < m->again)
		m->again = run->again;
	if (run->reason_printed)
		return;
	run->reason_printed = true;
	error_set(&told, why->code, run->run_id, "%s; what the database has of the run behind line %" PRId64
	    " is not served", why->message, run->have > 0 ? run->have : 0);
	program_fail(PROGRAM, &told);
}

/* The run in the database is another one: removes the copy. */
static int
mirror_recopy_run(struct copier *m, struct run *run, struct error *err)
{
	mirror_skip_answer(m, run);
	if (directory_remove(&m->directory, run->run_id, err) != 0)
		return -1;
	run->have = 0;
	run->have_digest[0] = '\0';
	run->renewed = true;
	run->checked = false;
	mirror_queue_run(m, run);
	return 0;
}

/* Decides what to do about a run as it was last reported. */
static int
mirror_compare_run(struct copier *m, struct run *run, struct error *err)
{
	if (run->have == -1 && directory_look(&m->directory, run->run_id, &run->have, run->have_digest,
	    err) != 0)
		return -1;
	if (run->have == run->seq && strcmp(run->have_digest, run->digest) == 0) {
		set_state(m, run, RUN_SAME);
		return 0;
	}
	/* A refused run may be unchanged up to its last line here: compare that. */
	run->checked = run->pause > 0 && run->have > 0 && run->have <= run->seq;
	if (run->have >= run->seq && !run->checked)
		return mirror_recopy_run(m, run, err);
	mirror_queue_run(m, run);
	return 0;
}

static int
remove_run(struct copier *m, struct run *run, struct error *err)
{
	mirror_skip_answer(m, run);
	set_state(m, run, RUN_GONE);
	run->have = 0;
	run->have_digest[0] = '\0';
	return directory_remove(&m->directory, run->run_id, err);
}

/* Removes runs that the database does not have any more. */
static int
remove_unknown(struct copier *m, struct error *err)
{
	char run_id[ID_SIZE];
	DIR *directory;

	if (storage_names(&m->directory.storage, "transcripts", &directory, err) != 0)
		return -1;
	while (storage_next_run(directory, run_id)) {
		struct run *run = add_run(m, run_id);

		if (run->state == RUN_GONE && remove_run(m, run, err) != 0) {
			if (directory != NULL)
				closedir(directory);
			return -1;
		}
	}
	return 0;
}

/* ---- lines of the filter ---- */

static char *
origin_of(struct span told)
{
	char *origin = span_text(told);

	if (origin != NULL && origin_name_valid(origin))
		return origin;
	free(origin);
	return memory_text("unknown");
}

/* Handles the report of a run. */
static int
mirror_read_run_line(struct copier *m, const char *run_id, struct span line, struct error *err)
{
	static const char *const names[] = { KEY_SEQ, FETCH_DIGEST, FETCH_ORIGIN, FETCH_PRUNED, FETCH_IDLE };
	struct span values[5];
	struct run *run = add_run(m, run_id);
	long long seq, pruned = 0, idle = 0;
	struct error why = ERROR_INIT;
	bool asked = run->state == RUN_ASKED || run->state == RUN_WANTED;

	span_members(line, names, 5, values);
	if (!span_integer(values[0], &seq) || seq < 1 || !span_copy(values[1], run->digest, DIGEST_SIZE)) {
		run->seq = 0;
		error_set(&why, ERROR_SCHEMA, NULL, "the database does not say what it has of it");
		mirror_refuse_run(m, run, &why);
		return 0;
	}
	span_integer(values[3], &pruned);
	span_integer(values[4], &idle);
	free(run->origin);
	run->origin = origin_of(values[2]);
	run->seq = seq;
	run->seen = clock_wall() - idle * 1000;
	/* The beginning of its record was removed from the database. */
	if (pruned > 0)
		return remove_run(m, run, err);
	/* While it is being copied, the report is evaluated at the end of the answer. */
	return asked || run->state == RUN_REFUSED ? 0 : mirror_compare_run(m, run, err);
}

/* Tries refused runs again whose pause is over. */
static int
try_again(struct copier *m, struct error *err)
{
	const int64_t now = clock_monotonic();

	if (!m->listed || m->again == 0 || now < m->again)
		return 0;
	m->again = 0;
	for (size_t i = 0; i < m->count; i++) {
		struct run *run = m->runs[i];

		if (run->state != RUN_REFUSED)
			continue;
		if (run->again > now) {
			if (m->again == 0 || run->again < m->again)
				m->again = run->again;
			continue;
		}
		/* If seq is 0, its last report was invalid: wait for another. */
		if (run->seq > 0 && mirror_compare_run(m, run, err) != 0)
			return -1;
	}
	return 0;
}

/* The line with which the answer for a run begins. */
static int64_t
first_asked(const struct run *run)
{
	return run->have + (run->checked ? 0 : 1);
}

/* Begins the next answer, which is ignored if its run is not wanted any more. */
static void
drop_first(struct copier *m)
{
	m->asked_count--;
	memmove(&m->asked[0], &m->asked[1], m->asked_count * sizeof m->asked[0]);
	buffer_clear(&m->answer.text);
	m->answer.skipping = m->asked_count > 0 && m->asked[0]->state != RUN_ASKED;
	m->answer.next = m->asked_count > 0 ? first_asked(m->asked[0]) : 0;
}

/* Writes the lines received for the run that was asked for. If they are refused,
 * refuses the run. */
static int
write_lines(struct copier *m, struct error *err)
{
	struct run *run = m->asked[0];
	struct error why = ERROR_INIT;
	enum ingest_fault fault;

	if (m->answer.text.len == 0)
		return 0;
	fault = directory_add(&m->directory, run->origin, span_of(m->answer.text.data, m->answer.text.len), &why);
	buffer_clear(&m->answer.text);
	if (fault == INGEST_NONE) {
		directory_lease(&m->directory, run->run_id, (clock_wall() - run->seen) / 1000);
		return 0;
	}
	m->answer.skipping = true;
	if (fault == INGEST_FAILED) {
		*err = why;
		return -1;
	}
	/* Continue from what the directory has. */
	if (directory_look(&m->directory, run->run_id, &run->have, run->have_digest, err) != 0)
		return -1;
	if (fault != INGEST_INVALID && fault != INGEST_TOO_LARGE && !run->renewed)
		return mirror_recopy_run(m, run, err);
	mirror_refuse_run(m, run, &why);
	return 0;
}

/* Notes that the lines of the answer are here now. */
static void
has_come(const struct copier *m, struct run *run)
{
	if (m->answer.next > run->have)
		run->have = m->answer.next - 1;
}

/* Handles a line of the run that was asked for. */
static int
mirror_read_event_line(struct copier *m, struct span line, struct error *err)
{
	struct run *run = m->asked_count > 0 ? m->asked[0] : NULL;
	struct error why = ERROR_INIT;
	struct event_view view;
	char digest[DIGEST_SIZE];

	if (run == NULL)
		return mirror_set_protocol_error(m, "sends a line that it was not asked for", err);
	if (m->answer.skipping)
		return 0;
	if (!event_view_whole(line.at, line.len, &view) || view.seq != m->answer.next ||
	    !span_is(view.run_id, run->run_id)) {
		if (write_lines(m, err) != 0)
			return -1;
		if (m->answer.skipping)
			return 0;
		has_come(m, run);
		error_set(&why, ERROR_SCHEMA, NULL, "what the database has as line %" PRId64 " is not that line",
		    m->answer.next);
		mirror_refuse_run(m, run, &why);
		return 0;
	}
	/* The line is here already, and must be the same. */
	if (m->answer.next <= run->have) {
		digest_blake2b(line.at, line.len, digest);
		m->answer.next++;
		return strcmp(digest, run->have_digest) == 0 ? 0 : mirror_recopy_run(m, run, err);
	}
	buffer_append(&m->answer.text, line.at, line.len);
	buffer_byte(&m->answer.text, '\n');
	digest_blake2b(line.at, line.len, run->have_digest);
	m->answer.next++;
	return m->answer.text.len >= TEXT_MOST ? write_lines(m, err) : 0;
}

/* An answer is complete. */
static int
end_answer(struct copier *m, struct run *run, struct error *err)
{
	const bool more = m->answer.next - 1 > run->have, came = m->answer.next > run->have;
	struct error why = ERROR_INIT;

	has_come(m, run);
	if (came && run->have == run->seq && strcmp(run->have_digest, run->digest) != 0) {
		/* Its lines may have been replaced. */
		if (!run->renewed)
			return mirror_recopy_run(m, run, err);
		error_set(&why, ERROR_SCHEMA, NULL, "the database has another digest of line %" PRId64 " than "
		    "that of the line", run->seq);
		mirror_refuse_run(m, run, &why);
		return 0;
	}
	if (!more) {
		error_set(&why, ERROR_SCHEMA, NULL, "the database reports line %" PRId64 ", but "
		    "does not have it", m->answer.next);
		mirror_refuse_run(m, run, &why);
		return 0;
	}
	run->renewed = run->reason_printed = false;
	run->pause = 0;
	m->answer.answered = true;
	if (run->have < run->seq) {
		mirror_queue_run(m, run);
		return 0;
	}
	set_state(m, run, RUN_SAME);
	/* Later reports of the run follow this answer. */
	run->seq = run->have;
	memcpy(run->digest, run->have_digest, DIGEST_SIZE);
	return 0;
}

/* Handles the end of an answer. */
static int
mirror_finish_answer(struct copier *m, struct run *run, struct error *err)
{
	if (write_lines(m, err) != 0)
		return -1;
	/* Not if the run was asked for again meanwhile. */
	if (!m->answer.skipping && end_answer(m, run, err) != 0)
		return -1;
	drop_first(m);
	return 0;
}

static int
mirror_read_blob_line(struct copier *m, struct span line, struct error *err)
{
	struct run *run = m->asked_count > 0 ? m->asked[0] : NULL;
	struct buffer bytes = BUFFER_INIT;
	struct error why = ERROR_INIT;
	struct span data = span_member(line, FETCH_DATA);
	char sha256[DIGEST_SIZE];
	int failed = 0;

	if (run == NULL || span_type(data) != 's' || !span_is(span_member(line, KEY_RUN_ID), run->run_id) ||
	    !span_copy(span_member(line, FETCH_BLOB), sha256, sizeof sha256) || !blob_name_valid(sha256))
		return mirror_set_protocol_error(m, "sends a blob that it was not asked for", err);
	if (m->answer.skipping)
		return 0;
	/* Base64 has no escapes. */
	if (base64_decode(data.at + 1, data.len - 2, &bytes) != 0)
		error_set(&why, ERROR_INVALID_INPUT, sha256, "is no base64");
	else
		directory_add_blob(&m->directory, run->run_id, run->origin, sha256,
		    span_of(buffer_string(&bytes), bytes.len), &why);
	buffer_free(&bytes);
	if (why.code == ERROR_SYSTEM) {
		*err = why;
		failed = -1;
	} else if (why.code != ERROR_NONE) {
		/* The lines are copied without it. */
		program_fail(PROGRAM, &why);
	}
	return failed;
}

/* Handles a message about a run. */
static int
mirror_read_run_message(struct copier *m, struct span line, struct error *err)
{
	static const char *const names[] = { KEY_RUN_ID, FETCH_SENT, KEY_ERROR, FETCH_GONE };
	struct error why = ERROR_INIT;
	struct span values[4];
	char run_id[ID_SIZE], *message;
	struct run *run;

	span_members(line, names, 4, values);
	if (!event_copy_id(values[0], run_id)) {
		char *name = span_text(values[0]);

		message = span_text(span_member(values[2], KEY_MESSAGE));
		error_set(&why, ERROR_SCHEMA, NULL, "the database has a run '%s': %s", name != NULL ? name : "",
		    message != NULL ? message : "is no id of a run");
		program_fail(PROGRAM, &why);
		free(message);
		free(name);
		return 0;
	}
	run = add_run(m, run_id);
	if (values[1].at != NULL || values[2].at != NULL) {
		if (m->asked_count == 0 || m->asked[0] != run)
			return mirror_set_protocol_error(m, "answers what it was not asked", err);
		if (values[2].at != NULL && write_lines(m, err) != 0)
			return -1;
		if (values[2].at != NULL && !m->answer.skipping) {
			message = span_text(span_member(values[2], KEY_MESSAGE));
			error_set(&why, ERROR_SCHEMA, NULL, "%s", message != NULL ? message : "cannot be had");
			free(message);
			has_come(m, run);
			mirror_refuse_run(m, run, &why);
		}
		return mirror_finish_answer(m, run, err);
	}
	if (span_true(values[3]))
		return remove_run(m, run, err);
	return mirror_read_run_line(m, run_id, line, err);
}

static int
mirror_read_line(struct copier *m, struct span line, struct error *err)
{
	struct span_walk first;
	long long version;
	size_t bad;

	if (m->ready && line.len > 7 && memcmp(line.at, "{\"seq\":", 7) == 0)
		return mirror_read_event_line(m, line, err);
	if (scan_within(line.at, line.len, SCAN_LINE_DEPTH, &bad) != NULL || span_type(line) != 'o')
		return mirror_set_protocol_error(m, "sends invalid JSON", err);
	if (!m->ready) {
		if (!span_integer(span_member(line, FETCH_HELLO), &version) || version != FETCH_VERSION)
			return mirror_set_protocol_error(m, "does not speak as awf-ship(7) says",
			    err);
		m->ready = true;
		return 0;
	}
	first = span_walk(line);
	if (!span_next(&first))
		return 0;
	if (span_is(first.key, KEY_RUN_ID))
		return mirror_read_run_message(m, line, err);
	if (span_is(first.key, FETCH_BLOB))
		return mirror_read_blob_line(m, line, err);
	if (!span_is(first.key, FETCH_LISTED) || m->listed)
		return 0; /* or a message of a later version */
	m->listed = true;
	if (m->told.lost)
		message_print(PROGRAM, "the database can be reached again");
	m->told.lost = false;
	return remove_unknown(m, err);
}

static int
mirror_read_lines(struct copier *m, struct error *err)
{
	struct span line;
	int got;

	while ((got = peer_line(&m->peer, &line)) != 0) {
		if (got == -1)
			return mirror_set_protocol_error(m, "sends a line that is too long", err);
		if (mirror_read_line(m, line, err) != 0)
			return -1;
	}
	return 0;
}

/* ---- the filter ---- */

static int
mirror_start_filter(struct copier *m, struct error *err)
{
	char *argv[] = { m->filter, (char *)m->url, NULL };
	const struct process_spec spec = { .argv = argv, .err = PROCESS_PIPE };

	m->peer.ends_unheard = m->peer.ignores_signals = true;
	m->peer.end_ms = MIRROR_FILTER_END_MS;
	m->ready = m->listed = m->answer.skipping = false;
	m->asked_count = m->wanted_count = m->next_wanted = 0;
	buffer_clear(&m->answer.text);
	for (size_t i = 0; i < m->count; i++) {
		/* A failed write may have left something: read it again. */
		m->runs[i]->have = -1;
		m->runs[i]->again = 0;
		set_state(m, m->runs[i], RUN_GONE);
	}
	return peer_start(&m->peer, &spec, err);
}

/* Asks for as many runs as may be asked for at once. */
static void
mirror_request_runs(struct copier *m)
{
	while (m->next_wanted < m->wanted_count && m->asked_count < ASKED_AT_ONCE) {
		struct run *run = m->wanted[m->next_wanted++];
		struct writer w;

		if (run->state != RUN_WANTED)
			continue;
		writer_begin(&w, &m->peer.outgoing);
		writer_object(&w);
		writer_member_string(&w, KEY_RUN_ID, run->run_id);
		writer_member_integer(&w, FETCH_AFTER, first_asked(run) - 1);
		writer_object_end(&w);
		buffer_byte(&m->peer.outgoing, '\n');
		set_state(m, run, RUN_ASKED);
		if (m->asked_count == 0)
			m->answer.next = first_asked(run);
		m->asked[m->asked_count++] = run;
	}
	peer_send(&m->peer);
}

/* The filter has ended: plans to start it again after a pause. -1: it will not be started;
 * *status is set. */
static int
mirror_schedule_restart(struct copier *m, const struct error *failure, int *status)
{
	bool *told = failure->code != ERROR_NONE && !m->misspoken ? &m->told.unwritable : &m->told.lost;
	char text[64], *said;
	struct error why = ERROR_INIT;
	int wait_status;

	peer_read_errors(&m->peer);
	wait_status = peer_end(&m->peer);
	*status = process_exit_code(wait_status);
	said = memory_copy(buffer_string(&m->peer.errors), m->peer.errors.len);
	said[strcspn(said, "\n")] = '\0';
	if (failure->code != ERROR_NONE)
		why = *failure;
	else if (*said != '\0')
		error_set(&why, ERROR_SYSTEM, NULL, "%s", said);
	else
		error_set(&why, ERROR_SYSTEM, m->filter, "has ended: %s", process_status_text(wait_status, text,
		    sizeof text));
	free(said);
	buffer_clear(&m->peer.errors);
	m->listed = m->answer.answered = m->misspoken = false;
	/* An invalid URL or usage error will not change. */
	if (*status == STATUS_USAGE || *status == STATUS_DEFINITION) {
		program_fail(PROGRAM, &why);
		return -1;
	}
	if (!*told) {
		snprintf(why.message + strlen(why.message), sizeof why.message - strlen(why.message),
		    " (it is tried again)");
		program_fail(PROGRAM, &why);
	}
	*told = true;
	m->start_at = clock_monotonic() + m->pause;
	m->pause = m->pause * 2 < SERVER_RETRY_MOST_MS ? m->pause * 2 : SERVER_RETRY_MOST_MS;
	return 0;
}

/* If everything works, the next failure is followed by a short pause again. */
static void
note_success(struct copier *m)
{
	if (!m->listed || (!m->answer.answered && mirror_count_pending_runs(m) > 0))
		return;
	m->pause = SERVER_RETRY_MS;
	if (m->told.unwritable)
		message_print(PROGRAM, "%s: can be written again", m->directory.path);
	m->told.unwritable = false;
}

/* Copies until stdin is closed. Returns the exit status. */
static int
mirror_copy_until_closed(struct copier *m)
{
	struct pollfd fds[1 + PEER_FDS];
	struct error err = ERROR_INIT;
	int status = STATUS_OK;
	char byte[256];

	m->pause = SERVER_RETRY_MS;
	for (;;) {
		bool runs = m->peer.process.pid != 0, ended = false;

		if (!runs && clock_monotonic() >= m->start_at) {
			if (mirror_start_filter(m, &err) != 0)
				return program_fail(PROGRAM, &err);
			runs = true;
		}
		if (try_again(m, &err) != 0) {
			mirror_schedule_restart(m, &err, &status);
			err = (struct error)ERROR_INIT;
			continue;
		}
		if (runs && m->ready)
			mirror_request_runs(m);
		mirror_print_progress(m);
		fds[0] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
		peer_poll(&m->peer, fds + 1);
		if (poll_until(fds, 1 + PEER_FDS, runs ? clock_monotonic() + SAID_PAUSE_MS : m->start_at) == -1) {
			error_errno(&err, ERROR_SYSTEM, NULL, "unable to wait");
			return program_fail(PROGRAM, &err);
		}
		if (fds[0].revents != 0 && read(STDIN_FILENO, byte, sizeof byte) <= 0)
			return STATUS_OK;
		if (!runs)
			continue;
		ended = peer_serve(&m->peer, fds + 1) != 0;
		if (mirror_read_lines(m, &err) != 0 || ended) {
			if (mirror_schedule_restart(m, &err, &status) != 0)
				return status;
		} else {
			note_success(m);
		}
		err = (struct error)ERROR_INIT;
	}
}

/* Returns 0, the id of --help or --version, or -1. */
static int
mirror_read_options(struct copier *m, const char **path, int argc, char **argv, struct error *err)
{
	struct options o;
	int id;

	options_begin(&o, no_options, argc, argv);
	while ((id = options_next(&o, err)) != OPTION_END) {
		if (id == -1 || OPTION_ASKS(id))
			return id;
		if (m->url == NULL)
			m->url = o.value;
		else if (*path == NULL)
			*path = o.value;
		else
			return error_set(err, ERROR_USAGE, o.value, "is one word too many");
	}
	return *path != NULL ? 0 : error_set(err, ERROR_USAGE, NULL, "the URL of a database, and a "
	    "directory, are needed");
}

static void
mirror_free_copier(struct copier *m)
{
	if (m->peer.process.pid != 0)
		peer_end(&m->peer);
	peer_free(&m->peer);
	directory_close(&m->directory);
	for (size_t i = 0; i < m->count; i++) {
		free(m->runs[i]->origin);
		free(m->runs[i]);
	}
	free(m->runs);
	free(m->wanted);
	free(m->filter);
	map_free(&m->places);
	buffer_free(&m->answer.text);
}

int
main(int argc, char **argv)
{
	static struct copier m;
	struct error err = ERROR_INIT;
	const char *path = NULL;
	int status = STATUS_OK;

	program_begin();
	switch (mirror_read_options(&m, &path, argc, argv, &err)) {
	case -1:
		return program_fail(PROGRAM, &err);
	case OPTION_HELP:
		options_help(stdout, PROGRAM " URL DIRECTORY", no_options, OPTION_HELP);
		return program_end(PROGRAM, STATUS_OK);
	case OPTION_VERSION:
		return program_end(PROGRAM, program_version(PROGRAM));
	}
	program_ends_with_stdin();
	setenv("AWF_SYNC", "none", 1); /* for the directory, which is synced at the end */
	m.directory.lock = -1;
	m.filter = libexec_filter(FILTER, m.url, NULL, &err);
	if (m.filter == NULL || directory_open(&m.directory, path, &err) != 0)
		status = err.code == ERROR_CANCELLED ? STATUS_OK : program_fail(PROGRAM, &err);
	else
		status = mirror_copy_until_closed(&m);
	mirror_free_copier(&m);
	return status;
}
