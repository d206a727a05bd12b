/*
 * The limit of open files (ulimit -n). A program with many parallel jobs needs some descriptors
 * for each of them. It checks the limit before it starts, so that it neither fails later nor
 * silently runs fewer jobs than requested.
 */
#ifndef AWF_IO_OPEN_FILES_H
#define AWF_IO_OPEN_FILES_H

#include <stddef.h>
#include <sys/resource.h>

#include "base/error.h"

/* The descriptors that a program needs: a number for each parallel job, and a number for
 * everything else. */
struct open_files {
	size_t each, beside;
};

/* The largest number of parallel jobs under the hard limit, which only root can raise; at least
 * 1. */
size_t open_files_most(const struct open_files *need);
/* Refuses a number given with an option if the hard limit does not allow it: ERROR_USAGE, with
 * the limit and the largest possible number. */
int open_files_check(const struct open_files *need, const char *option, long long count,
    struct error *err);
/* Raises the soft limit for count jobs if necessary, as far as the hard limit allows. *before
 * (may be NULL) is set to the old limit, which child programs should get. */
void open_files_raise(const struct open_files *need, size_t count, struct rlimit *before);

#endif
