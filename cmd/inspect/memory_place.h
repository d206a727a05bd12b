/*
 * A directory in memory, in which a replay keeps a copy of a workspace. Whoever made it
 * holds a lock on it; so what was left by one that was killed is known, and removed when
 * the next is made.
 */
#ifndef AWF_INSPECT_MEMORY_PLACE_H
#define AWF_INSPECT_MEMORY_PLACE_H

struct memory_place {
	char *path;  /* NULL: there is none */
	int fd;      /* holds the lock */
};

/* -1: there is no memory for it. */
int memory_place_make(struct memory_place *p);
/* With all that is in it. */
void memory_place_remove(struct memory_place *p);

#endif
