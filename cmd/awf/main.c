/*
 * awf: `awf NAME …` executes awf-NAME: from the directory of this program, from AWF's helper
 * programs, or from PATH, as git does. awf itself handles only help.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "proc/libexec.h"
#include "program.h"

#define PROGRAM "awf"

static const struct command {
	const char *name, *program, *help; /* program NULL: handled by awf itself */
	bool on_own_page;                  /* documented in awf(1) */
} commands[] = {
	{ "init", "awf-init", "make a workflow to begin with, in a directory", true },
	{ "run", "awf-run", "run a workflow and record it" },
	{ "step", "awf-step", "run one step of it for each item of its input" },
	{ "log", "awf-tail", "show, filter and follow what was recorded (tail)" },
	{ "list", "awf-ctl", "list runs" },
	{ "status", "awf-status", "what needs you, what failed, waits and runs, and today's cost", true },
	{ "stats", "awf-stats", "figures of all runs: counts, failures, times, cost", true },
	{ "show", "awf-replay", "run a recorded workflow again, show what it was made of (replay)" },
	{ "verify", "awf-verify", "check a transcript, or whether its run is deterministic" },
	{ "diff", "awf-diff", "show what differs between two runs, and why" },
	{ "eval", "awf-eval", "try a workflow with many inputs, and say how often it is right" },
	{ "import", "awf-import", "make transcripts of the sessions of coding agents" },
	{ "record", "awf-record", "record what other programs did, and runs from elsewhere" },
	{ "ship", "awf-ship", "copy transcripts into a database, for SQL" },
	{ "worker", "awf-worker", "run the jobs of a directory" },
	{ "ctl", "awf-ctl", "decide about calls that wait, cancel and remove runs" },
	{ "serve", "awf-serve", "serve the runs over HTTP" },
	{ "mcp", "awf-mcp", "MCP server: lets coding agents run workflows step by step" },
	{ "trust", "awf-trust", "show what the definitions of this project would run, and allow it", true },
	{ "doctor", "awf-doctor", "check providers, keys and the rest of the installation", true },
	{ "help", NULL, "show the manual page of a command" },
	{ NULL, NULL, NULL },
};

static int
awf_print_usage_error(const char *place, const char *what)
{
	struct error err;

	error_set(&err, ERROR_USAGE, place, "%s", what);
	return program_fail(PROGRAM, &err);
}

/* Finds a command by its name or by that of its program; NULL: none. */
static const struct command *
awf_find_command(const char *name)
{
	for (const struct command *c = commands; c->name != NULL; c++)
		if (strcmp(c->name, name) == 0 ||
		    (c->program != NULL && strcmp(c->program + sizeof PROGRAM, name) == 0))
			return c;
	return NULL;
}

/* Executes the program in place of this process. words: its arguments. Returns only on failure: 0
 * if there is no such program, otherwise the status to exit with. */
static int
run_program(const char *program, char *const *words)
{
	char *path = libexec_sibling(program), *helpers, *helper = NULL, *found;
	struct error err;
	size_t count = 0;
	char **argv;
	int reason, status = STATUS_OK;

	while (words[count] != NULL)
		count++;
	argv = memory_zero(count + 2, sizeof *argv);
	argv[0] = (char *)(uintptr_t)program;
	memcpy(argv + 1, words, count * sizeof *argv);
	execv(path, argv);
	/* First AWF's own helpers, then other programs in PATH. */
	if (errno == ENOENT) {
		helpers = libexec_path();
		helper = path_search(helpers, program);
		free(helpers);
		if (helper != NULL)
			execv(helper, argv);
		else
			execvp(program, argv);
	}
	reason = errno;
	/* ENOENT may also mean that a script exists, but not its interpreter. */
	found = access(path, F_OK) == 0 ? memory_text(path) : helper != NULL ? memory_text(helper) :
	    path_search(getenv("PATH"), program);
	if (reason != ENOENT || found != NULL) {
		errno = reason;
		error_errno(&err, ERROR_SYSTEM, found != NULL ? found : program, "unable to run it");
		status = program_fail(PROGRAM, &err);
	}
	free(found);
	free(argv);
	free(path);
	free(helper);
	return status;
}

/* Shows a page with man(1), which says itself what it does not find. Returns the status to exit with: that of man for a
 * page that is not there is another one than that of this program. */
static int
show_page(const char *section, const char *page)
{
	enum { NO_MAN = 127 };
	struct error err;
	int status;
	const pid_t pid = fork();

	if (pid == 0) {
		if (section != NULL)
			execlp("man", "man", section, page, (char *)NULL);
		else
			execlp("man", "man", page, (char *)NULL);
		error_errno(&err, ERROR_SYSTEM, "man", "unable to run it");
		program_fail(PROGRAM, &err);
		_exit(NO_MAN);
	}
	if (pid < 0) {
		error_errno(&err, ERROR_SYSTEM, NULL, "unable to make a process");
		return program_fail(PROGRAM, &err);
	}
	/* What the terminal sends goes to man, and to the pager. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR) /* SIGCHLD is ignored */
			return STATUS_OK;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return STATUS_OK;
	return WIFEXITED(status) && WEXITSTATUS(status) != NO_MAN ? STATUS_USAGE : STATUS_SYSTEM;
}

int
main(int argc, char **argv)
{
	const char *names[2 * sizeof commands / sizeof *commands] = { NULL }, *meant, *name, *program;
	size_t count = 0;
	const struct command *command;
	struct error err = ERROR_INIT;
	char *own;
	int status = STATUS_OK;

	program_begin();
	if (argc < 2)
		return awf_print_usage_error(NULL, "no command given (see --help)");
	name = argv[1];
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "--help=all") == 0) {
		printf("usage: awf COMMAND [ARG...]\n");
		for (const struct command *c = commands; c->name != NULL; c++)
			printf("  %-7s %s\n", c->name, c->help);
		printf("\nawf NAME is awf-NAME, if there is such a program; "
		    "awf COMMAND --help says more.\n");
		return program_end(PROGRAM, STATUS_OK);
	}
	if (strcmp(name, "--version") == 0)
		return program_end(PROGRAM, program_version(PROGRAM));
	if (*name == '-')
		return awf_print_usage_error(name,
		    "unknown option: a COMMAND comes first, then its options (see --help)");
	command = awf_find_command(name);

	if (command != NULL && command->program == NULL) {
		/* help: shows awf(7), or the page of a command or of any other program. */
		if (argc > 3)
			return awf_print_usage_error(argv[3], "one COMMAND only");
		if (argv[2] != NULL && !name_valid(argv[2]))
			return awf_print_usage_error(argv[2], "no such command (see --help)");
		command = argv[2] != NULL ? awf_find_command(argv[2]) : NULL;
		program = command != NULL && command->program != NULL && !command->on_own_page ?
		    command->program : PROGRAM;
		own = argv[2] != NULL && command == NULL ? memory_format(PROGRAM "-%s", argv[2]) :
		    memory_text(program);
		status = show_page(argv[2] == NULL ? "7" : NULL, own);
		free(own);
		return status;
	}
	if (command != NULL) {
		/* `awf list` is `awf-ctl list`. */
		status = run_program(command->program,
		    strcmp(command->name, "list") == 0 ? argv + 1 : argv + 2);
		if (status == STATUS_OK)
			error_set(&err, ERROR_SYSTEM, command->program,
			    "does not exist: is AWF installed completely?");
	} else {
		if (strchr(name, '/') == NULL) {
			own = memory_format(PROGRAM "-%s", name);
			status = run_program(own, argv + 2);
			free(own);
		}
		for (const struct command *c = commands; c->name != NULL; c++) {
			names[count++] = c->name;
			if (c->program != NULL)
				names[count++] = c->program + sizeof PROGRAM;
		}
		meant = text_suggest(name, names);
		if (meant != NULL)
			error_set(&err, ERROR_USAGE, name, "no such command (did you mean %s?)", meant);
		else
			error_set(&err, ERROR_USAGE, name,
			    "no such command, nor a program awf-%s (see --help)", name);
	}
	return status != STATUS_OK ? status : program_fail(PROGRAM, &err);
}
