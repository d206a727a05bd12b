/*
 * Files: whole reads and writes, directories, and replacing a file at once.
 * Every descriptor made here is CLOEXEC.
 */
#ifndef AWF_IO_FILE_H
#define AWF_IO_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"

/* Closes a descriptor, unless it is -1, which it is from then on; errno stays what it was. */
void file_close(int *fd);
/* Writes all len bytes, going on after EINTR and partial writes (and waiting on
 * a non-blocking descriptor). 0, or -1 with errno. */
int file_write(int fd, const void *bytes, size_t len);
/* The same, but once *stop is set (by a signal's handler) it goes on only while
 * somebody takes the bytes; else -1 with EINTR. */
int file_write_until(int fd, const void *bytes, size_t len, const volatile int *stop);
/* Appends what is left of fd to b; -1 with errno, EFBIG above limit bytes. */
int file_read(int fd, struct buffer *b, size_t limit);
/* The same, of a file of this path, with errors: ERROR_SYSTEM. */
int file_read_named(int fd, const char *path, size_t limit, struct buffer *b, struct error *err);
/* Appends the whole file to b. Errors: ERROR_SYSTEM with place = path. */
int file_load(const char *path, size_t limit, struct buffer *b, struct error *err);
/* As file_load(), of a text that people write: without the byte order mark that it may begin with. */
int file_load_text(const char *path, size_t limit, struct buffer *b, struct error *err);
/* What stands behind #! in the first line of a script, as much of it as the kernel reads, in memory of
 * its own; NULL: the file is no script, or cannot be read. */
char *file_interpreter(const char *path);

/* Whether a file is what it was, as far as the kernel tells: the same one, its size and the times
 * of its last changes. The last of these nobody can set. */
bool file_unchanged(const struct stat *was, const struct stat *is);

/* Whether an open file that holds keys is this user's and closed to others; -1 with
 * ERROR_SYSTEM at path. */
int file_check_private(int fd, const char *path, struct error *err);

/* open() with O_NOFOLLOW | O_CLOEXEC; the directory of path must be no symbolic
 * link either. What is neither a regular file nor a directory is refused, with
 * ENXIO, and never waited for. -1 with errno. */
int file_open_plain(const char *path, int flags, mode_t mode);

/* mkdir -p; existing directories are left as they are. */
int directory_make(const char *path, mode_t mode, struct error *err);
/* The same, and what it made lasts. */
int directory_make_synced(const char *path, mode_t mode, struct error *err);
/* fsync() of a directory, so that names made or renamed in it last. */
int directory_sync(const char *path, struct error *err);
/* The same for the directory that a file lies in. */
int file_sync_name(const char *path, struct error *err);
/* Whether path is on a file system whose locks cannot be trusted (NFS, SMB, 9P,
 * AFS, Ceph, Lustre, sshfs, GlusterFS …); *name says which. -1 with *err. */
int file_is_remote(const char *path, const char **name, struct error *err);
/* Whether path is on a file system that any user can mount (FUSE): what it says of a file is
 * what that user wants. Also if nobody knows. */
bool file_is_users_mount(const char *path);

/* "DIR/NAME" in memory of its own; no second slash where DIR ends in one. */
char *path_join(const char *directory, const char *name);
/* The part after the last slash, within path. */
const char *path_base(const char *path);
/* The directory part ("." if there is none), in memory of its own. */
char *path_directory(const char *path);
/* Replaces a path, which is in memory of its own, by path_directory() of it; false if that is the
 * same: / or . */
bool path_climb(char **path);
/* Whether it is a directory, or a link to one. */
bool path_is_directory(const char *path);
/* An absolute path without parts that are empty, "." or "..", taking its text alone:
 * what links make of it is not asked. In memory of its own. */
char *path_normal(const char *path);
/* Whether an absolute path is the directory or lies below it, by their texts. */
bool path_within(const char *path, const char *directory);
/* "$XDG_CONFIG_HOME/awf/NAME", "~/.config/awf/NAME"; NULL without a home. In memory
 * of its own. */
char *path_config(const char *name);
/* The same of "$XDG_DATA_HOME/awf/NAME", "~/.local/share/awf/NAME". */
char *path_data(const char *name);
/* $HOME, if it is an absolute path; else NULL: it would name another place in each
 * directory. */
const char *path_home(void);
/* First executable regular file called name in a colon-separated list; NULL if
 * there is none. In memory of its own. */
char *path_search(const char *list, const char *name);

/* A file that appears whole or not at all: written without a name, so that who is killed
 * leaves nothing, or under a temporary one where the file system knows no such files; then
 * renamed; permissions of a file that was there stay
 * (but not set-user-ID and its like, as the new file may be of another owner). What
 * exists and is no regular file (a device, a pipe) is written to directly. */
struct replacement {
	int fd;          /* write here */
	char *path;      /* of the file, to which symbolic links led */
	char *temporary; /* NULL: no regular file */
	bool unnamed;    /* it has not even the temporary name yet */
};
/* -1 leaves errno too. */
int replacement_open(struct replacement *r, const char *path, mode_t mode, struct error *err);
/* Renames; with sync it is on disk, name included, when this returns. */
int replacement_commit(struct replacement *r, bool sync, struct error *err);
void replacement_abandon(struct replacement *r);

#endif
