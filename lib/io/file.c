/*
 * Calls are repeated after EINTR; after EAGAIN they wait, as another process may have made the
 * descriptor non-blocking.
 */
#define _GNU_SOURCE /* O_TMPFILE, mkostemp() */
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "io/polling.h"

#define READ_CHUNK ((size_t)64 << 10)
#define LINKS_MOST 40 /* most links that Linux follows in a path */
#define FIRST_LINE 256 /* Linux reads no more of a script's first line */

void
file_close(int *fd)
{
	int before = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = before;
}

/* Whether to repeat a failed read or write, after waiting until a non-blocking
 * descriptor is ready. */
static bool
file_wait_to_retry(int fd, short events)
{
	struct pollfd one = { fd, events, 0 };

	if (errno == EINTR)
		return true;
	if (errno != EAGAIN && errno != EWOULDBLOCK)
		return false;
	return poll_until(&one, 1, 0) >= 0;
}

int
file_write_until(int fd, const void *bytes, size_t len, const volatile int *stop)
{
	const char *at = bytes;

	while (len > 0) {
		bool stopped = stop && *stop != 0;
		ssize_t n;

		/* After *stop was set, continue only while the reader accepts bytes, however
		 * slowly. */
		if (stopped && poll_one(fd, POLLOUT, clock_monotonic() + STOPPED_MS) == 0) {
			errno = EINTR;
			return -1;
		}
		/* A pipe that poll(2) reports as writable accepts PIPE_BUF bytes without
		 * blocking. */
		n = write(fd, at, stopped && len > PIPE_BUF ? PIPE_BUF : len);
		if (n < 0) {
			if (!file_wait_to_retry(fd, POLLOUT))
				return -1;
			continue;
		}
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int
file_write(int fd, const void *bytes, size_t len)
{
	return file_write_until(fd, bytes, len, NULL);
}

int
file_read(int fd, struct buffer *b, size_t limit)
{
	size_t before = b->len, chunk = READ_CHUNK;
	struct stat st;
	off_t at;

	/* For a regular file: read the rest in one call; one byte more shows that nothing
	 * follows. */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (at = lseek(fd, 0, SEEK_CUR)) >= 0 &&
	    st.st_size > at)
		chunk = (size_t)(st.st_size - at) + 1;
	for (;;) {
		INVARIANT(b->len >= before && b->len - before <= limit);
		size_t room = limit - (b->len - before);
		size_t ask = chunk <= room ? chunk : room + 1; /* one byte above the limit, to see
		                                                  that the file is too large */
		char *to = buffer_reserve(b, ask);
		ssize_t n = read(fd, to, ask);

		if (n < 0 && file_wait_to_retry(fd, POLLIN))
			continue;
		if (n >= 0 && (size_t)n > room) {
			errno = EFBIG;
			n = -1;
		}
		if (n < 0)
			b->len = before;
		else
			b->len += (size_t)n;
		b->data[b->len] = '\0';
		if (n <= 0)
			return (int)n;
		chunk = READ_CHUNK;
	}
}

int
file_read_named(int fd, const char *path, size_t limit, struct buffer *b, struct error *err)
{
	int status = file_read(fd, b, limit);

	if (status < 0 && errno == EFBIG)
		error_set(err, ERROR_SYSTEM, path, "larger than %zu bytes", limit);
	else if (status < 0)
		error_errno(err, ERROR_SYSTEM, path, "unable to read");
	return status;
}

int
file_load(const char *path, size_t limit, struct buffer *b, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), status;

	if (fd < 0)
		return error_errno(err, ERROR_SYSTEM, path, "unable to open");
	status = file_read_named(fd, path, limit, b, err);
	close(fd);
	return status;
}

int
file_load_text(const char *path, size_t limit, struct buffer *b, struct error *err)
{
	int status = file_load(path, limit, b, err);

	buffer_drop(b, text_byte_order_mark(b->data, b->len));
	return status;
}

static bool
same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

char *
file_interpreter(const char *path)
{
	char line[FIRST_LINE + 1];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t len = fd == -1 ? -1 : read(fd, line, FIRST_LINE);

	file_close(&fd);
	line[len > 0 ? len : 0] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	return strncmp(line, "#!", 2) == 0 ? memory_text(line + 2) : NULL;
}

bool
file_unchanged(const struct stat *was, const struct stat *is)
{
	return is->st_dev == was->st_dev && is->st_ino == was->st_ino && is->st_size == was->st_size &&
	    same_time(&is->st_mtim, &was->st_mtim) && same_time(&is->st_ctim, &was->st_ctim);
}

int
file_check_private(int fd, const char *path, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, ERROR_SYSTEM, path, "unable to read");
	if (st.st_uid != geteuid())
		return error_set(err, ERROR_SYSTEM, path, "belongs to another user");
	if ((st.st_mode & 077) != 0)
		return error_set(err, ERROR_SYSTEM, path,
		    "holds keys and is open to others; run: chmod 600 %s", path);
	return 0;
}

/* Whether this user and root alone decide what is there. In a user namespace root has another number. */
static bool
is_ours(const struct stat *st)
{
	struct stat root;

	return st->st_uid == geteuid() || st->st_uid == 0 || (stat("/", &root) == 0 && st->st_uid == root.st_uid);
}

/* In a directory with the sticky bit, such as /tmp, others cannot replace what is ours. */
static bool
others_may_change(const struct stat *st)
{
	return !S_ISLNK(st->st_mode) && !(S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX) != 0) &&
	    ((st->st_mode & S_IWOTH) != 0 || ((st->st_mode & S_IWGRP) != 0 && st->st_gid != getegid()));
}

/* Checks a part of the way to a file, whose state becomes *st. 1; 0: it does not exist. */
static int
check_part_of_way(const char *part, const char *path, struct stat *st, struct error *err)
{
	if (lstat(part, st) != 0)
		return errno == ENOENT ? 0 : error_errno(err, ERROR_SYSTEM, part, "unable to look at it");
	if (!is_ours(st))
		return error_set(err, ERROR_SYSTEM, path, "%s belongs to another user, who could put another file in "
		    "its place: make it yours (chown)", part);
	if (others_may_change(st))
		return error_set(err, ERROR_SYSTEM, path, "others may write to %s, who could put another file in its "
		    "place: chmod go-w", part);
	return 1;
}

int
file_check_way(const char *path, struct error *err)
{
	char here[PATH_MAX], *at = memory_text("");
	char *rest = *path == '/' || getcwd(here, sizeof here) == NULL ? memory_text(path) : path_join(here, path);
	int result = 1, links = 0;
	size_t done = 0;
	struct stat st;

	while (result == 1 && rest[done += strspn(rest + done, "/")] != '\0') {
		const size_t len = strcspn(rest + done, "/");
		char *name = memory_copy(rest + done, len), *part = memory_format("%s/%s", at, name);
		ssize_t target = -1;

		done += len;
		result = check_part_of_way(part, path, &st, err);
		if (result == 1 && S_ISLNK(st.st_mode)) {
			target = ++links > LINKS_MOST ? -1 : readlink(part, here, sizeof here - 1);
			if (target == -1)
				result = error_set(err, ERROR_SYSTEM, path, "unable to follow the link %s", part);
		}
		if (target != -1) {
			char *both;

			here[target] = '\0';
			both = memory_format("%s/%s", here, rest + done);
			free(rest);
			rest = both;
			done = 0;
			free(part);
			part = memory_text(*here == '/' ? "" : at);
		} else if (strcmp(name, "..") == 0) {
			free(part);
			part = *at == '\0' ? memory_text("") : path_directory(at);
		} else if (strcmp(name, ".") == 0) {
			free(part);
			part = memory_text(at);
		}
		free(name);
		free(at);
		at = part;
	}
	free(at);
	free(rest);
	return result == -1 ? -1 : 0;
}

int
file_open_plain(const char *path, int flags, mode_t mode)
{
	char *parent = path_directory(path);
	int directory = open(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int fd = -1, reason = errno;
	struct stat st;

	free(parent);
	if (directory >= 0) {
		/* O_NONBLOCK: opening a FIFO in place of the file must not block. */
		fd = openat(directory, path_base(path),
		    flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode);
		reason = errno;
		close(directory);
	}
	if (fd >= 0 && (fstat(fd, &st) != 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))) {
		file_close(&fd);
		reason = ENXIO;
	}
	errno = reason;
	return fd;
}

int
file_open_unnamed(const char *directory)
{
	char *path;
	int fd = -1;

#ifndef AWF_PORTABLE
	fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
#endif
	if (fd >= 0)
		return fd;
	/* The file system has no unnamed files. */
	path = path_join(directory, ".unnamed.XXXXXX");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	free(path);
	return fd;
}

static int
make_one(const char *path, mode_t mode, bool sync, struct error *err)
{
	struct stat st;

	if (mkdir(path, mode) == 0)
		return sync ? file_sync_name(path, err) : 0;
	if (errno == EEXIST && stat(path, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return 0;
		errno = ENOTDIR;
	}
	return error_errno(err, ERROR_SYSTEM, path, "unable to make the directory");
}

/* First make only the last directory: usually its parent exists. */
static int
make_path(const char *path, mode_t mode, bool sync, struct error *err)
{
	char *part;
	int status = 0;

	if (mkdir(path, mode) == 0)
		return sync ? file_sync_name(path, err) : 0;
	if (errno == EEXIST)
		return make_one(path, mode, sync, err);
	part = memory_text(path);
	for (char *slash = part; status == 0 && *slash; ) {
		slash += strspn(slash, "/");
		slash += strcspn(slash, "/");
		if (*slash == '\0')
			break;
		*slash = '\0';
		status = make_one(part, mode, sync, err);
		*slash = '/';
	}
	if (status == 0)
		status = make_one(part, mode, sync, err);
	free(part);
	return status;
}

int
directory_make(const char *path, mode_t mode, struct error *err)
{
	return make_path(path, mode, false, err);
}

int
directory_make_synced(const char *path, mode_t mode, struct error *err)
{
	return make_path(path, mode, true, err);
}

int
directory_sync(const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), status;

	if (fd < 0)
		return error_errno(err, ERROR_SYSTEM, path, "unable to open");
	status = fsync(fd);
	if (status < 0)
		error_errno(err, ERROR_SYSTEM, path, "unable to sync");
	close(fd);
	return status;
}

int
file_sync_name(const char *path, struct error *err)
{
	char *directory = path_directory(path);
	int status = directory_sync(directory, err);

	free(directory);
	return status;
}
