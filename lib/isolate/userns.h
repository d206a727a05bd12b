/*
 * User namespaces: forks into a new one in which the user's ids are those outside. The child does
 * nothing until they are, and dies when its parent does.
 */
#ifndef AWF_ISOLATE_USERNS_H
#define AWF_ISOLATE_USERNS_H

#include <stdbool.h>
#include <sys/types.h>

/* flags: CLONE_NEW… of other namespaces. The child calls body, which does not return. -1 with
 * errno; *mapped (may be NULL): the namespaces were made, and mapping ids was refused. */
pid_t userns_fork(unsigned long flags, void (*body)(void *context), void *context,
    bool *mapped);

#endif
