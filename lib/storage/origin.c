/*
 * The file is a line of JSON, written and synced before there is a transcript. A process that
 * claims a run first creates an empty file. If it then finds a transcript, the run is this
 * storage's own, and the file is removed again. If the file names a sender but the transcript has
 * no line, a crash has left it, and the next sender may claim the run.
 */
#include "storage/origin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "io/file.h"
#include "io/lock.h"
#include "json/scan.h"
#include "json/writer.h"
#include "storage/queue.h"
#include "transcript/layout.h"
#include "transcript/reader.h"

#define TEXT_LIMIT ((size_t)4096)
#define UNKNOWN "unknown" /* the sender's name if the file does not contain one */
#define CLAIM_TRIES 100   /* a try fails only if the file was removed at that moment */

static const char *const kinds[] = { [ORIGIN_LINES] = "lines", [ORIGIN_EVENTS] = "events",
	[ORIGIN_ANY] = "any" };

/* Reads the file: returns the name, or NULL if there is none, and sets what is sent. */
static char *
read_text(int fd, char **kind)
{
	struct buffer text = BUFFER_INIT;
	char *name = NULL;
	size_t bad;

	*kind = NULL;
	if (lseek(fd, 0, SEEK_SET) == 0 && file_read(fd, &text, TEXT_LIMIT) == 0 &&
	    scan_check(buffer_string(&text), text.len, &bad) == NULL) {
		struct span line = span_trim(span_of(text.data, text.len));

		name = span_text(span_member(line, "origin"));
		*kind = span_text(span_member(line, "takes"));
	}
	buffer_free(&text);
	return name;
}

char *
origin_name(const struct storage *s, const char *run_id)
{
	char *path = layout_origin(s->root, run_id), *kind, *name = NULL;
	int fd = file_open_plain(path, O_RDONLY, 0);

	if (fd != -1) {
		name = read_text(fd, &kind);
		free(kind);
		close(fd);
	}
	/* Whatever the file contains, the run was not recorded here. */
	if (name == NULL && (fd != -1 || errno != ENOENT))
		name = memory_text(UNKNOWN);
	free(path);
	return name;
}

int
origin_check_own(const struct storage *s, const char *run_id, struct error *err)
{
	char *name = origin_name(s, run_id);

	if (name == NULL)
		return 0;
	error_set(err, ERROR_USAGE, run_id, "is recorded elsewhere and sent here by '%s': that is done "
	    "where it is recorded", name);
	free(name);
	return -1;
}

int
origin_check_own_at(const char *transcript, const char *run_id, struct error *err)
{
	char *directory = path_directory(transcript), *root = path_join(directory, "..");
	const struct storage s = { .root = root };
	int failed = origin_check_own(&s, run_id, err);

	free(root);
	free(directory);
	return failed;
}

bool
origin_name_valid(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
			return false;
	return len > 0 && len <= ORIGIN_NAME_LIMIT && utf8_valid(name, len);
}

/* ---- claiming ---- */

/* Opens and locks the file, creating it if needed. -1 with *err. */
static int
open_locked(const struct storage *s, const char *path, int lock_ms, struct error *err)
{
	char *directory = path_join(s->root, "origins");
	int fd = -1, failed = 0;

	for (int i = 0; fd == -1 && failed == 0 && i < CLAIM_TRIES; i++) {
		fd = file_open_plain(path, O_RDWR | O_CREAT, 0600);
		if (fd == -1 && errno == ENOENT) {
			failed = storage_make_directory(directory, true, err);
		} else if (fd == -1) {
			failed = error_errno(err, ERROR_SYSTEM, path, "unable to open");
		} else if (lock_file_within(fd, lock_ms) == -1) {
			failed = error_errno(err, ERROR_SYSTEM, path, "unable to lock");
			file_close(&fd);
		} else if (!lock_named(fd, path)) {
			file_close(&fd);
		}
	}
	if (fd == -1 && failed == 0)
		error_set(err, ERROR_SYSTEM, path, "unable to lock: it comes and goes");
	free(directory);
	return fd;
}

static bool
origin_path_exists(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0;
}

/* Whether a run of this storage without a transcript has the id: it keeps none, has none yet, or is
 * queued. */
static bool
is_taken(const struct storage *s, const char *run_id)
{
	char *directory = storage_run_directory(s, run_id);
	bool taken = origin_path_exists(directory);
	struct queued *list = NULL;
	size_t count = 0;

	free(directory);
	if (!taken && queued_list(s, &list, &count, NULL) == 0) {
		for (size_t i = 0; i < count; i++)
			taken |= strcmp(list[i].run_id, run_id) == 0;
		queued_free(list, count);
	}
	return taken;
}

/* Sync it whatever AWF_SYNC says: without its origin, the run would count as one of this storage's
 * own. */
static int
origin_write_file(struct origin *o, const struct storage *s, const char *name,
    enum origin_kind kind, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	struct writer w;
	int failed = 0;

	writer_begin(&w, &text);
	writer_object(&w);
	writer_member_string(&w, "origin", name);
	writer_member_string(&w, "takes", kinds[kind]);
	writer_object_end(&w);
	buffer_byte(&text, '\n');
	if (ftruncate(o->fd, 0) != 0 || lseek(o->fd, 0, SEEK_SET) != 0 ||
	    file_write(o->fd, text.data, text.len) != 0)
		failed = error_errno(err, ERROR_SYSTEM, o->path, "unable to write");
	else if (s->disposable)
		failed = 0;
	else if (fsync(o->fd) != 0)
		failed = error_errno(err, ERROR_SYSTEM, o->path, "unable to sync");
	else
		failed = file_sync_name(o->path, err);
	buffer_free(&text);
	return failed;
}

/* Claims the run, with the lock held. */
static int
origin_claim_locked(struct origin *o, const struct storage *s, const char *run_id, const char *name,
    enum origin_kind kind, struct error *err)
{
	char *transcript = storage_transcript(s, run_id), *pruned = storage_pruned(s, run_id);
	char *takes, *whose = read_text(o->fd, &takes);
	bool same = whose != NULL && strcmp(whose, name) == 0;
	int failed = 0;

	if (origin_path_exists(pruned))
		failed = error_set(err, ERROR_BLOCKED, run_id, "is being removed: send it again later");
	else if (whose == NULL && (origin_path_exists(transcript) || is_taken(s, run_id)))
		failed = error_set(err, ERROR_BLOCKED, run_id, "is a run of this storage's own");
	if (failed != 0) {
		if (whose == NULL)
			unlink(o->path);
	} else if (!transcript_begun(transcript)) {
		failed = same && takes != NULL && strcmp(takes, kinds[kind]) == 0 ? 0 :
		    origin_write_file(o, s, name, kind, err);
	} else if (!same) {
		failed = error_set(err, ERROR_BLOCKED, run_id, "belongs to '%s', who sent its first line",
		    whose != NULL ? whose : UNKNOWN);
	} else if (takes == NULL || (strcmp(takes, kinds[kind]) != 0 &&
	    strcmp(takes, kinds[ORIGIN_ANY]) != 0)) {
		failed = error_set(err, ERROR_BLOCKED, run_id, kind == ORIGIN_LINES ?
		    "is made of events here: it has no lines elsewhere" :
		    "is made of lines from elsewhere: no other events can be added");
	}
	free(takes);
	free(whose);
	free(pruned);
	free(transcript);
	return failed;
}

int
origin_claim(struct origin *o, const struct storage *s, const char *run_id, const char *name,
    enum origin_kind kind, int lock_ms, struct error *err)
{
	*o = (struct origin){ .path = layout_origin(s->root, run_id), .fd = -1, .lock_ms = lock_ms };
	o->fd = open_locked(s, o->path, lock_ms, err);
	if (o->fd != -1 && origin_claim_locked(o, s, run_id, name, kind, err) == 0)
		return 0;
	origin_close(o);
	return -1;
}

int
origin_share(struct origin *o, struct error *err)
{
	if (lock_file_share_within(o->fd, o->lock_ms) == -1)
		return error_errno(err, ERROR_SYSTEM, o->path, "unable to lock");
	if (lock_named(o->fd, o->path))
		return 1;
	lock_file_release(o->fd);
	return 0;
}

void
origin_release(struct origin *o)
{
	lock_file_release(o->fd);
}

int
origin_lease(struct origin *o, int64_t until, struct error *err)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
		{ .tv_sec = (time_t)(until / 1000000), .tv_nsec = (long)(until % 1000000) * 1000 } };

	if (futimens(o->fd, times) == 0)
		return 0;
	return error_errno(err, ERROR_SYSTEM, o->path, "unable to set its time");
}

void
origin_close(struct origin *o)
{
	file_close(&o->fd);
	free(o->path);
	o->path = NULL;
}

int
origin_hold(const struct storage *s, const char *run_id, int *fd)
{
	char *path = layout_origin(s->root, run_id);
	int failed = 0;

	*fd = file_open_plain(path, O_RDONLY, 0);
	if (*fd == -1) {
		failed = errno == ENOENT ? 0 : -1;
	} else if (lock_file_take(*fd) == -1 || !lock_named(*fd, path)) {
		file_close(fd);
		failed = -1;
	}
	free(path);
	return failed;
}
