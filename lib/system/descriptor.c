/*
 * closefrom(3) came with glibc 2.34 and is not in musl: close_range(2) of Linux 5.9 does the same, and
 * where the kernel lacks that too, the descriptors that /dev/fd lists are closed one by one; if there
 * is no such directory, all that there may be.
 */
#define _GNU_SOURCE /* pipe2(), accept4(), memfd_create(), tee(), closefrom(), F_SETPIPE_SZ */
#include "system/descriptor.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#ifndef AWF_PORTABLE
#include <sys/syscall.h>
#endif

#if defined __GLIBC__ && !defined AWF_OLDEST && !defined AWF_PORTABLE
#if __GLIBC_PREREQ(2, 34)
#define HAS_CLOSEFROM
#endif
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#define DESCRIPTORS "/dev/fd"
#define DESCRIPTORS_MOST 65536 /* if nothing tells how many there may be */
#define UNNAMED "/tmp/awf-unnamed-XXXXXX"

static int
close_on_exec(int fd)
{
	return fcntl(fd, F_SETFD, FD_CLOEXEC);
}

int
descriptor_unblock(int fd)
{
	const int flags = fcntl(fd, F_GETFL);

	return flags == -1 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

#ifndef AWF_PORTABLE

int
descriptor_pipe(int ends[2])
{
	return pipe2(ends, O_CLOEXEC);
}

int
descriptor_socket(int family, int type)
{
	return socket(family, type | SOCK_CLOEXEC, 0);
}

int
descriptor_socket_pair(int family, int type, int ends[2])
{
	return socketpair(family, type | SOCK_CLOEXEC, 0, ends);
}

int
descriptor_accept(int listener)
{
	return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

ssize_t
descriptor_peek(int pipe, char *bytes, size_t size)
{
	int ends[2];
	ssize_t got, len = 0;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	got = tee(pipe, ends[1], size, SPLICE_F_NONBLOCK);
	close(ends[1]);
	while (got > 0 && (got = read(ends[0], bytes + len, size - (size_t)len)) > 0)
		len += got;
	close(ends[0]);
	return got < 0 ? -1 : len;
}

void
descriptor_pipe_size(int fd, int bytes)
{
	fcntl(fd, F_SETPIPE_SZ, bytes);
}

#else

/* Closes what could not be made as it has to be. */
static int
both_or_none(int ends[2])
{
	int reason;

	if (close_on_exec(ends[0]) != -1 && close_on_exec(ends[1]) != -1)
		return 0;
	reason = errno;
	close(ends[0]);
	close(ends[1]);
	errno = reason;
	return -1;
}

static int
one_or_none(int fd, bool made)
{
	int reason;

	if (fd == -1 || made)
		return fd;
	reason = errno;
	close(fd);
	errno = reason;
	return -1;
}

int
descriptor_pipe(int ends[2])
{
	return pipe(ends) != 0 ? -1 : both_or_none(ends);
}

int
descriptor_socket(int family, int type)
{
	const int fd = socket(family, type, 0);

	return one_or_none(fd, fd != -1 && close_on_exec(fd) != -1);
}

int
descriptor_socket_pair(int family, int type, int ends[2])
{
	return socketpair(family, type, 0, ends) != 0 ? -1 : both_or_none(ends);
}

int
descriptor_accept(int listener)
{
	const int fd = accept(listener, NULL, NULL);

	return one_or_none(fd, fd != -1 && close_on_exec(fd) != -1 && descriptor_unblock(fd) != -1);
}

ssize_t
descriptor_peek(int pipe, char *bytes, size_t size)
{
	(void)pipe, (void)bytes, (void)size;
	errno = ENOSYS;
	return -1;
}

void
descriptor_pipe_size(int fd, int bytes)
{
	(void)fd, (void)bytes;
}

#endif

int
descriptor_unnamed(const char *purpose)
{
	char path[] = UNNAMED;
	int fd;

#ifndef AWF_PORTABLE
	fd = memfd_create(purpose, MFD_CLOEXEC);
	if (fd != -1 || (errno != ENOSYS && errno != EPERM))
		return fd;
#else
	(void)purpose;
#endif
	fd = mkstemp(path);
	if (fd != -1) {
		unlink(path);
		close_on_exec(fd);
	}
	return fd;
}

int
descriptor_each(int first, int (*use)(int fd, void *context), void *context)
{
	DIR *listed = opendir(DESCRIPTORS);
	const long limit = listed != NULL ? 0 : sysconf(_SC_OPEN_MAX);
	const int most = limit > 0 && limit < INT_MAX ? (int)limit : DESCRIPTORS_MOST;
	const struct dirent *entry;
	int result = 0;

	while (listed != NULL && result == 0 && (entry = readdir(listed)) != NULL) {
		char *end;
		const long fd = strtol(entry->d_name, &end, 10);

		if (end > entry->d_name && *end == '\0' && fd >= first && fd != dirfd(listed))
			result = use((int)fd, context);
	}
	for (int fd = first; listed == NULL && result == 0 && fd < most; fd++)
		if (fcntl(fd, F_GETFD) != -1)
			result = use(fd, context);
	if (listed != NULL)
		closedir(listed);
	return result;
}

#ifndef HAS_CLOSEFROM
static int
close_one(int fd, void *context)
{
	(void)context;
	close(fd);
	return 0;
}
#endif

void
descriptor_close_from(int first)
{
#ifdef HAS_CLOSEFROM
	closefrom(first);
#else
#ifndef AWF_PORTABLE
	if (syscall(SYS_close_range, (unsigned)first, UINT_MAX, 0U) == 0)
		return;
#endif
	descriptor_each(first, close_one, NULL);
#endif
}
