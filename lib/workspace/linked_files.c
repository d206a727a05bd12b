/*
 * All files of the directory are examined, with one system call for each. If there are too many, it
 * is assumed that all files that existed then and whose mtime and ctime differ have several names;
 * for a file that was written or touched since, the two are equal.
 */
#include "workspace/linked_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "io/file.h"
#include "system/file_status.h"
#include "workspace/moved_directories.h"

#define SECOND INT64_C(1000000000)
#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
#define DEPTH_LIMIT 256
#define FILES_LIMIT 500000

struct finding {
	struct buffer *note;
	const char *moved;
	int64_t since;
	size_t files, directories, found;
};

/* A time in nanoseconds; a file system may store only whole seconds. */
static int64_t
time_of(const struct timespec *t)
{
	return t->tv_sec * SECOND + t->tv_nsec;
}

static bool
is_since(const struct timespec *t, int64_t since)
{
	return time_of(t) >= (t->tv_nsec == 0 ? since / SECOND * SECOND : since);
}

/* The identity of a file with its contents. If the file system has no birth time, the device is
 * used. */
static int
token_write(char token[LINKED_SIZE], const struct file_status *st)
{
	return snprintf(token, LINKED_SIZE, LINKED_MARK "%" PRIu64 "-%" PRId64 "-%u@%" PRId64, st->inode,
	    st->born ? (int64_t)st->birth.tv_sec : (int64_t)st->device_major,
	    st->born ? (unsigned)st->birth.tv_nsec : st->device_minor, time_of(&st->written));
}

/* Whether a text of words, each preceded by a space, contains this word. */
static bool
has_word(const char *text, size_t len, const char *word)
{
	const size_t size = strlen(word);

	for (const char *at = text; (size_t)(text + len - at) >= size; at++)
		if (strncmp(at, word, size) == 0 &&
		    (at + size == text + len || at[size] == ' ' || at[size] == '\n'))
			return true;
	return false;
}

static bool
is_moved(const struct finding *f, const struct file_status *st)
{
	char word[32];

	snprintf(word, sizeof word, " %" PRIu64, st->inode);
	return has_word(f->moved, strlen(f->moved), word);
}

/* Examines a directory, and frees it. moved: it, or a directory around it, was moved. False: not
 * everything could be examined. */
static bool
find_below(struct finding *f, int fd, bool moved, int depth)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *entry;
	char token[LINKED_SIZE];
	bool whole = dir != NULL && depth < DEPTH_LIMIT && ++f->directories <= DIRECTORIES_LIMIT;
	struct file_status st;

	if (dir == NULL)
		file_close(&fd);
	while (whole && (entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    file_status_read(fd, entry->d_name, false, &st) != 0)
			continue;
		if (!S_ISDIR(st.mode)) {
			whole = ++f->files <= FILES_LIMIT;
			if (st.links > 1 && (moved || is_since(&st.changed, f->since))) {
				whole = whole && ++f->found <= LINKED_LIMIT;
				buffer_append(f->note, token, (size_t)token_write(token, &st));
			}
		} else {
			int below = openat(fd, entry->d_name, DIRECTORY_FLAGS);

			/* No program of this user can change files in a directory that another user
			 * keeps private. */
			if (below != -1)
				whole = find_below(f, below, moved || is_moved(f, &st), depth + 1);
			else
				whole = errno == ENOENT || st.owner != geteuid();
		}
	}
	if (dir != NULL)
		closedir(dir);
	return whole;
}

void
linked_files_note(struct buffer *note, const char *directory, int64_t since, const char *moved)
{
	struct finding f = { .note = note, .moved = moved, .since = since };
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd == -1 || !find_below(&f, fd, strchr(moved, '*') != NULL, 0)) {
		buffer_clear(note);
		buffer_text(note, LINKED_UNKNOWN);
	}
}

static void
linked_file_read_status(struct linked_file *file)
{
	struct file_status st;

	file->looked_at = true;
	file->there = file_status_read(AT_FDCWD, file->path, false, &st) == 0;
	if (!file->there)
		return;
	token_write(file->word, &st);
	file->born = st.born ? time_of(&st.birth) : INT64_MIN;
	file->changed = time_of(&st.changed);
	file->written = time_of(&st.written);
}

bool
linked_files_tell(const char *note, size_t len, int64_t end, struct linked_file *file)
{
	if (len == 0)
		return false;
	if (!file->looked_at)
		linked_file_read_status(file);
	if (has_word(note, len, LINKED_UNKNOWN))
		return file->there && file->changed > end && file->written != file->changed &&
		    file->born <= end;
	return file->there && has_word(note, len, file->word);
}
