/*
 * A directory of jobs. A job is a regular file in it; it should be written under another name and
 * then renamed. Files that begin with a dot or end in .tmp are ignored.
 *
 *    DIR/NAME                  a job that waits
 *    DIR/running/NAME/         a job that was taken: the file as `job`, and beside it:
 *        run                   the id of its run, before that begins
 *        out, err              output of its run
 *        outcome               one line of JSON, once it has ended
 *        woken                 it waited, and a worker goes on with it
 *    DIR/done/NAME/            the same, when its run has succeeded,
 *    DIR/failed/NAME/          failed,
 *    DIR/waiting/NAME/         or waits for a person
 *
 * What the code relies on, and keeps:
 *   - A job belongs to whoever holds the lock on `out` (flock(2)). That file is the standard
 *     output of its run, so the lock is held until the worker and all processes of the run have
 *     ended, in any order. So a job in running/ without a lock belongs to nobody, and no process
 *     of its run lives.
 *   - Jobs are moved only by rename(2), so at any moment a job is in one place, complete.
 *   - The id of its run is on disk before the job is taken. So the run is found again and resumed;
 *     no job starts two runs.
 *   - Nothing is replaced: if a job with the same name has ended before, the next one is
 *     called NAME.1.
 */
#ifndef AWF_WORKER_JOB_H
#define AWF_WORKER_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/id.h"
#include "storage/storage.h"

struct spool {
	char *root;              /* absolute path */
	char *running;
};

struct job {
	char *name;
	char *directory;         /* DIR/running/NAME */
	int out;                 /* locked */
	char run_id[ID_SIZE];
	bool woken;              /* (JOB_GOES_ON) it waited, and a worker has moved it back, nobody else */
	enum {
		JOB_BEGINS,          /* it has no run yet */
		JOB_GOES_ON,         /* its run is to be resumed */
		JOB_HAS_ENDED        /* its run has ended, which is to be reported */
	} next;
};

/* Makes the directory and its subdirectories if they do not exist. ERROR_SYSTEM. */
int spool_open(struct spool *s, const char *root, struct error *err);
void spool_close(struct spool *s);

/* The names of jobs that can be taken: first those left by dead workers, then waiting ones in the
 * order in which they arrived. A list (base/list.h). ERROR_SYSTEM. */
int spool_names(const struct spool *s, char ***names, struct error *err);

/* Takes a job, or takes it again. 1; 0: another process has it, or it is still being written; -1:
 * *err, and it was not moved. */
int job_take(const struct spool *s, const struct storage *storage, const char *name, struct job *j,
    struct error *err);
/* The path of a file of the job; to be freed by the caller. */
char *job_file(const struct job *j, const char *name);
/* Its run has ended, or cannot be made: writes `outcome`, and moves its directory. status: that of
 * its run as in awf-transcript(5), or "failed" without a run; exit_code -1: unknown. ERROR_SYSTEM:
 * it stays taken, and can be taken again. Call job_let_go() in any case. */
int job_finish(const struct spool *s, struct job *j, const char *status, int exit_code,
    struct error *err);
/* The status of its run: "running", "died" or that of run.completed; "" without a run. To be freed
 * by the caller. *exit_code (may be NULL): that of run.completed, or -1. */
char *job_status(const struct job *j, const struct storage *storage, int *exit_code);
/* A job that waits: its name in waiting/, and the id of its run. */
struct waiting_job {
	char *name;
	char run_id[ID_SIZE];
};
/* The jobs in waiting/ that have a run; to be freed by waiting_jobs_free(). ERROR_SYSTEM. */
int waiting_jobs(const struct spool *s, struct waiting_job **jobs, size_t *count, struct error *err);
void waiting_jobs_free(struct waiting_job *jobs, size_t count);
/* Moves such a job to running/, where it can be taken: 1; 0: a job of this name is there, or it is gone;
 * -1: *err. */
int job_wake(const struct spool *s, const char *name, struct error *err);
/* Unlocks the job and frees it. */
void job_let_go(struct job *j);

#endif
