/*
 * What posix_spawn(3) does in the child beyond what POSIX.1-2008 has: the directory, the descriptors
 * that are closed, the foreground of a terminal. Where the C library has no such action, it is
 * replaced by others, or done by the parent.
 */
#ifndef AWF_SYSTEM_SPAWN_H
#define AWF_SYSTEM_SPAWN_H

#include <spawn.h>
#include <sys/types.h>

/* The child starts in this directory. Each of these returns 0 or the reason. */
int spawn_directory(posix_spawn_file_actions_t *actions, const char *directory);
/* No descriptor from this one on is open in the child. Without such an action, those are closed one
 * by one that are open now and would be inherited: nothing may be opened before the child is
 * started that has to be closed in it. */
int spawn_close_from(posix_spawn_file_actions_t *actions, int first);
/* The child's group gets the foreground of this terminal; it must be the child's first action that
 * has to do with it. */
int spawn_foreground(posix_spawn_file_actions_t *actions, int terminal);
/* What the parent still has to do for that once the child has been started. */
void spawn_foreground_after(int terminal, pid_t pid);

/* A flag for posix_spawnattr_setflags(): a new session. */
#ifdef POSIX_SPAWN_SETSID
#define SPAWN_SESSION POSIX_SPAWN_SETSID
#else
#define SPAWN_SESSION 0x80
#endif

#endif
