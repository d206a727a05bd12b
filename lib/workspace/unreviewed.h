/*
 * Files that sandboxed programs created in a workspace under names that AWF reads as definitions
 * (agent files, tools …). They are refused until the user has reviewed them, that is, until their
 * last change (ctime, which programs cannot set) is later than the end of all programs that could
 * have created them. Moving the workspace, or a directory that such a program made, does not count
 * as a change.
 *
 * STORAGE/sandboxed/made contains ID.call while such a program runs, and afterwards a file for each
 * name that it has created. If there are none, the directory does not exist, and a check costs
 * almost nothing.
 */
#ifndef AWF_WORKSPACE_UNREVIEWED_H
#define AWF_WORKSPACE_UNREVIEWED_H

#include <stdbool.h>

#include "base/error.h"
#include "storage/storage.h"

#define STORAGE_MADE STORAGE_SANDBOXED "/made"

/* A sandboxed program that is running. Processes that are forked meanwhile have its lock, too: it
 * has ended when the last of them has. */
struct unreviewed_call {
	char *path;   /* NULL: nothing is noted */
	int fd;
};

/* Called before the program starts. names: paths in the workspace, relative to it, that it can make
 * or change; ends with NULL; NULL: none. Those that exist are noted, too, since it may change them.
 * Without AWF_STORAGE nothing is noted. -1 with ERROR_BLOCKED. */
int unreviewed_begin(struct unreviewed_call *call, const char *workspace, char *const *names,
    struct error *err);
/* Called when the program and everything that it has started have ended: notes what it has made. -1
 * with ERROR_BLOCKED; then all names stay suspect. */
int unreviewed_end(struct unreviewed_call *call, struct error *err);

/* Whether there is a note about this name in a workspace, or about something in it: a sandboxed
 * program has made it, even if it was reviewed since. */
bool unreviewed_noted(const char *workspace, const char *name);

/* -1 with ERROR_DEFINITION if a file that was just read was made by a sandboxed program, and was
 * not reviewed since. */
int unreviewed_check(const char *path, struct error *err);

#endif
