/*
 * The lock of a run: runs/<id>/lock, on which the owner of the run holds F_WRLCK while
 * it lives. It says "PID ATTEMPT\n"; behind that is room for why the machine failed a step that
 * could not even enter the roster: it overwrites bytes that are there, for which a full disk
 * has room.
 *
 * What the code relies on:
 *   - The kernel frees the lock with its process. Closing any descriptor of the file
 *     frees it too, so the owner opens it once.
 *   - The directory loses its name before it loses its contents (run_directory_drop()).
 *     So who has locked a file, and finds the same file by its name then, has locked
 *     the run: nobody else empties that directory, or takes it over.
 */
#ifndef AWF_STORAGE_RUN_LOCK_H
#define AWF_STORAGE_RUN_LOCK_H

#include <stdbool.h>

#include "base/error.h"

/* Makes the directory, which must be new, and the lock. The descriptor, or -1. */
int run_lock_make(const char *directory, struct error *err);
/* Locks a run whose owner is gone, whether its directory is there or not; what the
 * directory holds beside the lock is removed. ERROR_SYSTEM if another process has the
 * lock, naming it. The descriptor, or -1 with errno, EAGAIN if another process has it. */
int run_lock_take_over(const char *directory, struct error *err);
/* Says whose it is. */
int run_lock_sign(int fd, const char *directory, int attempt, struct error *err);
/* The machine failed a step of the run so early that nothing else tells of it. Not for the owner
 * of the lock, who would lose it. The last one is kept. */
void run_lock_fail(const char *directory, const struct error *why);
/* Whether that happened in this attempt; *why is ERROR_SYSTEM then. */
bool run_lock_failed(int fd, struct error *why);

/* What is added to the name of a directory that is being removed. */
#define RUN_DIRECTORY_GONE ".gone"
/* Removes the directory with all in it, as far as that can be done. */
void run_directory_drop(const char *directory);
/* The same with one that has lost its name. */
void run_directory_empty(const char *gone);

#endif
