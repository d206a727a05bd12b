/*
 * A pipe of one page (F_SETPIPE_SZ) polls writable only when it is empty: then the workflow has
 * read everything and wants more. Input is written to the file before it is relayed. In a further
 * attempt, the input up to the kept length is compared with the file and not passed on.
 */
#include "start/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/file.h"
#include "io/polling.h"
#include "storage/state.h"
#include "system/descriptor.h"

#define PAGE 4096
#define COPY_SIZE ((size_t)256 << 10)

void
input_pass(struct input *in, int source)
{
	memset(in, 0, sizeof *in);
	in->stream = source;
	in->file = in->nothing = in->source = in->sink = -1;
}

static int
unable_to_keep(const struct input *in, struct error *err)
{
	return error_errno(err, ERROR_SYSTEM, in->part, "unable to keep stdin");
}

static int
input_keep_bytes(struct input *in, const void *bytes, size_t len, struct error *err)
{
	if (in->kept && file_write(in->file, bytes, len) != 0)
		return unable_to_keep(in, err);
	digest_add(&in->digest, bytes, len);
	in->bytes += (int64_t)len;
	if (in->bytes > INPUT_DATA_LIMIT)
		buffer_free(&in->seen);
	else if (in->digested)
		buffer_append(&in->seen, bytes, len);
	return 0;
}

static int
start_keeping(struct input *in, const struct storage *s, const char *run_id, struct error *err)
{
	in->path = storage_input(s, run_id);
	in->part = memory_format("%s" INPUT_PART, in->path);
	in->file = file_open_plain(in->part, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (in->file < 0)
		return unable_to_keep(in, err);
	digest_begin(&in->digest);
	in->kept = true;
	return 0;
}

/* The whole input was stored: gives the file its final name, on disk. */
static int
input_finish_file(struct input *in, struct error *err)
{
	in->complete = true;
	if (in->named || !in->kept)
		return 0;
	if (in->sync && fdatasync(in->file) != 0)
		return unable_to_keep(in, err);
	if (rename(in->part, in->path) != 0)
		return unable_to_keep(in, err);
	in->named = true;
	return in->sync ? file_sync_name(in->path, err) : 0;
}

static int
unable_to_read_kept(const struct input *in, struct error *err)
{
	return error_errno(err, ERROR_SYSTEM, in->part, "unable to read what was kept of stdin");
}

static int
ended_early(const struct input *in, struct error *err)
{
	return error_set(err, ERROR_INVALID_INPUT, "stdin",
	    "ended after %lld bytes, but earlier attempts have read %lld: give it again from its "
	    "beginning", (long long)in->compared, (long long)in->known);
}

/* Compares bytes from source with the stored ones; *again: how many were compared. */
static int
input_compare_bytes(struct input *in, const char *bytes, size_t len, size_t *again,
    struct error *err)
{
	char kept[PAGE];

	*again = 0;
	while (*again < len && in->compared < in->known) {
		size_t left = len - *again, most = left < PAGE ? left : PAGE;
		ssize_t got;

		if ((int64_t)most > in->known - in->compared)
			most = (size_t)(in->known - in->compared);
		got = pread(in->file, kept, most, (off_t)in->compared);
		if (got <= 0)
			return unable_to_read_kept(in, err);
		if (memcmp(kept, bytes + *again, (size_t)got) != 0)
			return error_set(err, ERROR_INVALID_INPUT, "stdin",
			    "is not what earlier attempts have read: of the %zd bytes that begin at byte "
			    "%lld at least one differs", got, (long long)in->compared);
		*again += (size_t)got;
		in->compared += got;
	}
	return 0;
}

/* Copies the contents of a file from an offset on, without moving its position. */
static int
input_copy_file(struct input *in, int source, off_t at, struct error *err)
{
	char *bytes = memory_alloc(COPY_SIZE);
	ssize_t got;
	int failed = 0;

	while (failed == 0 && (got = pread(source, bytes, COPY_SIZE, at)) != 0) {
		if (got < 0)
			failed = error_errno(err, ERROR_SYSTEM, "stdin", "unable to read");
		else
			failed = input_keep_bytes(in, bytes, (size_t)got, err);
		at += got;
	}
	free(bytes);
	return failed;
}

static int
make_pipe(struct input *in, int source, struct error *err)
{
	int ends[2];

	if (descriptor_pipe(ends) != 0)
		return error_errno(err, ERROR_SYSTEM, "stdin", "unable to make a pipe");
	descriptor_pipe_size(ends[1], PAGE);
	in->stream = ends[0];
	in->sink = ends[1];
	in->source = source;
	return 0;
}

void
input_pass_digested(struct input *in, int source)
{
	struct error ignored;
	struct stat status;

	input_pass(in, source);
	digest_begin(&in->digest);
	if (fstat(source, &status) != 0)
		return;
	in->digested = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || S_ISREG(status.st_mode);
	if (S_ISREG(status.st_mode))
		in->complete = in->digested = input_copy_file(in, source, lseek(source, 0, SEEK_CUR), &ignored) == 0;
}

int
input_open(struct input *in, const struct storage *s, const char *run_id, int source,
    bool sync, struct error *err)
{
	struct stat status;

	input_pass(in, source);
	in->sync = sync;
	if (fstat(source, &status) != 0)
		return error_errno(err, ERROR_SYSTEM, "stdin", "unable to look at it");
	if (S_ISREG(status.st_mode)) {
		if (start_keeping(in, s, run_id, err) == 0 &&
		    input_copy_file(in, source, lseek(source, 0, SEEK_CUR), err) == 0 &&
		    input_finish_file(in, err) == 0)
			return 0;
	} else if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) {
		if (start_keeping(in, s, run_id, err) == 0 && make_pipe(in, source, err) == 0)
			return 0;
	} else {
		return 0;
	}
	input_close(in);
	return -1;
}

/* Opens the stored input, to continue it. */
static int
input_reopen_kept(struct input *in, const char *path, int flags, struct error *err)
{
	char *bytes = memory_alloc(COPY_SIZE);
	ssize_t got;

	in->file = file_open_plain(path, flags, 0);
	if (in->file >= 0)
		fcntl(in->file, F_SETFL, fcntl(in->file, F_GETFL) & ~O_NONBLOCK);
	digest_begin(&in->digest);
	while ((got = in->file < 0 ? -1 : pread(in->file, bytes, COPY_SIZE, (off_t)in->bytes)) > 0) {
		digest_add(&in->digest, bytes, (size_t)got);
		in->bytes += got;
	}
	free(bytes);
	in->kept = true;
	in->known = in->bytes;
	return got == 0 ? 0 :
	    error_errno(err, ERROR_SYSTEM, path, "unable to read what was kept of stdin");
}

static int
open_nothing(struct input *in, struct error *err)
{
	in->nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return in->nothing >= 0 ? 0 :
	    error_errno(err, ERROR_SYSTEM, "/dev/null", "unable to open");
}

/* Continues after a part. A file must begin with that part; a device does not repeat it. */
static int
go_on(struct input *in, int source, struct error *err)
{
	struct stat status;
	char bytes[PAGE];
	size_t again;
	off_t start;
	ssize_t got;

	if (input_reopen_kept(in, in->part, O_RDWR | O_APPEND, err) != 0)
		return -1;
	if (source == -1)
		in->compared = in->known;
	else if (fstat(source, &status) != 0)
		return error_errno(err, ERROR_SYSTEM, "stdin", "unable to look at it");
	else if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))
		return make_pipe(in, source, err);
	if (source == -1 || !S_ISREG(status.st_mode))
		return open_nothing(in, err) == 0 ? make_pipe(in, in->nothing, err) : -1;

	in->stream = source;
	start = lseek(source, 0, SEEK_CUR);
	while (in->compared < in->known) {
		got = pread(source, bytes, sizeof bytes, start + (off_t)in->compared);
		if (got < 0)
			return error_errno(err, ERROR_SYSTEM, "stdin", "unable to read");
		if (got == 0)
			return ended_early(in, err);
		if (input_compare_bytes(in, bytes, (size_t)got, &again, err) != 0)
			return -1;
	}
	in->given = in->known;
	return input_copy_file(in, source, start + (off_t)in->known, err) == 0 ?
	    input_finish_file(in, err) : -1;
}

/* Nothing was kept: continue as in a first attempt. */
static int
open_again(struct input *in, const struct storage *s, const char *run_id, int source,
    struct error *err)
{
	unlink(in->part);
	input_close(in);
	if (source != -1)
		return input_open(in, s, run_id, source, in->sync, err);
	input_pass(in, -1);
	if (open_nothing(in, err) != 0)
		return -1;
	in->stream = in->nothing;
	return 0;
}

/* After a power failure there may be zeros at the end of what was kept: these bytes are read
 * again, whatever they are. */
static int
drop_zeros(const char *part, struct error *err)
{
	char *bytes;
	int fd = file_open_plain(part, O_RDWR, 0), failed = 0;
	struct stat status;
	off_t end, whole;

	if (fd < 0)
		return errno == ENOENT ? 0 : error_errno(err, ERROR_SYSTEM, part, "unable to open");
	bytes = memory_alloc(COPY_SIZE);
	whole = end = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? status.st_size : 0;
	for (off_t from = end; from == end && end > 0;) {
		from = end > (off_t)COPY_SIZE ? end - (off_t)COPY_SIZE : 0;
		if (pread(fd, bytes, (size_t)(end - from), from) != (ssize_t)(end - from))
			break;
		while (end > from && bytes[end - from - 1] == '\0')
			end--;
	}
	if (end < whole && ftruncate(fd, end) != 0)
		failed = error_errno(err, ERROR_SYSTEM, part, "unable to cut");
	close(fd);
	free(bytes);
	return failed;
}

int
input_reopen(struct input *in, const struct storage *s, const char *run_id, int source,
    bool sync, struct error *err)
{
	struct stat status;
	int failed;

	input_pass(in, -1);
	in->sync = sync;
	in->path = storage_input(s, run_id);
	in->part = memory_format("%s" INPUT_PART, in->path);
	if (lstat(in->path, &status) == 0) {
		failed = input_reopen_kept(in, in->path, O_RDONLY, err);
		in->stream = in->file;
		in->given = in->known;
		in->named = in->complete = true;
	} else if ((failed = drop_zeros(in->part, err)) != 0) {
		/* *err is set */
	} else if (lstat(in->part, &status) == 0 && status.st_size > 0) {
		failed = go_on(in, source, err);
	} else {
		return open_again(in, s, run_id, source, err);
	}
	if (failed != 0)
		input_close(in);
	return failed;
}

int
input_renew(struct input *in, const struct storage *s, const char *run_id, int source,
    bool sync, struct error *err)
{
	char *path = storage_input(s, run_id);
	int failed = 0;

	if (unlink(path) != 0 && errno != ENOENT)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to remove");
	input_pass(in, -1);
	in->sync = sync;
	in->part = memory_format("%s" INPUT_PART, path);
	free(path);
	return failed == 0 ? open_again(in, s, run_id, source, err) : -1;
}

int
input_copy(const struct storage *s, const char *from, const char *to, struct error *err)
{
	struct input in;
	char *path = storage_input(s, from), *part = memory_format("%s" INPUT_PART, path);
	int whole = file_open_plain(path, O_RDONLY, 0), failed = 0;
	int source = whole >= 0 ? whole : file_open_plain(part, O_RDONLY, 0);

	input_pass(&in, -1);
	if (source >= 0) {
		failed = start_keeping(&in, s, to, err) != 0 ||
		    input_copy_file(&in, source, 0, err) != 0 ||
		    (whole >= 0 && input_finish_file(&in, err) != 0) ? -1 : 0;
		close(source);
	}
	input_close(&in);
	free(path);
	free(part);
	return failed;
}

int
input_nest(struct input *in, const struct roster *parent, const char *run_directory,
    struct error *err)
{
	struct roster_entry entry = { .enclosing = "", .name = ROSTER_INPUT, .tried = true };
	struct stat status;

	if (in->sink < 0 && in->stream >= 0 && fstat(in->stream, &status) == 0 &&
	    (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))) {
		digest_begin(&in->digest);
		if (make_pipe(in, in->stream, err) != 0)
			return -1;
	}
	if (in->sink < 0)
		return 0;
	in->parent = parent;
	entry.out = in->sink;
	return roster_begin(&in->relay, run_directory, &entry, err);
}

/* Source has ended. Returns whether that was the end of the input. */
static bool
source_whole(struct input *in)
{
	return in->parent == NULL ||
	    roster_relayed(in->parent, in->source, in->bytes > 0, &in->relay);
}

void
input_started(struct input *in)
{
	if (in->sink >= 0)
		close(in->stream);
	in->stream = -1;
}

/* Stops relaying: the input has ended, or nobody reads it. */
static void
stop_relaying(struct input *in)
{
	file_close(&in->sink);
	in->source = -1;
}

nfds_t
input_poll(const struct input *in, struct pollfd fds[INPUT_POLLS])
{
	if (in->source < 0)
		return 0;
	fds[0] = (struct pollfd){ in->sink, in->taken ? 0 : POLLOUT, 0 };
	fds[1] = (struct pollfd){ in->source, POLLIN, 0 };
	return in->taken ? 2 : 1;
}

static void
input_write_sink(struct input *in, const char *bytes, size_t len)
{
	in->taken = false;
	if (file_write(in->sink, bytes, len) != 0)
		stop_relaying(in);
}

static int
input_relay_bytes(struct input *in, struct error *err)
{
	char bytes[PAGE];
	size_t again;
	ssize_t got = read(in->source, bytes, sizeof bytes);

	if (got < 0)
		return errno == EINTR || errno == EAGAIN ? 0 :
		    error_errno(err, ERROR_SYSTEM, "stdin", "unable to read");
	if (got == 0 && in->compared < in->known)
		return ended_early(in, err);
	if (got == 0) {
		bool whole = source_whole(in); /* before readers see the end */

		stop_relaying(in);
		return whole ? input_finish_file(in, err) : 0;
	}
	if (input_compare_bytes(in, bytes, (size_t)got, &again, err) != 0)
		return -1;
	if (again == (size_t)got)
		return 0;
	if (input_keep_bytes(in, bytes + again, (size_t)got - again, err) != 0)
		return -1;
	input_write_sink(in, bytes + again, (size_t)got - again);
	return 0;
}

int
input_step(struct input *in, const struct pollfd fds[INPUT_POLLS], struct error *err)
{
	int64_t left = in->known - in->given;
	char bytes[PAGE];
	ssize_t got;

	if (fds[0].revents & (POLLERR | POLLNVAL)) {
		stop_relaying(in);
		return 0;
	}
	if (in->taken)
		return fds[1].revents != 0 ? input_relay_bytes(in, err) : 0;
	in->taken = (fds[0].revents & POLLOUT) != 0;
	if (!in->taken || left <= 0)
		return 0;

	/* Relay a page of the input stored by earlier attempts. */
	got = pread(in->file, bytes, left < PAGE ? (size_t)left : PAGE, (off_t)in->given);
	if (got <= 0)
		return unable_to_read_kept(in, err);
	in->given += got;
	input_write_sink(in, bytes, (size_t)got);
	return 0;
}

int
input_finish(struct input *in, char sha256[DIGEST_SIZE], struct error *err)
{
	if (!in->kept && !in->digested)
		return 0;
	/* Nobody has read the end of this pipe: it is empty and has no writer. */
	if (in->source >= 0 && in->compared == in->known &&
	    (poll_now(in->source, POLLIN) & (POLLIN | POLLHUP)) == POLLHUP)
		in->complete = source_whole(in);
	stop_relaying(in);
	digest_end(&in->digest, sha256);
	in->digested = in->digested && in->complete;
	if (in->digested && (int64_t)in->seen.len == in->bytes &&
	    !state_digest(buffer_string(&in->seen), in->seen.len, in->data_sha256))
		in->data_sha256[0] = '\0';
	if (!in->kept)
		return 0;
	if (in->complete)
		return input_finish_file(in, err);
	return in->sync && fdatasync(in->file) != 0 ? unable_to_keep(in, err) : 0;
}

void
input_close(struct input *in)
{
	stop_relaying(in);
	file_close(&in->file);
	file_close(&in->nothing);
	if (in->parent != NULL) {
		roster_end(&in->relay); /* nobody has read its end */
		roster_close(&in->relay);
		in->parent = NULL;
	}
	buffer_free(&in->seen);
	free(in->path);
	free(in->part);
	in->path = in->part = NULL;
	/* After a failure to open it, input_finish() has nothing to complete. */
	in->kept = false;
}
