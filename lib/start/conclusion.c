/*
 * The first of these that applies is the cause: supervision ended the workflow; a terminal call;
 * a step that failed because of the machine; a step that died; a step that could not even begin;
 * the first failed call; a waiting call; the workflow's own status, which in a pipeline hides
 * most failures.
 */
#include "start/conclusion.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "storage/roster.h"
#include "storage/run_lock.h"

static void
end_as_failed(struct conclusion *c, int exit_code, const struct error *error)
{
	c->status = "failed";
	c->exit_code = exit_code;
	c->error = *error;
}

void
conclusion_fail(struct conclusion *c, const struct error *error)
{
	end_as_failed(c, CONCLUSION_FAILED, error);
}

static void
end_as_waiting(struct conclusion *c, const struct outcome *o)
{
	c->status = "waiting";
	c->exit_code = STATUS_WAITING;
	error_set(&c->error, ERROR_WAITING, NULL, "%s", o->asks == WAITING_TIME || o->asleep ? WAITING_ASLEEP :
	    WAITING_FOR_PERSON);
	snprintf(c->step, sizeof c->step, "%s", o->first_waiting);
}

/* If the machine failed, exit codes of later steps, or of a filter in the pipeline, are
 * less specific. */
static int
failed_status(int code, const struct error *error)
{
	if (error->code == ERROR_SYSTEM && (code == STATUS_OK || code == STATUS_WORK))
		return STATUS_SYSTEM;
	return code != STATUS_OK ? code : STATUS_WORK;
}

void
conclusion_judge(struct conclusion *c, int wait_status, bool reader_gone, const struct run *run,
    const struct roster_death *death, const struct outcome *o)
{
	int code = process_exit_code(wait_status);
	/* An error of the machine that the dying step could still report. It has precedence over
	 * calls that failed because of it, since the step's own call has no end. */
	bool waits = death != NULL && strcmp(death->reason, ROSTER_WAITS) == 0;
	bool of_machine = death != NULL && *death->reason != '\0' && !waits &&
	    o->error.code != ERROR_SYSTEM;
	/* A step that was killed says more than a failed call of a later step, which lacked input.
	 * The killed step died between calls, or could not record an end. */
	bool told_by_death = death != NULL && !waits &&
	    (o->failed > 0 ? error_of_work(o->error.code) : o->waiting == 0);
	struct error error = ERROR_INIT;
	char text[64];

	*c = (struct conclusion){ "success", STATUS_OK, ERROR_INIT, "" };
	if (o->decision != RUN_UNDECIDED) {
		/* A terminal call has decided the result; if it failed, the exit code is the
		 * workflow's own. */
		if (o->waiting > 0)
			end_as_waiting(c, o);
		else if (o->decision == RUN_FAILS)
			end_as_failed(c, code != 0 ? code : STATUS_WORK, &o->decided);
	} else if (of_machine || told_by_death) {
		if (*death->reason != '\0')
			error_set(&error, ERROR_SYSTEM, NULL, "%s", death->reason);
		else
			error_set(&error, ERROR_INTERRUPTED, NULL, "it died before its end");
		end_as_failed(c, failed_status(code, &error), &error);
		snprintf(c->step, sizeof c->step, "%s", death->process);
	} else if (run_lock_failed(run->lock_fd, &error)) {
		end_as_failed(c, failed_status(code, &error), &error);
	} else if (o->failed > 0) {
		end_as_failed(c, failed_status(code, &o->error), &o->error);
		snprintf(c->step, sizeof c->step, "%s", o->first_failed);
	} else if (o->waiting > 0) {
		end_as_waiting(c, o);
	} else if (waits) {
		*c = (struct conclusion){ .status = "waiting", .exit_code = STATUS_WAITING };
		error_set(&c->error, ERROR_WAITING, NULL, "%s", death->reason);
		snprintf(c->step, sizeof c->step, "%s", death->process);
	} else if (code == 128 + SIGPIPE && reader_gone) {
		c->exit_code = code;
		error_set(&c->error, ERROR_DOWNSTREAM_CLOSED, NULL, "nobody reads the output any more");
	} else if (code != 0) {
		/* A killed process, or the last one that a shell waited for, may have been a step
		 * that had no time to begin. */
		error_set(&error, code == 128 + SIGKILL ? ERROR_INTERRUPTED : ERROR_EXIT_STATUS, NULL, "%s",
		    process_status_text(wait_status, text, sizeof text));
		end_as_failed(c, code, &error);
	}
}

void
conclusion_draw(struct conclusion *c, const struct supervision *s, const struct run *run,
    struct outcome *outcome)
{
	struct error err = ERROR_INIT;
	int readable = outcome_read(outcome, run->transcript.path, run->attempt_from, &err);
	struct roster_death death;

	*c = (struct conclusion){ "success", STATUS_OK, ERROR_INIT, "" };
	switch (s->verdict) {
	case VERDICT_ENDED:
		if (readable == 0)
			conclusion_judge(c, s->wait_status, s->reader_gone, run,
			    roster_died(s->run_directory, "", &death) ? &death : NULL, outcome);
		else
			conclusion_fail(c, &err);
		break;
	case VERDICT_CANCELLED:
		end_as_failed(c, 128 + s->signal_number, &s->error);
		c->status = "cancelled";
		break;
	case VERDICT_TIMEOUT:
		end_as_failed(c, CONCLUSION_TIMEOUT, &s->error);
		c->status = "timeout";
		break;
	case VERDICT_NOT_STARTED:
		end_as_failed(c, s->exit_code, &s->error);
		break;
	case VERDICT_FAILED:
		conclusion_fail(c, &s->error);
		break;
	}
}
