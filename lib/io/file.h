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

/* Closes a descriptor, unless it is -1, and sets it to -1; errno is not changed. */
void file_close(int *fd);
/* Writes all len bytes, going on after EINTR and partial writes (and waiting on
 * a non-blocking descriptor). 0, or -1 with errno. */
int file_write(int fd, const void *bytes, size_t len);
/* The same, but once *stop is set (by a signal handler), it continues only while the reader
 * accepts bytes; otherwise it returns -1 with EINTR. */
int file_write_until(int fd, const void *bytes, size_t len, const volatile int *stop);
/* Appends what is left of fd to b; -1 with errno, EFBIG above limit bytes. */
int file_read(int fd, struct buffer *b, size_t limit);
/* The same, of a file of this path, with errors: ERROR_SYSTEM. */
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

/* open() with O_NOFOLLOW | O_CLOEXEC; the directory of path must not be a symbolic link either.
 * Anything but a regular file or a directory is refused with ENXIO, without blocking. -1 with
 * errno. */
int file_open_plain(const char *path, int flags, mode_t mode);

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

/* "DIR/NAME", which the caller frees; no second slash if DIR ends in one. */
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
/* An absolute path without empty parts, "." and "..", computed from the text only, without
 * resolving links. The caller frees it. */
char *path_normal(const char *path);
/* Whether an absolute path is the directory or is below it, comparing only the texts. */
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

/* Replaces a file atomically. The new file is written without a name (O_TMPFILE), so that a
 * killed process leaves nothing, or under a temporary name if the file system does not support
 * that, and then renamed. The permissions of an existing file are kept (except set-user-ID and
 * the like, as the owner may change). If path is a device or a pipe, it is written to directly. */
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
