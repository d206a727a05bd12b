/*
 * Removing the files of a directory that nobody needs any more: those of processes that were killed before
 * they could remove them, and those that are too old.
 */
#ifndef AWF_IO_SWEEP_H
#define AWF_IO_SWEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define SWEEP_DAY ((int64_t)24 * 60 * 60) /* s */

/* Whether a file of the directory is to be removed. */
typedef bool sweep_chooses(void *context, int directory, const char *name, const struct stat *status);
/* Looks at each regular file of a directory. What cannot be read or removed stays. */
void sweep_files(int directory, sweep_chooses *chooses, void *context);
/* The same for files that are removed for their age, once a day: the time of the file `swept` in the
 * directory says when that was last. If that is to come, or further in the past than most (s), the clock
 * may be wrong: nothing is removed then, and the next time is a day later. */
void sweep_daily(int directory, int64_t most, sweep_chooses *chooses, void *context);
/* How long ago a file was changed, in s; less than 0: that is to come. */
int64_t sweep_age(const struct stat *status);

#endif
