/*
 * Preloaded into a program, makes system calls on regular files fail.
 * FAULT="CALL FROM TIMES ERROR [BYTES]": from its FROMth use on, CALL fails TIMES
 * times. The first write() to fail writes BYTES before and is short.
 * FAULT_ALSO=CALL: this call always fails too.
 * FAULT_CLOCK=N lets the monotonic clock run N times as fast; FAULT_DAYS=N puts the date N days ahead.
 * FAULT_STATFS=HEX: every file system is of this type. FAULT_FORK=1: no forks.
 * FAULT_MOUNT=WORD: mounting a file system of this type, or a path that ends so, fails.
 * FAULT_KILL=NAME: a process that goes by this name is killed when it is to write.
 * FAULT_SYSCALL=NAME: pivot_root or clone fails.
 * FAULT_NAME="CALL WORD ERROR": CALL (open, stat or readdir) fails for paths that end in WORD; readdir for
 * every directory. FAULT_WHEN=PATH: but not before there is such a file.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

static const struct { const char *name; int number; } errors[] = {
	{ "EIO", EIO }, { "EDQUOT", EDQUOT }, { "ENOSPC", ENOSPC }, { "EWOULDBLOCK", EWOULDBLOCK },
	{ "ENOLCK", ENOLCK }, { "EMFILE", EMFILE }, { "ENFILE", ENFILE }, { "ENOMEM", ENOMEM },
	{ "EACCES", EACCES },
};

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

/* Whether this use of call fails; errno is set then. *bytes: what a write() is to
 * write first. */
static bool
fails(const char *call, int fd, size_t *bytes)
{
	static int uses;
	const char *fault = getenv("FAULT"), *also = getenv("FAULT_ALSO");
	char name[16], error[16];
	int from, times;
	size_t part = 0;
	struct stat status;

	if (fault == NULL || sscanf(fault, "%15s %d %d %15s %zu", name, &from, &times, error, &part) < 4 ||
	    fstat(fd, &status) == -1 || !S_ISREG(status.st_mode))
		return false;
	if (also != NULL && strcmp(also, call) == 0) {
		errno = EIO;
		return true;
	}
	if (strcmp(name, call) != 0)
		return false;
	uses++;
	if (uses < from || uses >= from + times)
		return false;
	if (bytes != NULL)
		*bytes = uses == from ? part : 0;
	for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
		if (strcmp(errors[i].name, error) == 0)
			errno = errors[i].number;
	}
	return true;
}

static void
kill_by_name(void)
{
	const char *doomed = getenv("FAULT_KILL");
	char name[16] = "";

	if (doomed != NULL && prctl(PR_GET_NAME, name) == 0 && strcmp(name, doomed) == 0)
		raise(SIGKILL);
}

ssize_t
write(int fd, const void *bytes, size_t len)
{
	ssize_t (*function)(int, const void *, size_t);
	size_t part = 0;

	REAL("write", function);
	kill_by_name();
	if (!fails("write", fd, &part))
		return function(fd, bytes, len);
	return part > 0 && part < len ? function(fd, bytes, part) : -1;
}

int
fdatasync(int fd)
{
	int (*function)(int);

	REAL("fdatasync", function);
	return fails("fdatasync", fd, NULL) ? -1 : function(fd);
}

int
fsync(int fd)
{
	int (*function)(int);

	REAL("fsync", function);
	return fails("fsync", fd, NULL) ? -1 : function(fd);
}

int
ftruncate(int fd, off_t size)
{
	int (*function)(int, off_t);

	REAL("ftruncate", function);
	return fails("ftruncate", fd, NULL) ? -1 : function(fd, size);
}

int
flock(int fd, int operation)
{
	int (*function)(int, int);

	REAL("flock", function);
	return fails("flock", fd, NULL) ? -1 : function(fd, operation);
}

int
clock_gettime(clockid_t clock, struct timespec *time)
{
	int (*function)(clockid_t, struct timespec *);
	const char *factor = getenv("FAULT_CLOCK"), *days = getenv("FAULT_DAYS");

	REAL("clock_gettime", function);
	int result = function(clock, time);
	if (factor != NULL && clock == CLOCK_MONOTONIC)
		time->tv_sec *= atol(factor);
	if (days != NULL && clock == CLOCK_REALTIME)
		time->tv_sec += (time_t)(strtod(days, NULL) * 86400);
	return result;
}

time_t
time(time_t *seconds)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (seconds != NULL)
		*seconds = now.tv_sec;
	return now.tv_sec;
}

int
statfs(const char *path, struct statfs *status)
{
	int (*function)(const char *, struct statfs *);
	const char *type = getenv("FAULT_STATFS");

	REAL("statfs", function);
	int result = function(path, status);
	if (type != NULL)
		status->f_type = strtol(type, NULL, 16);
	return result;
}

pid_t
fork(void)
{
	pid_t (*function)(void);

	if (getenv("FAULT_FORK") != NULL) {
		errno = EAGAIN;
		return -1;
	}
	REAL("fork", function);
	return function();
}

static bool
ends_with(const char *text, const char *word)
{
	size_t len = strlen(text), end = strlen(word);

	return len >= end && strcmp(text + len - end, word) == 0;
}

int
mount(const char *source, const char *target, const char *type, unsigned long flags,
    const void *data)
{
	int (*function)(const char *, const char *, const char *, unsigned long, const void *);
	const char *word = getenv("FAULT_MOUNT");

	if (word != NULL && ends_with(type != NULL ? type : source, word)) {
		errno = EPERM;
		return -1;
	}
	REAL("mount", function);
	return function(source, target, type, flags, data);
}

/* Whether this call on a path is to fail; errno is set then. */
static bool
name_fails(const char *call, const char *path)
{
	const char *fault = getenv("FAULT_NAME"), *when = getenv("FAULT_WHEN");
	char name[16], word[64], error[16];

	if (fault == NULL || sscanf(fault, "%15s %63s %15s", name, word, error) != 3 || strcmp(name, call) != 0 ||
	    !ends_with(path, word) || (when != NULL && access(when, F_OK) != 0))
		return false;
	for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
		if (strcmp(errors[i].name, error) == 0)
			errno = errors[i].number;
	return true;
}

int
openat(int at, const char *path, int flags, ...)
{
	int (*function)(int, const char *, int, ...);
	mode_t mode = 0;
	va_list list;

	if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
		va_start(list, flags);
		mode = va_arg(list, mode_t);
		va_end(list);
	}
	REAL("openat", function);
	return name_fails("open", path) ? -1 : function(at, path, flags, mode);
}

int
open(const char *path, int flags, ...)
{
	int (*function)(const char *, int, ...);
	mode_t mode = 0;
	va_list list;

	if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
		va_start(list, flags);
		mode = va_arg(list, mode_t);
		va_end(list);
	}
	REAL("open", function);
	return name_fails("open", path) ? -1 : function(path, flags, mode);
}

int
fstatat(int at, const char *path, struct stat *st, int flags)
{
	int (*function)(int, const char *, struct stat *, int);

	REAL("fstatat", function);
	return name_fails("stat", path) ? -1 : function(at, path, st, flags);
}

struct dirent *
readdir(DIR *dir)
{
	struct dirent *(*function)(DIR *);

	REAL("readdir", function);
	return name_fails("readdir", ".") ? NULL : function(dir);
}

static long
number_of(const char *name)
{
	static const struct { const char *name; long number; } calls[] = {
		{ "pivot_root", SYS_pivot_root }, { "clone", SYS_clone },
	};

	for (size_t i = 0; name != NULL && i < sizeof calls / sizeof calls[0]; i++)
		if (strcmp(calls[i].name, name) == 0)
			return calls[i].number;
	return -1;
}

long
syscall(long number, ...)
{
	long (*function)(long, ...);
	long refused = number_of(getenv("FAULT_SYSCALL"));
	long arguments[6];
	va_list list;

	va_start(list, number);
	for (size_t i = 0; i < sizeof arguments / sizeof arguments[0]; i++)
		arguments[i] = va_arg(list, long);
	va_end(list);
	if (refused == number) {
		errno = EPERM;
		return -1;
	}
	if (number == SYS_openat2 && name_fails("open", (const char *)arguments[1]))
		return -1;
	REAL("syscall", function);
	return function(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
	    arguments[5]);
}
