/*
 * The command runs under a guardian: if it continued after this process was killed, the next prune
 * would start another, and both would write the same archive.
 */
#include "ctl/archive.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "proc/descendants.h"
#include "proc/environment.h"
#include "proc/guardian.h"

/* Waits until the command has ended, and all processes that it left were ended. */
static int
run_whole(const struct process_spec *spec, struct error *err)
{
	struct guardian g;
	char status[64];
	int unused;

	if (guardian_start(&g, spec, NULL, &unused, err) != 0)
		return -1;
	while (g.state == GUARDIAN_RUNNING)
		guardian_read(&g);
	if (g.state == GUARDIAN_LOST)
		error_set(err, ERROR_SYSTEM, NULL, "the process of AWF that watches over the command was killed");
	else if (process_exit_code(g.wait_status) != 0)
		error_set(err, ERROR_EXIT_STATUS, NULL, "%s",
		    process_status_text(g.wait_status, status, sizeof status));
	descendants_end(getpid(), SIGTERM, NULL);
	guardian_close(&g);
	return err->code == ERROR_NONE ? 0 : -1;
}

int
archive_run(void *archive, const struct pruned *run, char *const *paths, struct error *err)
{
	const struct archive *a = archive;
	char *shell[4], **argv = memory_zero(1, sizeof *argv);
	struct error why = ERROR_INIT;
	struct environment environment;
	int failed;

	process_shell(shell, a->command);
	for (char **word = shell; *word != NULL; word++)
		list_add(&argv, *word);
	list_add(&argv, "awf-ctl");
	for (; *paths != NULL; paths++)
		list_add(&argv, *paths);
	environment_begin(&environment);
	environment_set(&environment, "AWF_STORAGE", a->storage);
	environment_set(&environment, "AWF_ARCHIVE_RUN", run->run_id);
	environment_set(&environment, "AWF_ARCHIVE_NAME", run->name);
	failed = run_whole(&(struct process_spec){ .argv = argv, .environment = environment.list,
	    .in = PROCESS_NULL, .out = STDERR_FILENO, .err = PROCESS_INHERIT }, &why);
	if (failed != 0)
		error_set(err, why.code, "--archive", "run %s stays: %s", run->run_id, why.message);
	environment_free(&environment);
	list_free(argv);
	return failed;
}
