/*
 * A note is a small file that is replaced as a whole. It is not synced: if it is lost in a power
 * failure, the token cannot read that run, and nothing else is wrong.
 */
#include "serve/starters.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/id.h"
#include "base/memory.h"
#include "io/file.h"
#include "serve/start.h"

#define STARTED "started"
#define SWEPT "swept"                   /* empty file; its modification time says when notes were
                                           last removed */
#define DAY ((int64_t)24 * 60 * 60)     /* s */
#define NOTE_LIMIT ((size_t)128)

static char *
note_path(const struct storage *s, const char *run_id)
{
	return memory_format("%s/serve/" STARTED "/%s", s->root, run_id);
}

/* How long ago a file was changed, in s. */
static int64_t
age_of(const struct stat *status)
{
	return clock_wall() / 1000000 - (int64_t)status->st_mtime;
}

/* Removes the notes about runs that do not exist. A note that is younger than a day may be of a run
 * that has not begun. */
static void
starters_sweep(const struct storage *s, const char *directory)
{
	char *mark = path_join(directory, SWEPT);
	int fd = file_open_plain(mark, O_WRONLY | O_CREAT, 0600);
	const struct dirent *found;
	struct stat status;
	DIR *names;

	free(mark);
	if (fd == -1 || fstat(fd, &status) != 0 || (age_of(&status) >= 0 && age_of(&status) < DAY)) {
		file_close(&fd);
		return;
	}
	futimens(fd, NULL);
	file_close(&fd);
	names = opendir(directory);
	while (names != NULL && (found = readdir(names)) != NULL)
		if (id_valid(found->d_name, strlen(found->d_name)) &&
		    fstatat(dirfd(names), found->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
		    age_of(&status) >= DAY && start_look(s, found->d_name) == START_FAILED)
			unlinkat(dirfd(names), found->d_name, 0);
	if (names != NULL)
		closedir(names);
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
