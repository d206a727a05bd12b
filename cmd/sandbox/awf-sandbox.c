/*
 * awf-sandbox: runs a command that can change the workspace and read what programs need,
 * and nothing else of the machine. It ends as the command does; with 77 if the sandbox
 * could not be made, or the command was ended for what it used up.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/options.h"
#include "exec/sandbox.h"
#include "program.h"
#include "sandbox/confinement.h"
#include "sandbox/places.h"
#include "sandbox/settings.h"

#define PROGRAM "awf-sandbox"

static int
refused(const struct error *err)
{
	program_fail(PROGRAM, err);
	return SANDBOX_REFUSED;
}

/* As the command ended, by a signal too. */
static int
end_as(int wait_status)
{
	sigset_t set;

	if (WIFEXITED(wait_status))
		return WEXITSTATUS(wait_status);
	signal(WTERMSIG(wait_status), SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, WTERMSIG(wait_status));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(WTERMSIG(wait_status));
	return 128 + WTERMSIG(wait_status);
}

static int
run(const struct settings *s)
{
	struct error err = ERROR_INIT;
	struct places places;
	int status = places_find(&places, s, &err);

	if (status == 0)
		status = confinement_run(s, &places, &err);
	places_free(&places);
	return status == -1 ? refused(&err) : end_as(status);
}

int
main(int argc, char **argv)
{
	struct error err = ERROR_INIT;
	struct settings settings;
	int status;

	program_begin();
	switch (settings_parse(&settings, argc, argv, &err)) {
	case OPTION_HELP:
		options_help(stdout, sandbox_usage, sandbox_options);
		status = program_end(PROGRAM, STATUS_OK);
		break;
	case OPTION_VERSION:
		status = program_end(PROGRAM, program_version(PROGRAM));
		break;
	case -1:
		status = program_fail(PROGRAM, &err);
		break;
	default:
		status = run(&settings);
	}
	settings_free(&settings);
	return status;
}
