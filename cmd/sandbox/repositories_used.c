/*
 * Files of the workspace that git executes, includes or reads because settings name them: settings
 * of the repositories, and of the user.
 */
#define _GNU_SOURCE
#include "sandbox/repositories_parts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "sandbox/examine.h"

#define USED_LIMIT 1000

/* The directory to which paths in a repository's settings are relative: its work tree, or the
 * repository itself. */
static char *
work_tree_of(const struct walk *w, const char *path)
{
	char *whole = repositories_join_path(w->r->root, path), *directory;

	if (*path == '\0') {
		free(whole);
		whole = memory_text(w->r->root);
	}
	if (strcasecmp(path_base(whole), REPOSITORY) != 0)
		return whole;
	directory = path_directory(whole);
	free(whole);
	return directory;
}

/* Reads the settings of a repository outside of the workspace, which a file .git names. */
static void
read_settings_elsewhere(struct walk *w, const char *pointer)
{
	static const char word[] = "gitdir: ";
	static const char *const files[] = { "config", "config.worktree", "../../config" /* of a linked work tree */ };
	char *line = repositories_load_line(AT_FDCWD, pointer), *top = path_directory(pointer), *target;

	if (strncmp(line, word, sizeof word - 1) == 0) {
		target = line[sizeof word - 1] == '/' ? memory_text(line + sizeof word - 1) :
		    path_join(top, line + sizeof word - 1);
		for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
			char *file = path_join(target, files[i]);

			git_settings_read(&w->r->settings, file);
			free(file);
		}
		free(target);
	}
	free(top);
	free(line);
}

/* Reads the settings of the repository that contains the workspace, if any. Returns its work tree,
 * allocated; NULL: none. */
static char *
read_settings_above(struct walk *w)
{
	char *top = path_directory(w->r->root);

	do {
		char *repository = path_join(top, REPOSITORY), *file = path_join(repository, "config");
		struct stat st;
		const bool is = examine_status(AT_FDCWD, repository, &st) == 0;

		if (is && S_ISDIR(st.st_mode))
			git_settings_read(&w->r->settings, file);
		else if (is)
			read_settings_elsewhere(w, repository);
		free(file);
		free(repository);
		if (is)
			return top;
	} while (path_climb(&top));
	free(top);
	return NULL;
}

/* Adds a file of the workspace that a setting names, relative to a work tree, and the target of its
 * symbolic links. word: it is a word of a command, and names a file only if it looks like a path or
 * a file exists. */
static void
add_used(struct walk *w, const char *top, const char *name, bool word)
{
	char *joined = *name == '/' ? memory_text(name) : path_join(top, name);
	char *paths[] = { path_normal(joined), repositories_path_resolved(joined) };
	struct stat st;
	const bool there = examine_status(AT_FDCWD, paths[1], &st) == 0,
	    is_file = !word || (there ? S_ISREG(st.st_mode) : strpbrk(name, "/.") != NULL);

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		if (is_file && repositories_is_here(w, paths[i]) && strcmp(paths[i], w->r->root) != 0 &&
		    !list_has(w->r->used, paths[i]))
			list_add(&w->r->used, paths[i]);
		free(paths[i]);
	}
	free(joined);
}

/* The same for a file that a setting names and that git reads as data. */
static void
add_used_data(struct walk *w, const char *top, const char *name)
{
	char *joined = *name == '/' ? memory_text(name) : path_join(top, name);
	char *paths[] = { path_normal(joined), repositories_path_resolved(joined) };

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		if (repositories_is_here(w, paths[i]) && strcmp(paths[i], w->r->root) != 0)
			repositories_add_data(w, repositories_path_inside(w, paths[i]));
		free(paths[i]);
	}
	free(joined);
}

static void
add_all_used(struct walk *w, const char *top)
{
	const struct git_settings *s = w->before != NULL ? &w->before->settings : &w->r->settings;

	for (char **path = s->data; path != NULL && *path != NULL; path++)
		add_used_data(w, top, *path);
	for (char **path = s->paths; path != NULL && *path != NULL; path++)
		add_used(w, top, *path, false);
	for (char **word = s->words; word != NULL && *word != NULL; word++)
		add_used(w, top, *word, true);
}

void
repositories_find_used(struct walk *w)
{
	const struct repositories *before = w->before;
	char **tops = NULL, *top;

	if (before == NULL) {
		for (char **pointer = w->r->pointers; pointer != NULL && *pointer != NULL; pointer++) {
			char *path = repositories_join_path(w->r->root, *pointer);

			read_settings_elsewhere(w, path);
			free(path);
		}
		top = read_settings_above(w);
		if (top != NULL)
			list_take(&tops, top);
		list_add(&tops, w->r->root);
	} else {
		w->r->used = list_copy(before->used);
	}
	for (char **path = w->r->found; path != NULL && *path != NULL; path++)
		if (before == NULL || !list_has(before->found, *path))
			list_take(&tops, work_tree_of(w, *path));
	for (char **path = w->r->pointers; path != NULL && *path != NULL; path++)
		if (before == NULL || !list_has(before->pointers, *path))
			list_take(&tops, work_tree_of(w, *path));
	for (char **path = tops; path != NULL && *path != NULL; path++)
		add_all_used(w, *path);
	list_free(tops);
}

/* Adds everything below as items, up to a limit. */
static void
judge_used_below(struct walk *w, int at, const char *directory, const char *name)
{
	struct stat st;

	if (w->used_count++ >= USED_LIMIT || examine_status(at, name, &st) != 0)
		return;
	if (S_ISDIR(st.st_mode))
		repositories_judge_each(w, at, directory, name, judge_used_below);
	else
		repositories_add_item(w, at, directory, name, NULL, NULL);
}

/* Whether reading a path of the workspace gives the content of a file of the workspace, or fails,
 * and does not block. */
static bool
is_data_plain(const struct walk *w, const char *path)
{
	char *whole = path_join(w->r->root, path), *real = repositories_real_path(whole);
	struct stat st;
	bool plain = real == NULL;

	if (real != NULL && repositories_is_here(w, real) && examine_status(AT_FDCWD, real, &st) == 0)
		plain = !repositories_is_special(st.st_mode);
	free(real);
	free(whole);
	return plain;
}

void
repositories_judge_read(struct walk *w, const char *path)
{
	const char *end = path;
	bool done;

	repositories_begin_judgement(w);
	done = is_data_plain(w, path);
	while (!done && *end != '\0') {
		char *part, *directory;
		struct odd_item *item;
		struct stat st;
		int at;

		end += strcspn(end, "/");
		part = memory_copy(path, (size_t)(end - path));
		directory = path_directory(part);
		if (strcmp(directory, ".") == 0)
			*directory = '\0';
		at = repositories_open(w->r->workspace, directory, O_PATH | O_DIRECTORY);
		done = at == -1 || examine_status(at, path_base(part), &st) != 0;
		if (!done && !S_ISDIR(st.st_mode)) {
			item = repositories_find_item(w->r, part) != NULL ? NULL : repositories_add_item(w, at, directory, path_base(part), NULL, NULL);
			if (item != NULL)
				item->waits = true;
			done = true;
		}
		file_close(&at);
		free(directory);
		free(part);
		end += *end == '/';
	}
}

void
repositories_judge_used(struct walk *w, const char *path)
{
	const char *from = repositories_path_inside(w, path), *end = from;
	const bool was = w->before == NULL || list_has(w->before->used_there, path);
	bool done = false;

	for (; !done && *end != '\0'; end += *end == '/') {
		char *part, *directory;
		struct stat st;
		int at;

		end += strcspn(end, "/");
		repositories_begin_judgement(w);
		part = memory_copy(from, (size_t)(end - from));
		directory = path_directory(part);
		if (strcmp(directory, ".") == 0)
			*directory = '\0';
		at = repositories_open(w->r->workspace, directory, O_PATH | O_DIRECTORY);
		if (at == -1 || examine_status(at, path_base(part), &st) != 0) {
			done = true;
		} else if (S_ISLNK(st.st_mode) || *end == '\0') {
			if (w->before == NULL)
				list_add(&w->r->used_there, path);
			/* If the path was a directory before, its files are compared one by one. */
			if (S_ISDIR(st.st_mode) && was)
				repositories_judge_each(w, at, directory, path_base(part), judge_used_below);
			else if (repositories_find_item(w->r, part) == NULL)
				repositories_add_item(w, at, directory, path_base(part), NULL, NULL);
			done = true;
		}
		file_close(&at);
		free(directory);
		free(part);
	}
}
