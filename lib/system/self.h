/*
 * What a process tells the kernel about itself. Linux does all of this. A portable build does none:
 * then orphans go to the first process of the machine, a child does not notice that its parent has
 * died unless it asks (getppid()), names are those of the programs, and whoever may debug the
 * process may read its memory.
 */
#ifndef AWF_SYSTEM_SELF_H
#define AWF_SYSTEM_SELF_H

#include <stdbool.h>

/* Whether a program that is started, and what that starts, is found again by a process group of its own
 * alone. */
#ifdef AWF_PORTABLE
#define SELF_NEEDS_GROUPS true
#else
#define SELF_NEEDS_GROUPS false
#endif

/* Becomes the parent of orphaned descendants. */
void self_adopt(void);
/* The name by which others know it (at most 15 bytes). */
void self_name(const char *name);
/* Gets this signal when its parent dies. It may have died before: check getppid() afterwards. */
void self_die_with_parent(int signal_number);
/* No other process of the user can read its memory, and none is written to a core file. False: that
 * failed. */
bool self_seal_memory(void);

#endif
