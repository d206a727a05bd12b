/*
 * What every part of awf-run calls the job by, and tells of it on stderr.
 */
#include "run/job.h"

#include <stdio.h>

#include "program.h"

const char *
job_name(const struct job *j)
{
	return j->settings.name != NULL ? j->settings.name : j->workflow.name;
}

void
job_warn(const struct error *err)
{
	program_fail(PROGRAM, err);
}

void
job_repaired(const char *text)
{
	fprintf(stderr, PROGRAM ": %s\n", text);
}

/* One line for each effect that may have happened. */
int
job_ask(const struct resume *r)
{
	struct error question;

	for (size_t i = 0; i < r->history.doubt_count; i++) {
		if (r->history.doubts[i].decided != RECALL_UNDECIDED)
			continue;
		resume_question(&r->history.doubts[i], &question);
		job_warn(&question);
	}
	return STATUS_WAITING;
}
