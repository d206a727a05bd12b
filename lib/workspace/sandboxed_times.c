/*
 * Lines are appended while the directory is locked. When a file has become too long, it is
 * rewritten: periods that are close together are merged.
 */
#define _GNU_SOURCE /* memmem(); O_PATH, in system/descriptor.h */
#include "workspace/sandboxed_times.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/id.h"
#include "base/invariant.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "io/lock.h"
#include "system/descriptor.h"
#include "system/file_status.h"
#include "workspace/linked_files.h"
#include "workspace/moved_directories.h"

#define CALL ".call"
#define SECOND INT64_C(1000000000)
#define FILE_LIMIT ((size_t)64 << 20)
#define MOVED_LIMIT 64            /* most moved directories that are named in a line */
#define UNKNOWN " *"              /* in place of names: it is not known which were moved */
#define LOOKED_AT_LIMIT 10000
#define DEPTH_LIMIT 8
#define LINKS_LIMIT 16
#define LONG ((size_t)64 << 10)   /* size from which a file is shortened */
#define IDENTITY_SIZE 64
#define CLOCK_LOOKS 40            /* the clock of files advances at least every 10 ms */

struct span_of_time {
	int64_t begin, end;
	const char *moved;   /* inodes of directories that were moved in the period, each preceded
	                        by a space; or UNKNOWN */
	size_t moved_len;
	const char *linked;  /* files with several names that were left
	                        (workspace/linked_files.h) */
	size_t linked_len;
};

/* What is written after the two times. */
struct span_names {
	struct buffer moved, linked;
};

/* The directory with the files; to be freed by the caller; NULL: there is no storage. */
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

/* The identity of a directory: inode and birth time. If the file system has no birth time, the
 * device is used. */
static void
identity_of(char identity[IDENTITY_SIZE], const struct file_status *st)
{
	if (st->born)
		snprintf(identity, IDENTITY_SIZE, "%llu-%lld-%ld", (unsigned long long)st->inode,
		    (long long)st->birth.tv_sec, st->birth.tv_nsec);
	else
		snprintf(identity, IDENTITY_SIZE, "%llu-%u-%u", (unsigned long long)st->inode,
		    st->device_major, st->device_minor);
}

/* The identity of the directory at a path; "" if it does not exist. */
static void
directory_identify(char identity[IDENTITY_SIZE], const char *path)
{
	struct file_status st;

	*identity = '\0';
	if (file_status_read(AT_FDCWD, path, true, &st) == 0)
		identity_of(identity, &st);
}

static int64_t
sandboxed_times_nanoseconds(const struct timespec *t)
{
	return (int64_t)t->tv_sec * SECOND + t->tv_nsec;
}

static int64_t
sandboxed_times_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return sandboxed_times_nanoseconds(&t);
}

/* The time of the clock that the kernel uses for files, which is a little behind the other
 * clock. */
static int64_t
now_of_files(void)
{
#ifdef CLOCK_REALTIME_COARSE
	struct timespec t;

	clock_gettime(CLOCK_REALTIME_COARSE, &t);
	return sandboxed_times_nanoseconds(&t);
#else
	return sandboxed_times_now() - SECOND;
#endif
}

/* Waits until the clock of files has advanced, so that later changes get a later time. */
static void
wait_for_files(int64_t time)
{
	for (int i = 0; i < CLOCK_LOOKS && now_of_files() <= time; i++)
		nanosleep(&(struct timespec){ 0, 500000 }, NULL);
}

/* ---- files ---- */

/* Reads the next line of a file, after its path or an earlier line. */
static bool
span_read(const char **at, struct span_of_time *span)
{
	const char *line;
	size_t len;
	int used;

	while ((line = text_part(at, '\n', &len)) != NULL)
		if (sscanf(line, "%" SCNd64 " %" SCNd64 "%n", &span->begin, &span->end, &used) == 2) {
			span->moved = line + used;
			span->linked = memmem(span->moved, len - (size_t)used, LINKED_MARK, sizeof LINKED_MARK - 1);
			if (span->linked == NULL)
				span->linked = line + len;
			span->moved_len = (size_t)(span->linked - span->moved);
			span->linked_len = (size_t)(line + len - span->linked);
			return true;
		}
	return false;
}

static size_t
count_spaces(const struct buffer *text)
{
	size_t count = 0;

	for (size_t i = 0; i < text->len; i++)
		count += text->data[i] == ' ';
	return count;
}

static void
span_append(struct buffer *text, const struct span_of_time *span, const struct span_names *names)
{
	const char *moved = buffer_string(&names->moved), *linked = buffer_string(&names->linked);

	if (count_spaces(&names->moved) > MOVED_LIMIT || strchr(moved, '*') != NULL)
		moved = UNKNOWN;
	if (count_spaces(&names->linked) > LINKED_LIMIT || strstr(linked, LINKED_UNKNOWN) != NULL)
		linked = LINKED_UNKNOWN;
	buffer_format(text, "%" PRId64 " %" PRId64 "%s%s\n", span->begin, span->end, moved, linked);
}

static void
names_append(struct span_names *names, const struct span_of_time *span)
{
	buffer_append(&names->moved, span->moved, span->moved_len);
	buffer_append(&names->linked, span->linked, span->linked_len);
}

static void
names_free(struct span_names *names)
{
	buffer_free(&names->moved);
	buffer_free(&names->linked);
}

/* The beginning of the lines in a file's text; NULL: the file has another form. */
static const char *
lines_of(const struct buffer *text)
{
	const char *at = text->len == 0 ? NULL : memchr(text->data, '\0', text->len);

	return at == NULL ? NULL : at + 1;
}

/* Merges periods that are no more than a number of seconds apart, and doubles that number until few
 * periods remain. At worst, more changes count as made by a sandboxed program. The periods are
 * sorted by their ends. */
static void
text_shorten(struct buffer *text)
{
	for (int64_t gap = SECOND; text->len > LONG / 2; gap *= 2) {
		struct buffer shorter = BUFFER_INIT;
		struct span_names names = { BUFFER_INIT, BUFFER_INIT };
		struct span_of_time last = { .begin = 0 }, next;
		const char *at = lines_of(text);
		bool any = false;

		buffer_append(&shorter, text->data, (size_t)(at - text->data));
		while (span_read(&at, &next)) {
			if (any && next.begin <= last.end + gap) {
				last.begin = next.begin < last.begin ? next.begin : last.begin;
				last.end = next.end;
				names_append(&names, &next);
				continue;
			}
			if (any)
				span_append(&shorter, &last, &names);
			last = next;
			buffer_clear(&names.moved);
			buffer_clear(&names.linked);
			names_append(&names, &next);
			any = true;
		}
		if (any)
			span_append(&shorter, &last, &names);
		INVARIANT(shorter.len <= text->len && lines_of(&shorter) != NULL);
		names_free(&names);
		buffer_free(text);
		*text = shorter;
	}
}

/* Adds a period to the file of a directory. -1 with errno. */
static int
time_add(const char *file, const char *path, const struct span_of_time *span, const struct span_names *names)
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
	span_append(&text, span, names);
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

/* The file of a program that runs, with the directories that existed when it began. */
struct call_note {
	const char *note;
	size_t len;
	bool whole;   /* the list of directories is complete */
};

/* Parses such a file. False if it has another form. */
static bool
call_read(const struct buffer *text, int64_t *begin, struct call_note *n)
{
	const char *at = lines_of(text), *end = at == NULL ? NULL : strchr(at, '\n');

	if (at == NULL || sscanf(at, "%" SCNd64, begin) != 1)
		return false;
	*n = (struct call_note){ NULL, 0, false };
	if (end != NULL && end[-1] != '*')
		*n = (struct call_note){ end + 1, (size_t)(text->data + text->len - (end + 1)), true };
	return true;
}

/* Finds the directories that a program may have moved. file: the name of the workspace's file
 * contains its identity, since another directory may have the workspace's path by now. */
static void
find_moved(struct buffer *moved, const struct call_note *n, const char *workspace, const char *file, int64_t begin)
{
	char identity[IDENTITY_SIZE];

	directory_identify(identity, workspace);
	if (n->whole && strcmp(identity, path_base(file)) == 0 &&
	    directories_compare(n->note, n->len, workspace, begin, moved) == 0)
		return;
	buffer_clear(moved);
	buffer_text(moved, UNKNOWN);
}

/* Ends the period of a program whose file is locked here: the file is replaced by a line. -1 with
 * errno. */
static int
call_settle(const char *path, int fd)
{
	char *directory = path_directory(path), *file = memory_text(path);
	int lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), failed = -1;
	struct buffer text = BUFFER_INIT;
	struct span_names names = { BUFFER_INIT, BUFFER_INIT };
	struct span_of_time span = { .begin = 0 };
	struct call_note n;
	bool known;

	/* FILE.ID.call */
	*strrchr(file, '.') = '\0';
	*strrchr(file, '.') = '\0';
	if (lock != -1 && lock_file_wait(lock) == 0 && lseek(fd, 0, SEEK_SET) == 0 &&
	    file_read(fd, &text, FILE_LIMIT) == 0) {
		known = call_read(&text, &span.begin, &n);
		if (known) {
			find_moved(&names.moved, &n, text.data, file, span.begin);
			linked_files_note(&names.linked, text.data, span.begin, buffer_string(&names.moved));
		}
		span.end = sandboxed_times_now();
		failed = known ? time_add(file, text.data, &span, &names) : 0;
		if (failed == 0)
			failed = unlink(path);
	}
	file_close(&lock);
	names_free(&names);
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
	struct buffer text = BUFFER_INIT, note = BUFFER_INIT;
	const int64_t begin = sandboxed_times_now();
	int failed = 0;

	*t = (struct sandboxed_time){ NULL, -1 };
	directory_identify(identity, directory);
	if (times == NULL || *identity == '\0') {
		free(times);
		return 0;
	}
	buffer_append(&text, directory, strlen(directory) + 1);
	if (directories_note(&note, directory) == 0) {
		buffer_format(&text, "%" PRId64 "\n", begin);
		buffer_append(&text, buffer_string(&note), note.len);
	} else {
		buffer_format(&text, "%" PRId64 UNKNOWN "\n", begin);
	}
	buffer_free(&note);
	t->path = memory_format("%s/%s.%s" CALL, times, identity, id_new(id));
	/* Make it under a hidden name first: when it appears, it is complete and locked. */
	hidden = memory_format("%s/.%s", times, id);
	if (mkdir(times, 0700) != 0 && errno == ENOENT) {
		char *above = path_directory(times);

		/* A storage that does not exist has no runs whose programs could be noted. */
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
	} else {
		wait_for_files(begin);
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
	else if (t->path != NULL)
		wait_for_files(sandboxed_times_now());
	file_close(&t->fd);
	free(t->path);
	t->path = NULL;
	return failed;
}

/* ---- checking a file ---- */

/* Whether a change was made in a period. Some file systems store only whole seconds. */
static bool
change_is_within(const struct timespec *change, const struct span_of_time *span)
{
	const int64_t at = sandboxed_times_nanoseconds(change);

	if (change->tv_nsec == 0)
		return at >= span->begin / SECOND * SECOND && at <= span->end;
	return at >= span->begin && at <= span->end;
}

/* The file that is checked: the time of its last change, and the directories above it that were
 * examined so far, from the innermost. */
struct look {
	struct timespec change;
	const char *path;
	const char *directory;   /* the directory that contains it */
	struct buffer above;     /* struct above */
};

struct above {
	uint64_t inode;
	struct timespec changed;
	size_t path_len;         /* length of that directory's path */
};

/* Whether one of the directories above was changed since a time: if none was, none was moved. */
static bool
any_changed_since(const struct look *l, int64_t since)
{
	const struct above *above = (const struct above *)(const void *)l->above.data;
	const struct span_of_time later = { .begin = since, .end = INT64_MAX };

	for (size_t i = 0; i < l->above.len / sizeof *above; i++)
		if (change_is_within(&above[i].changed, &later))
			return true;
	return false;
}

/* Whether one of the directories above was moved in a period that has ended, and the file was not
 * changed since. */
static bool
any_was_moved(const struct look *l, const struct span_of_time *span)
{
	const struct above *above = (const struct above *)(const void *)l->above.data;
	const struct span_of_time before = { .begin = 0, .end = span->end };
	char inode[32];

	if (span->moved_len == 0 || !change_is_within(&l->change, &before))
		return false;
	if (memchr(span->moved, '*', span->moved_len) != NULL)
		return any_changed_since(l, span->begin);
	for (size_t i = 0; i < l->above.len / sizeof *above; i++) {
		snprintf(inode, sizeof inode, "%" PRIu64, above[i].inode);
		for (const char *at = span->moved; at < span->moved + span->moved_len; at++) {
			const size_t len = strlen(inode);

			if (*at == ' ' && strncmp(at + 1, inode, len) == 0 && (at[1 + len] == ' ' || at[1 + len] == '\n'))
				return true;
		}
	}
	return false;
}

/* Whether one of the directories above was moved since the start of a program that is still
 * running. */
static bool
any_is_moved(const struct look *l, const char *workspace, const struct call_note *n)
{
	const struct above *above = (const struct above *)(const void *)l->above.data;
	const size_t skipped = strlen(workspace) + (strcmp(workspace, "/") != 0);

	for (size_t i = 0; n->whole && i < l->above.len / sizeof *above; i++)
		if (!directories_noted(n->note, n->len, l->directory + skipped, above[i].path_len - skipped,
		    above[i].inode))
			return true;
	return !n->whole;
}

/* Whether the change was made in one of the periods of a directory. at: its lines; NULL: it has
 * none. */
static bool
lines_tell(const char *at, const struct look *l)
{
	struct linked_file file = { .path = l->path };
	struct span_of_time span;

	while (at != NULL && span_read(&at, &span))
		if (change_is_within(&l->change, &span) || any_was_moved(l, &span) ||
		    linked_files_tell(span.linked, span.linked_len, span.end, &file))
			return true;
	return false;
}

/* The same for the file of a program that runs: usually the time at its beginning decides, and the
 * list of directories, which may be long, is not read. */
static bool
call_tells(int fd, const char *workspace, const struct look *l)
{
	struct span_of_time span = { .end = INT64_MAX };
	char head[PATH_MAX + 64];
	const ssize_t len = pread(fd, head, sizeof head - 1, 0);
	struct buffer text = BUFFER_INIT;
	struct call_note n;
	bool tells = false;

	if (len > 0) {
		buffer_append(&text, head, (size_t)len);
		tells = call_read(&text, &span.begin, &n) && change_is_within(&l->change, &span);
		if (!tells && any_changed_since(l, span.begin)) {
			buffer_clear(&text);
			tells = file_read(fd, &text, FILE_LIMIT) != 0 ||
			    (call_read(&text, &span.begin, &n) && any_is_moved(l, workspace, &n));
		}
	}
	buffer_free(&text);
	return tells;
}

/* Whether the files of a directory show that something was changed while a sandboxed program ran,
 * or was moved together with a directory. */
static bool
directory_tells(const char *times, DIR *dir, const char *directory, const struct look *l)
{
	char identity[IDENTITY_SIZE];
	const struct dirent *entry;
	bool tells = false;

	directory_identify(identity, directory);
	rewinddir(dir);
	while (!tells && *identity != '\0' && (entry = readdir(dir)) != NULL) {
		const char *rest = entry->d_name + strlen(identity);
		struct buffer text = BUFFER_INIT;
		char *file;
		int fd;

		if (strncmp(entry->d_name, identity, strlen(identity)) != 0 || (*rest != '\0' && *rest != '.'))
			continue;
		file = path_join(times, entry->d_name);
		fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd != -1 && *rest == '.')
			tells = call_tells(fd, directory, l);
		else if (fd != -1 && file_read(fd, &text, FILE_LIMIT) == 0)
			tells = lines_tell(lines_of(&text), l);
		/* If a program was killed, its period ends now. */
		if (fd != -1 && *rest == '.' && lock_file_take(fd) == 0 && lock_named(fd, file))
			call_settle(file, fd);
		buffer_free(&text);
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
	char *times = times_directory(), *given = path_directory(path), *directory = realpath(given, NULL), *at;
	DIR *dir = times == NULL || directory == NULL ? NULL : opendir(times);
	struct look look = { .path = path, .directory = directory, .above = BUFFER_INIT };
	bool have = false;
	struct stat st;

	if (dir != NULL && lstat(path, &st) == 0) {
		look.change = st.st_ctim;
		at = memory_text(directory);
		do {
			have = directory_tells(times, dir, at, &look);
			if (!have && lstat(at, &st) == 0)
				buffer_append(&look.above, &(struct above){ (uint64_t)st.st_ino, st.st_ctim, strlen(at) },
				    sizeof(struct above));
		} while (!have && path_climb(&at));
		free(at);
	}
	if (dir != NULL)
		closedir(dir);
	buffer_free(&look.above);
	free(directory);
	free(given);
	free(times);
	return have;
}

/* ---- checking many files ---- */

/* A directory that a walk has entered. */
struct level {
	struct above above;
	char **texts;   /* the lines about it; NULL: there are none */
	bool runs;      /* a program that can write to it is running, or was killed */
};

struct sandboxed_walk {
	char *times;
	char **names;           /* names of the files in times/, sorted */
	size_t name_count;
	struct level *levels;   /* from the root to the present directory */
	size_t depth, capacity;
	size_t told;            /* how many levels have texts, or a program that runs */
};

static int
names_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The index of the first name that does not come before a text. */
static size_t
names_find(const struct sandboxed_walk *w, const char *text)
{
	size_t low = 0, high = w->name_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (strcmp(w->names[middle], text) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Reads the periods of a directory. If they cannot be read, sandboxed_times_have() is used
 * instead. */
static void
level_read(struct sandboxed_walk *w, struct level *level, const char *identity)
{
	const size_t len = strlen(identity);

	for (size_t i = names_find(w, identity); i < w->name_count && strncmp(w->names[i], identity, len) == 0; i++) {
		char *file = w->names[i][len] == '\0' ? path_join(w->times, w->names[i]) : NULL;
		int fd = file == NULL ? -1 : open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		struct buffer text = BUFFER_INIT;

		if (fd != -1 && file_read(fd, &text, FILE_LIMIT) == 0 && lines_of(&text) != NULL)
			list_add(&level->texts, lines_of(&text));
		else
			level->runs = level->runs || w->names[i][len] == '\0' || w->names[i][len] == '.';
		file_close(&fd);
		buffer_free(&text);
		free(file);
	}
	w->told += level->texts != NULL || level->runs;
}

void
sandboxed_walk_enter(struct sandboxed_walk *w, int fd, const char *path)
{
	struct level level = { .texts = NULL };
	char identity[IDENTITY_SIZE];
	struct file_status st;

	if (w == NULL)
		return;
	if (file_status_read(fd, "", true, &st) == 0) {
		level.above = (struct above){ st.inode, st.changed, strlen(path) };
		identity_of(identity, &st);
		level_read(w, &level, identity);
	} else {
		level.runs = true;
		w->told++;
	}
	if (w->depth == w->capacity) {
		w->capacity = w->capacity * 2 + 16;
		w->levels = memory_array(w->levels, w->capacity, sizeof *w->levels);
	}
	w->levels[w->depth++] = level;
}

void
sandboxed_walk_leave(struct sandboxed_walk *w)
{
	struct level *level;

	if (w == NULL)
		return;
	INVARIANT(w->depth > 0);
	level = &w->levels[--w->depth];
	w->told -= level->texts != NULL || level->runs;
	list_free(level->texts);
}

struct sandboxed_walk *
sandboxed_walk_begin(const char *directory)
{
	char *times = times_directory();
	DIR *dir = times == NULL ? NULL : opendir(times);
	struct buffer names = BUFFER_INIT;
	const struct dirent *entry;
	struct sandboxed_walk *w;

	INVARIANT(*directory == '/');
	if (dir == NULL) {
		free(times);
		return NULL;
	}
	w = memory_array(NULL, 1, sizeof *w);
	*w = (struct sandboxed_walk){ .times = times };
	for (; (entry = readdir(dir)) != NULL; w->name_count++)
		buffer_append(&names, &(char *){ memory_text(entry->d_name) }, sizeof(char *));
	closedir(dir);
	buffer_append(&names, &(char *){ NULL }, sizeof(char *));
	w->names = (char **)(void *)buffer_take(&names);
	qsort(w->names, w->name_count, sizeof *w->names, names_compare);
	for (size_t len = 1;;) {
		char *part = memory_copy(directory, len);
		int fd = open(part, DESCRIPTOR_PLACE | O_DIRECTORY | O_CLOEXEC);

		sandboxed_walk_enter(w, fd, part);
		file_close(&fd);
		free(part);
		if (directory[len] == '\0')
			break;
		len += directory[len] == '/';
		len += strcspn(directory + len, "/");
	}
	return w;
}

bool
sandboxed_walk_have(const struct sandboxed_walk *w, const char *path, const struct stat *status)
{
	struct look look = { .change = status->st_ctim, .path = path, .above = BUFFER_INIT };
	bool have = false, runs = false;

	if (w == NULL || w->told == 0)
		return false;
	for (size_t i = 0; i < w->depth; i++)
		runs = runs || w->levels[i].runs;
	for (size_t i = w->depth; !runs && !have && i-- > 0;) {
		for (char **text = w->levels[i].texts; !have && text != NULL && *text != NULL; text++)
			have = lines_tell(*text, &look);
		buffer_append(&look.above, &w->levels[i].above, sizeof w->levels[i].above);
	}
	buffer_free(&look.above);
	return runs ? sandboxed_times_have(path) : have;
}

void
sandboxed_walk_end(struct sandboxed_walk *w)
{
	if (w == NULL)
		return;
	while (w->depth > 0)
		sandboxed_walk_leave(w);
	list_free(w->names);
	free(w->levels);
	free(w->times);
	free(w);
}

/* The path of a link's target, with links on the way to the link itself resolved. */
static char *
link_target(const char *path)
{
	char target[PATH_MAX], *given, *directory, *joined;
	const ssize_t len = readlink(path, target, sizeof target - 1);

	if (len <= 0)
		return NULL;
	target[len] = '\0';
	if (*target == '/')
		return memory_text(target);
	given = path_directory(path);
	directory = realpath(given, NULL);
	joined = directory == NULL ? NULL : path_join(directory, target);
	free(directory);
	free(given);
	return joined;
}

/* Whether a link on the way to a path or to its target was made in such a period; the last part of
 * the path may be a link, too. */
static bool
any_link_have(const char *path, int depth)
{
	bool have = false;

	for (size_t len = 1; !have && len <= strlen(path); len++) {
		char *part, *target;

		if (path[len] != '/' && path[len] != '\0')
			continue;
		part = memory_copy(path, len);
		target = link_target(part);
		have = target != NULL && (depth == 0 || sandboxed_times_have(part) || any_link_have(target, depth - 1));
		free(target);
		free(part);
	}
	return have;
}

bool
sandboxed_times_have_file(const char *path)
{
	char *real = sandboxed_times_exist() ? realpath(path, NULL) : NULL;
	bool have = sandboxed_times_have(path) || (real != NULL && strcmp(real, path) != 0 &&
	    (any_link_have(path, LINKS_LIMIT) || sandboxed_times_have(real)));

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
		have = real != NULL && (any_link_have(path, LINKS_LIMIT) || have_below(real, depth + 1, looked_at));
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

	return sandboxed_times_exist() && (any_link_have(path, LINKS_LIMIT) || have_below(path, 0, &looked_at));
}
