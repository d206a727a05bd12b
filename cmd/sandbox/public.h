/*
 * Which files of a system directory every user may read. In a sandbox root owns most of the others
 * (password hashes, private keys), and could read them without any capability.
 *
 * If mounts can have mapped owners, and the command has its own mounts, the kernel ensures this:
 * in such a mount the files belong to nobody, so root may read what any other user may.
 *
 *    public_tree() → mounted over the directory
 *
 * Otherwise the directory is searched for each command, as a changed mode leaves no trace in the
 * directory; a separate process does that, since there is other work meanwhile.
 *
 *    public_begin() → public_wait() in whoever needs it, once → public_end()
 */
#ifndef AWF_SANDBOX_PUBLIC_H
#define AWF_SANDBOX_PUBLIC_H

#include <sys/types.h>

#include "base/error.h"
#include "isolate/landlock.h"

/* Returns the directory and all mounts below it as a detached read-only tree in which no file
 * belongs to a user who runs here. -1 with errno: this kernel or a file system lacks such mounts,
 * or this process may not make them. */
int public_tree(const char *directory);

struct public_look {
	pid_t pid;    /* the process that searches; 0: none, or it has ended */
	int report;   /* -1: no process was started */
};
#define PUBLIC_LOOK_INIT { 0, -1 }

/* Starts a process that adds rules for what every user may read to `rules`, which all processes
 * that have them open share: for each readable file, and for listing a directory if no directory
 * below it is closed. ERROR_BLOCKED. */
int public_begin(struct public_look *l, struct landlock *rules, const char *directory,
    struct error *err);
/* Waits until the rules are complete. ERROR_BLOCKED. */
int public_wait(const struct public_look *l, struct error *err);
/* For the process that called public_begin(): public_reap() notes whether the search process has
 * ended; public_end() ends it. */
void public_reap(struct public_look *l);
void public_end(struct public_look *l);

#endif
