/*
 * The limit of open files (ulimit -n). A program that does many things at a time needs some
 * descriptors for each of them: it says how many before it begins, so that it neither fails in the
 * middle nor goes on with fewer than it was told to.
 */
#ifndef AWF_IO_OPEN_FILES_H
#define AWF_IO_OPEN_FILES_H

#include <stddef.h>
#include <sys/resource.h>

#include "base/error.h"

/* What a program has open: so many descriptors for each of what it does at a time, and so many
 * beside these. */
struct open_files {
	size_t each, beside;
};

/* How many can be done at a time under the hard limit, which nobody but root can raise; 1 at the
 * least. */
size_t open_files_most(const struct open_files *need);
/* Refuses a number that an option asks for and the hard limit does not allow: ERROR_USAGE, with
 * the limit and what is the most here. */
int open_files_check(const struct open_files *need, const char *option, long long count,
    struct error *err);
/* Raises the soft limit, if it is lower, to what so many need, or as far as the hard limit allows.
 * *before, which may be NULL, is what it was, for programs that are started. */
void open_files_raise(const struct open_files *need, size_t count, struct rlimit *before);

#endif
