/*
 * Lineage: the enclosing runs of a run, outermost first, and the run itself last. It is used to
 * refuse a workflow that starts itself again inside its own run, and a depth of more than
 * LINEAGE_LIMIT runs, before anything is created. A line for each in runs/<id>/lineage, "RUN_ID
 * DEVICE INODE"; a child's begins with its parent's, so it is known even if a parent has ended
 * that a detached child outlives.
 */
#ifndef AWF_STORAGE_LINEAGE_H
#define AWF_STORAGE_LINEAGE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/id.h"
#include "proc/ending.h"

#define LINEAGE_LIMIT ENDING_DEPTH

struct lineage {
	struct ancestor {
		char run_id[ID_SIZE];
		dev_t device;        /* of the workflow's script; both 0: it has none */
		ino_t inode;
	} runs[LINEAGE_LIMIT + 1];
	size_t count;
};

/* That of the run whose directory it is; none if it has none, as a run of one step. */
int lineage_read(struct lineage *l, const char *run_directory, struct error *err);
/* Adds a run. ERROR_USAGE: one of the others runs the same script (NULL: none), or there
 * are too many. */
int lineage_add(struct lineage *l, const char *run_id, const char *script, struct error *err);
/* Its depth: 0 for a run at top level. */
size_t lineage_depth(const struct lineage *l);
int lineage_write(const struct lineage *l, const char *run_directory, struct error *err);

#endif
