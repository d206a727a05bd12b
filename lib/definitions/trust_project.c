/*
 * One walk through the tree, with descriptors of directories; links are not followed. The index of
 * each repository in the tree tells which files git tracks; if this parser does not know the form
 * of an index (split, sparse), everything in that repository counts.
 */
#include "definitions/trust_project.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "isolate/git_index.h"
#include "storage/storage.h"
#include "workspace/sandboxed_times.h"

#define SEEN_LIMIT 500000      /* most names that are examined */
#define DEPTH_LIMIT 100
#define SHA1_LENGTH 20
#define INDEX_LIMIT ((size_t)64 << 20)
#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
#define FILE_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* AWF's own directories: storage, data, configuration. */
struct places {
	struct stat status[3];
	size_t count;
};

struct walk {
	const char *root;
	struct buffer path;    /* path of the current directory, relative to root: "", or with a
	                          slash at the end */
	struct digest digest;
	struct trust_project *found;
	char **written;        /* NULL: contents are hashed; otherwise the first file that a
	                          sandboxed program has written is searched for */
	const char *definition; /* the definition, as given by the caller */
	struct sandboxed_walk *sandboxed; /* NULL: no sandboxed program has run */
	struct places own;
	long long bytes;
	size_t seen;
};

/* The files that git tracks in a repository: paths relative to it, sorted. */
struct tracked {
	size_t base;           /* length of the repository's path in walk.path */
	char **paths;
	size_t count;
};

static bool
walk_ends(const struct walk *w)
{
	return w->found->too_large || (w->written != NULL && *w->written != NULL);
}

/* ---- what git tracks ---- */

static void
tracked_free(struct tracked *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->paths[i]);
	free(t->paths);
	*t = (struct tracked){ .paths = NULL };
}

static void
tracked_add(void *context, const char *path, int flags)
{
	struct tracked *t = context;

	(void)flags;
	t->paths = memory_array(t->paths, t->count + 1, sizeof *t->paths);
	t->paths[t->count++] = memory_text(path);
}

/* Reads the index of the repository in a directory. False: there is none, or it has an unknown
 * form. */
static bool
tracked_read(struct tracked *t, int directory, size_t base)
{
	static const char prefix[] = "gitdir: ";
	struct buffer text = BUFFER_INIT;
	struct stat status;
	int git = -1, fd, named;
	bool known;

	*t = (struct tracked){ .base = base };
	if (fstatat(directory, ".git", &status, AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	if (S_ISDIR(status.st_mode)) {
		git = openat(directory, ".git", DIRECTORY_FLAGS);
	} else if ((named = openat(directory, ".git", FILE_FLAGS)) != -1) {
		if (file_read(named, &text, PATH_MAX) == 0 && strncmp(buffer_string(&text), prefix, sizeof prefix - 1) == 0) {
			text.data[strcspn(text.data, "\r\n")] = '\0';
			git = openat(directory, text.data + sizeof prefix - 1, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
		}
		close(named);
	}
	buffer_clear(&text);
	fd = git == -1 ? -1 : openat(git, "index", FILE_FLAGS);
	known = fd != -1 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && file_read(fd, &text, INDEX_LIMIT) == 0 &&
	    git_index_read(buffer_string(&text), text.len, SHA1_LENGTH, tracked_add, t) == 0;
	if (!known)
		tracked_free(t);
	file_close(&fd);
	file_close(&git);
	buffer_free(&text);
	return known;
}

static int
texts_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Whether git tracks a file; path: relative to the repository. */
static bool
tracked_has(const struct tracked *t, const char *path)
{
	return t->count > 0 && bsearch(&path, t->paths, t->count, sizeof *t->paths, texts_compare) != NULL;
}

/* ---- the walk ---- */

static bool
is_own_place(const struct walk *w, const struct stat *status)
{
	bool own = false;

	for (size_t i = 0; i < w->own.count; i++)
		own = own || (w->own.status[i].st_dev == status->st_dev && w->own.status[i].st_ino == status->st_ino);
	return own;
}

static bool
file_is_written(const struct walk *w, const char *path, const struct stat *status)
{
	char *whole = w->sandboxed != NULL ? path_join(w->root, path) : NULL;
	const bool written = whole != NULL && sandboxed_walk_have(w->sandboxed, whole, status);

	free(whole);
	return written;
}

/* Enters a directory; its path is in w->path, with a slash at the end. */
static void
directory_enter(struct walk *w, int fd)
{
	char *path = w->sandboxed != NULL ? path_join(w->root, buffer_string(&w->path)) : NULL;

	if (path != NULL) {
		path[strlen(path) - 1] = '\0';
		sandboxed_walk_enter(w->sandboxed, fd, path);
	}
	free(path);
}

static void
digest_add_field(struct digest *d, const char *kind, const void *bytes, size_t len)
{
	char head[64];

	digest_add(d, head, (size_t)snprintf(head, sizeof head, "%s %zu ", kind, len));
	digest_add(d, bytes, len);
}

/* Adds a file or a link to the digest. */
static void
file_add(struct walk *w, int directory, const char *name, const char *path, const struct stat *status)
{
	char said[PATH_MAX] = "-", content[DIGEST_SIZE] = "-";
	const char *kind = "other";
	ssize_t len;
	int fd;

	if (++w->found->files > TRUST_PROJECT_FILES ||
	    (S_ISREG(status->st_mode) && (w->bytes += status->st_size) > TRUST_PROJECT_BYTES)) {
		w->found->too_large = true;
		return;
	}
	if (S_ISLNK(status->st_mode)) {
		kind = "link";
		len = readlinkat(directory, name, said, sizeof said - 1);
		digest_sha256(said, len > 0 ? (size_t)len : 0, content);
	} else if (S_ISREG(status->st_mode)) {
		kind = (status->st_mode & S_IXUSR) != 0 ? "program" : "file";
		fd = openat(directory, name, FILE_FLAGS);
		if (fd == -1 || digest_fd_blake2b(fd, content) != 0)
			memcpy(content, "-", 2);
		file_close(&fd);
	}
	digest_add_field(&w->digest, kind, path, strlen(path));
	digest_add_field(&w->digest, " is", content, strlen(content));
}

/* The names in a directory except . and .., sorted. dir NULL: it could not be read. */
static char **
names_of(struct walk *w, DIR *dir)
{
	const struct dirent *entry;
	struct buffer names = BUFFER_INIT;
	char **list = NULL;
	size_t count = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL && !w->found->too_large) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		w->found->too_large = ++w->seen > SEEN_LIMIT;
		buffer_append(&names, &(char *){ memory_text(entry->d_name) }, sizeof(char *));
		count++;
	}
	buffer_append(&names, &(char *){ NULL }, sizeof(char *));
	list = (char **)(void *)buffer_take(&names);
	qsort(list, count, sizeof *list, texts_compare);
	return list;
}

/* Whether a name in .git is data that git writes. */
static bool
is_data_of_git(const char *name)
{
	static const char *const data[] = { "objects", "refs", "logs", "worktrees", "lfs", "annex", "index", "packed-refs",
		"shallow", "description", "gc.log", "gc.pid", "rebase-merge", "rebase-apply", "sequencer", "MERGE_MSG",
		"MERGE_MODE", "MERGE_RR", "AUTO_MERGE", "SQUASH_MSG", "NOTES_EDITMSG", "COMMIT_EDITMSG", "TAG_EDITMSG",
		"rr-cache", NULL };

	for (const char *const *known = data; *known != NULL; known++)
		if (strcmp(name, *known) == 0)
			return true;
	return text_ends(name, "HEAD") || text_ends(name, ".lock") || strncmp(name, "BISECT_", 7) == 0 ||
	    strncmp(name, "sharedindex.", 12) == 0 || strncmp(name, "fsmonitor--daemon", 17) == 0;
}

enum part { PART_FILES, PART_GIT, PART_MODULES };

/* Closes the directory. */
static void walk_directory(struct walk *w, int directory, enum part part, const struct tracked *repository,
    bool own, int depth);

/* Handles a name in a directory, whose path is in w->path. */
static void
walk_name(struct walk *w, int directory, const char *name, enum part part, const struct tracked *repository,
    bool own, int depth)
{
	const size_t length = w->path.len;
	const char *path;
	struct stat status;
	bool counts;
	int fd;

	if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	buffer_text(&w->path, name);
	path = buffer_string(&w->path);
	own = own || is_own_place(w, &status);
	if (!S_ISDIR(status.st_mode)) {
		counts = repository != NULL ? tracked_has(repository, path + repository->base) : !own;
		if (w->written == NULL) {
			if (counts || file_is_written(w, path, &status))
				file_add(w, directory, name, path, &status);
		} else if (file_is_written(w, path, &status)) {
			*w->written = memory_text(path);
		}
	} else if ((fd = openat(directory, name, DIRECTORY_FLAGS)) != -1) {
		const bool git = part == PART_FILES && strcmp(name, ".git") == 0;
		const enum part below = git ? PART_GIT : part == PART_GIT && strcmp(name, "modules") == 0 ? PART_MODULES :
		    part == PART_MODULES ? (faccessat(fd, "HEAD", F_OK, 0) == 0 ? PART_GIT : PART_MODULES) : PART_FILES;

		buffer_byte(&w->path, '/');
		/* Git tracks nothing inside of .git. */
		if (!git || w->written == NULL) {
			directory_enter(w, fd);
			walk_directory(w, fd, below, git ? NULL : repository, own && !git, depth + 1);
			sandboxed_walk_leave(w->sandboxed);
		} else {
			close(fd);
		}
	}
	w->path.len = length;
	w->path.data[length] = '\0';
}

static void
walk_directory(struct walk *w, int directory, enum part part, const struct tracked *repository, bool own,
    int depth)
{
	DIR *dir = fdopendir(directory);
	char **names = names_of(w, dir);
	struct tracked begun = { .paths = NULL };
	struct stat status;

	w->found->too_large = w->found->too_large || depth > DEPTH_LIMIT;
	if (part == PART_FILES && w->definition != NULL && fstatat(directory, ".git", &status, AT_SYMLINK_NOFOLLOW) == 0)
		repository = tracked_read(&begun, directory, w->path.len) ? &begun : NULL;
	/* A file that git does not track was not part of the repository that was cloned. */
	if (depth == 0 && repository != NULL && !tracked_has(repository, w->definition)) {
		repository = NULL;
		w->definition = NULL;
	}
	for (char **name = names; *name != NULL && !walk_ends(w); name++)
		/* The root's .git is handled separately, because a worktree uses that of its main
		 * checkout. */
		if (!(depth == 0 && strcmp(*name, ".git") == 0) && !(part == PART_GIT && is_data_of_git(*name)))
			walk_name(w, directory, *name, part, repository, own, depth);
	tracked_free(&begun);
	list_free(names);
	if (dir != NULL)
		closedir(dir);
	else
		close(directory);
}

static void
places_find(struct places *p)
{
	struct storage storage = { .root = NULL };
	char *paths[] = { storage_locate(&storage, NULL) == 0 ? memory_text(storage.root) : NULL, path_data(""),
		path_config("") };

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		if (paths[i] != NULL && stat(paths[i], &p->status[p->count]) == 0)
			p->count++;
		free(paths[i]);
	}
	if (storage.root != NULL)
		storage_close(&storage);
}

static void
walk_begin(struct walk *w, const char *directory, struct trust_project *found, char **written)
{
	*w = (struct walk){ .root = directory, .found = found, .written = written,
		.sandboxed = sandboxed_walk_begin(directory) };
	places_find(&w->own);
	digest_begin(&w->digest);
}

static void
walk_root(struct walk *w)
{
	int fd = open(w->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd == -1)
		w->found->too_large = true;
	else
		walk_directory(w, fd, PART_FILES, NULL, false, 0);
	buffer_free(&w->path);
}

static struct {
	char *directory, *definition;
	struct trust_project project;
} looked_at;

void
trust_project_forget(void)
{
	free(looked_at.directory);
	free(looked_at.definition);
	looked_at.directory = looked_at.definition = NULL;
}

const struct trust_project *
trust_project_look(const char *directory, const char *repository, const char *definition)
{
	struct walk w;
	char *git;
	int fd;

	if (looked_at.directory != NULL && strcmp(looked_at.directory, directory) == 0 &&
	    strcmp(looked_at.definition, definition) == 0)
		return &looked_at.project;
	trust_project_forget();
	looked_at.directory = memory_text(directory);
	looked_at.definition = memory_text(definition);
	looked_at.project = (struct trust_project){ .files = 0 };
	walk_begin(&w, directory, &looked_at.project, NULL);
	w.definition = definition;
	git = path_join(repository, ".git");
	fd = open(git, DIRECTORY_FLAGS);
	if (fd != -1) {
		buffer_text(&w.path, ".git/");
		directory_enter(&w, fd);
		walk_directory(&w, fd, PART_GIT, NULL, false, 1);
		sandboxed_walk_leave(w.sandboxed);
		buffer_clear(&w.path);
	} else if (strcmp(repository, directory) == 0 && (fd = open(directory, DIRECTORY_FLAGS)) != -1) {
		walk_name(&w, fd, ".git", PART_FILES, NULL, false, 1);
		close(fd);
	}
	free(git);
	walk_root(&w);
	sandboxed_walk_end(w.sandboxed);
	digest_end(&w.digest, looked_at.project.digest);
	return &looked_at.project;
}

char *
trust_project_written(const char *directory)
{
	struct trust_project found = { .files = 0 };
	char *written = NULL;
	struct walk w;

	walk_begin(&w, directory, &found, &written);
	if (w.sandboxed != NULL)
		walk_root(&w);
	sandboxed_walk_end(w.sandboxed);
	buffer_free(&w.path);
	return written == NULL && found.too_large ? memory_text(".") : written;
}
