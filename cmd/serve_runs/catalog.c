/*
 * A query is a task of the loop. It reads the directory, then the first lines of new runs, by which
 * runs are ordered, then goes through the runs from the newest on: the first and the last lines of
 * a run say whether it is wanted, and for each match the overview (serve_runs/overview.h) has the
 * rest. A query for sums needs no order; each run's overview says whether it is wanted, so each
 * file is read once.
 */
#include "serve_runs/catalog.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/count.h"
#include "base/memory.h"
#include "io/file.h"
#include "model/event_index.h"
#include "model/listing.h"
#include "serve_runs/asked.h"
#include "serve_runs/log.h"
#include "storage/origin.h"
#include "storage/queue.h"

#define SUFFIX ".jsonl"
#define PIECE_MS 4
#define SECOND_MS 1000
#define CHANGES (IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM | IN_MODIFY)

/* ---- the runs ---- */

/* Copies the run id of "<run-id>.jsonl"; false if name has another form. */
static bool
run_of_name(const char *name, char run_id[ID_SIZE])
{
	if (strlen(name) != ID_SIZE - 1 + sizeof SUFFIX - 1 || !id_valid(name, ID_SIZE - 1) ||
	    strcmp(name + ID_SIZE - 1, SUFFIX) != 0)
		return false;
	memcpy(run_id, name, ID_SIZE - 1);
	run_id[ID_SIZE - 1] = '\0';
	return true;
}

/* The run with this id; adds it if it is new. */
static struct catalog_run *
find_or_add(struct catalog *c, const char *run_id)
{
	const size_t *place = map_get(&c->by_id, run_id, ID_SIZE - 1);
	struct catalog_run *run;

	if (place != NULL)
		return c->runs[*place];
	run = memory_zero(1, sizeof *run);
	memcpy(run->run_id, run_id, ID_SIZE);
	run->gone = true;
	if (c->count == c->room) {
		c->room = c->room == 0 ? 64 : c->room * 2;
		c->runs = memory_array(c->runs, c->room, sizeof *c->runs);
	}
	map_put(&c->by_id, run_id, ID_SIZE - 1, c->count);
	c->runs[c->count++] = run;
	return run;
}

static void
forget_read(struct catalog_run *run)
{
	if (run->known)
		summary_free(&run->summary);
	run->known = run->figured = false;
}

/* Moves a run to the end of those that changed, and wakes the followers. */
static void
catalog_publish_run(struct catalog *c, struct catalog_run *run)
{
	if (run->revision != 0) {
		*(run->earlier != NULL ? &run->earlier->later : &c->oldest) = run->later;
		*(run->later != NULL ? &run->later->earlier : &c->latest) = run->earlier;
	}
	run->earlier = c->latest;
	run->later = NULL;
	*(c->latest != NULL ? &c->latest->later : &c->oldest) = run;
	c->latest = run;
	run->revision = ++c->revision;
	run->told_at = c->loop->now;
	c->told(c->context);
}

/* The run has been removed. */
static void
catalog_mark_run_gone(struct catalog *c, struct catalog_run *run)
{
	run->gone = true;
	run->told = 0;
	forget_read(run);
	if (c->followers > 0)
		catalog_publish_run(c, run);
}

/* Finds the files of runs in the directory, and marks runs whose file was removed. */
static int
catalog_scan_directory(struct catalog *c)
{
	char run_id[ID_SIZE];
	const struct dirent *entry;
	struct error err;
	DIR *directory;

	if (storage_names(c->storage, "transcripts", &directory, &err) != 0) {
		log_warn(&err);
		return -1;
	}
	for (size_t i = 0; i < c->count; i++)
		c->runs[i]->there = false;
	while (directory != NULL && (entry = readdir(directory)) != NULL)
		if (run_of_name(entry->d_name, run_id))
			find_or_add(c, run_id)->there = true;
	if (directory != NULL)
		closedir(directory);
	for (size_t i = 0; i < c->count; i++) {
		struct catalog_run *run = c->runs[i];

		if (!run->there && !run->gone)
			catalog_mark_run_gone(c, run);
		if (run->there && run->gone) {
			run->started = 0;
			run->dirty |= c->following;
		}
		run->gone = !run->there;
	}
	return 0;
}

static int
newest_first(const void *a, const void *b)
{
	const struct catalog_run *left = *(struct catalog_run *const *)a;
	const struct catalog_run *right = *(struct catalog_run *const *)b;

	if (left->started != right->started)
		return left->started < right->started ? 1 : -1;
	return strcmp(left->run_id, right->run_id);
}

/* Whether what was read of a run is still valid: its file has not changed. Whether its process is
 * alive may change at any time, without a change of the file. */
static bool
catalog_run_is_same(struct catalog *c, struct catalog_run *run)
{
	char *path = storage_transcript(c->storage, run->run_id);
	struct stat status;
	bool same = run->known && stat(path, &status) == 0 && status.st_ino == run->inode &&
	    status.st_size == run->size && status.st_mtim.tv_sec == run->changed.tv_sec &&
	    status.st_mtim.tv_nsec == run->changed.tv_nsec;

	free(path);
	if (same && (strcmp(run->summary.status, "running") == 0 || run->alive)) {
		bool alive = storage_run_alive(c->storage, run->run_id);

		same = alive == run->alive;
		/* At least its duration has changed. */
		if (strcmp(run->summary.status, "running") == 0)
			run->figured = false;
	}
	return same;
}

/* Notes which file is being read. False if it does not exist any more. */
static bool
note_file(struct catalog *c, struct catalog_run *run)
{
	char *path = storage_transcript(c->storage, run->run_id);
	struct stat status;
	bool there = stat(path, &status) == 0;

	free(path);
	if (!there)
		return false;
	run->inode = status.st_ino;
	run->size = status.st_size;
	run->changed = status.st_mtim;
	return true;
}

/* Reads its name and status. A run that cannot be read, because it is being created or removed,
 * is skipped. */
static bool
read_ends(struct catalog *c, struct catalog_run *run)
{
	char *path;
	struct error err;
	struct summary summary;
	bool read;

	if (catalog_run_is_same(c, run))
		return true;
	forget_read(run);
	if (!note_file(c, run))
		return false;
	path = storage_transcript(c->storage, run->run_id);
	read = summary_read_ends(&summary, path, &err) == 0;
	free(path);
	if (!read) {
		/* Log it once: otherwise each request for a list would log it again. */
		if (run->size > 0 && !run->unreadable)
			log_warn(&err);
		run->unreadable = run->size > 0;
		return false;
	}
	run->unreadable = false;
	run->summary = summary;
	run->summary.cost = COST_UNKNOWN;
	run->alive = storage_run_alive(c->storage, run->run_id);
	run->known = true;
	return true;
}

/* Counts the calls that ask a person something. */
static void
catalog_count_asked(struct catalog_run *run, const struct overview *o)
{
	struct asked *list = NULL;
	size_t count = summary_asks(&run->summary) ? asked_list(o, run->alive, &list) : 0;

	run->asked = 0;
	run->asked_since = INT64_MAX;
	for (size_t i = 0; i < count; i++)
		if (asked_person(&list[i])) {
			run->asked++;
			if (list[i].since < run->asked_since)
				run->asked_since = list[i].since;
		}
	free(list);
}

/* Copies figures from the run's overview, which was just read. alone: the run has ended and only
 * its transcript is left; it has no directory, and no client sent it. */
static void
catalog_store_figures(struct catalog *c, struct catalog_run *run, const struct overview *o,
    bool alone)
{
	if (run->known)
		summary_free(&run->summary);
	run->alive = !alone && storage_run_alive(c->storage, run->run_id);
	overview_summary(o, run->alive, &run->summary);
	run->summary.origin = alone ? NULL : origin_name(c->storage, run->run_id);
	run->waiting = summary_asks(&run->summary) ? overview_waiting(o) : 0;
	catalog_count_asked(run, o);
	run->events = o->seq;
	memcpy(run->tokens, o->tokens, sizeof run->tokens);
	run->cost = o->cost;
	run->cost_unknown = overview_cost(o) == COST_UNKNOWN;
	run->known = run->figured = true;
}

static void
write_run(const struct catalog_run *run, const struct summary *summary, struct writer *w)
{
	char dollars[MONEY_SIZE];

	writer_object(w);
	listing_members(summary, w);
	writer_member_integer(w, "waiting", (int64_t)run->waiting);
	writer_member_bool(w, "alive", run->alive);
	if (summary->cost >= 0)
		writer_member_string(w, "cost", money_number(summary->cost, dollars));
	writer_object_end(w);
}

void
catalog_write(const struct catalog_run *run, struct writer *w)
{
	write_run(run, &run->summary, w);
}

/* ---- queries ---- */

const char *const catalog_sort_words[CATALOG_SORTS + 1] = { "started", "name", "status", "duration", "calls",
	"tokens", "cost", NULL };

static int
by_run_id(const void *a, const void *b)
{
	return strcmp(((const struct catalog_run *)a)->run_id, ((const struct catalog_run *)b)->run_id);
}

/* Adds the runs that are waiting in the queue. One without a transcript gets a row of its own, at
 * the time when it was queued; one with a transcript only gets the status "queued". */
static void
add_queued(struct catalog_query *q)
{
	struct queued *list;
	struct error err;
	size_t count;

	if (queued_list(q->catalog->storage, &list, &count, &err) != 0)
		return;
	q->queued = memory_zero(count + 1, sizeof *q->queued);
	for (size_t i = 0; i < count; i++) {
		struct catalog_run *run = &q->queued[q->queued_count++];
		int64_t now = clock_wall();

		*run = (struct catalog_run){ .started = list[i].came, .known = true, .figured = true };
		memcpy(run->run_id, list[i].run_id, ID_SIZE);
		run->summary = (struct summary){ .status = "queued", .child = list[i].child,
			.started = list[i].came, .ended = list[i].came, .exit_code = -1,
			.duration_ms = now > list[i].came ? (now - list[i].came) / 1000 : 0,
			.name = memory_text(list[i].name), .cost = COST_UNKNOWN };
		memcpy(run->summary.run_id, list[i].run_id, ID_SIZE);
	}
	queued_free(list, count);
	qsort(q->queued, q->queued_count, sizeof *q->queued, by_run_id);
}

/* The queue entry of a run; NULL if it is not queued. */
static struct catalog_run *
find_queued(const struct catalog_query *q, const char *run_id)
{
	struct catalog_run asked = { .run_id = "" };

	if (q->queued_count == 0)
		return NULL;
	memcpy(asked.run_id, run_id, ID_SIZE);
	return bsearch(&asked, q->queued, q->queued_count, sizeof *q->queued, by_run_id);
}

/* Collects all existing runs, in their order. */
static void
make_order(struct catalog_query *q)
{
	struct catalog *c = q->catalog;

	q->order = memory_array(NULL, c->count + q->queued_count + 1, sizeof *q->order);
	for (size_t i = 0; i < c->count; i++)
		if (!c->runs[i]->gone)
			q->order[q->order_count++] = c->runs[i];
	for (size_t i = 0; i < q->queued_count; i++) {
		const size_t *place = map_get(&c->by_id, q->queued[i].run_id, ID_SIZE - 1);

		if (place == NULL || c->runs[*place]->gone)
			q->order[q->order_count++] = &q->queued[i];
	}
	if (!q->every)
		qsort(q->order, q->order_count, sizeof *q->order, newest_first);
	if (q->before[0] != '\0' && q->sort == SORT_STARTED && !q->turned) {
		while (q->at < q->order_count && strcmp(q->order[q->at]->run_id, q->before) != 0)
			q->at++;
		if (q->at < q->order_count)
			q->at++;
	}
}

/* The status of a run. A run that has ended may be queued to be resumed. */
const char *
catalog_status(const struct catalog_query *q, const struct catalog_run *run)
{
	return strcmp(run->summary.status, "running") != 0 && find_queued(q, run->run_id) != NULL ?
	    "queued" : run->summary.status;
}

void
catalog_write_found(const struct catalog_query *q, size_t index, struct writer *w)
{
	const struct catalog_run *run = q->found[index], *queued = find_queued(q, run->run_id);
	struct summary summary = run->summary;

	/* The run has ended and is queued to be resumed. */
	if (queued != NULL && strcmp(summary.status, "running") != 0) {
		memcpy(summary.status, queued->summary.status, sizeof summary.status);
		summary.duration_ms = queued->summary.duration_ms;
		summary.exit_code = -1;
		summary.error = NULL;
	}
	write_run(run, &summary, w);
}

static bool
is_wanted(const struct catalog_query *q, const struct catalog_run *run)
{
	return (q->children || !run->summary.child) && (!q->asks || summary_asks(&run->summary)) &&
	    (q->status[0] == '\0' || strcmp(q->status, catalog_status(q, run)) == 0) &&
	    globs_match(&q->names, run->summary.name) &&
	    (q->token == NULL || token_names(q->token, run->summary.name));
}

/* For numbers: which of two is larger. */
static int64_t
catalog_number(const struct catalog_query *q, const struct catalog_run *run)
{
	switch (q->sort) {
	case SORT_DURATION: return run->summary.duration_ms;
	case SORT_CALLS: return run->summary.calls;
	case SORT_TOKENS: return count_add(run->summary.input_tokens, run->summary.output_tokens);
	case SORT_COST: return run->summary.cost; /* that of one that is not known is negative */
	default: return run->started;
	}
}

/* A run, and what it is sorted by. */
struct catalog_place {
	struct catalog_run *run;
	const char *text;            /* NULL: by number */
	int64_t number, started;
	bool turned;
};

static int
catalog_compare_places(const void *a, const void *b)
{
	const struct catalog_place *one = a, *other = b;
	int order = one->text != NULL ? strcmp(one->text, other->text) :
	    one->number == other->number ? 0 : one->number > other->number ? -1 : 1;

	if (order == 0)
		order = one->started == other->started ? strcmp(one->run->run_id, other->run->run_id) :
		    one->started > other->started ? -1 : 1;
	return one->turned ? -order : order;
}

/* Sorts what was found, and leaves the part of it that was asked for. */
static void
catalog_sort_found(struct catalog_query *q)
{
	struct catalog_place *places = memory_array(NULL, q->count + 1, sizeof *places);
	size_t first = 0, kept = 0;

	for (size_t i = 0; i < q->count; i++)
		places[i] = (struct catalog_place){ .run = q->found[i], .started = q->found[i]->started,
			.number = catalog_number(q, q->found[i]), .turned = q->turned,
			.text = q->sort == SORT_NAME ? q->found[i]->summary.name :
			    q->sort == SORT_STATUS ? catalog_status(q, q->found[i]) : NULL };
	qsort(places, q->count, sizeof *places, catalog_compare_places);
	if (q->before[0] != '\0') {
		while (first < q->count && strcmp(places[first].run->run_id, q->before) != 0)
			first++;
		first += first < q->count;
	}
	q->more = q->count - first > q->limit;
	for (size_t i = first; i < q->count && kept < q->limit; i++)
		q->found[kept++] = places[i].run;
	q->count = kept;
	free(places);
}

static void
catalog_finish_query(struct catalog_query *q)
{
	if (!q->unread && q->sort > SORT_STATUS)
		catalog_sort_found(q);
	loop_leave(q->catalog->loop, &q->task);
	q->done(q);
}

/* Finds the runs that have more than a transcript: a directory, because a process owns them, or an
 * origin, because a client sent them. Reading the two directories once is faster than asking for
 * each of many runs. */
static void
note_beside(struct catalog_query *q)
{
	static const char *const directories[] = { "runs", "origins" };
	const struct dirent *entry;
	struct error err;

	q->beside_known = true;
	for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
		DIR *directory = NULL;

		q->beside_known &= storage_names(q->catalog->storage, directories[i], &directory, &err) == 0;
		while (directory != NULL && (entry = readdir(directory)) != NULL)
			map_put(&q->beside, entry->d_name, strlen(entry->d_name), 0);
		if (directory != NULL)
			closedir(directory);
	}
}

static bool
is_alone(const struct catalog_query *q, const struct catalog_run *run)
{
	return q->beside_known && q->overview->status[0] != '\0' &&
	    map_get(&q->beside, run->run_id, ID_SIZE - 1) == NULL;
}

static void
overview_ready(struct overview_waiter *waiter, const struct error *failed)
{
	struct catalog_query *q = (struct catalog_query *)(void *)((char *)waiter -
	    offsetof(struct catalog_query, waiter));

	if (failed == NULL)
		catalog_store_figures(q->catalog, q->found[q->at], q->overview,
		    is_alone(q, q->found[q->at]));
	else
		q->found[q->at]->figured = true; /* if its file could be read */
	if (failed != NULL && q->every && q->found[q->at]->size > 0) {
		if (!q->found[q->at]->unreadable)
			log_warn(failed);
		q->found[q->at]->unreadable = true;
	}
	overview_drop(q->overview);
	q->overview = NULL;
	q->at++;
	loop_enter(q->catalog->loop, &q->task);
}

/* Goes through the runs; true when all that are wanted are found. */
static bool
catalog_walk_runs(struct catalog_query *q)
{
	struct catalog_run *run = q->at < q->order_count ? q->order[q->at] : NULL;

	if (run == NULL || (q->since != 0 && run->started < q->since))
		return true;
	q->at++;
	if (run->gone && find_queued(q, run->run_id) != run)
		return false;
	if (find_queued(q, run->run_id) != run && !read_ends(q->catalog, run))
		return false;
	if (!is_wanted(q, run))
		return false;
	if (q->count == q->limit && q->sort == SORT_STARTED && !q->turned) {
		q->more = true;
		return true;
	}
	if ((q->count & (q->count + 1)) == 0 || q->count == 0)
		q->found = memory_array(q->found, q->count * 2 + 2, sizeof *q->found);
	q->found[q->count++] = run;
	return false;
}

/* Collects all runs; which of them match is decided when their figures are known. */
static void
find_every(struct catalog_query *q)
{
	make_order(q);
	q->found = q->order;
	q->count = q->order_count;
	q->order = NULL;
}

/* Keeps only the runs that match the query. */
static void
keep_wanted(struct catalog_query *q)
{
	size_t kept = 0;

	for (size_t i = 0; i < q->count; i++)
		if (q->found[i]->known && is_wanted(q, q->found[i]))
			q->found[kept++] = q->found[i];
	q->count = kept;
}

static void
query_step(struct loop_task *task)
{
	struct catalog_query *q = (struct catalog_query *)(void *)((char *)task -
	    offsetof(struct catalog_query, task));
	struct catalog *c = q->catalog;
	struct catalog_run *run;
	int64_t until = clock_monotonic() + PIECE_MS;

	do {
		switch (q->phase) {
		case CATALOG_SCAN:
			if (catalog_scan_directory(c) != 0) {
				q->unread = true;
				catalog_finish_query(q);
				return;
			}
			if (!q->ends)
				add_queued(q);
			q->phase = q->every ? CATALOG_FIGURES : CATALOG_STARTS;
			q->at = 0;
			if (q->every) {
				note_beside(q);
				find_every(q);
			}
			break;
		case CATALOG_STARTS:
			while (q->at < c->count && (c->runs[q->at]->gone || c->runs[q->at]->started != 0))
				q->at++;
			if (q->at < c->count) {
				c->runs[q->at]->started = storage_run_started(c->storage, c->runs[q->at]->run_id);
				q->at++;
				break;
			}
			q->phase = CATALOG_WALK;
			q->at = 0;
			make_order(q);
			break;
		case CATALOG_WALK:
			if (!catalog_walk_runs(q))
				break;
			/* What the ends tell is sorted before the rest of so many is read. */
			if (q->sort == SORT_NAME || q->sort == SORT_STATUS || (q->sort == SORT_STARTED && q->turned))
				catalog_sort_found(q);
			q->phase = CATALOG_FIGURES;
			q->at = q->ends ? q->count : 0;
			break;
		case CATALOG_FIGURES:
			if (q->at == q->count) {
				if (q->every)
					keep_wanted(q);
				catalog_finish_query(q);
				return;
			}
			run = q->found[q->at];
			assert(run != NULL);
			/* What is known about this run was not yet checked against its file. */
			if (q->every && find_queued(q, run->run_id) != run && !catalog_run_is_same(c, run))
				forget_read(run);
			if (run->figured) {
				q->at++;
				break;
			}
			loop_leave(c->loop, &q->task);
			note_file(c, run);
			q->overview = overview_hold(c->overviews, run->run_id);
			overview_read(q->overview, &q->waiter);
			return;
		}
	} while (clock_monotonic() < until);
}

void
catalog_ask(struct catalog *c, struct catalog_query *q)
{
	q->catalog = c;
	q->phase = CATALOG_SCAN;
	q->task.step = query_step;
	q->waiter.ready = overview_ready;
	loop_enter(c->loop, &q->task);
}

void
catalog_forget(struct catalog_query *q)
{
	if (q->catalog == NULL)
		return;
	loop_leave(q->catalog->loop, &q->task);
	if (q->overview != NULL) {
		overview_forget(q->overview, &q->waiter);
		overview_drop(q->overview);
	}
	for (size_t i = 0; i < q->queued_count; i++)
		summary_free(&q->queued[i].summary);
	free(q->queued);
	free(q->order);
	free(q->found);
	globs_free(&q->names);
	map_free(&q->beside);
	token_release(q->token);
	*q = (struct catalog_query){ .catalog = NULL };
}

/* ---- followers ---- */

/* Sends a run's figures if they differ from those sent last. */
static void
catalog_publish_figures(struct catalog *c, struct catalog_run *run)
{
	struct buffer text = BUFFER_INIT;
	struct writer w;
	uint64_t digest;

	writer_begin(&w, &text);
	catalog_write(run, &w);
	digest = bytes_key(text.data, text.len).low;
	buffer_free(&text);
	if (run->revision != 0 && run->told == digest)
		return;
	run->told = digest;
	catalog_publish_run(c, run);
}

static void
figures_ready(struct overview_waiter *waiter, const struct error *failed)
{
	struct catalog *c = (struct catalog *)(void *)((char *)waiter - offsetof(struct catalog, waiter));
	struct catalog_run *run = c->looked_at;

	if (failed == NULL) {
		catalog_store_figures(c, run, c->overview, false);
		catalog_publish_figures(c, run);
	}
	/* Keep the overview of a run that is alive, since it will soon be read again. */
	(run->alive ? overview_release : overview_drop)(c->overview);
	c->overview = NULL;
	c->looked_at = NULL;
	loop_enter(c->loop, &c->refresh);
}

/* Refreshes the next run that has changed, unless it was reported less than a second ago. The
 * search starts before the run that was refreshed last, so that it does not go through all runs
 * each time. */
static void
catalog_refresh_next(struct loop_task *task)
{
	struct catalog *c = (struct catalog *)(void *)((char *)task - offsetof(struct catalog, refresh));

	loop_leave(c->loop, task);
	if (c->looked_at != NULL)
		return;
	for (size_t left = c->count; left > 0; left--) {
		struct catalog_run *run = c->runs[c->cursor = (c->cursor > 0 ? c->cursor : c->count) - 1];
		char *path;
		bool there;

		if (!run->dirty || (run->told_at != 0 && c->loop->now - run->told_at < SECOND_MS))
			continue;
		run->dirty = false;
		path = storage_transcript(c->storage, run->run_id);
		there = access(path, F_OK) == 0;
		free(path);
		if (!there) {
			if (!run->gone)
				catalog_mark_run_gone(c, run);
			continue;
		}
		run->gone = false;
		if (!note_file(c, run) || run->size == 0)
			continue;
		c->looked_at = run;
		c->overview = overview_hold(c->overviews, run->run_id);
		overview_read(c->overview, &c->waiter);
		return;
	}
}

/* Watches the directory of the transcripts; it may have been replaced since. False if the watch is
 * new: changes before it were not reported. */
static bool
catalog_watch_directory(struct catalog *c)
{
	char *path = path_join(c->storage->root, "transcripts");
	struct stat status;
	bool there = stat(path, &status) == 0;
	bool watched = there && c->watch != -1 && status.st_ino == c->watched_inode &&
	    status.st_dev == c->watched_device;

	if (!watched && c->watch != -1)
		inotify_rm_watch(c->changes.fd, c->watch);
	if (!watched) {
		c->watch = there && c->changes.fd != -1 ?
		    inotify_add_watch(c->changes.fd, path, CHANGES) : -1;
		c->watched_inode = there ? status.st_ino : 0;
		c->watched_device = there ? status.st_dev : 0;
	}
	free(path);
	return watched;
}

/* Finds the runs that have changed since the directory was last watched. Of runs that were never
 * read, of which there may be many, only those whose file changed since then are read. */
static void
catalog_rescan_directory(struct catalog *c)
{
	int64_t since = c->watched_at - (int64_t)2 * SECOND_MS * 1000;

	if (catalog_scan_directory(c) != 0)
		return;
	for (size_t i = 0; i < c->count; i++) {
		struct catalog_run *run = c->runs[i];
		struct catalog_run file = { .size = 0 };

		if (run->gone || run->dirty)
			continue;
		memcpy(file.run_id, run->run_id, ID_SIZE);
		run->dirty = run->known ? !catalog_run_is_same(c, run) :
		    note_file(c, &file) && clock_of(&file.changed) >= since;
	}
	loop_enter(c->loop, &c->refresh);
}

/* Every second: refreshes runs that were reported lately, and those that may have died. */
static void
second_due(struct loop_timer *timer)
{
	struct catalog *c = (struct catalog *)(void *)((char *)timer - offsetof(struct catalog, second));

	if (!catalog_watch_directory(c))
		catalog_rescan_directory(c);
	c->watched_at = clock_wall();
	for (size_t i = 0; i < c->count; i++) {
		struct catalog_run *run = c->runs[i];

		if (!run->gone && run->known &&
		    (run->alive || strcmp(run->summary.status, "running") == 0) &&
		    storage_run_alive(c->storage, run->run_id) != run->alive)
			run->dirty = true;
	}
	loop_enter(c->loop, &c->refresh);
	loop_set(c->loop, &c->second, SECOND_MS);
}

static void
changes_ready(struct loop_source *source, uint32_t events)
{
	struct catalog *c = (struct catalog *)(void *)((char *)source - offsetof(struct catalog, changes));
	_Alignas(struct inotify_event) char bytes[16384];
	char run_id[ID_SIZE];
	ssize_t got;

	(void)events;
	while ((got = read(source->fd, bytes, sizeof bytes)) > 0)
		for (const char *at = bytes; at < bytes + got;) {
			const struct inotify_event *event = (const void *)at;

			if (event->mask & IN_Q_OVERFLOW)
				catalog_rescan_directory(c);
			else if (event->wd == c->watch && (event->mask & IN_IGNORED))
				c->watch = -1;
			else if (event->len > 0 && run_of_name(event->name, run_id))
				find_or_add(c, run_id)->dirty = true;
			at += sizeof *event + event->len;
		}
	loop_enter(c->loop, &c->refresh);
}

/* When the first follower comes, note which runs are running, so that their deaths are noticed. */
static void
first_done(struct catalog_query *q)
{
	struct catalog *c = q->catalog;

	c->asking = false;
	c->following = c->followers > 0;
	catalog_forget(q);
}

void
catalog_follow(struct catalog *c)
{
	struct error err;

	if (c->followers++ > 0)
		return;
	c->changes = (struct loop_source){ .fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC),
		.ready = changes_ready };
	if (c->changes.fd != -1 && loop_add(c->loop, &c->changes, EPOLLIN, &err) != 0)
		file_close(&c->changes.fd);
	catalog_watch_directory(c);
	c->watched_at = clock_wall();
	loop_set(c->loop, &c->second, SECOND_MS);
	if (!c->asking) {
		c->asking = true;
		c->first = (struct catalog_query){ .status = "running", .limit = SIZE_MAX,
			.children = true, .ends = true, .done = first_done };
		catalog_ask(c, &c->first);
	}
}

static void
stop_looking(struct catalog *c)
{
	if (c->changes.fd != -1)
		loop_remove(c->loop, &c->changes);
	file_close(&c->changes.fd);
	c->watch = -1;
	c->following = false;
	loop_unset(c->loop, &c->second);
	loop_leave(c->loop, &c->refresh);
	if (c->overview != NULL) {
		overview_forget(c->overview, &c->waiter);
		overview_drop(c->overview);
	}
	c->overview = NULL;
	c->looked_at = NULL;
}

void
catalog_unfollow(struct catalog *c)
{
	if (--c->followers == 0)
		stop_looking(c);
}

const struct catalog_run *
catalog_changed(const struct catalog *c, uint64_t after)
{
	const struct catalog_run *run = c->latest;

	if (run == NULL || run->revision <= after)
		return NULL;
	while (run->earlier != NULL && run->earlier->revision > after)
		run = run->earlier;
	return run;
}

/* ---- open and close ---- */

void
catalog_open(struct catalog *c, struct loop *loop, const struct storage *storage,
    struct overviews *overviews)
{
	*c = (struct catalog){ .loop = loop, .storage = storage, .overviews = overviews,
		.changes.fd = -1, .watch = -1, .second.due = second_due,
		.refresh.step = catalog_refresh_next, .waiter.ready = figures_ready };
}

void
catalog_close(struct catalog *c)
{
	if (c->loop == NULL)
		return;
	stop_looking(c);
	if (c->asking)
		catalog_forget(&c->first);
	for (size_t i = 0; i < c->count; i++) {
		forget_read(c->runs[i]);
		free(c->runs[i]);
	}
	free(c->runs);
	map_free(&c->by_id);
}
