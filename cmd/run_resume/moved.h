/*
 * A run whose workspace lies elsewhere by now: the user says where (--workspace), or it was moved, or
 * copied, together with the storage, as the record tells where both lay.
 *
 * What the record names by its path is looked for below the new place: the script, and the files that
 * the run was made of. Nothing is changed in the record; the next attempt records its own place.
 */
#ifndef AWF_RUN_RESUME_MOVED_H
#define AWF_RUN_RESUME_MOVED_H

#include "base/error.h"
#include "run_resume/resume.h"

/* Where the workspace of the run is: given, unless that is NULL. Then where it was; or, if it is not
 * there any more, where it lies beside the storage as it did: that is told in *told, which is the
 * caller's to free. ERROR_USAGE: it is at both places. */
int moved_find_workspace(struct resume *r, const char *given, char **told, struct error *err);

/* From an attempt on that was started in another directory, changes the paths of the files
 * named so far; its storage was at `stored` (NULL: an older version did not record it). */
void moved_files(struct resume *r, const char *directory, const char *stored);

#endif
