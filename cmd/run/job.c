/* Functions for all parts of a job: the run's name, and messages on stderr. */
#include "run/job.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/file.h"
#include "proc/message.h"
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
