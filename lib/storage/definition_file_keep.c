/*
 * If a file's bytes are stored, its digest is cached only after its blob is on disk: if the cache
 * has a digest, nothing else has to be done for the file (storage/kept_digest.h).
 */
#include "storage/definition_file_keep.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/file.h"
#include "storage/kept_digest.h"
#include "transcript/blob.h"
#include "transcript/definition_file.h"
#include "transcript/event_keys.h"

enum kind { DEFINITION, SECRET, PROGRAM, SOURCED };

/* Whether the bytes of a file in this state are stored. */
static bool
definition_file_is_kept(const struct stat *st, enum kind kind)
{
	return kind != SECRET && kind != SOURCED && st->st_size <= (kind == PROGRAM || (st->st_mode & 0111) != 0 ?
	    DEFINITION_EXECUTABLE_LIMIT : (int64_t)DEFINITION_FILE_LIMIT);
}

/* Whether the cached digest of a file in this state may be used. */
static bool
state_tells(const char *path, const struct stat *st, enum kind kind)
{
	return (kind == PROGRAM && !definition_file_is_kept(st, kind)) ||
	    kept_digest_state_tells(path, st);
}

/* The name of its entry in the cache; for a file whose bytes are stored, the name says that its
 * blob is on disk. */
static void
name_digest(const struct stat *st, enum kind kind, struct buffer *name)
{
	buffer_clear(name);
	buffer_text(name, kind == PROGRAM ? "program" : "file");
	kept_digest_state(st, name);
	buffer_text(name, definition_file_is_kept(st, kind) ? ".kept" : ".digest");
}

/* Reads a file: its state, and its digest, which is cached; stores its bytes, if they are to be
 * stored. 1; 0: it cannot be read; -1: its blob cannot be written. */
static int
definition_file_read_and_keep(const struct run *r, const char *path, enum kind kind,
    struct stat *st, char sha256[DIGEST_SIZE], struct error *err)
{
	const struct transcript *t = &r->transcript;
	struct buffer bytes = BUFFER_INIT, name = BUFFER_INIT;
	struct digest_reading reading;
	bool same;
	int result = 0;

	if (digest_reading_begin(&reading, path) == -1)
		return 0;
	*st = reading.st;
	if (!definition_file_is_kept(st, kind))
		result = digest_fd(reading.fd, sha256) == 0;
	else if (file_read(reading.fd, &bytes, DEFINITION_FILE_LIMIT) == 0)
		result = blob_keep(t->blobs, buffer_string(&bytes), bytes.len, t->sync != SYNC_NONE,
		    sha256, err) == 0 ? 1 : -1;
	same = kind == PROGRAM && !definition_file_is_kept(st, kind) &&
	    digest_reading_unchanged(&reading);
	same |= digest_reading_end(&reading);
	if (same && result == 1) {
		name_digest(st, kind, &name);
		kept_digest_keep(r->directory, name.data, sha256);
	}
	buffer_free(&name);
	buffer_free(&bytes);
	return result;
}

static int
write_element(const struct run *r, const char *path, enum kind kind, struct writer *w,
    struct error *err)
{
	char sha256[DIGEST_SIZE], *config;
	struct buffer name = BUFFER_INIT;
	struct stat st;
	int found = 0;

	if (!r->transcript.masked && stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
		if (state_tells(path, &st, kind)) {
			name_digest(&st, kind, &name);
			found = kept_digest_find(r->directory, name.data, sha256);
		}
		if (found == 0)
			found = definition_file_read_and_keep(r, path, kind, &st, sha256, err);
		buffer_free(&name);
	}
	if (found == 0)
		definition_file_name(path, w);
	if (found != 1)
		return found;
	writer_object(w);
	writer_member_string(w, KEY_PATH, path);
	/* Its path inside the user's configuration directory. */
	config = path_config("");
	if (config != NULL && strncmp(path, config, strlen(config)) == 0)
		writer_member_string(w, KEY_CONFIG, path + strlen(config));
	free(config);
	writer_member_string(w, KEY_SHA256, sha256);
	writer_member_integer(w, KEY_BYTES, (int64_t)st.st_size);
	if (!definition_file_is_kept(&st, kind))
		writer_member_bool(w, KEY_KEPT, false);
	if ((st.st_mode & 0111) != 0)
		writer_member_bool(w, KEY_EXECUTABLE, true);
	if (kind == PROGRAM || kind == SOURCED)
		writer_member_bool(w, KEY_PROGRAM, true);
	writer_object_end(w);
	return 0;
}

int
definition_file_keep(const struct run *r, const char *path, struct writer *w, struct error *err)
{
	return write_element(r, path, DEFINITION, w, err);
}

int
definition_file_digest(const struct run *r, const char *path, struct writer *w, struct error *err)
{
	return write_element(r, path, SECRET, w, err);
}

int
definition_file_program(const struct run *r, const char *path, struct writer *w,
    struct error *err)
{
	return write_element(r, path, PROGRAM, w, err);
}

int
definition_file_sourced(const struct run *r, const char *path, struct writer *w,
    struct error *err)
{
	return write_element(r, path, SOURCED, w, err);
}

void
definition_file_name(const char *path, struct writer *w)
{
	writer_object(w);
	writer_member_string(w, KEY_PATH, path);
	writer_object_end(w);
}
