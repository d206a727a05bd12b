/* Executes each program of AWF with --version. Programs that are missing, cannot be executed or
 * have another version are reported one by one, the others together. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/version.h"
#include "formats/definition.h"
#include "io/file.h"
#include "io/installation.h"
#include "proc/libexec.h"
#include "providers/provider_find.h"
#include "setup/doctor.h"
#include "view/screen.h"

#define AGAIN "install AWF anew"

static const char *const programs[] = { "awf", "awf-ctl", "awf-diff", "awf-eval", "awf-exec", "awf-import", "awf-mcp", "awf-record",
	"awf-replay", "awf-run", "awf-serve", "awf-ship", "awf-step", "awf-tail", "awf-verify",
	"awf-worker", NULL };
static const char *const tools[] = { "bash", "edit", "glob", "grep", "read", "run_workflow",
	"write", NULL };
static const char *const others[] = { "awf-complete", "awf-doctor", "awf-fetch-run",
	"awf-import-agents", "awf-import-claude", "awf-import-codex", "awf-import-copilot", "awf-import-gemini",
	"awf-import-inspect", "awf-import-otel", "awf-init", "awf-limits",
	"awf-mask-patterns", "awf-mcp-http", "awf-mcp-keep", "awf-mcp-tools", "awf-mirror",
	"awf-models-proxy", "awf-sandbox", "awf-ship-http", "awf-ship-otlp", "awf-stats", "awf-status", "awf-trust",
	NULL };
/* Programs that are built only if a library is available. */
static const struct { const char *name, *library; } optional[] = {
	{ "awf-import-opencode", "libsqlite3" },
	{ "awf-mirror-postgresql", "libpq" },
	{ "awf-mirror-sqlite", "libsqlite3" },
	{ "awf-ship-postgresql", "libpq" },
	{ "awf-ship-sqlite", "libsqlite3" },
};

/* Looks for the programs in a list of directories and executes them. *home: the directory of
 * the first one found, to be freed by the caller; the others must be there too. Returns how
 * many are in order. */
static size_t
check_set(struct findings *f, char *const *names, const char *directories, const char *absent,
    char **home)
{
	const size_t count = list_count(names);
	char **paths = memory_zero(count, sizeof *paths), option[] = "--version";
	struct subprocess *processes;
	size_t asked, good = 0;

	*home = NULL;
	for (size_t i = 0; i < count; i++) {
		char *directory;

		paths[i] = path_search(directories, names[i]);
		if (paths[i] == NULL) {
			findings_add(f, FINDING_PROGRAMS, FINDING_WRONG, names[i], "is %s %s: " AGAIN,
			    absent, directories);
			continue;
		}
		directory = path_directory(paths[i]);
		if (*home == NULL)
			*home = memory_text(directory);
		if (strcmp(*home, directory) != 0)
			findings_add(f, FINDING_PROGRAMS, FINDING_WRONG, names[i], "is that of another "
			    "installation, in %s, and not in %s: " AGAIN, directory, *home);
		free(directory);
	}

	asked = checks_ask_all(names, paths, count, option, NULL, &processes);
	for (size_t i = 0; i < asked; i++) {
		const struct subprocess *b = &processes[i];
		const char *output = buffer_string(&b->output), *path = b->argv[0];
		char *wanted = memory_format("%s " AWF_VERSION "\n", b->name);

		if (b->error.code != ERROR_NONE) {
			/* Show the last line of stderr, or how the program ended. */
			size_t len = b->errors.len, start;

			while (len > 0 && strchr("\n\r ", b->errors.data[len - 1]) != NULL)
				len--;
			for (start = len; start > 0 && b->errors.data[start - 1] != '\n';)
				start--;
			if (len == start)
				findings_add(f, FINDING_PROGRAMS, FINDING_WRONG, b->name,
				    "%s cannot be run: %s", path, b->error.message);
			else
				findings_add(f, FINDING_PROGRAMS, FINDING_WRONG, b->name,
				    "%s cannot be run: %.*s", path, (int)(len - start),
				    b->errors.data + start);
		} else if (strcmp(output, wanted) != 0) {
			findings_add(f, FINDING_PROGRAMS, FINDING_WRONG, b->name,
			    "%s is '%.*s', and not of " AWF_VERSION ": " AGAIN, path,
			    (int)strcspn(output, "\n"), output);
		} else {
			good++;
		}
		free(wanted);
	}
	checks_free(processes, asked);
	for (size_t i = 0; i < count; i++)
		free(paths[i]);
	free(paths);
	return good;
}

static void
add_word(struct buffer *text, const char *word)
{
	buffer_format(text, "%s%s", text->len > 0 ? ", " : "", word);
}

/* Checks which programs a shell finds by these names in PATH. */
static void
check_path(struct findings *f, const char *directory)
{
	struct buffer absent = BUFFER_INIT, strange = BUFFER_INIT;
	char *elsewhere = NULL;
	size_t missing = 0, count = 0;

	for (; programs[count] != NULL; count++) {
		char *own = path_join(directory, programs[count]);
		char *found = path_search(getenv("PATH"), programs[count]);
		struct stat a, b;

		if (found == NULL) {
			add_word(&absent, programs[count]);
			missing++;
		} else if (stat(own, &a) != 0 || stat(found, &b) != 0 || a.st_dev != b.st_dev ||
		    a.st_ino != b.st_ino) {
			add_word(&strange, programs[count]);
			if (elsewhere == NULL)
				elsewhere = path_directory(found);
		}
		free(own);
		free(found);
	}
	if (strange.len > 0)
		findings_add(f, FINDING_PROGRAMS, FINDING_NOTE, "PATH", "leads to another installation, "
		    "in %s, for %s: let %s stand before it", elsewhere, strange.data, directory);
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

/* Reports the user's setting for the live view, if there is one. */
static void
check_view(struct findings *f)
{
	struct error err = ERROR_INIT;
	enum screen_mode mode;
	char *place = NULL;

	if (screen_mode(&mode, &place, &err) != 0)
		findings_add_error(f, FINDING_PROGRAMS, "view", &err);
	else if (place != NULL)
		findings_add(f, FINDING_PROGRAMS, FINDING_OK, "view", "%s (%s)", screen_mode_word(mode),
		    place);
	free(place);
}

void
check_programs(struct findings *f)
{
	char *found = installation_programs(), *directory = found != NULL ? found : memory_text(".");
	char *list = libexec_path(), *home, **parts = NULL;
	size_t good;

	good = check_set(f, (char *const *)(uintptr_t)programs, directory, "not in", &home);
	findings_add(f, FINDING_PROGRAMS, FINDING_OK, "awf", AWF_VERSION ": %zu programs in %s", good,
	    directory);
	check_path(f, directory);
	check_view(f);
	free(home);

	for (const char *const *name = provider_names(); *name != NULL; name++)
		list_take(&parts, memory_format("awf-provider-%s", *name));
	for (const char *const *name = tools; *name != NULL; name++)
		list_take(&parts, memory_format("awf-tool-%s", *name));
	for (const char *const *name = others; *name != NULL; name++)
		list_add(&parts, *name);
	for (size_t i = 0; i < sizeof optional / sizeof *optional; i++) {
		char *path = path_search(list, optional[i].name);

		if (path != NULL)
			list_add(&parts, optional[i].name);
		else
			findings_add(f, FINDING_PROGRAMS, FINDING_NOTE, optional[i].name,
			    "is not here: it is in the package awf-sql, and is left out where AWF is built without %s",
			    optional[i].library);
		free(path);
	}
	good = check_set(f, parts, list, "in none of", &home);
	/* The definitions of AWF's tools must be in the same installation. */
	for (const char *const *name = tools; home != NULL && *name != NULL; name++) {
		char *file = memory_format("%s.tool.json", *name), *path = path_join(home, file);

		if (!definition_exists(path))
			findings_add(f, FINDING_PROGRAMS, FINDING_WRONG, file, "is not in %s: " AGAIN,
			    home);
		free(path);
		free(file);
	}
	if (home != NULL)
		findings_add(f, FINDING_PROGRAMS, FINDING_OK, "parts", "%zu in %s", good, home);
	list_free(parts);
	free(home);
	free(list);
	free(directory);
}
