/*
 * The storage: where runs are kept, awf(7). It owns the layout below its root,
 * checks every name before it touches a path, and follows no symbolic link but
 * `latest`, which it reads with readlink().
 *
 *     transcripts/<run-id>.jsonl  blobs/<run-id>/<sha256>  inputs/<run-id>
 *     runs/<run-id>/  snapshots/<run-id>/  latest  audit.jsonl
 *     origins/<run-id>: of a run that is recorded elsewhere (storage/origin.h)
 *     incoming/<run-id>/<sha256>: blobs of such a run that came before it (ingest/blobs.h)
 *     transcripts/<run-id>.pruned: of a run that is being removed (decide/prune.h)
 *     sandboxed/<sha256>: a directory that was the workspace of a sandbox (cmd/sandbox)
 *     kept/<sha256>: until when runs of a name have been removed (cmd/run/keep.h)
 *     limits/PROVIDER: what is under way of its calls (providers/throttle.h)
 *     advised: which shell runs a workflow file without awf-run (cmd/step/script_advice.h)
 *     ship/<sha256>/: how far runs were sent to a collector of that address (cmd/ship)
 *     sandboxed/made/: what was made in one that AWF takes up (workspace/unreviewed.h)
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
	bool disposable;  /* after a crash of the machine nothing in it is used: not even origins are
	                     synced. Of a storage that was prepared it may be set */
};

/* $AWF_STORAGE, $XDG_DATA_HOME/awf, ~/.local/share/awf. Makes nothing. */
int storage_locate(struct storage *s, struct error *err);
/* storage_locate(), then makes the directories (0700) and refuses a network file
 * system, and a root that belongs to another user or that everybody may write. */
int storage_prepare(struct storage *s, struct error *err);
/* The same once the runs that the user has named (ends with NULL) are found: what names something
 * else makes nothing. */
int storage_prepare_for(struct storage *s, const char *const *names, struct error *err);
/* The same at a place of its own, absolute. */
int storage_prepare_at(struct storage *s, const char *root, struct error *err);
/* What of a located storage storage_prepare() would refuse, and whether it can be written;
 * of one that is not there yet (*there), whether it can be made. Makes nothing. */
int storage_check(const struct storage *s, bool *there, struct error *err);
void storage_close(struct storage *s);

/* A directory (0700) in the storage, if it is not there. A link in its place is refused.
 * sync: it lasts. */
int storage_make_directory(const char *path, bool sync, struct error *err);

/* Paths, in memory of their own. */
char *storage_transcript(const struct storage *s, const char *run_id);
char *storage_pruned(const struct storage *s, const char *run_id);
char *storage_run_directory(const struct storage *s, const char *run_id);
char *storage_input(const struct storage *s, const char *run_id);
char *storage_blobs(const struct storage *s, const char *run_id);
char *storage_snapshot(const struct storage *s, const char *run_id);

/* A directory to be read, as by file_open_plain(); NULL with errno. */
DIR *storage_opendir(const char *path);
/* One of the directories of the storage, to be read; NULL, and 0, if it is not there. */
int storage_names(const struct storage *s, const char *name, DIR **directory, struct error *err);
/* The next run whose transcript is in that directory, which may be NULL; false, and it is closed,
 * behind the last. */
bool storage_next_run(DIR *directory, char run_id[ID_SIZE]);

/* Moves `latest` to a run by atomic rename. */
int storage_set_latest(const struct storage *s, const char *run_id, struct error *err);

/* What a RUN argument names: a run id, a unique prefix (4 or more characters), a
 * path to a file, "@" (latest) or "@NAME" (latest run of that name, or of NAME.awf); neither of
 * the last two is a run that is recorded elsewhere. NULL means "@". Errors are ERROR_USAGE and say
 * what was looked for and where. */
struct run_ref {
	char *path;           /* of the transcript */
	char run_id[ID_SIZE]; /* "" for a file that is not in the storage */
	bool in_storage;
	bool ambiguous;       /* nothing is named: several run ids begin so */
};
int storage_resolve(const struct storage *s, const char *argument, struct run_ref *ref,
    struct error *err);
void run_ref_free(struct run_ref *ref);
/* The shortest beginning of a run's id that names it alone, of at least the eight digits
 * before the first dash: with them it still does when many a run has come. Returns out. */
const char *storage_short_id(const struct storage *s, const char *run_id, char out[ID_SIZE]);

/* Run ids in the storage, newest start first, by the timestamp of their first line.
 * The array is the caller's. */
struct run_entry { char run_id[ID_SIZE]; int64_t started; /* µs since 1970 */ };
int storage_list(const struct storage *s, struct run_entry **entries, size_t *count,
    struct error *err);
/* When a run started, µs since 1970: the timestamp of its first line, which comes early in it;
 * else when the file was last changed; 0: there is no file. */
int64_t storage_run_started(const struct storage *s, const char *run_id);
/* How many there are; no transcript is opened. */
int storage_count(const struct storage *s, size_t *count, struct error *err);

/* Whether the run is alive: another process holds runs/<id>/lock (F_GETLK), or it is recorded
 * elsewhere, and its lease lasts (storage/origin.h). The owner itself must not ask: closing the file
 * would free its lock. */
bool storage_run_alive(const struct storage *s, const char *run_id);
/* Whether another process holds the lock: *pid (may be NULL), 0 if that cannot be told. */
bool storage_run_owner(const struct storage *s, const char *run_id, pid_t *pid);
/* Whether the run is recorded elsewhere (storage/origin.h). */
bool storage_run_elsewhere(const struct storage *s, const char *run_id);
/* Whether the run is alive whose transcript lies at path in a storage. */
bool transcript_alive(const char *path, const char *run_id);
/* The directory of the run's blobs, from where its transcript lies; in memory of
 * its own. */
char *transcript_blobs(const char *path, const char *run_id);
/* The name of its workflow, as a run's transcript, kept or not, says it; in memory of its own.
 * NULL: it says none. */
char *storage_run_name(const struct storage *s, const char *run_id);
/* Whether it is this. */
bool storage_run_named(const struct storage *s, const char *run_id, const char *name);

#endif
