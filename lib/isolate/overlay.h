/*
 * The file system of an isolation: planned by the process outside, where paths
 * mean what the caller meant, and built by the one inside, which has nothing to
 * decide any more. Only isolate.c uses this.
 */
#ifndef AWF_ISOLATE_OVERLAY_H
#define AWF_ISOLATE_OVERLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "isolate/isolate.h"

/* In the order in which the later holds, of two of one path. */
enum overlay_kind {
	OVERLAY_VISIBLE, OVERLAY_PRIVATE, OVERLAY_WORKSPACE, OVERLAY_WRITABLE,
	OVERLAY_FILE,  /* instead of what is there */
	OVERLAY_ALIAS  /* visible too, by a name through hidden symbolic links */
};

struct overlay_place {
	enum overlay_kind kind;
	char *target;  /* where it is seen */
	char *source;  /* what of the host is seen there; NULL: nothing, it is private */
	mode_t mode;   /* of a private one */
};

struct overlay_plan {
	struct overlay_place *places; /* parents before children, aliases last */
	size_t count;
	char **divided;       /* paths whose parents cannot be seen whole: mount points */
	size_t divided_count;
	char *workspace;      /* resolved */
	char *covered;        /* the same, if something else is seen there; NULL */
	char *source;         /* of the host, what is seen there */
	char *scratch;        /* with upper/ and work/ in it; NULL */
};

/* Makes a directory below spec->scratch too. */
int overlay_plan(struct overlay_plan *plan, const struct isolate_spec *spec, struct error *err);
/* Whether a private directory is to be at this very path. */
bool overlay_plan_private(const struct overlay_plan *plan, const char *path);
/* Whether another file is shown at this very path. */
bool overlay_plan_has_file(const struct overlay_plan *plan, const char *path);
/* Whether something is mounted, or is to be made, below the path. */
bool overlay_plan_divides(const struct overlay_plan *plan, const char *path);
/* Removes the directory below spec->scratch. */
int overlay_plan_end(struct overlay_plan *plan, struct error *err);

/* In mount, network and PID namespaces of its own: makes the file system, and enters
 * it. first_pid as in struct isolate_spec: the way to it is in /proc. */
int overlay_view(const struct overlay_plan *plan, pid_t first_pid, struct error *err);

/* ERROR_SYSTEM with errno and what to do: "unable to WHAT: …". Returns -1. */
int isolate_refused(struct error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
