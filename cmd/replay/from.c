/* Sets two variables that make every step use the provider awf-provider-replay, and
 * executes awf-run. */
#include "replay/from.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "proc/libexec.h"
#include "rerun/agentloom_file.h"

#define RUNNER "awf-run"

/* Sets the variables by which processes that are started from here get the answers of their agents
 * from the file. ERROR_USAGE if that is not possible. */
static int
from_set_answers_file(const char *file, struct error *err)
{
	struct agentloom_file recording;
	bool is;
	int failed = agentloom_file_is(file, &is, err);

	/* Report errors in the file once, before anything runs. */
	if (failed == 0 && is) {
		failed = agentloom_file_load(&recording, file, err);
		agentloom_file_free(&recording);
	}
	if (failed == 0) {
		/* An absolute path, as steps may run in other directories. */
		char *path = realpath(file, NULL);

		if (path == NULL || setenv("AWF_REPLAY", path, 1) != 0 ||
		    setenv("AWF_PROVIDER", "replay", 1) != 0)
			failed = error_errno(err, ERROR_SYSTEM, file, "unable to find its path");
		free(path);
	}
	if (failed != 0)
		err->code = ERROR_USAGE;
	return failed != 0 ? -1 : 0;
}

int
from_run(const char *file, char *const *words, struct error *err)
{
	char *path, **argv = NULL;

	if (from_set_answers_file(file, err) != 0)
		return -1;
	path = libexec_sibling(RUNNER);
	list_add(&argv, RUNNER);
	for (; *words != NULL; words++)
		list_add(&argv, *words);
	execvp(path, argv);
	error_errno(err, ERROR_SYSTEM, path, "unable to run");
	list_free(argv);
	free(path);
	return -1;
}
