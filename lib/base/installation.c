/* From /proc/self/exe, which Linux has; elsewhere the compiled-in prefix must do. */
#include "base/installation.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

/* From build/bin two directories up, from build/SANITIZER/test/bin four. */
#define LEVELS_MAX 4
/* What is searched without a PATH, too. */
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

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

/* The first element of a list that holds the name: in the list; NULL if there is none. What
 * is relative means another directory where the workflow goes. */
static const char *
find_holder(const char *list, const char *name)
{
	while (*list != '\0') {
		size_t len = strcspn(list, ":");
		char *directory = memory_copy(list, len);
		bool holds = *directory == '/' && has(directory, name);

		free(directory);
		if (holds)
			return list;
		list += len + (list[len] == ':');
	}
	return NULL;
}

/* Whether name in the first directory of the list is this file. */
static bool
leads_to(const char *list, const char *name, const char *file)
{
	char *directory = memory_copy(list, strcspn(list, ":")), *path = path_join(directory, name);
	struct stat found, wanted;
	bool same = stat(path, &found) == 0 && stat(file, &wanted) == 0 &&
	    found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino;

	free(path);
	free(directory);
	return same;
}

/* The list with the directory of the program in it; NULL: it is good as it is. */
static char *
joined_path(const char *list, const char *program)
{
	const char *name = path_base(program), *own = find_holder(list, name);
	const char *step = find_holder(list, "awf-step");
	char *directory = path_directory(program), *longer = NULL;

	if (strchr(directory, ':') == NULL && has(directory, "awf-step") &&
	    (own == NULL || step == NULL || !leads_to(own, name, program))) {
		if (step != NULL)
			longer = memory_format("%.*s%s:%s", (int)(step - list), list, directory, step);
		else
			longer = memory_format("%s%s%s", list, *list != '\0' ? ":" : "", directory);
	}
	free(directory);
	return longer;
}

void
installation_join_path(void)
{
	const char *list = getenv("PATH");
	char *program = installation_program();
	char *longer = program == NULL ? NULL :
	    joined_path(list != NULL ? list : DEFAULT_PATH, program);

	if (longer != NULL)
		setenv("PATH", longer, 1);
	free(longer);
	free(program);
}
