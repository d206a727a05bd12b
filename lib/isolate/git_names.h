/*
 * Names and paths in git's data that git later writes to. Those that it would refuse from a user lead out of the
 * place that they are meant for, once they stand in a file that git believes.
 */
#ifndef AWF_ISOLATE_GIT_NAMES_H
#define AWF_ISOLATE_GIT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a file's name may be one part of a ref's name, as of git-check-ref-format(1). */
bool git_ref_part_is_plain(const char *part, size_t len);
/* Whether it is a name below refs/, all of whose parts are. */
bool git_ref_is_plain(const char *name);
/* Whether a path is one of a work tree: relative, without "." and "..", not below a .git by any of the names under
 * which file systems know it. */
bool git_path_is_plain(const char *path);

#endif
