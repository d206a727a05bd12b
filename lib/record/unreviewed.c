/*
 * A note is: the workspace, a time, names, each with NUL at its end. That of a call has the
 * time of its start, and names with '-' before them if they were not there, '+' if they
 * were. That of a name has the time when the last call ended that made it or changed it.
 *
 * What the code relies on:
 *   - Who runs a call holds the lock of its note. If nobody does, the call was killed, and
 *     whoever comes upon the note ends it.
 *   - The directory's lock keeps a look and the end of a call apart.
 *   - A note appears when it is whole and locked.
 */
#define _GNU_SOURCE
#include "record/unreviewed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/id.h"
#include "base/lock.h"
#include "base/memory.h"
#include "record/storage.h"

#define CALL ".call"
#define NOTE_LIMIT ((size_t)1 << 20)
#define LOOKED_AT_LIMIT 10000
#define DEPTH_LIMIT 8
#define SECOND 1000000000L
#define TICK (SECOND / 100) /* by so much times of files may lag behind the clock */

struct note {
	struct buffer bytes;
	const char *workspace;
	struct timespec time;
	const char **names;
};

/* In memory of its own; NULL: there is no storage. */
static char *
directory_of_environment(void)
{
	const char *storage = getenv("AWF_STORAGE");

	return storage == NULL || *storage != '/' ? NULL : path_join(storage, STORAGE_MADE);
}

static bool
is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* Some file systems keep whole seconds. */
static bool
is_since(const struct stat *st, const struct timespec *time)
{
	if (st->st_ctim.tv_nsec == 0)
		return st->st_ctim.tv_sec >= time->tv_sec;
	return !is_before(&st->st_ctim, time);
}

/* ---- notes ---- */

static void
add_field(struct buffer *b, const char *text)
{
	buffer_append(b, text, strlen(text) + 1);
}

static void
add_time(struct buffer *b, const struct timespec *t)
{
	char text[48];

	snprintf(text, sizeof text, "%lld.%09ld", (long long)t->tv_sec, t->tv_nsec);
	add_field(b, text);
}

/* -1: it is no note. */
static int
note_parse(struct note *n)
{
	const char *at = n->bytes.data, *end = at + n->bytes.len;
	size_t count = 0;
	long long seconds;

	if (n->bytes.len == 0 || end[-1] != '\0')
		return -1;
	n->workspace = at;
	at += strlen(at) + 1;
	if (at == end || sscanf(at, "%lld.%ld", &seconds, &n->time.tv_nsec) != 2)
		return -1;
	n->time.tv_sec = (time_t)seconds;
	for (at += strlen(at) + 1; at < end; at += strlen(at) + 1) {
		n->names = memory_array(n->names, count + 2, sizeof *n->names);
		n->names[count++] = at;
		n->names[count] = NULL;
	}
	return n->names == NULL ? -1 : 0;
}

/* -1 with errno. */
static int
note_read(struct note *n, int fd)
{
	*n = (struct note){ .bytes = BUFFER_INIT };
	if (file_read(fd, &n->bytes, NOTE_LIMIT) != 0)
		return -1;
	errno = EINVAL;
	return note_parse(n);
}

static void
note_free(struct note *n)
{
	buffer_free(&n->bytes);
	free(n->names);
}

static char *
name_of_note(const char *workspace, const char *name)
{
	char *path = path_join(workspace, name), digest[DIGEST_SIZE];
	char *file = memory_text(digest_sha256(path, strlen(path), digest));

	free(path);
	return file;
}

/* A file without a name that is seen, with its lock taken, in a directory that is made if
 * need be, and may be removed by others while it is empty. -1 with errno. */
static int
open_hidden(const char *directory, const char *path)
{
	int fd;

	do {
		if (mkdir(directory, 0700) != 0 && errno != EEXIST)
			return -1;
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	} while (fd == -1 && errno == ENOENT);
	if (fd != -1 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Makes a note and leaves it open and locked; -1 with errno. */
static int
note_write(const char *directory, const char *name, const struct buffer *bytes)
{
	char id[ID_SIZE], *hidden = memory_format("%s/.%s", directory, id_new(id));
	char *path = path_join(directory, name);
	int fd = open_hidden(directory, hidden);

	if (fd != -1 && (file_write(fd, bytes->data, bytes->len) != 0 || rename(hidden, path) != 0)) {
		unlink(hidden);
		close(fd);
		fd = -1;
	}
	free(hidden);
	free(path);
	return fd;
}

/* ---- the end of a call ---- */

/* Whether something at a path or below was changed since; what is too much to look at was. */
static bool
changed_since(const char *path, const struct timespec *since, int depth, int *looked_at)
{
	const struct dirent *entry;
	bool changed = false;
	struct stat st;
	DIR *dir;

	if (lstat(path, &st) != 0)
		return false;
	if (depth == DEPTH_LIMIT || ++*looked_at == LOOKED_AT_LIMIT || is_since(&st, since))
		return true;
	dir = S_ISDIR(st.st_mode) ? opendir(path) : NULL;
	while (!changed && dir != NULL && (entry = readdir(dir)) != NULL) {
		char *below;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		below = path_join(path, entry->d_name);
		changed = changed_since(below, since, depth + 1, looked_at);
		free(below);
	}
	if (dir != NULL)
		closedir(dir);
	return changed;
}

static bool
was_made(const struct note *call, const char *name)
{
	char *path = path_join(call->workspace, name + 1);
	struct stat st;
	int looked_at = 0;
	bool made = *name == '-' ? lstat(path, &st) == 0 :
	    changed_since(path, &call->time, 0, &looked_at);

	free(path);
	return made;
}

static int
doubt(const char *directory, const struct note *call, const char *name)
{
	char *file = name_of_note(call->workspace, name);
	struct buffer bytes = BUFFER_INIT;
	struct timespec now;
	int fd;

	clock_gettime(CLOCK_REALTIME, &now);
	add_field(&bytes, call->workspace);
	add_time(&bytes, &now);
	add_field(&bytes, name);
	fd = note_write(directory, file, &bytes);
	if (fd != -1)
		close(fd);
	buffer_free(&bytes);
	free(file);
	return fd == -1 ? -1 : 0;
}

/* Of a call whose note's lock is taken. -1 with errno: the note stays. */
static int
settle(const char *path, int fd)
{
	char *directory = path_directory(path);
	int lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), failed = -1;
	struct note call = { .bytes = BUFFER_INIT };

	if (lock != -1 && flock(lock, LOCK_EX) == 0 && lseek(fd, 0, SEEK_SET) == 0) {
		failed = note_read(&call, fd);
		for (const char **name = call.names; failed == 0 && *name != NULL; name++)
			if (was_made(&call, *name))
				failed = doubt(directory, &call, *name + 1);
		if (failed == 0)
			failed = unlink(path);
	}
	if (lock != -1)
		close(lock);
	if (failed == 0)
		rmdir(directory); /* if it is empty */
	note_free(&call);
	free(directory);
	return failed;
}

/* ---- calls ---- */

static void
describe(struct buffer *bytes, const char *workspace, char *const *names)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	now.tv_sec -= now.tv_nsec < TICK;
	now.tv_nsec += now.tv_nsec < TICK ? SECOND - TICK : -TICK;
	add_field(bytes, workspace);
	add_time(bytes, &now);
	for (; *names != NULL; names++) {
		char *path = path_join(workspace, *names);
		struct stat st;

		buffer_byte(bytes, lstat(path, &st) == 0 ? '+' : '-');
		add_field(bytes, *names);
		free(path);
	}
}

int
unreviewed_begin(struct unreviewed_call *call, const char *workspace, char *const *names, struct error *err)
{
	char *directory = directory_of_environment(), *name, id[ID_SIZE];
	struct buffer bytes = BUFFER_INIT;
	int failed = 0;

	*call = (struct unreviewed_call){ NULL, -1 };
	if (directory == NULL || names == NULL || *names == NULL) {
		free(directory);
		return 0;
	}
	describe(&bytes, workspace, names);
	name = memory_format("%s" CALL, id_new(id));
	call->fd = note_write(directory, name, &bytes);
	if (call->fd != -1)
		call->path = path_join(directory, name);
	else if (errno != ENOENT) /* a storage that is not there yet has no runs */
		failed = error_errno(err, ERROR_BLOCKED, directory, "unable to note what is not there yet");
	buffer_free(&bytes);
	free(name);
	free(directory);
	return failed;
}

int
unreviewed_end(struct unreviewed_call *call, struct error *err)
{
	int failed = 0;

	if (call->path == NULL)
		return 0;
	if (settle(call->path, call->fd) != 0)
		failed = error_errno(err, ERROR_BLOCKED, call->path, "unable to note what was made");
	close(call->fd);
	free(call->path);
	*call = (struct unreviewed_call){ NULL, -1 };
	return failed;
}

bool
unreviewed_noted(const char *workspace, const char *name)
{
	char *directory = directory_of_environment(), *file, *path;
	bool noted;

	if (directory == NULL)
		return false;
	file = name_of_note(workspace, name);
	path = path_join(directory, file);
	noted = access(path, F_OK) == 0;
	free(path);
	free(file);
	free(directory);
	return noted;
}

/* ---- looks ---- */

/* Whether a file's name, from the workspace on, is this or lies in it. */
static bool
lies_in(const char *rest, const char *name)
{
	size_t len = strlen(name);

	return strncmp(rest, name, len) == 0 && (rest[len] == '/' || rest[len] == '\0');
}

/* Whether what the path names, or a link on its way from `from` on, meets a condition. */
static bool
any_on_way(const char *path, const char *from, const struct timespec *time,
    bool (*meets)(const struct stat *st, bool last, const struct timespec *time))
{
	bool any = false, last = false;

	for (const char *end = from; !any && !last; end++) {
		char *part;
		struct stat st;

		end += strcspn(end, "/");
		last = *end == '\0';
		part = memory_copy(path, (size_t)(end - path));
		any = lstat(part, &st) == 0 && meets(&st, last, time);
		free(part);
	}
	return any;
}

static bool
changed_later(const struct stat *st, bool last, const struct timespec *time)
{
	(void)last;
	return is_since(st, time);
}

/* A directory may be older than what its owner has seen in it. */
static bool
not_seen(const struct stat *st, bool last, const struct timespec *time)
{
	return (last || S_ISLNK(st->st_mode)) && !is_before(time, &st->st_ctim);
}

static bool
doubts_rest(const struct note *n, bool call, const char *path, const char *rest)
{
	for (const char **name = n->names; *name != NULL; name++) {
		if (!lies_in(rest, call ? *name + 1 : *name))
			continue;
		if (call && **name == '-')
			return true;
		if (any_on_way(path, rest, &n->time, call ? changed_later : not_seen))
			return true;
	}
	return false;
}

/* path: absolute. The workspace is known by what it is: its path may have links. */
static bool
doubts_path(const struct note *n, bool call, const char *path)
{
	struct stat workspace, st;
	bool doubts = false;

	if (stat(n->workspace, &workspace) != 0)
		return false;
	for (const char *slash = path; !doubts && slash != NULL; slash = strchr(slash + 1, '/')) {
		char *part = slash == path ? memory_text("/") :
		    memory_copy(path, (size_t)(slash - path));

		if (stat(part, &st) == 0 && st.st_dev == workspace.st_dev &&
		    st.st_ino == workspace.st_ino)
			doubts = doubts_rest(n, call, path, slash + 1);
		free(part);
	}
	return doubts;
}

/* A file that is looked at: as it is called, and where it lies. */
struct looked_at {
	const char *name;
	char *path, *real;
};

enum { PASSES = 0, REFUSED = -1, AGAIN = 1 };

static int
refuse(const struct looked_at *file, const struct note *n, bool call, struct error *err)
{
	const char *made = call ? "appeared or changed while a sandboxed program ran that can have "
	    "written it" : "was made by a sandboxed program, where there was nothing";

	return error_set(err, ERROR_DEFINITION, file->name, "%s (workspace %s): it is not taken "
	    "up unseen. Read it, then touch it%s; --open lets sandboxed programs make such files",
	    made, n->workspace, call ? " when that has ended" : "");
}

static int
ask_note(const char *path, int fd, const struct looked_at *file, struct error *err)
{
	size_t len = strlen(path), end = strlen(CALL);
	bool call = len > end && strcmp(path + len - end, CALL) == 0;
	struct note n;
	int result = PASSES;

	if (call && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return AGAIN;
	if (note_read(&n, fd) == -1)
		result = error_set(err, ERROR_SYSTEM, path, "is not what it was written as: read what "
		    "lies in the workspace, then remove it");
	else if (doubts_path(&n, call, file->path) ||
	    (file->real != NULL && doubts_path(&n, call, file->real)))
		result = refuse(file, &n, call, err);
	note_free(&n);
	return result;
}

/* What a killed call left. */
static int
end_killed(const char *path, int fd, struct error *err)
{
	if (!lock_named(fd, path))
		return AGAIN;
	return settle(path, fd) == 0 ? AGAIN : error_errno(err, ERROR_SYSTEM, path,
	    "unable to note what was made");
}

/* Looks once; AGAIN: there was a call that had ended. */
static int
look(const char *directory, DIR *dir, const struct looked_at *file, struct error *err)
{
	const struct dirent *entry;
	int result = PASSES;

	flock(dirfd(dir), LOCK_SH);
	while (result == PASSES && (entry = readdir(dir)) != NULL) {
		char *path;
		int fd;

		if (*entry->d_name == '.')
			continue;
		path = path_join(directory, entry->d_name);
		fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd != -1)
			result = ask_note(path, fd, file, err);
		else if (errno != ENOENT)
			result = error_errno(err, ERROR_SYSTEM, path, "unable to read it");
		if (result == AGAIN) {
			flock(dirfd(dir), LOCK_UN);
			result = end_killed(path, fd, err);
		}
		if (fd != -1)
			close(fd);
		free(path);
	}
	return result;
}

static int
look_until_settled(const char *directory, const char *path, struct error *err)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), result;
	DIR *dir = fd == -1 ? NULL : fdopendir(fd);
	struct looked_at file = { .name = path };
	char here[PATH_MAX];

	/* Who may not see the storage is in a sandbox. */
	if (dir == NULL && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
		return 0;
	if (dir == NULL)
		return error_errno(err, ERROR_SYSTEM, directory, "unable to look in it");
	file.path = *path == '/' ? memory_text(path) :
	    path_join(getcwd(here, sizeof here) == NULL ? "" : here, path);
	file.real = realpath(path, NULL);
	while ((result = look(directory, dir, &file, err)) == AGAIN)
		rewinddir(dir);
	closedir(dir);
	free(file.path);
	free(file.real);
	return result;
}

int
unreviewed_check(const char *path, struct error *err)
{
	struct storage storage;
	char *directory;
	int result;

	if (storage_locate(&storage, NULL) == -1)
		return 0;
	directory = path_join(storage.root, STORAGE_MADE);
	result = look_until_settled(directory, path, err);
	free(directory);
	storage_close(&storage);
	return result;
}
