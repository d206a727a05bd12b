/*
 * The storage: where runs are kept, awf(7). It owns the layout below its root,
 * checks every name before it touches a path, and follows no symbolic link but
 * `latest`, which it reads with readlink().
 *
 *     transcripts/<run-id>.jsonl blobs/<run-id>/<sha256> inputs/<run-id> runs/<run-id>/
 *     snapshots/<run-id>/ latest audit.jsonl origins/<run-id>: of a run that is recorded elsewhere
 *     (storage/origin.h) incoming/<run-id>/<sha256>: blobs of such a run that came before it
 *     (ingest/blobs.h) transcripts/<run-id>.pruned: of a run that is being removed (decide/prune.h)
 *     sandboxed/<sha256>: a directory that was the workspace of a sandbox (cmd/sandbox)
 *     kept/<sha256>: until when runs of a name have been removed (cmd/run/keep.h) limits/PROVIDER:
 *     its calls that are in progress (providers/throttle.h) limits/.day: what answers have cost today
 *     (limits/day.h) limits/.held/NAME: calls that wait since one was refused (providers/held.h) advised: which shell runs a workflow
 *     file without awf-run (cmd/step/script_advice.h) ship/<sha256>/: how far runs were sent to a
 *     collector of that address (cmd/ship) sandboxed/made/: files made in a sandbox that AWF would
 *     execute or read (workspace/unreviewed.h) resumes/<run-id>: of a run that goes on by itself
 *     (storage/resumes.h)
 */
#ifndef AWF_STORAGE_STORAGE_H
#define AWF_STORAGE_STORAGE_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/id.h"

#define WORKFLOW_SUFFIX ".awf"

#define STORAGE_SANDBOXED "sandboxed"
#define STORAGE_KEPT "kept"

struct storage {
	char *root;       /* absolute */
	bool disposable;  /* nothing in it is used after a crash of the machine, so nothing is
	                     synced, not even origins. May be set after storage_prepare() */
};

/* Finds the storage: $AWF_STORAGE, $XDG_DATA_HOME/awf, or ~/.local/share/awf. Creates nothing. */
int storage_locate(struct storage *s, struct error *err);
/* Finds the storage, and creates its directories (0700). Refuses a network file system, and a root
 * directory that belongs to another user or that everybody can write to. */
int storage_prepare(struct storage *s, struct error *err);
/* The same, but before anything is created, the runs that the user has named must be found (names
 * ends with NULL): a wrong name creates nothing. */
int storage_prepare_for(struct storage *s, const char *const *names, struct error *err);
/* The same for a storage at another place, absolute. */
int storage_prepare_at(struct storage *s, const char *root, struct error *err);
/* Checks without creating anything whether storage_prepare() would refuse a located storage, and
 * whether it can be written to. *there: whether it exists; if not, whether it could be created. */
int storage_check(const struct storage *s, bool *there, struct error *err);
void storage_close(struct storage *s);

/* Creates a directory (0700) in the storage, if it does not exist. A link in its place is refused.
 * sync: make it survive a crash. */
int storage_make_directory(const char *path, bool sync, struct error *err);

/* Paths; to be freed by the caller. */
char *storage_transcript(const struct storage *s, const char *run_id);
char *storage_pruned(const struct storage *s, const char *run_id);
char *storage_run_directory(const struct storage *s, const char *run_id);
char *storage_input(const struct storage *s, const char *run_id);
char *storage_blobs(const struct storage *s, const char *run_id);
char *storage_snapshot(const struct storage *s, const char *run_id);
/* The file of a name in a directory of the storage. */
char *storage_file(const struct storage *s, const char *directory, const char *name);
/* Opens such a file (0600), which is made with its directory if need be, of which the latter survives a
 * crash. -1: *err. */
int storage_open_file(const struct storage *s, const char *path, int flags, struct error *err);

/* Opens a directory for reading, like file_open_plain(); NULL with errno. */
DIR *storage_opendir(const char *path);
/* Opens a directory of the storage for reading. If it does not exist, *directory is NULL, and the
 * result is 0. */
int storage_names(const struct storage *s, const char *name, DIR **directory, struct error *err);
/* The id of the next run whose transcript is in this directory (which may be NULL). False at the
 * end; then the directory is closed. */
bool storage_next_run(DIR *directory, char run_id[ID_SIZE]);

/* Moves `latest` to a run by atomic rename. */
int storage_set_latest(const struct storage *s, const char *run_id, struct error *err);

/* The run that a RUN argument names: a run id, a unique prefix of one (4 or more characters), a
 * path to a file, "@" (the latest run) or "@NAME" (the latest run with that name, or of NAME.awf).
 * The last two never find a run that was recorded elsewhere. NULL means "@". Errors are ERROR_USAGE
 * and say what was looked for and where. */
struct run_ref {
	char *path;           /* path of the transcript */
	char run_id[ID_SIZE]; /* "" if the file is not in a storage */
	bool in_storage;
	bool ambiguous;       /* no run was found: several ids have this prefix */
};
int storage_resolve(const struct storage *s, const char *argument, struct run_ref *ref,
    struct error *err);
void run_ref_free(struct run_ref *ref);
/* The shortest unique prefix of a run's id, but at least the eight digits before the first dash, so
 * that it stays unique when more runs come. Returns out. */
const char *storage_short_id(const struct storage *s, const char *run_id, char out[ID_SIZE]);

/* All runs in the storage, by the timestamp in their first line, the newest first. The caller frees
 * the array. */
struct run_entry { char run_id[ID_SIZE]; int64_t started; /* µs since 1970 */ };
int storage_list(const struct storage *s, struct run_entry **entries, size_t *count,
    struct error *err);
/* When a run has started, µs since 1970: the timestamp in its first line; else the time at which
 * its file was last changed; 0: there is no file. */
int64_t storage_run_started(const struct storage *s, const char *run_id);
/* The number of runs; no transcript is opened. */
int storage_count(const struct storage *s, size_t *count, struct error *err);

/* Whether a run is alive: another process holds runs/<id>/lock (F_GETLK), or the run is recorded
 * elsewhere and its lease has not expired (storage/origin.h). The owner itself must not call this:
 * closing the file would release its lock. */
bool storage_run_alive(const struct storage *s, const char *run_id);
/* Whether another process holds the run's lock. *pid (may be NULL) is set to it, or to 0 if that is
 * not known. */
bool storage_run_owner(const struct storage *s, const char *run_id, pid_t *pid);
/* Whether the run was recorded elsewhere (storage/origin.h). */
bool storage_run_elsewhere(const struct storage *s, const char *run_id);
/* Whether the run is alive whose transcript is at path, in a storage. */
bool transcript_alive(const char *path, const char *run_id);
/* The directory of the run's blobs, found from the path of its transcript; to be freed by the
 * caller. */
char *transcript_blobs(const char *path, const char *run_id);
/* The name of the workflow in a run's transcript, even if that is not kept; to be freed by the
 * caller. NULL: it has none. */
char *storage_run_name(const struct storage *s, const char *run_id);
/* Whether the workflow has this name. */
bool storage_run_named(const struct storage *s, const char *run_id, const char *name);

#endif
