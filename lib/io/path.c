/* Functions on the text of paths; a few check whether a file exists. */
#include "io/path.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"

char *
path_join(const char *directory, const char *name)
{
	size_t len = strlen(directory), name_len = strlen(name);
	char *path = memory_alloc(len + name_len + 2);

	memcpy(path, directory, len + 1);
	if (len == 0 || path[len - 1] != '/')
		path[len++] = '/';
	memcpy(path + len, name, name_len + 1);
	return path;
}

const char *
path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool
path_is_directory(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

char *
path_directory(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return memory_text(".");
	return memory_copy(path, slash == path ? 1 : (size_t)(slash - path));
}

bool
path_climb(char **path)
{
	char *above = path_directory(*path);
	const bool climbed = strcmp(above, *path) != 0;

	free(*path);
	*path = above;
	return climbed;
}

bool
path_within(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	while (len > 0 && directory[len - 1] == '/')
		len--;
	return strncmp(path, directory, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* Whether a path is absolute, without parts that are empty, "." or "..", as path_normal() makes it. */
static bool
path_is_normal(const char *path)
{
	size_t len;

	if (path[0] != '/' || path[1] == '\0')
		return path[0] == '/';
	for (; *path == '/'; path += len) {
		len = strcspn(++path, "/");
		if (len == 0 || (len == 1 && *path == '.') || (len == 2 && memcmp(path, "..", 2) == 0))
			return false;
	}
	return true;
}

char *
path_normal(const char *path)
{
	char *normal = memory_zero(strlen(path) + 2, 1), *end = normal;

	while (*(path += strspn(path, "/")) != '\0') {
		size_t len = strcspn(path, "/");

		if (len == 2 && memcmp(path, "..", 2) == 0) {
			while (end > normal && *--end != '/')
				;
		} else if (len != 1 || *path != '.') {
			*end++ = '/';
			memcpy(end, path, len);
			end += len;
		}
		path += len;
	}
	if (end == normal)
		*end++ = '/';
	*end = '\0';
	INVARIANT(path_is_normal(normal));
	return normal;
}

const char *
path_home(void)
{
	const char *home = getenv("HOME");

	return home != NULL && home[0] == '/' ? home : NULL;
}

/* A path below a directory that an XDG variable names; a relative value of the variable must be
 * ignored. */
static char *
path_xdg(const char *variable, const char *usual, const char *name)
{
	const char *place = getenv(variable), *home = path_home();

	if (place != NULL && place[0] == '/')
		return memory_format("%s/awf/%s", place, name);
	if (home != NULL)
		return memory_format("%s/%s/awf/%s", home, usual, name);
	return NULL;
}

char *
path_config(const char *name)
{
	return path_xdg("XDG_CONFIG_HOME", ".config", name);
}

char *
path_data(const char *name)
{
	return path_xdg("XDG_DATA_HOME", ".local/share", name);
}

/* Empty elements of the list are skipped; in PATH they traditionally mean the current directory. */
char *
path_search(const char *list, const char *name)
{
	const char *part;
	size_t len;

	while ((part = text_part(&list, ':', &len)) != NULL) {
		char *directory, *path;
		struct stat st;

		if (len == 0)
			continue;
		directory = memory_copy(part, len);
		path = path_join(directory, name);
		free(directory);
		if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0)
			return path;
		free(path);
	}
	return NULL;
}
