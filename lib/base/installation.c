/* From /proc/self/exe, which Linux has; elsewhere the compiled-in prefix must do. */
#include "base/installation.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

/* From build/bin two directories up, from build/SANITIZER/test/bin four. */
#define LEVELS_MAX 4

char *
installation_program(void)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);

	return len <= 0 ? NULL : memory_copy(path, (size_t)len);
}

static bool
has(const char *directory, const char *name)
{
	char *path = path_join(directory, name);
	bool there = access(path, F_OK) == 0;

	free(path);
	return there;
}

/* Takes the text over. */
static char *
above(char *path)
{
	char *directory = path_directory(path);

	free(path);
	return directory;
}

static char *
find_share(void)
{
	char *directory = installation_program(), *found = NULL;

	if (directory == NULL)
		return memory_text(AWF_DATADIR);
	directory = above(above(directory));
	if (has(directory, "share/awf"))
		found = path_join(directory, "share/awf");
	for (int i = 1; found == NULL && i < LEVELS_MAX && directory[1] != '\0'; i++) {
		directory = above(directory);
		if (has(directory, "share/prices") && has(directory, "lib/base/installation.h"))
			found = path_join(directory, "share");
	}
	free(directory);
	return found != NULL ? found : memory_text(AWF_DATADIR);
}

const char *
installation_share(void)
{
	static char *share;

	if (share == NULL)
		share = find_share();
	return share;
}
