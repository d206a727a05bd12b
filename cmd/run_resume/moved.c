/*
 * Storage and workspace have moved together if the ends of their paths are unchanged: if
 * /home/ann/proj/.awf is now /mnt/copy/proj/.awf, /home/ann has become /mnt/copy. The
 * shortest differing prefix is used, so a workspace beside the storage is found as well as
 * one that contains it.
 */
#include "run_resume/moved.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

struct move {
	char *from, *to; /* without a trailing slash; NULL: nothing has moved */
};

static bool
is_directory(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The path after the move, to be freed by the caller; NULL: it is not below the moved directory. */
static char *
move_path(const struct move *m, const char *path)
{
	size_t len = m->from != NULL ? strlen(m->from) : 0;

	if (m->from == NULL || strncmp(path, m->from, len) != 0 ||
	    (path[len] != '/' && path[len] != '\0'))
		return NULL;
	return memory_format("%s%s", m->to, path + len);
}

/* The prefix in which the two paths differ, up to a slash. */
static struct move
find_move(const char *was, const char *is)
{
	size_t a = strlen(was), b = strlen(is), a_end = a, b_end = b;

	while (a > 0 && b > 0 && was[a - 1] == is[b - 1]) {
		a--, b--;
		if (was[a] == '/')
			a_end = a, b_end = b;
	}
	if (a == 0 && b == 0)
		return (struct move){ NULL, NULL };
	return (struct move){ memory_copy(was, a_end), memory_copy(is, b_end) };
}

static void
move_text(char **path, const struct move *moves, size_t count)
{
	for (size_t i = 0; *path != NULL && i < count; i++) {
		char *moved = move_path(&moves[i], *path);
		bool there = moved != NULL && (i == 0 || access(*path, F_OK) != 0);

		if (there) {
			free(*path);
			*path = moved;
			return;
		}
		free(moved);
	}
}

void
moved_files(struct resume *r, const char *directory, const char *stored)
{
	struct move both = r->stored != NULL && stored != NULL ? find_move(r->stored, stored) :
	    (struct move){ NULL, NULL };
	const struct move moves[] = { { r->directory, memory_text(directory) }, both };

	if (strcmp(directory, r->directory) != 0)
		for (size_t i = 0; i < r->words.files.count; i++)
			move_text(&r->words.files.list[i].path, moves, 2);
	free(moves[0].to);
	free(both.from);
	free(both.to);
}

/* Paths in the workspace are changed first; a path outside of it has moved if it no
 * longer exists. */
static void
move_record(struct resume *r, const char *to, const struct move *both)
{
	const struct move moves[] = { { memory_text(r->directory), memory_text(to) },
		{ both->from, both->to } };
	size_t count = sizeof moves / sizeof *moves;

	move_text(&r->recorded.directory, moves, count);
	move_text(&r->script, moves, count);
	/* At most: an interpreter, its argument, the script. */
	for (size_t i = 0; i < 3 && r->recorded.argv != NULL && r->recorded.argv[i] != NULL; i++)
		if (*r->recorded.argv[i] == '/')
			move_text(&r->recorded.argv[i], moves, count);
	for (size_t i = 0; i < r->words.files.count; i++)
		move_text(&r->words.files.list[i].path, moves, count);
	if (r->settings.workspace != NULL) {
		free(r->settings.workspace);
		r->settings.workspace = memory_text(to);
	}
	free(r->moved_from);
	r->moved_from = r->directory;
	r->directory = memory_text(to);
	free(moves[0].from);
	free(moves[0].to);
}

int
moved_find_workspace(struct resume *r, const char *given, char **told, struct error *err)
{
	struct move both = r->stored != NULL ? find_move(r->stored, r->storage.root) :
	    (struct move){ NULL, NULL };
	char *path = move_path(&both, r->directory), *beside = path != NULL ? realpath(path, NULL) : NULL;
	char *was = memory_text(r->directory);
	bool there = is_directory(r->directory), here = beside != NULL && is_directory(beside);
	int failed = 0;

	*told = NULL;
	if (given != NULL)
		move_record(r, given, &both);
	else if (there && here)
		failed = error_set(err, ERROR_USAGE, r->run_id, "its storage was at %s, and is a copy or "
		    "was moved: say which workspace is meant, --workspace %s or --workspace %s", r->stored,
		    r->directory, beside);
	else if (here)
		move_record(r, beside, &both);
	if (failed == 0 && strcmp(was, r->directory) != 0)
		*told = memory_format("%s: the workspace was %s, and is %s now", r->run_id, was,
		    r->directory);
	free(was);
	free(beside);
	free(path);
	free(both.from);
	free(both.to);
	return failed;
}
