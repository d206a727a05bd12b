/*
 * Handles a run whose workspace is now elsewhere: the user names the place (--workspace), or the
 * workspace was moved or copied together with the storage, as the recorded paths of both show.
 * Paths in the record (the script, the files that the run was made of) are then mapped to the new
 * place. The transcript is not changed; the next attempt records its own place.
 */
#ifndef AWF_RUN_RESUME_MOVED_H
#define AWF_RUN_RESUME_MOVED_H

#include "base/error.h"
#include "run_resume/resume.h"

/* Finds the workspace of the run: `given`, unless that is NULL; otherwise the recorded place; or,
 * if that no longer exists, the place with the same position relative to the storage. If it has
 * moved, *told says so, to be freed by the caller. ERROR_USAGE: it exists at both places. */
int moved_find_workspace(struct resume *r, const char *given, char **told, struct error *err);

/* Maps the paths of the files named so far to the directory in which a later attempt was started;
 * `stored` is the storage of that attempt (NULL: an older version did not record it). */
void moved_files(struct resume *r, const char *directory, const char *stored);

#endif
