/*
 * Landlock: this process, and all that it starts, reach the places that were allowed and
 * nothing else of the file system; and, as far as this kernel knows how, no TCP, no abstract
 * sockets and no processes outside.
 *
 *     landlock_begin() → landlock_allow()… → landlock_enforce()
 */
#ifndef AWF_ISOLATE_LANDLOCK_H
#define AWF_ISOLATE_LANDLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Versions of what the kernel offers, by what came with them. */
enum {
	LANDLOCK_NONE, LANDLOCK_FILES, LANDLOCK_REFER, LANDLOCK_TRUNCATE, LANDLOCK_TCP,
	LANDLOCK_DEVICES, LANDLOCK_SCOPE
};

/* What of a place is allowed, less before more. PLACE_LIST: which names there are; PLACE_PUBLIC:
 * what is open to every user, which is read as others are where its files are nobody's, and else
 * is for who finds it. */
enum place_access { PLACE_LIST, PLACE_PUBLIC, PLACE_READ, PLACE_DEVICE, PLACE_WRITE };

struct landlock {
	int fd;         /* the kernel's */
	uint64_t files; /* what it is asked about */
};

/* LANDLOCK_NONE: this kernel has it not, or not switched on. */
int landlock_version(void);
/* network: TCP is allowed. ERROR_BLOCKED. */
int landlock_begin(struct landlock *l, int version, bool network, struct error *err);
/* What is open as fd (O_PATH will do), and all below it. path: its name, for the error.
 * ERROR_BLOCKED. */
int landlock_allow(struct landlock *l, int fd, enum place_access access, const char *path,
    struct error *err);
/* Wants no_new_privs to be set. Closes the rules in any case. ERROR_BLOCKED. */
int landlock_enforce(struct landlock *l, struct error *err);

#endif
