/*
 * EINTR is tried again, and EAGAIN waited for, as another process may have made
 * the descriptor non-blocking.
 *
 * A replacement is written to a file without a name (O_TMPFILE), of which nothing stays when
 * the process is killed; once whole it is synced, linked under a temporary name, and renamed
 * over the old one, for linkat(2) replaces nothing. Where there are no such files it has the
 * temporary name from the start.
 */
#define _GNU_SOURCE /* O_TMPFILE */
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
#include "base/id.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "io/polling.h"

#define READ_CHUNK ((size_t)64 << 10)
#define FIRST_LINE 256 /* of a script, as Linux reads it */
#define LINKS_MOST 40 /* in a row, as Linux follows them */

void
file_close(int *fd)
{
	int before = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = before;
}

/* After a failed read or write: whether to try again, having waited until a
 * non-blocking descriptor is ready. */
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

		/* It may go on while somebody reads, if slowly. */
		if (stopped && poll_one(fd, POLLOUT, clock_monotonic() + STOPPED_MS) == 0) {
			errno = EINTR;
			return -1;
		}
		/* What a pipe that is ready takes without a wait. */
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

	/* At first all that a regular file still holds, and one byte to see its end. */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (at = lseek(fd, 0, SEEK_CUR)) >= 0 &&
	    st.st_size > at)
		chunk = (size_t)(st.st_size - at) + 1;
	for (;;) {
		INVARIANT(b->len >= before && b->len - before <= limit);
		size_t room = limit - (b->len - before);
		size_t ask = chunk <= room ? chunk : room + 1; /* one more shows that it is too big */
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

int
file_open_plain(const char *path, int flags, mode_t mode)
{
	char *parent = path_directory(path);
	int directory = open(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int fd = -1, reason = errno;
	struct stat st;

	free(parent);
	if (directory >= 0) {
		/* O_NONBLOCK: a FIFO in a file's place must not hold the program up. */
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

/* Most of the time what it lies in is there. */
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

char *
path_join(const char *directory, const char *name)
{
	size_t len = strlen(directory), name_len = strlen(name);
	char *path = memory_alloc(len + name_len + 2);

	memcpy(path, directory, len + 1);
	if (len == 0 || path[len - 1] != '/')
		path[len++] = '/';
	memcpy(path + len, name, name_len + 1);
	return path;
}

const char *
path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool
path_is_directory(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

char *
path_directory(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return memory_text(".");
	return memory_copy(path, slash == path ? 1 : (size_t)(slash - path));
}

bool
path_climb(char **path)
{
	char *above = path_directory(*path);
	const bool climbed = strcmp(above, *path) != 0;

	free(*path);
	*path = above;
	return climbed;
}

bool
path_within(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	while (len > 0 && directory[len - 1] == '/')
		len--;
	return strncmp(path, directory, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* Whether a path is absolute, without parts that are empty, "." or "..", as path_normal() makes it. */
static bool
path_is_normal(const char *path)
{
	size_t len;

	if (path[0] != '/' || path[1] == '\0')
		return path[0] == '/';
	for (; *path == '/'; path += len) {
		len = strcspn(++path, "/");
		if (len == 0 || (len == 1 && *path == '.') || (len == 2 && memcmp(path, "..", 2) == 0))
			return false;
	}
	return true;
}

char *
path_normal(const char *path)
{
	char *normal = memory_zero(strlen(path) + 2, 1), *end = normal;

	while (*(path += strspn(path, "/")) != '\0') {
		size_t len = strcspn(path, "/");

		if (len == 2 && memcmp(path, "..", 2) == 0) {
			while (end > normal && *--end != '/')
				;
		} else if (len != 1 || *path != '.') {
			*end++ = '/';
			memcpy(end, path, len);
			end += len;
		}
		path += len;
	}
	if (end == normal)
		*end++ = '/';
	*end = '\0';
	INVARIANT(path_is_normal(normal));
	return normal;
}

const char *
path_home(void)
{
	const char *home = getenv("HOME");

	return home != NULL && home[0] == '/' ? home : NULL;
}

/* Below a directory of the XDG specification, which has relative paths ignored. */
static char *
path_xdg(const char *variable, const char *usual, const char *name)
{
	const char *place = getenv(variable), *home = path_home();

	if (place != NULL && place[0] == '/')
		return memory_format("%s/awf/%s", place, name);
	if (home != NULL)
		return memory_format("%s/%s/awf/%s", home, usual, name);
	return NULL;
}

char *
path_config(const char *name)
{
	return path_xdg("XDG_CONFIG_HOME", ".config", name);
}

char *
path_data(const char *name)
{
	return path_xdg("XDG_DATA_HOME", ".local/share", name);
}

/* An empty element of the list means nothing: not the current directory, as it
 * once did in $PATH. */
char *
path_search(const char *list, const char *name)
{
	const char *part;
	size_t len;

	while ((part = text_part(&list, ':', &len)) != NULL) {
		char *directory, *path;
		struct stat st;

		if (len == 0)
			continue;
		directory = memory_copy(part, len);
		path = path_join(directory, name);
		free(directory);
		if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0)
			return path;
		free(path);
	}
	return NULL;
}

/* The mode that a new file got may be that already; where a sandbox lets no mode be changed,
 * that is all there is. */
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

/* Apart from who calls it, for its block is large, and rarely needed: a library's caller may
 * have a small stack. */
static int
copy_content(int from, int to)
{
	char block[65536];
	ssize_t len;

	for (off_t at = 0; (len = pread(from, block, sizeof block, at)) > 0; at += len)
		if (file_write(to, block, (size_t)len) != 0)
			return -1;
	return (int)len;
}

/* Gives it its temporary name. Where a sandbox, or a system without /proc, lets no file be
 * linked, what is in it is copied. */
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

/* Where the symbolic links at the end of a path lead, be nothing there. NULL with errno: in a
 * circle. */
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
		/* A device, pipe or terminal is written to as it is: replacing /dev/null by a
		 * file would be nobody's wish. */
		r->fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
		if (r->fd < 0)
			return error_errno(err, ERROR_SYSTEM, path, "unable to open");
		r->path = memory_text(path);
		return 0;
	}
	/* A symbolic link stays, what it names is replaced, or made. */
	r->path = link_target(path);
	if (r->path == NULL)
		return error_errno(err, ERROR_SYSTEM, path, "unable to follow");
	r->temporary = memory_format("%s.%.8s.tmp", r->path, id_new(id));
	if (exists)
		mode = status.st_mode & 0777;
#ifdef O_TMPFILE
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

	/* Before it has a name, which is there until it is renamed, and after a copy. */
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
