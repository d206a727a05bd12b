/*
 * Calls that were cut off by what happened around them, or in them: nothing tells so but the
 * run's directory, where processes that die leave their locks, and where whoever ends a run,
 * or a call, says so first.
 */
#include "step/step_call.h"

#include <signal.h>

#include "proc/ending.h"
#include "run/roster.h"

/* Whether the run is another's, who is not there any more. */
static bool
is_deserted(const struct run *run)
{
	return run->lock_fd == -1 && !storage_run_alive(&run->storage, run->id);
}

/* Whatever a shell has made of the step's end: what came is not the result. A body that was
 * ended itself says so. What the machine did to the step it did to the body. */
void
step_look_for_dead(struct step_call *call)
{
	const struct step *s = call->step;
	struct step_end *end = &call->end;
	struct error *error = &end->error;
	struct roster_death death;

	if (error->code != ERROR_NONE && error->code != ERROR_EXIT_STATUS && !end->told)
		return;
	if (!roster_died(s->run->directory, call->id, &death)) {
		/* A step that comes after the run's end begins nothing, and is told so alone. Where a
		 * group's body, or the last that its shell waited for, was killed, it was a step that
		 * had no time to enter the roster, as likely as not: what a body works is in its
		 * steps. */
		if (error->code == ERROR_NONE && s->passes && is_deserted(s->run))
			error_set(error, ERROR_INTERRUPTED, NULL, "nobody keeps the run any more");
		else if (s->passes && error->code == ERROR_EXIT_STATUS && !end->told &&
		    end->exit_code == 128 + SIGKILL)
			error_set(error, ERROR_INTERRUPTED, NULL, "the body, or a step in it, was killed");
		else
			return;
	} else if (*death.reason != '\0') {
		error_set(error, ERROR_SYSTEM, NULL, "step %s failed: %s", death.process, death.reason);
	} else {
		error_set(error, ERROR_INTERRUPTED, NULL, "the step %s died before its end",
		    death.process);
	}
	step_drop_lines(call);
}

void
step_note_ending(struct step_call *call)
{
	const struct run *run = call->step->run;
	struct error *error = &call->end.error, why = *error;
	const char *place = *why.place != '\0' ? why.place : NULL, *ending;

	if (why.code == ERROR_NONE || !error_of_work(why.code) || call->step->cleanup ||
	    step_replays(call->step))
		return;
	ending = ending_begun(run->directory);
	if (ending != NULL)
		error_set(error, ERROR_CANCELLED, place, "%s (%s is being ended)", why.message, ending);
	else if (is_deserted(run))
		error_set(error, ERROR_INTERRUPTED, place, "%s (nobody keeps the run any more)",
		    why.message);
}
