/*
 * When sandboxed programs ran that could write to a directory: what was changed there at such a
 * time may be their work, what was changed at no such time is not. The time is that of the last
 * change (ctime), which the kernel sets and no sandboxed program does.
 *
 * A directory that is renamed takes its files along with their times. So those that are not where they were when the
 * program began are noted too (workspace/moved_directories.h): what lies in one counts until it is changed after that program
 * has ended. A directory in which a program makes, renames or removes something does not count for that.
 *
 * A time of change that is later than that of the program does not say that somebody wrote the file: one that had
 * several names when the program had ended counts until it is written or touched (workspace/linked_files.h).
 *
 * STORAGE/sandboxed/times holds a file for each directory, called as that is known after it was
 * moved (its inode, and the time of its birth): the directory's path, a NUL, and a line for each
 * time, BEGIN END in nanoseconds, the inodes of the moved directories and the files of several names; * for the
 * directories if they are too many to tell: then all count that were changed since BEGIN. While a program runs there is FILE.ID.call, which it has locked,
 * with the path, a NUL, BEGIN, a newline and the note of the directories; what a killed one leaves ends when somebody
 * looks. Where no sandboxed program ran there is no such directory: a look costs next to nothing.
 *
 * On tmpfs a file can be changed through a mapping of its memory without a change of its times.
 */
#ifndef AWF_WORKSPACE_SANDBOXED_TIMES_H
#define AWF_WORKSPACE_SANDBOXED_TIMES_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"
#include "storage/storage.h"

#define STORAGE_TIMES STORAGE_SANDBOXED "/times"

/* A sandboxed program that runs. */
struct sandboxed_time {
	char *path;   /* NULL: nothing is noted */
	int fd;
};

/* Before it begins: it can write to this directory. Without AWF_STORAGE nothing is noted.
 * ERROR_BLOCKED. */
int sandboxed_time_begin(struct sandboxed_time *t, const char *directory, struct error *err);
/* When it and all that it started have ended. What is changed after this has a later time. ERROR_BLOCKED; it then goes
 * on until somebody looks. */
int sandboxed_time_end(struct sandboxed_time *t, struct error *err);
/* Whether any sandboxed program has run of which a time is kept. */
bool sandboxed_times_exist(void);
/* Whether what a path names, a link itself, was changed at such a time, or moved with a directory. */
bool sandboxed_times_have(const char *path);
/* The same of many files below a directory, for which what is kept is read once: a walk enters each directory that
 * it goes through, and leaves it. What a program does that begins later is not seen. */
struct sandboxed_walk;
/* The path is absolute and has no links. NULL: no sandboxed program has run of which a time is kept; the
 * functions below take that, too. */
struct sandboxed_walk *sandboxed_walk_begin(const char *directory);
void sandboxed_walk_enter(struct sandboxed_walk *w, int fd, const char *path);
void sandboxed_walk_leave(struct sandboxed_walk *w);
/* path: of something in the directory that was entered last; its status is that of a link itself. */
bool sandboxed_walk_have(const struct sandboxed_walk *w, const char *path, const struct stat *status);
void sandboxed_walk_end(struct sandboxed_walk *w);
/* The same as sandboxed_times_have(), or that which it leads to by links, or one of these. */
bool sandboxed_times_have_file(const char *path);
/* The same, or anything below it, or what it leads to by a link: what is too much to look at was. */
bool sandboxed_times_have_below(const char *path);

#endif
