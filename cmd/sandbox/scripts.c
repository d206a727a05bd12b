/*
 * Examines the ancestors of this process in /proc, and their descriptors: the mode of a link in
 * /proc/PID/fd says how the file was opened. A shell has few descriptors; a process with many is no
 * shell, so only some are examined.
 */
#include "sandbox/scripts.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "io/file.h"
#include "proc/process.h"

enum {
	PROCESSES = 16,   /* ancestors */
	DESCRIPTORS = 64  /* for each process */
};

/* Whether a descriptor is a regular file below the directory that is open only for reading; sets
 * path to its path. */
static bool
is_read(int descriptors, const char *name, const char *directory, char path[PATH_MAX])
{
	ssize_t len = readlinkat(descriptors, name, path, PATH_MAX - 1);
	struct stat link, st;

	path[len > 0 ? len : 0] = '\0';
	return path_within(path, directory) &&
	    fstatat(descriptors, name, &link, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (link.st_mode & S_IWUSR) == 0 && lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static void
add_of_process(char ***list, pid_t pid, const char *directory)
{
	char *at = memory_format("/proc/%ld/fd", (long)pid), path[PATH_MAX];
	DIR *descriptors = opendir(at);
	const struct dirent *entry;
	int looked = 0;

	free(at);
	if (descriptors == NULL)
		return;
	while (looked++ < DESCRIPTORS && (entry = readdir(descriptors)) != NULL)
		if (strcmp(entry->d_name, "0") != 0 && *entry->d_name != '.' &&
		    is_read(dirfd(descriptors), entry->d_name, directory, path) &&
		    !list_has(*list, path))
			list_add(list, path);
	closedir(descriptors);
}

char **
scripts_below(const char *directory)
{
	char **list = NULL;
	struct process_stat s;
	pid_t pid = getppid();

	for (int i = 0; i < PROCESSES && pid > 1; i++) {
		add_of_process(&list, pid, directory);
		pid = process_stat(pid, &s) ? s.parent : 0;
	}
	return list;
}
