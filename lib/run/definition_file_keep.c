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

/* The digest of the file's bytes, which are kept if they are to be: remembered, or looked into. 0:
 * it cannot be read; -1: its blob cannot be written; 1. */
static int
find_digest(const struct run *r, const char *path, const struct stat *st, bool keep,
    char sha256[DIGEST_SIZE], struct error *err)
{
	const struct transcript *t = &r->transcript;
	char *memory = memory_format("%s/file.%llx.%llx.%llx.%llx.%lx.%llx.%lx.%s", r->directory,
	    (unsigned long long)st->st_dev, (unsigned long long)st->st_ino,
	    (unsigned long long)st->st_size, (unsigned long long)st->st_mtim.tv_sec,
	    (unsigned long)st->st_mtim.tv_nsec, (unsigned long long)st->st_ctim.tv_sec,
	    (unsigned long)st->st_ctim.tv_nsec, keep ? "kept" : "digest");
	struct buffer bytes = BUFFER_INIT;
	int fd, result = 0;

	sha256[DIGEST_SIZE - 1] = '\0';
	if (readlink(memory, sha256, DIGEST_SIZE) == DIGEST_SIZE - 1) {
		free(memory);
		return 1;
	}
	sha256[DIGEST_SIZE - 1] = '\0';
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && !keep)
		result = digest_fd(fd, sha256) == 0;
	else if (fd >= 0 && file_read(fd, &bytes, DEFINITION_FILE_LIMIT) == 0)
		result = blob_keep(t->blobs, buffer_string(&bytes), bytes.len, t->sync != SYNC_NONE,
		    sha256, err) == 0 ? 1 : -1;
	file_close(&fd);
	buffer_free(&bytes);
	/* Failing to remember it costs time alone. */
	if (result == 1 && clock_wall() - clock_of(&st->st_ctim) > SETTLED_US &&
	    symlink(sha256, memory) != 0)
		errno = 0;
	free(memory);
	return result;
}

static int
write_element(const struct run *r, const char *path, bool keep, struct writer *w,
    struct error *err)
{
	char sha256[DIGEST_SIZE], *config;
	bool executable;
	struct stat st;
	int found = 0;

	if (!r->transcript.masked && stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
		executable = (st.st_mode & 0111) != 0;
		keep = keep && st.st_size <= (executable ? DEFINITION_EXECUTABLE_LIMIT :
		    (int64_t)DEFINITION_FILE_LIMIT);
		found = find_digest(r, path, &st, keep, sha256, err);
	}
	if (found == 0)
		definition_file_name(path, w);
	if (found != 1)
		return found;
	writer_object(w);
	writer_member_string(w, KEY_PATH, path);
	/* The part of the path below the user's configuration. */
	config = path_config("");
	if (config != NULL && strncmp(path, config, strlen(config)) == 0)
		writer_member_string(w, KEY_CONFIG, path + strlen(config));
	free(config);
	writer_member_string(w, KEY_SHA256, sha256);
	writer_member_integer(w, KEY_BYTES, (int64_t)st.st_size);
	if (!keep)
		writer_member_bool(w, KEY_KEPT, false);
	if (executable)
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
