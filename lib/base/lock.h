/*
 * POSIX record locks on whole files, by which processes tell that they live: the
 * kernel frees them with the process. Closing any descriptor of the file frees the
 * process's lock too, so whoever holds one opens the file once.
 */
#ifndef AWF_BASE_LOCK_H
#define AWF_BASE_LOCK_H

#include <stdbool.h>
#include <sys/types.h>

/* F_WRLCK, without waiting. -1 with errno: EAGAIN or EACCES if another has it. */
int lock_take(int fd);
/* Whether another process has it; *pid (may be NULL) is that process then, 0 if it
 * cannot be told, as of another pid namespace. */
bool lock_taken(int fd, pid_t *pid);
/* Whether path still names the file that is open: who has locked a file and then finds
 * it so has locked what the name stands for. */
bool lock_named(int fd, const char *path);

#endif
