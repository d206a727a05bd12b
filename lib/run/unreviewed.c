/*
 * A note is: the workspace, a time, names, identities, each with NUL at its end. That of a
 * call has the time of its start, and names with '-' before them if they were not there, '+'
 * if they were. That of a name has the time when the last call ended that made it or changed
 * it, and that one name.
 *
 * An identity, with '@' before it, is what stays of a directory that gets another path: its
 * inode and the time of its birth. The first is the workspace's, the others those of what was
 * made: the name and all directories in it. Of a file that is moved by itself the kernel
 * renews the last change. With '=' before it, it is a file's that had several names (hard
 * links): what is done to another of these changes it, so it never counts as seen; a copy does.
 *
 * A name that leads elsewhere in the workspace by a link is noted as the place where it leads
 * too, both when the call begins and when it ends.
 *
 * What the code relies on:
 *   - Who runs a call holds the lock of its note. If nobody does, the call was killed, and
 *     whoever comes upon the note ends it.
 *   - The directory's lock keeps a look and the end of a call apart.
 *   - A note appears when it is whole and locked.
 */
#define _GNU_SOURCE
#include "run/unreviewed.h"

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
#include "base/file.h"
#include "base/id.h"
#include "base/lock.h"
#include "base/memory.h"
#include "run/storage.h"

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
	const char **names;         /* ends with NULL */
	const char **identities;    /* likewise; NULL: there are none */
	const char **linked;        /* likewise, of files with several names */
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

/* What the path leads to. Empty: it leads nowhere. Where the file system tells no birth, the
 * device stands for it. */
static void
identify(char identity[IDENTITY_SIZE], const char *path, int flags)
{
	struct statx st;

	*identity = '\0';
	if (statx(AT_FDCWD, path, flags, STATX_INO | STATX_BTIME, &st) != 0)
		return;
	if (st.stx_mask & STATX_BTIME)
		snprintf(identity, IDENTITY_SIZE, "%c%llu %lld.%09u", IDENTITY_MARK,
		    (unsigned long long)st.stx_ino, (long long)st.stx_btime.tv_sec,
		    st.stx_btime.tv_nsec);
	else
		snprintf(identity, IDENTITY_SIZE, "%c%llu %u:%u", IDENTITY_MARK,
		    (unsigned long long)st.stx_ino, st.stx_dev_major, st.stx_dev_minor);
}

/* Where a name of the workspace leads in it by a link, relative to it. In memory of its own;
 * NULL: by no link, or nowhere there. */
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
add_text(const char ***list, size_t *count, const char *text)
{
	*list = memory_array(*list, *count + 2, sizeof **list);
	(*list)[(*count)++] = text;
	(*list)[*count] = NULL;
}

/* -1: it is no note. */
static int
note_parse(struct note *n)
{
	const char *at = n->bytes.data, *end = at + n->bytes.len;
	size_t names = 0, identities = 0, linked = 0;
	long long seconds;

	if (n->bytes.len == 0 || end[-1] != '\0')
		return -1;
	n->workspace = at;
	at += strlen(at) + 1;
	if (at == end || sscanf(at, "%lld.%ld", &seconds, &n->time.tv_nsec) != 2)
		return -1;
	n->time.tv_sec = (time_t)seconds;
	for (at += strlen(at) + 1; at < end; at += strlen(at) + 1)
		if (names > 0 && *at == IDENTITY_MARK)
			add_text(&n->identities, &identities, at);
		else if (names > 0 && *at == LINKED_MARK)
			add_text(&n->linked, &linked, at);
		else
			add_text(&n->names, &names, at);
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
	free(n->identities);
	free(n->linked);
}

static bool
has_text(const char *const *list, const char *text)
{
	for (; list != NULL && *list != NULL; list++)
		if (strcmp(*list, text) == 0)
			return true;
	return false;
}

/* Whether something is what was the note's workspace, or has its path now: what some file
 * systems say of an inode does not outlast a reboot. */
static bool
is_workspace(const struct note *n, const char *identity, const struct stat *st)
{
	struct stat now;

	if (n->identities != NULL && strcmp(*n->identities, identity) == 0)
		return true;
	return stat(n->workspace, &now) == 0 && now.st_dev == st->st_dev && now.st_ino == st->st_ino;
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
	if (fd != -1 && lock_file_take(fd) != 0) {
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

/* Whether the workspace lies where it lay. */
static bool
is_in_place(const struct note *call)
{
	char identity[IDENTITY_SIZE];

	identify(identity, call->workspace, 0);
	return call->identities == NULL || strcmp(identity, *call->identities) == 0;
}

/* Of the path, and of all directories and files with several names below it. What is too much
 * to look at is left out. */
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
	identify(identity, path, AT_SYMLINK_NOFOLLOW);
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

/* A name's note is called after what was made too: it may lie elsewhere when the name is made
 * once more. */
static char *
name_of_note(const char *workspace, const char *name, const char *path)
{
	char identity[IDENTITY_SIZE], digest[DIGEST_SIZE], *all, *file;

	identify(identity, path, AT_SYMLINK_NOFOLLOW);
	all = memory_format("%s/%s/%s", workspace, name, identity);
	file = memory_text(digest_sha256(all, strlen(all), digest));
	free(all);
	return file;
}

static int
doubt(const char *directory, const struct note *call, const char *name)
{
	char *path = path_join(call->workspace, name);
	char *file = name_of_note(call->workspace, name, path);
	struct buffer bytes = BUFFER_INIT;
	struct timespec now;
	int fd, looked_at = 0;

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
	free(file);
	free(path);
	return fd == -1 ? -1 : 0;
}

/* What a link that was there leads to now, and did not before. */
static int
doubt_led_to(const char *directory, const struct note *call, const char *name)
{
	char *place = led_to(call->workspace, name + 1), *known;
	int failed = 0;

	if (place != NULL) {
		known = memory_format("+%s", place);
		if (!has_text(call->names, known))
			failed = doubt(directory, call, place);
		free(known);
	}
	free(place);
	return failed;
}

/* A workspace that was moved meanwhile cannot be looked at: all of its names are doubted. */
static int
doubt_made(const char *directory, const struct note *call)
{
	const bool in_place = is_in_place(call);
	int failed = 0;

	for (const char **name = call->names; failed == 0 && *name != NULL; name++)
		if (!in_place || was_made(call, *name))
			failed = doubt(directory, call, *name + 1);
		else if (**name == '+')
			failed = doubt_led_to(directory, call, *name);
	return failed;
}

/* Of a call whose note's lock is taken. -1 with errno: the note stays. */
static int
settle(const char *path, int fd)
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
		rmdir(directory); /* if it is empty */
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

static void
describe(struct buffer *bytes, const char *workspace, char *const *names)
{
	char identity[IDENTITY_SIZE];
	struct timespec now;

	/* That of files, which lags behind the other. */
#ifdef CLOCK_REALTIME_COARSE
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
#else
	clock_gettime(CLOCK_REALTIME, &now);
	now.tv_sec--;
#endif
	add_field(bytes, workspace);
	add_time(bytes, &now);
	for (; *names != NULL; names++) {
		char *place = led_to(workspace, *names);

		describe_name(bytes, workspace, *names);
		if (place != NULL)
			describe_name(bytes, workspace, place);
		free(place);
	}
	identify(identity, workspace, 0);
	if (*identity != '\0')
		add_field(bytes, identity);
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

static bool
is_of_call(const char *note)
{
	size_t len = strlen(note), end = strlen(CALL);

	return len > end && strcmp(note + len - end, CALL) == 0;
}

static bool
note_has(int fd, const char *workspace, const char *name, const char *made)
{
	char identity[IDENTITY_SIZE];
	struct stat st;
	struct note n;
	bool has = false;

	identify(identity, workspace, 0);
	if (note_read(&n, fd) == 0 && stat(workspace, &st) == 0)
		has = (strcmp(*n.names, name) == 0 && is_workspace(&n, identity, &st)) ||
		    has_text(n.identities, made);
	note_free(&n);
	return has;
}

bool
unreviewed_noted(const char *workspace, const char *name)
{
	char *directory = directory_of_environment(), *path = path_join(workspace, name);
	DIR *dir = directory == NULL ? NULL : opendir(directory);
	char made[IDENTITY_SIZE];
	const struct dirent *entry;
	bool noted = false;

	identify(made, path, AT_SYMLINK_NOFOLLOW);
	while (!noted && dir != NULL && (entry = readdir(dir)) != NULL) {
		int fd;

		if (*entry->d_name == '.' || is_of_call(entry->d_name))
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		noted = fd != -1 && note_has(fd, workspace, name, made);
		if (fd != -1)
			close(fd);
	}
	if (dir != NULL)
		closedir(dir);
	free(path);
	free(directory);
	return noted;
}

/* ---- looks ---- */

/* Whether a file's name, from the workspace on, is this or lies in it. */
static bool
lies_in(const char *rest, const char *name)
{
	size_t len = strlen(name);

	return len == 0 ||
	    (strncmp(rest, name, len) == 0 && (rest[len] == '/' || rest[len] == '\0'));
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

/* What an absolute path goes through, one after the other. */
struct way {
	char *path;
	struct step {
		size_t end;    /* of its name in the path */
		char identity[IDENTITY_SIZE];    /* of what it leads to */
		struct stat st;
	} *steps;
	size_t count;
};

/* Takes the path over; NULL: it leads nowhere. */
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
		identify(step->identity, part, 0);
		if (*step->identity != '\0' && stat(part, &step->st) == 0)
			w->count++;
		free(part);
	}
}

static void
way_free(struct way *w)
{
	free(w->path);
	free(w->steps);
}

/* Whether the file at the end of the way had several names. */
static bool
was_linked(const struct note *n, const struct way *w)
{
	char identity[IDENTITY_SIZE];

	if (w->count == 0 || n->linked == NULL)
		return false;
	memcpy(identity, w->steps[w->count - 1].identity, sizeof identity);
	*identity = LINKED_MARK;
	return has_text(n->linked, identity);
}

/* A workspace and what was made in it are known by what they are: their path may have links,
 * and they may have another by now. */
static bool
doubts_way(const struct note *n, bool call, const struct way *w)
{
	const char *const *made = call || n->identities == NULL ? NULL : n->identities + 1;

	for (size_t i = 0; i < w->count; i++) {
		const struct step *step = &w->steps[i];

		if (w->path[step->end] == '/' && is_workspace(n, step->identity, &step->st) &&
		    doubts_rest(n, call, w->path, w->path + step->end + 1))
			return true;
		if (has_text(made, step->identity) &&
		    (w->path[step->end] != '/' ? not_seen(&step->st, true, &n->time) :
		    any_on_way(w->path, w->path + step->end + 1, &n->time, not_seen)))
			return true;
	}
	return false;
}

/* A file that is looked at: as it is called, and the ways there, with links and without. */
struct looked_at {
	const char *name;
	struct way called, real;
};

enum { PASSES = 0, REFUSED = -1, AGAIN = 1 };

static int
refuse(const struct looked_at *file, const struct note *n, bool call, struct error *err)
{
	const char *made = call ? "appeared or changed while a sandboxed program ran that can have "
	    "written it" : "was made by a sandboxed program, where there was nothing";

	if (was_linked(n, &file->called) || was_linked(n, &file->real))
		return error_set(err, ERROR_DEFINITION, file->name, "was made by a sandboxed program, "
		    "with another name (a hard link), by which it may be changed (workspace %s): it is "
		    "not taken up. Read a copy, then put that in its place", n->workspace);
	return error_set(err, ERROR_DEFINITION, file->name, "%s (workspace %s): it is not taken "
	    "up unseen. Read it, then touch it%s; --open lets sandboxed programs make such files",
	    made, n->workspace, call ? " when that has ended" : "");
}

static int
ask_note(const char *path, int fd, const struct looked_at *file, struct error *err)
{
	bool call = is_of_call(path);
	struct note n;
	int result = PASSES;

	if (call && lock_file_take(fd) == 0)
		return AGAIN;
	if (note_read(&n, fd) == -1)
		result = error_set(err, ERROR_SYSTEM, path, "is not what it was written as: read what "
		    "lies in the workspace, then remove it");
	else if (doubts_way(&n, call, &file->called) || doubts_way(&n, call, &file->real) ||
	    was_linked(&n, &file->called) || was_linked(&n, &file->real))
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
			lock_file_release(dirfd(dir));
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
	char here[PATH_MAX], *called, *real;

	/* Who may not see the storage is in a sandbox. */
	if (dir == NULL && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
		return 0;
	if (dir == NULL)
		return error_errno(err, ERROR_SYSTEM, directory, "unable to look in it");
	called = *path == '/' ? memory_text(path) :
	    path_join(getcwd(here, sizeof here) == NULL ? "" : here, path);
	real = realpath(path, NULL);
	if (real != NULL && strcmp(called, real) == 0) {
		free(real);
		real = NULL;
	}
	way_follow(&file.called, called);
	way_follow(&file.real, real);
	while ((result = look(directory, dir, &file, err)) == AGAIN)
		rewinddir(dir);
	closedir(dir);
	way_free(&file.called);
	way_free(&file.real);
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
