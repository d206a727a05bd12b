/*
 * A directory of jobs. A job is a regular file in it; whoever gives one writes it under another
 * name, and renames it. What begins with a dot or ends in .tmp is none.
 *
 *     DIR/NAME            a job that waits
 *     DIR/running/NAME/   one that was taken: the file as `job`, and what comes of it:
 *         run             the id of its run, before that begins
 *         out, err        what its run wrote
 *         outcome         one line of JSON, once it has ended
 *     DIR/done/NAME/      the same, once its run has succeeded,
 *     DIR/failed/NAME/    failed,
 *     DIR/waiting/NAME/   or waits for somebody
 *
 * What the code relies on, and keeps:
 *   - Whose job it is says a lock on `out` (flock(2)), which is the standard output of its run: it
 *     goes with the worker and with all of the run, whoever dies first. So one that is in
 *     running/ and not locked is nobody's, and nothing of its run lives.
 *   - A job changes places by rename(2) alone, so it is in one of them, whole, at any moment.
 *   - The id of its run is on disk before the job is taken. So a run is found again, and is gone
 *     on with; no job begins two.
 *   - Nothing is replaced: where a job of the name has ended before, the next is called NAME.1.
 */
#ifndef AWF_WORKER_JOB_H
#define AWF_WORKER_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/id.h"
#include "storage/storage.h"

struct spool {
	char *root;              /* absolute */
	char *running;
};

struct job {
	char *name;
	char *directory;         /* DIR/running/NAME */
	int out;                 /* locked */
	char run_id[ID_SIZE];
	enum {
		JOB_BEGINS,          /* there is no run of it yet */
		JOB_GOES_ON,         /* its run is to be resumed */
		JOB_HAS_ENDED        /* its run has, and that is to be told */
	} next;
};

/* Makes the directory and those in it, where they are not there. ERROR_SYSTEM. */
int spool_open(struct spool *s, const char *root, struct error *err);
void spool_close(struct spool *s);

/* The names of what can be taken: first what dead workers have left, then jobs in the order in
 * which they came. A list (base/list.h). ERROR_SYSTEM. */
int spool_names(const struct spool *s, char ***names, struct error *err);

/* Takes one, or takes it up again. 1; 0: another has it, or it is still being written; -1: *err,
 * and it is where it was. */
int job_take(const struct spool *s, const struct storage *storage, const char *name, struct job *j,
    struct error *err);
/* A file of it, in memory of its own. */
char *job_file(const struct job *j, const char *name);
/* Its run has ended, or there can be none: writes `outcome`, and moves its directory. The status of its run, as
 * awf-transcript(5) has it, or "failed" where there is none, is status; exit_code -1 is not known.
 * ERROR_SYSTEM: it stays taken, and can be taken up. job_let_go() is called either way. */
int job_finish(const struct spool *s, struct job *j, const char *status, int exit_code,
    struct error *err);
/* The status of its run: "running", "died" or that of run.completed; "" if there is none. In
 * memory of its own. *exit_code (may be NULL): that of run.completed, or -1. */
char *job_status(const struct job *j, const struct storage *storage, int *exit_code);
/* Unlocks it and frees all. */
void job_let_go(struct job *j);

#endif
