/*
 * A line is added with the lock of the directory held. A file that has grown too long is written
 * anew, with times that lie close together made one.
 */
#define _GNU_SOURCE /* statx() */
#include "run/sandboxed_times.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/id.h"
#include "base/lock.h"
#include "base/memory.h"
#include "base/text.h"

#define CALL ".call"
#define SECOND INT64_C(1000000000)
#define FILE_LIMIT ((size_t)1 << 20)
#define LOOKED_AT_LIMIT 10000
#define DEPTH_LIMIT 8
#define LONG ((size_t)64 << 10)   /* a file that is to be made shorter */
#define IDENTITY_SIZE 64

struct span_of_time {
	int64_t begin, end;
};

/* In memory of its own; NULL: there is no storage. */
static char *
times_directory(void)
{
	const char *given = getenv("AWF_STORAGE");
	struct storage storage;
	char *path;

	if (given != NULL && *given == '/')
		return path_join(given, STORAGE_TIMES);
	if (storage_locate(&storage, NULL) != 0)
		return NULL;
	path = path_join(storage.root, STORAGE_TIMES);
	storage_close(&storage);
	return path;
}

/* How a directory is known; "": it is not there. Where the file system tells no birth, the device
 * stands for it. */
static void
directory_identify(char identity[IDENTITY_SIZE], const char *path)
{
	struct statx st;

	*identity = '\0';
	if (statx(AT_FDCWD, path, 0, STATX_INO | STATX_BTIME, &st) != 0)
		return;
	if (st.stx_mask & STATX_BTIME)
		snprintf(identity, IDENTITY_SIZE, "%llu-%lld-%u", (unsigned long long)st.stx_ino,
		    (long long)st.stx_btime.tv_sec, st.stx_btime.tv_nsec);
	else
		snprintf(identity, IDENTITY_SIZE, "%llu-%u-%u", (unsigned long long)st.stx_ino,
		    st.stx_dev_major, st.stx_dev_minor);
}

static int64_t
nanoseconds(const struct timespec *t)
{
	return (int64_t)t->tv_sec * SECOND + t->tv_nsec;
}

static int64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return nanoseconds(&t);
}

/* The clock of files, which lags behind the other. */
static int64_t
now_of_files(void)
{
#ifdef CLOCK_REALTIME_COARSE
	struct timespec t;

	clock_gettime(CLOCK_REALTIME_COARSE, &t);
	return nanoseconds(&t);
#else
	return now() - SECOND;
#endif
}

/* ---- files ---- */

/* The next line of a file behind its path, or of what is left of it. */
static bool
span_read(const char **at, struct span_of_time *span)
{
	const char *line;
	size_t len;

	while ((line = text_part(at, '\n', &len)) != NULL)
		if (sscanf(line, "%" SCNd64 " %" SCNd64, &span->begin, &span->end) == 2)
			return true;
	return false;
}

/* Where the lines of a file that was read begin; NULL: it is none. */
static const char *
lines_of(const struct buffer *text)
{
	const char *at = text->len == 0 ? NULL : memchr(text->data, '\0', text->len);

	return at == NULL ? NULL : at + 1;
}

/* Times that are no further apart than twice their number of seconds become one, until they are
 * few: it is at worst more that may be a sandboxed program's work. They come in the order of their
 * ends. */
static void
text_shorten(struct buffer *text)
{
	for (int64_t gap = SECOND; text->len > LONG / 2; gap *= 2) {
		struct buffer shorter = BUFFER_INIT;
		struct span_of_time last = { 0, 0 }, next;
		const char *at = lines_of(text);
		bool any = false;

		buffer_append(&shorter, text->data, (size_t)(at - text->data));
		while (span_read(&at, &next)) {
			if (any && next.begin <= last.end + gap) {
				last.begin = next.begin < last.begin ? next.begin : last.begin;
				last.end = next.end;
				continue;
			}
			if (any)
				buffer_format(&shorter, "%" PRId64 " %" PRId64 "\n", last.begin, last.end);
			last = next;
			any = true;
		}
		if (any)
			buffer_format(&shorter, "%" PRId64 " %" PRId64 "\n", last.begin, last.end);
		buffer_free(text);
		*text = shorter;
	}
}

/* Adds a time to the file of a directory. -1 with errno. */
static int
time_add(const char *file, const char *path, const struct span_of_time *span)
{
	struct buffer text = BUFFER_INIT;
	struct error err = ERROR_INIT;
	struct replacement r;
	int fd = open(file, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600), failed;
	struct stat st;

	if (fd == -1 || fstat(fd, &st) != 0) {
		file_close(&fd);
		return -1;
	}
	if (st.st_size == 0)
		buffer_append(&text, path, strlen(path) + 1);
	buffer_format(&text, "%" PRId64 " %" PRId64 "\n", span->begin, span->end);
	failed = file_write(fd, text.data, text.len);
	buffer_clear(&text);
	if (failed == 0 && (size_t)st.st_size > LONG && lseek(fd, 0, SEEK_SET) == 0 &&
	    file_read(fd, &text, FILE_LIMIT) == 0 && lines_of(&text) != NULL &&
	    replacement_open(&r, file, 0600, &err) == 0) {
		text_shorten(&text);
		if (file_write(r.fd, text.data, text.len) != 0)
			replacement_abandon(&r);
		else
			failed = replacement_commit(&r, false, &err);
	}
	file_close(&fd);
	buffer_free(&text);
	return failed;
}

/* Ends a program whose lock is had: the call's file becomes a line. -1 with errno. */
static int
call_settle(const char *path, int fd)
{
	char *directory = path_directory(path), *file = memory_text(path);
	int lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), failed = -1;
	struct buffer text = BUFFER_INIT;
	struct span_of_time span = { 0, 0 };
	const char *at;

	/* FILE.ID.call */
	*strrchr(file, '.') = '\0';
	*strrchr(file, '.') = '\0';
	if (lock != -1 && lock_file_wait(lock) == 0 && lseek(fd, 0, SEEK_SET) == 0 &&
	    file_read(fd, &text, FILE_LIMIT) == 0) {
		at = lines_of(&text);
		if (at != NULL)
			sscanf(at, "%" SCNd64, &span.begin);
		span.end = now();
		failed = at == NULL ? 0 : time_add(file, text.data, &span);
		if (failed == 0)
			failed = unlink(path);
	}
	file_close(&lock);
	buffer_free(&text);
	free(file);
	free(directory);
	return failed;
}

/* ---- programs ---- */

int
sandboxed_time_begin(struct sandboxed_time *t, const char *directory, struct error *err)
{
	char *times = times_directory(), identity[IDENTITY_SIZE], id[ID_SIZE], *hidden = NULL;
	struct buffer text = BUFFER_INIT;
	int failed = 0;

	*t = (struct sandboxed_time){ NULL, -1 };
	directory_identify(identity, directory);
	if (times == NULL || *identity == '\0') {
		free(times);
		return 0;
	}
	buffer_append(&text, directory, strlen(directory) + 1);
	buffer_format(&text, "%" PRId64, now_of_files());
	t->path = memory_format("%s/%s.%s" CALL, times, identity, id_new(id));
	/* It appears when it is whole and locked. */
	hidden = memory_format("%s/.%s", times, id);
	if (mkdir(times, 0700) != 0 && errno == ENOENT) {
		char *above = path_directory(times);

		/* A storage that is not there yet has no runs. */
		if (mkdir(above, 0700) == 0 || errno == EEXIST)
			mkdir(times, 0700);
		free(above);
	}
	t->fd = open(hidden, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (t->fd == -1 && errno == ENOENT) {
		free(t->path);
		t->path = NULL;
	} else if (t->fd == -1 || lock_file_take(t->fd) != 0 ||
	    file_write(t->fd, text.data, text.len) != 0 || rename(hidden, t->path) != 0) {
		failed = error_errno(err, ERROR_BLOCKED, times, "unable to note when a sandboxed program runs");
		if (t->fd != -1)
			unlink(hidden);
		file_close(&t->fd);
		free(t->path);
		t->path = NULL;
	}
	buffer_free(&text);
	free(hidden);
	free(times);
	return failed;
}

int
sandboxed_time_end(struct sandboxed_time *t, struct error *err)
{
	int failed = 0;

	if (t->path != NULL && call_settle(t->path, t->fd) != 0)
		failed = error_errno(err, ERROR_BLOCKED, t->path, "unable to note when a sandboxed program ran");
	file_close(&t->fd);
	free(t->path);
	t->path = NULL;
	return failed;
}

/* ---- looks ---- */

/* Whether a change was made within a time. Some file systems keep whole seconds. */
static bool
change_is_within(const struct timespec *change, const struct span_of_time *span)
{
	const int64_t at = nanoseconds(change);

	if (change->tv_nsec == 0)
		return at >= span->begin / SECOND * SECOND && at <= span->end;
	return at >= span->begin && at <= span->end;
}

/* Whether one of the times of a file is that of the change. */
static bool
file_tells(int fd, bool call, const struct timespec *change)
{
	struct buffer text = BUFFER_INIT;
	struct span_of_time span = { 0, INT64_MAX };
	bool changed = false;
	const char *at;

	if (file_read(fd, &text, FILE_LIMIT) == 0 && (at = lines_of(&text)) != NULL) {
		if (call && sscanf(at, "%" SCNd64, &span.begin) == 1)
			changed = change_is_within(change, &span);
		while (!call && !changed && span_read(&at, &span))
			changed = change_is_within(change, &span);
	}
	buffer_free(&text);
	return changed;
}

/* Whether a directory's files tell that the change was made at such a time. */
static bool
directory_tells(const char *times, DIR *dir, const char *directory, const struct timespec *change)
{
	char identity[IDENTITY_SIZE];
	const struct dirent *entry;
	bool tells = false;

	directory_identify(identity, directory);
	rewinddir(dir);
	while (!tells && *identity != '\0' && (entry = readdir(dir)) != NULL) {
		const char *rest = entry->d_name + strlen(identity);
		char *file;
		int fd;

		if (strncmp(entry->d_name, identity, strlen(identity)) != 0 || (*rest != '\0' && *rest != '.'))
			continue;
		file = path_join(times, entry->d_name);
		fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		tells = fd != -1 && file_tells(fd, *rest == '.', change);
		/* What a killed program left ends now. */
		if (fd != -1 && *rest == '.' && lock_file_take(fd) == 0 && lock_named(fd, file))
			call_settle(file, fd);
		file_close(&fd);
		free(file);
	}
	return tells;
}

bool
sandboxed_times_exist(void)
{
	char *times = times_directory();
	const bool exist = times != NULL && access(times, F_OK) == 0;

	free(times);
	return exist;
}

bool
sandboxed_times_have(const char *path)
{
	char *times = times_directory(), *given = path_directory(path), *at = realpath(given, NULL);
	DIR *dir = times == NULL || at == NULL ? NULL : opendir(times);
	bool have = false;
	struct stat st;

	if (dir != NULL && lstat(path, &st) == 0)
		do
			have = directory_tells(times, dir, at, &st.st_ctim);
		while (!have && path_climb(&at));
	if (dir != NULL)
		closedir(dir);
	free(at);
	free(given);
	free(times);
	return have;
}

bool
sandboxed_times_have_file(const char *path)
{
	char *real = realpath(path, NULL);
	bool have = sandboxed_times_have(path) ||
	    (real != NULL && strcmp(real, path) != 0 && sandboxed_times_have(real));

	free(real);
	return have;
}

static bool
have_below(const char *path, int depth, int *looked_at)
{
	const struct dirent *entry;
	char *real = NULL, *below;
	struct stat st;
	bool have;
	DIR *dir;

	if (lstat(path, &st) != 0)
		return false;
	if (depth == DEPTH_LIMIT || ++*looked_at == LOOKED_AT_LIMIT || sandboxed_times_have(path))
		return true;
	if (S_ISLNK(st.st_mode)) {
		real = realpath(path, NULL);
		have = real != NULL && have_below(real, depth + 1, looked_at);
		free(real);
		return have;
	}
	have = false;
	dir = S_ISDIR(st.st_mode) ? opendir(path) : NULL;
	while (!have && dir != NULL && (entry = readdir(dir)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
			below = path_join(path, entry->d_name);
			have = have_below(below, depth + 1, looked_at);
			free(below);
		}
	if (dir != NULL)
		closedir(dir);
	return have;
}

bool
sandboxed_times_have_below(const char *path)
{
	int looked_at = 0;

	return sandboxed_times_exist() && have_below(path, 0, &looked_at);
}
