/*
 * Survivors: processes of this user that were left when an attempt of a run died. They are
 * recognized by a variable in their initial environment, even in another session or with
 * another parent.
 */
#ifndef AWF_RUN_RESUME_SURVIVORS_H
#define AWF_RUN_RESUME_SURVIVORS_H

#include <stddef.h>
#include <sys/types.h>

struct survivor {
	pid_t pid;
	char command[128]; /* one line */
};

/* Looks for other processes with `variable` (NAME=VALUE) in their environment, and waits up to
 * patience_ms for them to exit: a guardian needs a moment to end its processes, and a launcher's
 * far end on this machine, which exits when its connection is closed, a little more. Returns how
 * many are left, and describes the first. */
size_t survivors_find(const char *variable, int patience_ms, struct survivor *first);

#endif
