/*
 * A note is a small file that is replaced as a whole. It is not synced: if it is lost in a power
 * failure, the token cannot read that run, and nothing else is wrong.
 */
#include "serve_start/starters.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/id.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/sweep.h"
#include "serve_start/start.h"

#define STARTED "started"
#define NOTES_AGE (90 * SWEEP_DAY)      /* as of claims.c: of a clock that may be wrong */
#define NOTE_LIMIT ((size_t)128)

static char *
note_path(const struct storage *s, const char *run_id)
{
	return storage_file(s, "serve/" STARTED, run_id);
}

/* Whether a note is about a run that does not exist. One that is younger than a day may be of a run
 * that has not begun. */
static bool
starters_is_left(void *context, int directory, const char *name, const struct stat *status)
{
	(void)directory;
	return id_valid(name, strlen(name)) && sweep_age(status) >= SWEEP_DAY &&
	    start_look(context, name) == START_FAILED;
}

static void
starters_sweep(const struct storage *s, const char *directory)
{
	int fd = file_open_plain(directory, O_RDONLY | O_DIRECTORY, 0);

	if (fd != -1)
		sweep_daily(fd, NOTES_AGE, starters_is_left, (void *)s);
	file_close(&fd);
}

int
starters_note(const struct storage *s, const char *run_id, const char *digest, struct error *err)
{
	char *serve = path_join(s->root, "serve"), *directory = path_join(serve, STARTED);
	char *path = note_path(s, run_id), *text = memory_format("%s\n", digest);
	struct replacement file;
	int failed = -1;

	if (storage_make_directory(serve, true, err) == 0 &&
	    storage_make_directory(directory, true, err) == 0 &&
	    replacement_open(&file, path, 0600, err) == 0) {
		if (file_write(file.fd, text, strlen(text)) == 0) {
			failed = replacement_commit(&file, false, err);
		} else {
			error_errno(err, ERROR_SYSTEM, path, "unable to write who starts the run");
			replacement_abandon(&file);
		}
	}
	if (failed == 0)
		starters_sweep(s, directory);
	free(text);
	free(path);
	free(directory);
	free(serve);
	return failed;
}

void
starters_drop(const struct storage *s, const char *run_id)
{
	char *path = note_path(s, run_id);

	unlink(path);
	free(path);
}

bool
starters_has(const struct storage *s, const char *run_id, const char *digest)
{
	char *path = note_path(s, run_id);
	int fd = file_open_plain(path, O_RDONLY, 0);
	struct buffer text = BUFFER_INIT;
	bool same;

	free(path);
	same = fd != -1 && strlen(digest) == DIGEST_SIZE - 1 && file_read(fd, &text, NOTE_LIMIT) == 0 &&
	    text.len == DIGEST_SIZE && text.data[DIGEST_SIZE - 1] == '\n' &&
	    memcmp(text.data, digest, DIGEST_SIZE - 1) == 0;
	file_close(&fd);
	buffer_free(&text);
	return same;
}
