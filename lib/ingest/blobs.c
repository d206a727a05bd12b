/*
 * Everything is in one file system, so that rename(2) can give a blob its name and move a
 * directory. The sum of waiting blobs is counted for each upload: it is limited, and so is the time
 * for that. A blob in transfer is a sparse file of the largest size that it may reach.
 */
#include "ingest/blobs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/patience.h"
#include "io/copytree.h"
#include "io/file.h"
#include "io/lock.h"
#include "json/scan.h"
#include "storage/origin.h"
#include "transcript/blob.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/sync_mode.h"

#define INCOMING "incoming"
#define LOCK "lock"
#define WAITS_MOST (INT64_C(24) * 3600 * 1000000) /* µs */
#define COUNTS_LEAST (INT64_C(64) << 10)          /* least number of bytes that each waiting blob
                                                     counts */

static bool
blobs_are_synced(void)
{
	enum sync_mode mode;

	return sync_mode_from_environment(&mode, NULL) != 0 || mode != SYNC_NONE;
}

/* Takes the lock of the directory, creating that if needed; -1 with *err. */
static int
lock_incoming(const char *incoming, struct error *err)
{
	char *path = path_join(incoming, LOCK);
	int fd = -1;

	if (storage_make_directory(incoming, blobs_are_synced(), err) == 0) {
		fd = file_open_plain(path, O_RDWR | O_CREAT, 0600);
		if (fd == -1 || lock_file_within(fd, TRANSCRIPT_LOCK_MS) == -1) {
			error_errno(err, ERROR_SYSTEM, path, "unable to lock");
			file_close(&fd);
		}
	}
	free(path);
	return fd;
}

/* Removes blobs that have waited too long. */
static void
blobs_remove_stale(const char *incoming)
{
	DIR *directory = storage_opendir(incoming);
	int64_t before = clock_wall() - WAITS_MOST;
	const struct dirent *found;
	struct stat status;

	while (directory != NULL && (found = readdir(directory)) != NULL) {
		char *path = path_join(incoming, found->d_name);

		if (found->d_name[0] != '.' && strcmp(found->d_name, LOCK) != 0 &&
		    lstat(path, &status) == 0 && clock_of(&status.st_mtim) < before)
			copytree_remove(path, NULL);
		free(path);
	}
	if (directory != NULL)
		closedir(directory);
}

static int64_t
blobs_counted_bytes(int64_t bytes)
{
	return bytes > COUNTS_LEAST ? bytes : COUNTS_LEAST;
}

/* The bytes that the contents of a directory count, with subdirectories; each of these counts at
 * least as one blob. */
static int64_t
count_bytes(const char *path)
{
	DIR *directory = storage_opendir(path);
	const struct dirent *found;
	struct stat status;
	int64_t sum = 0;

	while (directory != NULL && (found = readdir(directory)) != NULL) {
		char *inside = path_join(path, found->d_name);

		if (found->d_name[0] != '.' && strcmp(found->d_name, LOCK) != 0 && lstat(inside, &status) == 0)
			sum += blobs_counted_bytes(S_ISDIR(status.st_mode) ? count_bytes(inside) :
			    status.st_size);
		free(inside);
	}
	if (directory != NULL)
		closedir(directory);
	return sum;
}

/* Where the blob is put, under the lock: with the run's, or with those that wait for it. NULL
 * with *err if the run belongs to another sender. */
static char *
place_of(const struct blob_upload *u, const char *incoming, struct error *err)
{
	char *transcript = storage_transcript(u->storage, u->run_id), *place = NULL;
	char *whose = origin_name(u->storage, u->run_id);

	if (whose == NULL && access(transcript, F_OK) != 0)
		place = path_join(incoming, u->run_id);
	else if (whose != NULL && strcmp(whose, u->sender) == 0)
		place = storage_blobs(u->storage, u->run_id);
	else if (whose != NULL)
		error_set(err, ERROR_BLOCKED, u->run_id, "belongs to '%s', who sent its first line", whose);
	else
		error_set(err, ERROR_BLOCKED, u->run_id, "is a run of this storage's own");
	free(whose);
	free(transcript);
	return place;
}

int
blob_upload_begin(struct blob_upload *u, const struct blob_upload_spec *spec, struct error *err)
{
	char *incoming = path_join(spec->storage->root, INCOMING), *place = NULL, name[ID_SIZE];
	int lock, failed = -1;
	int64_t room = INT64_MAX;

	if (spec->size > spec->limit) {
		*u = (struct blob_upload){ .fd = -1 };
		free(incoming);
		return error_set(err, ERROR_INVALID_INPUT, spec->run_id, "the blob is too large");
	}
	*u = (struct blob_upload){ .storage = spec->storage, .sender = spec->sender, .fd = -1 };
	memcpy(u->run_id, spec->run_id, ID_SIZE);
	memcpy(u->sha256, spec->sha256, DIGEST_SIZE);
	lock = lock_incoming(incoming, err);
	if (lock != -1) {
		blobs_remove_stale(incoming);
		place = place_of(u, incoming, err);
	}
	if (place != NULL && strncmp(place, incoming, strlen(incoming)) == 0)
		room = spec->quota - count_bytes(incoming);
	if (place != NULL && room < blobs_counted_bytes(spec->size)) {
		error_set(err, ERROR_INVALID_INPUT, u->run_id, "too much waits for runs that have not come");
	} else if (place != NULL) {
		u->path = memory_format("%s/%s.part", incoming, id_new(name));
		u->fd = file_open_plain(u->path, O_RDWR | O_CREAT | O_EXCL, 0600);
		u->limit = spec->size >= 0 ? spec->size : room < spec->limit ? room : spec->limit;
		failed = u->fd == -1 || ftruncate(u->fd, u->limit) != 0 ?
		    error_errno(err, ERROR_SYSTEM, u->path, "unable to make") : 0;
		digest_begin(&u->digest);
	}
	file_close(&lock);
	free(place);
	free(incoming);
	if (failed != 0)
		blob_upload_abandon(u);
	return failed;
}

int
blob_upload_feed(struct blob_upload *u, const void *bytes, size_t len, struct error *err)
{
	int failed = 0;

	if ((int64_t)len > u->limit - u->bytes)
		failed = error_set(err, ERROR_INVALID_INPUT, u->run_id, "the blob is too large");
	else if (file_write(u->fd, bytes, len) != 0)
		failed = error_errno(err, ERROR_SYSTEM, u->path, "unable to write");
	if (failed != 0) {
		blob_upload_abandon(u);
		return failed;
	}
	digest_add(&u->digest, bytes, len);
	u->bytes += (int64_t)len;
	return 0;
}

int
blob_upload_end(struct blob_upload *u, struct error *err)
{
	char *incoming = path_join(u->storage->root, INCOMING), *place, digest[DIGEST_SIZE];
	bool sync = blobs_are_synced();
	int lock = -1, failed = 0;

	if (strcmp(digest_end(&u->digest, digest), u->sha256) != 0)
		failed = error_set(err, ERROR_INVALID_INPUT, u->sha256, "the blob is another: its SHA-256 is %s",
		    digest);
	else if (ftruncate(u->fd, u->bytes) != 0 || (sync && fsync(u->fd) != 0)) /* not with the lock */
		failed = error_errno(err, ERROR_SYSTEM, u->path, "unable to sync");
	else if ((lock = lock_incoming(incoming, err)) == -1)
		failed = -1;
	place = failed == 0 ? place_of(u, incoming, err) : NULL;
	if (place == NULL)
		failed = -1;
	else
		failed = blob_take(place, u->path, u->fd, sync, u->sha256, err);
	if (failed == 0)
		free(u->path);
	if (failed == 0)
		u->path = NULL;
	file_close(&lock);
	free(place);
	free(incoming);
	blob_upload_abandon(u);
	return failed;
}

void
blob_upload_abandon(struct blob_upload *u)
{
	if (u->path != NULL && u->fd != -1)
		unlink(u->path);
	file_close(&u->fd);
	free(u->path);
	u->path = NULL;
}

/* ---- for the run ---- */

/* Moves the contents of a directory into another one, which must exist. */
static int
move_each(const char *from, const char *to, struct error *err)
{
	DIR *directory = storage_opendir(from);
	const struct dirent *found;
	int failed = 0;

	while (directory != NULL && failed == 0 && (found = readdir(directory)) != NULL) {
		char *old = path_join(from, found->d_name), *new = path_join(to, found->d_name);

		if (blob_name_valid(found->d_name) && rename(old, new) != 0)
			failed = error_errno(err, ERROR_SYSTEM, new, "unable to keep");
		free(new);
		free(old);
	}
	if (directory != NULL)
		closedir(directory);
	rmdir(from);
	return failed;
}

int
blobs_adopt(const struct storage *s, const char *run_id, struct error *err)
{
	char *incoming = path_join(s->root, INCOMING), *from = path_join(incoming, run_id);
	char *to = storage_blobs(s, run_id);
	int lock = -1, failed = 0;

	/* Nothing has ever come. */
	if (access(incoming, F_OK) == 0) {
		lock = lock_incoming(incoming, err);
		failed = lock == -1 ? -1 : 0;
	}
	if (failed == 0 && access(from, F_OK) == 0) {
		if (rename(from, to) != 0)
			failed = errno == ENOTEMPTY || errno == EEXIST ? move_each(from, to, err) :
			    error_errno(err, ERROR_SYSTEM, to, "unable to keep");
		if (failed == 0 && blobs_are_synced())
			failed = directory_sync(to, err) == 0 ? file_sync_name(to, err) : -1;
	}
	file_close(&lock);
	free(to);
	free(from);
	free(incoming);
	return failed;
}

static void
add_name(char ***names, struct span sha256)
{
	char name[DIGEST_SIZE];

	if (span_copy(sha256, name, sizeof name) && blob_name_valid(name) && !list_has(*names, name))
		list_add(names, name);
}

char **
blobs_named(const char *line, size_t len)
{
	/* What stands before the last member of a line that names blobs by refs. */
	const size_t prev = sizeof ",\"" KEY_PREV "\":\"\"}" - 1 + DIGEST_SIZE - 1;
	struct event_view view;
	struct event_head head;
	char **names = NULL;
	struct span files;

	/* Most lines name none. */
	if (event_peek(line, len, &head) != 0 ||
	    (head.type != EVENT_RUN_STARTED && head.type != EVENT_RUN_COMPLETED &&
	    !event_type_starts_call(head.type) && (len <= prev || line[len - prev - 1] != ']')) ||
	    event_view(line, len, &view) != 0)
		return NULL;
	if (span_type(view.refs) == 'a')
		for (struct span_walk ref = span_walk(view.refs); span_next(&ref);)
			add_name(&names, span_member(ref.value, KEY_SHA256));
	files = span_member(view.payload, KEY_FILES);
	if (span_type(files) == 'a')
		for (struct span_walk file = span_walk(files); span_next(&file);)
			if (span_type(span_member(file.value, KEY_KEPT)) != 'f')
				add_name(&names, span_member(file.value, KEY_SHA256));
	if (view.type == EVENT_RUN_COMPLETED)
		add_name(&names, span_path(view.payload, KEY_STDOUT, KEY_SHA256, NULL));
	return names;
}

int64_t
blobs_missing(const struct storage *s, const char *run_id, const char *line, size_t len)
{
	char **names = blobs_named(line, len), *blobs = storage_blobs(s, run_id);
	int64_t missing = 0;

	for (char **name = names; name != NULL && *name != NULL; name++) {
		char *path = path_join(blobs, *name);

		missing += access(path, F_OK) != 0;
		free(path);
	}
	free(blobs);
	list_free(names);
	return missing;
}
