/*
 * The lock of a run: runs/<id>/lock, on which the owner of the run holds F_WRLCK while it lives. It
 * contains "PID ATTEMPT\n", followed by room for the error of a step that could not even register
 * in the roster because of the machine. Overwriting these bytes is possible even on a full disk.
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

/* Makes the directory, which must not exist, and the lock, and takes that. Returns the descriptor,
 * or -1. */
int run_lock_make(const char *directory, struct error *err);
/* Takes the lock of a run whose owner has ended, even if the directory is gone; everything else in
 * the directory is removed. Returns the descriptor, or -1 with errno: EAGAIN if another process has
 * the lock, which the ERROR_SYSTEM names. */
int run_lock_take_over(const char *directory, struct error *err);
/* Writes the pid of this process and the attempt into the lock file. */
int run_lock_sign(int fd, const char *directory, int attempt, struct error *err);
/* Stores an error of the machine because of which a step failed so early that nothing else is known
 * about it. Only the last one is kept. The owner of the lock must not call this, as it would lose
 * the lock. */
void run_lock_fail(const char *directory, const struct error *why);
/* Whether a step has failed in this way in this attempt; *why is then an ERROR_SYSTEM. */
bool run_lock_failed(int fd, struct error *why);

/* Suffix of the name of a directory that is being removed. */
#define RUN_DIRECTORY_GONE ".gone"
/* Removes the directory and everything in it, as far as possible. */
void run_directory_drop(const char *directory);
/* The same for a directory that was renamed already. */
void run_directory_empty(const char *gone);

#endif
