/*
 * A root first takes its own lock and those of all inside of it, as many as descriptors
 * allow, and only then renames transcripts and removes. The last name to go is claimed by
 * flock(2), so that one process alone says that a run has gone. `latest` is set, and looked
 * for again until two looks agree, as a run may begin between them.
 */
#include "run/pruner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/copytree.h"
#include "base/file.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/memory.h"
#include "run/audit.h"
#include "run/unreviewed.h"
#include "run/run_lock.h"
#include "transcript/sync_mode.h"
#include "transcript/transcript.h"

#define LEFT_OVER_AGE (INT64_C(24) * 3600 * 1000000) /* µs */
#define LATEST_TRIES 10
#define LOCK_TRIES 3
#define HELD_LIMIT 256 /* locks at once: each takes up a descriptor */

static int
remove_part(struct pruner *p, const char *path)
{
	struct error error;

	if (copytree_remove(path, &error) == 0)
		return 0;
	pruner_fail(p, &error);
	return -1;
}

/* -1: something is left. */
static int
remove_parts(struct pruner *p, const char *run_id)
{
	char **parts = pruner_parts(p, run_id);
	int failed = 0;

	for (size_t i = 0; parts[i] != NULL; i++)
		failed |= remove_part(p, parts[i]);
	for (size_t i = 0; i < p->replay_count; i++)
		if (strcmp(p->replays[i].run_id, run_id) == 0)
			failed |= remove_part(p, p->replays[i].place);
	list_free(parts);
	return failed;
}

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
			pruner_fail(p, &error);
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
		pruner_fail(p, &error);
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

	*claim = file_open_plain(path, O_RDONLY, 0);
	if (*claim < 0)
		return run->size < 0 || errno != ENOENT;
	ours = lock_file_take(*claim) == 0 ? lock_named(*claim, path) :
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
		pruner_fail(p, &error);
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
	for (size_t i = p->runs[root].next; i != PRUNER_NONE; i = p->runs[i].next) {
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

	for (size_t i = p->runs[root].next; i != PRUNER_NONE; i = p->runs[i].next) {
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
		pruner_fail(p, &error);
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
	for (size_t i = p->runs[root].next; i != PRUNER_NONE; i = p->runs[i].next)
		remove_run(p, i);
}

/* The oldest first. */
static void
remove_all(struct pruner *p)
{
	for (size_t i = p->count; i > 0; i--) {
		bool inner = p->runs[i - 1].root != i - 1 && pruner_goes(p, p->runs[i - 1].root);

		if (!pruner_goes(p, i - 1) || (inner && !p->spec->dry))
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
	return pruner_find(p, run->run_id) == PRUNER_NONE && run->summary.ended < before &&
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
		run.summary.ended = pruner_changed(&status);
		run.bytes = p->spec->told != NULL ? copytree_bytes(path) : 0;
		if (is_left_over(p, &run))
			remove_left_over(p, &run);
	}
	free(path);
}

/* The mark of a workspace that is gone, or of what was made in it: its path comes first. */
static void
take_workspace(struct pruner *p, const char *directory, const char *name)
{
	char *path = memory_format("%s/%s/%s", p->storage->root, directory, name);
	struct buffer workspace = BUFFER_INIT;
	struct stat status;

	if (*name != '.' && file_load(path, PATH_MAX, &workspace, NULL) == 0 &&
	    lstat(buffer_string(&workspace), &status) != 0 && errno == ENOENT)
		unlink(path);
	buffer_free(&workspace);
	free(path);
}

static void
sweep(struct pruner *p)
{
	static const char *const directories[] = { "runs", "blobs", "inputs", "snapshots",
		"transcripts" };
	struct error error;

	for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++)
		if (pruner_each(p, directories[i], take_left_over, &error) != 0)
			pruner_fail(p, &error);
	if (p->spec->dry)
		return;
	if (pruner_each(p, STORAGE_SANDBOXED, take_workspace, &error) != 0 ||
	    pruner_each(p, STORAGE_MADE, take_workspace, &error) != 0)
		pruner_fail(p, &error);
}

int
prune(const struct storage *s, const struct prune_spec *spec, struct error *err)
{
	struct pruner p = { .storage = s, .spec = spec, .now = clock_wall(), .index = MAP_INIT,
		.err = err };
	enum sync_mode mode;

	if (sync_mode_from_environment(&mode, err) != 0 || pruner_load(&p, err) != 0) {
		pruner_free(&p);
		return -1;
	}
	p.sync = mode != SYNC_NONE;
	pruner_plan(&p);
	remove_all(&p);
	if (spec->name == NULL)
		sweep(&p);
	if (!spec->dry)
		mend_latest(&p);
	pruner_free(&p);
	return p.failed ? -1 : 0;
}
