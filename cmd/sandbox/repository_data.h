/*
 * Checks data of a repository that determines where git writes: the paths in an index, the targets
 * of symbolic refs. Git trusts them, so "git restore ." or "git commit" would write wherever they
 * point.
 */
#ifndef AWF_SANDBOX_REPOSITORY_DATA_H
#define AWF_SANDBOX_REPOSITORY_DATA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

#define REPOSITORY_DATA_LIMIT ((size_t)256 << 20)
#define REPLACING_REFS "refs/replace/" /* followed by the name of an object: git takes another one for it */

/* In bytes; arguments as below. */
size_t repository_object_name_length(int at, bool linked);
/* Whether a file in a repository's own directory leads nowhere else. at: that directory. linked: it
 * belongs to a linked work tree, in worktrees/. hidden: the paths in an index whose changes git
 * status does not report are appended, or the refs in packed-refs that replace objects, with a space
 * and by which; each with a NUL. */
bool repository_data_is_plain(int at, const char *name, bool linked, struct buffer *hidden);
/* Whether a file of this name is an index, or a part of one. */
bool repository_data_is_index(const char *name);
/* Whether the text of a configuration enables sparse checkout: then git itself checks whether files
 * that the index leaves out of the work tree exist there all the same. */
bool repository_config_is_sparse(const char *text);
/* The same as repository_data_is_plain() for a file or directory below refs/ and logs/: checks its
 * name and its content. */
bool repository_ref_is_plain(int at, const char *name);
/* Whether the previous content is restored if the command has replaced the file: without it git
 * would lose the user's work. */
bool repository_data_is_needed(const char *name);

#endif
