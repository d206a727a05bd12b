/*
 * Files that sandboxed programs created in a workspace under names that AWF reads as definitions
 * (agent files, tools …). They are refused until the user has reviewed them: until their last
 * change (ctime, which programs cannot set) is later than the end of all programs that could have
 * created them. It stays the same when the workspace, or a directory that they made, is moved.
 *
 * STORAGE/sandboxed/made holds ID.call while such a program runs, and after it a file for each
 * name that came into being. Without any there is no such directory: a look costs next to nothing.
 */
#ifndef AWF_WORKSPACE_UNREVIEWED_H
#define AWF_WORKSPACE_UNREVIEWED_H

#include <stdbool.h>

#include "base/error.h"
#include "storage/storage.h"

#define STORAGE_MADE STORAGE_SANDBOXED "/made"

/* A sandboxed program that runs. Processes that are forked meanwhile hold it too: it is over
 * when the last has ended. */
struct unreviewed_call {
	char *path;   /* NULL: nothing is noted */
	int fd;
};

/* Before it begins. names: paths in the workspace, relative to it, that it can make or
 * change; ends with NULL; NULL: none. Those that are there may be changed, if they were noted
 * before. Without AWF_STORAGE nothing is noted. ERROR_BLOCKED. */
int unreviewed_begin(struct unreviewed_call *call, const char *workspace, char *const *names,
    struct error *err);
/* When it and all that it started have ended: notes what it made. ERROR_BLOCKED; then all of
 * the names stay doubted. */
int unreviewed_end(struct unreviewed_call *call, struct error *err);

/* Whether a sandboxed program has ever made this name of a workspace: its current target, or
 * something in it. */
bool unreviewed_noted(const char *workspace, const char *name);

/* ERROR_DEFINITION if a file that was just read was made by a sandboxed program and not
 * reviewed since. */
int unreviewed_check(const char *path, struct error *err);

#endif
