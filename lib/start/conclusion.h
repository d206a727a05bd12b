/*
 * The conclusion: the result of an attempt, for run.completed and awf-run's exit status. It is
 * derived from the end of the workflow and the recorded outcomes of the calls, and does not rely
 * on exit statuses, which a shell may drop.
 */
#ifndef AWF_START_CONCLUSION_H
#define AWF_START_CONCLUSION_H

#include <stdbool.h>

#include "base/error.h"
#include "model/outcome.h"
#include "start/supervise.h"
#include "storage/roster.h"
#include "storage/run.h"

/* Exit codes of a run, besides its workflow's own, STATUS_WORK and STATUS_WAITING. */
enum { CONCLUSION_TIMEOUT = 124, CONCLUSION_FAILED = 125 /* an error of AWF itself */ };

struct conclusion {
	const char *status;           /* success failed cancelled timeout waiting */
	int exit_code;
	struct error error;
	char step[sizeof ((struct outcome *)0)->first_failed]; /* which failed or waits */
};

/* Reads the outcome (for the caller to free) from the run's transcript, after
 * supervise_workflow(). */
void conclusion_draw(struct conclusion *c, const struct supervision *s, const struct run *run,
    struct outcome *outcome);
/* The result of a run whose work ended by itself, that of its workflow or of its one step.
 * reader_gone: the reader of the run's output closed the pipe. If that ended the work, it is no
 * failure: the status is success with the exit code of SIGPIPE, and the error downstream_closed, as
 * more may remain to be done. death: a step that has died; NULL: none. */
void conclusion_judge(struct conclusion *c, int wait_status, bool reader_gone, const struct run *run,
    const struct roster_death *death, const struct outcome *o);
/* Replaces the result by an error of AWF itself. */
void conclusion_fail(struct conclusion *c, const struct error *error);

#endif
