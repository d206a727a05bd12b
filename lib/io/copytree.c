/*
 * Everything is opened by name from its open directory without following links, and its type is
 * read from the descriptor, so a tree that changes meanwhile cannot lead elsewhere. Blocks are
 * shared by FICLONE until the file system refuses once; then the parts between holes are copied by
 * copy_file_range(2), or through memory. Excluded directories, including the copy itself, are
 * recognized by device and inode, whatever their path.
 */
#define _GNU_SOURCE
#include "io/copytree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifndef AWF_PORTABLE
#include <linux/fs.h>
#endif

#include "base/buffer.h"
#include "base/count.h"
#include "base/memory.h"
#include "io/file.h"

#define CHUNK ((size_t)128 << 10)

struct identity {
	dev_t device;
	ino_t inode;
};

struct copier {
	struct identity skipped[2]; /* the copy itself, and the directory that the caller
	                               excludes */
	size_t skipped_count;
	struct buffer path;         /* of the current file, for messages */
	bool (*stopped)(void);      /* asks whether to stop; NULL: never */
	bool shares;                /* share blocks, until the file system refuses */
	struct error *err;
};

static int copy_entries(struct copier *c, int from, int to);

static int
failed_at(const struct copier *c, const char *what)
{
	return error_errno(c->err, ERROR_SYSTEM, c->path.data, "unable to %s", what);
}

static void
copytree_skip_directory(struct copier *c, const struct stat *st)
{
	c->skipped[c->skipped_count++] = (struct identity){ st->st_dev, st->st_ino };
}

static int
copy_through(int from, int to, off_t at, off_t end)
{
	static char chunk[CHUNK];

	while (at < end) {
		size_t want = end - at < (off_t)CHUNK ? (size_t)(end - at) : CHUNK;
		ssize_t got = pread(from, chunk, want, at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return (int)got;
		if (lseek(to, at, SEEK_SET) < 0 || file_write(to, chunk, (size_t)got) != 0)
			return -1;
		at += got;
	}
	return 0;
}

/* Copies the bytes from `at` to `end`, in the kernel if possible. */
static int
copy_range(int from, int to, off_t at, off_t end)
{
#ifndef AWF_PORTABLE
	off_t target = at;

	while (at < end) {
		ssize_t got = copy_file_range(from, &at, to, &target, (size_t)(end - at), 0);

		if (got == 0)
			return 0;
		if (got < 0 && errno != EINTR)
			break;
	}
#endif
	return copy_through(from, to, at, end);
}

/* Copies the data between holes. */
static int
copy_bytes(int from, int to, off_t size)
{
	off_t at = 0, hole;

#ifdef SEEK_DATA
	while (at < size) {
		at = lseek(from, at, SEEK_DATA);
		if (at < 0 && errno == ENXIO)
			break;
		hole = at >= 0 ? lseek(from, at, SEEK_HOLE) : -1;
		if (hole < 0 || copy_range(from, to, at, hole) != 0)
			return -1;
		at = hole;
	}
#else
	hole = size;
	if (copy_range(from, to, at, hole) != 0)
		return -1;
#endif
	return ftruncate(to, size);
}

/* Set the owner first, since chown() clears the set-user-ID bit. If the owner cannot be set, leave
 * that bit cleared: it would give the rights of another user. */
static int
copy_attributes(int to, const struct stat *st)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	mode_t mode = st->st_mode & 07777;

	if ((st->st_uid != geteuid() || st->st_gid != getegid()) &&
	    fchown(to, st->st_uid, st->st_gid) != 0) {
		if (errno != EPERM && errno != EINVAL)
			return -1;
		mode &= 01777;
	}
	return fchmod(to, mode) != 0 || futimens(to, times) != 0 ? -1 : 0;
}

static int
copy_file(struct copier *c, int from, int to_directory, const char *name, const struct stat *st)
{
	int to = openat(to_directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int failed;

	if (to < 0)
		return failed_at(c, "make a copy");
#ifdef FICLONE
	c->shares = c->shares && ioctl(to, FICLONE, from) == 0;
#else
	c->shares = false;
#endif
	failed = (!c->shares && copy_bytes(from, to, st->st_size) != 0) ||
	    copy_attributes(to, st) != 0;
	if (failed)
		failed_at(c, "copy");
	if (close(to) != 0 && !failed)
		return failed_at(c, "copy");
	return failed ? -1 : 0;
}

/* The mode is set last, as it may forbid writing. */
static int
copy_directory(struct copier *c, int from, int to_directory, const char *name,
    const struct stat *st)
{
	int to, failed;

	for (size_t i = 0; i < c->skipped_count; i++)
		if (c->skipped[i].device == st->st_dev && c->skipped[i].inode == st->st_ino)
			return 0;
	if (mkdirat(to_directory, name, 0700) != 0)
		return failed_at(c, "make a copy");
	to = openat(to_directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0)
		return failed_at(c, "make a copy");
	failed = copy_entries(c, from, to);
	if (failed == 0 && copy_attributes(to, st) != 0)
		failed = failed_at(c, "copy");
	close(to);
	return failed;
}

/* A function of its own, because copy_entry() is recursive and this buffer is large. */
static int
copy_link(struct copier *c, int from_directory, int to_directory, const char *name,
    const struct stat *st)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	char text[PATH_MAX] = ""; /* PATH_MAX is the most that a link can have, even if its reported
	                             size is wrong */

	if (readlinkat(from_directory, name, text, sizeof text - 1) < 0 ||
	    symlinkat(text, to_directory, name) != 0 ||
	    utimensat(to_directory, name, times, AT_SYMLINK_NOFOLLOW) != 0)
		return failed_at(c, "copy");
	return 0;
}

/* An entry that was removed meanwhile is skipped. */
static int
copy_entry(struct copier *c, int from_directory, int to_directory, const char *name)
{
	struct stat st;
	int from, failed = 0;

	if (c->stopped != NULL && c->stopped())
		return error_set(c->err, ERROR_CANCELLED, c->path.data, "not copied: cancelled");
	if (fstatat(from_directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : failed_at(c, "look at it");
	if (S_ISLNK(st.st_mode))
		return copy_link(c, from_directory, to_directory, name, &st);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return 0;

	/* A regular file or a directory: the descriptor says which. */
	from = openat(from_directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (from < 0 && errno == ENOENT)
		return 0;
	if (from < 0 || fstat(from, &st) != 0)
		failed = failed_at(c, "open");
	else if (S_ISDIR(st.st_mode))
		failed = copy_directory(c, from, to_directory, name, &st);
	else if (S_ISREG(st.st_mode))
		failed = copy_file(c, from, to_directory, name, &st);
	file_close(&from);
	return failed;
}

static bool
is_self(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Copies the entries of a directory; the descriptors stay open. */
static int
copy_entries(struct copier *c, int from, int to)
{
	int fd = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	size_t len = c->path.len;
	int failed = 0;

	if (entries == NULL) {
		failed = failed_at(c, "read");
		file_close(&fd);
		return failed;
	}
	while (failed == 0 && (errno = 0, entry = readdir(entries)) != NULL) {
		if (is_self(entry->d_name))
			continue;
		buffer_byte(&c->path, '/');
		buffer_text(&c->path, entry->d_name);
		failed = copy_entry(c, from, to, entry->d_name);
		c->path.len = len;
		c->path.data[len] = '\0';
	}
	if (failed == 0 && errno != 0)
		failed = failed_at(c, "read");
	closedir(entries);
	return failed;
}

int
copytree(const char *from, const char *to, const char *except, struct error *err)
{
	return copytree_until(from, to, except, NULL, err);
}

int
copytree_until(const char *from, const char *to, const char *except, bool (*stopped)(void),
    struct error *err)
{
	struct copier c = { .stopped = stopped, .shares = true, .path = BUFFER_INIT, .err = err };
	int fd = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC), copy, failed;
	struct stat st, other;

	if (fd < 0)
		return error_errno(err, ERROR_SYSTEM, from, "unable to open");
	if (fstat(fd, &st) == 0 && stat("/", &other) == 0 && st.st_dev == other.st_dev &&
	    st.st_ino == other.st_ino) {
		close(fd);
		return error_set(err, ERROR_USAGE, from, "the root directory is not copied");
	}
	if (mkdir(to, 0700) != 0) {
		error_errno(err, ERROR_SYSTEM, to, "unable to make it");
		close(fd);
		return -1;
	}
	if (except != NULL && stat(except, &other) == 0)
		copytree_skip_directory(&c, &other);
	buffer_text(&c.path, from);
	copy = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (copy < 0 || fstat(fd, &st) != 0 || fstat(copy, &other) != 0) {
		failed = failed_at(&c, "open its copy");
	} else {
		copytree_skip_directory(&c, &other);
		failed = copy_entries(&c, fd, copy);
		if (failed == 0 && copy_attributes(copy, &st) != 0)
			failed = failed_at(&c, "copy");
	}
	file_close(&copy);
	close(fd);
	buffer_free(&c.path);
	if (failed != 0)
		copytree_remove(to, NULL);
	return failed;
}

int
copytree_file(const char *from, const char *to, struct error *err)
{
	struct copier c = { .shares = true, .path = BUFFER_INIT, .err = err };
	int fd = open(from, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), directory, failed;
	char *parent;
	struct stat st;

	if (fd < 0)
		return error_errno(err, ERROR_SYSTEM, from, "unable to open");
	buffer_text(&c.path, from);
	parent = path_directory(to);
	directory = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		failed = error_errno(err, ERROR_SYSTEM, to, "unable to make a copy");
	else if (fstat(fd, &st) != 0)
		failed = failed_at(&c, "look at it");
	else if (!S_ISREG(st.st_mode))
		failed = error_set(err, ERROR_SYSTEM, from, "no regular file");
	else
		failed = copy_file(&c, fd, directory, path_base(to), &st);
	file_close(&directory);
	close(fd);
	free(parent);
	buffer_free(&c.path);
	return failed;
}
