/*
 * A thread takes what it has to do all at once: it feeds each upload what has come of it, and only
 * then ends those that are whole, of which the first is what makes the disk wait.
 */
#include "serve/upload.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "serve/log.h"

#define UPLOADS_MOST 1024               /* at a time */
#define LINE_LIMIT ((size_t)32 << 20)   /* bytes of a line, or document */
#define HELD_FREE ((size_t)64 << 10)    /* bytes of one that is not whole, that any may have */
#define HELD_MOST ((size_t)256 << 20)   /* of all of them, beyond which nobody may have more */
#define HELD_WAIT_MS 1000
#define QUOTA_WAIT_MS 60000

/* ---- whose it is ---- */

/* The origin of the runs that it sends: the token, by its label, too; a session is its token's.
 * Who needs no token, or has come by the printed link, is who uses awf-record here. */
static char *
sender_of(const struct token *token)
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

/* ---- in the first thread ---- */

static bool
is_named(void *context, struct span name)
{
	const struct upload *u = context;
	char *text = span_text(name);
	bool named = token_names(u->token, text != NULL ? text : "");

	free(text);
	return named;
}

/* How much may come is asked for the run and for the address. */
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
refuse(struct upload *u, enum ingest_fault fault, const struct error *err)
{
	u->result.refusal = (struct ingest_refusal){ .fault = fault, .error = *err };
	u->refused = true;
}

static void
feed_lines(struct upload *u, const char *bytes, size_t len)
{
	const struct ingest_spec spec = { .sender = u->sender, .document = u->kind == UPLOAD_DOCUMENT,
		.named = is_named, .pace = keep_pace, .context = u };
	struct uploads *all = u->all;
	struct error err;
	size_t held;

	if (!u->begun)
		ingest_input_begin(&u->input, &all->ingest, &spec);
	u->begun = true;
	u->refused = ingest_feed(&u->input, bytes, len) != 0;
	held = ingest_held(&u->input);
	all->held += held - u->held;
	u->held = held;
	if (held > HELD_FREE && all->held > HELD_MOST) {
		error_set(&err, ERROR_BLOCKED, NULL, "too many long lines come at a time");
		refuse(u, INGEST_TOO_FAST, &err);
		u->result.wait_ms = HELD_WAIT_MS;
	}
}

/* What has come of it is on disk. */
static void
end_lines(struct upload *u, bool whole)
{
	struct upload_result *result = &u->result;

	/* A line that was cut off is none. */
	if (whole && !u->refused)
		ingest_input_end(&u->input);
	else
		ingest_flush(&u->input);
	result->accepted = u->input.accepted;
	result->duplicates = u->input.duplicates;
	result->missing_blobs = u->input.missing_blobs;
	if (u->input.refusal.fault != INGEST_NONE)
		result->refusal = u->input.refusal;
	u->all->held -= u->held;
	ingest_input_free(&u->input);
}

static void
end_run(struct upload *u)
{
	struct error err;
	enum ingest_fault fault = ingest_finish(&u->all->ingest, u->sender, u->run_id, u->status, &err);

	if (fault != INGEST_NONE)
		refuse(u, fault, &err);
}

/* What was repaired is of interest to whose storage it is. */
static void
tell_repaired(const char *text)
{
	struct error told;

	error_set(&told, ERROR_NONE, NULL, "%s", text);
	log_warn(&told);
}

/* ---- in the second ---- */

static void
feed_blob(struct upload *u, const char *bytes, size_t len)
{
	const struct blob_upload_spec spec = { .storage = u->all->storage, .sender = u->sender,
		.run_id = u->run_id, .sha256 = u->sha256, .size = u->size, .limit = UPLOAD_BLOB_MOST,
		.quota = u->all->blob_quota };
	struct error err;

	if (!u->begun && blob_upload_begin(&u->blob, &spec, &err) != 0) {
		refuse(u, err.code == ERROR_BLOCKED ? INGEST_FORBIDDEN :
		    err.code == ERROR_SYSTEM ? INGEST_FAILED : INGEST_TOO_FAST, &err);
		u->result.wait_ms = QUOTA_WAIT_MS;
	}
	u->begun = true;
	if (!u->refused && len > 0 && blob_upload_feed(&u->blob, bytes, len, &err) != 0)
		refuse(u, err.code == ERROR_SYSTEM ? INGEST_FAILED : INGEST_TOO_LARGE, &err);
}

static void
end_blob(struct upload *u, bool whole)
{
	struct error err;

	if (!whole || u->refused)
		blob_upload_abandon(&u->blob);
	else if (blob_upload_end(&u->blob, &err) != 0)
		refuse(u, err.code == ERROR_BLOCKED ? INGEST_FORBIDDEN :
		    err.code == ERROR_SYSTEM ? INGEST_FAILED : INGEST_INVALID, &err);
}

/* ---- the threads ---- */

static void
feed(struct upload *u, const struct buffer *bytes)
{
	if (u->kind == UPLOAD_BLOB)
		feed_blob(u, buffer_string(bytes), bytes->len);
	else if (u->kind != UPLOAD_END)
		feed_lines(u, buffer_string(bytes), bytes->len);
}

static void
end(struct upload *u, bool whole)
{
	if (u->kind == UPLOAD_BLOB)
		end_blob(u, whole);
	else if (u->kind != UPLOAD_END)
		end_lines(u, whole);
	else if (whole)
		end_run(u);
}

/* With the lock: there is something to be done. A thread that is at work on it looks again. */
static void
enqueue(struct upload *u)
{
	struct upload_thread *t = u->thread;

	if (u->queued || u->at_work || u->over)
		return;
	u->queued = true;
	u->next = NULL;
	*(t->last != NULL ? &t->last->next : &t->first) = u;
	t->last = u;
	pthread_cond_signal(&t->more);
}

/* With the lock: the loop is to look at it. */
static void
tell(struct upload *u)
{
	const uint64_t one = 1;

	if (u->is_told)
		return;
	u->is_told = true;
	u->next_told = u->all->first_told;
	u->all->first_told = u;
	while (write(u->all->told.fd, &one, sizeof one) == -1 && errno == EINTR)
		continue;
}

/* Does what there is to do. With the lock, which it lets go of meanwhile. */
static void
work(struct upload_thread *t)
{
	struct upload *list = t->first, *u;
	pthread_mutex_t *lock = &t->all->lock;

	t->first = t->last = NULL;
	for (u = list; u != NULL; u = u->next) {
		u->queued = false;
		u->at_work = true;
	}
	for (u = list; u != NULL; u = u->next) {
		struct buffer bytes = u->come;

		u->come = (struct buffer)BUFFER_INIT;
		pthread_mutex_unlock(lock);
		if (!u->refused)
			feed(u, &bytes);
		buffer_free(&bytes);
		pthread_mutex_lock(lock);
	}
	while ((u = list) != NULL) {
		bool whole = u->whole && u->come.len == 0 && !u->gone;

		list = u->next;
		if (whole || u->gone || u->refused) {
			pthread_mutex_unlock(lock);
			end(u, whole);
			pthread_mutex_lock(lock);
			u->over = true;
		}
		u->at_work = false;
		if (u->come.len > 0 || u->whole || u->gone)
			enqueue(u);
		tell(u);
	}
}

static void *
run(void *context)
{
	struct upload_thread *t = context;

	pthread_mutex_lock(&t->all->lock);
	while (t->first != NULL || !t->stop)
		if (t->first != NULL)
			work(t);
		else
			pthread_cond_wait(&t->more, &t->all->lock);
	pthread_mutex_unlock(&t->all->lock);
	return NULL;
}

/* Signals are for the loop. */
static int
start(struct upload_thread *t, struct error *err)
{
	sigset_t signals, before;
	int wrong;

	sigfillset(&signals);
	pthread_sigmask(SIG_BLOCK, &signals, &before);
	wrong = pthread_create(&t->id, NULL, run, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (wrong != 0) {
		errno = wrong;
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to start a thread");
	}
	t->running = true;
	return 0;
}

static void
stop(struct upload_thread *t)
{
	pthread_mutex_lock(&t->all->lock);
	t->stop = true;
	pthread_cond_signal(&t->more);
	pthread_mutex_unlock(&t->all->lock);
	if (t->running)
		pthread_join(t->id, NULL);
	pthread_cond_destroy(&t->more);
}

/* ---- in the loop ---- */

static void
destroy(struct upload *u)
{
	u->all->count--;
	buffer_free(&u->come);
	token_release(u->token);
	free(u->sender);
	free(u);
}

/* The next that a thread has told of; NULL. */
static struct upload *
next_told(struct uploads *all, bool *over, bool *taken)
{
	struct upload *u;

	pthread_mutex_lock(&all->lock);
	u = all->first_told;
	if (u != NULL) {
		all->first_told = u->next_told;
		u->is_told = false;
		*over = u->over;
		*taken = u->come.len == 0;
	}
	pthread_mutex_unlock(&all->lock);
	return u;
}

static void
look(struct uploads *all)
{
	struct upload *u;
	bool over, taken;

	while ((u = next_told(all, &over, &taken)) != NULL) {
		if (u->context == NULL) {
			if (over)
				destroy(u);
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
	look(all);
}

void
uploads_open(struct uploads *all, struct loop *loop, const struct storage *storage, int64_t rate,
    int64_t quota)
{
	*all = (struct uploads){ .loop = loop, .storage = storage, .told = { -1, told_ready },
		.transcripts.all = all, .blobs.all = all, .rate = rate, .blob_quota = quota };
}

/* The first upload. */
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
	all->ingest.repaired = tell_repaired;
	return 0;
}

struct upload *
upload_begin(struct uploads *all, enum upload_kind kind, struct token *token, const char *address,
    struct error *err)
{
	struct upload_thread *t = kind == UPLOAD_BLOB ? &all->blobs : &all->transcripts;
	struct upload *u;

	if (all->count >= UPLOADS_MOST) {
		error_set(err, ERROR_BLOCKED, NULL, "too much is being sent: try again later");
		return NULL;
	}
	if ((all->told.fd == -1 && begin_all(all, err) != 0) || (!t->running && start(t, err) != 0))
		return NULL;
	all->count++;
	u = memory_zero(1, sizeof *u);
	u->all = all;
	u->thread = t;
	u->kind = kind;
	u->token = token_hold(token);
	u->sender = sender_of(token);
	u->size = -1;
	snprintf(u->address, sizeof u->address, "%s", address);
	return u;
}

bool
upload_bytes(struct upload *u, const char *bytes, size_t len)
{
	pthread_mutex_lock(&u->all->lock);
	buffer_append(&u->come, bytes, len);
	u->full = u->come.len >= UPLOAD_AHEAD && !u->over;
	enqueue(u);
	pthread_mutex_unlock(&u->all->lock);
	return !u->full;
}

void
upload_end(struct upload *u)
{
	pthread_mutex_lock(&u->all->lock);
	u->whole = true;
	enqueue(u);
	pthread_mutex_unlock(&u->all->lock);
}

void
upload_free(struct upload *u)
{
	bool over;

	pthread_mutex_lock(&u->all->lock);
	u->context = NULL;
	u->gone = true;
	enqueue(u);
	over = u->over && !u->is_told;
	pthread_mutex_unlock(&u->all->lock);
	if (over)
		destroy(u);
}

void
uploads_close(struct uploads *all)
{
	if (all->told.fd == -1)
		return;
	stop(&all->transcripts);
	stop(&all->blobs);
	look(all);
	ingest_end(&all->ingest);
	pace_free(&all->pace);
	pthread_mutex_destroy(&all->lock);
	loop_remove(all->loop, &all->told);
	file_close(&all->told.fd);
}
