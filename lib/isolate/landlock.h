/*
 * Landlock: restricts this process and its children to the allowed parts of the file system; and,
 * as far as the kernel supports it, denies TCP, abstract sockets and signals to processes outside.
 *
 *    landlock_begin() → landlock_allow()… → landlock_enforce()
 */
#ifndef AWF_ISOLATE_LANDLOCK_H
#define AWF_ISOLATE_LANDLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Versions of the kernel's interface, named by what each has added. */
enum {
	LANDLOCK_NONE, LANDLOCK_FILES, LANDLOCK_REFER, LANDLOCK_TRUNCATE, LANDLOCK_TCP,
	LANDLOCK_DEVICES, LANDLOCK_SCOPE
};

/* What is allowed for a place, in increasing order. PLACE_LIST: listing names. PLACE_PUBLIC:
 * reading what every user may read; if the place is a mount whose files belong to nobody, this is
 * allowed as for PLACE_READ, otherwise a search adds rules for such files. */
enum place_access { PLACE_LIST, PLACE_PUBLIC, PLACE_READ, PLACE_DEVICE, PLACE_WRITE };

struct landlock {
	int fd;         /* ruleset of the kernel */
	uint64_t files; /* the rights that the ruleset controls */
};

/* LANDLOCK_NONE: the kernel does not have Landlock, or it is switched off. */
int landlock_version(void);
/* network: allow TCP. -1 with ERROR_BLOCKED. */
int landlock_begin(struct landlock *l, int version, bool network, struct error *err);
/* Allows access to the file or directory that is open as fd (O_PATH is enough), and to everything
 * below it. path: for messages. -1 with ERROR_BLOCKED. */
int landlock_allow(struct landlock *l, int fd, enum place_access access, const char *path,
    struct error *err);
/* Needs no_new_privs. Closes the ruleset in any case. -1 with ERROR_BLOCKED. */
int landlock_enforce(struct landlock *l, struct error *err);

#endif
