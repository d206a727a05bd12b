/*
 * Unix sockets in a directory of a run, for processes of this user only. They are opened through a
 * descriptor of the directory, because its path may be too long for a socket address. Without
 * /proc, as on systems other than Linux, they are not available.
 */
#ifndef AWF_STORAGE_PRIVATE_SOCKET_H
#define AWF_STORAGE_PRIVATE_SOCKET_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

/* The directory of this name in that of a run, for the functions below; -1 with errno. */
int private_socket_directory(const char *run_directory, const char *name);
struct sockaddr_un private_socket_address(int directory, const char *name);
/* Binds a socket of a type (SOCK_STREAM …); -1 with errno. */
int private_socket_bind(int directory, const char *name, int type);
/* Connects to one, a stream that does not block, whose other side is of this user; -1: there is
 * none, or nobody listens there. */
int private_socket_connect(int directory, const char *name);
/* Whether the other side of a connection is of this user. */
bool private_socket_is_ours(int fd);

#endif
