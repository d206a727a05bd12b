/*
 * Sets aside the odd items that the command has made in repositories, and puts the previous ones
 * back.
 *
 * What the code relies on:
 *   - When things are set aside, no program of this sandbox is left that could put them back.
 *   - An item that was plain before and is odd now was changed by the command, or by the user
 *     meanwhile; these cannot be distinguished. So it is set aside, not removed.
 */
#define _GNU_SOURCE
#include "sandbox/repositories_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/id.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "sandbox/examine.h"

#ifndef RENAME_NOREPLACE /* musl has neither it nor renameat2() */
#define RENAME_NOREPLACE 1U
#endif

#define NUMBERS_ASIDE 10         /* tries with numbered names; then names are random, so that nobody
                                    can have taken them before */
#define NAMES_ASIDE 20
#define ROUNDS 8                 /* of setting aside directories that contain others */
#define FLAT_LENGTH 200          /* limit for the name of an item from a deeper directory */

/* Whether an item is unchanged. Settings may have been removed, but not added. */
static bool
is_as_before(const struct odd_item *was, const struct odd_item *is)
{
	if ((was->mode & (S_IFMT | 0111)) != (is->mode & (S_IFMT | 0111)))
		return false;
	if (was->settings != NULL && is->settings != NULL) {
		for (char **setting = is->settings; *setting != NULL; setting++)
			if (!list_has(was->settings, *setting))
				return false;
		return true;
	}
	return was->len == is->len && memcmp(was->content, is->content, is->len) == 0;
}

static bool
is_within(const char *root, const char *path, char *const *list)
{
	char *whole = path_join(root, path);
	bool within = false;

	for (; !within && list != NULL && *list != NULL; list++)
		within = path_within(whole, *list);
	free(whole);
	return within;
}

/* Gives the owner permission to change names in a directory; -1: nothing is done. */
static void
let_owner_change(int fd)
{
	char link[48];
	struct stat st;

	if (fd != -1 && fstat(fd, &st) == 0 && (st.st_mode & S_IRWXU) != S_IRWXU) {
		snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
		chmod(link, (st.st_mode & 07777) | S_IRWXU);
	}
}

/* Opens a directory of the workspace, in which the owner may change names from now on; -1. */
static int
open_changeable(const struct repositories *r, const char *directory)
{
	int fd = repositories_open_unnoted(r->workspace, strcmp(directory, ".") == 0 ? "" : directory, O_PATH | O_DIRECTORY);

	let_owner_change(fd);
	return fd;
}

static int
open_parent(const struct repositories *r, const char *path)
{
	char *directory = path_directory(path);
	int fd = open_changeable(r, directory);

	free(directory);
	return fd;
}

/* Gives the owner write permission for a directory: moving it to another directory changes its
 * entry "..". */
static void
make_movable(int at, const char *name)
{
	int fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	let_owner_change(fd);
	file_close(&fd);
}

/* Renames an entry of one directory to a free name in another directory, which begins with
 * `wanted`. Returns the new name, allocated; NULL with errno. */
static char *
rename_aside(int at, const char *name, int to, const char *wanted)
{
	char *aside = NULL;
	int failed = -1, reason;
	unsigned int number;

	for (int i = 0; failed != 0 && i < NAMES_ASIDE; i++) {
		free(aside);
		number = (unsigned int)i;
		if (i >= NUMBERS_ASIDE)
			random_bytes(&number, sizeof number);
		aside = i == 0 ? memory_format("%s" REPOSITORY_ASIDE, wanted) :
		    memory_format("%s.%u" REPOSITORY_ASIDE, wanted, number);
		failed = (int)syscall(SYS_renameat2, at, name, to, aside, RENAME_NOREPLACE);
		if (failed != 0 && errno == EINVAL && faccessat(to, aside, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
			failed = renameat(at, name, to, aside); /* the file system does not support
			                                           RENAME_NOREPLACE */
		if (failed != 0 && errno != EEXIST && errno != EINVAL)
			break;
	}
	reason = errno;
	if (failed != 0) {
		free(aside);
		aside = NULL;
	}
	errno = reason;
	return aside;
}

/* The outermost repository that contains a path, without those that the command has made by their
 * contents, which will not be repositories any more; NULL: none. */
static const char *
repository_around(const struct repositories *before, const struct repositories *r, const char *path)
{
	const char *outermost = NULL;

	for (char **found = r->found; found != NULL && *found != NULL; found++)
		if ((strcasecmp(path_base(*found), REPOSITORY) == 0 || repositories_have(before, *found)) &&
		    (**found == '\0' || (path_within(path, *found) && strcmp(path, *found) != 0)) &&
		    (outermost == NULL || strlen(*found) < strlen(outermost)))
			outermost = *found;
	return outermost;
}

/* Whether a path is the directory for items that are set aside in the repository that contains
 * it. */
static bool
is_aside_directory(const struct repositories *before, const struct repositories *r, const char *path)
{
	const char *repository = repository_around(before, r, path);
	char *place = repository == NULL ? NULL : repositories_join_path(repository, REPOSITORY_ASIDE_DIRECTORY);
	const bool is = place != NULL && strcmp(path, place) == 0;

	free(place);
	return is;
}

/* Opens the directory for items that are set aside in a repository, and creates it if needed; -1
 * with errno. Anything else with that name was made by the command, and is renamed, not
 * followed. */
static int
open_aside_directory(const struct repositories *r, const char *repository)
{
	static const char name[] = REPOSITORY_ASIDE_DIRECTORY;
	char *path = repositories_join_path(repository, name);
	int at = open_changeable(r, repository), fd = -1;
	struct stat st;

	if (at != -1 && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode))
		free(rename_aside(at, name, at, name));
	if (at != -1 && (mkdirat(at, name, S_IRWXU) == 0 || errno == EEXIST))
		fd = open_changeable(r, path);
	file_close(&at);
	free(path);
	return fd;
}

/* The path of an item inside its repository, as a single name. */
static char *
flat_name(const char *repository, const char *path)
{
	const char *inside = *repository == '\0' ? path : path + strlen(repository) + 1;
	const size_t len = strlen(inside);
	char *name = memory_text(len > FLAT_LENGTH ? inside + len - FLAT_LENGTH : inside);

	for (char *at = name; *at != '\0'; at++)
		if (*at == '/')
			*at = '-';
	return name;
}

/* Sets an item aside. Git lists many directories of a repository and follows whatever it finds
 * there, so the item is moved out of them. beside: a new name in the same directory is enough.
 * Returns the new path, allocated; NULL with errno: it could not be done. */
static char *
set_aside(const struct repositories *before, const struct repositories *r, const char *path, bool beside)
{
	const char *repository = repository_around(before, r, path), *name = path_base(path);
	char *directory = path_directory(path), *moved = NULL, *wanted, *place;
	int at = open_parent(r, path), to, reason = errno;

	beside = beside || repository == NULL || is_aside_directory(before, r, path);
	if (strcmp(directory, ".") == 0)
		*directory = '\0';
	if (at != -1 && !beside && repositories_is_there(at, name)) {
		wanted = flat_name(repository, path);
		place = repositories_join_path(repository, REPOSITORY_ASIDE_DIRECTORY);
		to = open_aside_directory(r, repository);
		if (to == -1) { /* on a full disk; git does not list this directory either */
			to = open_changeable(r, repository);
			free(place);
			place = memory_text(repository);
		}
		moved = to == -1 ? NULL : rename_aside(at, name, to, wanted);
		if (moved == NULL && to != -1 && errno == EACCES) {
			make_movable(at, name);
			moved = rename_aside(at, name, to, wanted);
		}
		reason = errno;
		free(wanted);
		file_close(&to);
		free(directory);
		directory = place;
	} else if (at != -1) {
		moved = rename_aside(at, name, at, name);
		reason = errno;
	}
	file_close(&at);
	place = moved == NULL ? NULL : repositories_join_path(directory, moved);
	free(moved);
	free(directory);
	errno = reason;
	return place;
}

/* Puts an item back, where nothing is now. */
static bool
put_back(const struct repositories *r, const struct odd_item *item)
{
	const char *name = path_base(item->path);
	int at = item->whole ? open_parent(r, item->path) : -1, fd, reason;
	char link[48];
	bool done = false;

	if (at != -1 && S_ISLNK(item->mode)) {
		done = symlinkat(item->content, at, name) == 0;
	} else if (at != -1) {
		snprintf(link, sizeof link, "/proc/self/fd/%d", item->copy);
		done = item->copy != -1 && linkat(AT_FDCWD, link, at, name, AT_SYMLINK_FOLLOW) == 0;
		fd = done ? -1 : openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, item->mode & 0777);
		if (fd != -1) {
			done = file_write(fd, item->content, item->len) == 0 && fchmod(fd, item->mode & 0777) == 0;
			reason = errno;
			if (!done) /* a part of the file would be worse than nothing */
				unlinkat(at, name, 0);
			errno = reason;
		}
		file_close(&fd);
	}
	file_close(&at);
	return done;
}

/* Adds a line once; takes ownership of it. */
static void
repositories_report(char ***done, char *line)
{
	if (list_has(*done, line))
		free(line);
	else
		list_take(done, line);
}

/* Returns whether a directory was set aside, in which something else may be a repository. */
static bool
settle_item(const struct repositories *before, const struct repositories *after,
    const struct odd_item *item, char ***done)
{
	const struct odd_item *was = repositories_find_item(before, item->path);
	bool made = item->repository != NULL && !repositories_have(before, item->repository), back, lost;
	const char *harm = item->waits ? "git may wait for ever to read it," : item->leads ? "git may write to other files by what it says," :
	    item->hides ? "git status may not tell of files by what it says," :
	    "git may run it, or what it says,";
	char *path = made ? repositories_join_path(item->repository, "HEAD") :
	    memory_text(item->path), *aside;
	int reason;

	aside = set_aside(before, after, path, made);
	reason = errno;
	back = aside != NULL && !made && was != NULL && put_back(after, was);
	lost = aside != NULL && !made && was != NULL && was->whole && !back;
	if (aside != NULL)
		repositories_report(done, memory_format("%s: %s outside of the sandbox: it is now called %s%s%s", path, harm, aside,
		    back ? ", and what was there is there again" : lost ? ", and what was there could not be put back: " : "",
		    lost ? strerror(errno) : ""));
	else if (reason != ENOENT) /* it may have been renamed together with its repository */
		repositories_report(done, memory_format("%s: %s outside of the sandbox, and it could not be renamed (%s): remove it",
		    path, harm, strerror(reason)));
	made = made || aside == NULL;
	free(aside);
	free(path);
	return !made && S_ISDIR(item->mode);
}

/* A mount protected this name of a file, but the command could change the file through another hard
 * link: restores its content. */
static void
restore_linked(const struct repositories *before, const struct odd_item *was, char ***done)
{
	char *directory = path_directory(was->path), *aside;
	int at = repositories_open(before->workspace, strcmp(directory, ".") == 0 ? "" : directory, O_PATH | O_DIRECTORY);
	struct buffer content = BUFFER_INIT;
	const size_t missed = examine_count_missed();
	bool whole, same;

	repositories_load_file(at, path_base(was->path), &content, &whole);
	same = examine_count_missed() != missed || (whole && content.len == was->len &&
	    memcmp(buffer_string(&content), was->content, was->len) == 0);
	aside = same ? NULL : set_aside(before, before, was->path, false);
	if (aside != NULL && put_back(before, was))
		list_take(done, memory_format("%s: was changed by another name of it (a hard link): it is now called %s, and "
		    "what was there is there again", was->path, aside));
	else if (!same)
		list_take(done, memory_format("%s: was changed by another name of it (a hard link), and could not be put "
		    "back: read it", was->path));
	free(aside);
	buffer_free(&content);
	file_close(&at);
	free(directory);
}

/* Does not let git trust the indexes that the command has changed; one that cannot be replaced is set
 * aside. */
static void
settle_indexes(const struct repositories *before, const struct repositories *after, char *const *opened, char ***done)
{
	char **failed = NULL;

	for (char **path = after->found; path != NULL && *path != NULL; path++)
		if (!is_within(after->root, *path, opened))
			repositories_distrust_indexes(before, *path, &failed);
	for (char **path = failed; path != NULL && *path != NULL; path++)
		settle_item(before, after, &(struct odd_item){ .path = *path, .hides = true }, done);
	list_free(failed);
}

/* Judges everything again, and settles it. Returns whether that has to be done once more. */
static bool
settle_all(const struct repositories *before, struct repositories *after, char *const *kept, char *const *opened,
    char ***done)
{
	bool again = false;

	repositories_find_again(after, before);
	for (size_t i = 0; i < before->count; i++) {
		const struct odd_item *item = &before->items[i];

		if (item->linked && item->whole && is_within(before->root, item->path, kept) &&
		    !is_within(before->root, item->path, opened))
			restore_linked(before, item, done);
	}
	/* First set aside anything in place of the directory for set-aside items, then the rest. */
	for (int rest = 0; rest < 2; rest++)
		for (size_t i = 0; i < after->count; i++) {
			const struct odd_item *item = &after->items[i], *was = repositories_find_item(before, item->path);

			if (is_aside_directory(before, after, item->path) == (rest == 0) &&
			    (was == NULL || was->plain || !is_as_before(was, item)) &&
			    !is_within(after->root, item->path, kept) && !is_within(after->root, item->path, opened) &&
			    settle_item(before, after, item, done))
				again = true;
		}
	/* Put back items that were removed from a repository that still exists. */
	for (size_t i = 0; i < before->count; i++) {
		const struct odd_item *item = &before->items[i];

		if ((!item->plain || item->sparse) && !item->waits && repositories_find_item(after, item->path) == NULL &&
		    !is_within(before->root, item->path, kept) &&
		    !is_within(before->root, item->path, opened) && put_back(before, item))
			repositories_report(done, memory_format("%s: was removed, and is there again", item->path));
	}
	return again;
}

char **
repositories_settle(const struct repositories *before, char *const *kept, char *const *opened)
{
	struct repositories after = { .workspace = -1, .ballast = -1 };
	char **done = NULL;
	bool emptied = true, again = true;

	if (before->ballast != -1)
		emptied = ftruncate(before->ballast, 0) == 0;
	(void)emptied; /* if not, there may still be enough space */
	for (int i = 0; again && i < ROUNDS; i++) {
		repositories_free(&after);
		again = settle_all(before, &after, kept, opened, &done);
		for (char *const *name = examine_missed_names(); *name != NULL; name++)
			repositories_report(&done, memory_format("%s: could not be looked at when the command had ended: "
			    "nobody knows what it made of it, so look before git is used there", *name));
	}
	settle_indexes(before, &after, opened, &done);
	for (char **unknown = before->unknown; unknown != NULL && *unknown != NULL; unknown++)
		if (is_within(before->root, *unknown, kept))
			repositories_report(&done, memory_format("%s: has an extension of git that is not known here: nothing in it "
			    "could be changed", *unknown));
	repositories_free(&after);
	repositories_close_again();
	return done;
}
