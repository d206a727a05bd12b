/*
 * A directory in memory belongs to the process that made it, by flock(2) on the directory itself,
 * which the kernel releases. It can be locked only after it was made, so one younger than a minute
 * is not removed.
 *
 * A tree is perturbed from the inside out, as a change in a directory changes its times. Each entry
 * is renamed away and back, the last listed first: file systems that list by age then list them in
 * the opposite order.
 */
#include "replay_run/workspace_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "io/copytree.h"
#include "io/file.h"
#include "io/lock.h"

#define PARENT "/dev/shm"
#define PREFIX "awf-replay."
#define NEW_SECONDS 60 /* it may not be locked yet */
#define DAY 86400
#define OUT_OF_THE_WAY ".awf-perturb"

/* Locks a directory and returns the descriptor; -1: another process has the lock. */
static int
workspace_copy_lock_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && lock_file_take(fd) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Removes directories of processes that were killed. */
static void
remove_left(void)
{
	DIR *directory = opendir(PARENT);
	struct dirent *entry;

	while (directory != NULL && (entry = readdir(directory)) != NULL) {
		struct stat status;
		char *path;
		int fd;

		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		path = path_join(PARENT, entry->d_name);
		fd = workspace_copy_lock_directory(path);
		if (fd >= 0 && fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
		    time(NULL) - status.st_mtime > NEW_SECONDS)
			copytree_remove(path, NULL);
		file_close(&fd);
		free(path);
	}
	if (directory != NULL)
		closedir(directory);
}

int
memory_place_make(struct memory_place *p)
{
	char path[] = PARENT "/" PREFIX "XXXXXX";

	remove_left();
	*p = (struct memory_place){ NULL, -1 };
	if (mkdtemp(path) == NULL)
		return -1;
	p->path = memory_text(path);
	p->fd = workspace_copy_lock_directory(path);
	if (p->fd >= 0)
		return 0;
	memory_place_remove(p);
	return -1;
}

void
memory_place_remove(struct memory_place *p)
{
	if (p->path == NULL)
		return;
	copytree_remove(p->path, NULL);
	file_close(&p->fd);
	free(p->path);
	p->path = NULL;
}

/* ---- perturbing ---- */

static int
workspace_copy_set_error(const char *path, struct error *err)
{
	return error_errno(err, ERROR_SYSTEM, path, "unable to change the copy of the workspace");
}

/* Renames an entry away and back, which makes it the newest of its directory. */
static int
workspace_copy_move_to_end(const char *directory, const char *path, struct error *err)
{
	char *aside = path_join(directory, OUT_OF_THE_WAY);
	int failed = rename(path, aside) != 0 || rename(aside, path) != 0;

	free(aside);
	return failed ? workspace_copy_set_error(path, err) : 0;
}

static int
perturb_entries(const char *path, struct error *err)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	char **names = NULL;
	int failed = 0;

	if (directory == NULL)
		return workspace_copy_set_error(path, err);
	while ((entry = readdir(directory)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			list_add(&names, entry->d_name);
	closedir(directory);
	for (size_t i = names == NULL ? 0 : list_count(names); failed == 0 && i > 0; i--) {
		char *below = path_join(path, names[i - 1]);

		if (perturb_tree(below, err) != 0 ||
		    workspace_copy_move_to_end(path, below, err) != 0)
			failed = -1;
		free(below);
	}
	list_free(names);
	return failed;
}

/* The contents first, as changing them changes the directory's times. A directory that its user
 * cannot access is not changed inside. */
int
perturb_tree(const char *path, struct error *err)
{
	struct timespec times[2];
	struct stat status;

	if (lstat(path, &status) != 0)
		return workspace_copy_set_error(path, err);
	if (S_ISDIR(status.st_mode) && access(path, R_OK | W_OK | X_OK) == 0 &&
	    perturb_entries(path, err) != 0)
		return -1;
	times[0] = status.st_atim;
	times[1] = status.st_mtim;
	times[0].tv_sec -= DAY;
	times[1].tv_sec -= DAY;
	return utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) != 0 ?
	    workspace_copy_set_error(path, err) : 0;
}
