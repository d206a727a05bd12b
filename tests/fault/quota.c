/*
 * Preloaded into a program, makes what needs room on a disk fail as it does where a user may have no
 * more: a file or directory that is made, renamed or linked, a write, a sync.
 * QUOTA="PROGRAM FROM TIMES": in a process of this name, from its FROMth such call on, TIMES fail.
 * QUOTA_REACHED=FILE: made when the FROMth has come.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool
fails(void)
{
	static int uses;
	const char *quota = getenv("QUOTA"), *reached = getenv("QUOTA_REACHED");
	char program[64];
	int from, times;

	if (quota == NULL || sscanf(quota, "%63s %d %d", program, &from, &times) != 3 ||
	    strcmp(program, program_invocation_short_name) != 0)
		return false;
	uses++;
	if (uses == from && reached != NULL)
		syscall(SYS_close, (int)syscall(SYS_openat, AT_FDCWD, reached, O_WRONLY | O_CREAT, 0600));
	errno = EDQUOT;
	return uses >= from && uses < from + times;
}

static bool
is_file(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

/* What is written over takes no room. */
static bool
grows(int fd, off64_t end)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && end > status.st_size;
}

static bool
makes_file(int directory, const char *path, int flags)
{
	struct stat status;

	return (flags & O_TMPFILE) == O_TMPFILE || ((flags & O_CREAT) != 0 &&
	    fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW) != 0);
}

/* A function of this name, and what it is in the library. */
#define REPLACED(type, name, parameters, arguments, refused, failure) \
	type name parameters \
	{ \
		type (*function) parameters; \
		*(void **)&function = dlsym(RTLD_NEXT, #name); \
		return (refused) && fails() ? (failure) : function arguments; \
	}

REPLACED(ssize_t, write, (int fd, const void *bytes, size_t len), (fd, bytes, len), is_file(fd), -1)
REPLACED(ssize_t, pwrite64, (int fd, const void *bytes, size_t len, off64_t at),
    (fd, bytes, len, at), grows(fd, at + (off64_t)len), -1)
REPLACED(int, fsync, (int fd), (fd), is_file(fd), -1)
REPLACED(int, fdatasync, (int fd), (fd), is_file(fd), -1)
REPLACED(int, ftruncate64, (int fd, off64_t size), (fd, size), is_file(fd), -1)
REPLACED(int, posix_fallocate64, (int fd, off64_t at, off64_t len), (fd, at, len), is_file(fd), EDQUOT)
REPLACED(ssize_t, copy_file_range,
    (int from, off64_t *at, int to, off64_t *there, size_t len, unsigned flags),
    (from, at, to, there, len, flags), true, -1)
REPLACED(int, mkdir, (const char *path, mode_t mode), (path, mode),
    makes_file(AT_FDCWD, path, O_CREAT), -1)
REPLACED(int, mkdirat, (int directory, const char *path, mode_t mode), (directory, path, mode),
    makes_file(directory, path, O_CREAT), -1)
REPLACED(int, rename, (const char *from, const char *to), (from, to), true, -1)
REPLACED(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to), true, -1)
REPLACED(int, link, (const char *from, const char *to), (from, to), true, -1)
REPLACED(int, linkat, (int a, const char *from, int b, const char *to, int flags),
    (a, from, b, to, flags), true, -1)
REPLACED(int, symlink, (const char *from, const char *to), (from, to), true, -1)
REPLACED(int, symlinkat, (const char *from, int directory, const char *to), (from, directory, to),
    true, -1)
REPLACED(int, mkostemp64, (char *path, int flags), (path, flags), true, -1)
REPLACED(int, mkstemp64, (char *path), (path), true, -1)
REPLACED(char *, mkdtemp, (char *path), (path), true, NULL)

static mode_t
mode_of(int flags, va_list list)
{
	return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
}

int
open64(const char *path, int flags, ...)
{
	int (*function)(const char *, int, ...);
	va_list list;
	mode_t mode;

	va_start(list, flags);
	mode = mode_of(flags, list);
	va_end(list);
	*(void **)&function = dlsym(RTLD_NEXT, "open64");
	return makes_file(AT_FDCWD, path, flags) && fails() ? -1 : function(path, flags, mode);
}

int
openat64(int directory, const char *path, int flags, ...)
{
	int (*function)(int, const char *, int, ...);
	va_list list;
	mode_t mode;

	va_start(list, flags);
	mode = mode_of(flags, list);
	va_end(list);
	*(void **)&function = dlsym(RTLD_NEXT, "openat64");
	return makes_file(directory, path, flags) && fails() ? -1 : function(directory, path, flags, mode);
}
