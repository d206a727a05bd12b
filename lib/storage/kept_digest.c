/*
 * A file's timestamps come from the file system, whose clock ticks with the kernel's, every second,
 * or every two seconds (FAT). A file that was just read can be changed within the same tick and
 * keep its timestamps. So its age counts from the moment when reading began.
 */
#include "storage/kept_digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "io/file.h"

#define TICK_US 2500000 /* two seconds, and a margin in case that clock is behind */

/* Directories for programs of the system; users do not work there. */
static const char *const system_directories[] = {
	"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/share",
	"/usr/local/bin", "/usr/local/sbin", "/usr/local/lib", "/usr/local/libexec",
	"/usr/local/share", NULL
};

static bool
among_systems(const char *path)
{
	for (size_t i = 0; system_directories[i] != NULL; i++)
		if (path_within(path, system_directories[i]))
			return true;
	return false;
}

/* Whether only root can write it. */
static bool
is_roots(const char *path, struct stat *st)
{
	return lstat(path, st) == 0 && st->st_uid == 0 && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* A quick check whether only root can write a file: by its state and, if this process is root, by
 * its path. Most files belong to the user, so that the directories above them need not be checked.
 * For root, a file does not count if it is only reached through a link to a directory. */
static bool
may_be_roots(const char *path, const struct stat *st)
{
	static const char *const names[] = { "/usr", "/bin", "/sbin", "/lib", "/lib64", NULL };
	struct stat named;

	if (st->st_uid != 0 || (st->st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return false;
	if (geteuid() != 0 || (lstat(path, &named) == 0 && S_ISLNK(named.st_mode)))
		return true;
	for (size_t i = 0; names[i] != NULL; i++)
		if (path_within(path, names[i]))
			return true;
	return false;
}

bool
kept_digest_state_tells(const char *path, const struct stat *st)
{
	char *real = may_be_roots(path, st) ? realpath(path, NULL) : NULL;
	struct stat part;
	bool tells = real != NULL && (geteuid() != 0 || among_systems(real)) &&
	    !file_is_users_mount(real) && is_roots("/", &part);

	/* Check from the root down, so that each part of the path is a name in a directory that was
	 * checked before. */
	for (char *end = real, byte; tells && *end != '\0'; *end = byte) {
		end += 1 + strcspn(end + 1, "/");
		byte = *end;
		*end = '\0';
		tells = is_roots(real, &part);
	}
	free(real);
	return tells && S_ISREG(part.st_mode) && part.st_dev == st->st_dev &&
	    part.st_ino == st->st_ino;
}

void
kept_digest_state(const struct stat *st, struct buffer *name)
{
	buffer_format(name, ".%llx.%llx.%llx.%llx.%lx.%llx.%lx", (unsigned long long)st->st_dev,
	    (unsigned long long)st->st_ino, (unsigned long long)st->st_size,
	    (unsigned long long)st->st_mtim.tv_sec, (unsigned long)st->st_mtim.tv_nsec,
	    (unsigned long long)st->st_ctim.tv_sec, (unsigned long)st->st_ctim.tv_nsec);
}

bool
kept_digest_find(const char *directory, const char *name, char sha256[DIGEST_SIZE])
{
	char *link = path_join(directory, name);
	bool found = readlink(link, sha256, DIGEST_SIZE) == DIGEST_SIZE - 1;

	sha256[DIGEST_SIZE - 1] = '\0';
	free(link);
	return found;
}

void
kept_digest_keep(const char *directory, const char *name, const char *sha256)
{
	char *link = path_join(directory, name);

	INVARIANT(strlen(sha256) == DIGEST_SIZE - 1 && strchr(name, '/') == NULL);
	if (symlink(sha256, link) != 0)
		errno = 0;
	free(link);
}

int
digest_reading_begin(struct digest_reading *r, const char *path)
{
	int reason;

	r->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (r->fd == -1)
		return -1;
	if (fstat(r->fd, &r->st) == 0 && S_ISREG(r->st.st_mode)) {
		r->old = clock_wall() - clock_of(&r->st.st_ctim) > TICK_US;
		r->tells = r->old && kept_digest_state_tells(path, &r->st);
		return 0;
	}
	reason = S_ISDIR(r->st.st_mode) ? EISDIR : EINVAL;
	file_close(&r->fd);
	errno = reason;
	return -1;
}

bool
digest_reading_unchanged(const struct digest_reading *r)
{
	struct stat now;

	return r->old && fstat(r->fd, &now) == 0 && file_unchanged(&r->st, &now);
}

bool
digest_reading_end(struct digest_reading *r)
{
	bool same = r->tells && digest_reading_unchanged(r);

	file_close(&r->fd);
	return same;
}

/* The name of the cache entry for a text and files in these states. */
static void
name_files(const struct buffer *text_and_states, struct buffer *name)
{
	char sha256[DIGEST_SIZE];

	buffer_clear(name);
	buffer_format(name, "files.%s",
	    digest_sha256(text_and_states->data, text_and_states->len, sha256));
}

/* Whether there is an entry for the files that are at these paths now. */
static bool
find_files(const char *directory, struct span text, const char *const *paths,
    char sha256[DIGEST_SIZE])
{
	struct buffer states = BUFFER_INIT, name = BUFFER_INIT;
	bool found = true;
	struct stat st;

	buffer_append(&states, text.at, text.len);
	for (; found && *paths != NULL; paths++) {
		found = stat(*paths, &st) == 0 && kept_digest_state_tells(*paths, &st);
		if (found)
			kept_digest_state(&st, &states);
	}
	if (found) {
		name_files(&states, &name);
		found = kept_digest_find(directory, name.data, sha256);
	}
	buffer_free(&name);
	buffer_free(&states);
	return found;
}

int
digest_of_files(const char *directory, struct span text, const char *const *paths,
    char sha256[DIGEST_SIZE], const char **failed)
{
	struct buffer states = BUFFER_INIT, name = BUFFER_INIT;
	bool keeps = directory != NULL && *paths != NULL;
	struct digest_reading reading;
	struct digest digest;
	int result = 0;

	if (keeps && find_files(directory, text, paths, sha256))
		return 0;
	digest_begin(&digest);
	digest_add(&digest, text.at, text.len);
	buffer_append(&states, text.at, text.len);
	for (; result == 0 && *paths != NULL; paths++) {
		*failed = *paths;
		result = digest_reading_begin(&reading, *paths);
		if (result == -1)
			break;
		kept_digest_state(&reading.st, &states);
		result = digest_add_fd(&digest, reading.fd);
		keeps = digest_reading_end(&reading) && keeps;
	}
	digest_end(&digest, sha256);
	if (result == 0 && keeps) {
		name_files(&states, &name);
		kept_digest_keep(directory, name.data, sha256);
	}
	buffer_free(&name);
	buffer_free(&states);
	return result;
}
