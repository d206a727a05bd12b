/*
 * awf-init, started by `awf init`: makes a first workflow by copying share/init: two agents, a
 * tool, a workflow that uses them, and recorded answers of models, so that the workflow can be
 * tried without a key.
 */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/text.h"
#include "definitions/trust.h"
#include "io/copytree.h"
#include "io/file.h"
#include "io/installation.h"
#include "io/terminal.h"
#include "program.h"

#define PROGRAM "awf"
#define TOOL_END ".tool.json"
/* Characters that need no quotes in a shell. */
#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-"

enum { OPT_EXAMPLES = 1 };

static const char usage[] =
    "awf init [--examples] [DIRECTORY]\n"
    "\n"
    "Makes a workflow to begin with there, or here: two agents, a tool, and answers\n"
    "of a model that it runs against.";

struct init_command {
	bool examples;
};

static const struct option_spec options_table[] = {
	{ OPT_EXAMPLES, 0, "examples", NULL, "all the examples of AWF instead, with answers for each",
	    OPTION_INTO_FLAG(struct init_command, examples) },
	{ 0, 0, NULL, NULL, NULL },
};

static int
init_print_usage_error(const char *place, const char *what)
{
	struct error err;

	error_set(&err, ERROR_USAGE, place, "%s", what);
	return program_fail(PROGRAM, &err);
}

/* Copies the entries of share into a directory, which is made if it does not exist. If one of them
 * exists already, nothing is copied (ERROR_USAGE); after any other error, what was copied is
 * removed again. *made: the directory was made here. */
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
	/* Remove what was copied, including the parts of the entry that failed. */
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

/* Lists what the new tools in the current directory would execute. */
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

/* Records that the user trusts the tools that awf init has made. If the directory is new, later
 * edits are trusted, too; in an existing directory only the tools themselves. */
static int
trust_made(const char *directory, bool made, struct error *err)
{
	struct trust_items items = { NULL, 0 };
	struct error ignored = ERROR_INIT;
	int failed;

	/* This is refused if other users can write to the directory. */
	if (made && trust_record_edits(directory, &ignored) == 0)
		return 0;
	if (chdir(directory) != 0)
		return error_errno(err, ERROR_SYSTEM, directory, "unable to enter");
	tools_describe(&items);
	failed = trust_record(&items, err);
	trust_items_free(&items);
	return failed;
}

/* Prints how to run the workflow, in a directory or in this one ("."). */
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

int
main(int argc, char **argv)
{
	struct init_command command = { false };
	const char *directory = ".";
	struct error err = ERROR_INIT;
	bool made = false, named = false, examples;
	struct options o;
	char *share;
	int failed, id;

	program_begin();
	options_begin(&o, options_table, argc, argv);
	options_bind(&o, &command);
	while ((id = options_next(&o, &err)) == OPTION_WORD) {
		if (named)
			return init_print_usage_error(o.value, "one DIRECTORY only");
		directory = o.value;
		named = true;
	}
	if (id == OPTION_HELP || id == OPTION_HELP_ALL) {
		options_help(stdout, usage, options_table, id);
		return program_end(PROGRAM, STATUS_OK);
	}
	if (id == OPTION_VERSION)
		return program_end(PROGRAM, program_version("awf-init"));
	if (id != OPTION_END)
		return program_fail(PROGRAM, &err);
	if (*directory == '\0')
		return init_print_usage_error("init", "the name of the DIRECTORY is empty");
	examples = command.examples;
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
