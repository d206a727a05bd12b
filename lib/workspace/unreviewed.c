/*
 * A note contains the workspace, a time, names and identities, each followed by NUL. The note of a
 * running call has the time of its start, and names: with '-' in front if they did not exist then,
 * with '+' if they did. The note of a single name has the end of the last call that made or changed
 * it.
 *
 * An identity, with '@' in front, identifies a directory even after it was moved: its inode and
 * birth time. The first is the workspace's, the others are those of what was made: the name and all
 * directories in it. (When a file itself is moved, the kernel updates its ctime.) With '=' in
 * front, it identifies a file that had several names (hard links): because changing another name
 * changes its ctime, too, it never counts as reviewed; a copy of it may.
 *
 * If a name leads to another place in the workspace by a link, that place is noted too, when
 * the call begins and when it ends.
 *
 * What the code relies on:
 *  - The process that runs a call holds the lock of its note. If the lock is free, the call was
 *    killed, and the process that finds the note ends the call.
 *  - The lock of the directory separates a check from the end of a call.
 *  - A note appears when it is complete and locked.
 */
#define _GNU_SOURCE
#include "workspace/unreviewed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/id.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "io/lock.h"
#include "storage/storage.h"
#include "system/file_status.h"

#define CALL ".call"
#define NOTE_LIMIT ((size_t)1 << 20)
#define LOOKED_AT_LIMIT 10000
#define DEPTH_LIMIT 8

#define IDENTITY_MARK '@'
#define LINKED_MARK '='
#define IDENTITY_SIZE 72

struct note {
	struct buffer bytes;
	const char *workspace;
	struct timespec time;
	/* Lists (base/list.h) of texts within bytes. */
	char **names;               /* at least one */
	char **identities;
	char **linked;              /* identities of files with several names */
};

/* The directory with notes; to be freed by the caller; NULL: there is no storage. */
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

/* Whether a time comes before another; some file systems store only whole seconds. */
static bool
is_since(const struct stat *st, const struct timespec *time)
{
	if (st->st_ctim.tv_nsec == 0)
		return st->st_ctim.tv_sec >= time->tv_sec;
	return !is_before(&st->st_ctim, time);
}

/* The identity of what a path leads to; "" if there is nothing. If the file system has no birth
 * time, the device is used. */
static void
unreviewed_identify_path(char identity[IDENTITY_SIZE], const char *path, int flags)
{
	struct file_status st;

	*identity = '\0';
	if (file_status_read(AT_FDCWD, path, (flags & AT_SYMLINK_NOFOLLOW) == 0, &st) != 0)
		return;
	if (st.born)
		snprintf(identity, IDENTITY_SIZE, "%c%llu %lld.%09ld", IDENTITY_MARK,
		    (unsigned long long)st.inode, (long long)st.birth.tv_sec, st.birth.tv_nsec);
	else
		snprintf(identity, IDENTITY_SIZE, "%c%llu %u:%u", IDENTITY_MARK,
		    (unsigned long long)st.inode, st.device_major, st.device_minor);
}

/* If a path in the workspace is a link, and its target is in the workspace, the target's path,
 * relative to the workspace; to be freed by the caller. Otherwise NULL. */
static char *
led_to(const char *workspace, const char *name)
{
	char *path = path_join(workspace, name), *real = realpath(path, NULL), *place = NULL;
	size_t len = strlen(workspace);

	if (real != NULL && strcmp(real, path) != 0 && strncmp(real, workspace, len) == 0 &&
	    (real[len] == '/' || real[len] == '\0'))
		place = memory_text(real + len + (real[len] == '/'));
	free(real);
	free(path);
	return place;
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

static void
unreviewed_add_text(char ***list, size_t *count, char *text)
{
	*list = memory_array(*list, *count + 2, sizeof **list);
	(*list)[(*count)++] = text;
	(*list)[*count] = NULL;
}

/* Reads a note. -1 with errno; EINVAL: it has another form. */
static int
note_read(struct note *n, int fd)
{
	size_t names = 0, identities = 0, linked = 0;
	long long seconds;
	char *at, *end;

	*n = (struct note){ .bytes = BUFFER_INIT };
	if (file_read(fd, &n->bytes, NOTE_LIMIT) != 0)
		return -1;
	errno = EINVAL;
	at = n->bytes.data;
	end = at + n->bytes.len;
	if (n->bytes.len == 0 || end[-1] != '\0')
		return -1;
	n->workspace = at;
	at += strlen(at) + 1;
	if (at == end || sscanf(at, "%lld.%ld", &seconds, &n->time.tv_nsec) != 2)
		return -1;
	n->time.tv_sec = (time_t)seconds;
	for (at += strlen(at) + 1; at < end; at += strlen(at) + 1)
		if (names > 0 && *at == IDENTITY_MARK)
			unreviewed_add_text(&n->identities, &identities, at);
		else if (names > 0 && *at == LINKED_MARK)
			unreviewed_add_text(&n->linked, &linked, at);
		else
			unreviewed_add_text(&n->names, &names, at);
	return n->names == NULL ? -1 : 0;
}

static void
note_free(struct note *n)
{
	buffer_free(&n->bytes);
	free(n->names);
	free(n->identities);
	free(n->linked);
}

/* Whether a directory is the workspace of the note, or has its path: on some file systems the
 * identity of an inode changes with a reboot. */
static bool
is_workspace(const struct note *n, const char *identity, const struct stat *st)
{
	struct stat now;

	if (n->identities != NULL && strcmp(*n->identities, identity) == 0)
		return true;
	return stat(n->workspace, &now) == 0 && now.st_dev == st->st_dev && now.st_ino == st->st_ino;
}

/* Makes a note, and leaves it open and locked; -1 with errno. It is made under a hidden name, in a
 * directory that is created if needed, and that other processes may remove while it is empty. */
static int
note_write(const char *directory, const char *name, const struct buffer *bytes)
{
	char id[ID_SIZE], *hidden = memory_format("%s/.%s", directory, id_new(id));
	char *path = path_join(directory, name);
	int fd = -1;

	do {
		if (mkdir(directory, 0700) != 0 && errno != EEXIST)
			break;
		fd = open(hidden, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	} while (fd == -1 && errno == ENOENT);
	if (fd != -1 && lock_file_take(fd) != 0) {
		file_close(&fd);
	} else if (fd != -1 && (file_write(fd, bytes->data, bytes->len) != 0 ||
	    rename(hidden, path) != 0)) {
		unlink(hidden);
		file_close(&fd);
	}
	free(hidden);
	free(path);
	return fd;
}

/* ---- the end of a call ---- */

/* Whether something at or below a path was changed since; true if there is too much to examine. */
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

/* Whether the workspace still has its path. */
static bool
is_in_place(const struct note *call)
{
	char identity[IDENTITY_SIZE];

	unreviewed_identify_path(identity, call->workspace, 0);
	return call->identities == NULL || strcmp(identity, *call->identities) == 0;
}

/* Collects the identities of a path, and of all directories and files with several names below it.
 * If there is too much to examine, some are left out. */
static void
add_identities(struct buffer *bytes, const char *path, int depth, int *looked_at)
{
	char identity[IDENTITY_SIZE];
	const struct dirent *entry;
	struct stat st;
	DIR *dir;
	bool linked;

	if (depth == DEPTH_LIMIT || ++*looked_at >= LOOKED_AT_LIMIT || lstat(path, &st) != 0)
		return;
	linked = S_ISREG(st.st_mode) && st.st_nlink > 1;
	if (depth > 0 && !linked && !S_ISDIR(st.st_mode))
		return;
	unreviewed_identify_path(identity, path, AT_SYMLINK_NOFOLLOW);
	if (*identity != '\0' && (depth == 0 || !linked))
		add_field(bytes, identity);
	if (*identity != '\0' && linked) {
		*identity = LINKED_MARK;
		add_field(bytes, identity);
	}
	dir = S_ISDIR(st.st_mode) ? opendir(path) : NULL;
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		char *below;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    (entry->d_type != DT_DIR && entry->d_type != DT_REG && entry->d_type != DT_UNKNOWN))
			continue;
		below = path_join(path, entry->d_name);
		add_identities(bytes, below, depth + 1, looked_at);
		free(below);
	}
	if (dir != NULL)
		closedir(dir);
}

static int
unreviewed_note_doubt(const char *directory, const struct note *call, const char *name)
{
	char *path = path_join(call->workspace, name), *all;
	char identity[IDENTITY_SIZE], file[DIGEST_SIZE];
	struct buffer bytes = BUFFER_INIT;
	struct timespec now;
	int fd, looked_at = 0;

	/* The name of a note also contains the identity: what was made may have been moved, and the
	 * same name made again. */
	unreviewed_identify_path(identity, path, AT_SYMLINK_NOFOLLOW);
	all = memory_format("%s/%s/%s", call->workspace, name, identity);
	digest_sha256(all, strlen(all), file);
	free(all);
	clock_gettime(CLOCK_REALTIME, &now);
	add_field(&bytes, call->workspace);
	add_time(&bytes, &now);
	add_field(&bytes, name);
	if (call->identities != NULL) {
		add_field(&bytes, *call->identities);
		if (is_in_place(call))
			add_identities(&bytes, path, 0, &looked_at);
	}
	fd = note_write(directory, file, &bytes);
	if (fd != -1)
		close(fd);
	buffer_free(&bytes);
	free(path);
	return fd == -1 ? -1 : 0;
}

/* Makes notes about everything that the call has made or changed. A workspace that was moved
 * meanwhile cannot be examined: all names count as changed. */
static int
doubt_made(const char *directory, const struct note *call)
{
	const bool in_place = is_in_place(call);
	int failed = 0;

	for (char **name = call->names; failed == 0 && *name != NULL; name++) {
		char *path = path_join(call->workspace, *name + 1), *place = NULL, *known;
		struct stat st;
		int looked_at = 0;

		if (!in_place || (**name == '-' ? lstat(path, &st) == 0 :
		    changed_since(path, &call->time, 0, &looked_at)))
			failed = unreviewed_note_doubt(directory, call, *name + 1);
		else if (**name == '+')
			place = led_to(call->workspace, *name + 1);
		/* A link that existed before, and has another target now. */
		if (place != NULL) {
			known = memory_format("+%s", place);
			if (!list_has(call->names, known))
				failed = unreviewed_note_doubt(directory, call, place);
			free(known);
		}
		free(place);
		free(path);
	}
	return failed;
}

/* Ends a call whose note is locked here. -1 with errno: the note stays. */
static int
unreviewed_settle_call(const char *path, int fd)
{
	char *directory = path_directory(path);
	int lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), failed = -1;
	struct note call = { .bytes = BUFFER_INIT };

	if (lock != -1 && lock_file_wait(lock) == 0 && lseek(fd, 0, SEEK_SET) == 0) {
		failed = note_read(&call, fd);
		if (failed == 0)
			failed = doubt_made(directory, &call);
		if (failed == 0)
			failed = unlink(path);
	}
	if (lock != -1)
		close(lock);
	if (failed == 0)
		rmdir(directory); /* succeeds if it is empty */
	note_free(&call);
	free(directory);
	return failed;
}

/* ---- calls ---- */

static void
describe_name(struct buffer *bytes, const char *workspace, const char *name)
{
	char *path = path_join(workspace, name);
	struct stat st;

	buffer_byte(bytes, lstat(path, &st) == 0 ? '+' : '-');
	add_field(bytes, name);
	free(path);
}

int
unreviewed_begin(struct unreviewed_call *call, const char *workspace, char *const *names,
    struct error *err)
{
	char *directory = directory_of_environment(), *name, id[ID_SIZE], identity[IDENTITY_SIZE];
	struct buffer bytes = BUFFER_INIT;
	struct timespec now;
	int failed = 0;

	*call = (struct unreviewed_call){ NULL, -1 };
	if (directory == NULL || names == NULL || *names == NULL) {
		free(directory);
		return 0;
	}

	/* The clock that the kernel uses for files, which is a little behind the other clock. */
#ifdef CLOCK_REALTIME_COARSE
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
#else
	clock_gettime(CLOCK_REALTIME, &now);
	now.tv_sec--;
#endif
	add_field(&bytes, workspace);
	add_time(&bytes, &now);
	for (; *names != NULL; names++) {
		char *place = led_to(workspace, *names);

		describe_name(&bytes, workspace, *names);
		if (place != NULL)
			describe_name(&bytes, workspace, place);
		free(place);
	}
	unreviewed_identify_path(identity, workspace, 0);
	if (*identity != '\0')
		add_field(&bytes, identity);

	name = memory_format("%s" CALL, id_new(id));
	call->fd = note_write(directory, name, &bytes);
	if (call->fd != -1)
		call->path = path_join(directory, name);
	else if (errno != ENOENT) /* a storage that does not exist has no runs to be noted */
		failed = error_errno(err, ERROR_BLOCKED, directory,
		    "unable to note what is not there yet");
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
	if (unreviewed_settle_call(call->path, call->fd) != 0)
		failed = error_errno(err, ERROR_BLOCKED, call->path,
		    "unable to note what was made");
	close(call->fd);
	free(call->path);
	*call = (struct unreviewed_call){ NULL, -1 };
	return failed;
}

bool
unreviewed_noted(const char *workspace, const char *name)
{
	char *directory = directory_of_environment(), *path = path_join(workspace, name);
	DIR *dir = directory == NULL ? NULL : opendir(directory);
	char made[IDENTITY_SIZE], identity[IDENTITY_SIZE];
	const struct dirent *entry;
	bool noted = false;

	unreviewed_identify_path(made, path, AT_SYMLINK_NOFOLLOW);
	unreviewed_identify_path(identity, workspace, 0);
	while (!noted && dir != NULL && (entry = readdir(dir)) != NULL) {
		struct note n = { .bytes = BUFFER_INIT };
		struct stat st;
		int fd;

		if (*entry->d_name == '.' || text_ends(entry->d_name, CALL))
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd != -1 && note_read(&n, fd) == 0 && stat(workspace, &st) == 0)
			noted = list_has(n.identities, made) ||
			    (strcmp(*n.names, name) == 0 && is_workspace(&n, identity, &st));
		note_free(&n);
		file_close(&fd);
	}
	if (dir != NULL)
		closedir(dir);
	free(path);
	free(directory);
	return noted;
}

/* ---- checking a file ---- */

/* The parts of an absolute path, beginning with the first. */
struct way {
	char *path;
	struct step {
		size_t end;    /* end of the part's name in the path */
		char identity[IDENTITY_SIZE];    /* of the file or directory to which it leads */
		struct stat st;
	} *steps;
	size_t count;
};

/* A file that is checked: its name, and its path, as it is given and with links resolved. */
struct looked_at {
	const char *name;
	struct way ways[2];
};

/* Takes ownership of the path; NULL: it leads nowhere. */
static void
way_follow(struct way *w, char *path)
{
	*w = (struct way){ .path = path };
	if (path == NULL)
		return;
	for (const char *at = path, *end; *at != '\0'; at = end) {
		struct step *step;
		char *part;

		end = at + 1 + strcspn(at + 1, "/");
		part = memory_copy(path, (size_t)(end - path));
		w->steps = memory_array(w->steps, w->count + 1, sizeof *w->steps);
		step = &w->steps[w->count];
		step->end = (size_t)(end - path);
		unreviewed_identify_path(step->identity, part, 0);
		if (*step->identity != '\0' && stat(part, &step->st) == 0)
			w->count++;
		free(part);
	}
}

/* Whether a file or link was not changed since the note's time, so that its owner cannot have
 * reviewed it later. Directories do not count: they may be older than files that the owner has
 * reviewed in them. */
static bool
not_seen(const struct stat *st, bool last, const struct timespec *time)
{
	return (last || S_ISLNK(st->st_mode)) && !is_before(time, &st->st_ctim);
}

/* Whether the target of a path, or a link on its way from `from` on, is as the sandboxed program
 * left it: for the note of a running call, changed since its start; otherwise, not changed since
 * its end. */
static bool
any_on_way(const struct note *n, bool call, const char *path, const char *from)
{
	bool any = false, last = false;

	for (const char *end = from; !any && !last; end++) {
		char *part;
		struct stat st;

		end += strcspn(end, "/");
		last = *end == '\0';
		part = memory_copy(path, (size_t)(end - path));
		any = lstat(part, &st) == 0 &&
		    (call ? is_since(&st, &n->time) : not_seen(&st, last, &n->time));
		free(part);
	}
	return any;
}

/* Whether a note makes a path suspect. The workspace, and what was made in it, are recognized by
 * their identities, since paths may contain links, and may have changed. */
static bool
doubts_way(const struct note *n, bool call, const struct way *w)
{
	char *const *made = call || n->identities == NULL ? NULL : n->identities + 1;

	for (size_t i = 0; i < w->count; i++) {
		const struct step *step = &w->steps[i];
		const char *end = w->path + step->end, *rest = end + 1;
		bool within = *end == '/';

		/* Is it one of the note's names, or inside of one? */
		if (within && is_workspace(n, step->identity, &step->st))
			for (char **name = n->names; *name != NULL; name++) {
				const char *part = call ? *name + 1 : *name;
				size_t len = strlen(part);

				if (len > 0 && (strncmp(rest, part, len) != 0 ||
				    (rest[len] != '/' && rest[len] != '\0')))
					continue;
				if ((call && **name == '-') || any_on_way(n, call, w->path, rest))
					return true;
			}
		if (list_has(made, step->identity) && (within ?
		    any_on_way(n, false, w->path, rest) : not_seen(&step->st, true, &n->time)))
			return true;
	}
	return false;
}

enum { PASSES = 0, REFUSED = -1, AGAIN = 1 };

/* Checks a file against a note. AGAIN: it is the note of a call that was killed, which must be
 * ended first. */
static int
ask_note(const char *path, int fd, const struct looked_at *file, struct error *err)
{
	bool call = text_ends(path, CALL), doubted = false, linked = false;
	struct note n;
	int result = PASSES;

	if (call && lock_file_take(fd) == 0)
		return AGAIN;
	if (note_read(&n, fd) == -1) {
		note_free(&n);
		return error_set(err, ERROR_SYSTEM, path, "is not what it was written as: read what "
		    "lies in the workspace, then remove it");
	}
	for (size_t i = 0; i < sizeof file->ways / sizeof *file->ways; i++) {
		const struct way *w = &file->ways[i];
		char identity[IDENTITY_SIZE];

		/* Does the file at the end of the path have several names? */
		if (w->count > 0 && n.linked != NULL) {
			memcpy(identity, w->steps[w->count - 1].identity, sizeof identity);
			*identity = LINKED_MARK;
			linked = linked || list_has(n.linked, identity);
		}
		doubted = doubted || linked || doubts_way(&n, call, w);
	}
	if (linked)
		result = error_set(err, ERROR_DEFINITION, file->name, "was made by a sandboxed program, "
		    "with another name (a hard link), by which it may be changed (workspace %s): it is "
		    "not taken up. Read a copy, then put that in its place", n.workspace);
	else if (doubted)
		result = error_set(err, ERROR_DEFINITION, file->name, "%s (workspace %s): it is not "
		    "taken up unseen. Read it, then touch it%s; --open lets sandboxed programs make "
		    "such files", call ? "appeared or changed while a sandboxed program ran that can "
		    "have written it" : "was made by a sandboxed program, where there was nothing",
		    n.workspace, call ? " when that has ended" : "");
	note_free(&n);
	return result;
}

/* Checks a file against all notes. AGAIN: a call had been killed, and was ended now. */
static int
unreviewed_check_once(const char *directory, DIR *dir, const struct looked_at *file,
    struct error *err)
{
	const struct dirent *entry;
	int result = PASSES;

	lock_file_share(dirfd(dir));
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
			/* End the call that was killed, unless another process has done so. */
			lock_file_release(dirfd(dir));
			if (lock_named(fd, path) && unreviewed_settle_call(path, fd) != 0)
				result = error_errno(err, ERROR_SYSTEM, path,
				    "unable to note what was made");
		}
		file_close(&fd);
		free(path);
	}
	return result;
}

int
unreviewed_check(const char *path, struct error *err)
{
	struct looked_at file = { .name = path };
	char here[PATH_MAX], *directory, *called, *real;
	struct storage storage;
	int fd, result = 0;
	DIR *dir;

	if (storage_locate(&storage, NULL) == -1)
		return 0;
	directory = path_join(storage.root, STORAGE_MADE);
	storage_close(&storage);
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir = fd == -1 ? NULL : fdopendir(fd);
	/* A process that is not allowed to see the storage is in a sandbox itself. */
	if (dir == NULL && errno != ENOENT && errno != ENOTDIR && errno != EACCES)
		result = error_errno(err, ERROR_SYSTEM, directory, "unable to look in it");
	if (dir != NULL) {
		called = *path == '/' ? memory_text(path) :
		    path_join(getcwd(here, sizeof here) == NULL ? "" : here, path);
		real = realpath(path, NULL);
		if (real != NULL && strcmp(called, real) == 0) {
			free(real);
			real = NULL;
		}
		way_follow(&file.ways[0], called);
		way_follow(&file.ways[1], real);
		while ((result = unreviewed_check_once(directory, dir, &file, err)) == AGAIN)
			rewinddir(dir);
		closedir(dir);
		for (size_t i = 0; i < sizeof file.ways / sizeof *file.ways; i++) {
			free(file.ways[i].path);
			free(file.ways[i].steps);
		}
	}
	free(directory);
	return result;
}
