/*
 * Records what could not be examined during a pass through a workspace. Most errors say what is
 * there: nothing, a link, a file closed by its owner. After any other error (too many open files,
 * no memory, a failing disk) nothing is known about the name: it is then treated neither as plain
 * nor as made by a sandboxed program.
 *
 * A process examines one workspace at a time, so all modules that do record their failures here.
 */
#ifndef AWF_SANDBOX_EXAMINE_H
#define AWF_SANDBOX_EXAMINE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/error.h"

/* Forgets all recorded names. */
void examine_begin(void);
/* Call after an operation on a name in an open directory (AT_FDCWD: a path) has failed; errno is
 * kept. Returns whether errno says what is there; otherwise the name is recorded. */
bool examine_note_error(int at, const char *name);
/* Like lstat(2); on an error that does not say what is there, records the name. */
int examine_status(int at, const char *name, struct stat *st);
/* How many names were recorded. */
size_t examine_count_missed(void);
/* "PATH (REASON)" of each; if there are very many, only of the first. Ends with NULL. */
char *const *examine_missed_names(void);
/* Returns -1 with ERROR_BLOCKED if any name was recorded. */
int examine_check(struct error *err);
/* Reserves as many descriptors as a second pass may need in addition to the first. -1
 * with errno. */
int examine_reserve(int fd);
void examine_release(void);

#endif
