/*
 * Preloaded, keeps the books of what a power cut would leave of the directory
 * $CUT_DISK, for crash_storage.py, which tells the model. Syncs are free: they are
 * entered, not done.
 *
 * The log $CUT_LOG has a line for each thing that happened, its fields set apart by tabs:
 *	create PATH INODE | mkdir PATH | symlink PATH
 *	unnamed INODE | link PATH INODE		(a file that gets its name later)
 *	rename FROM TO KEPT | unlink PATH KEPT	(what was at the name before, or -)
 *	shrink INODE SIZE KEPT			(what was cut off behind SIZE)
 *	synced INODE SIZE | syncdir PATH
 * and with $CUT_WRITES, so that every state of the disk can be rebuilt,
 *	write PATH INODE OFFSET HEX		(the bytes)
 *	passed EVENT				(a state line of this event was printed)
 * What takes something away is entered before, what adds something after it happened.
 * What is kept lies in $CUT_LOG.1 and so on.
 */
#define _GNU_SOURCE /* RTLD_NEXT, memmem(), program_invocation_short_name */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void *
real(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (function == NULL)
		abort();
	return function;
}
/* ISO C knows no conversion from void * to a function. */
#define REAL(name, function) (*(void **)&(function) = real(name))

static int
real_open(const char *path, int flags, mode_t mode)
{
	int (*function)(const char *, int, ...);

	REAL("open", function);
	return function(path, flags, mode);
}

static void
write_all(int fd, const char *bytes, size_t len)
{
	ssize_t (*function)(int, const void *, size_t);

	REAL("write", function);
	if (fd == -1 || function(fd, bytes, len) != (ssize_t)len)
		abort();
	close(fd);
}

/* Enters one line, and leaves errno as it was. */
static void __attribute__((format(printf, 1, 2)))
enter(const char *format, ...)
{
	char line[3 * PATH_MAX];
	int len, before = errno;
	va_list arguments;

	va_start(arguments, format);
	len = vsnprintf(line, sizeof line - 1, format, arguments);
	va_end(arguments);
	if (len < 0 || (size_t)len >= sizeof line - 1)
		abort();
	line[len] = '\n';
	write_all(real_open(getenv("CUT_LOG"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600),
	    line, (size_t)len + 1);
	errno = before;
}

/* Whether a path lies on that disk; whole: its absolute form. */
static bool
inside(int at, const char *path, char whole[static PATH_MAX])
{
	const char *disk = getenv("CUT_DISK");
	char link[64], base[PATH_MAX] = "";
	ssize_t len = 0;

	if (disk == NULL || getenv("CUT_LOG") == NULL)
		return false;
	if (path[0] != '/') {
		snprintf(link, sizeof link, at == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", at);
		len = readlink(link, base, sizeof base - 1);
		if (len == -1)
			return false;
		base[len] = '\0';
	}
	if (snprintf(whole, PATH_MAX, "%s%s%s", base, len > 0 && path[0] != '\0' ? "/" : "",
	    path) >= PATH_MAX)
		return false;
	return strncmp(whole, disk, strlen(disk)) == 0;
}

static bool
inside_fd(int fd, char whole[static PATH_MAX])
{
	return inside(fd, "", whole);
}

/* A name for what is kept, of no other use of it. */
static void
keep_name(char name[static PATH_MAX])
{
	static unsigned count;

	snprintf(name, PATH_MAX, "%s.%ld.%u", getenv("CUT_LOG"), (long)getpid(), ++count);
}

static void
keep_bytes(int fd, off_t from, char name[static PATH_MAX])
{
	char bytes[65536];
	ssize_t len;
	int out, (*function)(const char *, int, ...);

	REAL("open", function);
	keep_name(name);
	out = function(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	while ((len = pread(fd, bytes, sizeof bytes, from)) > 0) {
		write_all(dup(out), bytes, (size_t)len);
		from += len;
	}
	if (len == -1)
		abort();
	close(out);
}

/* Keeps what is at a path, if anything is. */
static void
keep(const char *path, char name[static PATH_MAX])
{
	int (*function)(const char *, const char *), before = errno;
	char target[PATH_MAX];
	struct stat status;
	ssize_t len = readlink(path, target, sizeof target - 1);
	int fd = len >= 0 ? -1 : real_open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);

	strcpy(name, "-");
	if (len >= 0) {
		target[len] = '\0';
		keep_name(name);
		REAL("symlink", function);
		if (function(target, name) != 0)
			abort();
	} else if (fd != -1 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
		keep_bytes(fd, 0, name);
	}
	if (fd != -1)
		close(fd);
	errno = before;
}

/* Enters what was written to a regular file of the disk, at the end of which fd is. */
static void
enter_bytes(int fd, const char *path, const unsigned char *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	off_t end = lseek(fd, 0, SEEK_CUR);
	struct stat status;
	size_t head;
	char *line;

	if (fstat(fd, &status) != 0 || (line = malloc(PATH_MAX + 64 + 2 * len)) == NULL)
		abort();
	head = (size_t)sprintf(line, "write\t%s\t%llu\t%lld\t", path,
	    (unsigned long long)status.st_ino, (long long)end - (long long)len);
	for (size_t i = 0; i < len; i++) {
		line[head++] = digits[bytes[i] >> 4];
		line[head++] = digits[bytes[i] & 15];
	}
	line[head++] = '\n';
	write_all(real_open(getenv("CUT_LOG"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600),
	    line, head);
	free(line);
}

/* Enters the events whose state lines stand in what was printed. */
static void
enter_passed(const char *bytes, size_t len)
{
	static const char key[] = "\"metadata\":{\"run_id\":\"", next[] = "\",\"event_id\":\"";
	const size_t id = 36, all = sizeof key - 1 + id + sizeof next - 1 + id;
	const char *end = bytes + len, *at = bytes;

	while ((at = memmem(at, (size_t)(end - at), key, sizeof key - 1)) != NULL &&
	    (size_t)(end - at) >= all) {
		enter("passed\t%.*s", (int)id, at + all - id);
		at += all;
	}
}

ssize_t
write(int fd, const void *bytes, size_t len)
{
	ssize_t (*function)(int, const void *, size_t), done;
	char whole[PATH_MAX];
	struct stat status;
	int before;

	REAL("write", function);
	done = function(fd, bytes, len);
	if (done <= 0 || getenv("CUT_WRITES") == NULL)
		return done;
	before = errno;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && inside_fd(fd, whole))
		enter_bytes(fd, whole, bytes, (size_t)done);
	if (fd == STDOUT_FILENO && strcmp(program_invocation_short_name, "awf-step") == 0)
		enter_passed(bytes, (size_t)done);
	errno = before;
	return done;
}

static int
create(int at, const char *path, int flags, mode_t mode)
{
	int (*function)(int, const char *, int, ...), fd;
	char whole[PATH_MAX];
	struct stat status;
	bool unnamed = (flags & O_TMPFILE) == O_TMPFILE;
	bool new = (flags & O_CREAT) != 0 && inside(at, path, whole) &&
	    faccessat(at, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0;

	REAL("openat", function);
	fd = function(at, path, flags, mode);
	if (new && fd != -1 && fstat(fd, &status) == 0)
		enter("create\t%s\t%llu", whole, (unsigned long long)status.st_ino);
	if (unnamed && fd != -1 && inside(at, path, whole) && fstat(fd, &status) == 0)
		enter("unnamed\t%llu", (unsigned long long)status.st_ino);
	return fd;
}

int
open(const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode = 0;

	va_start(arguments, flags);
	if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE)
		mode = va_arg(arguments, mode_t);
	va_end(arguments);
	return create(AT_FDCWD, path, flags, mode);
}

int
openat(int at, const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode = 0;

	va_start(arguments, flags);
	if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE)
		mode = va_arg(arguments, mode_t);
	va_end(arguments);
	return create(at, path, flags, mode);
}

int
linkat(int from_at, const char *from, int to_at, const char *to, int flags)
{
	int (*function)(int, const char *, int, const char *, int), result;
	char whole[PATH_MAX];
	struct stat status;

	REAL("linkat", function);
	result = function(from_at, from, to_at, to, flags);
	if (result == 0 && inside(to_at, to, whole) && fstatat(to_at, to, &status, 0) == 0)
		enter("link\t%s\t%llu", whole, (unsigned long long)status.st_ino);
	return result;
}

int
link(const char *from, const char *to)
{
	return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int
mkdir(const char *path, mode_t mode)
{
	int (*function)(const char *, mode_t), result;
	char whole[PATH_MAX];

	REAL("mkdir", function);
	result = function(path, mode);
	if (result == 0 && inside(AT_FDCWD, path, whole))
		enter("mkdir\t%s", whole);
	return result;
}

int
symlink(const char *target, const char *path)
{
	int (*function)(const char *, const char *), result;
	char whole[PATH_MAX];

	REAL("symlink", function);
	result = function(target, path);
	if (result == 0 && inside(AT_FDCWD, path, whole))
		enter("symlink\t%s", whole);
	return result;
}

int
rename(const char *from, const char *to)
{
	int (*function)(const char *, const char *);
	char whole_from[PATH_MAX], whole_to[PATH_MAX], kept[PATH_MAX];

	REAL("rename", function);
	if (inside(AT_FDCWD, from, whole_from) && inside(AT_FDCWD, to, whole_to) &&
	    access(from, F_OK) == 0) {
		keep(to, kept);
		enter("rename\t%s\t%s\t%s", whole_from, whole_to, kept);
	}
	return function(from, to);
}

static void
before_unlink(int at, const char *path)
{
	char whole[PATH_MAX], kept[PATH_MAX];

	if (!inside(at, path, whole))
		return;
	keep(whole, kept);
	if (strcmp(kept, "-") != 0)
		enter("unlink\t%s\t%s", whole, kept);
}

int
unlink(const char *path)
{
	int (*function)(const char *);

	REAL("unlink", function);
	before_unlink(AT_FDCWD, path);
	return function(path);
}

int
unlinkat(int at, const char *path, int flags)
{
	int (*function)(int, const char *, int);

	REAL("unlinkat", function);
	if ((flags & AT_REMOVEDIR) == 0)
		before_unlink(at, path);
	return function(at, path, flags);
}

int
ftruncate(int fd, off_t size)
{
	int (*function)(int, off_t);
	char whole[PATH_MAX], kept[PATH_MAX];
	struct stat status;

	REAL("ftruncate", function);
	if (fstat(fd, &status) == 0 && size < status.st_size && inside_fd(fd, whole)) {
		/* Read by this descriptor: closing another would drop the process's locks. */
		keep_bytes(fd, size, kept);
		enter("shrink\t%llu\t%lld\t%s", (unsigned long long)status.st_ino, (long long)size, kept);
	}
	return function(fd, size);
}

static int
sync_entered(int fd, const char *name)
{
	int (*function)(int);
	char whole[PATH_MAX];
	struct stat status;

	REAL(name, function);
	if (fstat(fd, &status) != 0 || !inside_fd(fd, whole))
		return function(fd);
	if (S_ISDIR(status.st_mode))
		enter("syncdir\t%s", whole);
	else
		enter("synced\t%llu\t%lld", (unsigned long long)status.st_ino, (long long)status.st_size);
	return 0;
}

int
fsync(int fd)
{
	return sync_entered(fd, "fsync");
}

int
fdatasync(int fd)
{
	return sync_entered(fd, "fdatasync");
}
