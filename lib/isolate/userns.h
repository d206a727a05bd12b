/*
 * User namespaces: a fork into one, in which this user's ids are what they are outside.
 * The child does nothing before they are, and dies when its parent does.
 */
#ifndef AWF_ISOLATE_USERNS_H
#define AWF_ISOLATE_USERNS_H

#include <stdbool.h>
#include <sys/types.h>

/* flags: CLONE_NEW… of the other namespaces. The child calls body, which does not
 * return. -1 with errno; *mapped (may be NULL) tells whether the namespaces were made and
 * the ids are what was refused. */
pid_t userns_fork(unsigned long flags, void (*body)(void *context), void *context,
    bool *mapped);

#endif
