/*
 * A directory is read again if it may have changed, that is, unless its ctime is before the time of
 * the note: the kernel updates it whenever an entry is made, renamed or removed.
 */
#include "workspace/moved_directories.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#ifndef AWF_PORTABLE
#include <linux/magic.h>
#include <sys/vfs.h>
#endif
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "system/file_status.h"

#define SECOND INT64_C(1000000000)
#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

struct entry {
	const char *path;
	uint64_t inode;
	bool replaced;   /* it is gone, or a directory above it was replaced */
};

/* Calls found() with path and state of each directory inside of one, until it returns something
 * other than 1. -1: the directory cannot be read. */
typedef int (*found_function)(void *context, const char *path, const struct stat *status);

static int
directory_each(int root, const char *path, found_function found, void *context)
{
	int fd = openat(root, *path == '\0' ? "." : path, DIRECTORY_FLAGS), result = 1;
	DIR *dir = fd == -1 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	struct stat status;

	if (dir == NULL) {
		file_close(&fd);
		return -1;
	}
	while (result == 1 && (entry = readdir(dir)) != NULL) {
		if ((entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) || strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0 ||
		    fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(status.st_mode))
			continue;
		if (*path == '\0') {
			result = found(context, entry->d_name, &status);
		} else {
			char *below = path_join(path, entry->d_name);

			result = found(context, below, &status);
			free(below);
		}
	}
	closedir(dir);
	return result;
}

/* Whether a directory contains git's objects: many directories with data, of which nothing is
 * executed. */
static bool
is_of_objects(const char *path)
{
	return strcmp(path, ".git/objects") == 0 || text_ends(path, "/.git/objects");
}

/* ---- the note ---- */

struct noting {
	struct buffer *note;
	struct buffer open;      /* directories that are still to be read: their paths, each with a
	                            NUL */
	size_t count;
	bool links_are_counted;  /* the link count of a directory on the device is its number of
	                            directories plus two */
	dev_t device;
};

/* Whether the file system counts directories in link counts: most directories contain none, and
 * need not be read then. */
static bool
links_are_counted(int root)
{
#ifndef AWF_PORTABLE
	struct statfs st;

	return fstatfs(root, &st) == 0 && (st.f_type == EXT4_SUPER_MAGIC || st.f_type == TMPFS_MAGIC ||
	    st.f_type == XFS_SUPER_MAGIC);
#else
	(void)root;
	return false;
#endif
}

static int
note_add(void *context, const char *path, const struct stat *status)
{
	struct noting *n = context;
	char inode[32];

	if (n->count++ == DIRECTORIES_LIMIT)
		return 0;
	buffer_append(n->note, inode, (size_t)snprintf(inode, sizeof inode, "%" PRIu64 " ", (uint64_t)status->st_ino));
	buffer_append(n->note, path, strlen(path) + 1);
	if (!is_of_objects(path) && !(n->links_are_counted && status->st_dev == n->device && status->st_nlink == 2))
		buffer_append(&n->open, path, strlen(path) + 1);
	return 1;
}

int
directories_note(struct buffer *note, const char *directory)
{
	int root = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), result = -1;
	struct noting n = { .note = note, .open = BUFFER_INIT };
	struct stat status;
	char *path;

	if (root != -1 && fstat(root, &status) == 0) {
		n.links_are_counted = links_are_counted(root);
		n.device = status.st_dev;
		result = directory_each(root, "", note_add, &n);
	}
	for (size_t at = 0; result == 1 && at < n.open.len; at += strlen(n.open.data + at) + 1) {
		path = memory_text(n.open.data + at);
		/* Leave out a directory that cannot be read: directories that are found in it later
		 * count as moved there. */
		if (directory_each(root, path, note_add, &n) == 0)
			result = 0;
		free(path);
	}
	buffer_free(&n.open);
	file_close(&root);
	return result == 1 ? 0 : -1;
}

/* Reads the next entry of a note. */
static bool
entry_read(const char **at, const char *end, struct entry *e)
{
	char *space;

	if (*at >= end)
		return false;
	e->inode = strtoull(*at, &space, 10);
	e->path = *space == ' ' ? space + 1 : space;
	e->replaced = false;
	*at = e->path + strlen(e->path) + 1;
	return true;
}

bool
directories_noted(const char *note, size_t len, const char *path, size_t path_len, uint64_t inode)
{
	const char *at = note;
	struct entry e;

	while (entry_read(&at, note + len, &e))
		if (strncmp(e.path, path, path_len) == 0 && e.path[path_len] == '\0')
			return e.inode == inode;
	return false;
}

/* ---- the comparison ---- */

struct comparison {
	struct entry *entries;   /* sorted by their paths */
	size_t count;
	int root;
	int64_t since;
	struct buffer *moved;
	struct buffer made;      /* paths of directories that were made since, each with a NUL */
	size_t looked_at;
	bool any_replaced;
};

static int
entries_compare(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

static struct entry *
entry_find(const struct comparison *c, const char *path)
{
	const struct entry key = { path, 0, false };

	return c->count == 0 ? NULL : bsearch(&key, c->entries, c->count, sizeof key, entries_compare);
}

/* Whether two times are equal; the file system may store only whole seconds. */
static bool
is_since(int64_t seconds, int64_t nanoseconds, int64_t since)
{
	return seconds * SECOND + nanoseconds >= (nanoseconds == 0 ? since / SECOND * SECOND : since);
}

static int
directory_is_new(void *context, const char *path, const struct stat *status)
{
	struct comparison *c = context;
	struct file_status st;

	if (c->looked_at++ == DIRECTORIES_LIMIT)
		return 0;
	if (file_status_read(c->root, path, false, &st) == 0 && st.born && st.inode == status->st_ino &&
	    is_since(st.birth.tv_sec, st.birth.tv_nsec, c->since))
		buffer_append(&c->made, path, strlen(path) + 1);
	else
		buffer_format(c->moved, " %" PRIu64, (uint64_t)status->st_ino);
	return 1;
}

/* Notes a new directory; those that existed before are handled by their entries. */
static int
directory_is_found(void *context, const char *path, const struct stat *status)
{
	return entry_find(context, path) != NULL ? 1 : directory_is_new(context, path, status);
}

static bool
lies_in_replaced(const struct comparison *c, const char *path)
{
	char *above = path_directory(path);
	const struct entry *e = entry_find(c, above);

	free(above);
	return e != NULL && e->replaced;
}

/* Finds out what is at the path of an entry now. Directories above it were handled before. */
static int
entry_compare(struct comparison *c, struct entry *e)
{
	struct stat status;
	int result = 1;

	e->replaced = c->any_replaced && lies_in_replaced(c, e->path);
	if (e->replaced)
		return 1;
	if (fstatat(c->root, e->path, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(status.st_mode)) {
		e->replaced = c->any_replaced = true;
	} else if (status.st_ino != e->inode) {
		e->replaced = c->any_replaced = true;
		result = directory_is_new(c, e->path, &status);
	} else if (is_since(status.st_ctim.tv_sec, status.st_ctim.tv_nsec, c->since) && !is_of_objects(e->path)) {
		result = directory_each(c->root, e->path, directory_is_found, c);
		/* If it cannot be read, everything in it may have been moved there. */
		if (result == -1)
			buffer_format(c->moved, " %" PRIu64, e->inode);
	}
	return result != 0;
}

int
directories_compare(const char *note, size_t len, const char *directory, int64_t since, struct buffer *moved)
{
	struct comparison c = { .root = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .since = since,
		.moved = moved, .made = BUFFER_INIT };
	struct buffer entries = BUFFER_INIT, path = BUFFER_INIT;
	const char *at = note;
	struct stat status;
	struct entry e;
	bool whole;
	int result;

	if (c.root == -1)
		return -1;
	while (entry_read(&at, note + len, &e)) {
		buffer_append(&entries, &e, sizeof e);
		c.count++;
	}
	c.entries = (struct entry *)(void *)entries.data;
	if (c.count > 1)
		qsort(c.entries, c.count, sizeof *c.entries, entries_compare);
	whole = directory_each(c.root, "", directory_is_found, &c) == 1;
	for (size_t i = 0; whole && i < c.count; i++)
		whole = entry_compare(&c, &c.entries[i]) == 1;
	/* Everything inside of a new directory is new, too. */
	for (size_t i = 0; whole && i < c.made.len; i += strlen(c.made.data + i) + 1) {
		buffer_clear(&path);
		buffer_text(&path, c.made.data + i);
		result = directory_each(c.root, path.data, directory_is_new, &c);
		whole = result != 0;
		if (result == -1 && fstatat(c.root, path.data, &status, AT_SYMLINK_NOFOLLOW) == 0)
			buffer_format(moved, " %" PRIu64, (uint64_t)status.st_ino);
	}
	buffer_free(&path);
	buffer_free(&c.made);
	buffer_free(&entries);
	file_close(&c.root);
	return whole ? 0 : -1;
}
