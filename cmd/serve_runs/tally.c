/*
 * A look reads the directory, then the state of each file, and sorts. What a run has told is kept as an array
 * of entries, and a text with their names and reasons, each once.
 */
#include "serve_runs/tally.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "serve_runs/log.h"

#define PIECE_MS 4
#define LOOK_MS 1000            /* between two looks */
#define TALLY_MOST ((size_t)96 << 20)
#define UNUSED_MS 600000
#define AGAIN_TIMES 20          /* as long as a run took to read, it is not read again */
#define REASON_MOST 200
/* A clock of another machine may be ahead of this one's. */
#define SLACK INT64_C(86400000000)

/* Names and reasons are places in the run's texts; while the run is being read, those of reasons are one
 * higher. */
struct tally_entry {
	int64_t wall, ms, cost;
	uint32_t seq, name, reason; /* reason 0: it has not failed */
	uint32_t tokens[2];
	uint8_t by;
	bool ended, cost_unknown;
};

/* ---- runs ---- */

static struct tally_run *
tally_find_or_add(struct tally *t, const char *run_id)
{
	const size_t *place = map_get(&t->by_id, run_id, ID_SIZE - 1);
	struct tally_run *run;

	if (place != NULL)
		return (struct tally_run *)*place;
	run = memory_zero(1, sizeof *run);
	memcpy(run->run_id, run_id, ID_SIZE);
	map_put(&t->by_id, run_id, ID_SIZE - 1, (size_t)run);
	if (t->count == t->room) {
		t->room = t->room == 0 ? 64 : t->room * 2;
		t->runs = memory_array(t->runs, t->room, sizeof *t->runs);
	}
	t->runs[t->count++] = run;
	return run;
}

static void
tally_forget_read(struct tally *t, struct tally_run *run)
{
	t->bytes -= run->bytes;
	free(run->entries);
	free(run->texts);
	run->entries = NULL;
	run->texts = NULL;
	run->count = run->bytes = 0;
	run->inode = 0;
}

static void
tally_stop_reading(struct tally *t)
{
	if (t->reads == NULL)
		return;
	figures_reading_end(&t->reading);
	free(t->new.entries);
	t->new.entries = NULL;
	map_free(&t->places);
	t->places = (struct map)MAP_INIT;
	buffer_clear(&t->texts);
	t->reads = NULL;
}

static void
tally_forget(struct tally *t)
{
	tally_stop_reading(t);
	buffer_free(&t->texts);
	loop_leave(t->loop, &t->task);
	for (size_t i = 0; i < t->count; i++) {
		tally_forget_read(t, t->runs[i]);
		free(t->runs[i]);
	}
	free(t->runs);
	map_free(&t->by_id);
	t->runs = NULL;
	t->by_id = (struct map)MAP_INIT;
	t->count = t->room = t->bytes = t->at = 0;
	t->looked_at = 0;
	t->phase = TALLY_IDLE;
}

static void
tally_unused_due(struct loop_timer *timer)
{
	struct tally *t = (struct tally *)(void *)((char *)timer - offsetof(struct tally, unused));

	if (t->holders > 0)
		loop_set(t->loop, &t->unused, UNUSED_MS);
	else
		tally_forget(t);
}

/* ---- reading a run ---- */

/* The place of a text in the texts of the run that is being read. */
static uint32_t
tally_text(struct tally *t, const char *text, size_t most)
{
	size_t len = strlen(text);
	const size_t *place;
	size_t at;

	if (len > most)
		len = utf8_whole(text, most);
	place = map_get(&t->places, text, len);
	if (place != NULL)
		return (uint32_t)*place;
	at = t->texts.len;
	map_put(&t->places, text, len, at);
	buffer_append(&t->texts, text, len);
	buffer_byte(&t->texts, '\0');
	return (uint32_t)at;
}

static uint32_t
tally_number(int64_t number)
{
	return number < 0 ? 0 : number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
}

static void
tally_take_figure(void *context, const struct figure *figure)
{
	struct tally *t = context;
	struct tally_run *run = &t->new;

	if ((run->count & (run->count + 1)) == 0 || run->count == 0)
		run->entries = memory_array(run->entries, run->count * 2 + 2, sizeof *run->entries);
	run->entries[run->count++] = (struct tally_entry){ .wall = figure->wall, .ms = figure->ms,
		.cost = figure->cost, .seq = tally_number(figure->seq),
		.name = tally_text(t, figure->name, SIZE_MAX),
		.reason = figure->reason != NULL ? 1 + tally_text(t, figure->reason, REASON_MOST) : 0,
		.tokens = { tally_number(figure->tokens[0]), tally_number(figure->tokens[1]) },
		.by = (uint8_t)figure->by, .ended = figure->ended, .cost_unknown = figure->cost_unknown };
}

static bool
tally_note_file(const struct tally *t, struct tally_run *run)
{
	char *path = storage_transcript(t->storage, run->run_id);
	struct stat status;
	bool there = lstat(path, &status) == 0 && S_ISREG(status.st_mode);

	free(path);
	run->seen = there ? clock_of(&status.st_mtim) : 0;
	run->inode = there ? status.st_ino : 0;
	run->size = there ? status.st_size : 0;
	run->changed = there ? status.st_mtim : (struct timespec){ 0, 0 };
	return there;
}

static void
tally_begin_reading(struct tally *t, struct tally_run *run)
{
	t->reads = run;
	t->new = (struct tally_run){ .count = 0 };
	memcpy(t->new.run_id, run->run_id, ID_SIZE);
	tally_note_file(t, &t->new);
	buffer_clear(&t->texts);
	t->places = (struct map)MAP_INIT;
	t->began = clock_monotonic();
	figures_reading_begin(&t->reading, &t->cost, UINT32_MAX, tally_take_figure, t);
}

static void
tally_end_reading(struct tally *t, const struct error *failed)
{
	struct tally_run *run = t->reads, *new = &t->new;
	const char *name = t->reading.model.name != NULL ? t->reading.model.name : "";
	const size_t len = strlen(name) + 1;

	tally_forget_read(t, run);
	run->inode = new->inode;
	run->size = new->size;
	run->changed = new->changed;
	run->due = false;
	run->read_at = clock_monotonic();
	run->took = run->read_at - t->began;
	if (failed != NULL && new->inode != 0 && !run->unreadable)
		log_warn(failed);
	run->unreadable = failed != NULL && new->inode != 0;
	if (new->count > 0)
		run->entries = memory_array(new->entries, new->count, sizeof *run->entries);
	new->entries = NULL;
	run->count = new->count;
	/* The name stands first; the places of the others are behind it. */
	run->texts = memory_alloc(len + t->texts.len);
	memcpy(run->texts, name, len);
	if (t->texts.len > 0)
		memcpy(run->texts + len, t->texts.data, t->texts.len);
	for (size_t i = 0; i < run->count; i++) {
		run->entries[i].name += (uint32_t)len;
		if (run->entries[i].reason != 0)
			run->entries[i].reason += (uint32_t)len - 1;
	}
	run->bytes = run->count * sizeof *run->entries + len + t->texts.len;
	t->bytes += run->bytes;
	tally_stop_reading(t);
}

/* ---- looking, and reading what has changed ---- */

static int
tally_compare_runs(const void *a, const void *b)
{
	const struct tally_run *one = *(struct tally_run *const *)a, *other = *(struct tally_run *const *)b;

	if (one->seen != other->seen)
		return one->seen > other->seen ? -1 : 1;
	return strcmp(one->run_id, other->run_id);
}

static int
tally_scan_directory(struct tally *t)
{
	char run_id[ID_SIZE];
	struct error err;
	DIR *directory;

	if (storage_names(t->storage, "transcripts", &directory, &err) != 0) {
		log_warn(&err);
		return -1;
	}
	while (storage_next_run(directory, run_id))
		tally_find_or_add(t, run_id);
	return 0;
}

/* Notes whether the file has changed since it was read. */
static void
tally_look_at_run(struct tally *t, struct tally_run *run)
{
	struct tally_run now = { .count = 0 };
	const int64_t since = clock_monotonic() - run->read_at;

	memcpy(now.run_id, run->run_id, ID_SIZE);
	if (!tally_note_file(t, &now)) {
		tally_forget_read(t, run);
		run->due = false;
		run->seen = 0;
		return;
	}
	run->seen = now.seen;
	run->due = (now.inode != run->inode || now.size != run->size || now.changed.tv_sec != run->changed.tv_sec ||
	    now.changed.tv_nsec != run->changed.tv_nsec) && (run->read_at == 0 || since >= run->took * AGAIN_TIMES);
}

/* Whether a further run may be read: for that, what is over the limit is forgotten, of the runs changed
 * longest ago, as long as they were changed before it. */
static bool
tally_has_room(struct tally *t)
{
	for (size_t i = t->count; i > t->at + 1 && t->bytes > t->most; i--)
		if (t->runs[i - 1]->texts != NULL) {
			tally_forget_read(t, t->runs[i - 1]);
			t->runs[i - 1]->due = true;
		}
	return t->bytes <= t->most;
}

static void
tally_step(struct loop_task *task)
{
	struct tally *t = (struct tally *)(void *)((char *)task - offsetof(struct tally, task));
	const int64_t until = clock_monotonic() + PIECE_MS;
	struct error err;
	char *path;
	int got;

	do {
		if (t->phase == TALLY_LOOK && t->at < t->count) {
			tally_look_at_run(t, t->runs[t->at++]);
		} else if (t->phase == TALLY_LOOK) {
			if (t->holders > 0)
				return;
			if (t->count > 0)
				qsort(t->runs, t->count, sizeof *t->runs, tally_compare_runs);
			t->phase = TALLY_READ;
			t->at = 0;
		} else if (t->reads != NULL) {
			path = storage_transcript(t->storage, t->reads->run_id);
			t->reading.until = until;
			got = figures_reading_go(&t->reading, path, &err);
			free(path);
			if (got == 1)
				return;
			tally_end_reading(t, got != 0 ? &err : NULL);
			t->at++;
		} else if (t->at < t->count && !t->runs[t->at]->due) {
			t->at++;
		} else if (t->at < t->count && tally_has_room(t)) {
			tally_begin_reading(t, t->runs[t->at]);
		} else {
			t->phase = TALLY_IDLE;
			loop_leave(t->loop, task);
			return;
		}
	} while (clock_monotonic() < until);
}

void
tally_refresh(struct tally *t)
{
	const int64_t now = clock_monotonic();

	loop_set(t->loop, &t->unused, UNUSED_MS);
	if (t->phase != TALLY_IDLE || (t->looked_at != 0 && now - t->looked_at < LOOK_MS))
		return;
	t->looked_at = now;
	t->unread = tally_scan_directory(t) != 0;
	t->phase = TALLY_LOOK;
	t->at = 0;
	loop_enter(t->loop, &t->task);
}

/* ---- for requests ---- */

bool
tally_run_may_tell(const struct tally_run *run, int64_t since)
{
	return run->seen != 0 && run->seen >= since - SLACK;
}

void
tally_progress(const struct tally *t, int64_t since, struct tally_progress *p)
{
	*p = (struct tally_progress){ .complete = t->phase != TALLY_LOOK };
	for (size_t i = 0; i < t->count; i++) {
		const struct tally_run *run = t->runs[i];

		if (!tally_run_may_tell(run, since))
			continue;
		p->runs++;
		if (run->texts != NULL)
			p->read++;
		else if (t->phase == TALLY_IDLE && run->seen > p->whole_since)
			p->whole_since = run->seen;
		p->unreadable += run->unreadable;
		if (run->due && t->phase != TALLY_IDLE)
			p->complete = false;
	}
}

const char *
tally_run_name(const struct tally_run *run)
{
	return run->texts != NULL ? run->texts : "";
}

void
tally_each(const struct tally_run *run, enum figures_by by,
    void (*take)(void *context, const struct figure *figure), void *context)
{
	for (size_t i = 0; i < run->count; i++) {
		const struct tally_entry *e = &run->entries[i];
		struct figure figure = { .by = by, .run_id = run->run_id, .seq = e->seq, .wall = e->wall,
			.ended = e->ended, .ms = e->ms, .tokens = { e->tokens[0], e->tokens[1] }, .cost = e->cost,
			.cost_unknown = e->cost_unknown };

		if (e->by != by)
			continue;
		figure.name = run->texts + e->name;
		figure.reason = e->reason != 0 ? run->texts + e->reason : NULL;
		take(context, &figure);
	}
}

void
tally_open(struct tally *t, struct loop *loop, const struct storage *storage)
{
	struct error err;

	*t = (struct tally){ .loop = loop, .storage = storage, .most = TALLY_MOST,
		.task.step = tally_step, .unused.due = tally_unused_due };
	t->priced = cost_begin(&t->cost, &err) == 0;
	if (!t->priced)
		log_warn(&err);
}

void
tally_close(struct tally *t)
{
	if (t->loop == NULL)
		return;
	loop_unset(t->loop, &t->unused);
	tally_forget(t);
	cost_free(&t->cost);
}
