/*
 * The thread that receives uploads asks the filter and waits for its answer: it has nothing else
 * to do, since nothing may be acknowledged earlier. A filter that has ended is started again
 * when something is to be sent. If an action fails with a filter that was already running, it is
 * tried once more with a new one: the connection to the database may have been lost while
 * nothing was sent.
 */
#include "serve_runs/outbox.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/patience.h"
#include "ingest/ship_protocol.h"
#include "io/copytree.h"
#include "io/file.h"
#include "io/polling.h"
#include "json/writer.h"
#include "proc/environment.h"
#include "proc/peer.h"
#include "storage/origin.h"
#include "transcript/blob.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/layout.h"
#include "transcript/reader.h"

#define ROOM ((size_t)256 << 10)  /* bytes of lines that are appended together */
#define LOOK_MS 5                 /* between checks of the copy */
#define STOP_LOOK_MS 200          /* between checks whether the server is stopping */

struct outbox_run {
	char run_id[ID_SIZE];
	uint64_t used;                /* the value of outbox.uses when it was last used */
	int64_t missed;               /* line that awf-mirror did not copy in time; 0: none */
	bool prepared;
	bool added;
	char *sender;
	struct shipment *shipment;    /* NULL: no line of the run was sent since it was prepared */
	enum outbox_result result;
	char *refusal;                /* the filter's message if the result is OUTBOX_REFUSED */
	/* The filter's answer: whether it has come, and whether the database does not have the
	 * run. */
	bool answered, missing;
	int64_t seq, pruned;
	char digest[DIGEST_SIZE];
};

static struct outbox_run *
outbox_find_run(const struct outbox *o, const char *run_id)
{
	const size_t *place = map_get(&o->places, run_id, ID_SIZE - 1);

	return place != NULL ? o->runs[*place] : NULL;
}

static struct outbox_run *
add_run(struct outbox *o, const char *run_id)
{
	struct outbox_run *run = outbox_find_run(o, run_id);

	if (run != NULL) {
		run->used = ++o->uses;
		return run;
	}
	run = memory_zero(1, sizeof *run);
	memcpy(run->run_id, run_id, ID_SIZE);
	run->used = ++o->uses;
	o->runs = memory_array(o->runs, o->count + 1, sizeof *o->runs);
	o->runs[o->count] = run;
	map_put(&o->places, run_id, ID_SIZE - 1, o->count++);
	return run;
}

/* ---- the filter ---- */

/* Stops a filter that has failed or cannot be used; it may have stored what it was sent. */
static void
end_filter(struct outbox *o)
{
	o->peer->end_ms = o->late ? 0 : atomic_load(&o->stop) != 0 ? OUTBOX_STOP_MS : SHIP_END_MS;
	if (o->peer->process.pid != 0)
		peer_end(o->peer);
	o->ready = false;
	for (size_t i = 0; i < o->count; i++)
		if (o->runs[i]->shipment != NULL)
			shipment_restart(o->runs[i]->shipment);
}

static int
start_filter(struct outbox *o, struct error *err)
{
	char *argv[] = { (char *)o->program, (char *)o->url, NULL };
	struct environment environment;
	struct process_spec spec = { .argv = argv, .err = PROCESS_INHERIT };
	int failed;

	environment_begin(&environment);
	if (o->sync != NULL)
		environment_set(&environment, "AWF_SYNC", o->sync);
	else
		environment_unset(&environment, "AWF_SYNC");
	spec.environment = environment.list;
	o->late = false;
	failed = peer_start(o->peer, &spec, err);
	environment_free(&environment);
	return failed;
}

static void
outbox_read_hello(struct outbox *o, struct span line, struct error *err)
{
	struct span takes = span_member(line, SHIP_TAKES);
	long long version;

	if (!span_integer(span_member(line, SHIP_HELLO), &version) || version != SHIP_VERSION) {
		error_set(err, ERROR_SYSTEM, o->program, "does not speak as awf-ship(7) says");
		return;
	}
	o->with.takes_about = o->with.takes_blobs = o->takes_alone = o->takes_fetch = false;
	if (span_type(takes) == 'a')
		for (struct span_walk word = span_walk(takes); span_next(&word);) {
			o->with.takes_about |= span_is(word.value, SHIP_TAKES_ABOUT);
			o->with.takes_blobs |= span_is(word.value, SHIP_TAKES_BLOBS);
			o->takes_alone |= span_is(word.value, SHIP_TAKES_ALONE);
			o->takes_fetch |= span_is(word.value, SHIP_TAKES_FETCH);
		}
	o->ready = true;
}

/* Handles a line in which the filter says how much of a run the database has, or that it accepts no
 * more of it. */
static void
outbox_read_position(struct outbox_run *run, struct span line, struct error *err)
{
	const struct span told = span_member(line, KEY_ERROR);
	struct shipment *shipment = run->shipment;
	struct error other = ERROR_INIT;
	long long seq, pruned;

	run->answered = true;
	if (told.at != NULL) {
		/* About lines that were sent, "blocked" means that the target cannot store them. */
		run->result = shipment != NULL && shipment->state == SHIPMENT_SENDING &&
		    span_is(span_member(told, KEY_CODE), error_name(ERROR_BLOCKED)) ? OUTBOX_REFUSED : OUTBOX_OTHER;
		free(run->refusal);
		run->refusal = span_text(span_member(told, KEY_MESSAGE));
		if (shipment != NULL)
			shipment_refuse(shipment, 0);
		return;
	}
	if (!span_integer(span_member(line, KEY_SEQ), &seq) || seq < 0) {
		error_set(err, ERROR_SYSTEM, run->run_id, "the filter does not say what the database has");
		return;
	}
	run->seq = seq;
	run->pruned = 0;
	if (span_integer(span_member(line, SHIP_PRUNED), &pruned))
		run->pruned = pruned;
	run->digest[0] = '\0';
	span_copy(span_member(line, SHIP_DIGEST), run->digest, sizeof run->digest);
	if (shipment == NULL)
		return;
	if (shipment->state == SHIPMENT_ASKED) {
		/* Our lines differ from those of the database, or the database has more lines. */
		if (shipment_begin(shipment, seq, run->digest, &other) != 0 ||
		    shipment->state != SHIPMENT_SENDING)
			run->result = OUTBOX_OTHER;
	} else if (shipment->state == SHIPMENT_SENDING && seq <= shipment->seq) {
		shipment->acknowledged = seq;
	}
}

static void
outbox_read_blob_answer(struct outbox_run *run, struct span line)
{
	run->missing = span_true(span_member(line, SHIP_MISSING));
	run->answered = true;
}

static void
outbox_read_lines(struct outbox *o, struct error *err)
{
	struct outbox_run *run;
	char run_id[ID_SIZE];
	struct span line;
	size_t bad;
	int got;

	while (err->code == ERROR_NONE && (got = peer_line(o->peer, &line)) != 0) {
		if (got == -1 || scan_within(line.at, line.len, SCAN_LINE_DEPTH, &bad) != NULL ||
		    span_type(line) != 'o')
			error_set(err, ERROR_SYSTEM, o->program, "sends invalid JSON");
		else if (!o->ready)
			outbox_read_hello(o, line, err);
		else if (!event_copy_id(span_member(line, KEY_RUN_ID), run_id) ||
		    (run = outbox_find_run(o, run_id)) == NULL)
			error_set(err, ERROR_SYSTEM, o->program, "names a run that it was not "
			    "asked about");
		else if (span_member(line, SHIP_BLOB).at != NULL)
			outbox_read_blob_answer(run, line);
		else
			outbox_read_position(run, line, err);
	}
}

/* Waits for one message of the filter. -1 with *err: the filter was stopped. */
static int
serve_filter(struct outbox *o, int64_t until, struct error *err)
{
	const int64_t stop = atomic_load(&o->stop), now = clock_monotonic();

	if (stop != 0 && stop < until)
		until = stop;
	/* Wake up often enough to see that the server is stopping. */
	switch (peer_wait(o->peer, now < until && until > now + STOP_LOOK_MS ? now + STOP_LOOK_MS : until,
	    NULL, err)) {
	case PEER_SERVED:
		break;
	case PEER_GONE:
		outbox_read_lines(o, err);
		error_set(err, ERROR_SYSTEM, NULL, "the database does not take what was sent: its filter has "
		    "ended");
		break;
	case PEER_LATE:
		if (clock_monotonic() < until)
			return 0;
		o->late = true;
		error_set(err, ERROR_SYSTEM, NULL, stop != 0 ? "the server ends" : "the database takes too long");
		break;
	case PEER_INTERRUPTED:
		break;
	}
	if (err->code == ERROR_NONE)
		outbox_read_lines(o, err);
	if (err->code == ERROR_NONE)
		return 0;
	end_filter(o);
	return -1;
}

/* Starts the filter if it does not run, and waits until it has connected to its database. */
static int
await_filter(struct outbox *o, struct error *err)
{
	const int64_t until = clock_monotonic() + OUTBOX_MS;

	if (o->peer->process.pid == 0 && start_filter(o, err) != 0)
		return -1;
	while (!o->ready)
		if (serve_filter(o, until, err) != 0)
			return -1;
	return 0;
}

/* Calls a function that uses the filter; if it fails with a filter that ran before, once more with
 * a new one. */
static int
with_filter(struct outbox *o, int (*act)(struct outbox *o, void *context, struct error *err),
    void *context, struct error *err)
{
	bool old = o->ready;
	int failed;

	if (o->lost.code != ERROR_NONE) {
		*err = o->lost;
		return -1;
	}
	failed = await_filter(o, err) != 0 ? -1 : act(o, context, err);
	if (failed != 0 && old && o->peer->process.pid == 0 && !o->late) {
		*err = (struct error)ERROR_INIT;
		failed = await_filter(o, err) != 0 ? -1 : act(o, context, err);
	}
	if (failed != 0 && o->late)
		o->lost = *err;
	return failed;
}

/* ---- opening ---- */

int
outbox_open(struct outbox *o, struct error *err)
{
	o->peer = memory_zero(1, sizeof *o->peer);
	o->with = (struct shipping){ .storage = o->storage, .blobs = INT64_MAX, .follow = true,
		.cost = &o->cost };
	return cost_begin(&o->cost, err);
}

static void
free_run(struct outbox_run *run)
{
	if (run->shipment != NULL)
		shipment_free(run->shipment);
	free(run->sender);
	free(run->refusal);
	free(run);
}

void
outbox_close(struct outbox *o)
{
	if (o->peer == NULL)
		return;
	outbox_stop(o);
	end_filter(o);
	peer_free(o->peer);
	free(o->peer);
	o->peer = NULL;
	for (size_t i = 0; i < o->count; i++)
		free_run(o->runs[i]);
	free(o->runs);
	map_free(&o->places);
	cost_free(&o->cost);
}

void
outbox_stop(struct outbox *o)
{
	atomic_store(&o->stop, clock_monotonic() + OUTBOX_STOP_MS);
}

/* ---- what the database has of a run ---- */

/* Asks the filter how much of a run the database has. */
static int
outbox_ask_position(struct outbox *o, void *context, struct error *err)
{
	const int64_t until = clock_monotonic() + OUTBOX_MS;
	struct outbox_run *run = context;
	struct writer w;

	run->answered = false;
	run->result = OUTBOX_NONE;
	writer_begin(&w, &o->peer->outgoing);
	writer_object(&w);
	writer_member_string(&w, KEY_RUN_ID, run->run_id);
	writer_member_string(&w, SHIP_ORIGIN, run->sender != NULL ? run->sender : "");
	writer_object_end(&w);
	buffer_byte(&o->peer->outgoing, '\n');
	peer_send(o->peer);
	while (!run->answered)
		if (serve_filter(o, until, err) != 0)
			return -1;
	return run->result == OUTBOX_NONE ? 0 : error_set(err, ERROR_SYSTEM, run->run_id,
	    "the database does not take it");
}

/* Whether a storage has the last line that the database has of a run: 1, 0, or -1 on error. */
static int
has_line(const struct storage *s, const struct outbox_run *run, struct error *err)
{
	char *path = storage_transcript(s, run->run_id), digest[DIGEST_SIZE];
	struct reader reader;
	const char *line;
	int64_t seq = 0;
	size_t len;
	int got = 0;

	if (access(path, F_OK) == 0) {
		got = reader_open(&reader, path, err);
		if (got == 0) {
			got = reader_seek_after(&reader, run->seq - 1, err) == 0 ?
			    reader_next(&reader, &line, &len, err) : -1;
			if (got == 1)
				got = event_line_whole(line, len, &seq) && seq == run->seq &&
				    strcmp(digest_blake2b(line, len, digest), run->digest) == 0;
			reader_close(&reader);
		}
	}
	free(path);
	return got;
}

/* Waits until awf-mirror has copied the run up to the line that the database reported, which
 * usually takes little time. Other clients' uploads have to wait meanwhile. So there is one time
 * limit for all runs of a round, and a run that missed it is not waited for again. */
static int
await_copy(struct outbox *o, struct outbox_run *run, struct error *err)
{
	int has = has_line(o->record, run, err);

	if (o->copy_until == 0 && has == 0)
		o->copy_until = clock_monotonic() + OUTBOX_COPY_MS;
	while (has == 0 && run->missed != run->seq && clock_monotonic() < o->copy_until &&
	    atomic_load(&o->stop) == 0) {
		poll_until(NULL, 0, clock_monotonic() + LOOK_MS);
		has = has_line(o->record, run, err);
	}
	run->missed = has == 0 ? run->seq : 0;
	if (has == 0)
		error_set(err, ERROR_SYSTEM, run->run_id, "the copy of the database does not have what it has, "
		    "line %lld", (long long)run->seq);
	return has == 1 ? 0 : -1;
}

/* Blobs are hard links to those that are served. */
static void
link_blobs(struct outbox *o, const char *run_id)
{
	char *from = storage_blobs(o->record, run_id), *to = storage_blobs(o->storage, run_id);
	DIR *directory = storage_opendir(from);
	const struct dirent *found;

	if (directory != NULL && storage_make_directory(to, false, NULL) == 0)
		while ((found = readdir(directory)) != NULL) {
			char *there = path_join(from, found->d_name), *here = path_join(to, found->d_name);

			if (blob_name_valid(found->d_name))
				(void)!link(there, here); /* if that fails, the blob counts as
				                             unknown */
			free(here);
			free(there);
		}
	if (directory != NULL)
		closedir(directory);
	free(to);
	free(from);
}

/* Copies a run, with its origin, from the storage that is served; this has at least the lines that
 * the database just reported. */
static int
copy_run(struct outbox *o, const struct outbox_run *run, struct error *err)
{
	char *from = storage_transcript(o->record, run->run_id);
	char *to = storage_transcript(o->storage, run->run_id);
	char *whose = origin_name(o->record, run->run_id);
	struct origin origin = { .fd = -1 };
	int failed;

	if (whose == NULL)
		failed = error_set(err, ERROR_SYSTEM, run->run_id, "was removed meanwhile");
	else
		failed = origin_claim(&origin, o->storage, run->run_id, whose, ORIGIN_ANY, TRANSCRIPT_LOCK_MS, err);
	if (failed == 0)
		failed = origin_lease(&origin, clock_wall() + INGEST_LEASE_MS * 1000, err) != 0 ? -1 :
		    copytree_file(from, to, err);
	origin_close(&origin);
	if (failed == 0)
		link_blobs(o, run->run_id);
	else
		err->code = ERROR_SYSTEM;
	free(whose);
	free(to);
	free(from);
	return failed;
}

void
outbox_drop(struct outbox *o, const char *run_id)
{
	struct outbox_run *run = outbox_find_run(o, run_id);
	char *transcript = storage_transcript(o->storage, run_id);
	char *origin = layout_origin(o->storage->root, run_id);

	/* While lines of the run are on their way, a message about them would be taken for the
	 * answer to the question. */
	if (run != NULL && run->shipment != NULL && (run->shipment->state == SHIPMENT_ASKED ||
	    (run->shipment->state == SHIPMENT_SENDING &&
	    run->shipment->acknowledged < run->shipment->seq)))
		end_filter(o);
	if (o->ingest != NULL)
		ingest_close(o->ingest, run_id);
	/* Keep blobs, and the empty files that stand for blobs in the database (upload.c). */
	unlink(transcript);
	unlink(origin);
	if (run != NULL) {
		if (run->shipment != NULL)
			shipment_free(run->shipment);
		run->shipment = NULL;
		run->prepared = run->added = false;
		run->result = OUTBOX_NONE;
	}
	free(origin);
	free(transcript);
}

int
outbox_prepare(struct outbox *o, const char *run_id, struct error *err)
{
	struct outbox_run *run = add_run(o, run_id);

	if (run->prepared)
		return 0;
	outbox_drop(o, run_id);
	if (with_filter(o, outbox_ask_position, run, err) != 0)
		return -1;
	if (run->pruned > 0)
		return error_set(err, ERROR_BLOCKED, run_id, "was removed from the database, and is not taken "
		    "again");
	if (run->seq > 0 && (await_copy(o, run, err) != 0 || copy_run(o, run, err) != 0))
		return -1;
	run->prepared = true;
	return 0;
}

int
outbox_behind(struct outbox *o, const char *run_id, struct error *err)
{
	struct outbox_run *run = outbox_find_run(o, run_id);
	int has;

	if (run == NULL || !run->prepared)
		return 0;
	if (run->shipment != NULL)
		shipment_free(run->shipment);
	run->shipment = NULL;
	if (with_filter(o, outbox_ask_position, run, err) != 0)
		return -1;
	has = run->seq == 0 ? 1 : has_line(o->storage, run, err);
	return has < 0 ? -1 : has == 0;
}

/* ---- sending ---- */

void
outbox_add(struct outbox *o, const char *run_id, const char *sender)
{
	struct outbox_run *run = add_run(o, run_id);

	if (run->added)
		return;
	run->added = true;
	run->result = OUTBOX_NONE;
	free(run->sender);
	run->sender = memory_text(sender);
	if (run->shipment == NULL)
		run->shipment = shipment_new(o->storage, run_id, NULL);
	else
		shipment_look(run->shipment);
}

/* Sends what can be sent of a run. Returns 1 if no answer has to be waited for. */
static int
send_run(struct outbox *o, struct outbox_run *run, struct error *err)
{
	struct shipment *s = run->shipment;
	struct error other = ERROR_INIT;

	if (run->result != OUTBOX_NONE)
		return 1;
	if (s->state == SHIPMENT_NEW) {
		o->with.origin = run->sender;
		return shipment_ask(s, &o->with, &o->peer->outgoing, err) != 0 ? -1 : 0;
	}
	if (s->state == SHIPMENT_SENDING && s->more &&
	    shipment_send(s, &o->with, o->peer->outgoing.len + ROOM, &o->peer->outgoing, &other) != 0)
		run->result = OUTBOX_OTHER;
	else if (s->state == SHIPMENT_SENDING && shipment_done(s))
		/* The run was removed before it was sent. */
		run->result = s->gone ? OUTBOX_OTHER : OUTBOX_SAFE;
	return run->result != OUTBOX_NONE;
}

static int
send_all(struct outbox *o, void *context, struct error *err)
{
	struct outbox_run **runs = context;
	const int64_t until = clock_monotonic() + OUTBOX_MS;
	bool over = false;

	while (!over) {
		over = true;
		for (struct outbox_run **run = runs; *run != NULL; run++) {
			int done = peer_unsent(o->peer) < ROOM ? send_run(o, *run, err) : 0;

			if (done == -1)
				return -1;
			over &= done == 1;
			peer_send(o->peer);
		}
		if (!over && serve_filter(o, until, err) != 0)
			return -1;
	}
	return 0;
}

int
outbox_send(struct outbox *o, struct error *err)
{
	const size_t most = o->ingest->run_limit;
	struct outbox_run **runs = memory_zero(most + 1, sizeof *runs);
	size_t count = 0;
	int failed = 0;

	/* Start as many shipments at a time as there are file descriptors. */
	for (size_t i = 0; i < o->count && failed == 0; i++) {
		if (o->runs[i]->added)
			runs[count++] = o->runs[i];
		if (count == 0 || (count < most && i + 1 < o->count))
			continue;
		runs[count] = NULL;
		failed = with_filter(o, send_all, runs, err);
		for (size_t j = 0; j < count && o->count > most; j++)
			shipment_rest(runs[j]->shipment);
		count = 0;
	}
	for (size_t i = 0; i < o->count; i++)
		o->runs[i]->added = false;
	free(runs);
	return failed;
}

/* ---- rounds ---- */

void
outbox_begin_round(struct outbox *o)
{
	o->lost = (struct error)ERROR_INIT;
	o->copy_until = 0;
}

/* Sorts the runs, the last used first. */
static int
by_use(const void *a, const void *b)
{
	const struct outbox_run *first = *(struct outbox_run *const *)a;
	const struct outbox_run *second = *(struct outbox_run *const *)b;

	return first->used > second->used ? -1 : first->used < second->used;
}

static void
index_runs(struct outbox *o)
{
	map_free(&o->places);
	o->places = (struct map)MAP_INIT;
	for (size_t i = 0; i < o->count; i++)
		map_put(&o->places, o->runs[i]->run_id, ID_SIZE - 1, i);
}

void
outbox_end_round(struct outbox *o)
{
	const size_t most = o->ingest != NULL ? o->ingest->run_limit : 0;

	if (o->count <= most)
		return;
	qsort(o->runs, o->count, sizeof *o->runs, by_use);
	index_runs(o);
	while (o->count > most) {
		struct outbox_run *run = o->runs[o->count - 1];

		if (o->ingest != NULL) {
			char *blobs = storage_blobs(o->storage, run->run_id);

			outbox_drop(o, run->run_id);
			copytree_remove(blobs, NULL);
			free(blobs);
		}
		free_run(run);
		o->count--;
	}
	index_runs(o);
}

enum outbox_result
outbox_result(const struct outbox *o, const char *run_id)
{
	const struct outbox_run *run = outbox_find_run(o, run_id);

	return run != NULL ? run->result : OUTBOX_NONE;
}

void
outbox_refusal(const struct outbox *o, const char *run_id, struct error *err)
{
	const struct outbox_run *run = outbox_find_run(o, run_id);

	error_set(err, ERROR_INVALID_INPUT, NULL, "%s", run != NULL && run->refusal != NULL ? run->refusal :
	    "the database cannot hold it");
}

/* ---- blobs ---- */

struct lone_blob {
	struct outbox_run *run;
	const char *sha256, *path;
	bool fetch;
};

static int
send_blob(struct outbox *o, void *context, struct error *err)
{
	const int64_t until = clock_monotonic() + OUTBOX_MS;
	const struct lone_blob *blob = context;
	struct writer w;

	if (!(blob->fetch ? o->takes_fetch : o->takes_alone))
		return error_set(err, ERROR_SYSTEM, o->program, "takes or gives no blobs by themselves");
	blob->run->answered = false;
	writer_begin(&w, &o->peer->outgoing);
	writer_object(&w);
	writer_member_string(&w, SHIP_BLOB, blob->sha256);
	writer_member_string(&w, KEY_RUN_ID, blob->run->run_id);
	writer_member_string(&w, SHIP_PATH, blob->path);
	writer_member_bool(&w, blob->fetch ? SHIP_FETCH : SHIP_ALONE, true);
	writer_object_end(&w);
	buffer_byte(&o->peer->outgoing, '\n');
	peer_send(o->peer);
	while (!blob->run->answered)
		if (serve_filter(o, until, err) != 0)
			return -1;
	return 0;
}

int
outbox_put_blob(struct outbox *o, const char *run_id, const char *sha256, const char *path,
    struct error *err)
{
	struct lone_blob blob = { add_run(o, run_id), sha256, path, false };

	return with_filter(o, send_blob, &blob, err);
}

int
outbox_get_blob(struct outbox *o, const char *run_id, const char *sha256, const char *path,
    struct error *err)
{
	struct lone_blob blob = { add_run(o, run_id), sha256, path, true };

	return with_filter(o, send_blob, &blob, err) != 0 ? -1 : !blob.run->missing;
}
