/*
 * Checks names and paths in git's data that git later writes to. Git would refuse such a name from
 * a user, but trusts it in its own files, where it could lead to another place.
 */
#ifndef AWF_ISOLATE_GIT_NAMES_H
#define AWF_ISOLATE_GIT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a file name may be a component of a ref name (git-check-ref-format(1)). */
bool git_ref_part_is_plain(const char *part, size_t len);
/* Whether it is a ref name below refs/, with valid components. */
bool git_ref_is_plain(const char *name);
/* Whether a path may be in a work tree: relative, without "." and "..", and not below .git under
 * any name that a file system treats as .git. */
bool git_path_is_plain(const char *path);

#endif
