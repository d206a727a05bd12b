/*
 * Process locks use fcntl(2), since F_GETLK tells who holds one, which flock(2) cannot. Calls are
 * repeated after a signal.
 *
 * A time limit is implemented by trying repeatedly, as flock() has none, and cannot be interrupted
 * if signals are blocked: first with sched_yield(), then with longer and longer sleeps, so that a
 * short wait costs little time and a long one little CPU.
 *
 * By the time a file is locked, its path may name another file: device and inode tell.
 */
#define _GNU_SOURCE /* F_OFD_SETLK, F_SETLEASE */
#include "io/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define YIELDS 4
#define NAP_MIN 20000L    /* ns */
#define NAP_MAX 2000000L

static struct flock
lock_of(short type, struct lock_range range)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET, .l_start = range.start,
		.l_len = range.len };
}

/* Whether another process or open file has the lock; *pid is set for a process lock. */
static int
lock_query(int fd, int command, struct lock_range range, pid_t *pid)
{
	struct flock lock = lock_of(F_WRLCK, range);

	while (fcntl(fd, command, &lock) != 0)
		if (errno != EINTR)
			return -1;
	if (lock.l_type == F_UNLCK)
		return 0;
	if (pid != NULL)
		*pid = lock.l_pid > 0 ? lock.l_pid : 0;
	return 1;
}

int
lock_take(int fd, struct lock_range range)
{
	struct flock lock = lock_of(F_WRLCK, range);

	while (fcntl(fd, F_SETLK, &lock) != 0)
		if (errno != EINTR)
			return -1;
	return 0;
}

int
lock_wait(int fd, struct lock_range range, const volatile int *stop)
{
	static const volatile int never = 0;
	struct flock lock = lock_of(F_WRLCK, range);

	if (stop == NULL)
		stop = &never;
	while (fcntl(fd, *stop != 0 ? F_SETLK : F_SETLKW, &lock) != 0) {
		if (*stop != 0 && (errno == EAGAIN || errno == EACCES))
			errno = EINTR;
		if (*stop != 0 || errno != EINTR)
			return -1;
	}
	return 0;
}

void
lock_release(int fd, struct lock_range range)
{
	struct flock lock = lock_of(F_UNLCK, range);

	while (fcntl(fd, F_SETLK, &lock) != 0 && errno == EINTR)
		;
}

int
lock_look(int fd, struct lock_range range, pid_t *pid)
{
	return lock_query(fd, F_GETLK, range, pid);
}

bool
lock_applies(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 &&
	    (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || S_ISREG(status.st_mode));
}

int
lock_file_take(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB);
}

int
lock_file_wait(int fd)
{
	return flock(fd, LOCK_EX);
}

int
lock_file_share(int fd)
{
	return flock(fd, LOCK_SH);
}

static int
try_within(int fd, int operation, int timeout_ms)
{
	struct timespec nap = { .tv_nsec = NAP_MIN };
	int64_t deadline = 0;

	for (int tries = 0; flock(fd, operation | LOCK_NB) != 0; tries++) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -1;
		if (tries == 0)
			deadline = clock_monotonic() + timeout_ms;
		else if (clock_monotonic() > deadline)
			return -1;
		if (tries < YIELDS) {
			sched_yield();
			continue;
		}
		nanosleep(&nap, NULL);
		if (nap.tv_nsec < NAP_MAX)
			nap.tv_nsec *= 2;
	}
	return 0;
}

int
lock_file_within(int fd, int timeout_ms)
{
	return try_within(fd, LOCK_EX, timeout_ms);
}

int
lock_file_share_within(int fd, int timeout_ms)
{
	return try_within(fd, LOCK_SH, timeout_ms);
}

void
lock_file_release(int fd)
{
	flock(fd, LOCK_UN);
}

int
lock_file_take_range(int fd, struct lock_range range)
{
	struct flock lock = lock_of(F_WRLCK, range);

	return fcntl(fd, F_OFD_SETLK, &lock);
}

void
lock_file_release_range(int fd, struct lock_range range)
{
	struct flock lock = lock_of(F_UNLCK, range);

	fcntl(fd, F_OFD_SETLK, &lock);
}

int
lock_file_look_range(int fd, struct lock_range range)
{
	return lock_query(fd, F_OFD_GETLK, range, NULL);
}

/* A read lease is granted only if nobody has the file open for writing. */
int
lock_written(int fd)
{
#ifndef AWF_PORTABLE
	if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
		fcntl(fd, F_SETLEASE, F_UNLCK);
		return 0;
	}
	return errno == EAGAIN ? 1 : -1;
#else
	(void)fd;
	return -1;
#endif
}

bool
lock_named(int fd, const char *path)
{
	struct stat opened, named;

	return fstat(fd, &opened) == 0 && lstat(path, &named) == 0 &&
	    opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}
