/*
 * A digest that was computed once lies in the run's directory as a symbolic link: its name
 * says which state of which file, its text is the digest. The link is made when the blob
 * is on disk, so who finds it has nothing more to do. A file that was changed just now
 * could be changed again within the same tick of its clock, so it gets none.
 */
#include "run/definition_file_keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "transcript/blob.h"
#include "transcript/definition_file.h"
#include "transcript/event_keys.h"

#define SETTLED_US 100000 /* a file that did not change for so long has a time of its own */

struct known {
	char sha256[DIGEST_SIZE];
	bool kept;
};

/* ---- what is remembered ---- */

static char *
memory_of(const struct run *r, const struct stat *st, bool keep)
{
	return memory_format("%s/file.%llx.%llx.%llx.%llx.%lx.%llx.%lx.%s", r->directory,
	    (unsigned long long)st->st_dev, (unsigned long long)st->st_ino,
	    (unsigned long long)st->st_size, (unsigned long long)st->st_mtim.tv_sec,
	    (unsigned long)st->st_mtim.tv_nsec, (unsigned long long)st->st_ctim.tv_sec,
	    (unsigned long)st->st_ctim.tv_nsec, keep ? "kept" : "digest");
}

static bool
remembered(const char *memory, struct known *known)
{
	return readlink(memory, known->sha256, DIGEST_SIZE) == DIGEST_SIZE - 1;
}

static void
remember(const char *memory, const struct stat *st, const struct known *known)
{
	int64_t changed = (int64_t)st->st_ctim.tv_sec * 1000000 + st->st_ctim.tv_nsec / 1000;

	/* Failing costs time alone. */
	if (clock_wall() - changed > SETTLED_US && symlink(known->sha256, memory) != 0)
		errno = 0;
}

/* ---- what is kept ---- */

static bool
to_be_kept(const struct stat *st)
{
	bool executable = (st->st_mode & 0111) != 0;

	return st->st_size <= (executable ? DEFINITION_EXECUTABLE_LIMIT :
	    (int64_t)DEFINITION_FILE_LIMIT);
}

/* 1: known is filled; 0: it cannot be read; -1: its blob cannot be written. */
static int
look_into(const struct run *r, int fd, bool keep, struct known *known, struct error *err)
{
	const struct transcript *t = &r->transcript;
	struct buffer bytes = BUFFER_INIT;
	int result;

	known->sha256[DIGEST_SIZE - 1] = '\0';
	if (!keep)
		return digest_fd(fd, known->sha256) == 0;
	if (file_read(fd, &bytes, DEFINITION_FILE_LIMIT) != 0) {
		buffer_free(&bytes);
		return 0;
	}
	result = blob_keep(t->blobs, buffer_string(&bytes), bytes.len, t->sync != SYNC_NONE,
	    known->sha256, err);
	buffer_free(&bytes);
	return result == 0 ? 1 : -1;
}

static int
find_out(const struct run *r, const char *path, const struct stat *st, bool keep,
    struct known *known, struct error *err)
{
	char *memory = memory_of(r, st, keep);
	int fd, result = 1;

	known->sha256[DIGEST_SIZE - 1] = '\0';
	known->kept = keep;
	if (!remembered(memory, known)) {
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		result = fd < 0 ? 0 : look_into(r, fd, keep, known, err);
		if (fd >= 0)
			close(fd);
		if (result == 1)
			remember(memory, st, known);
	}
	free(memory);
	return result;
}

/* The part of the path below the user's configuration, within path; NULL. */
static const char *
in_config(const char *path)
{
	char *own = path_config("");
	size_t len = own != NULL ? strlen(own) : 0;
	const char *part = own != NULL && strncmp(path, own, len) == 0 ? path + len : NULL;

	free(own);
	return part;
}

static int
write_element(const struct run *r, const char *path, bool keep, struct writer *w,
    struct error *err)
{
	struct known known;
	struct stat st;
	int found;

	if (r->transcript.masked || stat(path, &st) != 0 || !S_ISREG(st.st_mode)) {
		definition_file_name(path, w);
		return 0;
	}
	found = find_out(r, path, &st, keep && to_be_kept(&st), &known, err);
	if (found != 1) {
		if (found == 0)
			definition_file_name(path, w);
		return found;
	}
	writer_object(w);
	writer_member_string(w, KEY_PATH, path);
	writer_member_string(w, KEY_CONFIG, in_config(path));
	writer_member_string(w, KEY_SHA256, known.sha256);
	writer_member_integer(w, KEY_BYTES, (int64_t)st.st_size);
	if (!known.kept)
		writer_member_bool(w, KEY_KEPT, false);
	if ((st.st_mode & 0111) != 0)
		writer_member_bool(w, KEY_EXECUTABLE, true);
	writer_object_end(w);
	return 0;
}

int
definition_file_keep(const struct run *r, const char *path, struct writer *w, struct error *err)
{
	return write_element(r, path, true, w, err);
}

int
definition_file_digest(const struct run *r, const char *path, struct writer *w, struct error *err)
{
	return write_element(r, path, false, w, err);
}

void
definition_file_name(const char *path, struct writer *w)
{
	writer_object(w);
	writer_member_string(w, KEY_PATH, path);
	writer_object_end(w);
}
