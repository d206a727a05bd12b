/*
 * A word is looked at as a whole and in the pieces that a shell, or a program that takes options,
 * may make of it. A piece that names no file costs some calls of stat().
 */
#include "agent/trust_files.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "proc/project_files.h"

enum {
	INTERPRETERS = 5,   /* of interpreters; the kernel goes no further either */
	FILES_MOST = 1000
};

struct search {
	const struct trust_command *command;
	const char *within;
	char *path;             /* in which programs are looked for */
	char **files, **links;
};

static void search_text(struct search *s, const char *text, int depth);

/* What runs a script. */
static void
search_first_line(struct search *s, const char *path, int depth)
{
	char *interpreter = depth > 0 ? file_interpreter(path) : NULL;

	if (interpreter != NULL)
		search_text(s, interpreter, depth - 1);
	free(interpreter);
}

/* What an interpreter runs of a directory, or a package runner reads there. */
static void
search_directory(struct search *s, const char *directory, const char *const *names)
{
	for (; *names != NULL; names++) {
		char *path = path_join(directory, *names), *real = realpath(path, NULL);
		struct stat status;

		if (real != NULL && path_within(real, s->within) && stat(real, &status) == 0 &&
		    S_ISREG(status.st_mode) && !list_has(s->files, real))
			list_add(&s->files, real);
		free(real);
		free(path);
	}
}

/* The links on the way of a path, by the names that they have there. */
static void
search_links(struct search *s, const char *path)
{
	for (const char *end = path; *end != '\0';) {
		char *part, *above, *real, *link;
		struct stat status;

		end += 1 + strcspn(end + 1, "/");
		part = memory_copy(path, (size_t)(end - path));
		if (lstat(part, &status) == 0 && S_ISLNK(status.st_mode)) {
			above = path_directory(part);
			real = realpath(above, NULL);
			link = real == NULL ? NULL : path_join(real, path_base(part));
			if (link != NULL && path_within(link, s->within) && !list_has(s->links, link))
				list_add(&s->links, link);
			free(link);
			free(real);
			free(above);
		}
		free(part);
	}
}

static void
search_path(struct search *s, const char *path, int depth)
{
	static const char *const entries[] = { "__main__.py", "__init__.py", "package.json", "index.js",
		"index.mjs", "index.cjs", "index.ts", "main.go", "Cargo.toml", "pyproject.toml", NULL };
	char *real = realpath(path, NULL);
	struct stat status;

	if (real != NULL && strcmp(real, path) != 0)
		search_links(s, path);
	if (real != NULL && path_within(real, s->within) && stat(real, &status) == 0 &&
	    list_count(s->files) < FILES_MOST) {
		if (S_ISDIR(status.st_mode))
			search_directory(s, real, entries);
		if (S_ISREG(status.st_mode) && !list_has(s->files, real)) {
			list_add(&s->files, real);
			search_first_line(s, real, depth);
		}
	}
	free(real);
}

/* A path, as it is seen from where the command runs and from its definition; or a program. */
static void
search_name(struct search *s, const char *name, int depth)
{
	const char *const from[] = { s->command->directory, s->command->beside, s->within };
	char *path;

	if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "/") == 0)
		return;
	for (size_t i = 0; *name != '/' && i < sizeof from / sizeof *from; i++) {
		path = path_join(from[i], name);
		search_path(s, path, depth);
		free(path);
	}
	if (*name == '/')
		search_path(s, name, depth);
	if (strchr(name, '/') != NULL)
		return;
	path = path_search(s->path, name);
	if (path != NULL)
		search_path(s, path, depth);
	free(path);
}

/* Runners of packages and tasks: as which program of the table of project files (proc/project_files.h)
 * they take their settings, and what says what they run. Each is looked for where they start, and in
 * the directories above. */
static const struct {
	const char *program, *settings, *files[6];
} runners[] = {
	{ "npm", "npm", { "package.json" } },
	{ "npx", "npm", { "package.json" } },
	{ "pnpm", "npm", { "package.json", "pnpm-workspace.yaml" } },
	{ "pnpx", "npm", { "package.json", "pnpm-workspace.yaml" } },
	{ "yarn", "npm", { "package.json", ".yarnrc" } },
	{ "node", NULL, { "package.json" } },
	{ "tsx", NULL, { "package.json", "tsconfig.json" } },
	{ "bun", "bun", { "package.json", ".npmrc" } },
	{ "bunx", "bun", { "package.json", ".npmrc" } },
	{ "deno", NULL, { "deno.json", "deno.jsonc", "package.json" } },
	{ "make", NULL, { "GNUmakefile", "makefile", "Makefile" } },
	{ "gmake", NULL, { "GNUmakefile", "makefile", "Makefile" } },
	{ "just", NULL, { "justfile", "Justfile", ".justfile", ".env" } },
	{ "task", NULL, { "Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml" } },
	{ "rake", NULL, { "Rakefile", "rakefile" } },
	{ "bundle", NULL, { "Gemfile", ".bundle/config" } },
	{ "uv", NULL, { "pyproject.toml", "uv.toml" } },
	{ "uvx", NULL, { "pyproject.toml", "uv.toml" } },
	{ "poetry", NULL, { "pyproject.toml", "poetry.toml" } },
	{ "hatch", NULL, { "pyproject.toml", "hatch.toml" } },
	{ "tox", NULL, { "tox.ini", "pyproject.toml" } },
	{ "cargo", NULL, { "Cargo.toml", ".cargo/config.toml", ".cargo/config", "build.rs" } },
	{ "go", NULL, { "go.mod", "go.work" } },
	{ "mise", "mise", { NULL } },
};

/* Adds the files of a directory and of those above it that are called so. */
static void
search_above(struct search *s, const char *const *names)
{
	char *directory = realpath(s->command->directory, NULL);

	for (bool below = directory != NULL; below && path_within(directory, s->within);
	    below = path_climb(&directory))
		search_directory(s, directory, names);
	free(directory);
}

static void
search_runner(struct search *s, const char *name)
{
	const char *base = path_base(name), *one[] = { NULL, NULL };

	for (size_t i = 0; i < sizeof runners / sizeof *runners; i++) {
		if (strcmp(base, runners[i].program) != 0)
			continue;
		search_above(s, runners[i].files);
		for (const struct project_file *file = project_files; file->program != NULL; file++) {
			one[0] = file->name;
			if (runners[i].settings != NULL && strcmp(file->program, runners[i].settings) == 0)
				search_above(s, one);
		}
	}
}

/* python -m MODULE: a.b is a/b.py, or a/b/__main__.py. */
static void
search_module(struct search *s, const char *module, int depth)
{
	char *path = memory_text(module), *file;

	for (char *at = path; *at != '\0'; at++)
		if (*at == '.')
			*at = '/';
	search_name(s, path, depth);
	file = memory_format("%s.py", path);
	search_name(s, file, depth);
	free(file);
	free(path);
}

/* The pieces of a text, a piece behind -m as a module too. */
static void
search_text(struct search *s, const char *text, int depth)
{
	static const char separators[] = " \t\r\n;|&<>()[]{}'\"`$,:=@";
	char *copy = memory_text(text), *rest = copy, *piece;
	bool module = false;

	search_name(s, text, depth);
	while ((piece = strsep(&rest, separators)) != NULL) {
		const char *glued = *piece == '-' && piece[1] != '-' && piece[1] != '\0' ? piece + 2 : NULL;

		if (*piece == '\0')
			continue;
		search_name(s, piece, depth);
		search_runner(s, piece);
		if (glued != NULL)
			search_name(s, glued, depth); /* -r./x */
		if (module)
			search_module(s, piece, depth);
		module = strcmp(piece, "-m") == 0;
	}
	free(copy);
}

void
trust_files_find(struct trust_files *found, const struct trust_command *command, const char *within)
{
	struct search s = { .command = command, .within = within };
	struct buffer path = BUFFER_INIT;
	const char *list = command->path != NULL ? command->path : getenv("PATH"), *part;
	bool module = false;
	size_t len;

	/* Its relative directories are seen from where the command runs. */
	while (list != NULL && (part = text_part(&list, ':', &len)) != NULL) {
		if (len > 0 && *part != '/')
			buffer_format(&path, "%s/", command->directory);
		buffer_format(&path, "%.*s:", (int)len, part);
	}
	s.path = buffer_take(&path);
	for (char *const *word = command->words; word != NULL && *word != NULL; word++) {
		search_text(&s, *word, INTERPRETERS);
		if (module)
			search_module(&s, *word, INTERPRETERS);
		module = strcmp(*word, "-m") == 0;
	}
	for (char *const *value = command->values; value != NULL && *value != NULL; value++)
		search_text(&s, *value, INTERPRETERS);
	free(s.path);
	*found = (struct trust_files){ s.files, s.links };
}

void
trust_files_find_one(struct trust_files *found, const char *path, const char *within)
{
	struct search s = { .within = within };
	char here[PATH_MAX];
	char *whole = *path == '/' || getcwd(here, sizeof here) == NULL ? memory_text(path) :
	    path_join(here, path);

	search_path(&s, whole, 0);
	free(whole);
	*found = (struct trust_files){ s.files, s.links };
}
