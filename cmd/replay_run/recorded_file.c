/*
 * Allowed roots are tried one after another; one that contains the file is enough. Hidden parts are
 * recognized in the path below the root, and a hidden root in its path below the home directory.
 */
#include "replay_run/recorded_file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "io/beneath.h"
#include "io/file.h"
#include "io/installation.h"

/* Whether a part of the path is hidden, except directories and files of definitions. */
static bool
is_hidden(const char *path)
{
	static const char *const known[] = { ".awf", ".agents", ".claude", ".mcp.json" };

	while (*path != '\0') {
		size_t len = strcspn(path, "/"), i = 0;

		while (i < sizeof known / sizeof *known &&
		    (strlen(known[i]) != len || memcmp(known[i], path, len) != 0))
			i++;
		if (*path == '.' && len > 1 && i == sizeof known / sizeof *known)
			return true;
		path += len;
		path += strspn(path, "/");
	}
	return false;
}

static bool
recorded_file_is_beneath(const char *root, const char *path)
{
	const char *part = beneath_part(root, path);

	return part != NULL && !is_hidden(part) && beneath_there(root, path);
}

/* Whether a directory named by a recording may be a working directory, and not all of the
 * user's files. */
static bool
is_workplace(const char *directory)
{
	const char *home = getenv("HOME"), *part;
	char here[PATH_MAX];

	if (strcmp(directory, "/") == 0)
		return false;
	if (getcwd(here, sizeof here) == NULL || beneath_part(directory, here) == NULL)
		return false;
	if (home == NULL || *home != '/' || strcmp(home, "/") == 0)
		return true;
	if (beneath_part(directory, home) != NULL)
		return false;
	part = beneath_part(home, directory);
	return part == NULL || !is_hidden(part);
}

/* Whether the path is below the user's or the system's definitions. */
static bool
is_definition(const char *path)
{
	static const char *const kinds[] = { "agents", "tools", "skills", "AGENTS.md" };
	static const char *const skills[] = { ".agents/skills", ".claude/skills" };
	const char *home = path_home(), *tools = getenv("AWF_TOOL_PATH");
	bool is = recorded_file_is_beneath(installation_share(), path);

	for (size_t i = 0; !is && i < sizeof kinds / sizeof *kinds; i++) {
		char *root = path_config(kinds[i]);

		is = root != NULL && recorded_file_is_beneath(root, path);
		free(root);
	}
	for (size_t i = 0; !is && home != NULL && i < sizeof skills / sizeof *skills; i++) {
		char *root = path_join(home, skills[i]);

		is = recorded_file_is_beneath(root, path);
		free(root);
	}
	while (!is && tools != NULL) {
		size_t len;
		const char *part = text_part(&tools, ':', &len);
		char *root = memory_copy(part, len);

		is = *root == '/' && recorded_file_is_beneath(root, path);
		free(root);
	}
	return is;
}

/* Whether an existing file is private to the user: the API keys, or hidden in the home directory
 * and not a definition. */
static bool
is_private(const char *path)
{
	const char *home = getenv("HOME"), *part;
	char *whole = realpath(path, NULL), *keys = path_config("keys"), *root, *key;
	bool is = whole == NULL;

	root = home != NULL && *home == '/' ? realpath(home, NULL) : NULL;
	key = keys != NULL ? realpath(keys, NULL) : NULL;
	if (whole != NULL && root != NULL && strcmp(root, "/") != 0) {
		part = beneath_part(root, whole);
		is = part != NULL && is_hidden(part);
	}
	if (whole != NULL && key != NULL && strcmp(whole, key) == 0)
		is = true;
	free(whole);
	free(keys);
	free(root);
	free(key);
	return is;
}

int
recorded_workspace_check(const struct source *s, struct error *err)
{
	if (s->own || is_workplace(s->workspace))
		return 0;
	return error_set(err, ERROR_USAGE, s->workspace, "the recording says that it ran here, but "
	    "is not of your storage: today's is taken only if you are there (cd %s)", s->workspace);
}

int
recorded_file_check(const struct source *s, char *const *visible, const char *path,
    struct error *err)
{
	const char *const places[] = { s->workspace, s->directory };

	if (access(path, F_OK) != 0 || (s->own && !is_private(path)))
		return 0;
	for (size_t i = 0; i < sizeof places / sizeof *places && !s->own; i++)
		if (is_workplace(places[i]) && recorded_file_is_beneath(places[i], path))
			return 0;
	if (is_definition(path))
		return 0;
	for (; visible != NULL && *visible != NULL; visible++)
		if (beneath_there(*visible, path))
			return 0;
	return error_set(err, ERROR_USAGE, path, "the recording names this file, which lies where "
	    "no step's files are expected: it is taken only with --visible and its directory");
}
