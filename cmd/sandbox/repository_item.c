/*
 * Files in the workspace are opened by their path from the top without following symbolic links, so
 * that nothing that is moved meanwhile leads outside. A directory that its owner may not list or
 * enter is opened up for as long as the workspace is examined: the owner may do so later, too.
 */
#define _GNU_SOURCE
#include "sandbox/repositories_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifndef AWF_PORTABLE
#include <linux/openat2.h>
#include <sys/syscall.h>
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#endif

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "sandbox/examine.h"

#define CONTENT_LIMIT ((size_t)1 << 20)
#define INDEX_LIMIT ((size_t)32 << 20) /* of some 300,000 files */
#define KEPT_LIMIT ((size_t)128 << 20) /* of all indexes; that of the workspace itself is the first */

int
repositories_open_unnoted(int root, const char *path, int flags)
{
	if (*path == '\0')
		path = ".";
#ifndef AWF_PORTABLE
	const struct open_how how = { .flags = (unsigned long long)(flags | O_CLOEXEC),
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH };

	return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
#else
	return openat(root, path, flags | O_NOFOLLOW | O_CLOEXEC);
#endif
}

int
repositories_open(int root, const char *path, int flags)
{
	const int fd = repositories_open_unnoted(root, path, flags);

	if (fd == -1)
		examine_note_error(root, *path == '\0' ? "." : path);
	return fd;
}

char *
repositories_join_path(const char *directory, const char *name)
{
	return *directory == '\0' ? memory_text(name) : path_join(directory, name);
}

/* The directories that were opened up, and their modes before. */
static struct {
	struct opened { char *path; int root; mode_t mode; } *list;
	size_t count;
} opened;

/* Sets the mode of a directory that is open with O_PATH. */
static bool
change_mode(int fd, mode_t mode)
{
	char link[48];

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	return chmod(link, mode & 07777) == 0;
}

/* Opens up the directories of a path, as far as they are the user's. Returns whether there were
 * any. */
static bool
open_up(int root, const char *path)
{
	const size_t before = opened.count;
	bool there = true;

	for (size_t len = 0; there && len <= strlen(path); len++) {
		char *part;
		struct stat st;
		int fd;

		if (len > 0 && path[len] != '/' && path[len] != '\0')
			continue;
		part = memory_copy(path, len);
		fd = repositories_open_unnoted(root, part, O_PATH | O_DIRECTORY);
		there = fd != -1;
		if (there && fstat(fd, &st) == 0 && st.st_uid == geteuid() && (~st.st_mode & (S_IRUSR | S_IXUSR)) != 0 &&
		    change_mode(fd, st.st_mode | S_IRUSR | S_IXUSR)) {
			opened.list = memory_array(opened.list, opened.count + 1, sizeof *opened.list);
			opened.list[opened.count++] = (struct opened){ part, root, st.st_mode };
			part = NULL;
		}
		free(part);
		file_close(&fd);
	}
	return opened.count > before;
}

void
repositories_close_again(void)
{
	/* The last one first, as it is inside of others. */
	while (opened.count > 0) {
		struct opened *last = &opened.list[--opened.count];
		int fd = repositories_open_unnoted(last->root, last->path, O_PATH | O_DIRECTORY);

		if (fd != -1)
			change_mode(fd, last->mode);
		file_close(&fd);
		free(last->path);
	}
	free(opened.list);
	opened.list = NULL;
}

int
repositories_status(int root, const char *path, struct stat *st)
{
	if (fstatat(root, path, st, AT_SYMLINK_NOFOLLOW) == 0 ||
	    (errno == EACCES && open_up(root, path) && fstatat(root, path, st, AT_SYMLINK_NOFOLLOW) == 0))
		return 0;
	examine_note_error(root, path);
	return -1;
}

DIR *
repositories_open_directory(int root, const char *path)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK;
	int fd = repositories_open_unnoted(root, path, flags);
	struct stat st;
	DIR *dir;

	if (fd == -1 && errno == EACCES && open_up(root, path))
		fd = repositories_open_unnoted(root, path, flags);
	else if (fd != -1 && fstat(fd, &st) == 0 && (st.st_mode & S_IXUSR) == 0)
		open_up(root, path);
	if (fd == -1)
		examine_note_error(root, *path == '\0' ? "." : path);
	dir = fd == -1 ? NULL : fdopendir(fd);
	if (dir == NULL && fd != -1) {
		examine_note_error(fd, ".");
		close(fd);
	}
	return dir;
}

bool
repositories_is_there(int at, const char *name)
{
	struct stat st;

	return examine_status(at, name, &st) == 0;
}

const struct dirent *
repositories_next_entry(DIR *dir)
{
	const struct dirent *entry;

	do {
		errno = 0;
		entry = readdir(dir);
	} while (entry != NULL && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
	if (entry == NULL && errno != 0)
		examine_note_error(dirfd(dir), ".");
	return entry;
}

mode_t
repositories_entry_kind(DIR *dir, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return (mode_t)DTTOIF(entry->d_type);
	return examine_status(dirfd(dir), entry->d_name, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

void
repositories_load_file(int at, const char *name, struct buffer *content, bool *whole)
{
	int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd == -1)
		examine_note_error(at, name);
	*whole = fd != -1 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	if (*whole && file_read(fd, content, strcmp(name, "index") == 0 ? INDEX_LIMIT : CONTENT_LIMIT) != 0) {
		examine_note_error(at, name);
		*whole = false;
	}
	file_close(&fd);
}

/* Describes all entries below a directory by their lstat(2) data. Only one directory is open at a
 * time, at any depth. */
static void
repositories_describe_directory(struct buffer *out, int root, const char *path)
{
	DIR *dir = repositories_open_directory(root, path);
	const struct dirent *entry;
	char **below = NULL;
	struct stat st;

	while (dir != NULL && (entry = repositories_next_entry(dir)) != NULL) {
		if (examine_status(dirfd(dir), entry->d_name, &st) != 0)
			continue;
		buffer_format(out, "%s %llu %lld %lld.%09ld\n", entry->d_name,
		    (unsigned long long)st.st_ino, (long long)st.st_size, (long long)st.st_ctim.tv_sec,
		    st.st_ctim.tv_nsec);
		if (S_ISDIR(st.st_mode))
			list_take(&below, path_join(path, entry->d_name));
	}
	if (dir != NULL)
		closedir(dir);
	for (char **directory = below; directory != NULL && *directory != NULL; directory++)
		repositories_describe_directory(out, root, *directory);
	list_free(below);
}

bool
repositories_is_special(mode_t mode)
{
	return !S_ISREG(mode) && !S_ISDIR(mode) && !S_ISLNK(mode);
}

void
repositories_begin_judgement(struct walk *w)
{
	w->missed = examine_count_missed();
}

struct odd_item *
repositories_add_item(struct walk *w, int at, const char *directory, const char *name, char **settings,
    const char *content)
{
	struct odd_item item = { .path = repositories_join_path(directory, name),
	    .settings = settings, .copy = -1 };
	struct buffer bytes = BUFFER_INIT;
	char target[PATH_MAX];
	struct stat st;
	ssize_t len;

	if (examine_status(at, name, &st) != 0) {
		free(item.path);
		list_free(settings);
		return NULL;
	}
	item.mode = st.st_mode;
	item.changed = st.st_mtim;
	item.linked = S_ISREG(st.st_mode) && st.st_nlink > 1;
	item.waits = repositories_is_special(st.st_mode);
	if (content != NULL) {
		buffer_text(&bytes, content);
	} else if (S_ISLNK(st.st_mode)) {
		len = readlinkat(at, name, target, sizeof target - 1);
		buffer_append(&bytes, target, len > 0 ? (size_t)len : 0);
		item.whole = len > 0;
	} else if (S_ISREG(st.st_mode)) {
		repositories_load_file(at, name, &bytes, &item.whole);
		if (item.whole && bytes.len > CONTENT_LIMIT) {
			w->r->kept += bytes.len;
			item.whole = w->r->kept <= KEPT_LIMIT;
		}
	}
	if (content == NULL && S_ISDIR(st.st_mode)) {
		repositories_describe_directory(&bytes, w->r->workspace, item.path);
	} else if (content == NULL && !item.whole) {
		buffer_clear(&bytes);
		buffer_format(&bytes, "%llu %lld %lld.%09ld", (unsigned long long)st.st_ino,
		    (long long)st.st_size, (long long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
	}
	if (examine_count_missed() != w->missed) {
		buffer_free(&bytes);
		free(item.path);
		list_free(settings);
		return NULL;
	}
	item.len = bytes.len;
	item.content = buffer_take(&bytes);
	w->r->items = memory_array(w->r->items, w->r->count + 1, sizeof *w->r->items);
	w->r->items[w->r->count++] = item;
	return &w->r->items[w->r->count - 1];
}

const struct odd_item *
repositories_find_item(const struct repositories *r, const char *path)
{
	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->items[i].path, path) == 0)
			return &r->items[i];
	return NULL;
}

void
repositories_judge_odd(struct walk *w, int at, const char *directory, const char *name)
{
	repositories_add_item(w, at, directory, name, NULL, NULL);
}

bool
repositories_is_here(const struct walk *w, const char *path)
{
	return path_within(path, w->r->root);
}

const char *
repositories_path_inside(const struct walk *w, const char *path)
{
	return path + strlen(w->r->root) + (strcmp(w->r->root, "/") != 0);
}

char *
repositories_path_from(const struct walk *w, const char *directory, const char *path)
{
	char *base = *path == '/' ? NULL : repositories_join_path(w->r->root, directory);
	char *whole = base == NULL ? memory_text(path) : path_join(base, path);
	char *normal = path_normal(whole);

	free(base);
	free(whole);
	return normal;
}

char *
repositories_real_path(const char *path)
{
	char *real = realpath(path, NULL);

	if (real == NULL)
		examine_note_error(AT_FDCWD, path);
	return real;
}

char *
repositories_path_resolved(const char *path)
{
	char *normal = path_normal(path), *there = memory_text(normal), *real, *whole;
	const char *rest;

	while ((real = repositories_real_path(there)) == NULL && path_climb(&there))
		continue;
	rest = normal + strlen(there);
	rest += *rest == '/';
	whole = real == NULL ? memory_text(normal) : *rest == '\0' ? memory_text(real) : path_join(real, rest);
	free(real);
	free(there);
	free(normal);
	return whole;
}

char *
repositories_load_line(int at, const char *name)
{
	struct buffer text = BUFFER_INIT;
	bool whole;
	char *line;

	repositories_load_file(at, name, &text, &whole);
	while (text.len > 0 && strchr(" \t\r\n", text.data[text.len - 1]) != NULL)
		text.len--;
	line = whole && text.len > 0 && memchr(text.data, '\n', text.len) == NULL ?
	    memory_copy(text.data, text.len) : memory_text("");
	buffer_free(&text);
	return line;
}

bool
repositories_is_earlier(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

bool
repositories_have(const struct repositories *r, const char *path)
{
	return list_has(r->found, path);
}

void
repositories_add_directory(struct walk *w, char *path)
{
	if (w->count == w->capacity) {
		w->capacity = w->capacity * 2 + 64;
		w->directories = memory_array(w->directories, w->capacity, sizeof *w->directories);
	}
	w->directories[w->count++] = path;
}

int
repositories_compare_seen(const void *a, const void *b)
{
	return strcmp(((const struct seen_directory *)a)->path, ((const struct seen_directory *)b)->path);
}

const struct seen_directory *
repositories_find_seen(const struct repositories *r, const char *path)
{
	char *text = memory_text(path);
	const struct seen_directory key = { .path = text };
	const struct seen_directory *found = r->seen_count == 0 ? NULL :
	    bsearch(&key, r->seen, r->seen_count, sizeof *r->seen, repositories_compare_seen);

	free(text);
	return found;
}

void
repositories_examine_inside(struct walk *w, const char *directory, const char *name)
{
	char *path = repositories_join_path(directory, name);

	if (w->before == NULL || repositories_find_seen(w->before, path) == NULL)
		repositories_add_directory(w, path);
	else
		free(path);
}

void
repositories_add_data(struct walk *w, const char *path)
{
	if (!list_has(w->r->data, path))
		list_add(&w->r->data, path);
}
