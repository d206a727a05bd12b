/*
 * From the inside out, as a change in a directory changes its times. Each entry is renamed
 * away and back, the last listed first: on file systems that list by age they stand the other
 * way round then.
 */
#include "inspect/perturb.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"

#define DAY 86400
#define OUT_OF_THE_WAY ".awf-perturb"

static int
unable(const char *path, struct error *err)
{
	return error_errno(err, ERROR_SYSTEM, path, "unable to change the copy of the workspace");
}

/* The names in a directory, in the order of its listing. */
static int
list_directory(const char *path, char ***names, struct error *err)
{
	DIR *directory = opendir(path);
	struct dirent *entry;

	if (directory == NULL)
		return unable(path, err);
	while ((entry = readdir(directory)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			list_add(names, entry->d_name);
	closedir(directory);
	return 0;
}

/* Out and in again: it is the newest entry then. */
static int
renew(const char *directory, const char *path, struct error *err)
{
	char *aside = path_join(directory, OUT_OF_THE_WAY);
	int failed = rename(path, aside) != 0 || rename(aside, path) != 0;

	free(aside);
	return failed ? unable(path, err) : 0;
}

static int
perturb_entries(const char *path, struct error *err)
{
	char **names = NULL;
	int failed = list_directory(path, &names, err);

	for (size_t i = list_count(names); failed == 0 && names != NULL && i > 0; i--) {
		char *below = path_join(path, names[i - 1]);

		if (perturb_tree(below, err) != 0 || renew(path, below, err) != 0)
			failed = -1;
		free(below);
	}
	list_free(names);
	return failed;
}

static int
age(const char *path, const struct stat *status, struct error *err)
{
	const struct timespec times[2] = {
		{ status->st_atim.tv_sec - DAY, status->st_atim.tv_nsec },
		{ status->st_mtim.tv_sec - DAY, status->st_mtim.tv_nsec },
	};

	return utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) != 0 ? unable(path, err) : 0;
}

/* What is in a directory first: that changes its own times. One that its user closed
 * to himself is left as it is within. */
int
perturb_tree(const char *path, struct error *err)
{
	struct stat status;

	if (lstat(path, &status) != 0)
		return unable(path, err);
	if (S_ISDIR(status.st_mode) && access(path, R_OK | W_OK | X_OK) == 0 &&
	    perturb_entries(path, err) != 0)
		return -1;
	return age(path, &status, err);
}
