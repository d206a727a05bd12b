/*
 * When a socket is bound, its name gets the mode that the socket has. So there is no moment at
 * which another user could connect.
 */
#define _GNU_SOURCE /* O_PATH, struct ucred */
#include "storage/private_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "io/file.h"
#include "system/descriptor.h"

#ifndef AWF_PORTABLE

int
private_socket_directory(const char *run_directory, const char *name)
{
	char *path = path_join(run_directory, name);
	int fd = open(path, DESCRIPTOR_PLACE | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	free(path);
	return fd;
}

struct sockaddr_un
private_socket_address(int directory, const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	snprintf(a.sun_path, sizeof a.sun_path, "/proc/self/fd/%d/%s", directory, name);
	return a;
}

int
private_socket_bind(int directory, const char *name, int type)
{
	struct sockaddr_un a = private_socket_address(directory, name);
	int fd = descriptor_socket(AF_UNIX, type);

	if (fd != -1 && (fchmod(fd, 0600) == -1 ||
	    bind(fd, (const struct sockaddr *)&a, sizeof a) == -1))
		file_close(&fd);
	return fd;
}

bool
private_socket_is_ours(int fd)
{
	struct ucred who;
	socklen_t size = sizeof who;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == geteuid();
}

int
private_socket_connect(int directory, const char *name)
{
	struct sockaddr_un a = private_socket_address(directory, name);
	/* Non-blocking: connecting would wait forever if the listener's queue is full and nobody
	 * accepts. */
	int fd = descriptor_socket(AF_UNIX, SOCK_STREAM);

	if (fd != -1 && (descriptor_unblock(fd) != 0 || connect(fd, (const struct sockaddr *)&a, sizeof a) == -1 ||
	    !private_socket_is_ours(fd)))
		file_close(&fd);
	return fd;
}

#else

int
private_socket_directory(const char *run_directory, const char *name)
{
	(void)run_directory;
	(void)name;
	errno = ENOTSUP;
	return -1;
}

int
private_socket_bind(int directory, const char *name, int type)
{
	(void)directory;
	(void)name;
	(void)type;
	errno = ENOTSUP;
	return -1;
}

int
private_socket_connect(int directory, const char *name)
{
	return private_socket_bind(directory, name, 0);
}

bool
private_socket_is_ours(int fd)
{
	(void)fd;
	return false;
}

#endif
