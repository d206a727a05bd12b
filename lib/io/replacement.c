/*
 * The new content is written to an unnamed file (O_TMPFILE), which disappears if the process is
 * killed; when complete it is synced, linked under a temporary name, and renamed over the old file,
 * since linkat(2) does not replace. On file systems without O_TMPFILE it has the temporary name
 * from the start.
 */
#define _GNU_SOURCE /* O_TMPFILE */
#include "io/replacement.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/id.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "io/file.h"

#define LINKS_MOST 40 /* most links that Linux follows in a path */

/* Changes the mode only if it differs, since a sandbox may forbid changing modes. */
static int
keep_mode(int fd, mode_t mode)
{
	struct stat status;

	if (fstat(fd, &status) == 0 && (status.st_mode & 0777) == mode)
		return 0;
	return fchmod(fd, mode);
}

static int
open_temporary(const struct replacement *r, mode_t mode)
{
	return open(r->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

/* A function of its own: its buffer is large, but rarely needed, and a program that uses the
 * library may have a small stack. */
static int
copy_content(int from, int to)
{
	char block[16384];
	ssize_t len;

	for (off_t at = 0; (len = pread(from, block, sizeof block, at)) > 0; at += len)
		if (file_write(to, block, (size_t)len) != 0)
			return -1;
	return (int)len;
}

/* Gives the unnamed file its temporary name. If a sandbox or a missing /proc prevents that, copies
 * it into a file with that name. */
static int
name_unnamed(struct replacement *r)
{
	char path[64];
	struct stat status;
	int fd;

	r->unnamed = false;
	snprintf(path, sizeof path, "/proc/self/fd/%d", r->fd);
	if (linkat(AT_FDCWD, path, AT_FDCWD, r->temporary, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	if (fstat(r->fd, &status) != 0)
		return -1;
	fd = open_temporary(r, status.st_mode & 0777);
	if (fd < 0)
		return -1;
	if (copy_content(r->fd, fd) != 0 || keep_mode(fd, status.st_mode & 0777) != 0) {
		close(fd);
		return -1;
	}
	close(r->fd);
	r->fd = fd;
	return 0;
}

/* The target of symbolic links at the end of a path, even if nothing exists there. NULL with errno
 * if they form a cycle. */
static char *
link_target(const char *path)
{
	char link[PATH_MAX], *at = memory_text(path);

	for (int i = 0; i < LINKS_MOST; i++) {
		ssize_t len = readlink(at, link, sizeof link - 1);
		char *directory, *next;

		if (len < 0)
			return at;
		link[len] = '\0';
		directory = path_directory(at);
		next = *link == '/' ? memory_text(link) : path_join(directory, link);
		free(directory);
		free(at);
		at = next;
	}
	free(at);
	errno = ELOOP;
	return NULL;
}

int
replacement_open(struct replacement *r, const char *path, mode_t mode, struct error *err)
{
	char id[ID_SIZE];
	struct stat status;
	bool exists = stat(path, &status) == 0;
	int error;

	*r = (struct replacement){.fd = -1};
	if (exists && !S_ISREG(status.st_mode)) {
		/* A device, pipe or terminal is written to directly: /dev/null must not be
		 * replaced by a file. */
		r->fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
		if (r->fd < 0)
			return error_errno(err, ERROR_SYSTEM, path, "unable to open");
		r->path = memory_text(path);
		return 0;
	}
	/* A symbolic link is kept; its target is replaced or made. */
	r->path = link_target(path);
	if (r->path == NULL)
		return error_errno(err, ERROR_SYSTEM, path, "unable to follow");
	r->temporary = memory_format("%s.%.8s.tmp", r->path, id_new(id));
	if (exists)
		mode = status.st_mode & 0777;
#ifndef AWF_PORTABLE
	char *directory = path_directory(r->temporary);

	r->fd = open(directory, O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
	r->unnamed = r->fd >= 0;
	free(directory);
#endif
	if (r->fd < 0)
		r->fd = open_temporary(r, mode);
	if (r->fd >= 0 && (!exists || keep_mode(r->fd, mode) == 0))
		return 0;
	error = errno;
	error_errno(err, ERROR_SYSTEM, r->path, exists ? "unable to replace" : "unable to create");
	replacement_abandon(r);
	errno = error;
	return -1;
}

int
replacement_commit(struct replacement *r, bool sync, struct error *err)
{
	bool renames = r->temporary != NULL;
	int fd = r->fd, status = 0;

	INVARIANT(fd >= 0 && r->path != NULL && (renames || !r->unnamed));

	/* Sync the file before it gets the temporary name; and again, if it was copied. */
	if (sync && renames && fsync(fd) < 0)
		status = error_errno(err, ERROR_SYSTEM, r->path, "unable to sync");
	if (status == 0 && renames && r->unnamed && name_unnamed(r) != 0)
		status = error_errno(err, ERROR_SYSTEM, r->path, "unable to write");
	if (status == 0 && sync && r->fd != fd && fsync(r->fd) < 0)
		status = error_errno(err, ERROR_SYSTEM, r->path, "unable to sync");
	fd = r->fd;
	r->fd = -1;
	r->unnamed = false;
	if (close(fd) < 0 && status == 0)
		status = error_errno(err, ERROR_SYSTEM, r->path, "unable to write");
	if (status == 0 && renames && rename(r->temporary, r->path) < 0)
		status = error_errno(err, ERROR_SYSTEM, r->path, "unable to replace");
	if (status < 0) {
		replacement_abandon(r);
		return -1;
	}
	status = sync && renames ? file_sync_name(r->path, err) : 0;
	free(r->path);
	free(r->temporary);
	*r = (struct replacement){.fd = -1};
	return status;
}

void
replacement_abandon(struct replacement *r)
{
	if (r->fd >= 0)
		close(r->fd);
	if (r->temporary && !r->unnamed)
		unlink(r->temporary);
	free(r->path);
	free(r->temporary);
	*r = (struct replacement){.fd = -1};
}
