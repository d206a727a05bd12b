/*
 * User namespaces: forks a child into a new one in which its ids are the same as outside. The child
 * does nothing until the ids are mapped, and dies when its parent dies.
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
