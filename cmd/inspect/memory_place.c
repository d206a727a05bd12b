/*
 * flock(2) on the directory itself, which the kernel frees with whoever made it. It is made
 * before it can be locked, so one that is younger than a minute is left alone.
 */
#include "inspect/memory_place.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/copytree.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/memory.h"

#define PARENT "/dev/shm"
#define PREFIX "awf-replay."
#define NEW_SECONDS 60 /* made, but perhaps not locked yet */

/* A descriptor with the lock on a directory of ours; -1: somebody has it. */
static int
lock(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && lock_file_take(fd) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void
remove_if_left(const char *path)
{
	struct stat status;
	int fd = lock(path);

	if (fd < 0)
		return;
	if (fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
	    time(NULL) - status.st_mtime > NEW_SECONDS)
		copytree_remove(path, NULL);
	close(fd);
}

static void
remove_left(void)
{
	DIR *directory = opendir(PARENT);
	struct dirent *entry;

	while (directory != NULL && (entry = readdir(directory)) != NULL) {
		char *path = path_join(PARENT, entry->d_name);

		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0)
			remove_if_left(path);
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
	p->fd = lock(path);
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
	if (p->fd >= 0)
		close(p->fd);
	free(p->path);
	p->path = NULL;
}
