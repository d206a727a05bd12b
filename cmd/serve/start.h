/*
 * Starting a workflow: awf-run with the file of the workflow, in its directory. When the run has
 * begun, it is left to itself. The options of the file's #! line apply as if the file were
 * started by hand.
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
	struct span stdin;       /* for its standard input */
};

enum started {
	START_BEGUN,             /* the run exists; or starting takes long, and it may
	                            still begin */
	START_QUEUED,            /* it waits for its turn (--overlap) */
	START_SKIPPED,           /* there is no run: its turn was skipped */
	START_FAILED             /* with *err; awf-run has printed the reason on standard error */
};

/* Whether the run is there, or waits for its turn. */
enum started start_look(const struct storage *s, const char *run_id);
/* Starts it, and waits at most HOOK_START_MS for the result. To be called in a process of its own:
 * the run is started as its child, in a session of its own, and continues after it. */
enum started start_workflow(const struct start_spec *spec, struct error *err);

#endif
