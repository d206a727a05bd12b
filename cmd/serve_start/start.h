/*
 * Starting a workflow: awf-run with the file of the workflow, in its directory. The run does not
 * depend on the server once it has begun. The options of the file's #! line apply as if the file
 * were started by hand.
 */
#ifndef AWF_SERVE_START_START_H
#define AWF_SERVE_START_START_H

#include <stdbool.h>

#include "base/error.h"
#include "base/id.h"
#include "json/scan.h"
#include "storage/storage.h"

struct start_spec {
	const struct storage *storage;
	const char *directory;   /* directory of the workflow's file */
	const char *file;        /* name of the file in the directory */
	const char *run_id;      /* the id that the run gets */
	char *const *inputs;     /* KEY=VALUE; ends with NULL */
	struct span stdin;       /* the run's standard input, unless input is not 0 */
	int input;               /* a descriptor to read it from; -1: nothing */
	char *const *options;    /* further options of awf-run; NULL */
	bool resumes, forks;     /* these name another run: the file, and its options, are that run's */
};

enum started {
	START_BEGUN,             /* the run exists; or it is not known yet whether it has begun */
	START_QUEUED,            /* the run is queued (--overlap) */
	START_SKIPPED,           /* there is no run, because another one is running (--overlap) */
	START_FAILED             /* with *err; awf-run has printed the reason on standard error */
};

/* Whether the run exists or is queued. */
enum started start_look(const struct storage *s, const char *run_id);
/* Starts the workflow, and waits at most HOOK_START_MS for the result. Must be called in a child
 * process: awf-run becomes its child, gets a session of its own, and goes on after it. */
enum started start_workflow(const struct start_spec *spec, struct error *err);

#endif
