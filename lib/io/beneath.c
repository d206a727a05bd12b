/*
 * openat2() with RESOLVE_BENEATH does it in one call, without races. If the kernel or a seccomp
 * filter does not have it (ENOSYS, EPERM), each part of the path is opened with O_NOFOLLOW from the
 * directory before it; links are not followed then, and ".." cannot leave the root.
 */
#define _GNU_SOURCE /* O_PATH, in system/descriptor.h */
#include "io/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifndef AWF_PORTABLE
#include <sys/syscall.h>
#endif

#include "base/memory.h"
#include "io/file.h"
#include "system/descriptor.h"

#define FILE_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
#define DIRECTORY_FLAGS (DESCRIPTOR_PLACE | O_DIRECTORY | O_CLOEXEC)
/* openat2() fails with EAGAIN if directories are renamed at the same time. */
#define TRIES 100

#ifndef AWF_PORTABLE
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
/* As in <linux/openat2.h>, which is missing on old systems. */
struct how {
	uint64_t flags, mode, resolve;
};
#define NO_MAGIC_LINKS 0x02U
#define BENEATH 0x08U
#endif

/* Opens the next part of a path; rest: what follows it. Closes directory, unless it is root. */
static int
open_part(int root, int directory, const char *part, const char *rest, int flags)
{
	struct stat status;
	int fd, error;

	if (strcmp(part, "..") == 0) {
		errno = EXDEV;
		fd = -1;
	} else {
		fd = openat(directory, part, O_NOFOLLOW | (*rest == '\0' ? flags : DIRECTORY_FLAGS));
		/* A link opened with O_DIRECTORY fails with ENOTDIR: distinguish that. */
		if (fd == -1 && errno == ENOTDIR) {
			errno = fstatat(directory, part, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
			    S_ISLNK(status.st_mode) ? ELOOP : ENOTDIR;
		}
	}
	/* Where a place is opened without the right to read it, O_NOFOLLOW opens the link itself. */
	if (fd != -1 && (flags & DESCRIPTOR_PLACE) == DESCRIPTOR_PLACE && fstat(fd, &status) == 0 &&
	    S_ISLNK(status.st_mode)) {
		close(fd);
		errno = ELOOP;
		fd = -1;
	}
	error = errno;
	if (directory != root)
		close(directory);
	errno = error;
	return fd;
}

static int
open_by_parts(int root, const char *path, int flags)
{
	int fd = root;

	if (*path == '/') {
		errno = EXDEV;
		return -1;
	}
	if (*path == '\0') {
		errno = ENOENT;
		return -1;
	}
	do {
		size_t len = strcspn(path, "/");
		char *part = memory_copy(path, len);

		path += len;
		path += strspn(path, "/");
		fd = open_part(root, fd, part, path, flags);
		free(part);
	} while (fd != -1 && *path != '\0');
	return fd;
}

static int
open_beneath(int root, const char *path, int flags)
{
#ifndef AWF_PORTABLE
	struct how how = { .flags = (uint64_t)(unsigned)flags,
		.resolve = BENEATH | NO_MAGIC_LINKS };
	int fd = -1;

	for (int i = 0; i < TRIES; i++) {
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
		if (fd != -1 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	if (fd != -1 || (errno != ENOSYS && errno != EPERM))
		return fd;
#endif
	return open_by_parts(root, path, flags);
}

int
beneath_open(int root, const char *path)
{
	int fd = open_beneath(root, path, FILE_FLAGS);
	struct stat status = { 0 };

	if (fd == -1)
		return -1;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		return fd;
	close(fd);
	errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
	return -1;
}

int
beneath_open_directory(int root, const char *path)
{
	return open_beneath(root, path, DIRECTORY_FLAGS);
}

const char *
beneath_part(const char *root, const char *path)
{
	size_t len = strlen(root);

	if (*path != '/')
		return path;
	if (!path_within(path, root))
		return NULL;
	while (len > 0 && root[len - 1] == '/')
		len--;
	path += len;
	path += strspn(path, "/");
	return *path == '\0' ? "." : path;
}

bool
beneath_there(const char *root, const char *path)
{
	const char *part = beneath_part(root, path);
	int directory = part == NULL ? -1 : open(root, DIRECTORY_FLAGS), fd = -1;

	if (directory != -1) {
		fd = open_beneath(directory, part, DESCRIPTOR_PLACE | O_CLOEXEC);
		close(directory);
	}
	if (fd != -1)
		close(fd);
	return fd != -1;
}

/* Makes an error from errno, which stays the same. */
static int
beneath_set_error(const char *root, const char *path, struct error *err)
{
	int why = errno;

	if (why == EXDEV)
		error_set(err, ERROR_INVALID_INPUT, path, "leads out of %s", root);
	else if (why == ELOOP)
		error_set(err, ERROR_INVALID_INPUT, path, "is a link that is not followed");
	else if (why == EISDIR || why == EINVAL || why == ENXIO)
		error_set(err, ERROR_INVALID_INPUT, path, "no regular file");
	else
		error_errno(err, ERROR_INVALID_INPUT, path, "unable to open");
	errno = why;
	return -1;
}

int
beneath_open_file(const char *root, const char *path, struct error *err)
{
	const char *part = beneath_part(root, path);
	int directory, fd, why;

	if (part == NULL) {
		errno = EXDEV;
		return beneath_set_error(root, path, err);
	}
	directory = open(root, DIRECTORY_FLAGS);
	if (directory == -1)
		return error_errno(err, ERROR_INVALID_INPUT, root, "unable to open");
	fd = beneath_open(directory, part);
	why = errno;
	close(directory);
	errno = why;
	return fd != -1 ? fd : beneath_set_error(root, path, err);
}

int
beneath_load(const char *root, const char *path, size_t limit, struct buffer *b,
    struct error *err)
{
	int fd = beneath_open_file(root, path, err), result, why;

	if (fd == -1)
		return -1;
	result = file_read(fd, b, limit);
	why = errno;
	if (result == -1 && why == EFBIG)
		error_set(err, ERROR_INVALID_INPUT, path, "larger than %zu bytes", limit);
	else if (result == -1)
		error_errno(err, ERROR_INVALID_INPUT, path, "unable to read");
	close(fd);
	errno = why;
	return result;
}
