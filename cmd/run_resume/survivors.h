/*
 * Survivors: processes of this user that an attempt of a run left behind when it died.
 * They are known by what they have in their environment since their start, wherever
 * they have got to: another session, another parent.
 */
#ifndef AWF_RUN_RESUME_SURVIVORS_H
#define AWF_RUN_RESUME_SURVIVORS_H

#include <stddef.h>
#include <sys/types.h>

struct survivor {
	pid_t pid;
	char command[128]; /* one line */
};

/* Looks for other processes with `variable` (NAME=VALUE) in their environment, for at
 * most patience_ms while there are some: those that a guardian is ending take a moment, and the far
 * end of a launcher on this machine, which ends by itself once nobody speaks to it, some more.
 * Returns how many are left; the first is described, if there is one. */
size_t survivors_find(const char *variable, int patience_ms, struct survivor *first);

#endif
