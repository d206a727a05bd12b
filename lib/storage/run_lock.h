/*
 * The lock of a run: runs/<id>/lock, on which the owner of the run holds F_WRLCK while it lives. It
 * contains "PID ATTEMPT\n", followed by room for an error of the machine in a step that could not
 * even enter the roster: that overwrites existing bytes, which is possible on a full disk.
 *
 * What the code relies on:
 *   - The kernel releases the lock with its process. Closing any descriptor of the file releases it
 *     too, so the owner opens it once.
 *   - The directory is renamed before its contents are removed (run_directory_drop()). So a process
 *     that has locked a file, and then finds the same file under its name, has locked the run:
 *     nobody else empties that directory or takes it over.
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
/* Records that an error of the machine failed a step so early that nothing else tells. Not for the
 * owner of the lock, who would lose it. Only the last one is kept. */
void run_lock_fail(const char *directory, const struct error *why);
/* Whether that happened in this attempt; *why is ERROR_SYSTEM then. */
bool run_lock_failed(int fd, struct error *why);

/* Suffix of the name of a directory that is being removed. */
#define RUN_DIRECTORY_GONE ".gone"
/* Removes the directory with all in it, as far as that can be done. */
void run_directory_drop(const char *directory);
/* The same for a directory that was renamed already. */
void run_directory_empty(const char *gone);

#endif
