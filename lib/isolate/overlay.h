/*
 * The file system of an isolation: planned by the process outside, where paths have the caller's
 * meaning, and set up by the process inside, which makes no decisions. Used only by isolate.c.
 */
#ifndef AWF_ISOLATE_OVERLAY_H
#define AWF_ISOLATE_OVERLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "isolate/isolate.h"

/* If two places have the same path, the one whose kind comes later is used. */
enum overlay_kind {
	OVERLAY_VISIBLE, OVERLAY_PRIVATE, OVERLAY_WORKSPACE, OVERLAY_WRITABLE,
	OVERLAY_FILE,  /* another file is shown in place of what is there */
	OVERLAY_ALIAS  /* another name of a visible place, whose path contains hidden symbolic
	                  links */
};

struct overlay_place {
	enum overlay_kind kind;
	char *target;  /* path inside of the isolation */
	char *source;  /* path on the host; NULL: a private directory */
	mode_t mode;   /* for a private directory */
};

struct overlay_plan {
	struct overlay_place *places; /* parents before children, aliases last */
	size_t count;
	char **divided;       /* directories that contain mount points, so that they are created and
	                         their entries shown one by one */
	size_t divided_count;
	char *workspace;      /* path with links resolved */
	char *covered;        /* the workspace's path on the host, if something else is shown there;
	                         NULL */
	char *source;         /* path on the host that is shown as the workspace */
	char *scratch;        /* directory with upper/ and work/; NULL */
};

/* Makes the plan; and a directory below spec->scratch. */
int overlay_plan(struct overlay_plan *plan, const struct isolate_spec *spec, struct error *err);
/* Whether a private directory has exactly this path. */
bool overlay_plan_private(const struct overlay_plan *plan, const char *path);
/* Whether another file is shown at exactly this path. */
bool overlay_plan_has_file(const struct overlay_plan *plan, const char *path);
/* Whether something is or will be mounted or made below the path. */
bool overlay_plan_divides(const struct overlay_plan *plan, const char *path);
/* Removes the directory below spec->scratch. */
int overlay_plan_end(struct overlay_plan *plan, struct error *err);

/* Sets up the file system and enters it; called in new mount, network and PID namespaces.
 * first_pid: as in struct isolate_spec; it is set through /proc. */
int overlay_view(const struct overlay_plan *plan, pid_t first_pid, struct error *err);

/* Sets ERROR_SYSTEM from errno, with advice: "unable to WHAT: …". Returns -1. */
int isolate_refused(struct error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
