/*
 * awf: `awf NAME …` is awf-NAME, from beside this program, else from PATH, as git does it; and
 * what is no program of its own: init, doctor, help.
 *
 * awf init makes a workflow to begin with. What is installed as a beginning (share/init) is
 * copied: two agents, a tool, a workflow of them, and answers of a model that it runs against.
 */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "awf/complete.h"
#include "awf/doctor.h"
#include "awf/trust.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "definitions/trust.h"
#include "io/copytree.h"
#include "io/file.h"
#include "io/installation.h"
#include "io/terminal.h"
#include "proc/libexec.h"
#include "program.h"

#define PROGRAM "awf"
#define TOOL_END ".tool.json"
/* What a shell takes as it stands. */
#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-"

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
	{ "record", "awf-record", "record what other programs did, and runs from elsewhere" },
	{ "ship", "awf-ship", "copy transcripts into a database, for SQL" },
	{ "worker", "awf-worker", "run the jobs of a directory" },
	{ "ctl", "awf-ctl", "decide about calls that wait, cancel and remove runs" },
	{ "serve", "awf-serve", "serve the runs over HTTP" },
	{ "mcp", "awf-mcp", "MCP server: lets coding agents run workflows step by step" },
	{ "trust", NULL, "show what the definitions of this project would run, and allow it" },
	{ "doctor", NULL, "check providers, keys and the rest of the installation" },
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

/* Copies the entries of share to the directory, which is made if it is not there. ERROR_USAGE, and
 * nothing is written, if something of them is there already; on any other failure nothing of them
 * is left. *made: whether the directory was not there. */
static int
entries_copy(const char *share, const char *directory, bool *made, struct error *err)
{
	DIR *entries = opendir(share);
	const struct dirent *found;
	char **names = NULL;
	struct error ignored;
	struct stat status;
	size_t done = 0;
	int failed = 0;

	while (entries != NULL && (found = readdir(entries)) != NULL)
		if (found->d_name[0] != '.')
			list_add(&names, found->d_name);
	if (entries != NULL)
		closedir(entries);
	if (names == NULL)
		return error_set(err, ERROR_SYSTEM, share,
		    "has no example workflow: is AWF installed completely?");

	*made = mkdir(directory, 0777) == 0;
	if (!*made && errno != EEXIST)
		failed = error_errno(err, ERROR_SYSTEM, directory, "unable to make the directory");
	else if (!path_is_directory(directory))
		failed = error_set(err, ERROR_USAGE, directory,
		    "exists already, and is not a directory");
	for (size_t i = 0; failed == 0 && names[i] != NULL; i++) {
		char *path = path_join(directory, names[i]);

		if (lstat(path, &status) == 0)
			failed = error_set(err, ERROR_USAGE, path,
			    "exists already; nothing was written");
		free(path);
	}

	while (failed == 0 && names[done] != NULL) {
		char *from = path_join(share, names[done]), *to = path_join(directory, names[done]);

		failed = path_is_directory(from) ? copytree(from, to, NULL, err) :
		    copytree_file(from, to, err);
		done++;
		free(from);
		free(to);
	}
	/* With what there is of the one that failed. */
	while (failed != 0 && done-- > 0) {
		char *path = path_join(directory, names[done]);

		if (path_is_directory(path))
			copytree_remove(path, &ignored);
		else
			unlink(path);
		free(path);
	}
	if (failed != 0 && *made)
		rmdir(directory);
	list_free(names);
	return failed;
}

/* What the tools of the current directory, which were made just now, run. */
static void
tools_describe(struct trust_items *items)
{
	DIR *entries = opendir("tools");
	const struct dirent *found;
	struct error ignored = ERROR_INIT;
	struct tool tool;

	while (entries != NULL && (found = readdir(entries)) != NULL) {
		char *name = text_ends(found->d_name, TOOL_END) ? memory_copy(found->d_name,
		    strlen(found->d_name) - strlen(TOOL_END)) : NULL;

		if (name == NULL)
			continue;
		if (tool_load(&tool, name, NULL, &ignored) == 0)
			trust_add_tool(items, &tool);
		tool_free(&tool);
		free(name);
	}
	if (entries != NULL)
		closedir(entries);
}

/* The user allows what awf init makes. A directory of its own is theirs to edit, too; of one that
 * was there the tools that are made are all that is allowed. */
static int
trust_made(const char *directory, bool made, struct error *err)
{
	struct trust_items items = { NULL, 0 };
	struct error ignored = ERROR_INIT;
	int failed;

	/* Where others can write too, nothing is allowed for good. */
	if (made && trust_record_edits(directory, &ignored) == 0)
		return 0;
	if (chdir(directory) != 0)
		return error_errno(err, ERROR_SYSTEM, directory, "unable to enter");
	tools_describe(&items);
	failed = trust_record(&items, err);
	trust_items_free(&items);
	return failed;
}

/* How what was made is run: there, or here (".") */
static void
run_tell(const char *directory, const char *command)
{
	if (strcmp(directory, ".") == 0)
		printf("Run it: %s\n", command);
	else if (directory[strspn(directory, PLAIN)] == '\0' && *directory != '-')
		printf("Run it: cd %s && %s\n", directory, command);
	else if (strchr(directory, '\'') == NULL)
		terminal_printf("Run it: cd -- '%s' && %s\n", directory, command);
	else
		printf("Run it: %s in that directory\n", command);
}

static int
awf_init_directory(char *const *words)
{
	struct error err = ERROR_INIT;
	char *share;
	bool made = false, examples = words[0] != NULL && strcmp(words[0], "--examples") == 0;
	int failed;
	const char *directory;

	words += examples;
	directory = words[0] != NULL ? words[0] : ".";
	if (words[0] != NULL && (strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0)) {
		printf("usage: awf init [--examples] [DIRECTORY]\n\n"
		    "Makes a workflow to begin with there, or here: two agents, a tool, and answers\n"
		    "of a model that it runs against.\n\n"
		    "  --examples  all the examples of AWF instead, with answers for each\n");
		return program_end(PROGRAM, STATUS_OK);
	}
	if (words[0] != NULL && strcmp(words[0], "--") == 0)
		directory = *++words != NULL ? *words : ".";
	else if (words[0] != NULL && *words[0] == '-')
		return awf_print_usage_error(words[0], "unknown option (see awf init --help)");
	if (*directory == '\0')
		return awf_print_usage_error("init", "the name of the DIRECTORY is empty");
	if (words[0] != NULL && words[1] != NULL)
		return awf_print_usage_error(words[1], "one DIRECTORY only");
	share = examples ? installation_examples() : path_join(installation_share(), "init");
	failed = entries_copy(share, directory, &made, &err);
	free(share);
	if (failed == 0)
		failed = trust_made(directory, made, &err);
	if (failed != 0)
		return program_fail(PROGRAM, &err);
	run_tell(directory, examples ? "AWF_MODEL=replay/recordings/router.jsonl ./router.awf <samples/mail.txt" :
	    "./brief.awf");
	return program_end(PROGRAM, STATUS_OK);
}

/* By its name here, or by that of its program; NULL if it is none of these. */
static const struct command *
awf_find_command(const char *name)
{
	for (const struct command *c = commands; c->name != NULL; c++)
		if (strcmp(c->name, name) == 0 ||
		    (c->program != NULL && strcmp(c->program + sizeof PROGRAM, name) == 0))
			return c;
	return NULL;
}

/* In the place of this process. words: its arguments. Returns if there is no such program: 0;
 * or if it cannot be run: the status to exit with. */
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
	/* AWF's own helpers, then other people's programs. */
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
	/* A script is there whose interpreter is not. */
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
		printf("usage: awf COMMAND [ARG...]\n\n");
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
	if (command != NULL && strcmp(command->name, "init") == 0)
		return awf_init_directory(argv + 2);
	/* For the completions of shells; people need not see it. */
	if (strcmp(name, "complete") == 0)
		return complete_words(argv + 2);
	if (command != NULL && strcmp(command->name, "trust") == 0)
		return trust_command(argv + 2);
	if (command != NULL && strcmp(command->name, "doctor") == 0)
		return doctor_check_installation(argc - 1, argv + 1);

	if (command != NULL && command->program == NULL) {
		/* help: the page of awf(7), of a command here, or of any other program. */
		if (argc > 3)
			return awf_print_usage_error(argv[3], "one COMMAND only");
		/* man says itself what it does not find. */
		if (argv[2] != NULL && !name_valid(argv[2]))
			return awf_print_usage_error(argv[2], "no such command (see --help)");
		command = argv[2] != NULL ? awf_find_command(argv[2]) : NULL;
		program = command != NULL && command->program != NULL ? command->program : PROGRAM;
		own = argv[2] != NULL && command == NULL ? memory_format(PROGRAM "-%s", argv[2]) :
		    memory_text(program);
		if (argv[2] == NULL)
			execlp("man", "man", "7", own, (char *)NULL);
		else
			execlp("man", "man", own, (char *)NULL);
		error_errno(&err, ERROR_SYSTEM, "man", "unable to run it");
		free(own);
		return program_fail(PROGRAM, &err);
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
