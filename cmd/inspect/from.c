/* Two variables make the provider of every step the one that plays; awf-run is executed then. */
#include "inspect/from.h"

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/agentloom_file.h"
#include "base/memory.h"
#include "proc/libexec.h"

#define RUNNER "awf-run"

/* So that what is wrong with it is said once, before anything runs. */
static int
check(const char *path, struct error *err)
{
	struct agentloom_file file;
	bool is;
	int result;

	if (agentloom_file_is(path, &is, err) != 0)
		return -1;
	if (!is)
		return 0;
	result = agentloom_file_load(&file, path, err);
	agentloom_file_free(&file);
	return result;
}

/* Steps may run in other directories, so they get the whole path. */
static int
set_environment(const char *file, struct error *err)
{
	char *path = realpath(file, NULL);
	int result = path != NULL && setenv("AWF_REPLAY", path, 1) == 0 &&
	    setenv("AWF_PROVIDER", "replay", 1) == 0 ? 0 : -1;

	free(path);
	return result == 0 ? 0 : error_errno(err, ERROR_SYSTEM, file, "unable to find its path");
}

static int
run(char *const *words, struct error *err)
{
	char *path = libexec_sibling(RUNNER);
	const char **argv;
	size_t count = 0;

	while (words[count] != NULL)
		count++;
	argv = memory_zero(count + 2, sizeof *argv);
	argv[0] = RUNNER;
	for (size_t i = 0; i < count; i++)
		argv[i + 1] = words[i];
	execvp(path, (char **)(uintptr_t)argv);
	error_errno(err, ERROR_SYSTEM, path, "unable to run");
	free(argv);
	free(path);
	return -1;
}

int
from_answers(const char *file, struct error *err)
{
	if (check(file, err) == 0 && set_environment(file, err) == 0)
		return 0;
	err->code = ERROR_USAGE;
	return -1;
}

int
from_run(const char *file, char *const *words, struct error *err)
{
	return from_answers(file, err) == 0 ? run(words, err) : -1;
}
