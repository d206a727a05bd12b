/*
 * Files: reading and writing them whole, and directories. This header includes those for paths
 * (path.h) and for replacing a file atomically (replacement.h). Every descriptor made here is
 * CLOEXEC.
 */
#ifndef AWF_IO_FILE_H
#define AWF_IO_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"
#include "io/path.h"
#include "io/replacement.h"

/* Closes a descriptor, unless it is -1, and sets it to -1; errno is not changed. */
void file_close(int *fd);
/* Writes all len bytes, continuing after EINTR and partial writes, and waiting if the descriptor is
 * non-blocking. 0, or -1 with errno. */
int file_write(int fd, const void *bytes, size_t len);
/* The same, but when *stop is set by a signal handler, it continues only while the reader accepts
 * bytes, and otherwise returns -1 with EINTR. */
int file_write_until(int fd, const void *bytes, size_t len, const volatile int *stop);
/* Appends the rest of fd to b; -1 with errno: EFBIG above limit bytes. */
int file_read(int fd, struct buffer *b, size_t limit);
/* The same; errors are ERROR_SYSTEM with path as place. */
int file_read_named(int fd, const char *path, size_t limit, struct buffer *b, struct error *err);
/* Appends the whole file to b. Errors: ERROR_SYSTEM with place = path. */
int file_load(const char *path, size_t limit, struct buffer *b, struct error *err);
/* As file_load(), for text files written by people: skips a byte order mark at the beginning. */
int file_load_text(const char *path, size_t limit, struct buffer *b, struct error *err);
/* The text after #! in the first line of a script, as far as the kernel reads it; the caller
 * frees it. NULL: the file is not a script, or cannot be read. */
char *file_interpreter(const char *path);

/* Whether a file is unchanged as far as the kernel shows: the same inode, size and times of the
 * last changes. The last of these (ctime) cannot be set by programs. */
bool file_unchanged(const struct stat *was, const struct stat *is);

/* Checks that an open file with keys belongs to this user and is not accessible to others;
 * otherwise -1 with ERROR_SYSTEM at path. */
int file_check_private(int fd, const char *path, struct error *err);

/* Checks that nobody but this user and root can write to a file, or put another in its place: by any
 * directory or link on the way to it, beginning at the root. Members of the user's own group may. ENOENT is no
 * error. -1: ERROR_SYSTEM at path. */
int file_check_way(const char *path, struct error *err);

/* open() with O_NOFOLLOW | O_CLOEXEC; the directory of path must not be a symbolic link either.
 * Anything but a regular file or a directory is refused with ENXIO, without blocking. -1 with
 * errno. */
int file_open_plain(const char *path, int flags, mode_t mode);
/* Opens a new file without a name in a directory, to be read and written; it disappears when nobody
 * has it open. -1 with errno. */
int file_open_unnamed(const char *directory);

/* mkdir -p; existing directories are left as they are. */
int directory_make(const char *path, mode_t mode, struct error *err);
/* The same, and syncs the directories that it created. */
int directory_make_synced(const char *path, mode_t mode, struct error *err);
/* fsync() of a directory, so that names created or renamed in it survive a crash. */
int directory_sync(const char *path, struct error *err);
/* The same for the directory that contains a file. */
int file_sync_name(const char *path, struct error *err);
/* Whether path is on a file system whose locks cannot be trusted (NFS, SMB, 9P,
 * AFS, Ceph, Lustre, sshfs, GlusterFS …); *name says which. -1 with *err. */
int file_is_remote(const char *path, const char **name, struct error *err);
/* Whether path is on a file system that any user can mount (FUSE), and whose file attributes
 * that user therefore controls. True also if this cannot be determined. */
bool file_is_users_mount(const char *path);

#endif
