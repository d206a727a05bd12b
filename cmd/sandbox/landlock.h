/*
 * Landlock: this process, and all that it starts, reach the listed places and nothing
 * else of the file system; and, as far as this kernel knows how, no TCP, no abstract
 * sockets and no processes outside.
 */
#ifndef AWF_SANDBOX_LANDLOCK_H
#define AWF_SANDBOX_LANDLOCK_H

#include <stdbool.h>

#include "base/error.h"
#include "sandbox/places.h"

/* Versions of what the kernel offers, by what came with them. */
enum {
	LANDLOCK_NONE, LANDLOCK_FILES, LANDLOCK_REFER, LANDLOCK_TRUNCATE, LANDLOCK_TCP,
	LANDLOCK_DEVICES, LANDLOCK_SCOPE
};

/* LANDLOCK_NONE: this kernel has it not, or not switched on. */
int landlock_version(void);
/* Wants no_new_privs to be set. ERROR_BLOCKED. */
int landlock_enforce(const struct places *p, int version, bool network, struct error *err);

#endif
