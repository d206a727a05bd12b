/*
 * What could not be looked at in a look through a workspace. An error mostly tells what is there:
 * nothing, a link, what its owner has closed. After any other one (too many open files, no memory,
 * a disk that fails) nothing is known of the name: it is neither taken for plain nor for what a
 * sandboxed program made.
 *
 * A process looks through one workspace at a time, so all that judge what is in it note here what
 * they could not see.
 */
#ifndef AWF_SANDBOX_LOOK_H
#define AWF_SANDBOX_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/error.h"

/* Nothing has been missed yet. */
void look_begin(void);
/* After a call on a name in an open directory (AT_FDCWD: a path) has failed, with its errno, which
 * stays: whether that tells what is there; if not, the name is noted. */
bool look_tells(int at, const char *name);
/* As lstat(2), and notes the name if that does not tell. */
int look_status(int at, const char *name, struct stat *st);
/* How many names were missed. */
size_t look_missed(void);
/* "PATH (REASON)" of each of them, but that of very many the first alone; ends with NULL. */
char *const *look_names(void);
/* -1 with ERROR_BLOCKED if any was missed. */
int look_check(struct error *err);
/* Opens as many descriptors as a later look may take beyond those of this one: -1 with errno. */
int look_reserve(int fd);
void look_release(void);

#endif
