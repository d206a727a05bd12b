/*
 * Descriptors as AWF makes them: closed by an exec() from the moment they exist, so that no program
 * that another thread or process starts at the same time inherits one.
 *
 * A portable build (AWF_PORTABLE) makes them so in a second call, as macOS has none that does both.
 */
#ifndef AWF_SYSTEM_DESCRIPTOR_H
#define AWF_SYSTEM_DESCRIPTOR_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* How a directory is opened that only paths begin at: without the right to read it, where that can
 * be. */
#ifdef AWF_PORTABLE
#define DESCRIPTOR_PLACE (O_RDONLY | O_NONBLOCK)
#elif defined O_PATH /* with _GNU_SOURCE */
#define DESCRIPTOR_PLACE O_PATH
#endif

/* Each is -1 with errno if it fails. */
int descriptor_pipe(int ends[2]);
int descriptor_socket(int family, int type);
int descriptor_socket_pair(int family, int type, int ends[2]);
/* The next connection, which does not block. */
int descriptor_accept(int listener);
int descriptor_unblock(int fd);
/* A file without a name that is gone with its last descriptor: in memory, where that can be, else in
 * /tmp. */
int descriptor_unnamed(const char *purpose);
/* Copies what is in a pipe, as far as there is room, without taking it out of the pipe. -1 with
 * ENOSYS where that cannot be done. */
ssize_t descriptor_peek(int pipe, char *bytes, size_t size);
/* Lets a pipe hold so many bytes, where that can be set. */
void descriptor_pipe_size(int fd, int bytes);
/* Closes all descriptors from this one on. */
void descriptor_close_from(int first);
/* Calls use() with each descriptor of this process from this one on, in any order, until it does not
 * return 0; returns what it returned last. */
int descriptor_each(int first, int (*use)(int fd, void *context), void *context);

#endif
