/*
 * The file DRY_RUN_FILE exists while the workflow runs, and is printed after that. SIGINT from a
 * terminal reaches the workflow, too; this process then still waits for the workflow to end.
 */
#include "run/dry_run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "io/installation.h"
#include "io/terminal.h"
#include "proc/environment.h"
#include "proc/process.h"
#include "program.h"
#include "run/inputs.h"
#include "run/job.h"
#include "run_resume/workflow.h"
#include "start/conclusion.h"
#include "storage/run.h"

#define LIMIT ((size_t)1 << 30)

/* Runs the workflow. Returns its exit status, or -1. */
static int
run_workflow(const struct settings *s, const char *file, bool outermost, struct error *err)
{
	const char *shell = s->shell != NULL ? s->shell : DEFAULT_SHELL;
	struct environment environment;
	struct workflow workflow = { .argv = NULL };
	struct process process;
	int status = 0, code = -1, found;

	found = s->pipeline != NULL ?
	    workflow_pipeline(&workflow, s->pipeline, s->words, shell, err) :
	    workflow_find(&workflow, s->words, shell, environment_text("AWF_WORKFLOW_DIR"), err);
	if (found == 0)
		workflow_warn(&workflow);
	if (found == 0 && s->workspace != NULL)
		found = workflow_pin(&workflow, err);
	environment_begin(&environment);
	if (found == 0) {
		struct process_spec spec = { .argv = workflow.argv, .directory = s->workspace,
			.elsewhere = workflow.elsewhere, .in = s->no_input ? PROCESS_NULL : PROCESS_INHERIT,
			.out = outermost ? PROCESS_NULL : PROCESS_INHERIT, .err = PROCESS_INHERIT,
			.inherit = true };

		environment_set(&environment, "AWF_WORKFLOW_DIR", workflow.directory);
		environment_set(&environment, DRY_RUN_FILE, file);
		/* Without AWF_RUN_ID the steps belong to no run, and record nothing. */
		environment_unset(&environment, "AWF_RUN_ID");
		inputs_export(s->inputs, &environment);
		spec.environment = environment.list;
		if (process_start(&process, &spec, &code, err) == 0) {
			while (waitpid(process.pid, &status, 0) == -1 && errno == EINTR)
				;
			code = process_exit_code(status);
		} else if (code != -1) {
			program_fail(PROGRAM, err);
		}
	}
	environment_free(&environment);
	workflow_free(&workflow);
	return code;
}

/* Prints what the steps have written; on a terminal, control characters are escaped. */
static int
dry_run_print_file(const char *file, struct error *err)
{
	struct buffer lines = BUFFER_INIT;
	int result = file_load(file, LIMIT, &lines, err);

	if (result == 0 && terminal_write_json(STDOUT_FILENO, buffer_string(&lines), lines.len) != 0)
		result = error_errno(err, ERROR_SYSTEM, "stdout", "unable to write");
	buffer_free(&lines);
	return result;
}

int
dry_run(const struct settings *s)
{
	const char *around = environment_text(DRY_RUN_FILE), *directory = environment_text("TMPDIR");
	struct error err = ERROR_INIT;
	char *file;
	int fd, code = -1;

	installation_join_path();
	if (s->resume != NULL || s->fork != NULL) {
		error_set(&err, ERROR_INVALID_INPUT, s->resume != NULL ? "--resume" : "--fork",
		    "not in a workflow that is run by awf-run --dry-run: what it would do is not known");
		program_fail(PROGRAM, &err);
		return CONCLUSION_FAILED;
	}
	if (around != NULL) {
		code = run_workflow(s, around, false, &err);
		if (code == -1)
			program_fail(PROGRAM, &err);
		return code == -1 ? CONCLUSION_FAILED : code;
	}
	file = path_join(directory != NULL ? directory : "/tmp", "awf-dry-run.XXXXXX");
	fd = mkstemp(file);
	if (fd == -1) {
		error_errno(&err, ERROR_SYSTEM, file, "unable to make the file");
	} else {
		close(fd);
		signal(SIGINT, SIG_IGN);
		code = run_workflow(s, file, true, &err);
		if (err.code == ERROR_NONE && dry_run_print_file(file, &err) != 0)
			code = -1;
		unlink(file);
	}
	if (code == -1)
		program_fail(PROGRAM, &err);
	free(file);
	return code == -1 ? CONCLUSION_FAILED : code;
}
