/*
 * The paths of transcripts and their files in a storage. This is all that readers of transcripts
 * need to know of the storage (storage/storage.h).
 */
#ifndef AWF_TRANSCRIPT_LAYOUT_H
#define AWF_TRANSCRIPT_LAYOUT_H

#include <stdbool.h>
#include <sys/types.h>

/* Paths; to be freed by the caller. */
char *layout_transcript(const char *root, const char *run_id);
char *layout_blobs(const char *root, const char *run_id);
/* The path of another run's transcript, in the same directory. */
char *layout_beside(const char *transcript, const char *run_id);
/* The path of the file that names the sender of a run that was recorded elsewhere
 * (storage/origin.h). */
char *layout_origin(const char *root, const char *run_id);
/* Whether another process holds the lock of the run, and so writes its transcript; *pid (may be
 * NULL) is set to that process, or 0 if it is unknown. The owner itself must not call this:
 * closing the file would release its lock. */
bool layout_run_owner(const char *root, const char *run_id, pid_t *pid);
/* Whether lines may still be appended to the transcript: by its owner, or, for a run that is
 * recorded elsewhere, by its sender while the lease lasts. */
bool layout_run_alive(const char *root, const char *run_id);

#endif
