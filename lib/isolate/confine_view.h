/*
 * The file system of a confinement: planned by the process outside, where paths
 * mean what the caller meant, and built by the one inside, which has nothing to
 * decide any more. Only confine.c uses this.
 */
#ifndef AWF_ISOLATE_CONFINE_VIEW_H
#define AWF_ISOLATE_CONFINE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "isolate/confine.h"

/* In the order in which the later holds, of two of one path. */
enum confine_kind {
	CONFINE_VISIBLE, CONFINE_PRIVATE, CONFINE_WORKSPACE, CONFINE_WRITABLE,
	CONFINE_FILE,  /* instead of what is there */
	CONFINE_ALIAS  /* visible too, by a name through hidden symbolic links */
};

struct confine_place {
	enum confine_kind kind;
	char *target;  /* where it is seen */
	char *source;  /* what of the host is seen there; NULL: nothing, it is private */
	mode_t mode;   /* of a private one */
};

struct confine_plan {
	struct confine_place *places; /* parents before children, aliases last */
	size_t count;
	char **divided;       /* paths whose parents cannot be seen whole: mount points */
	size_t divided_count;
	char *workspace;      /* resolved */
	char *covered;        /* the same, if something else is seen there; NULL */
	char *source;         /* of the host, what is seen there */
	char *scratch;        /* with upper/ and work/ in it; NULL */
};

/* Makes a directory below spec->scratch too. */
int confine_plan(struct confine_plan *plan, const struct confine_spec *spec, struct error *err);
bool confine_plan_private(const struct confine_plan *plan, const char *path);
/* Whether something is mounted, or is to be made, below the path. */
bool confine_plan_divides(const struct confine_plan *plan, const char *path);
/* Removes the directory below spec->scratch. */
int confine_plan_end(struct confine_plan *plan, struct error *err);

/* In mount, network and PID namespaces of its own: makes the file system, and enters
 * it. first_pid as in struct confine_spec: the way to it is in /proc. */
int confine_view(const struct confine_plan *plan, pid_t first_pid, struct error *err);

/* ERROR_SYSTEM with errno and what to do: "unable to WHAT: …". Returns -1. */
int confine_refused(struct error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
