/*
 * The file system of a sandbox with a mount namespace of its own: that of the machine,
 * read-only, metadata too, with the writable places as they are, private directories for
 * what is temporary, and empty ones over what is hidden. Paths mean what they mean outside.
 */
#ifndef AWF_SANDBOX_VIEW_H
#define AWF_SANDBOX_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "sandbox/places.h"

/* Where a private directory would lie, in the way of no workspace; NULL: nowhere. */
const char *view_temporary(const struct places *p);

struct view {
	int64_t temporary;    /* bytes of room in each private directory */
	int64_t processes;    /* as many at most, if the kernel keeps count */
	int configuration;    /* tree to be mounted over the directory of that name (public.h); -1 */
	bool own_proc;        /* filled: /proc shows this PID namespace, */
	bool counted;         /* and the kernel keeps count */
};

/* In mount and PID namespaces of its own. Private directories become places of *p. -1:
 * this system does not allow it, and nothing was changed outside. ERROR_SYSTEM. */
int view_make(struct view *v, struct places *p, struct error *err);

#endif
