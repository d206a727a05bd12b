/*
 * The file system of a sandbox with its own mount namespace: that of the machine, read-only
 * including metadata, with the writable places unchanged, private directories for temporary files,
 * and empty ones over what is hidden. Paths are the same as outside.
 */
#ifndef AWF_SANDBOX_VIEW_H
#define AWF_SANDBOX_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "sandbox/places.h"

/* A path for a private directory that is not in the way of the workspace; NULL: none. */
const char *view_temporary(const struct places *p);

struct view {
	int64_t temporary;    /* size in bytes of each private directory */
	int64_t processes;    /* maximum number, if the kernel counts them */
	int configuration;    /* tree to be mounted over places_configuration (public.h); -1 */
	bool own_proc;        /* result: /proc shows this PID namespace, */
	bool counted;         /* and the kernel counts its processes */
};

/* Call it in new mount and PID namespaces. Private directories become places of *p. -1
 * (ERROR_SYSTEM): this system does not allow it, and nothing was changed outside. */
int view_make(struct view *v, struct places *p, struct error *err);

#endif
