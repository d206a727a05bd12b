/* What all parts of a job use: its name, what they say to people, and what they ask them. */
#include "run/job.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
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

int
job_tell_id(const struct job *j, const char *id, struct error *err)
{
	struct replacement file;

	if (j->settings.print_id)
		message_print(NULL, "%s", id);
	if (j->settings.id_file == NULL)
		return 0;
	if (replacement_open(&file, j->settings.id_file, 0644, err) != 0)
		return -1;
	if (file_write(file.fd, id, strlen(id)) != 0 || file_write(file.fd, "\n", 1) != 0) {
		error_errno(err, ERROR_SYSTEM, j->settings.id_file, "unable to write");
		replacement_abandon(&file);
		return -1;
	}
	return replacement_commit(&file, false, err);
}

static void
ask_doubt(const struct history_doubt *doubt)
{
	struct error question;
	char *where = doubt->run_id[0] != '\0' ? memory_format(" in run %s", doubt->run_id) :
	    memory_text("");
	char *marks = doubt->marks != NULL ? memory_format(" (%s)", doubt->marks) : memory_text("");
	char *what = memory_format("%s%s%s%s, begun %.*sZ", doubt->tool != NULL ? doubt->tool : "",
	    doubt->tool != NULL ? " " : "", doubt->what, marks, TIME_SIZE, doubt->timestamp);

	if (doubt->why == NULL)
		error_set(&question, ERROR_WAITING, doubt->call, "%s%s, was done, and no file of the run names "
		    "this step any more. If another step does the same now, is that to be done again, or to take "
		    "this over? Say --redo %s or --skip %s", what, where, doubt->call, doubt->call);
	else
		error_set(&question, ERROR_WAITING, doubt->call, "%s (%s)%s, may or may not have happened: "
		    "say --redo %s%s or --skip %s%s", what, doubt->why, where, doubt->call,
		    doubt->anew ? " to make the whole call again, with all that it did before," : "",
		    doubt->call, doubt->anew ? " to leave it out" : "");
	job_warn(&question);
	free(what);
	free(marks);
	free(where);
}

/* One line for each effect that may have happened. */
int
job_ask(const struct resume *r)
{
	for (size_t i = 0; i < r->history.doubt_count; i++)
		if (r->history.doubts[i].decided == RECALL_UNDECIDED)
			ask_doubt(&r->history.doubts[i]);
	return STATUS_WAITING;
}

#define UNCLAIMED_LINES 10

void
job_tell_unclaimed(const struct history_summary *s)
{
	size_t count = s->unclaimed_count < UNCLAIMED_LINES ? s->unclaimed_count : UNCLAIMED_LINES;

	for (size_t i = 0; i < count; i++) {
		const struct history_doubt *u = &s->unclaimed[i];

		message_print(PROGRAM, "%s: %s%s%s%s, begun %.*sZ, is an effect of an earlier attempt that "
		    "this one has not come to", u->call, u->what, u->marks != NULL ? " (" : "",
		    u->marks != NULL ? u->marks : "", u->marks != NULL ? ")" : "", TIME_SIZE, u->timestamp);
	}
	if (s->unclaimed_count > count)
		message_print(PROGRAM, "and %zu more like these", s->unclaimed_count - count);
}
