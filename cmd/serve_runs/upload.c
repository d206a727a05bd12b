/*
 * A thread handles everything that is pending in one round: it feeds each upload the bytes that
 * have arrived, and only then ends the uploads that are complete, the first of which waits for the
 * disk.
 */
#include "serve_runs/upload.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "io/file.h"
#include "serve_runs/log.h"
#include "storage/origin.h"
#include "transcript/blob.h"

#define UPLOADS_MOST 1024               /* open at the same time */
#define LINE_LIMIT ((size_t)32 << 20)   /* bytes of a line, or of a document */
#define HELD_FREE ((size_t)64 << 10)    /* bytes of an incomplete line that each upload may always
                                           keep */
#define HELD_MOST ((size_t)256 << 20)   /* bytes of incomplete lines of all uploads together; beyond
                                           it, none may keep more */
#define HELD_WAIT_MS 1000
#define SETTLE_TRIES 20                 /* times that lines are processed again because another
                                           server was first */
#define QUOTA_WAIT_MS 60000

/* ---- the owner ---- */

char *
upload_sender(const struct token *token)
{
	char *name;

	while (token->parent != NULL)
		token = token->parent;
	if (token->expires != 0 || token->digest[0] == '\0')
		return memory_text("local");
	name = memory_format("%s (%.16s)", token->label, token->digest);
	if (token->label[0] != '\0' && origin_name_valid(name))
		return name;
	free(name);
	return memory_format("token %.16s", token->digest);
}

/* ---- in the thread for transcripts ---- */

static bool
is_named(void *context, struct span name)
{
	const struct upload *u = context;
	char *text = span_text(name);
	bool named = token_names(u->token, text != NULL ? text : "");

	free(text);
	return named;
}

/* Checks the allowances of the run and of the client's address. */
static bool
keep_pace(void *context, const char *run_id, int64_t taken)
{
	struct upload *u = context;
	struct upload_result *result = &u->result;
	struct pace *pace = &u->all->pace;
	int64_t now = clock_monotonic(), run, address;
	size_t known = 0;

	if (taken > 0) {
		pace_spend(pace, run_id, taken, now);
		pace_spend(pace, u->address, taken, now);
	}
	while (known < result->run_count && strcmp(result->runs[known], run_id) != 0)
		known++;
	if (taken >= 0 && known == result->run_count && known < UPLOAD_RUNS)
		memcpy(result->runs[result->run_count++], run_id, ID_SIZE);
	run = pace_wait(pace, run_id, now);
	address = pace_wait(pace, u->address, now);
	result->wait_ms = run > address ? run : address;
	return result->wait_ms == 0;
}

static void
upload_set_refusal(struct upload *u, enum ingest_fault fault, const struct error *err)
{
	u->result.refusal = (struct ingest_refusal){ .fault = fault, .error = *err };
	u->work.refused = true;
}

static bool
for_database(const struct uploads *all)
{
	return all->outbox.url != NULL;
}

static int
upload_prepare_run(void *context, const char *run_id, struct error *err)
{
	struct upload *u = context;

	return outbox_prepare(&u->all->outbox, run_id, err);
}

static void
upload_note_run(struct upload *u, const char *run_id)
{
	for (size_t i = 0; i < u->work.touched_count; i++)
		if (strcmp(u->work.touched[i], run_id) == 0)
			return;
	u->work.touched = memory_array(u->work.touched, u->work.touched_count + 1, sizeof *u->work.touched);
	memcpy(u->work.touched[u->work.touched_count++], run_id, ID_SIZE);
}

static void
note_taken(void *context, const struct ingest_taken *taken)
{
	upload_note_run(context, taken->run_id);
}

static void
feed_lines(struct upload *u, const char *bytes, size_t len)
{
	const bool out = for_database(u->all);
	const struct ingest_spec spec = { .sender = u->sender, .document = u->kind == UPLOAD_DOCUMENT,
		.named = is_named, .pace = keep_pace, .prepare = out ? upload_prepare_run : NULL,
		.taken = out ? note_taken : NULL, .context = u };
	struct uploads *all = u->all;
	struct error err;
	size_t held;

	if (!u->work.begun)
		ingest_input_begin(&u->work.input, &all->ingest, &spec);
	u->work.begun = true;
	u->work.refused = ingest_feed(&u->work.input, bytes, len) != 0;
	held = ingest_held(&u->work.input);
	all->held += held - u->work.held;
	u->work.held = held;
	if (held > HELD_FREE && all->held > HELD_MOST) {
		error_set(&err, ERROR_BLOCKED, NULL, "too many long lines come at a time");
		upload_set_refusal(u, INGEST_TOO_FAST, &err);
		u->result.wait_ms = HELD_WAIT_MS;
	}
}

/* Stores the rest of what has arrived, and fills in the result. */
static void
end_lines(struct upload *u, bool whole)
{
	struct upload_result *result = &u->result;

	/* If the upload broke off, its last line is incomplete and is not processed. */
	if (!u->work.ended && whole && !u->work.refused) {
		ingest_input_end(&u->work.input);
	} else if (!u->work.ended) {
		if (!for_database(u->all))
			ingest_settle(&u->work.input, INT64_MAX);
		ingest_flush(&u->work.input);
	}
	result->accepted = u->work.input.accepted;
	result->duplicates = u->work.input.duplicates;
	result->missing_blobs = u->work.input.missing_blobs;
	if (u->work.input.refusal.fault != INGEST_NONE)
		result->refusal = u->work.input.refusal;
	u->all->held -= u->work.held;
	ingest_input_free(&u->work.input);
}

static void
upload_end_run(struct upload *u)
{
	struct error err;
	enum ingest_fault fault = ingest_finish(&u->all->ingest, u->sender, u->run_id, u->status, &err);

	if (fault != INGEST_NONE)
		upload_set_refusal(u, fault, &err);
}

/* ---- with a database ---- */

static bool
has_lines(const struct upload *u)
{
	return u->kind == UPLOAD_LINES || u->kind == UPLOAD_DOCUMENT;
}

/* Stores the lines that have arrived, in such a way that they can be processed again. */
static void
upload_ingest_received(struct upload *u)
{
	struct error err;

	u->work.touched_count = 0;
	if (u->work.refused)
		return;
	if (has_lines(u)) {
		if (u->work.piece.len > 0 || !u->work.begun)
			feed_lines(u, buffer_string(&u->work.piece), u->work.piece.len);
		u->work.ended = u->work.last && !u->work.refused;
		/* Lines before a refusal are kept. */
		if (u->work.refused)
			ingest_settle(&u->work.input, INT64_MAX);
		if (u->work.ended)
			u->work.refused = ingest_input_end(&u->work.input) != 0;
		else
			ingest_flush(&u->work.input);
	} else if (u->kind == UPLOAD_END && u->work.last) {
		if (outbox_prepare(&u->all->outbox, u->run_id, &err) != 0) {
			upload_set_refusal(u, err.code == ERROR_BLOCKED ? INGEST_CONFLICT :
			    INGEST_FAILED, &err);
			return;
		}
		upload_end_run(u);
		if (!u->work.refused)
			upload_note_run(u, u->run_id);
	}
}

/* Processes the lines again, as if the other server's lines had been there before. */
static void
upload_ingest_again(struct upload *u)
{
	u->work.refused = u->work.ended = false;
	u->result.refusal = (struct ingest_refusal){ .fault = INGEST_NONE };
	if (has_lines(u))
		ingest_rewind(&u->work.input, &u->work.mark);
	upload_ingest_received(u);
}

/* The run for which lines were refused here, if the database may have other lines of it; NULL if
 * not. */
static const char *
upload_doubted_run(const struct upload *u)
{
	const struct ingest_refusal *refusal = has_lines(u) ? &u->work.input.refusal : &u->result.refusal;
	const char *run_id = has_lines(u) ? refusal->run_id : u->run_id;

	return *run_id != '\0' && (refusal->fault == INGEST_GAP || refusal->fault == INGEST_CONFLICT ||
	    refusal->fault == INGEST_FORBIDDEN) ? run_id : NULL;
}

/* Whether the lines of an upload must be processed again, because the database has other lines
 * of a run. */
static bool
is_other(const struct upload *u, struct error *err)
{
	const struct outbox *o = &u->all->outbox;
	const char *run_id = upload_doubted_run(u);

	for (size_t i = 0; i < u->work.touched_count; i++)
		if (outbox_result(o, u->work.touched[i]) == OUTBOX_OTHER)
			return true;
	return run_id != NULL && (outbox_result(o, run_id) == OUTBOX_OTHER ||
	    outbox_behind(&u->all->outbox, run_id, err) == 1);
}

/* Processes uploads again for whose runs the database has other lines. Several uploads may have
 * lines of one run, so all are checked before any is processed again. */
static bool
upload_ingest_changed_runs(struct upload *list, struct error *err)
{
	struct outbox *o = &list->all->outbox;
	bool again = false;

	for (struct upload *u = list; u != NULL; u = u->next) {
		u->work.again = is_other(u, err);
		again |= u->work.again;
	}
	if (err->code != ERROR_NONE)
		return false;
	for (struct upload *u = list; u != NULL; u = u->next) {
		if (!u->work.again)
			continue;
		for (size_t i = 0; i < u->work.touched_count; i++)
			if (outbox_result(o, u->work.touched[i]) == OUTBOX_OTHER)
				outbox_drop(o, u->work.touched[i]);
		if (upload_doubted_run(u) != NULL)
			outbox_drop(o, upload_doubted_run(u));
	}
	for (struct upload *u = list; u != NULL; u = u->next)
		if (u->work.again)
			upload_ingest_again(u);
	return again;
}

/* Sending has failed, and it is not known what the database has stored: every upload of the list
 * fails, and the local copies of its runs are dropped. */
static void
fail_all(struct upload *list, const struct error *err)
{
	for (struct upload *u = list; u != NULL; u = u->next) {
		for (size_t i = 0; i < u->work.touched_count; i++)
			outbox_drop(&u->all->outbox, u->work.touched[i]);
		if (u->work.touched_count == 0 && upload_doubted_run(u) == NULL)
			continue;
		upload_set_refusal(u, INGEST_FAILED, err);
		if (has_lines(u)) {
			u->work.input.refusal = u->result.refusal;
			u->work.input.accepted = u->work.input.duplicates = 0;
		}
	}
}

/* Removes the local copies of runs that have ended. */
static void
uploads_drop_ended_runs(struct upload *list)
{
	for (struct upload *u = list; u != NULL; u = u->next)
		for (size_t i = 0; i < u->work.touched_count; i++)
			if (!storage_run_alive(u->all->storage, u->work.touched[i]))
				outbox_drop(&u->all->outbox, u->work.touched[i]);
}

/* Refuses the uploads with lines that the database cannot store. Uploads of other clients are not
 * affected. */
static void
fail_refused(struct upload *list)
{
	struct error err;

	for (struct upload *u = list; u != NULL; u = u->next)
		for (size_t i = 0; i < u->work.touched_count; i++) {
			if (outbox_result(&u->all->outbox, u->work.touched[i]) != OUTBOX_REFUSED)
				continue;
			outbox_refusal(&u->all->outbox, u->work.touched[i], &err);
			upload_set_refusal(u, INGEST_INVALID, &err);
			memcpy(u->result.refusal.run_id, u->work.touched[i], sizeof u->result.refusal.run_id);
			if (has_lines(u)) {
				u->work.input.refusal = u->result.refusal;
				u->work.input.accepted = u->work.input.duplicates = 0;
			}
		}
	/* Two uploads may have sent lines of one run: drop it only after both were refused. */
	for (struct upload *u = list; u != NULL; u = u->next)
		for (size_t i = 0; i < u->work.touched_count; i++)
			if (outbox_result(&u->all->outbox, u->work.touched[i]) == OUTBOX_REFUSED)
				outbox_drop(&u->all->outbox, u->work.touched[i]);
}

/* Processes a list of uploads, and sends them to the database. */
static void
uploads_ingest_and_send(struct upload *list)
{
	struct outbox *o = list != NULL ? &list->all->outbox : NULL;
	struct error err = ERROR_INIT;
	int tries = 0;
	bool again;

	if (list == NULL)
		return;
	outbox_begin_round(o);
	for (struct upload *u = list; u != NULL; u = u->next) {
		u->work.mark = (struct ingest_mark){ .line = 0 };
		/* Leave a line or an upload that is not complete for later. */
		if (has_lines(u) && u->work.begun &&
		    (u->work.last || (u->kind == UPLOAD_LINES && u->work.piece.len > 0 &&
		    memchr(u->work.piece.data, '\n', u->work.piece.len) != NULL)))
			ingest_mark(&u->work.input, &u->work.mark);
		upload_ingest_received(u);
	}
	do {
		again = false;
		for (struct upload *u = list; u != NULL; u = u->next)
			for (size_t i = 0; i < u->work.touched_count; i++)
				outbox_add(o, u->work.touched[i], u->sender);
		if (outbox_send(o, &err) != 0)
			break;
		again = upload_ingest_changed_runs(list, &err);
	} while (again && err.code == ERROR_NONE && ++tries < SETTLE_TRIES);
	if (again && err.code == ERROR_NONE)
		error_set(&err, ERROR_SYSTEM, NULL, "other servers send of the same runs all the time");
	if (err.code != ERROR_NONE) {
		fail_all(list, &err);
	} else {
		fail_refused(list);
		uploads_drop_ended_runs(list);
	}
	for (struct upload *u = list; u != NULL; u = u->next) {
		ingest_mark_free(&u->work.mark);
		u->work.touched_count = 0;
	}
	outbox_end_round(o);
}

/* Logs that a damaged transcript was repaired, for the owner of the storage. */
static void
upload_log_repair(const char *text)
{
	struct error told;

	error_set(&told, ERROR_NONE, NULL, "%s", text);
	log_warn(&told);
}

/* ---- in the thread for blobs ---- */

static void
feed_blob(struct upload *u, const char *bytes, size_t len)
{
	const struct blob_upload_spec spec = { .storage = u->all->storage, .sender = u->sender,
		.run_id = u->run_id, .sha256 = u->sha256, .size = u->size,
		.limit = for_database(u->all) ? UPLOAD_BLOB_DATABASE : UPLOAD_BLOB_MOST,
		.quota = u->all->blob_quota };
	struct error err;

	/* With a database, another client may own the run even if it is not here. */
	char *whose = !u->work.begun && for_database(u->all) ?
	    origin_name(u->all->outbox.record, u->run_id) : NULL;

	if (whose != NULL && strcmp(whose, u->sender) != 0) {
		error_set(&err, ERROR_BLOCKED, u->run_id, "belongs to '%s', who sent its first line", whose);
		upload_set_refusal(u, INGEST_FORBIDDEN, &err);
	} else if (!u->work.begun && blob_upload_begin(&u->work.blob, &spec, &err) != 0) {
		upload_set_refusal(u, err.code == ERROR_BLOCKED ? INGEST_FORBIDDEN :
		    err.code == ERROR_SYSTEM ? INGEST_FAILED : INGEST_TOO_FAST, &err);
		u->result.wait_ms = QUOTA_WAIT_MS;
	}
	free(whose);
	u->work.begun = true;
	if (!u->work.refused && len > 0 && blob_upload_feed(&u->work.blob, bytes, len, &err) != 0)
		upload_set_refusal(u, err.code == ERROR_SYSTEM ? INGEST_FAILED : INGEST_TOO_LARGE,
		    &err);
}

/* Replaces a blob that the database now has by an empty file, so that it counts neither as missing
 * nor as pending. The old file may be a hard link to one that is served, so it is not truncated. */
static void
let_go_of_blob(const char *waits, const char *waits_in, const char *path, const char *directory)
{
	int fd = -1;

	unlink(waits);
	rmdir(waits_in);
	unlink(path);
	if (storage_make_directory(directory, false, NULL) == 0)
		fd = file_open_plain(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	file_close(&fd);
}

/* Stores a blob: until its run comes, or in the run's directory. */
static void
send_blob(struct upload *u)
{
	struct outbox *o = &u->all->blob_outbox;
	char *directory = storage_blobs(o->storage, u->run_id), *path = path_join(directory, u->sha256);
	char *waits_in = memory_format("%s/incoming/%s", o->storage->root, u->run_id);
	char *waits = path_join(waits_in, u->sha256);
	struct error err = ERROR_INIT;

	if (outbox_put_blob(o, u->run_id, u->sha256, access(waits, F_OK) == 0 ? waits : path, &err) != 0)
		upload_set_refusal(u, INGEST_FAILED, &err);
	else
		let_go_of_blob(waits, waits_in, path, directory);
	outbox_end_round(o);
	free(waits);
	free(waits_in);
	free(path);
	free(directory);
}

/* Fetches a blob from the database that arrived there after its line, so that awf-mirror did not
 * copy it. If the database does not have it, nothing changes. */
static void
fetch_blob(struct upload *u)
{
	struct outbox *o = &u->all->blob_outbox;
	char *directory = path_join(o->storage->root, "fetched"), *path = path_join(directory, u->sha256);
	char *blobs = storage_blobs(o->record, u->run_id);
	struct buffer bytes = BUFFER_INIT;
	struct error err = ERROR_INIT;
	int got = storage_make_directory(directory, false, &err), fd = -1;

	if (got == 0)
		got = outbox_get_blob(o, u->run_id, u->sha256, path, &err);
	if (got == 1 && blob_read(directory, u->sha256, &bytes, NULL) == 0) {
		fd = file_open_plain(path, O_RDONLY, 0);
		got = blob_take(blobs, path, fd, false, u->sha256, &err);
	}
	if (got == -1)
		upload_set_refusal(u, INGEST_FAILED, &err);
	unlink(path);
	file_close(&fd);
	buffer_free(&bytes);
	outbox_end_round(o);
	free(blobs);
	free(path);
	free(directory);
}

static void
end_blob(struct upload *u, bool whole)
{
	struct error err;

	if (!whole || u->work.refused)
		blob_upload_abandon(&u->work.blob);
	else if (blob_upload_end(&u->work.blob, &err) != 0)
		upload_set_refusal(u, err.code == ERROR_BLOCKED ? INGEST_FORBIDDEN :
		    err.code == ERROR_SYSTEM ? INGEST_FAILED : INGEST_INVALID, &err);
	else if (for_database(u->all))
		send_blob(u);
}

/* ---- the threads ---- */

static void
upload_feed_bytes(struct upload *u, const struct buffer *bytes)
{
	if (u->kind == UPLOAD_BLOB)
		feed_blob(u, buffer_string(bytes), bytes->len);
	else if (has_lines(u))
		feed_lines(u, buffer_string(bytes), bytes->len);
}

static void
upload_end_kind(struct upload *u, bool whole)
{
	if (u->kind == UPLOAD_BLOB)
		end_blob(u, whole);
	else if (u->kind == UPLOAD_FETCH && whole)
		fetch_blob(u);
	else if (has_lines(u))
		end_lines(u, whole);
	else if (u->kind == UPLOAD_END && whole && !for_database(u->all))
		upload_end_run(u);
}

/* Adds an upload to its thread's queue, with the lock held. If the thread is working on the upload
 * just now, it checks for more work itself when it is done. */
static void
upload_enqueue(struct upload *u)
{
	struct upload_thread *t = u->thread;

	if (u->shared.queued || u->shared.at_work || u->shared.over)
		return;
	u->shared.queued = true;
	u->next = NULL;
	*(t->last != NULL ? &t->last->next : &t->first) = u;
	t->last = u;
	pthread_cond_signal(&t->more);
}

/* Tells the loop that a thread has done something for the upload. Called with the lock held. */
static void
upload_notify_loop(struct upload *u)
{
	const uint64_t one = 1;

	if (u->shared.is_told)
		return;
	u->shared.is_told = true;
	u->next_told = u->all->first_told;
	u->all->first_told = u;
	while (write(u->all->told.fd, &one, sizeof one) == -1 && errno == EINTR)
		continue;
}

/* Processes the uploads in the queue. Called with the lock held; releases it while working. */
static void
upload_thread_do_work(struct upload_thread *t)
{
	const bool settles = for_database(t->all) && t == &t->all->transcripts;
	struct upload *list = t->first, *u;
	pthread_mutex_t *lock = &t->all->lock;

	t->first = t->last = NULL;
	for (u = list; u != NULL; u = u->next) {
		u->shared.queued = false;
		u->shared.at_work = true;
		u->work.piece = u->shared.come;
		u->shared.come = (struct buffer)BUFFER_INIT;
		u->work.last = u->shared.whole && !u->shared.gone;
	}
	pthread_mutex_unlock(lock);
	if (settles)
		uploads_ingest_and_send(list);
	else if (for_database(t->all))
		outbox_begin_round(&t->all->blob_outbox);
	for (u = list; u != NULL; u = u->next) {
		if (!settles && !u->work.refused)
			upload_feed_bytes(u, &u->work.piece);
		buffer_free(&u->work.piece);
	}
	pthread_mutex_lock(lock);
	while ((u = list) != NULL) {
		bool whole = u->shared.whole && u->shared.come.len == 0 && !u->shared.gone &&
		    (u->work.last || !settles);

		list = u->next;
		if (whole || u->shared.gone || u->work.refused) {
			pthread_mutex_unlock(lock);
			upload_end_kind(u, whole);
			pthread_mutex_lock(lock);
			u->shared.over = true;
		}
		u->shared.at_work = false;
		if (u->shared.come.len > 0 || u->shared.whole || u->shared.gone)
			upload_enqueue(u);
		upload_notify_loop(u);
	}
}

static void *
upload_thread_run(void *context)
{
	struct upload_thread *t = context;

	pthread_mutex_lock(&t->all->lock);
	while (t->first != NULL || !t->stop)
		if (t->first != NULL)
			upload_thread_do_work(t);
		else
			pthread_cond_wait(&t->more, &t->all->lock);
	pthread_mutex_unlock(&t->all->lock);
	return NULL;
}

/* Starts a thread with all signals blocked: the loop's thread handles them. */
static int
upload_thread_start(struct upload_thread *t, struct error *err)
{
	sigset_t signals, before;
	int wrong;

	sigfillset(&signals);
	pthread_sigmask(SIG_BLOCK, &signals, &before);
	wrong = pthread_create(&t->id, NULL, upload_thread_run, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (wrong != 0) {
		errno = wrong;
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to start a thread");
	}
	t->running = true;
	return 0;
}

static void
upload_thread_stop(struct upload_thread *t)
{
	pthread_mutex_lock(&t->all->lock);
	t->stop = true;
	pthread_cond_signal(&t->more);
	pthread_mutex_unlock(&t->all->lock);
	if (t->running)
		pthread_join(t->id, NULL);
	pthread_cond_destroy(&t->more);
}

/* ---- in the loop's thread ---- */

static void
upload_destroy(struct upload *u)
{
	u->all->count--;
	buffer_free(&u->shared.come);
	free(u->work.touched);
	token_release(u->token);
	free(u->sender);
	free(u);
}

/* The next upload that a thread has reported; NULL. */
static struct upload *
next_told(struct uploads *all, bool *over, bool *taken)
{
	struct upload *u;

	pthread_mutex_lock(&all->lock);
	u = all->first_told;
	if (u != NULL) {
		all->first_told = u->next_told;
		u->shared.is_told = false;
		*over = u->shared.over;
		*taken = u->shared.come.len == 0;
	}
	pthread_mutex_unlock(&all->lock);
	return u;
}

static void
uploads_dispatch_notified(struct uploads *all)
{
	struct upload *u;
	bool over, taken;

	while ((u = next_told(all, &over, &taken)) != NULL) {
		if (u->context == NULL) {
			if (over)
				upload_destroy(u);
		} else if (over) {
			u->is_done = true;
			u->done(u->context);
		} else if (taken && u->full) {
			u->full = false;
			u->taken(u->context);
		}
	}
}

static void
told_ready(struct loop_source *source, uint32_t events)
{
	struct uploads *all = (struct uploads *)(void *)((char *)source - offsetof(struct uploads, told));
	uint64_t count;

	(void)events;
	while (read(source->fd, &count, sizeof count) == -1 && errno == EINTR)
		continue;
	uploads_dispatch_notified(all);
}

void
uploads_open(struct uploads *all, struct loop *loop, const struct storage *storage, int64_t rate,
    int64_t quota)
{
	*all = (struct uploads){ .loop = loop, .storage = storage, .told = { -1, told_ready },
		.transcripts.all = all, .blobs.all = all, .rate = rate, .blob_quota = quota };
}

int
uploads_to_database(struct uploads *all, const struct database *d, const struct storage *served,
    struct error *err)
{
	struct outbox *const both[] = { &all->outbox, &all->blob_outbox };

	for (size_t i = 0; i < 2 && d->shipper != NULL; i++) {
		*both[i] = (struct outbox){ .url = d->url, .program = d->shipper, .sync = d->sync,
			.storage = all->storage, .record = served };
		if (outbox_open(both[i], err) != 0)
			return -1;
	}
	return 0;
}

/* Starts the threads; called for the first upload. */
static int
begin_all(struct uploads *all, struct error *err)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	all->told.fd = fd;
	if (fd == -1)
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to make an eventfd");
	if (loop_add(all->loop, &all->told, EPOLLIN, err) != 0) {
		file_close(&all->told.fd);
		return -1;
	}
	pthread_mutex_init(&all->lock, NULL);
	pthread_cond_init(&all->transcripts.more, NULL);
	pthread_cond_init(&all->blobs.more, NULL);
	pace_begin(&all->pace, all->rate);
	ingest_begin(&all->ingest, all->storage);
	all->ingest.line_limit = LINE_LIMIT;
	all->ingest.lock_ms = UPLOAD_LOCK_MS;
	all->ingest.repaired = upload_log_repair;
	all->outbox.ingest = &all->ingest;
	return 0;
}

struct upload *
upload_begin(struct uploads *all, enum upload_kind kind, struct token *token, const char *address,
    struct error *err)
{
	struct upload_thread *t = kind == UPLOAD_BLOB || kind == UPLOAD_FETCH ? &all->blobs : &all->transcripts;
	struct upload *u;

	if (all->count >= UPLOADS_MOST) {
		error_set(err, ERROR_BLOCKED, NULL, "too many events are being sent: try again "
		    "later");
		return NULL;
	}
	if ((all->told.fd == -1 && begin_all(all, err) != 0) ||
	    (!t->running && upload_thread_start(t, err) != 0))
		return NULL;
	all->count++;
	u = memory_zero(1, sizeof *u);
	u->all = all;
	u->thread = t;
	u->kind = kind;
	u->token = token_hold(token);
	u->sender = upload_sender(token);
	u->size = -1;
	snprintf(u->address, sizeof u->address, "%s", address);
	return u;
}

bool
upload_bytes(struct upload *u, const char *bytes, size_t len)
{
	pthread_mutex_lock(&u->all->lock);
	buffer_append(&u->shared.come, bytes, len);
	u->full = u->shared.come.len >= UPLOAD_AHEAD && !u->shared.over;
	upload_enqueue(u);
	pthread_mutex_unlock(&u->all->lock);
	return !u->full;
}

void
upload_end(struct upload *u)
{
	pthread_mutex_lock(&u->all->lock);
	u->shared.whole = true;
	upload_enqueue(u);
	pthread_mutex_unlock(&u->all->lock);
}

void
upload_free(struct upload *u)
{
	bool over;

	pthread_mutex_lock(&u->all->lock);
	u->context = NULL;
	u->shared.gone = true;
	upload_enqueue(u);
	over = u->shared.over && !u->shared.is_told;
	pthread_mutex_unlock(&u->all->lock);
	if (over)
		upload_destroy(u);
}

void
uploads_close(struct uploads *all)
{
	if (all->told.fd == -1) {
		outbox_close(&all->outbox);
		outbox_close(&all->blob_outbox);
		return;
	}
	outbox_stop(&all->outbox);
	outbox_stop(&all->blob_outbox);
	upload_thread_stop(&all->transcripts);
	upload_thread_stop(&all->blobs);
	uploads_dispatch_notified(all);
	ingest_end(&all->ingest);
	outbox_close(&all->outbox);
	outbox_close(&all->blob_outbox);
	pace_free(&all->pace);
	pthread_mutex_destroy(&all->lock);
	loop_remove(all->loop, &all->told);
	file_close(&all->told.fd);
}
