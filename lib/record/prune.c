#include "record/prune.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/copytree.h"
#include "base/count.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/memory.h"
#include "record/audit.h"
#include "record/run_lock.h"
#include "record/summary.h"
#include "record/torn.h"
#include "record/transcript.h"

#define NONE SIZE_MAX
#define NESTING_LIMIT 64                       /* of runs inside of runs */
#define LEFT_OVER_AGE (INT64_C(24) * 3600 * 1000000) /* µs */
#define LATEST_TRIES 10
#define LOCK_TRIES 3
#define HELD_LIMIT 256 /* locks at once: each takes up a descriptor */

/* A run as it was found. */
struct found {
	char run_id[ID_SIZE];
	struct summary summary;
	int64_t size;      /* of its transcript, -1: it has none */
	int64_t bytes;     /* of all of it; 0 unless asked for */
	bool pruned;       /* is being removed already */
	bool protected;
	size_t root;       /* the outermost run around it; itself */
	size_t next;       /* another one that has the same root */
	bool held;         /* its lock is taken already, */
	int lock;          /* as this */
};

/* A replay that was left, or is being made. */
struct replay {
	char run_id[ID_SIZE];
	char *place;
};

struct pruner {
	const struct storage *storage;
	const struct prune_spec *spec;
	bool sync;
	int64_t now;
	struct found *runs; /* the newest start first */
	struct retention_item *items; /* one for each; those of roots count */
	size_t **origins;  /* theirs */
	size_t count;
	struct map index;
	struct replay *replays;
	size_t replay_count;
	bool failed;
	struct error *err;
};

/* Keeps the first, tells the others. */
static void
fail(struct pruner *p, const struct error *error)
{
	if (p->failed)
		p->spec->warn(error);
	else
		*p->err = *error;
	p->failed = true;
}

/* What there is. */

/* Calls take for each entry of a directory of the storage; one that is not there has
 * none. */
static int
each_name(struct pruner *p, const char *directory,
    void (*take)(struct pruner *p, const char *directory, const char *name), struct error *err)
{
	char *path = path_join(p->storage->root, directory);
	DIR *names = storage_opendir(path);
	struct dirent *found;
	int failed = 0;

	if (names == NULL && errno != ENOENT)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to read the directory");
	free(path);
	if (names == NULL)
		return failed;
	while ((found = readdir(names)) != NULL)
		take(p, directory, found->d_name);
	closedir(names);
	return 0;
}

static int64_t
changed(const struct stat *status)
{
	return (int64_t)status->st_mtim.tv_sec * 1000000 + status->st_mtim.tv_nsec / 1000;
}

/* What says nothing is as old as its file; where the system does not let it be read, it
 * may wait, or live. False: somebody has removed it just now. */
static bool
summarize(struct found *run, const char *path)
{
	struct error error;
	struct stat status;

	if (lstat(path, &status) != 0)
		return false;
	run->size = status.st_size;
	if (summary_read_ends(&run->summary, path, &error) == 0)
		return true;
	run->summary = (struct summary){ .name = memory_text(""), .status = "died",
		.started = changed(&status), .ended = changed(&status) };
	run->protected = error.code == ERROR_SYSTEM;
	return true;
}

static void
take_transcript(struct pruner *p, const char *directory, const char *name)
{
	const char *suffix = strlen(name) > ID_SIZE - 1 ? name + ID_SIZE - 1 : "";
	struct found *run;
	char *path;

	(void)directory;
	if ((strcmp(suffix, ".jsonl") != 0 && strcmp(suffix, ".pruned") != 0) ||
	    !id_valid(name, ID_SIZE - 1))
		return;
	p->runs = memory_array(p->runs, p->count + 1, sizeof *p->runs);
	run = &p->runs[p->count];
	memset(run, 0, sizeof *run);
	memcpy(run->run_id, name, ID_SIZE - 1);
	run->pruned = strcmp(suffix, ".pruned") == 0;
	path = run->pruned ? storage_pruned(p->storage, run->run_id) :
	    storage_transcript(p->storage, run->run_id);
	p->count += summarize(run, path);
	free(path);
	run->protected |= storage_run_alive(p->storage, run->run_id) ||
	    strcmp(run->summary.status, "waiting") == 0 ||
	    (p->spec->spared != NULL && strcmp(p->spec->spared, run->run_id) == 0);
}

static int
newest_first(const void *a, const void *b)
{
	const struct found *left = a, *right = b;

	if (left->summary.started != right->summary.started)
		return left->summary.started < right->summary.started ? 1 : -1;
	return strcmp(left->run_id, right->run_id);
}

/* NONE: it is not there. */
static size_t
find(const struct pruner *p, const char *run_id)
{
	const size_t *at = map_get(&p->index, run_id, strlen(run_id));

	return at != NULL ? *at : NONE;
}

/* A place holds one run. */
static void
take_replayed(struct pruner *p, const char *directory, const char *name)
{
	struct replay *replay;

	if (strlen(name) < ID_SIZE || !id_valid(name, ID_SIZE - 1) ||
	    strcmp(name + ID_SIZE - 1, ".jsonl") != 0)
		return;
	p->replays = memory_array(p->replays, p->replay_count + 1, sizeof *p->replays);
	replay = &p->replays[p->replay_count++];
	memset(replay, 0, sizeof *replay);
	memcpy(replay->run_id, name, ID_SIZE - 1);
	replay->place = memory_format("%s/%.*s", p->storage->root,
	    (int)(strlen(directory) - strlen("/transcripts")), directory);
}

static void
take_place(struct pruner *p, const char *directory, const char *name)
{
	char *transcripts;
	struct error none;

	if (!id_valid(name, strlen(name)))
		return;
	transcripts = memory_format("%s/%s/transcripts", directory, name);
	each_name(p, transcripts, take_replayed, &none);
	free(transcripts);
}

/* Of a run that is being replayed nothing may go. */
static void
protect_replayed(struct pruner *p)
{
	for (size_t i = 0; i < p->replay_count; i++) {
		const struct storage place = { .root = p->replays[i].place };
		size_t at = find(p, p->replays[i].run_id);

		if (at != NONE && storage_run_alive(&place, p->replays[i].run_id))
			p->runs[at].protected = true;
	}
}

static void
find_roots(struct pruner *p)
{
	for (size_t i = 0; i < p->count; i++) {
		size_t at = i, parent;

		for (int depth = 0; depth < NESTING_LIMIT &&
		    (parent = find(p, p->runs[at].summary.parent)) != NONE; depth++)
			at = parent;
		p->runs[i].root = at;
		p->runs[i].next = NONE;
	}
	for (size_t i = 0; i < p->count; i++) {
		struct found *root = &p->runs[p->runs[i].root];

		if (p->runs[i].root == i)
			continue;
		p->runs[i].next = root->next;
		root->next = i;
	}
}

static int
load(struct pruner *p, struct error *err)
{
	if (each_name(p, "transcripts", take_transcript, err) != 0 ||
	    each_name(p, "replays", take_place, err) != 0)
		return -1;
	if (p->count > 0)
		qsort(p->runs, p->count, sizeof *p->runs, newest_first);
	for (size_t i = 0; i < p->count; i++)
		map_put(&p->index, p->runs[i].run_id, ID_SIZE - 1, i);
	protect_replayed(p);
	find_roots(p);
	return 0;
}

/* Parts of a run. */

enum { PARTS = 6 };

/* All that the storage has of a run beside its transcript and its directory. */
static void
list_parts(const struct pruner *p, const char *run_id, char *parts[PARTS])
{
	char *transcript = storage_transcript(p->storage, run_id);

	parts[0] = torn_path(transcript);
	parts[1] = storage_blobs(p->storage, run_id);
	parts[2] = storage_input(p->storage, run_id);
	parts[3] = memory_format("%s.part", parts[2]);
	parts[4] = storage_snapshot(p->storage, run_id);
	parts[5] = NULL;
	free(transcript);
}

static void
free_parts(char *parts[PARTS])
{
	for (size_t i = 0; i < PARTS; i++)
		free(parts[i]);
}

static int64_t
weigh(const struct pruner *p, const struct found *run)
{
	int64_t bytes = run->size > 0 ? run->size : 0;
	char *parts[PARTS];

	list_parts(p, run->run_id, parts);
	for (size_t i = 0; parts[i] != NULL; i++)
		bytes = count_add(bytes, copytree_bytes(parts[i]));
	for (size_t i = 0; i < p->replay_count; i++)
		if (strcmp(p->replays[i].run_id, run->run_id) == 0)
			bytes = count_add(bytes, copytree_bytes(p->replays[i].place));
	free_parts(parts);
	return bytes;
}

static int
remove_part(struct pruner *p, const char *path)
{
	struct error error;

	if (copytree_remove(path, &error) == 0)
		return 0;
	fail(p, &error);
	return -1;
}

/* -1: something is left. */
static int
remove_parts(struct pruner *p, const char *run_id)
{
	char *parts[PARTS];
	int failed = 0;

	list_parts(p, run_id, parts);
	for (size_t i = 0; parts[i] != NULL; i++)
		failed |= remove_part(p, parts[i]);
	for (size_t i = 0; i < p->replay_count; i++)
		if (strcmp(p->replays[i].run_id, run_id) == 0)
			failed |= remove_part(p, p->replays[i].place);
	free_parts(parts);
	return failed;
}

/* The plan. */

/* Notes what a run of this root was forked from. */
static void
add_origin(struct pruner *p, size_t root, const char *forked_from)
{
	struct retention_item *item = &p->items[root];
	size_t origin = find(p, forked_from);

	if (origin == NONE || p->runs[origin].root == root)
		return;
	p->origins[root] = memory_array(p->origins[root], item->origin_count + 1,
	    sizeof *p->origins[root]);
	p->origins[root][item->origin_count++] = p->runs[origin].root;
	item->origins = p->origins[root];
}

static void
plan(struct pruner *p)
{
	const struct prune_spec *spec = p->spec;
	bool weighs = spec->rule.max_bytes != INT64_MAX || spec->told != NULL;

	p->items = memory_zero(p->count + 1, sizeof *p->items);
	p->origins = memory_zero(p->count + 1, sizeof *p->origins);
	for (size_t i = 0; i < p->count; i++)
		p->items[i].ended = INT64_MIN;
	for (size_t i = 0; i < p->count; i++) {
		struct found *run = &p->runs[i];
		struct retention_item *item = &p->items[run->root];

		run->bytes = weighs ? weigh(p, run) : 0;
		item->bytes = count_add(item->bytes, run->bytes);
		item->ended = run->summary.ended > item->ended ? run->summary.ended : item->ended;
		item->protected |= run->protected;
		item->selected = !p->runs[run->root].pruned && (spec->name == NULL ||
		    strcmp(p->runs[run->root].summary.name, spec->name) == 0);
		add_origin(p, run->root, run->summary.forked_from);
	}
	retention_plan(p->items, p->count, &spec->rule);
}

/* Whether a run goes: by the plan, or because that was decided before. */
static bool
goes(const struct pruner *p, size_t at)
{
	size_t root = p->runs[at].root;

	return p->items[root].goes || p->runs[at].pruned ||
	    (p->runs[root].pruned && !p->items[root].protected);
}

/* What is removed. */

static void
tell(const struct pruner *p, const struct found *run)
{
	const struct pruned told = { run->run_id, run->summary.name, run->summary.status,
		run->summary.ended, run->bytes };

	if (p->spec->told != NULL)
		p->spec->told(&told);
}

/* The run that `latest` names is there, or nothing is to be named. */
static bool
latest_stands(const struct storage *s)
{
	struct run_ref ref;
	struct error none;
	struct stat status;
	bool stands;

	if (storage_resolve(s, "@", &ref, &none) != 0)
		return true;
	stands = lstat(ref.path, &status) == 0;
	run_ref_free(&ref);
	return stands;
}

/* The newest run of a workflow at top level; "": there is none. */
static int
find_newest(const struct storage *s, char run_id[ID_SIZE], struct error *err)
{
	struct run_entry *entries;
	struct error none;
	size_t count;
	bool found = false;

	*run_id = '\0';
	if (storage_list(s, &entries, &count, err) != 0)
		return -1;
	for (size_t i = 0; i < count && !found; i++) {
		char *path = storage_transcript(s, entries[i].run_id);
		struct summary summary;

		if (summary_read_ends(&summary, path, &none) == 0) {
			found = !summary.child && !summary.step;
			summary_free(&summary);
		}
		if (found)
			memcpy(run_id, entries[i].run_id, ID_SIZE);
		free(path);
	}
	free(entries);
	return 0;
}

/* "": it names none. */
static int
set_latest(const struct storage *s, const char *run_id, struct error *err)
{
	char *latest;
	int failed;

	if (*run_id != '\0')
		return storage_set_latest(s, run_id, err);
	latest = path_join(s->root, "latest");
	failed = unlink(latest) == 0 || errno == ENOENT ? 0 :
	    error_errno(err, ERROR_SYSTEM, latest, "unable to remove");
	free(latest);
	return failed;
}

/* A run that begins meanwhile has its transcript before it becomes the latest: looking
 * once more finds it. */
static void
mend_latest(struct pruner *p)
{
	char newest[ID_SIZE], set[ID_SIZE] = "none yet";
	struct error error;

	if (latest_stands(p->storage))
		return;
	for (int i = 0; i < LATEST_TRIES; i++) {
		bool found = find_newest(p->storage, newest, &error) == 0;

		if (found && strcmp(newest, set) == 0)
			return;
		if (!found || set_latest(p->storage, newest, &error) != 0) {
			fail(p, &error);
			return;
		}
		memcpy(set, newest, sizeof set);
	}
}

/* What take() gives beside a descriptor. */
enum {
	NO_ROOM = -1,  /* for a lock, as the disk is full */
	NOT_OURS = -2  /* to remove */
};

/* Gives a lock back that take() took, or would have. */
static void
let_go(const struct pruner *p, const struct found *run, int lock)
{
	char *directory = storage_run_directory(p->storage, run->run_id);

	if (lock >= 0) {
		run_directory_drop(directory);
		close(lock);
	}
	free(directory);
}

/* The run's lock. One that another process just let go of may be had now. */
static int
lock_run(struct pruner *p, const struct found *run)
{
	char *directory = storage_run_directory(p->storage, run->run_id);
	struct error error;
	int lock = -1, reason = EAGAIN;

	for (int i = 0; i < LOCK_TRIES && lock < 0 && reason == EAGAIN; i++) {
		lock = run_lock_take_over(directory, &error);
		reason = errno;
		if (lock < 0 && storage_run_alive(p->storage, run->run_id))
			break;
	}
	free(directory);
	if (lock >= 0)
		return lock;
	if (reason == ENOSPC || reason == EDQUOT)
		return NO_ROOM;
	if (reason != EAGAIN)
		fail(p, &error);
	return NOT_OURS;
}

/* The run's lock; NOT_OURS also if the run is not as it was found. */
static int
take(struct pruner *p, const struct found *run)
{
	char *path = run->pruned ? storage_pruned(p->storage, run->run_id) :
	    storage_transcript(p->storage, run->run_id);
	int lock = lock_run(p, run);
	struct stat status;

	if (lock != NOT_OURS && run->size >= 0 &&
	    (lstat(path, &status) != 0 || status.st_size != run->size)) {
		let_go(p, run, lock);
		lock = NOT_OURS;
	}
	free(path);
	return lock;
}

/* From here on there is no such run. */
static int
commit(const struct pruner *p, struct found *run, struct error *err)
{
	char *from = storage_transcript(p->storage, run->run_id);
	char *to = storage_pruned(p->storage, run->run_id);
	int failed = 0;

	if (!run->pruned && rename(from, to) != 0)
		failed = error_errno(err, ERROR_SYSTEM, from, "unable to remove");
	else if (p->sync)
		failed = file_sync_name(to, err);
	run->pruned |= failed == 0;
	free(to);
	free(from);
	return failed;
}

/* Whether it is for this process to say that the run has gone; *claim is its own to
 * close then, -1 if there is none. What cannot be opened or locked, as on some file
 * systems, cannot be another's either. */
static bool
claim_end(const char *path, const struct found *run, int *claim)
{
	bool ours;

	*claim = storage_open(path, O_RDONLY, 0);
	if (*claim < 0)
		return run->size < 0 || errno != ENOENT;
	ours = flock(*claim, LOCK_EX | LOCK_NB) == 0 ? lock_named(*claim, path) :
	    errno != EWOULDBLOCK;
	if (!ours)
		close(*claim);
	return ours;
}

/* Removes the name, which is all that is left of the run. */
static void
remove_name(struct pruner *p, const struct found *run, const char *path)
{
	struct error error;

	if (unlink(path) == 0) {
		tell(p, run);
	} else if (errno != ENOENT) {
		error_errno(&error, ERROR_SYSTEM, path, "unable to remove");
		fail(p, &error);
	}
}

/* What cannot be removed keeps the name of the transcript, for the next to try again. So
 * that name goes last, after the run's directory, and with it the run's lock; another
 * that takes the lock then finds the name claimed. */
static void
clear(struct pruner *p, const struct found *run, int lock)
{
	const struct audit_prune line = { run->run_id, run->summary.name, run->summary.status };
	char *path = storage_pruned(p->storage, run->run_id);
	struct error error;
	int claim = -1;
	bool ends = remove_parts(p, run->run_id) == 0 && claim_end(path, run, &claim);

	if (ends && audit_pruned(p->storage, &line, &error) != 0)
		p->spec->warn(&error);
	let_go(p, run, lock);
	if (ends)
		remove_name(p, run, path);
	if (ends && claim >= 0)
		close(claim);
	free(path);
}

/* Gives back the locks of those inside of a root that still are held. */
static void
let_family_go(struct pruner *p, size_t root)
{
	for (size_t i = p->runs[root].next; i != NONE; i = p->runs[i].next) {
		if (p->runs[i].held)
			let_go(p, &p->runs[i], p->runs[i].lock);
		p->runs[i].held = false;
	}
}

/* Locks all that is inside of a root before any of it goes; false: one of them lives, or
 * is not as it was found, so all stay. A run may still come to live alone once its family
 * began to go: one beyond the limit, one that a full disk leaves without a lock, and one
 * that has begun inside since the runs were listed. */
static bool
take_family(struct pruner *p, size_t root)
{
	size_t held = 0;

	for (size_t i = p->runs[root].next; i != NONE; i = p->runs[i].next) {
		struct found *run = &p->runs[i];

		run->lock = take(p, run);
		if (run->lock == NOT_OURS) {
			let_family_go(p, root);
			return false;
		}
		run->held = held < HELD_LIMIT;
		if (run->held)
			held++;
		else
			let_go(p, run, run->lock);
	}
	return true;
}

static void remove_inner(struct pruner *p, size_t root);

/* A root's transcript goes last, so that what was inside of it is known until then. */
static void
remove_run(struct pruner *p, size_t at)
{
	struct found *run = &p->runs[at];
	struct error error;
	bool whole = run->root == at && !p->items[at].protected;
	int lock = run->held ? run->lock : take(p, run);

	run->held = false;
	if (lock == NOT_OURS)
		return;
	if (whole && !take_family(p, at)) {
		let_go(p, run, lock);
		return;
	}
	if (commit(p, run, &error) != 0) {
		fail(p, &error);
		if (whole)
			let_family_go(p, at);
		let_go(p, run, lock);
		return;
	}
	mend_latest(p);
	if (whole)
		remove_inner(p, at);
	clear(p, run, lock);
}

static void
remove_inner(struct pruner *p, size_t root)
{
	for (size_t i = p->runs[root].next; i != NONE; i = p->runs[i].next)
		remove_run(p, i);
}

/* The oldest first. */
static void
remove_all(struct pruner *p)
{
	for (size_t i = p->count; i > 0; i--) {
		bool inner = p->runs[i - 1].root != i - 1 && goes(p, p->runs[i - 1].root);

		if (!goes(p, i - 1) || (inner && !p->spec->dry))
			continue;
		if (p->spec->dry)
			tell(p, &p->runs[i - 1]);
		else
			remove_run(p, i - 1);
	}
}

static bool
is_left_over(const struct pruner *p, const struct found *run)
{
	int64_t before = p->now - LEFT_OVER_AGE;

	if (p->spec->rule.before != INT64_MIN && p->spec->rule.before < before)
		before = p->spec->rule.before;
	return find(p, run->run_id) == NONE && run->summary.ended < before &&
	    !storage_run_alive(p->storage, run->run_id);
}

static void
remove_left_over(struct pruner *p, const struct found *run)
{
	int lock;

	tell(p, run);
	map_put(&p->index, run->run_id, ID_SIZE - 1, 0); /* told once */
	if (!p->spec->dry && (lock = take(p, run)) != NOT_OURS)
		clear(p, run, lock);
}

/* What belongs to no transcript. */
static void
take_left_over(struct pruner *p, const char *directory, const char *name)
{
	char nobody[] = "";
	struct found run = { .size = -1, .summary = { .name = nobody, .status = "died" } };
	char *path = memory_format("%s/%s/%s", p->storage->root, directory, name);
	struct stat status;

	if (strlen(name) >= ID_SIZE - 1 && id_valid(name, ID_SIZE - 1) && lstat(path, &status) == 0) {
		memcpy(run.run_id, name, ID_SIZE - 1);
		run.summary.ended = changed(&status);
		run.bytes = p->spec->told != NULL ? copytree_bytes(path) : 0;
		if (is_left_over(p, &run))
			remove_left_over(p, &run);
	}
	free(path);
}

static void
sweep(struct pruner *p)
{
	static const char *const directories[] = { "runs", "blobs", "inputs", "snapshots",
		"transcripts" };
	struct error error;

	for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++)
		if (each_name(p, directories[i], take_left_over, &error) != 0)
			fail(p, &error);
}

static void
pruner_free(struct pruner *p)
{
	for (size_t i = 0; i < p->count; i++) {
		summary_free(&p->runs[i].summary);
		if (p->origins != NULL)
			free(p->origins[i]);
	}
	for (size_t i = 0; i < p->replay_count; i++)
		free(p->replays[i].place);
	free(p->replays);
	free(p->runs);
	free(p->items);
	free(p->origins);
	map_free(&p->index);
}

int
prune(const struct storage *s, const struct prune_spec *spec, struct error *err)
{
	struct pruner p = { .storage = s, .spec = spec, .now = clock_wall(), .index = MAP_INIT,
		.err = err };
	enum sync_mode mode;

	if (sync_mode_from_environment(&mode, err) != 0 || load(&p, err) != 0) {
		pruner_free(&p);
		return -1;
	}
	p.sync = mode != SYNC_NONE;
	plan(&p);
	remove_all(&p);
	if (spec->name == NULL)
		sweep(&p);
	if (!spec->dry)
		mend_latest(&p);
	pruner_free(&p);
	return p.failed ? -1 : 0;
}
