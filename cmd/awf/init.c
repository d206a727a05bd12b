/* Entry by entry, once none of them is found to be there. */
#include "awf/init.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/copytree.h"
#include "base/file.h"
#include "base/installation.h"
#include "base/list.h"

/* The names in the directory; NULL with *err. */
static char **
list_names(const char *path, struct error *err)
{
	DIR *directory = opendir(path);
	struct dirent *found;
	char **names = NULL;

	while (directory != NULL && (found = readdir(directory)) != NULL)
		if (found->d_name[0] != '.')
			list_add(&names, found->d_name);
	if (directory != NULL)
		closedir(directory);
	if (names == NULL)
		error_set(err, ERROR_SYSTEM, path, "has nothing to begin with: is AWF installed whole?");
	return names;
}

static int
check_free(const char *directory, char *const *names, struct error *err)
{
	struct stat status;
	int failed = 0;

	for (; failed == 0 && *names != NULL; names++) {
		char *path = path_join(directory, *names);

		if (lstat(path, &status) == 0)
			failed = error_set(err, ERROR_USAGE, path, "is there already; nothing was written");
		free(path);
	}
	return failed;
}

/* Copies one, or removes its copy (err NULL). */
static int
place(const char *share, const char *directory, const char *name, struct error *err)
{
	char *from = path_join(share, name), *to = path_join(directory, name);
	struct error ignored;
	int failed;

	if (err == NULL)
		failed = path_is_directory(to) ? copytree_remove(to, &ignored) : unlink(to);
	else
		failed = path_is_directory(from) ? copytree(from, to, NULL, err) :
		    copytree_file(from, to, err);
	free(from);
	free(to);
	return failed;
}

int
init(const char *directory, struct error *err)
{
	char *share = path_join(installation_share(), "init"), **names = list_names(share, err);
	bool made = false;
	int failed = names == NULL ? -1 : 0;

	if (failed == 0) {
		made = mkdir(directory, 0777) == 0;
		if (!made && errno != EEXIST)
			failed = error_errno(err, ERROR_SYSTEM, directory, "unable to make the directory");
		else if (!path_is_directory(directory))
			failed = error_set(err, ERROR_USAGE, directory, "is there already, and no directory");
	}
	if (failed == 0)
		failed = check_free(directory, names, err);
	for (size_t i = 0; failed == 0 && names[i] != NULL; i++) {
		failed = place(share, directory, names[i], err);
		/* With what there is of the one that failed. */
		for (size_t done = i + 1; failed != 0 && done-- > 0;)
			place(share, directory, names[done], NULL);
	}
	if (failed != 0 && made)
		rmdir(directory);
	list_free(names);
	free(share);
	return failed;
}
