/*
 * A digest of all files of a project, for commands of which it is unknown which files they read.
 *
 * Each file counts by its path, its content, whether it can be executed, and a link by where it
 * leads: whatever lies below the directory. Of a repository that has an index those alone that git
 * tracks, and those that a sandboxed program may have written (workspace/sandboxed_times.h): what
 * else lies there is the user's own, and what a step's output makes there would ask anew each
 * time. If git does not track the definition itself, all files count. Of .git everything counts
 * but what git writes as data; of AWF's own directories nothing does. Nothing is read through a
 * link.
 */
#ifndef AWF_DEFINITIONS_TRUST_PROJECT_H
#define AWF_DEFINITIONS_TRUST_PROJECT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/digest.h"

/* More than this is not looked at. */
#define TRUST_PROJECT_FILES 20000
#define TRUST_PROJECT_BYTES ((long long)256 << 20)

struct trust_project {
	char digest[DIGEST_SIZE];
	size_t files;
	bool too_large;   /* there is no digest */
};

/* repository: the main checkout, if the directory is a worktree of it, else the directory itself. definition: the
 * file that says what is run, relative to the directory. What was found is kept for the next who asks until
 * trust_project_forget(). */
const struct trust_project *trust_project_look(const char *directory, const char *repository,
    const char *definition);
void trust_project_forget(void);
/* The first file, relative to the directory, that a sandboxed program may have written, whether git
 * tracks it or not, but none in .git; in memory of its own. NULL: none. Of a directory that is too large to
 * be looked at it is ".". */
char *trust_project_written(const char *directory);

#endif
