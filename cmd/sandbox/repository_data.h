/*
 * Checks data of a repository that says where git writes: the paths in an index, the
 * targets of symbolic refs. Git trusts them, so "git restore ." or "git commit" would write
 * wherever they point.
 */
#ifndef AWF_SANDBOX_REPOSITORY_DATA_H
#define AWF_SANDBOX_REPOSITORY_DATA_H

#include <stdbool.h>

#include "base/buffer.h"

/* Whether a file of a repository's own directory leads nowhere else. at: that directory. linked: it is a part for a
 * linked work tree, in worktrees/. hidden: of an index, the paths whose changes git status does not tell of are added,
 * a NUL after each. */
bool repository_data_is_plain(int at, const char *name, bool linked, struct buffer *hidden);
/* Whether the text of a configuration says that git looks itself whether what an index leaves out of the work tree is
 * there all the same. */
bool repository_config_is_sparse(const char *text);
/* The same as of repository_data_is_plain() for a file or directory below refs/ and logs/, by its name and by what it says. */
bool repository_ref_is_plain(int at, const char *name);
/* Whether the old content is restored if the command replaced it: without it git loses the
 * user's work. */
bool repository_data_is_needed(const char *name);

#endif
