/*
 * awf: `awf NAME …` is awf-NAME, from beside this program, else from PATH, as git does it; and
 * what is no program of its own: init, doctor, help.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "awf/doctor.h"
#include "awf/init.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "proc/libexec.h"
#include "program.h"

#define PROGRAM "awf"

static const struct command {
	const char *name, *program, *help; /* program NULL: it is of awf itself */
} commands[] = {
	{ "init", NULL, "make a workflow to begin with, in a directory" },
	{ "run", "awf-run", "run a workflow and record it" },
	{ "step", "awf-step", "run one step of it for each item of its input" },
	{ "log", "awf-tail", "show, filter and follow what was recorded (tail)" },
	{ "list", "awf-ctl", "list runs" },
	{ "show", "awf-replay", "run a recorded workflow again, show what it was made of (replay)" },
	{ "verify", "awf-verify", "check a transcript, or whether its run is deterministic" },
	{ "ctl", "awf-ctl", "decide about calls that wait, cancel and remove runs" },
	{ "doctor", NULL, "say what is there of providers, keys, sandbox and so on, and what is missing" },
	{ "help", NULL, "show the manual page of a command" },
	{ NULL, NULL, NULL },
};

static int
usage(const char *place, const char *what)
{
	struct error err;

	error_set(&err, ERROR_USAGE, place, "%s", what);
	return program_fail(PROGRAM, &err);
}

static int
print_help(void)
{
	printf("usage: awf COMMAND [ARG...]\n\n");
	for (const struct command *c = commands; c->name != NULL; c++)
		printf("  %-7s %s\n", c->name, c->help);
	printf("\nawf NAME is awf-NAME, if there is such a program; awf COMMAND --help says more.\n");
	return program_end(PROGRAM, STATUS_OK);
}

static int
begin(char *const *words)
{
	struct error err = ERROR_INIT;
	const char *directory = words[0] != NULL ? words[0] : ".";

	if (words[0] != NULL && (strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0)) {
		printf("usage: awf init [DIRECTORY]\n");
		return program_end(PROGRAM, STATUS_OK);
	}
	if (words[0] != NULL && strcmp(words[0], "--") == 0)
		directory = *++words != NULL ? *words : ".";
	else if (words[0] != NULL && *words[0] == '-')
		return usage(words[0], "unknown option (see awf init --help)");
	if (*directory == '\0')
		return usage("init", "the name of the DIRECTORY is empty");
	if (words[0] != NULL && words[1] != NULL)
		return usage(words[1], "one DIRECTORY only");
	if (init(directory, &err) != 0)
		return program_fail(PROGRAM, &err);
	if (strcmp(directory, ".") == 0)
		printf("Run it: ./brief.awf\n");
	else
		printf("Run it: cd %s && ./brief.awf\n", directory);
	return program_end(PROGRAM, STATUS_OK);
}

/* By its name here, or by that of its program; NULL if it is none of these. */
static const struct command *
find(const char *name)
{
	for (const struct command *c = commands; c->name != NULL; c++)
		if (strcmp(c->name, name) == 0 ||
		    (c->program != NULL && strcmp(c->program + sizeof PROGRAM, name) == 0))
			return c;
	return NULL;
}

static int
unknown(const char *name)
{
	const char *names[sizeof commands / sizeof *commands] = { NULL }, *meant;
	struct error err;

	for (size_t i = 0; commands[i].name != NULL; i++)
		names[i] = commands[i].name;
	meant = text_suggest(name, names);
	if (meant != NULL)
		error_set(&err, ERROR_USAGE, name, "no such command (did you mean %s?)", meant);
	else
		error_set(&err, ERROR_USAGE, name, "no such command, nor a program awf-%s (see --help)",
		    name);
	return program_fail(PROGRAM, &err);
}

static int
missing(const char *program)
{
	struct error err;

	error_set(&err, ERROR_SYSTEM, program, "is not there: is AWF installed whole?");
	return program_fail(PROGRAM, &err);
}

/* In the place of this process. words: its arguments. Returns if there is no such program: 0;
 * or if it cannot be run: the status to exit with. */
static int
run_program(const char *program, char *const *words)
{
	char *path = libexec_sibling(program), *found;
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
	if (errno == ENOENT)
		execvp(program, argv);
	reason = errno;
	/* A script is there whose interpreter is not. */
	found = access(path, F_OK) == 0 ? memory_text(path) : path_search(getenv("PATH"), program);
	if (reason != ENOENT || found != NULL) {
		errno = reason;
		error_errno(&err, ERROR_SYSTEM, found != NULL ? found : program, "unable to run it");
		status = program_fail(PROGRAM, &err);
	}
	free(found);
	free(argv);
	free(path);
	return status;
}

static int
show_manual(const char *name)
{
	const struct command *c = name != NULL ? find(name) : NULL;
	const char *program = c != NULL && c->program != NULL ? c->program : "awf";
	char *page = name != NULL && c == NULL ? memory_format("awf-%s", name) : memory_text(program);
	struct error err;

	if (name == NULL)
		execlp("man", "man", "7", page, (char *)NULL);
	else
		execlp("man", "man", page, (char *)NULL);
	error_errno(&err, ERROR_SYSTEM, "man", "unable to run it");
	free(page);
	return program_fail(PROGRAM, &err);
}

int
main(int argc, char **argv)
{
	const struct command *command;
	char *program;
	int status = STATUS_OK;

	program_begin();
	if (argc < 2)
		return usage(NULL, "no command given (see --help)");
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return print_help();
	if (strcmp(argv[1], "--version") == 0)
		return program_end(PROGRAM, program_version(PROGRAM));
	command = find(argv[1]);
	if (command != NULL && strcmp(command->name, "init") == 0)
		return begin(argv + 2);
	if (command != NULL && strcmp(command->name, "doctor") == 0)
		return doctor(argc - 1, argv + 1);
	if (command != NULL && command->program == NULL)
		return argc > 3 ? usage(argv[3], "one COMMAND only") : show_manual(argv[2]);
	if (command != NULL)
		/* `awf list` is `awf-ctl list`. */
		status = run_program(command->program,
		    strcmp(command->name, "list") == 0 ? argv + 1 : argv + 2);
	else if (*argv[1] != '-' && strchr(argv[1], '/') == NULL) {
		program = memory_format(PROGRAM "-%s", argv[1]);
		status = run_program(program, argv + 2);
		free(program);
	}
	if (command != NULL && status == STATUS_OK)
		return missing(command->program);
	return status != STATUS_OK ? status : unknown(argv[1]);
}
