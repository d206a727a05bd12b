/*
 * When a line starts a child run, the child is read by recursion, so that its lines are delivered
 * where they belong. The watch only wakes the reader: a run has died if its lock is free and one
 * more read finds nothing. The last line of a transcript is read first, because the run may have
 * ended there. Ended runs are closed; otherwise a process that follows every run would run out of
 * descriptors.
 */
#include "model/follow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "io/file.h"
#include "model/waiting.h"
#include "storage/origin.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

#define DEPTH_LIMIT 64u
/* Runs that have ended are closed once so many are open: closing means creating the watch again. */
#define ENDED_OPEN 16

void
follow_begin(struct follow *f, const struct follow_callbacks *callbacks, bool children)
{
	memset(f, 0, sizeof *f);
	f->callbacks = callbacks;
	f->children = children;
	f->watch.fd = -1;
}

int64_t
follow_line_number(struct followed *run)
{
	char bytes[1 << 14];
	int64_t to = run->reader.line_start;

	if (run->counted_to > to)
		run->counted = run->counted_to = 0;
	while (run->counted_to < to) {
		int64_t left = to - run->counted_to;
		ssize_t n = pread(run->reader.fd, bytes,
		    left < (int64_t)sizeof bytes ? (size_t)left : sizeof bytes, run->counted_to);

		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n; i++)
			run->counted += bytes[i] == '\n';
		run->counted_to += n;
	}
	return run->counted + 1;
}

/* A child run whose start or end a line reports; run_id is "" if there is none. */
struct child {
	char run_id[ID_SIZE];
	bool ended;
	unsigned depth; /* levels below the run of the line */
};

/* Records what a line says about its run; sets *child if it starts or ends one. */
static void
follow_note_line(struct followed *run, const char *line, size_t len, struct child *child)
{
	struct event_view event;
	enum event_type type;
	long long code;

	child->run_id[0] = '\0';
	child->ended = false;
	if (event_peek(line, len, &run->head) != 0)
		return;
	type = run->head.type;
	if (run->started && type != EVENT_RUN_STARTED && type != EVENT_RUN_COMPLETED &&
	    type != EVENT_CALL_WORKFLOW_STARTED && type != EVENT_CALL_WORKFLOW_COMPLETED)
		return;
	if (event_view(line, len, &event) != 0)
		return;
	run->started = true;
	if (run->run_id[0] == '\0')
		event_copy_id(event.run_id, run->run_id);
	if (type == EVENT_RUN_STARTED) {
		run->end = RUN_GOING;
	} else if (type == EVENT_RUN_COMPLETED) {
		run->end = RUN_COMPLETED;
		if (span_integer(span_member(event.payload, KEY_EXIT_CODE), &code))
			run->exit_code = (int)code;
		else
			run->exit_code = span_is(span_member(event.payload, KEY_STATUS),
			    "success") ? STATUS_OK : STATUS_WORK;
	} else if (type == EVENT_CALL_WORKFLOW_STARTED || type == EVENT_CALL_WORKFLOW_COMPLETED) {
		child->ended = type == EVENT_CALL_WORKFLOW_COMPLETED;
		child->depth = event_path_depth(event.path) + 1;
		event_copy_id(event.child_run_id, child->run_id);
	}
}

/* Opens the transcript and reads its last line, so that the end of the run is known before the
 * other lines are read, or even if they never are. */
static int
open_run(struct follow *f, struct followed *run, struct error *err)
{
	struct child child;
	const char *line;
	size_t len;
	int got;

	if (reader_open(&run->reader, run->path, err) != 0)
		return -1;
	run->open = run->unread = true;
	if (f->live && watch_add(&f->watch, run->path, err) != 0)
		return -1;
	if (waiting_seek_end(&run->reader, err) != 0)
		return -1;
	while ((got = reader_next(&run->reader, &line, &len, err)) == 1)
		follow_note_line(run, line, len, &child);
	reader_seek(&run->reader, 0);
	return got < 0 ? -1 : 0;
}

static struct followed *
new_run(struct follow *f, const char *path, struct followed *parent, unsigned depth)
{
	struct followed *run = memory_zero(1, sizeof *run);

	run->path = memory_text(path);
	run->parent = parent;
	run->depth = depth;
	model_begin(&run->model, f->level);
	f->runs = memory_array(f->runs, f->count + 1, sizeof *f->runs);
	return f->runs[f->count++] = run;
}

static void
free_run(struct followed *run)
{
	if (run->open)
		reader_close(&run->reader);
	model_free(&run->model);
	free(run->path);
	free(run);
}

struct followed *
follow_add(struct follow *f, const char *path, const char run_id[ID_SIZE], struct error *err)
{
	struct followed *run = new_run(f, path, NULL, 0);

	memcpy(run->run_id, run_id, sizeof run->run_id);
	if (open_run(f, run, err) == 0)
		return run;
	f->count--;
	free_run(run);
	return NULL;
}

void
follow_live(struct follow *f)
{
	f->live = true;
	f->since = clock_wall();
	watch_open(&f->watch);
}

struct followed *
follow_find(const struct follow *f, const char *run_id)
{
	for (size_t i = 0; i < f->count; i++)
		if (strcmp(f->runs[i]->run_id, run_id) == 0)
			return f->runs[i];
	return NULL;
}

/* Adds a child, whose transcript is in a directory beside its parent's. NULL: there is no
 * transcript, the child is followed already, or it is nested too deep. */
static struct followed *
add_child(struct follow *f, struct followed *parent, const struct child *child,
    struct error *err)
{
	char *directory, *name, *path;
	struct followed *run;

	if (child->run_id[0] == '\0' || parent->depth >= DEPTH_LIMIT || follow_find(f, child->run_id))
		return NULL;
	directory = path_directory(parent->path);
	name = memory_format("%s.jsonl", child->run_id);
	path = path_join(directory, name);
	run = new_run(f, path, parent, parent->depth + child->depth);
	memcpy(run->run_id, child->run_id, sizeof run->run_id);
	INVARIANT(follow_find(f, child->run_id) == run && run->depth > parent->depth);
	/* Watch for the file to appear; errors are reported when it is read. */
	if (f->live)
		watch_add(&f->watch, directory, err);
	free(path);
	free(name);
	free(directory);
	return run;
}

/* The run ended without a run.completed event. */
static void
ended_badly(struct follow *f, struct followed *run, enum followed_end end)
{
	struct error warning;

	run->end = end;
	if (end == RUN_MISSING)
		error_set(&warning, ERROR_SYSTEM, run->path, "child run has no transcript");
	else
		error_set(&warning, ERROR_INTERRUPTED, run->run_id, "run died");
	f->callbacks->warn(f->callbacks->context, &warning);
}

/* 1: it is open; 0: it does not exist (yet), or is not to be read. */
static int
try_open(struct follow *f, struct followed *run, struct error *err)
{
	if (run->open)
		return 1;
	if (run->end == RUN_MISSING || run->parked)
		return 0;
	if (access(run->path, F_OK) == 0 || errno != ENOENT)
		return open_run(f, run, err) == 0 ? 1 : -1;
	if (!f->live || run->parent->end != RUN_GOING)
		ended_badly(f, run, RUN_MISSING);
	return 0;
}

static int
follow_read_run(struct follow *f, struct followed *run, struct error *err)
{
	struct child named;
	const char *line;
	size_t len;
	int got = try_open(f, run, err);

	if (got <= 0)
		return got;
	while ((got = reader_next(&run->reader, &line, &len, err)) == 1) {
		struct followed *child;

		follow_note_line(run, line, len, &named);
		/* What a child recorded is delivered before the line that reports its end. */
		child = named.ended ? follow_find(f, named.run_id) : NULL;
		if (child && child->parent == run && follow_read_run(f, child, err) != 0)
			return -1;
		if (f->callbacks->line(f->callbacks->context, run, line, len, err) != 0)
			return -1;
		child = f->children && !named.ended ? add_child(f, run, &named, err) : NULL;
		if (child && follow_read_run(f, child, err) != 0)
			return -1;
	}
	run->unread = false;
	return got;
}

int64_t
follow_began(struct followed *run)
{
	struct reader first;
	struct event_view event;
	struct error ignored;
	const char *line;
	size_t len;

	while (run->parent != NULL)
		run = run->parent;
	if (run->began != 0 || reader_open(&first, run->path, &ignored) != 0)
		return run->began;
	if (reader_next(&first, &line, &len, &ignored) == 1 && event_view(line, len, &event) == 0)
		run->began = event_wall(&event);
	reader_close(&first);
	return run->began;
}

/* A run that has ended is closed. Parents stand before their children. */
static bool
followed_holds(const struct follow *f, const struct followed *run)
{
	bool above = run->parent == NULL;

	for (size_t i = 0; !above && f->runs[i] != run; i++)
		above = f->runs[i] == run->parent;
	return above && !(run->parked && run->open) && (run->parent == NULL || f->children) &&
	    (run->parent == NULL) == (run->depth == 0) && run->counted <= run->counted_to;
}

int
follow_read(struct follow *f, struct error *err)
{
	for (size_t i = 0; i < f->count; i++)
		INVARIANT(followed_holds(f, f->runs[i]));
	for (size_t i = 0; i < f->count; i++)
		if (follow_read_run(f, f->runs[i], err) != 0)
			return -1;
	return 0;
}

int
follow_passed_over(struct follow *f, struct followed *run, struct error *err)
{
	int64_t position = run->reader.position;
	struct child named;
	const char *line;
	size_t len;
	int got = 1;

	reader_seek(&run->reader, 0);
	while (run->reader.position < position &&
	    (got = reader_next(&run->reader, &line, &len, err)) == 1) {
		struct followed *child;

		follow_note_line(run, line, len, &named);
		child = named.ended ? NULL : add_child(f, run, &named, err);
		if (!child || (got = try_open(f, child, err)) == 0)
			continue;
		if (got < 0 || reader_seek_last(&child->reader, 0, err) != 0 ||
		    follow_passed_over(f, child, err) != 0)
			return -1;
	}
	reader_seek(&run->reader, position);
	return got < 0 ? -1 : 0;
}

int
follow_check(struct follow *f, struct error *err)
{
	for (size_t i = 0; i < f->count; i++) {
		struct followed *run = f->runs[i];
		int64_t position = run->reader.position;

		if (!run->open || run->end != RUN_GOING || transcript_alive(run->path, run->run_id))
			continue;
		if (follow_read_run(f, run, err) != 0)
			return -1;
		if (run->end == RUN_GOING && run->reader.position == position)
			ended_badly(f, run, RUN_DIED);
	}
	return 0;
}

/* Whether the open file is still the one at this path: a run that was opened after the replacement
 * has the new file already. */
static bool
is_same_file(const struct followed *run)
{
	struct stat open, named;

	return fstat(run->reader.fd, &open) == 0 && stat(run->path, &named) == 0 &&
	    open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

int
follow_replaced(struct follow *f, struct followed *run, int64_t same, struct error *err)
{
	int64_t position = run->open ? run->reader.position : run->position;

	position = position < same ? position : same;
	run->position = position;
	INVARIANT(position >= 0 && position <= same);
	if (!run->open || is_same_file(run))
		return 0;
	reader_close(&run->reader);
	run->open = false;
	model_free(&run->model);
	model_begin(&run->model, f->level);
	run->counted = run->counted_to = 0;
	run->end = RUN_GOING;
	if (open_run(f, run, err) != 0)
		return -1;
	reader_seek(&run->reader, position);
	return 0;
}

bool
follow_over(const struct follow *f)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->runs[i]->end == RUN_GOING)
			return false;
	return true;
}

/* Closes runs that have ended and were read to the end; keeps their positions, as a run may be
 * resumed. */
static int
park_ended(struct follow *f, struct error *err)
{
	size_t ended = 0;

	for (size_t i = 0; i < f->count; i++)
		ended += f->runs[i]->open && !f->runs[i]->unread && f->runs[i]->end != RUN_GOING;
	if (ended < ENDED_OPEN)
		return 0;
	for (size_t i = 0; i < f->count; i++) {
		struct followed *run = f->runs[i];

		if (!run->open || run->unread || run->end == RUN_GOING)
			continue;
		INVARIANT(!run->parked);
		run->parked = true;
		run->position = run->reader.position;
		run->open = false;
		reader_close(&run->reader);
	}
	/* Watches cannot be removed one by one, so all are made again. */
	watch_close(&f->watch);
	watch_open(&f->watch);
	if (f->latest_directory && watch_add(&f->watch, f->latest_directory, err) != 0)
		return -1;
	for (size_t i = 0; i < f->count; i++)
		if (f->runs[i]->open && watch_add(&f->watch, f->runs[i]->path, err) != 0)
			return -1;
	return 0;
}

/* Whether the run has no parent according to its first line. */
static bool
is_top_level(const char *path)
{
	struct event_view event;
	struct reader reader;
	struct error none;
	const char *line;
	size_t len;
	bool top;

	if (reader_open(&reader, path, &none) != 0)
		return false;
	top = reader_next(&reader, &line, &len, &none) == 1 &&
	    event_view(line, len, &event) == 0 && event.parent_run_id.at == NULL;
	reader_close(&reader);
	return top;
}

/* µs: the first line of a run may be later by this much than that of a run that started after
 * it. */
#define LATE 10000000

/* Adds the runs of this storage that started since the last call, the oldest first, except the
 * present latest run: its position among them is unknown until it has a line. */
static int
follow_add_missed_runs(struct follow *f, const struct storage *s, const char *latest,
    struct error *err)
{
	struct run_entry *entries;
	int64_t since = f->since;
	size_t count;
	int failed = 0;

	if (storage_list(s, &entries, &count, err) != 0)
		return -1;
	while (count > 0 && !failed) {
		struct run_entry *entry = &entries[--count];
		char *path = storage_transcript(s, entry->run_id);

		if (entry->started > since && strcmp(entry->run_id, latest) != 0 &&
		    !follow_find(f, entry->run_id) && is_top_level(path) &&
		    origin_check_own(s, entry->run_id, NULL) == 0) {
			failed = follow_add(f, path, entry->run_id, err) == NULL;
			if (entry->started - LATE > f->since)
				f->since = entry->started - LATE;
		}
		free(path);
	}
	free(entries);
	return failed ? -1 : 0;
}

bool
follow_find_latest(const struct storage *s, struct run_ref *ref)
{
	struct error none_yet;

	if (storage_resolve(s, NULL, ref, &none_yet) != 0)
		return false;
	if (access(ref->path, F_OK) == 0)
		return true;
	run_ref_free(ref);
	return false;
}

int
follow_latest(struct follow *f, const struct storage *s, struct followed **run,
    struct error *err)
{
	struct followed *known;
	struct run_ref ref;
	int failed = 0;

	*run = NULL;
	if (!f->latest_directory) {
		f->latest_directory = memory_text(s->root);
		if (watch_add(&f->watch, s->root, err) != 0)
			return -1;
	}
	if (!follow_find_latest(s, &ref))
		return 0;
	known = follow_find(f, ref.run_id);
	if (!known && f->every)
		failed = follow_add_missed_runs(f, s, ref.run_id, err);
	/* The latest run is a new one, or one that was resumed after its end. */
	if (!failed && (!known || known->parked)) {
		failed = park_ended(f, err);
		if (!failed && !known) {
			failed = (*run = follow_add(f, ref.path, ref.run_id, err)) == NULL;
		} else if (!failed) {
			known->parked = false;
			failed = open_run(f, known, err);
			if (!failed) {
				reader_seek(&known->reader, known->position);
				*run = known;
			}
		}
	}
	run_ref_free(&ref);
	return failed ? -1 : 0;
}

const struct followed *
follow_root(const struct followed *run)
{
	while (run->parent)
		run = run->parent;
	return run;
}

void
follow_end(struct follow *f)
{
	for (size_t i = 0; i < f->count; i++)
		free_run(f->runs[i]);
	free(f->runs);
	free(f->latest_directory);
	if (f->live)
		watch_close(&f->watch);
}
