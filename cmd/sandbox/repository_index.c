/*
 * The indexes that the command has changed. An index says of each file which content it has, and by
 * which size and times git recognizes that it has not changed since: if a program writes there what
 * stat(2) says of a file that it has changed, git status, diff and commit do not see the change. So
 * git must read the content of all files once more whose entries are not the same as before the
 * command.
 *
 * git also compares the time of the index itself (racy-git(7)), which therefore stays as it was.
 */
#define _GNU_SOURCE
#include "sandbox/repositories_parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/id.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "isolate/git_index.h"
#include "sandbox/examine.h"
#include "sandbox/repository_data.h"

static bool
is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	    a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Replaces a file by one that may have another name, unless somebody else has done so meanwhile.
 * Returns false if it could not be replaced. */
static bool
replace_file(int at, const char *name, const char *to, const struct stat *st, const struct buffer *content,
    const struct timespec times[2])
{
	char id[ID_SIZE], *path = memory_format(".%s" REPOSITORY_ASIDE, id_new(id));
	int fd = openat(at, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool done = fd != -1 && file_write(fd, content->data, content->len) == 0 && fchmod(fd, st->st_mode & 0777) == 0 &&
	    futimens(fd, times) == 0;
	struct stat is;
	const bool theirs = done && fstatat(at, name, &is, AT_SYMLINK_NOFOLLOW) == 0 && !is_same_file(st, &is);

	if (done && !theirs)
		done = renameat(at, path, at, to) == 0;
	if (done && !theirs && strcmp(name, to) != 0)
		unlinkat(at, name, 0);
	if (fd != -1 && (!done || theirs))
		unlinkat(at, path, 0);
	file_close(&fd);
	free(path);
	return done;
}

/* What is done in one repository. */
struct indexes {
	const struct repositories *before;
	const char *directory;
	int at;
	size_t hash;
	struct git_index_base *bases; /* shared indexes that have been replaced */
	size_t base_count;
};

#define SHARED "sharedindex."

/* Reads an index that may have been changed since the command began; false: there is none. */
static bool
load_index(const struct indexes *x, const char *name, struct stat *st, struct buffer *content)
{
	char *path = repositories_join_path(x->directory, name);
	int fd = openat(x->at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	const bool is = fd != -1 && fstat(fd, st) == 0 && S_ISREG(st->st_mode) &&
	    repositories_is_changed(x->before, path, st) && file_read(fd, content, REPOSITORY_DATA_LIMIT) == 0;

	file_close(&fd);
	free(path);
	return is;
}

/* Returns false if the index could not be replaced. */
static bool
distrust_index(const struct indexes *x, const char *name)
{
	char *path = repositories_join_path(x->directory, name);
	const struct odd_item *was = repositories_find_item(x->before, path);
	struct buffer content = BUFFER_INIT, known = BUFFER_INIT, out = BUFFER_INIT;
	struct timespec times[] = { { .tv_nsec = UTIME_OMIT }, { .tv_nsec = UTIME_OMIT } };
	bool done = true;
	struct stat st;

	if (was != NULL && was->whole)
		buffer_append(&known, was->content, was->len);
	if (load_index(x, name, &st, &content)) {
		times[1] = was == NULL ? st.st_mtim : was->changed;
		if (was == NULL || known.len != content.len ||
		    memcmp(buffer_string(&known), buffer_string(&content), known.len) != 0 ||
		    git_index_has_base(buffer_string(&content), content.len, x->hash, x->bases, x->base_count))
			done = git_index_distrust(buffer_string(&content), content.len, x->hash, &known,
			    x->bases, x->base_count, &out) != 0 || replace_file(x->at, name, name, &st, &out, times);
		else if (st.st_mtim.tv_sec != times[1].tv_sec || st.st_mtim.tv_nsec != times[1].tv_nsec)
			done = utimensat(x->at, name, times, AT_SYMLINK_NOFOLLOW) == 0;
	}
	buffer_free(&content);
	buffer_free(&known);
	buffer_free(&out);
	free(path);
	return done;
}

/* The same for a shared index, whose entries were never seen, and which gets a new name. */
static bool
distrust_shared_index(struct indexes *x, const char *name)
{
	static const struct timespec now[] = { { .tv_nsec = UTIME_OMIT }, { .tv_nsec = UTIME_OMIT } };
	const struct buffer none = BUFFER_INIT;
	struct buffer content = BUFFER_INIT, out = BUFFER_INIT;
	struct git_index_base base = { .from = "" };
	char hex[2 * GIT_INDEX_HASH + 1], *to;
	bool done = true;
	struct stat st;

	if (load_index(x, name, &st, &content) &&
	    git_index_distrust(buffer_string(&content), content.len, x->hash, &none, NULL, 0, &out) == 0) {
		memcpy(base.from, content.data + content.len - x->hash, x->hash);
		memcpy(base.to, out.data + out.len - x->hash, x->hash);
		hex_encode(base.to, x->hash, hex);
		to = memory_format(SHARED "%s", hex);
		done = strcmp(name, to) == 0 || replace_file(x->at, name, to, &st, &out, now);
		x->bases = memory_array(x->bases, x->base_count + 1, sizeof *x->bases);
		x->bases[x->base_count++] = base;
		free(to);
	}
	buffer_free(&content);
	buffer_free(&out);
	return done;
}

void
repositories_distrust_indexes(const struct repositories *before, const char *repository, char ***failed)
{
	DIR *dir = repositories_open_directory(before->workspace, repository);
	char **shared = NULL;
	const struct dirent *entry;
	struct indexes x = { .before = before, .directory = repository };

	if (dir == NULL)
		return;
	x.at = dirfd(dir);
	x.hash = repository_object_name_length(x.at, repository_is_linked_part(repository));
	while ((entry = repositories_next_entry(dir)) != NULL)
		if (strncmp(entry->d_name, SHARED, strlen(SHARED)) == 0)
			list_add(&shared, entry->d_name);
	for (char **name = shared; name != NULL && *name != NULL; name++)
		if (!distrust_shared_index(&x, *name))
			list_take(failed, repositories_join_path(repository, *name));
	if (!distrust_index(&x, "index"))
		list_take(failed, repositories_join_path(repository, "index"));
	list_free(shared);
	free(x.bases);
	closedir(dir);
}
