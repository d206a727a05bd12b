/*
 * A directory is renamed before it is emptied, and a process that has locked a file checks that the
 * file still has its name. Together, these make the lock valid for as long as the directory exists.
 * An owner that was killed while it emptied the directory leaves a renamed one, which the next
 * owner removes.
 */
#include "storage/run_lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "io/lock.h"
#include "storage/storage.h"

#define LOCK_TEXT_SIZE 64
#define REASON_SIZE 256 /* room for the error of the machine in a step, or spaces */
#define TAKE_TRIES 100 /* a try fails only if an owner has just given up the run */

/* Removes everything in a directory, without following links, except the name `spared` (NULL:
 * none). */
static void
remove_contents(int fd, const char *spared)
{
	DIR *directory = fdopendir(fd);
	struct dirent *found;

	if (directory == NULL) {
		close(fd);
		return;
	}
	while ((found = readdir(directory)) != NULL) {
		const char *name = found->d_name;
		int below;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
		    (spared != NULL && strcmp(name, spared) == 0))
			continue;
		if (unlinkat(fd, name, 0) == 0)
			continue;
		below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below >= 0) {
			remove_contents(below, NULL);
			unlinkat(fd, name, AT_REMOVEDIR);
		}
	}
	closedir(directory);
}

static void
empty_directory(const char *path, const char *spared)
{
	int fd = file_open_plain(path, O_RDONLY | O_DIRECTORY, 0);

	if (fd >= 0)
		remove_contents(fd, spared);
}

void
run_directory_empty(const char *gone)
{
	empty_directory(gone, NULL);
	rmdir(gone);
}

void
run_directory_drop(const char *directory)
{
	char *gone = memory_format("%s" RUN_DIRECTORY_GONE, directory);

	if (rename(directory, gone) != 0 && (errno == ENOTEMPTY || errno == EEXIST)) {
		empty_directory(gone, NULL); /* left by an owner that was killed while removing
		                                it */
		rename(directory, gone);
	}
	run_directory_empty(gone);
	free(gone);
}

static int
unable_to_lock(const char *directory, struct error *err)
{
	return error_errno(err, ERROR_SYSTEM, directory, "unable to lock the run");
}

int
run_lock_make(const char *directory, struct error *err)
{
	char *path;
	int fd;

	if (mkdir(directory, 0700) != 0)
		return error_errno(err, ERROR_SYSTEM, directory, "unable to make the directory");
	path = path_join(directory, "lock");
	fd = file_open_plain(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	free(path);
	if (fd >= 0 && lock_take(fd, LOCK_WHOLE) == 0)
		return fd;
	unable_to_lock(directory, err);
	if (fd >= 0)
		close(fd);
	run_directory_drop(directory);
	return -1;
}

int
run_lock_take_over(const char *directory, struct error *err)
{
	char *path = path_join(directory, "lock");
	int fd = -1, reason = 0;
	bool had = false;
	pid_t owner;

	for (int i = 0; !had && reason == 0 && i < TAKE_TRIES; i++) {
		if (mkdir(directory, 0700) != 0 && errno != EEXIST) {
			reason = errno;
			error_errno(err, ERROR_SYSTEM, directory,
			    "unable to make the directory");
			break;
		}
		fd = file_open_plain(path, O_RDWR | O_CREAT, 0600);
		if (fd >= 0 && lock_take(fd, LOCK_WHOLE) == 0) {
			had = lock_named(fd, path);
		} else if (fd >= 0 && (errno == EAGAIN || errno == EACCES)) {
			reason = EAGAIN;
			if (lock_look(fd, LOCK_WHOLE, &owner) == 1 && owner != 0)
				error_set(err, ERROR_SYSTEM, path_base(directory),
				    "the run is running: process %ld has its lock", (long)owner);
			else
				error_set(err, ERROR_SYSTEM, path_base(directory),
				    "the run is alive");
		} else if (fd >= 0 || errno != ENOENT) {
			reason = errno;
			unable_to_lock(directory, err);
		}
		/* The directory was removed meanwhile; or it cannot be locked. */
		if (!had)
			file_close(&fd);
	}
	if (had)
		empty_directory(directory, "lock");
	else if (reason == 0)
		error_set(err, ERROR_SYSTEM, directory, "unable to lock the run: it comes and goes");
	free(path);
	errno = reason != 0 ? reason : EAGAIN;
	return had ? fd : -1;
}

int
run_lock_sign(int fd, const char *directory, int attempt, struct error *err)
{
	char text[LOCK_TEXT_SIZE + REASON_SIZE + 1];
	int len = snprintf(text, sizeof text, "%ld %d\n", (long)getpid(), attempt);

	memset(text + len, ' ', sizeof text - (size_t)len);
	text[sizeof text - 1] = '\n';
	if (ftruncate(fd, 0) == 0 && file_write(fd, text, sizeof text) == 0)
		return 0;
	return unable_to_lock(directory, err);
}

void
run_lock_fail(const char *directory, const struct error *why)
{
	char whole[sizeof why->place + sizeof why->message + 4], reason[REASON_SIZE + 1];
	char *path = path_join(directory, "lock");
	int fd = file_open_plain(path, O_WRONLY, 0);

	snprintf(reason, sizeof reason, "%-*.*s", REASON_SIZE, REASON_SIZE,
	    error_text(why, whole, sizeof whole));
	/* If this fails, only the message of the step itself says why. */
	if (fd >= 0)
		(void)!pwrite(fd, reason, REASON_SIZE, LOCK_TEXT_SIZE);
	file_close(&fd);
	free(path);
}

bool
run_lock_failed(int fd, struct error *why)
{
	char reason[REASON_SIZE + 1];
	ssize_t len = pread(fd, reason, REASON_SIZE, LOCK_TEXT_SIZE);

	while (len > 0 && reason[len - 1] == ' ')
		len--;
	if (len <= 0)
		return false;
	reason[len] = '\0';
	reason[utf8_whole(reason, (size_t)len)] = '\0';
	error_set(why, ERROR_SYSTEM, NULL, "%s", reason);
	return true;
}
