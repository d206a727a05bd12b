/* What all parts of a job use: its name, what they say to people, and what they ask them. */
#include "run/job.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/memory.h"
#include "proc/message.h"
#include "program.h"

#define TIME_SIZE 19 /* of a timestamp, without its fraction */

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
	message_print(PROGRAM, "%s", text);
}

char *
job_workspace(const struct job *j)
{
	char here[PATH_MAX];

	if (j->settings.workspace != NULL)
		return memory_text(j->settings.workspace);
	return memory_text(getcwd(here, sizeof here) != NULL ? here : ".");
}

/* One line for each effect that may have happened. */
int
job_ask(const struct resume *r)
{
	struct error question;

	for (size_t i = 0; i < r->history.doubt_count; i++) {
		const struct history_doubt *doubt = &r->history.doubts[i];

		if (doubt->decided != RECALL_UNDECIDED)
			continue;
		error_set(&question, ERROR_WAITING, doubt->call, "%s%s%s, begun %.*sZ (%s)%s%s, "
		    "may or may not have happened: say --redo %s or --skip %s",
		    doubt->tool != NULL ? doubt->tool : "", doubt->tool != NULL ? " " : "", doubt->what,
		    TIME_SIZE, doubt->timestamp, doubt->why, doubt->run_id[0] != '\0' ? " in run " : "",
		    doubt->run_id, doubt->call, doubt->call);
		job_warn(&question);
	}
	return STATUS_WAITING;
}
