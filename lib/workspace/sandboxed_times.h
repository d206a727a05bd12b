/*
 * Records when sandboxed programs ran that could write to a directory. A file whose last change
 * (ctime) was at such a time may have been written by them, any other file was not. Only the
 * kernel sets the ctime; programs cannot.
 *
 * Renaming a directory does not change the times of the files in it. So directories that were
 * moved while the program ran are recorded, too (workspace/moved_directories.h): files in them
 * count as written by the program until they are changed after it has ended. Creating, renaming or
 * removing entries of a directory does not make it count as moved.
 *
 * A later ctime does not always mean that the file was rewritten: a file that had several names
 * when the program ended counts as written by it until it is written or touched
 * (workspace/linked_files.h).
 *
 * STORAGE/sandboxed/times has a file for each directory, named by its inode and birth time, so
 * that it is still found after the directory was moved. It contains the directory's path, a NUL,
 * and a line for each program: BEGIN END in nanoseconds, the inodes of the moved directories (* if
 * there are too many: then all directories changed since BEGIN count), and the files with several
 * names. While a program runs, it holds a lock on FILE.ID.call, which contains the path, a NUL,
 * BEGIN, a newline and the list of directories; if it was killed, its end is taken to be the time
 * of the next check. If no sandboxed program has run, the directory does not exist, and checks
 * cost almost nothing.
 *
 * Limitation: on tmpfs a file can be changed through a memory mapping without changing its times.
 */
#ifndef AWF_WORKSPACE_SANDBOXED_TIMES_H
#define AWF_WORKSPACE_SANDBOXED_TIMES_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"
#include "storage/storage.h"

#define STORAGE_TIMES STORAGE_SANDBOXED "/times"

/* A sandboxed program that is running. */
struct sandboxed_time {
	char *path;   /* NULL: nothing is noted */
	int fd;
};

/* Called before the program starts: it can write to this directory. Without AWF_STORAGE nothing is
 * recorded. -1 with ERROR_BLOCKED. */
int sandboxed_time_begin(struct sandboxed_time *t, const char *directory, struct error *err);
/* Called when the program and all its processes have ended. Changes after that get a later time. -1
 * with ERROR_BLOCKED; then the record stays open until the next check. */
int sandboxed_time_end(struct sandboxed_time *t, struct error *err);
/* Whether there is a record about any sandboxed program. */
bool sandboxed_times_exist(void);
/* Whether the file at a path (a link itself) was changed by a sandboxed program, as far as is
 * known: in such a period, or by moving a directory. */
bool sandboxed_times_have(const char *path);
/* The same for many files below a directory; the records are read only once. Call the functions for
 * each directory that a walk enters and leaves. Programs that start later are not noticed. */
struct sandboxed_walk;
/* directory: absolute, with links resolved. NULL: there is no record about any sandboxed program;
 * the functions below accept that. */
struct sandboxed_walk *sandboxed_walk_begin(const char *directory);
void sandboxed_walk_enter(struct sandboxed_walk *w, int fd, const char *path);
void sandboxed_walk_leave(struct sandboxed_walk *w);
/* path: of something in the directory that was entered last; st: its state, of a link itself. */
bool sandboxed_walk_have(const struct sandboxed_walk *w, const char *path, const struct stat *status);
void sandboxed_walk_end(struct sandboxed_walk *w);
/* The same as sandboxed_times_have(), for a path, its target, and all links on the way. */
bool sandboxed_times_have_file(const char *path);
/* The same for everything below a path, and for targets of links; true if there is too much to
 * examine. */
bool sandboxed_times_have_below(const char *path);

#endif
