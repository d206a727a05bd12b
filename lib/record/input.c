#define _GNU_SOURCE /* F_SETPIPE_SZ */
#include "record/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

#define PAGE 4096
#define COPY_SIZE ((size_t)256 << 10)

void
input_pass(struct input *in, int source)
{
	memset(in, 0, sizeof *in);
	in->stream = source;
	in->file = in->source = in->sink = -1;
}

static int
unable_to_keep(const struct input *in, struct error *err)
{
	return error_errno(err, ERROR_SYSTEM, in->part, "unable to keep stdin");
}

static int
keep(struct input *in, const void *bytes, size_t len, struct error *err)
{
	if (file_write(in->file, bytes, len) != 0)
		return unable_to_keep(in, err);
	digest_add(&in->digest, bytes, len);
	in->bytes += (int64_t)len;
	return 0;
}

static int
start_keeping(struct input *in, const struct storage *s, const char *run_id, struct error *err)
{
	in->path = storage_input(s, run_id);
	in->part = memory_format("%s.part", in->path);
	in->file = storage_open(in->part, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (in->file < 0)
		return unable_to_keep(in, err);
	digest_begin(&in->digest);
	in->kept = true;
	return 0;
}

/* Copies a file from its offset on, without moving that. */
static int
copy(struct input *in, int source, struct error *err)
{
	off_t at = lseek(source, 0, SEEK_CUR);
	char *bytes = memory_alloc(COPY_SIZE);
	ssize_t got;
	int failed = 0;

	while (failed == 0 && (got = pread(source, bytes, COPY_SIZE, at)) != 0) {
		if (got < 0)
			failed = error_errno(err, ERROR_SYSTEM, "stdin", "unable to read");
		else
			failed = keep(in, bytes, (size_t)got, err);
		at += got;
	}
	free(bytes);
	in->complete = failed == 0;
	return failed;
}

/* A pipe of one page: it can be written to when all in it was taken. */
static int
make_pipe(struct input *in, int source, struct error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return error_errno(err, ERROR_SYSTEM, "stdin", "unable to make a pipe");
#ifdef F_SETPIPE_SZ
	fcntl(ends[1], F_SETPIPE_SZ, PAGE);
#endif
	in->stream = ends[0];
	in->sink = ends[1];
	in->source = source;
	return 0;
}

int
input_open(struct input *in, const struct storage *s, const char *run_id, int source,
    struct error *err)
{
	struct stat status;

	input_pass(in, source);
	if (fstat(source, &status) != 0)
		return error_errno(err, ERROR_SYSTEM, "stdin", "unable to look at it");
	if (S_ISREG(status.st_mode)) {
		if (start_keeping(in, s, run_id, err) == 0 && copy(in, source, err) == 0)
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

void
input_started(struct input *in)
{
	if (in->sink >= 0)
		close(in->stream);
	in->stream = -1;
}

/* Nothing is relayed any more: the end came, or nobody reads. */
static void
stop_relaying(struct input *in)
{
	if (in->sink >= 0)
		close(in->sink);
	in->sink = in->source = -1;
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

static int
relay(struct input *in, struct error *err)
{
	char bytes[PAGE];
	ssize_t got = read(in->source, bytes, sizeof bytes);

	if (got < 0)
		return errno == EINTR || errno == EAGAIN ? 0 :
		    error_errno(err, ERROR_SYSTEM, "stdin", "unable to read");
	if (got == 0) {
		in->complete = true;
		stop_relaying(in);
		return 0;
	}
	if (keep(in, bytes, (size_t)got, err) != 0)
		return -1;
	in->taken = false;
	if (file_write(in->sink, bytes, (size_t)got) != 0)
		stop_relaying(in);
	return 0;
}

int
input_step(struct input *in, const struct pollfd fds[INPUT_POLLS], struct error *err)
{
	if (fds[0].revents & (POLLERR | POLLNVAL)) {
		stop_relaying(in);
		return 0;
	}
	if (!in->taken) {
		in->taken = (fds[0].revents & POLLOUT) != 0;
		return 0;
	}
	return fds[1].revents != 0 ? relay(in, err) : 0;
}

/* A pipe whose end nobody came to read: nothing in it and no writer left. */
static void
look_for_end(struct input *in)
{
	struct pollfd fd = { in->source, POLLIN, 0 };

	if (in->source >= 0 && poll(&fd, 1, 0) == 1 && (fd.revents & (POLLIN | POLLHUP)) == POLLHUP)
		in->complete = true;
}

int
input_finish(struct input *in, bool sync, char sha256[DIGEST_SIZE], struct error *err)
{
	if (!in->kept)
		return 0;
	look_for_end(in);
	stop_relaying(in);
	digest_end(&in->digest, sha256);
	if (sync && fdatasync(in->file) != 0)
		return unable_to_keep(in, err);
	if (in->complete && rename(in->part, in->path) != 0)
		return unable_to_keep(in, err);
	return 0;
}

void
input_close(struct input *in)
{
	stop_relaying(in);
	if (in->file >= 0)
		close(in->file);
	in->file = -1;
	free(in->path);
	free(in->part);
	in->path = in->part = NULL;
}
