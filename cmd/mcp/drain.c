/*
 * The new process is no child of its starter, which therefore notices its end by a pipe. The bytes
 * that it keeps are in a file in memory, from its beginning to its end.
 */
#include "mcp/drain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/patience.h"
#include "io/file.h"
#include "io/polling.h"
#include "system/descriptor.h"

enum { PRINTED, SAID, KEPT, ENDED, FILES };
#define FIRST_FILE (STDERR_FILENO + 1)
#define SAID_SIZE 4096
#define READ_SIZE 65536

/* Appends bytes to those that are kept, and drops the first ones if there are too many. */
static void
drain_keep_last_bytes(int fd, char said[SAID_SIZE], size_t *len, const char *bytes, size_t more)
{
	size_t from = more > SAID_SIZE ? more - SAID_SIZE : 0, room = SAID_SIZE - (more - from);
	size_t stays = *len < room ? *len : room;

	memmove(said, said + *len - stays, stays);
	memcpy(said + stays, bytes + from, more - from);
	*len = stays + more - from;
	if (pwrite(fd, said, *len, 0) == -1)
		_exit(1);
}

/* Reads until all writers have closed the other ends. */
static void
drain_read_until_closed(void)
{
	static char bytes[READ_SIZE], said[SAID_SIZE];
	struct pollfd fds[] = { { FIRST_FILE + PRINTED, POLLIN, 0 }, { FIRST_FILE + SAID, POLLIN, 0 } };
	size_t len = 0;

	while (fds[PRINTED].fd != -1 || fds[SAID].fd != -1) {
		if (poll_until(fds, 2, 0) == -1)
			_exit(1);
		for (int i = PRINTED; i <= SAID; i++) {
			ssize_t got = fds[i].revents == 0 ? -1 : read(fds[i].fd, bytes, sizeof bytes);

			if (got > 0 && i == SAID)
				drain_keep_last_bytes(FIRST_FILE + KEPT, said, &len, bytes,
				    (size_t)got);
			else if (got == 0)
				fds[i].fd = -1;
		}
	}
	_exit(0);
}

/* In the new process: closes all descriptors except these. */
static void
drain_detach_process(const int files[FILES])
{
	int moved[FILES], null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	for (int i = 0; i < FILES; i++)
		moved[i] = fcntl(files[i], F_DUPFD_CLOEXEC, FIRST_FILE + FILES);
	for (int i = 0; i < FILES; i++)
		if (dup2(moved[i], FIRST_FILE + i) == -1)
			_exit(1);
	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		dup2(null, i);
	descriptor_close_from(FIRST_FILE + FILES);
	drain_read_until_closed();
}

int
drain_start(struct drain *d, struct error *err)
{
	int printed[2] = { -1, -1 }, said[2] = { -1, -1 }, ended[2] = { -1, -1 }, status = -1;
	pid_t pid = -1;

	*d = (struct drain)DRAIN_NONE;
	d->said = descriptor_unnamed("awf-said");
	if (d->said != -1 && descriptor_pipe(printed) == 0 && descriptor_pipe(said) == 0 &&
	    descriptor_pipe(ended) == 0)
		pid = fork();
	if (pid == 0) {
		const int files[FILES] = { printed[0], said[0], d->said, ended[1] };

		pid = fork();
		if (pid == 0)
			drain_detach_process(files);
		_exit(pid == -1);
	}
	d->out = printed[1];
	d->err = said[1];
	d->ended = ended[0];
	file_close(&printed[0]);
	file_close(&said[0]);
	file_close(&ended[1]);
	while (pid != -1 && waitpid(pid, &status, 0) == -1 && errno == EINTR)
		continue;
	if (pid != -1 && status == 0)
		return 0;
	error_errno(err, ERROR_SYSTEM, NULL, "unable to start what reads a run's output");
	drain_close(d);
	return -1;
}

void
drain_given(struct drain *d)
{
	file_close(&d->out);
	file_close(&d->err);
}

void
drain_last_line(const struct drain *d, char *text, size_t size)
{
	char said[SAID_SIZE + 1], *line;
	ssize_t got;

	/* Do not wait longer: a process that the workflow has left behind may still have the other
	 * end. */
	poll_one(d->ended, POLLIN, clock_monotonic() + READER_MS);
	got = pread(d->said, said, SAID_SIZE, 0);
	*text = '\0';
	if (got <= 0)
		return;
	said[got] = '\0';
	while (got > 0 && said[got - 1] == '\n')
		said[--got] = '\0';
	line = strrchr(said, '\n');
	snprintf(text, size, "%.*s", (int)size - 1, line != NULL ? line + 1 : said);
}

void
drain_close(struct drain *d)
{
	drain_given(d);
	file_close(&d->said);
	file_close(&d->ended);
}
