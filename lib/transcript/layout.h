/*
 * Where, below the root of a storage, lies what belongs to a transcript: all that its readers
 * have to know of a storage (storage/storage.h).
 */
#ifndef AWF_TRANSCRIPT_LAYOUT_H
#define AWF_TRANSCRIPT_LAYOUT_H

#include <stdbool.h>
#include <sys/types.h>

/* Paths, in memory of their own. */
char *layout_transcript(const char *root, const char *run_id);
char *layout_blobs(const char *root, const char *run_id);
/* Where another run's transcript lies, beside this one. */
char *layout_beside(const char *transcript, const char *run_id);
/* Where it stands who has sent a run that was recorded elsewhere (storage/origin.h). */
char *layout_origin(const char *root, const char *run_id);
/* Whether another process holds the lock of the run, and so writes its transcript; *pid (may
 * be NULL) is that process, 0 if that cannot be told. The owner itself must not ask: closing
 * the file would free its lock. */
bool layout_run_owner(const char *root, const char *run_id, pid_t *pid);
/* Whether somebody may write to the transcript still: its owner, or who sends a run that is
 * recorded elsewhere, as long as the lease lasts. */
bool layout_run_alive(const char *root, const char *run_id);

#endif
