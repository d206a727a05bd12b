/*
 * A digest of all files of a project, for commands of which it is unknown which files they read.
 *
 * Everything below the directory counts: for each file its path, its content and whether it is
 * executable, for a link its target. In a repository that has an index, only these files count:
 * those that git tracks, and those that a sandboxed program may have written
 * (workspace/sandboxed_times.h). Other files there are the user's own, or output of steps, for
 * which the user would be asked again each time. If git does not track the definition itself, all
 * files count. Of .git everything counts except what git writes as data. AWF's own directories do
 * not count. Nothing is read through a link.
 */
#ifndef AWF_DEFINITIONS_TRUST_PROJECT_H
#define AWF_DEFINITIONS_TRUST_PROJECT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/digest.h"

/* If there are more files, they are not examined. */
#define TRUST_PROJECT_FILES 20000
#define TRUST_PROJECT_BYTES ((long long)256 << 20)

struct trust_project {
	char digest[DIGEST_SIZE];
	size_t files;
	bool too_large;   /* too many files: there is no digest */
};

/* repository: the main checkout, if the directory is a worktree, otherwise the directory itself.
 * definition: the file that says what is run, relative to the directory. The result is kept for the
 * next call until trust_project_forget(). */
const struct trust_project *trust_project_look(const char *directory, const char *repository,
    const char *definition);
void trust_project_forget(void);
/* The first file, relative to the directory, that a sandboxed program may have written, whether git
 * tracks it or not; files in .git do not count. To be freed by the caller. NULL: there is none;
 * ".": the directory is too large to be searched. */
char *trust_project_written(const char *directory);

#endif
