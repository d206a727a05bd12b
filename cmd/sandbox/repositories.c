/*
 * Examines the directories of the workspace in one pass (repository_item.c opens them).
 *
 * The second pass lists only directories that are new or have changed, according to the time of the
 * last status change (ctime), which no program can set. That time is coarse, so a directory that
 * was changed just before the first pass is always listed.
 *
 * What the code relies on:
 *   - A file that says where a repository is (a pointer) names one that was examined, or is odd. So
 *     the data of a repository need not be searched for other repositories.
 *   - What cannot be examined (sandbox/examine.h) is unknown: it is left as it is, and reported. If
 *     that happens in the first pass, the command is not run.
 */
#define _GNU_SOURCE
#include "sandbox/repositories_parts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "sandbox/examine.h"

#define COPIES 64                /* limit of copies of files, which are open while the command
                                    runs */
#define BALLAST ((size_t)64 << 10) /* enough for a directory or two, and for new names in others */

/* Whether no name can have been added to a directory since it was seen. */
static bool
is_unchanged(const struct seen_directory *seen, const struct stat *st)
{
	return seen->device == st->st_dev && seen->inode == st->st_ino &&
	    seen->changed.tv_sec == st->st_ctim.tv_sec && seen->changed.tv_nsec == st->st_ctim.tv_nsec;
}

/* Adds a directory that was seen. st: NULL if it could not be listed. If its ctime is not reliable,
 * the directory will count as changed. */
static void
add_seen(struct walk *w, const char *path, const struct stat *st)
{
	const bool known = st != NULL && repositories_is_earlier(&st->st_ctim, &w->settled);
	struct repositories *r = w->r;

	if (r->seen_count == w->seen_capacity) {
		w->seen_capacity = w->seen_capacity * 2 + 64;
		r->seen = memory_array(r->seen, w->seen_capacity, sizeof *r->seen);
	}
	r->seen[r->seen_count] = (struct seen_directory){ .path = memory_text(path) };
	if (known) {
		r->seen[r->seen_count].device = st->st_dev;
		r->seen[r->seen_count].inode = st->st_ino;
		r->seen[r->seen_count].changed = st->st_ctim;
	}
	r->seen_count++;
}

/* Examines a directory, or an entry called .git, in a directory of the workspace. */
static void
repositories_examine_entry(struct walk *w, int at, const char *directory, const char *name,
    mode_t kind)
{
	char *path = repositories_join_path(directory, name);
	DIR *repository;

	repositories_begin_judgement(w);
	if (strcasecmp(name, REPOSITORY) != 0) {
		/* A directory that was seen in the first pass is handled anyhow. */
		if (w->before == NULL || repositories_find_seen(w->before, path) == NULL) {
			repositories_add_directory(w, path);
			return;
		}
	} else if (kind == S_IFREG) {
		if (!list_has(w->r->pointers, path))
			list_add(&w->r->pointers, path);
	} else if (kind == S_IFDIR) {
		repository = repositories_open_directory(w->r->workspace, path);
		if (repository != NULL) {
			repository_judge(w, repository, path, false);
			closedir(repository);
		}
	} else {
		repositories_add_item(w, at, directory, name, NULL, NULL);
	}
	free(path);
}

static void
repositories_examine_directory(struct walk *w, const char *path)
{
	/* Files outside of its repository that git reads. */
	static const char *const read_here[] = { ".gitattributes", ".gitignore", ".gitmodules", ".mailmap", NULL };
	char *file;
	DIR *dir = repositories_open_directory(w->r->workspace, path);
	const struct dirent *entry;
	bool head = false;
	struct stat st;

	if (w->before == NULL)
		add_seen(w, path, dir != NULL && fstat(dirfd(dir), &st) == 0 ? &st : NULL);
	if (dir == NULL)
		return;
	while ((entry = repositories_next_entry(dir)) != NULL) {
		mode_t kind = repositories_entry_kind(dir, entry);

		head = head || strcmp(entry->d_name, "HEAD") == 0;
		if (kind == S_IFDIR || strcasecmp(entry->d_name, REPOSITORY) == 0) {
			repositories_examine_entry(w, dirfd(dir), path, entry->d_name, kind);
		} else if (kind != S_IFREG && text_index(entry->d_name, read_here) != -1) {
			file = repositories_join_path(path, entry->d_name);
			repositories_add_data(w, file);
			free(file);
		}
	}
	if (head && repository_has_shape(dir))
		repository_judge(w, dir, path, true);
	closedir(dir);
}

static bool
was_odd(const struct repositories *before, const char *path)
{
	const struct odd_item *was = repositories_find_item(before, path);

	return was != NULL && !was->plain;
}

/* Whether the repository at a path relative to the workspace was examined and contains nothing odd
 * that will stay. */
static bool
is_plain_repository(const struct walk *w, const char *path)
{
	for (size_t i = 0; i < w->r->count; i++)
		if (!w->r->items[i].plain && (*path == '\0' || path_within(w->r->items[i].path, path)) &&
		    (w->before == NULL || was_odd(w->before, w->r->items[i].path)))
			return false;
	return repositories_have(w->r, path);
}

/* Judges a file .git with "gitdir: PATH": it is plain if there is a plain repository at the
 * path. */
static void
judge_pointer(struct walk *w, const char *path)
{
	static const char word[] = "gitdir: ";
	char *directory = path_directory(path), *line, *target = NULL, *real = NULL;
	struct odd_item *item;
	const char *repository = NULL;
	bool plain, unknown;
	int at;

	repositories_begin_judgement(w);
	if (strcmp(directory, ".") == 0)
		*directory = '\0';
	at = repositories_open(w->r->workspace, directory, O_PATH | O_DIRECTORY);
	line = repositories_load_line(at, path_base(path));
	if (strncmp(line, word, sizeof word - 1) == 0) {
		target = repositories_path_from(w, directory, line + sizeof word - 1);
		real = repositories_real_path(target);
	}
	if (real != NULL && repositories_is_here(w, real))
		repository = real[strlen(w->r->root)] == '/' ? real + strlen(w->r->root) + 1 : "";
	plain = repository != NULL && is_plain_repository(w, repository);
	/* The repository existed before, and may now be among what could not be examined. */
	unknown = repository != NULL && w->before != NULL && examine_count_missed() > 0 &&
	    repositories_have(w->before, repository) && !repositories_have(w->r, repository);
	if (!unknown && (!plain || w->before == NULL)) {
		item = repositories_add_item(w, at, directory, path_base(path), NULL, NULL);
		if (item != NULL)
			item->plain = plain;
	}
	file_close(&at);
	free(real);
	free(target);
	free(line);
	free(directory);
}

/* Examines all directories in the list. */
static void
repositories_examine_all(struct walk *w)
{
	while (w->count > 0) {
		char *path = w->directories[--w->count];

		repositories_examine_directory(w, path);
		free(path);
	}
}

static void
end_walk(struct walk *w)
{
	for (char **path = w->r->pointers; path != NULL && *path != NULL; path++)
		judge_pointer(w, *path);
	repositories_find_used(w);
	for (char **path = w->r->used; path != NULL && *path != NULL; path++)
		repositories_judge_used(w, *path);
	for (char **path = w->r->data; path != NULL && *path != NULL; path++)
		repositories_judge_read(w, *path);
	free(w->directories);
}

/* Makes a file without a name in a directory; it disappears with its last descriptor, unless it
 * gets a name. -1: the file system does not support that, or is full. */
static int
make_unnamed_file(int at, const char *content, size_t len, mode_t mode)
{
	int fd = openat(at, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);

	if (fd != -1 && (file_write(fd, content, len) != 0 || fchmod(fd, mode) != 0))
		file_close(&fd);
	return fd;
}

void
repositories_copy(struct repositories *r)
{
	static char nothing[BALLAST];
	size_t copies = 0;

	if (r->found != NULL)
		r->ballast = make_unnamed_file(r->workspace, nothing, sizeof nothing, S_IRUSR | S_IWUSR);
	for (size_t i = 0; r->ballast != -1 && i < r->count && copies < COPIES; i++) {
		struct odd_item *item = &r->items[i];
		char *directory = path_directory(item->path);
		int at;

		if (item->whole && S_ISREG(item->mode)) {
			at = repositories_open_unnoted(r->workspace, directory, O_PATH | O_DIRECTORY);
			item->copy = at == -1 ? -1 : make_unnamed_file(at, item->content, item->len, item->mode & 0777);
			copies += item->copy != -1;
			file_close(&at);
		}
		free(directory);
	}
	examine_release();
}

void
repositories_forget_copies(struct repositories *r)
{
	file_close(&r->ballast);
	for (size_t i = 0; i < r->count; i++)
		file_close(&r->items[i].copy);
}

int
repositories_find(struct repositories *r, int workspace, const char *root, const char *home, struct error *err)
{
	struct walk w = { .r = r };
	bool reserved;

	*r = (struct repositories){ .workspace = workspace, .root = memory_text(root), .ballast = -1 };
	clock_gettime(CLOCK_REALTIME, &w.settled);
	w.settled.tv_sec--;
	r->began = w.settled;
	examine_begin();
	reserved = examine_reserve(workspace) == 0;
	if (!reserved)
		examine_note_error(workspace, ".");
	git_settings_read_users(&r->settings, home);
	repositories_add_directory(&w, memory_text(""));
	repositories_examine_all(&w);
	end_walk(&w);
	repositories_close_again();
	if (r->seen_count > 0)
		qsort(r->seen, r->seen_count, sizeof *r->seen, repositories_compare_seen);
	if (r->noted_count > 0)
		qsort(r->noted, r->noted_count, sizeof *r->noted, repositories_compare_texts);
	return examine_check(err);
}

void
repositories_find_again(struct repositories *r, const struct repositories *before)
{
	struct walk w = { .r = r, .before = before };
	struct stat st;
	DIR *dir;

	*r = (struct repositories){ .workspace = before->workspace, .root = memory_text(before->root), .ballast = -1 };
	examine_begin();
	for (char **path = before->found; path != NULL && *path != NULL; path++) {
		dir = repositories_open_directory(r->workspace, *path);
		if (dir == NULL)
			continue;
		if (strcasecmp(path_base(*path), REPOSITORY) == 0)
			repository_judge(&w, dir, *path, false);
		else if (repository_has_shape(dir))
			repository_judge(&w, dir, *path, true); /* parts of other repositories are skipped */
		closedir(dir);
	}
	for (char **path = before->pointers; path != NULL && *path != NULL; path++)
		list_add(&r->pointers, *path);
	r->data = list_copy(before->data);
	for (size_t i = 0; i < before->seen_count; i++) {
		const struct seen_directory *seen = &before->seen[i];

		if (repositories_status(r->workspace, *seen->path == '\0' ? "." : seen->path, &st) == 0 &&
		    S_ISDIR(st.st_mode) && !is_unchanged(seen, &st))
			repositories_add_directory(&w, memory_text(seen->path));
	}
	repositories_examine_all(&w);
	end_walk(&w);
}

void
repositories_free_item(struct odd_item *item)
{
	file_close(&item->copy);
	free(item->path);
	free(item->repository);
	list_free(item->settings);
	free(item->content);
}

void
repositories_free(struct repositories *r)
{
	file_close(&r->ballast);
	for (size_t i = 0; i < r->count; i++)
		repositories_free_item(&r->items[i]);
	free(r->items);
	free(r->root);
	list_free(r->found);
	list_free(r->pointers);
	list_free(r->unknown);
	list_free(r->shared);
	for (size_t i = 0; i < r->seen_count; i++)
		free(r->seen[i].path);
	free(r->seen);
	list_free(r->used);
	list_free(r->used_there);
	list_free(r->data);
	for (size_t i = 0; i < r->noted_count; i++)
		free(r->noted[i]);
	free(r->noted);
	git_settings_free(&r->settings);
	*r = (struct repositories){ .workspace = -1, .ballast = -1 };
}
