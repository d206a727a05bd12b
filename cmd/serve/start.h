/*
 * Starting a workflow: awf-run with the file of one, in its directory, left to itself as soon as
 * its run has begun. What its #! line says to awf-run holds, as if it were called by hand.
 */
#ifndef AWF_SERVE_START_H
#define AWF_SERVE_START_H

#include "base/error.h"
#include "base/id.h"
#include "json/scan.h"
#include "storage/storage.h"

struct start_spec {
	const struct storage *storage;
	const char *directory;   /* of the workflows */
	const char *file;        /* a name in it */
	const char *run_id;      /* that it is to have */
	char *const *inputs;     /* KEY=VALUE; ends with NULL */
	struct span stdin;       /* what is to come on its standard input */
};

enum started {
	START_BEGUN,             /* its run is there; or it takes long, and may come */
	START_QUEUED,            /* it waits for its turn (--overlap) */
	START_SKIPPED,           /* there is to be none: that was its turn */
	START_FAILED             /* with *err; awf-run has said why on standard error */
};

/* Whether the run is there, or waits for its turn. */
enum started start_look(const struct storage *s, const char *run_id);
/* Starts it, and waits until that is known, at most HOOK_START_MS. For a process of its own: what
 * is started is its child, in a session of its own, and lives on. */
enum started start_workflow(const struct start_spec *spec, struct error *err);

#endif
