/*
 * Lineage: the enclosing runs of a run, outermost first, and the run itself last. It is used to
 * refuse a workflow that starts itself again inside its own run, and a depth of more than
 * LINEAGE_LIMIT runs, before anything is created. runs/<id>/lineage has a line for each, "RUN_ID
 * DEVICE INODE". A child's file begins with the lines of its parent, so that it is complete even
 * when a detached child outlives its parent.
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

/* Reads the lineage of a run from its directory. Empty if there is no file, as for a run of a
 * single step. */
int lineage_read(struct lineage *l, const char *run_directory, struct error *err);
/* Adds a run. ERROR_USAGE: one of the runs around it has the same script (NULL: it has none), or
 * there are too many. */
int lineage_add(struct lineage *l, const char *run_id, const char *script, struct error *err);
/* How deep the last run is nested: 0 at top level. */
size_t lineage_depth(const struct lineage *l);
int lineage_write(const struct lineage *l, const char *run_directory, struct error *err);

#endif
