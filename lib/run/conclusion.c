/*
 * What says most decides: how supervision ended, if not with the workflow; a terminal call; a
 * step that died of the machine; one that died; the first call that failed; one that waits;
 * last the workflow's own status, of which pipelines lose most.
 */
#include "run/conclusion.h"

#include <signal.h>
#include <stdio.h>

#include "run/roster.h"

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
	error_set(&c->error, ERROR_WAITING, NULL, "waiting for a person");
	snprintf(c->step, sizeof c->step, "%s", o->first_waiting);
}

/* What steps behind a failed one end with, or a filter makes of it, says less than that the
 * machine failed. */
static int
failed_status(int code, const struct error *error)
{
	if (error->code == ERROR_SYSTEM && (code == STATUS_OK || code == STATUS_WORK))
		return STATUS_SYSTEM;
	return code != STATUS_OK ? code : STATUS_WORK;
}

/* A step died: of the machine, if it could still say so. Else between its calls, or it
 * could not record one. */
static void
end_as_died(struct conclusion *c, const struct roster_death *death, int code)
{
	struct error error;

	if (*death->reason != '\0')
		error_set(&error, ERROR_SYSTEM, NULL, "%s", death->reason);
	else
		error_set(&error, ERROR_INTERRUPTED, NULL, "it died before its end");
	end_as_failed(c, failed_status(code, &error), &error);
	snprintf(c->step, sizeof c->step, "%s", death->process);
}

/* A terminal call has decided; the workflow's own status tells how it failed, if so. */
static void
end_as_decided(struct conclusion *c, const struct outcome *o, int code)
{
	if (o->waiting > 0)
		end_as_waiting(c, o);
	else if (o->decision == RUN_FAILS)
		end_as_failed(c, code != 0 ? code : STATUS_WORK, &o->decided);
}

/* Whether what failed says less than that a step was killed: steps behind that fail of what
 * they do not get. */
static bool
is_told_by_death(const struct outcome *o)
{
	return o->failed > 0 ? error_of_work(o->error.code) : o->waiting == 0;
}

/* What the status of the workflow alone tells. Who was killed, of a shell the last that it
 * waited for, may have been a step that had no time to begin. */
static enum error_code
told_by_status(int code)
{
	return code == 128 + SIGPIPE ? ERROR_DOWNSTREAM_CLOSED :
	    code == 128 + SIGKILL ? ERROR_INTERRUPTED : ERROR_EXIT_STATUS;
}

/* The workflow ended by itself: its status, and what its calls came to. */
static void
judge(struct conclusion *c, const struct supervision *s, const struct outcome *o)
{
	struct roster_death death;
	bool died = roster_died(s->run_directory, "", &death);
	char text[64];
	int code = process_exit_code(s->wait_status);

	if (o->decision != RUN_UNDECIDED) {
		end_as_decided(c, o, code);
	} else if (died && *death.reason != '\0' && o->error.code != ERROR_SYSTEM) {
		/* Other calls failed of it, if any did: its own never ended. */
		end_as_died(c, &death, code);
	} else if (died && is_told_by_death(o)) {
		end_as_died(c, &death, code);
	} else if (o->failed > 0) {
		end_as_failed(c, failed_status(code, &o->error), &o->error);
		snprintf(c->step, sizeof c->step, "%s", o->first_failed);
	} else if (o->waiting > 0) {
		end_as_waiting(c, o);
	} else if (code != 0) {
		c->status = "failed";
		c->exit_code = code;
		error_set(&c->error, told_by_status(code), NULL, "%s",
		    process_status_text(s->wait_status, text, sizeof text));
	}
}

void
conclusion_draw(struct conclusion *c, const struct supervision *s, const struct run *run,
    struct outcome *outcome)
{
	struct error err = ERROR_INIT;
	int readable = outcome_read(outcome, run->transcript.path, run->attempt_from, &err);

	*c = (struct conclusion){ "success", STATUS_OK, ERROR_INIT, "" };
	switch (s->verdict) {
	case VERDICT_ENDED:
		if (readable == 0)
			judge(c, s, outcome);
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
