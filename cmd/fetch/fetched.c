/*
 * A run is loaded up to what the server has, with an answer of known length; then followed, with an
 * answer that lasts until the attempt ends and contains an empty line now and then; then loaded
 * again, to its end. Either answer may be interrupted, and is requested again from there. Files and
 * runs that lines name are requested in between, and all runs wait for them.
 */
#include "fetched.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/patience.h"
#include "ingest/blobs.h"
#include "io/file.h"
#include "json/scan.h"
#include "say.h"
#include "storage/run_lock.h"
#include "transcript/blob.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

#define TRIES_MOST 5 /* of a run that is not followed */
#define NEVER INT64_C(60000) /* ms until the next check */

static int
fetched_append_bytes(void *context, const char *bytes, size_t len)
{
	struct fetched *run = context;

	buffer_append(&run->incoming, bytes, len);
	return 0;
}

/* ---- runs ---- */

enum answered
fetch_ask(struct fetch *f, const char *name, char run_id[ID_SIZE], bool *alive, int64_t *seq,
    struct error *err)
{
	struct buffer text = BUFFER_INIT;
	enum answered answered = server_ask_text(&f->server, memory_format("/api/runs/%s", name), &text,
	    err);
	struct span object;
	long long last;
	size_t bad;

	if (answered == ANSWERED) {
		object = span_of(buffer_string(&text), text.len);
		if (scan_within(object.at, object.len, SCAN_LINE_DEPTH, &bad) != NULL ||
		    !event_copy_id(span_member(object, KEY_RUN_ID), run_id)) {
			error_set(err, ERROR_SYSTEM, f->server.base, "does not answer as awf-serve does");
			answered = ANSWERED_NEVER;
		} else {
			*alive = span_true(span_member(object, "alive"));
			if (seq != NULL && span_integer(span_member(object, KEY_SEQ), &last))
				*seq = last;
		}
	}
	buffer_free(&text);
	return answered;
}

struct fetched *
fetch_find(const struct fetch *f, const char *run_id)
{
	for (size_t i = 0; i < f->count; i++)
		if (strcmp(f->runs[i]->run_id, run_id) == 0)
			return f->runs[i];
	return NULL;
}

/* The server has the run: creates its file. */
static int
begin_run(struct fetched *run, bool alive, struct error *err)
{
	char *directory = memory_format("%s/runs/%s", run->fetch->directory, run->run_id);
	char *path = memory_format("%s/transcripts/%s.jsonl", run->fetch->directory, run->run_id);
	int failed = 0;

	run->alive = alive;
	run->phase = FETCH_LOADING;
	run->again_at = clock_monotonic();
	/* Take the lock first: a process that sees the file must not take the run for dead before
	 * it is complete. */
	run->lock = run_lock_take_over(directory, err);
	if (run->lock == -1 || (run->copy.path == NULL && copy_open(&run->copy, path, err) != 0))
		failed = -1;
	else if (run->parent == NULL && run->fetch->after > 0)
		copy_skip(&run->copy, run->fetch->after);
	free(path);
	free(directory);
	return failed;
}

static struct fetched *
new_run(struct fetch *f, const char run_id[ID_SIZE], const struct fetched *parent)
{
	struct fetched *run = memory_zero(1, sizeof *run);

	run->fetch = f;
	memcpy(run->run_id, run_id, ID_SIZE);
	run->parent = parent;
	run->delay_ms = SERVER_RETRY_MS;
	run->lock = run->copy.fd = run->copy.old = -1;
	run->get.request.take = fetched_append_bytes;
	run->get.request.context = run;
	f->runs = memory_array(f->runs, f->count + 1, sizeof *f->runs);
	return f->runs[f->count++] = run;
}

struct fetched *
fetch_add(struct fetch *f, const char run_id[ID_SIZE], bool alive, const struct fetched *parent,
    struct error *err)
{
	struct fetched *run = new_run(f, run_id, parent);

	return begin_run(run, alive, err) == 0 ? run : NULL;
}

int
fetch_again(struct fetched *run, struct error *err)
{
	return run->phase == FETCH_OVER ? begin_run(run, true, err) : 0;
}

/* Nothing more will come of this run. */
static void
fetched_end_run(struct fetched *run)
{
	struct fetch *f = run->fetch;

	run->phase = FETCH_OVER;
	run->loaded = true;
	run->again_at = 0;
	file_close(&run->lock);
	/* Child runs that it named but that never began will not begin any more. */
	for (size_t i = 0; i < f->count; i++)
		if (f->runs[i]->parent == run && f->runs[i]->phase == FETCH_MISSING)
			fetched_end_run(f->runs[i]);
}

/* ---- files and runs that lines name ---- */

static enum answered
ask_child(struct fetched *child, struct error *err)
{
	char run_id[ID_SIZE];
	bool alive;
	enum answered answered = fetch_ask(child->fetch, child->run_id, run_id, &alive, NULL, err);

	if (answered == ANSWERED && begin_run(child, alive, err) != 0)
		answered = ANSWERED_NEVER;
	else if (answered == ANSWERED_NONE)
		child->again_at = clock_monotonic() + CHILD_LOOK_MS;
	return answered;
}

/* Adds a run that a line of another one names. may_come: if the server does not have it yet,
 * wait for it. */
static enum answered
name_run(struct fetched *by, struct span id, bool may_come, struct error *err)
{
	struct fetch *f = by->fetch;
	char run_id[ID_SIZE];
	struct fetched *run;
	enum answered answered;

	if (!event_copy_id(id, run_id) || fetch_find(f, run_id) != NULL)
		return ANSWERED;
	run = new_run(f, run_id, by);
	answered = ask_child(run, err);
	if (answered == ANSWERED_NONE && !may_come) {
		fetched_end_run(run);
	} else if (answered == ANSWERED_LATER) {
		f->count--;
		free(run);
	}
	return answered == ANSWERED_NONE ? ANSWERED : answered;
}

/* Called before a line is added to a run: asks again for its children that were missing. */
static enum answered
ask_missing(struct fetched *run, struct error *err)
{
	enum answered answered = ANSWERED;

	for (size_t i = 0; i < run->fetch->count && answered == ANSWERED; i++) {
		struct fetched *child = run->fetch->runs[i];

		if (child->parent == run && child->phase == FETCH_MISSING)
			answered = ask_child(child, err);
		if (answered == ANSWERED_NONE)
			answered = ANSWERED;
	}
	return answered;
}

/* A file that is being received. */
struct arriving {
	struct digest digest;
	int fd, failed; /* errno */
};

static int
fetched_write_file_bytes(void *context, const char *bytes, size_t len)
{
	struct arriving *a = context;

	digest_add(&a->digest, bytes, len);
	if (file_write(a->fd, bytes, len) == 0)
		return 0;
	a->failed = errno;
	return -1;
}

/* Gets a file of the run into a directory of the copy, if the server has it. sha256: the digest
 * that it must have, otherwise it is dropped; NULL: any. from is freed. */
static enum answered
get_file(const struct fetched *run, char *from, const char *directory, const char *name,
    const char *sha256, struct error *err)
{
	char *part = memory_format("%s/arriving", run->fetch->directory);
	char *path = memory_format("%s/%s", directory, name), digest[DIGEST_SIZE];
	struct arriving a = { .fd = -1 };
	enum answered answered = ANSWERED_NEVER;
	struct error warning;

	digest_begin(&a.digest);
	if (directory_make(directory, 0700, err) == 0 &&
	    (a.fd = file_open_plain(part, O_WRONLY | O_CREAT | O_TRUNC, 0600)) == -1)
		error_errno(err, ERROR_SYSTEM, part, "unable to make the copy");
	if (a.fd != -1)
		answered = server_ask(&run->fetch->server, from, fetched_write_file_bytes, &a, err);
	else
		free(from);
	digest_end(&a.digest, digest);
	errno = a.failed;
	if (a.failed != 0) {
		error_errno(err, ERROR_SYSTEM, path, "unable to write the copy (TMPDIR says where it lies)");
	} else if (answered == ANSWERED && sha256 != NULL && strcmp(digest, sha256) != 0) {
		error_set(&warning, ERROR_SYSTEM, path, "the server has different bytes under "
		    "this name");
		fetch_report_warning(&warning);
	} else if (answered == ANSWERED && rename(part, path) != 0) {
		error_errno(err, ERROR_SYSTEM, path, "unable to name the copy");
		answered = ANSWERED_NEVER;
	}
	file_close(&a.fd);
	free(path);
	free(part);
	return answered == ANSWERED_NONE ? ANSWERED : answered;
}

static enum answered
get_blobs(const struct fetched *run, const char *line, size_t len, struct error *err)
{
	char **names = blobs_named(line, len);
	char *directory = memory_format("%s/blobs/%s", run->fetch->directory, run->run_id);
	enum answered answered = ANSWERED;

	for (char **name = names; name != NULL && *name != NULL && answered == ANSWERED; name++) {
		char *path = path_join(directory, *name);

		if (access(path, F_OK) != 0)
			answered = get_file(run, memory_format("/api/runs/%s/blobs/%s", run->run_id, *name),
			    directory, *name, *name, err);
		free(path);
	}
	free(directory);
	list_free(names);
	return answered;
}

/* Gets the run's stdin, whose file is stored beside the transcript. */
static enum answered
get_input(const struct fetched *run, struct error *err)
{
	char *directory = path_join(run->fetch->directory, "inputs");
	enum answered answered = get_file(run, memory_format("/api/runs/%s/input", run->run_id), directory,
	    run->run_id, NULL, err);

	free(directory);
	return answered;
}

/* Gets everything that a line names. */
static enum answered
get_named(struct fetched *run, const char *line, size_t len, struct error *err)
{
	const struct fetch *f = run->fetch;
	enum answered answered = ANSWERED;
	struct event_view event;
	struct event_head head;

	if (f->blobs)
		answered = get_blobs(run, line, len, err);
	if (answered == ANSWERED && f->input && run->copy.end == 0)
		answered = get_input(run, err);
	if (answered != ANSWERED || !f->children || event_peek(line, len, &head) != 0 ||
	    (head.type != EVENT_CALL_WORKFLOW_STARTED && head.type != EVENT_RUN_STARTED) ||
	    event_view(line, len, &event) != 0)
		return answered;
	if (event.type == EVENT_CALL_WORKFLOW_STARTED)
		return name_run(run, event.child_run_id, f->follow, err);
	return f->origins && event.type == EVENT_RUN_STARTED ?
	    name_run(run, span_member(event.payload, KEY_FORKED_FROM), false, err) : ANSWERED;
}

/* ---- answers ---- */

/* Requests the lines after those that are here. */
static int
begin_answer(struct fetched *run, struct error *err)
{
	struct fetch *f = run->fetch;
	int64_t after = copy_begin(&run->copy);

	run->again_at = 0;
	buffer_clear(&run->incoming);
	run->get.request.idle_timeout_ms = run->phase == FETCH_FOLLOWING ? STREAM_SILENT_MS : 0;
	return server_get(&f->server, f->http, &run->get, memory_format("/api/runs/%s/events?after=%"
	    PRId64 "%s", run->run_id, after, run->phase == FETCH_FOLLOWING ? "&follow=1" : ""), err);
}

/* The record has other lines than the copy: copies everything again. */
static int
fetched_restart_copy(struct fetched *run, struct error *err)
{
	http_stop(run->fetch->http, &run->get);
	run->get.ended = false;
	run->phase = FETCH_LOADING;
	run->again_at = clock_monotonic();
	buffer_clear(&run->incoming);
	if (run->parent == NULL)
		run->fetch->after = 0;
	return copy_renew(&run->copy, err);
}

/* The request failed for now: tries it again later. */
static int
put_off(struct fetched *run, const struct error *why, struct error *err)
{
	struct fetch *f = run->fetch;
	int64_t delay = run->delay_ms;

	http_stop(f->http, &run->get);
	run->get.ended = false;
	if (!f->follow && ++run->tries == TRIES_MOST) {
		*err = *why;
		return -1;
	}
	fetch_tell_lost(f, why);
	if (run->get.answer.retry_after_ms > delay)
		delay = run->get.answer.retry_after_ms;
	if (delay > SERVER_RETRY_MOST_MS)
		delay = SERVER_RETRY_MOST_MS;
	run->again_at = clock_monotonic() + delay;
	run->delay_ms = 2 * delay;
	return 0;
}

/* Handles a failed request: 0, it is tried again later; -1. */
static int
stopped_by(struct fetched *run, enum answered answered, const struct error *why, struct error *err)
{
	if (answered == ANSWERED_LATER)
		return put_off(run, why, err);
	*err = *why;
	return -1;
}

/* Handles the lines that have arrived. */
static int
fetched_copy_lines(struct fetched *run, struct error *err)
{
	const char *at = run->incoming.data, *end = at + run->incoming.len, *lf;
	bool asked = false;

	while (at < end && (lf = memchr(at, '\n', (size_t)(end - at))) != NULL) {
		const size_t len = (size_t)(lf - at);
		enum answered answered = ANSWERED;
		struct error why = ERROR_INIT;
		enum copied copied;

		/* An empty line means that there is no more for now. */
		copied = len > 0 ? copy_compare(&run->copy, at, len, err) :
		    copy_is_ahead(&run->copy) ? COPY_OTHER : COPY_KNOWN;
		if (copied == COPY_FAILED)
			return -1;
		if (copied == COPY_OTHER)
			return fetched_restart_copy(run, err);
		run->fetch->lost = false;
		run->delay_ms = SERVER_RETRY_MS;
		run->tries = 0;
		if (copied == COPY_NEW && !asked)
			answered = ask_missing(run, &why);
		asked |= copied == COPY_NEW;
		if (answered == ANSWERED && copied == COPY_NEW)
			answered = get_named(run, at, len, &why);
		if (answered != ANSWERED) {
			if (copy_write(&run->copy, err) != 0)
				return -1;
			return stopped_by(run, answered, &why, err);
		}
		if (len > 0)
			copy_take(&run->copy, copied, at, len);
		at = lf + 1;
	}
	buffer_drop(&run->incoming, run->incoming.len - (size_t)(end - at));
	if (run->incoming.len > SCAN_LINE_LIMIT)
		return error_set(err, ERROR_SYSTEM, run->fetch->server.base, "sends a line above the limit of "
		    "%zu bytes", SCAN_LINE_LIMIT);
	return copy_write(&run->copy, err);
}

/* Everything that existed at the time of the request is here. */
static int
end_load(struct fetched *run, struct error *err)
{
	int64_t same, seq;
	int replaced = run->copy.old == -1 ? 0 : copy_replace(&run->copy, &same, &seq, err);

	if (replaced == -1)
		return -1;
	if (replaced == 1)
		fetch_report_replaced(run->run_id, same, seq);
	run->loaded = true;
	if (run->fetch->follow && run->alive) {
		run->phase = FETCH_FOLLOWING;
		run->again_at = clock_monotonic();
	} else if (run->alive) {
		run->phase = FETCH_OVER; /* the lock is kept, as the run lives */
	} else {
		fetched_end_run(run);
	}
	return 0;
}

/* The attempt that was followed seems to have ended; but a proxy that has lost the server may look
 * the same. So asks for the run, and loads it again. */
static int
end_following(struct fetched *run, struct error *err)
{
	struct error why = ERROR_INIT;
	char run_id[ID_SIZE];
	enum answered answered = fetch_ask(run->fetch, run->run_id, run_id, &run->alive, NULL,
	    &why);

	if (answered != ANSWERED)
		return stopped_by(run, answered, &why, err);
	run->phase = FETCH_LOADING;
	run->again_at = clock_monotonic() + (run->alive ? SERVER_RETRY_MS : 0);
	return 0;
}

static int
end_answer(struct fetched *run, struct error *err)
{
	struct fetch *f = run->fetch;
	struct error why = ERROR_INIT;
	enum answered answered = server_judge(&f->server, &run->get, &why);

	run->get.ended = false;
	if (answered == ANSWERED_NONE && (run->parent != NULL || f->forever)) {
		fetch_report_warning(&why);
		fetched_end_run(run);
		return 0;
	}
	if (answered != ANSWERED)
		return stopped_by(run, answered, &why, err);
	if (copy_is_ahead(&run->copy))
		return fetched_restart_copy(run, err);
	return run->phase == FETCH_LOADING ? end_load(run, err) : end_following(run, err);
}

void
fetch_tell_lost(struct fetch *f, const struct error *why)
{
	struct error told;

	if (f->lost)
		return;
	f->lost = true;
	error_set(&told, ERROR_NETWORK, why->place, "%s (waiting for it)", why->message);
	fetch_report_warning(&told);
}

/* ---- all of them ---- */

static int
go_on(struct fetched *run, struct error *err)
{
	struct error why = ERROR_INIT;
	enum answered answered;

	if (run->get.transfer == NULL && !run->get.ended) {
		if (run->again_at == 0 || clock_monotonic() < run->again_at)
			return 0;
		if (run->phase != FETCH_MISSING)
			return begin_answer(run, err);
		answered = ask_child(run, &why);
		if (answered == ANSWERED_LATER)
			run->again_at = clock_monotonic() + SERVER_RETRY_MS;
		return answered == ANSWERED_NEVER || answered == ANSWERED_NOBODY ?
		    stopped_by(run, answered, &why, err) : 0;
	}
	if (run->incoming.len > 0 && fetched_copy_lines(run, err) != 0)
		return -1;
	/* The lines may have ended it. */
	return run->get.ended ? end_answer(run, err) : 0;
}

int
fetch_round(struct fetch *f, struct error *err)
{
	/* The loop may add runs. */
	for (size_t i = 0; i < f->count; i++)
		if (go_on(f->runs[i], err) != 0)
			return -1;
	return 0;
}

int64_t
fetch_patience(const struct fetch *f)
{
	int64_t now = clock_monotonic(), least = NEVER;

	for (size_t i = 0; i < f->count; i++) {
		int64_t left = f->runs[i]->again_at - now;

		if (f->runs[i]->again_at != 0 && left < least)
			least = left > 0 ? left : 0;
	}
	return least;
}

bool
fetch_loaded(const struct fetch *f)
{
	for (size_t i = 0; i < f->count; i++)
		if (!f->runs[i]->loaded && f->runs[i]->phase != FETCH_MISSING)
			return false;
	return true;
}

void
fetch_end(struct fetch *f)
{
	for (size_t i = 0; i < f->count; i++) {
		struct fetched *run = f->runs[i];

		http_stop(f->http, &run->get);
		http_answer_free(&run->get.answer);
		buffer_free(&run->incoming);
		file_close(&run->lock);
		copy_close(&run->copy);
		free(run);
	}
	free(f->runs);
	http_close(f->http);
	server_close(&f->server);
}
