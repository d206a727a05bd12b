/* Each is asked for its version: what is missing, cannot be run, or is of another version is
 * told by its name, and all others together. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/definition.h"
#include "agent/provider.h"
#include "awf/checks.h"
#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/version.h"
#include "proc/libexec.h"

#define AGAIN "install AWF anew"

static const char *const programs[] = { "awf", "awf-ctl", "awf-replay", "awf-run", "awf-step",
	"awf-tail", "awf-verify", NULL };
static const char *const tools[] = { "bash", "edit", "glob", "grep", "read", "run_workflow",
	"write", NULL };
static const char *const others[] = { "awf-sandbox", "awf-mask-patterns", NULL };

/* Asks each whose path is not NULL; how many are as they should be. */
static size_t
check_versions(struct findings *f, char *const *names, char *const *paths)
{
	const size_t count = list_count(names);
	struct subprocess *processes = memory_zero(count, sizeof *processes);
	char *(*argv)[3] = memory_zero(count, sizeof *argv), option[] = "--version";
	size_t asked = 0, good = 0;

	for (size_t i = 0; i < count; i++) {
		if (paths[i] == NULL)
			continue;
		argv[asked][0] = paths[i];
		argv[asked][1] = option;
		processes[asked] = (struct subprocess){ .argv = argv[asked], .name = names[i] };
		asked++;
	}
	checks_ask(processes, asked);
	for (size_t i = 0; i < asked; i++) {
		char *wanted = memory_format("%s " AWF_VERSION "\n", processes[i].name);

		if (processes[i].error.code != ERROR_NONE) {
			char *why = checks_complaint(&processes[i]);

			findings_add(f, FINDING_PROGRAMS, FINDING_WRONG, processes[i].name,
			    "%s cannot be run: %s", argv[i][0], why);
			free(why);
		} else if (strcmp(buffer_string(&processes[i].output), wanted) != 0) {
			const char *output = buffer_string(&processes[i].output);
			char *said = memory_copy(output, strcspn(output, "\n"));

			findings_add(f, FINDING_PROGRAMS, FINDING_WRONG, processes[i].name,
			    "%s is '%s', and not of " AWF_VERSION ": " AGAIN, argv[i][0], said);
			free(said);
		} else {
			good++;
		}
		free(wanted);
		subprocess_free(&processes[i]);
	}
	free(argv);
	free(processes);
	return good;
}

/* ---- the programs ---- */

static bool
is_same_file(const char *a, const char *b)
{
	struct stat one, other;

	return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
	    one.st_ino == other.st_ino;
}

static void
add_word(struct buffer *text, const char *word)
{
	buffer_format(text, "%s%s", text->len > 0 ? ", " : "", word);
}

/* What a shell finds by these names. */
static void
check_path(struct findings *f, const char *directory)
{
	struct buffer absent = BUFFER_INIT, strange = BUFFER_INIT;
	char *elsewhere = NULL;
	size_t missing = 0, count = 0;

	for (; programs[count] != NULL; count++) {
		char *own = path_join(directory, programs[count]);
		char *found = path_search(getenv("PATH"), programs[count]);

		if (found == NULL) {
			add_word(&absent, programs[count]);
			missing++;
		} else if (!is_same_file(own, found)) {
			add_word(&strange, programs[count]);
			if (elsewhere == NULL)
				elsewhere = path_directory(found);
		}
		free(own);
		free(found);
	}
	if (strange.len > 0)
		findings_add(f, FINDING_PROGRAMS, FINDING_NOTE, "PATH", "leads to another installation, in "
		    "%s, for %s: let %s stand before it", elsewhere, strange.data, directory);
	if (missing == count)
		findings_add(f, FINDING_PROGRAMS, FINDING_NOTE, "PATH",
		    "does not lead here: PATH=%s:$PATH", directory);
	else if (missing > 0)
		findings_add(f, FINDING_PROGRAMS, FINDING_NOTE, "PATH", "does not lead to %s: "
		    "PATH=%s:$PATH", absent.data, directory);
	else if (strange.len == 0)
		findings_add(f, FINDING_PROGRAMS, FINDING_OK, "PATH", "leads to them");
	free(elsewhere);
	buffer_free(&absent);
	buffer_free(&strange);
}

static void
check_bin(struct findings *f)
{
	char **names = list_copy((char *const *)(uintptr_t)programs);
	char **paths = memory_zero(list_count(names) + 1, sizeof *paths);
	char *own = libexec_sibling(programs[0]), *directory = path_directory(own);
	size_t good;

	for (size_t i = 0; names[i] != NULL; i++) {
		paths[i] = path_search(directory, names[i]);
		if (paths[i] == NULL)
			findings_add(f, FINDING_PROGRAMS, FINDING_WRONG, names[i],
			    "is not in %s: " AGAIN, directory);
	}
	good = check_versions(f, names, paths);
	findings_add(f, FINDING_PROGRAMS, FINDING_OK, "awf", AWF_VERSION ": %zu programs in %s", good,
	    directory);
	check_path(f, directory);
	for (size_t i = 0; names[i] != NULL; i++)
		free(paths[i]);
	free(paths);
	list_free(names);
	free(directory);
	free(own);
}

/* ---- their parts ---- */

static char **
part_names(void)
{
	char **names = NULL;

	for (const char *const *name = provider_names(); *name != NULL; name++)
		list_take(&names, memory_format("awf-provider-%s", *name));
	for (const char *const *name = tools; *name != NULL; name++)
		list_take(&names, memory_format("awf-tool-%s", *name));
	for (const char *const *name = others; *name != NULL; name++)
		list_add(&names, *name);
	return names;
}

/* The files that say what AWF's tools are lie beside them. */
static void
check_tool_files(struct findings *f, const char *directory)
{
	for (const char *const *name = tools; *name != NULL; name++) {
		char *file = memory_format("%s.tool.json", *name), *path = path_join(directory, file);

		if (!definition_exists(path))
			findings_add(f, FINDING_PROGRAMS, FINDING_WRONG, file, "is not in %s: " AGAIN,
			    directory);
		free(path);
		free(file);
	}
}

/* Where the first lies that is there the others belong too. */
static void
check_parts(struct findings *f)
{
	char **names = part_names(), *list = libexec_path(), *home = NULL;
	char **paths = memory_zero(list_count(names) + 1, sizeof *paths);
	size_t good;

	for (size_t i = 0; names[i] != NULL; i++) {
		char *directory;

		paths[i] = path_search(list, names[i]);
		if (paths[i] == NULL) {
			findings_add(f, FINDING_PROGRAMS, FINDING_WRONG, names[i],
			    "is in none of %s: " AGAIN, list);
			continue;
		}
		directory = path_directory(paths[i]);
		if (home == NULL)
			home = memory_text(directory);
		if (strcmp(home, directory) != 0)
			findings_add(f, FINDING_PROGRAMS, FINDING_WRONG, names[i], "is that of another "
			    "installation, in %s, and not in %s: " AGAIN, directory, home);
		free(directory);
	}
	good = check_versions(f, names, paths);
	if (home != NULL) {
		check_tool_files(f, home);
		findings_add(f, FINDING_PROGRAMS, FINDING_OK, "parts", "%zu in %s", good, home);
	}
	for (size_t i = 0; names[i] != NULL; i++)
		free(paths[i]);
	free(paths);
	list_free(names);
	free(list);
	free(home);
}

void
check_programs(struct findings *f)
{
	check_bin(f);
	check_parts(f);
}
