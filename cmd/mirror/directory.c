/*
 * Lines and blobs are received by lib/ingest, as if the senders to the database had sent them
 * to this storage.
 */
#define _GNU_SOURCE /* syncfs() */
#include "mirror/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/patience.h"
#include "ingest/blobs.h"
#include "io/copytree.h"
#include "io/file.h"
#include "io/lock.h"
#include "io/polling.h"
#include "transcript/event.h"
#include "transcript/layout.h"
#include "transcript/reader.h"

#define RECORD "record"
#define UNSYNCED "unsynced"
#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define BOOT_SIZE 64

/* ---- crashes of the machine ---- */

/* The id of the current boot; "" if the system has none. */
static void
read_boot(const char *path, char boot[BOOT_SIZE])
{
	struct buffer text = BUFFER_INIT;

	boot[0] = '\0';
	if (file_load(path, BOOT_SIZE, &text, NULL) == 0 && text.len < BOOT_SIZE)
		snprintf(boot, BOOT_SIZE, "%.*s", (int)text.len, buffer_string(&text));
	buffer_free(&text);
}

/* If the machine crashed while the directory was filled, empties it; then notes that it is
 * being filled. */
static int
begin_filling(const struct directory *d, const char *record, struct error *err)
{
	char *note = path_join(d->path, UNSYNCED), now[BOOT_SIZE], before[BOOT_SIZE];
	int fd, failed = 0;

	read_boot(BOOT_ID, now);
	read_boot(note, before);
	if (access(note, F_OK) == 0 && (*now == '\0' || strcmp(now, before) != 0))
		failed = copytree_remove(record, err);
	if (failed == 0) {
		fd = file_open_plain(note, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (fd == -1 || file_write(fd, now, strlen(now)) != 0 || fsync(fd) != 0)
			failed = error_errno(err, ERROR_SYSTEM, note, "unable to write");
		file_close(&fd);
	}
	if (failed == 0)
		failed = file_sync_name(note, err);
	free(note);
	return failed;
}

/* Writes all of the file system to the disk. */
static int
sync_all(int fd)
{
#ifndef AWF_PORTABLE
	return syncfs(fd);
#else
	(void)fd;
	sync();
	return 0;
#endif
}

static void
end_filling(const struct directory *d)
{
	char *note = path_join(d->path, UNSYNCED);
	int fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd != -1 && sync_all(fd) == 0)
		unlink(note);
	file_close(&fd);
	free(note);
}

/* ---- opening ---- */

/* Removes what a killed process left of runs that it was removing or beginning. */
static int
directory_remove_leftovers(const struct directory *d, struct error *err)
{
	static const char *const names[] = { "origins", "blobs" };
	char *path, *transcript;
	const struct dirent *found;
	DIR *directory;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (storage_names(&d->storage, names[i], &directory, err) != 0)
			return -1;
		while (directory != NULL && (found = readdir(directory)) != NULL) {
			if (!id_valid(found->d_name, strlen(found->d_name)))
				continue;
			transcript = storage_transcript(&d->storage, found->d_name);
			path = memory_format("%s/%s/%s", d->storage.root, names[i], found->d_name);
			if (!transcript_begun(transcript))
				copytree_remove(path, NULL);
			free(path);
			free(transcript);
		}
		if (directory != NULL)
			closedir(directory);
	}
	return 0;
}

/* Waits until no other process fills it. */
static int
directory_lock_filling(struct directory *d, struct error *err)
{
	char *path = path_join(d->path, "filling"), byte;
	int failed = 0;

	d->lock = file_open_plain(path, O_RDWR | O_CREAT, 0600);
	if (d->lock == -1)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to open");
	while (failed == 0 && lock_file_take(d->lock) == -1) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			failed = error_errno(err, ERROR_SYSTEM, path, "unable to lock");
		else if (poll_one(STDIN_FILENO, POLLIN, clock_monotonic() + FETCH_LOCK_LOOK_MS) != 0 &&
		    read(STDIN_FILENO, &byte, 1) <= 0)
			failed = error_set(err, ERROR_CANCELLED, path, "nobody waits for it any more");
	}
	free(path);
	return failed;
}

int
directory_open(struct directory *d, const char *path, struct error *err)
{
	char *record = NULL;
	int failed;

	*d = (struct directory){ .path = path_normal(path), .lock = -1 };
	if (*path != '/')
		return error_set(err, ERROR_USAGE, path, "is no absolute path");
	if (directory_make(d->path, 0700, err) != 0 || directory_lock_filling(d, err) != 0)
		return -1;
	record = path_join(d->path, RECORD);
	failed = begin_filling(d, record, err) == 0 && storage_prepare_at(&d->storage, record, err) == 0 &&
	    directory_remove_leftovers(d, err) == 0 ? 0 : -1;
	free(record);
	d->storage.disposable = true;
	if (failed == 0)
		ingest_begin(&d->ingest, &d->storage);
	return failed;
}

void
directory_close(struct directory *d)
{
	if (d->ingest.storage != NULL) {
		ingest_end(&d->ingest);
		end_filling(d);
	}
	storage_close(&d->storage);
	file_close(&d->lock);
	free(d->path);
}

/* ---- what is in it ---- */

int
directory_look(const struct directory *d, const char *run_id, int64_t *seq,
    char digest[DIGEST_SIZE], struct error *err)
{
	char *path = storage_transcript(&d->storage, run_id);
	struct reader reader;
	const char *line;
	size_t len;
	int got = 0;

	*seq = 0;
	digest[0] = '\0';
	if (access(path, F_OK) == 0) {
		got = reader_open(&reader, path, err);
		if (got == 0) {
			got = reader_seek_last(&reader, 1, err) == 0 ? reader_next(&reader, &line, &len, err) : -1;
			if (got == 1 && event_line_whole(line, len, seq))
				digest_blake2b(line, len, digest);
			reader_close(&reader);
		}
	}
	free(path);
	return got < 0 ? -1 : 0;
}

enum ingest_fault
directory_add(struct directory *d, const char *origin, struct span lines, struct error *err)
{
	const struct ingest_spec spec = { .sender = origin };
	enum ingest_fault fault;
	struct ingest_input in;

	ingest_input_begin(&in, &d->ingest, &spec);
	if (ingest_feed(&in, lines.at, lines.len) == 0)
		ingest_input_end(&in);
	else
		ingest_flush(&in);
	fault = in.refusal.fault;
	if (fault != INGEST_NONE)
		*err = in.refusal.error;
	ingest_input_free(&in);
	return fault;
}

void
directory_lease(struct directory *d, const char *run_id, int64_t idle_ms)
{
	char *path = layout_origin(d->storage.root, run_id);
	int64_t until = clock_wall() + (d->ingest.lease_ms - idle_ms) * 1000;
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
		{ .tv_sec = (time_t)(until / 1000000), .tv_nsec = (long)(until % 1000000) * 1000 } };

	/* A run that has ended has no lease. */
	if (layout_run_alive(d->storage.root, run_id))
		utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
	free(path);
}

int
directory_add_blob(struct directory *d, const char *run_id, const char *origin,
    const char *sha256, struct span bytes, struct error *err)
{
	const struct blob_upload_spec spec = { .storage = &d->storage, .sender = origin,
		.run_id = run_id, .sha256 = sha256, .size = (int64_t)bytes.len, .limit = INT64_MAX,
		.quota = INT64_MAX };
	struct blob_upload upload;
	int failed = blob_upload_begin(&upload, &spec, err);

	if (failed == 0)
		failed = blob_upload_feed(&upload, bytes.at, bytes.len, err);
	if (failed == 0)
		failed = blob_upload_end(&upload, err);
	return failed;
}

/* The transcript is removed first: then the run is gone, whatever else is left of it. */
int
directory_remove(struct directory *d, const char *run_id, struct error *err)
{
	char *paths[] = { storage_transcript(&d->storage, run_id), storage_blobs(&d->storage, run_id),
		layout_origin(d->storage.root, run_id) };
	int failed = 0;

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		if (failed == 0 && i != 1 && unlink(paths[i]) != 0 && errno != ENOENT)
			failed = error_errno(err, ERROR_SYSTEM, paths[i], "unable to remove");
		else if (failed == 0 && i == 1)
			failed = copytree_remove(paths[i], err);
		free(paths[i]);
	}
	return failed;
}
