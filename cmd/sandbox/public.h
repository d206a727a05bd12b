/*
 * What of a directory of the system every user may read. Root in a sandbox owns most of the
 * rest (password hashes, private keys), and would read it without any capability.
 *
 * Where mounts can have owners of their own, and the command has mounts of its own, the kernel
 * sees to it: there the directory's files are nobody's, and open to root as to any other user.
 *
 *     public_tree() → mounted over the directory
 *
 * Elsewhere it is looked up for each command, as a mode that was changed leaves no trace in the
 * directory; by a process of its own, as there is something else to do meanwhile.
 *
 *     public_begin() → public_wait() in whoever needs it, once → public_end()
 */
#ifndef AWF_SANDBOX_PUBLIC_H
#define AWF_SANDBOX_PUBLIC_H

#include <sys/types.h>

#include "base/error.h"
#include "isolate/landlock.h"

/* The directory, with all that is mounted below, read-only, as a tree to be mounted, in which no
 * file is of anybody who runs here. -1 with errno: this kernel, or one of the file systems, has no
 * such mounts, or this process may not make them. */
int public_tree(const char *directory);

struct public_look {
	pid_t pid;    /* who looks; 0: nobody does, or any more */
	int report;   /* -1: nobody ever did */
};
#define PUBLIC_LOOK_INIT { 0, -1 }

/* Begins to add to the rules, which all processes that have them open share, that it may be
 * read: each file that is open now, and the names in a directory if none below it is closed.
 * ERROR_BLOCKED. */
int public_begin(struct public_look *l, struct landlock *rules, const char *directory,
    struct error *err);
/* Waits until they are complete. ERROR_BLOCKED. */
int public_wait(const struct public_look *l, struct error *err);
/* For the process that began: takes note that who looked has ended, if so; sees to it that it
 * has. */
void public_reap(struct public_look *l);
void public_end(struct public_look *l);

#endif
