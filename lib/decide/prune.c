/*
 * The first and last lines of all transcripts tell which runs exist; they are sorted, the newest
 * first. For each run, its root is found, that is the outermost run around it, and each root has a
 * linked list of the runs inside it. Only roots are checked against the rule; sizes are computed
 * only if the rule or the caller needs them. Before a root is removed, its lock and those of all
 * runs inside are taken, as many as there are descriptors for; only then transcripts are renamed
 * and files removed. The file that is removed last is locked by flock(2), so that only one process
 * reports that a run was removed. At the end `latest` is set again, and once more if a new run has
 * begun meanwhile.
 */
#include "decide/prune.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/count.h"
#include "base/digest.h"
#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "io/copytree.h"
#include "io/file.h"
#include "io/lock.h"
#include "model/model.h"
#include "model/summary.h"
#include "storage/audit.h"
#include "storage/mailbox.h"
#include "storage/origin.h"
#include "storage/run_lock.h"
#include "storage/session.h"
#include "transcript/layout.h"
#include "transcript/sync_mode.h"
#include "transcript/torn.h"
#include "transcript/transcript.h"
#include "workspace/sandboxed_times.h"
#include "workspace/unreviewed.h"

#define NESTING_LIMIT 64 /* most levels of runs inside runs */
#define LEFT_OVER_AGE (INT64_C(24) * 3600 * 1000000) /* µs */
#define LATEST_TRIES 10
#define LOCK_TRIES 3
#define HELD_LIMIT 256 /* most locks at a time: each needs a descriptor */
#define NO_RUN SIZE_MAX

/* A run that exists. */
struct found {
	char run_id[ID_SIZE];
	struct summary summary;
	int64_t size;      /* of its transcript; -1: there is none */
	int64_t bytes;     /* of all its files; 0 if not needed */
	bool pruned;       /* an earlier prune has begun to remove it */
	bool protected;
	bool elsewhere;    /* recorded elsewhere: it has an origin file */
	size_t root;       /* index of the outermost run around it, or its own */
	size_t next;       /* another run with the same root */
	bool held;         /* its lock was already taken */
	int lock;          /* descriptor of that lock */
	int origin;        /* descriptor of origin_hold(), while the run is locked */
};

/* A replay that was kept, or is in progress. */
struct replay {
	char run_id[ID_SIZE];
	char *place;
};

struct pruner {
	const struct storage *storage;
	const struct prune_spec *spec;
	bool sync;
	int64_t now;
	struct found *runs; /* sorted by start, the newest first */
	struct retention_item *items; /* one for each run, but only those of roots are used */
	size_t **origins;  /* for each run, its item's origins */
	size_t count;
	struct map index;
	struct map names;  /* names of the runs that are kept, and digests of these names */
	struct replay *replays;
	size_t replay_count;
	bool failed;
	struct error *err;
};

/* Stores the first error, and passes the others to warn(). */
static void
prune_keep_error(struct pruner *p, const struct error *error)
{
	if (p->failed)
		p->spec->warn(error);
	else
		*p->err = *error;
	p->failed = true;
}

/* Calls take() for each entry of a directory of the storage; does nothing if that is missing. */
static int
each_name(struct pruner *p, const char *directory,
    void (*take)(struct pruner *p, const char *directory, const char *name), struct error *err)
{
	const struct dirent *found;
	DIR *names;

	if (storage_names(p->storage, directory, &names, err) != 0)
		return -1;
	while (names != NULL && (found = readdir(names)) != NULL)
		take(p, directory, found->d_name);
	if (names != NULL)
		closedir(names);
	return 0;
}

/* ---- which runs exist ---- */

/* Adds the run of a transcript to the list. If the transcript cannot be parsed, its file's time is
 * used; if the system does not let us read it, the run may be alive or waiting, so it is kept. If
 * the file is gone, the run has just been removed. */
static void
prune_add_transcript(struct pruner *p, const char *directory, const char *name)
{
	const char *suffix = strlen(name) > ID_SIZE - 1 ? name + ID_SIZE - 1 : "";
	struct found *run;
	struct stat status;
	struct error error;
	char *path;

	if ((strcmp(suffix, ".jsonl") != 0 && strcmp(suffix, ".pruned") != 0) ||
	    !id_valid(name, ID_SIZE - 1))
		return;
	path = memory_format("%s/%s/%s", p->storage->root, directory, name);
	if (lstat(path, &status) == 0) {
		p->runs = memory_array(p->runs, p->count + 1, sizeof *p->runs);
		run = &p->runs[p->count++];
		*run = (struct found){ .size = status.st_size,
			.pruned = strcmp(suffix, ".pruned") == 0 };
		memcpy(run->run_id, name, ID_SIZE - 1);
		if (summary_read_ends(&run->summary, path, &error) != 0) {
			run->summary = (struct summary){ .name = memory_text(""), .status = "died",
				.started = clock_of(&status.st_mtim),
				.ended = clock_of(&status.st_mtim) };
			run->protected = error.code == ERROR_SYSTEM;
		}
		run->elsewhere = origin_check_own(p->storage, run->run_id, NULL) != 0;
		/* Times in a run that was recorded elsewhere were written by others: use the file's
		 * time. */
		if (run->elsewhere)
			run->summary.started = run->summary.ended = clock_of(&status.st_mtim);
		run->protected |= storage_run_alive(p->storage, run->run_id) ||
		    (strcmp(run->summary.status, "waiting") == 0 && !run->elsewhere) ||
		    (p->spec->spared != NULL && strcmp(p->spec->spared, run->run_id) == 0);
	}
	free(path);
}

/* Adds the run of a replay's directory, which contains one transcript. */
static void
prune_add_replay(struct pruner *p, const char *directory, const char *name)
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
prune_add_replay_place(struct pruner *p, const char *directory, const char *name)
{
	char *transcripts;
	struct error none;

	if (!id_valid(name, strlen(name)))
		return;
	transcripts = memory_format("%s/%s/transcripts", directory, name);
	each_name(p, transcripts, prune_add_replay, &none);
	free(transcripts);
}

static int
newest_first(const void *a, const void *b)
{
	const struct found *left = a, *right = b;

	if (left->summary.started != right->summary.started)
		return left->summary.started < right->summary.started ? 1 : -1;
	return strcmp(left->run_id, right->run_id);
}

/* Returns NO_RUN if there is none. */
static size_t
prune_find_run(const struct pruner *p, const char *run_id)
{
	const size_t *at = map_get(&p->index, run_id, strlen(run_id));

	return at != NULL ? *at : NO_RUN;
}

/* Keeps the run of the latest completed call of a session: the next call goes on with it. */
static int
prune_keep_session(struct pruner *p, const char *name, struct error *err)
{
	struct session session;
	bool kept = false;

	if (session_read(&session, p->storage, name, err) != 0) {
		session_leave(&session);
		return -1;
	}
	for (size_t i = session.count; !kept && i-- > 0;) {
		const struct session_call *call = &session.calls[i];
		const size_t at = prune_find_run(p, call->run_id);
		struct found *run = at != NO_RUN ? &p->runs[at] : NULL;
		char *path = storage_transcript(p->storage, call->run_id);
		struct error ignored;
		struct model m;

		model_begin(&m, MODEL_EVENTS);
		if (run != NULL && !run->pruned && model_read_file(&m, path, &ignored) == 0)
			for (const struct model_call *c = m.first; c != NULL && !kept; c = c->next)
				kept = c->state == CALL_SUCCEEDED && strcmp(c->id, call->call) == 0;
		if (kept)
			run->protected = true;
		model_free(&m);
		free(path);
	}
	session_leave(&session);
	return 0;
}

static int
prune_keep_sessions(struct pruner *p, struct error *err)
{
	char **names = NULL;
	int failed = session_names(p->storage, &names, err);

	for (char **name = names; failed == 0 && name != NULL && *name != NULL; name++)
		failed = prune_keep_session(p, *name, err);
	list_free(names);
	return failed;
}

/* Finds the runs and replays, and the root of each. */
static int
prune_load_runs(struct pruner *p, struct error *err)
{
	if (each_name(p, "transcripts", prune_add_transcript, err) != 0 ||
	    each_name(p, "replays", prune_add_replay_place, err) != 0)
		return -1;
	if (p->count > 0)
		qsort(p->runs, p->count, sizeof *p->runs, newest_first);
	for (size_t i = 0; i < p->count; i++)
		map_put(&p->index, p->runs[i].run_id, ID_SIZE - 1, i);

	if (!p->spec->sessions && prune_keep_sessions(p, err) != 0)
		return -1;
	/* Keep runs that are being replayed. */
	for (size_t i = 0; i < p->replay_count; i++) {
		const struct storage place = { .root = p->replays[i].place };
		size_t at = prune_find_run(p, p->replays[i].run_id);

		if (at != NO_RUN && storage_run_alive(&place, p->replays[i].run_id))
			p->runs[at].protected = true;
	}

	for (size_t i = 0; i < p->count; i++) {
		size_t at = i, parent;

		for (int depth = 0; depth < NESTING_LIMIT &&
		    (parent = prune_find_run(p, p->runs[at].summary.parent)) != NO_RUN &&
		    p->runs[parent].elsewhere == p->runs[i].elsewhere; depth++)
			at = parent;
		p->runs[i].root = at;
		p->runs[i].next = NO_RUN;
	}
	for (size_t i = 0; i < p->count; i++) {
		struct found *root = &p->runs[p->runs[i].root];

		if (p->runs[i].root == i)
			continue;
		p->runs[i].next = root->next;
		root->next = i;
	}
	return 0;
}

/* ---- which runs are removed ---- */

/* Lists all files and directories of a run besides its transcript and its run directory. */
static char **
run_parts(const struct pruner *p, const char *run_id)
{
	char *transcript = storage_transcript(p->storage, run_id);
	char *input = storage_input(p->storage, run_id), **parts = NULL;
	char *incoming = path_join(p->storage->root, "incoming");

	list_take(&parts, torn_path(transcript));
	list_take(&parts, storage_blobs(p->storage, run_id));
	list_take(&parts, memory_format("%s.part", input));
	list_take(&parts, input);
	list_take(&parts, mailbox_path(p->storage, run_id));
	list_take(&parts, storage_snapshot(p->storage, run_id));
	list_take(&parts, path_join(incoming, run_id));
	for (size_t i = 0; i < p->replay_count; i++)
		if (strcmp(p->replays[i].run_id, run_id) == 0)
			list_add(&parts, p->replays[i].place);
	free(incoming);
	free(transcript);
	return parts;
}

/* Decides by the rule which roots are removed. */
static void
prune_plan(struct pruner *p)
{
	const struct prune_spec *spec = p->spec;
	bool weighs = spec->rule.max_bytes != INT64_MAX || spec->told != NULL;

	p->items = memory_zero(p->count + 1, sizeof *p->items);
	p->origins = memory_zero(p->count + 1, sizeof *p->origins);
	for (size_t i = 0; i < p->count; i++)
		p->items[i].ended = INT64_MIN;
	for (size_t i = 0; i < p->count; i++) {
		struct found *run = &p->runs[i], *root = &p->runs[run->root];
		struct retention_item *item = &p->items[run->root];
		size_t **origins = &p->origins[run->root];
		size_t origin = prune_find_run(p, run->summary.forked_from);

		if (weighs) {
			char **parts = run_parts(p, run->run_id);

			run->bytes = run->size;
			for (size_t n = 0; parts[n] != NULL; n++)
				run->bytes = count_add(run->bytes, copytree_bytes(parts[n]));
			list_free(parts);
		}
		item->bytes = count_add(item->bytes, run->bytes);
		item->ended = run->summary.ended > item->ended ? run->summary.ended : item->ended;
		item->protected |= run->protected;
		item->selected = !root->pruned &&
		    (spec->name == NULL || strcmp(root->summary.name, spec->name) == 0) &&
		    !(spec->own && root->elsewhere);
		if (origin != NO_RUN && p->runs[origin].root != run->root &&
		    p->runs[origin].elsewhere == run->elsewhere) {
			*origins = memory_array(*origins, item->origin_count + 1, sizeof **origins);
			(*origins)[item->origin_count++] = p->runs[origin].root;
			item->origins = *origins;
		}
	}
	retention_plan(p->items, p->count, &spec->rule);
}

/* Whether a run is removed: because of the rule, or because an earlier prune has begun to remove
 * it. */
static bool
prune_removes_run(const struct pruner *p, size_t at)
{
	size_t root = p->runs[at].root;

	return p->items[root].goes || p->runs[at].pruned ||
	    (p->runs[root].pruned && !p->items[root].protected);
}

static void
prune_report_run(const struct pruner *p, const struct found *run)
{
	const struct pruned told = { run->run_id, run->summary.name, run->summary.status,
		run->summary.ended, run->bytes };

	if (p->spec->told != NULL)
		p->spec->told(&told);
}

/* Adds a path, relative to the storage's root, to the list; frees it. */
static void
add_path(const struct pruner *p, char ***paths, char *path)
{
	struct stat status;

	if (lstat(path, &status) == 0)
		list_add(paths, path + strlen(p->storage->root) + 1);
	free(path);
}

/* Passes the files of a root and of all runs inside it to the caller's archive function; false if
 * that failed. */
static bool
archive_family(struct pruner *p, size_t root)
{
	const struct found *outer = &p->runs[root];
	const struct pruned told = { outer->run_id, outer->summary.name, outer->summary.status,
		outer->summary.ended, outer->bytes };
	char **paths = memory_zero(1, sizeof *paths);
	struct error error;
	int failed;

	for (size_t i = root; i != NO_RUN; i = p->runs[i].next) {
		char **parts = run_parts(p, p->runs[i].run_id);

		add_path(p, &paths, storage_transcript(p->storage, p->runs[i].run_id));
		add_path(p, &paths, layout_origin(p->storage->root, p->runs[i].run_id));
		for (size_t n = 0; parts[n] != NULL; n++)
			add_path(p, &paths, parts[n]);
		free(parts);
	}
	failed = p->spec->archive(p->spec->context, &told, paths, &error);
	if (failed != 0)
		prune_keep_error(p, &error);
	list_free(paths);
	return failed == 0;
}

/* ---- latest ---- */

/* Finds the newest run at top level; "" if there is none. */
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
			found = !summary.child && !summary.step &&
			    origin_check_own(s, entries[i].run_id, NULL) == 0;
			summary_free(&summary);
		}
		if (found)
			memcpy(run_id, entries[i].run_id, ID_SIZE);
		free(path);
	}
	free(entries);
	return 0;
}

/* If `latest` names a run that is gone, sets it to the newest run. A new run has its transcript
 * before it becomes the latest, so checking a second time finds a run that has begun meanwhile. */
static void
mend_latest(struct pruner *p)
{
	char newest[ID_SIZE], set[ID_SIZE] = "none yet", *latest;
	struct run_ref ref;
	struct stat status;
	struct error error;
	bool stands;
	int failed = 0;

	if (storage_resolve(p->storage, "@", &ref, &error) != 0)
		return;
	stands = lstat(ref.path, &status) == 0;
	run_ref_free(&ref);
	if (stands)
		return;
	latest = path_join(p->storage->root, "latest");
	for (int i = 0; i < LATEST_TRIES && failed == 0; i++) {
		failed = find_newest(p->storage, newest, &error);
		if (failed == 0 && strcmp(newest, set) == 0)
			break;
		if (failed == 0 && *newest != '\0')
			failed = storage_set_latest(p->storage, newest, &error);
		else if (failed == 0 && unlink(latest) != 0 && errno != ENOENT)
			failed = error_errno(&error, ERROR_SYSTEM, latest, "unable to remove");
		memcpy(set, newest, sizeof set);
	}
	if (failed != 0)
		prune_keep_error(p, &error);
	free(latest);
}

/* ---- removing ---- */

/* Results of prune_lock_run() that are no descriptors. */
enum {
	NO_ROOM = -1,  /* the disk is full: the run is removed without a lock */
	NOT_OURS = -2  /* the run may not be removed now */
};

static void
drop_lock(const struct pruner *p, const struct found *run, int lock)
{
	char *directory;

	if (lock < 0)
		return;
	directory = storage_run_directory(p->storage, run->run_id);
	run_directory_drop(directory);
	close(lock);
	free(directory);
}

/* Releases what prune_lock_run() has taken; lock may be NO_ROOM. */
static void
prune_unlock_run(const struct pruner *p, struct found *run, int lock)
{
	drop_lock(p, run, lock);
	file_close(&run->origin);
}

/* Takes the run's lock. NOT_OURS if another process has it, or if the run has changed since it was
 * listed. Tries several times, as another process may be releasing the lock. While it is held, no
 * more lines of the run can be received. */
static int
prune_lock_run(struct pruner *p, struct found *run)
{
	char *directory = storage_run_directory(p->storage, run->run_id), *path;
	struct stat status;
	struct error error;
	int lock = -1, reason = EAGAIN;

	if (origin_hold(p->storage, run->run_id, &run->origin) != 0 ||
	    (run->origin != -1 && storage_run_alive(p->storage, run->run_id)))
		reason = EBUSY;
	for (int i = 0; i < LOCK_TRIES && lock < 0 && reason == EAGAIN; i++) {
		lock = run_lock_take_over(directory, &error);
		reason = errno;
		if (lock < 0 && storage_run_alive(p->storage, run->run_id))
			break;
	}
	free(directory);
	if (lock < 0) {
		lock = reason == ENOSPC || reason == EDQUOT ? NO_ROOM : NOT_OURS;
		if (lock == NOT_OURS && reason != EAGAIN && reason != EBUSY)
			prune_keep_error(p, &error);
	}

	path = run->pruned ? storage_pruned(p->storage, run->run_id) :
	    storage_transcript(p->storage, run->run_id);
	if (lock == NOT_OURS || (run->size >= 0 &&
	    (lstat(path, &status) != 0 || status.st_size != run->size))) {
		prune_unlock_run(p, run, lock);
		lock = NOT_OURS;
	}
	free(path);
	return lock;
}

/* Removes a run whose lock is held. Its renamed transcript is removed last, after the run's
 * directory and thereby its lock: if anything else cannot be removed, that file tells the next
 * prune to try again. flock(2) on it shows another process, which may take the run's lock then,
 * that this one is about to remove it. */
static void
prune_remove_locked_run(struct pruner *p, struct found *run, int lock)
{
	const struct audit_prune line = { run->run_id, run->summary.name, run->summary.status };
	char *path = storage_pruned(p->storage, run->run_id);
	char *origin = layout_origin(p->storage->root, run->run_id);
	char **parts = run_parts(p, run->run_id);
	bool ends = true; /* this process removes the last file, and reports the run as removed */
	struct error error;
	int claim = -1;

	for (size_t i = 0; parts[i] != NULL; i++) {
		if (copytree_remove(parts[i], &error) == 0)
			continue;
		prune_keep_error(p, &error);
		ends = false;
	}
	list_free(parts);
	/* If the file cannot be opened or locked, as on some file systems, no other process can
	 * lock it either; so go on. */
	if (ends && (claim = file_open_plain(path, O_RDONLY, 0)) < 0)
		ends = run->size < 0 || errno != ENOENT;
	else if (ends)
		ends = lock_file_take(claim) == 0 ? lock_named(claim, path) :
		    errno != EWOULDBLOCK;
	if (ends && audit_pruned(p->storage, &line, &error) != 0)
		p->spec->warn(&error);
	drop_lock(p, run, lock);
	/* A client that waits to send more of the run must find all of it gone, its origin
	 * included. */
	if (ends && run->origin != -1)
		unlink(origin);
	file_close(&run->origin);
	if (ends && unlink(path) == 0) {
		prune_report_run(p, run);
	} else if (ends && errno != ENOENT) {
		error_errno(&error, ERROR_SYSTEM, path, "unable to remove");
		prune_keep_error(p, &error);
	}
	file_close(&claim);
	free(origin);
	free(path);
}

/* Releases the locks of those runs inside a root that were not removed. */
static void
let_family_go(struct pruner *p, size_t root)
{
	for (size_t i = p->runs[root].next; i != NO_RUN; i = p->runs[i].next) {
		if (p->runs[i].held)
			prune_unlock_run(p, &p->runs[i], p->runs[i].lock);
		p->runs[i].held = false;
	}
}

/* Locks all runs inside a root before any of them is removed. False: one of them is alive, or has
 * changed since it was listed; then all are kept. A run inside may still become alive while they
 * are removed, if it is beyond HELD_LIMIT, if a full disk left it without a lock, or if it began
 * after the runs were listed. */
static bool
prune_lock_family(struct pruner *p, size_t root)
{
	size_t held = 0;

	for (size_t i = p->runs[root].next; i != NO_RUN; i = p->runs[i].next) {
		struct found *run = &p->runs[i];

		run->lock = prune_lock_run(p, run);
		if (run->lock == NOT_OURS) {
			let_family_go(p, root);
			return false;
		}
		run->held = held < HELD_LIMIT;
		if (run->held)
			held++;
		else
			prune_unlock_run(p, run, run->lock);
	}
	return true;
}

/* Renames the transcripts; without its transcript a run does not exist any more. The root's is
 * renamed last: until then it can be found out which runs were inside it. */
static void
remove_run(struct pruner *p, size_t at)
{
	struct found *run = &p->runs[at];
	bool whole = run->root == at && !p->items[at].protected;
	int lock = run->held ? run->lock : prune_lock_run(p, run), failed = 0;
	char *from, *to;
	struct error error;

	run->held = false;
	if (lock == NOT_OURS)
		return;
	if (whole && !prune_lock_family(p, at)) {
		prune_unlock_run(p, run, lock);
		return;
	}
	if (whole && !run->pruned && p->spec->archive != NULL && !archive_family(p, at)) {
		let_family_go(p, at);
		prune_unlock_run(p, run, lock);
		return;
	}
	from = storage_transcript(p->storage, run->run_id);
	to = storage_pruned(p->storage, run->run_id);
	if (!run->pruned && rename(from, to) != 0)
		failed = error_errno(&error, ERROR_SYSTEM, from, "unable to remove");
	else if (p->sync)
		failed = file_sync_name(to, &error);
	free(to);
	free(from);
	if (failed != 0) {
		prune_keep_error(p, &error);
		if (whole)
			let_family_go(p, at);
		prune_unlock_run(p, run, lock);
		return;
	}
	run->pruned = true;
	mend_latest(p);
	for (size_t i = run->next; whole && i != NO_RUN; i = p->runs[i].next)
		remove_run(p, i);
	prune_remove_locked_run(p, run, lock);
}

/* Removes a file or directory that is old enough and whose run has no transcript. */
static void
prune_remove_left_over(struct pruner *p, const char *directory, const char *name)
{
	char nobody[] = "", *path;
	struct found run = { .size = -1, .origin = -1, .summary = { .name = nobody, .status = "died" } };
	int64_t before = p->now - LEFT_OVER_AGE;
	struct stat status;
	int lock;

	if (strlen(name) < ID_SIZE - 1 || !id_valid(name, ID_SIZE - 1))
		return;
	path = memory_format("%s/%s/%s", p->storage->root, directory, name);
	if (lstat(path, &status) == 0) {
		memcpy(run.run_id, name, ID_SIZE - 1);
		run.summary.ended = clock_of(&status.st_mtim);
		run.bytes = p->spec->told != NULL ? copytree_bytes(path) : 0;
		if (p->spec->rule.before != INT64_MIN && p->spec->rule.before < before)
			before = p->spec->rule.before;
		if (prune_find_run(p, run.run_id) == NO_RUN && run.summary.ended < before &&
		    !storage_run_alive(p->storage, run.run_id)) {
			prune_report_run(p, &run);
			map_put(&p->index, run.run_id, ID_SIZE - 1, 0); /* report it only once */
			if (!p->spec->dry && (lock = prune_lock_run(p, &run)) != NOT_OURS)
				prune_remove_locked_run(p, &run, lock);
		}
	}
	free(path);
}

/* Removes a file about a workspace, or about what was made in it, if the workspace is gone; its
 * first line is the workspace's path. */
static void
prune_remove_workspace_mark(struct pruner *p, const char *directory, const char *name)
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

/* Collects names for prune_remove_unused_name(). */
static void
find_names(struct pruner *p)
{
	char digest[DIGEST_SIZE];

	for (size_t i = 0; i < p->count; i++) {
		const char *name = p->runs[i].summary.name;

		if (prune_removes_run(p, i))
			continue;
		map_put(&p->names, name, strlen(name), i);
		map_put(&p->names, digest_sha256(name, strlen(name), digest), DIGEST_SIZE - 1, i);
	}
}

/* Removes a file about a name that no run has any more. If a run of that name begins meanwhile, it
 * works without the file, only more slowly. */
static void
prune_remove_unused_name(struct pruner *p, const char *directory, const char *name)
{
	char *path = memory_format("%s/%s/%s", p->storage->root, directory, name);

	if (*name != '.' && map_get(&p->names, name, strlen(name)) == NULL)
		unlink(path);
	free(path);
}

int
prune_runs(const struct storage *s, const struct prune_spec *spec, struct error *err)
{
	static const struct {
		const char *directory;
		void (*take)(struct pruner *p, const char *directory, const char *name);
		bool always; /* also in a dry run */
	} sweeps[] = {
		{ "runs", prune_remove_left_over, true }, { "blobs", prune_remove_left_over, true },
		{ "inputs", prune_remove_left_over, true },
		    { "snapshots", prune_remove_left_over, true },
		{ "transcripts", prune_remove_left_over, true },
		    { "origins", prune_remove_left_over, true },
		{ "incoming", prune_remove_left_over, true },
		{ STORAGE_SANDBOXED, prune_remove_workspace_mark, false },
		{ STORAGE_MADE, prune_remove_workspace_mark, false },
		{ STORAGE_TIMES, prune_remove_workspace_mark, false },
		{ STORAGE_KEPT, prune_remove_unused_name, false },
	};
	struct pruner p = { .storage = s, .spec = spec, .now = clock_wall(), .index = MAP_INIT,
		.names = MAP_INIT, .err = err };
	enum sync_mode mode;
	struct error error;

	if (sync_mode_from_environment(&mode, err) != 0 || prune_load_runs(&p, err) != 0) {
		p.failed = true;
	} else {
		p.sync = mode != SYNC_NONE;
		prune_plan(&p);
		/* Begin with the oldest; runs inside a root are removed with it. */
		for (size_t i = p.count; i > 0; i--) {
			size_t root = p.runs[i - 1].root;

			if (prune_removes_run(&p, i - 1) && spec->dry)
				prune_report_run(&p, &p.runs[i - 1]);
			else if (prune_removes_run(&p, i - 1) &&
			    (root == i - 1 || !prune_removes_run(&p, root)))
				remove_run(&p, i - 1);
		}
		if (spec->name == NULL)
			find_names(&p);
		for (size_t i = 0; spec->name == NULL && i < sizeof sweeps / sizeof *sweeps; i++)
			if ((sweeps[i].always || !spec->dry) &&
			    each_name(&p, sweeps[i].directory, sweeps[i].take, &error) != 0)
				prune_keep_error(&p, &error);
		if (!spec->dry)
			mend_latest(&p);
	}

	for (size_t i = 0; i < p.count; i++) {
		summary_free(&p.runs[i].summary);
		if (p.origins != NULL)
			free(p.origins[i]);
	}
	for (size_t i = 0; i < p.replay_count; i++)
		free(p.replays[i].place);
	free(p.replays);
	free(p.runs);
	free(p.items);
	free(p.origins);
	map_free(&p.index);
	map_free(&p.names);
	return p.failed ? -1 : 0;
}
