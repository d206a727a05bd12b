/* Uses /proc/self/exe, which Linux has; elsewhere the compiled-in prefix is used. */
#include "io/installation.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"

/* Two directories up from build/bin, four from build/SANITIZER/test/bin. */
#define LEVELS_MAX 4
/* Programs that AWF itself starts. */
#define LIBEXEC "/libexec/awf"
/* Used if PATH is not set. */
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

char *
installation_program(void)
{
	static char *program;
	char path[PATH_MAX];
	ssize_t len;

	if (program == NULL) {
		len = readlink("/proc/self/exe", path, sizeof path - 1);
		program = len <= 0 ? NULL : memory_copy(path, (size_t)len);
	}
	return program == NULL ? NULL : memory_text(program);
}

static bool
installation_directory_has(const char *directory, const char *name)
{
	char *path = path_join(directory, name);
	bool there = access(path, F_OK) == 0;

	free(path);
	return there;
}

/* Takes ownership of path. */
static char *
installation_parent_directory(char *path)
{
	char *directory = path_directory(path);

	free(path);
	return directory;
}

char *
installation_programs(void)
{
	char *program = installation_program(), *directory, *above;

	if (program == NULL)
		return NULL;
	directory = installation_parent_directory(program);
	if (strcmp(directory, AWF_LIBEXECDIR) == 0) {
		free(directory);
		return memory_text(AWF_BINDIR);
	}
	if (text_ends(directory, LIBEXEC)) {
		above = memory_copy(directory, strlen(directory) - strlen(LIBEXEC));
		free(directory);
		directory = path_join(above, "bin");
		free(above);
	}
	return directory;
}

const char *
installation_share(void)
{
	static char *share;
	char *directory;

	if (share != NULL)
		return share;
	directory = installation_programs();
	if (directory != NULL) {
		directory = installation_parent_directory(directory);
		if (installation_directory_has(directory, "share/awf"))
			share = path_join(directory, "share/awf");
		for (int i = 1; share == NULL && i < LEVELS_MAX && directory[1] != '\0'; i++) {
			directory = installation_parent_directory(directory);
			if (installation_directory_has(directory, "share/prices") &&
			    installation_directory_has(directory, "lib/io/installation.h"))
				share = path_join(directory, "share");
		}
		free(directory);
	}
	if (share == NULL)
		share = memory_text(AWF_DATADIR);
	return share;
}

char *
installation_examples(void)
{
	char *installed = path_join(installation_share(), "../doc/awf/examples");

	if (access(installed, F_OK) == 0)
		return installed;
	free(installed);
	return path_join(installation_share(), "../examples");
}

/* The first directory in the list that contains the name, as a pointer into the list; NULL: none.
 * Relative ones are skipped, as they change with the working directory. */
static const char *
find_holder(const char *list, const char *name)
{
	const char *part;
	size_t len;

	while ((part = text_part(&list, ':', &len)) != NULL) {
		char *directory = memory_copy(part, len);
		bool holds = *directory == '/' && installation_directory_has(directory, name);

		free(directory);
		if (holds)
			return part;
	}
	return NULL;
}

void
installation_join_path(void)
{
	const char *list = getenv("PATH");
	char *program = installation_program(), *directory, *longer = NULL;
	const char *own, *step;
	struct stat found, wanted;
	bool leads = false;

	if (program == NULL)
		return;
	if (list == NULL)
		list = DEFAULT_PATH;
	own = find_holder(list, path_base(program));
	step = find_holder(list, "awf-step");
	if (own != NULL) {
		/* Does PATH find this program, or another one of the same name? */
		char *holder = memory_copy(own, strcspn(own, ":"));
		char *path = path_join(holder, path_base(program));

		leads = stat(path, &found) == 0 && stat(program, &wanted) == 0 &&
		    found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino;
		free(path);
		free(holder);
	}
	directory = path_directory(program);
	if (strchr(directory, ':') == NULL && installation_directory_has(directory, "awf-step") &&
	    (step == NULL || !leads)) {
		if (step != NULL)
			longer = memory_format("%.*s%s:%s", (int)(step - list), list, directory, step);
		else
			longer = memory_format("%s%s%s", list, *list != '\0' ? ":" : "", directory);
		setenv("PATH", longer, 1);
	}
	free(longer);
	free(directory);
	free(program);
}
