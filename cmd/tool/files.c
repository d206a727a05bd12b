/*
 * A walk by readdir(3), depth first. A path is kept only if it is wanted, and sorting comes
 * once, at the end: the order of a directory's entries is the file system's own.
 */
#include "files.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "builtin.h"
#include "io/file.h"

struct search {
	struct files *files;
	size_t capacity;
	bool (*wanted)(const void *context, const char *path);
	const void *context;
};

static void
files_walk_directory(struct search *s, const char *prefix, DIR *directory)
{
	struct files *f = s->files;
	const struct dirent *entry;

	while ((entry = readdir(directory)) != NULL) {
		struct stat status;
		char *path;
		bool there;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    strcmp(entry->d_name, ".git") == 0)
			continue;
		path = memory_format("%s%s", prefix, entry->d_name);
		there = lstat(path, &status) == 0;
		/* A link to a file is one. */
		if (there && S_ISLNK(status.st_mode))
			there = stat(path, &status) == 0 && !S_ISDIR(status.st_mode);

		if (there && S_ISDIR(status.st_mode)) {
			DIR *inner = opendir(path);

			if (inner == NULL) {
				f->unread++;
			} else {
				char *below = memory_format("%s/", path);

				files_walk_directory(s, below, inner);
				free(below);
				closedir(inner);
			}
		}
		if (!there || !S_ISREG(status.st_mode) || !s->wanted(s->context, path + f->skip)) {
			free(path);
			continue;
		}
		if (f->count == s->capacity) {
			s->capacity = s->capacity * 2 + 64;
			f->list = memory_array(f->list, s->capacity, sizeof *f->list);
		}
		f->list[f->count++] = path;
	}
}

static int
files_compare_paths(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int
files_find(struct files *f, const char *directory,
    bool (*wanted)(const void *context, const char *path), const void *context,
    struct error *err)
{
	struct search s = { .files = f, .wanted = wanted, .context = context };
	DIR *opened = opendir(directory);
	char *prefix;

	*f = (struct files){ .list = NULL };
	if (opened == NULL)
		return builtin_errno(directory, false, err);
	prefix = strcmp(directory, ".") == 0 ? memory_text("") : path_join(directory, "");
	f->skip = strlen(prefix);
	files_walk_directory(&s, prefix, opened);
	free(prefix);
	closedir(opened);
	if (f->count > 0)
		qsort(f->list, f->count, sizeof *f->list, files_compare_paths);
	return 0;
}

void
files_free(struct files *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->list[i]);
	free(f->list);
}
