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

/* Opens a directory inside a run's directory, for the functions below; -1 with errno. */
int private_socket_directory(const char *run_directory, const char *name);
struct sockaddr_un private_socket_address(int directory, const char *name);
/* Makes a socket of a type (SOCK_STREAM …) and binds it to a name; -1 with errno. */
int private_socket_bind(int directory, const char *name, int type);
/* Connects to a stream socket with this name, which belongs to this user, and returns a
 * non-blocking descriptor; -1: there is none, or no process listens. */
int private_socket_connect(int directory, const char *name);
/* Whether the process at the other end of a connection runs as this user. */
bool private_socket_is_ours(int fd);

#endif
