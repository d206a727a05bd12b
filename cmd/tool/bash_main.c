/*
 * awf-tool-bash: runs a shell command. Its answer is the command's output on stdout and stderr, in
 * the order in which it was printed; its exit status is the tool's.
 *
 *  - The command ends when the shell does: background processes are ended then; at the time limit
 *    everything is ended.
 *  - Of long output the beginning and the end are kept.
 *  - If TOOL_SHOWS is set, the end of what came is also printed on stderr from time to time, for who
 *    looks on. What stderr does not take at once is dropped.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "builtin.h"
#include "definitions/tool.h"
#include "io/file.h"
#include "io/polling.h"
#include "isolate/sandbox.h"
#include "proc/descendants.h"
#include "proc/interrupts.h"
#include "proc/process.h"
#include "proc/wait.h"

#define KEPT_LIMIT ((size_t)15000)  /* bytes, of each end */
#define READ_SIZE ((size_t)16 << 10)
#define PIPE_SIZE_LIMIT ((size_t)1 << 20)
#define TIMEOUT_LIMIT_MS 600000
#define SHOWN_LIMIT ((size_t)PIPE_BUF - 2) /* bytes that are shown at a time, in a frame */
#define SHOWN_PAUSE_MS 50
#define LOOK_AGAIN_MS 10            /* ms between checks if no descriptor reports the end */

struct command {
	const char *text;
	long long timeout_ms;
	int output;            /* read end of the pipe */
	struct process process;
	int wait_status;
	struct buffer head, tail;
	long long cut;         /* bytes between them */
	bool shows;            /* it is shown while it comes: */
	size_t unshown;        /* bytes that were not shown yet */
	int64_t shown_next;    /* when that is due */
};

/* Shows the end of what came since the last time, if that is due, in a frame, which goes into a pipe whole
 * or not at all. A NUL byte would end it. */
static void
bash_show(struct command *c)
{
	const size_t len = c->unshown < SHOWN_LIMIT ? c->unshown : SHOWN_LIMIT;
	const size_t tail = len < c->tail.len ? len : c->tail.len;
	char frame[PIPE_BUF] = "";

	if (!c->shows || len == 0 || clock_monotonic() < c->shown_next)
		return;
	if (len > tail)
		memcpy(frame + 1, c->head.data + c->head.len - (len - tail), len - tail);
	if (tail > 0)
		memcpy(frame + 1 + len - tail, c->tail.data + c->tail.len - tail, tail);
	for (size_t i = 1; i <= len; i++)
		frame[i] = frame[i] == '\0' ? ' ' : frame[i];
	frame[len + 1] = '\0';
	if (poll_now(STDERR_FILENO, POLLOUT) != 0 && write(STDERR_FILENO, frame, len + 2) == -1)
		c->shows = false;
	c->unshown = 0;
}

/* Reads some of the pipe. 1; 0: nothing now; -1: nothing more. */
static int
bash_read_output(struct command *c)
{
	char bytes[READ_SIZE];
	ssize_t len = read(c->output, bytes, sizeof bytes);
	size_t room = KEPT_LIMIT - c->head.len, first;

	if (len <= 0)
		return len == -1 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
	if (c->shows && c->unshown == 0)
		c->shown_next = clock_monotonic() + SHOWN_PAUSE_MS;
	c->unshown += (size_t)len;
	first = (size_t)len < room ? (size_t)len : room;
	buffer_append(&c->head, bytes, first);
	buffer_append(&c->tail, bytes + first, (size_t)len - first);
	if (c->tail.len > KEPT_LIMIT) {
		c->cut += (long long)(c->tail.len - KEPT_LIMIT);
		buffer_drop(&c->tail, c->tail.len - KEPT_LIMIT);
	}
	return 1;
}

static int
bash_start_command(struct command *c, struct error *err)
{
	const char *path = getenv("PATH");
	char *bash = path_search(path != NULL ? path : "/usr/bin:/bin", "bash");
	char *const argv[] = { bash != NULL ? bash : (char *)(uintptr_t)"/bin/sh",
		(char *)(uintptr_t)"-c", (char *)(uintptr_t)c->text, NULL };
	int pipe_fds[2], failed;

	if (pipe(pipe_fds) == -1)
		failed = error_errno(err, ERROR_SYSTEM, NULL, "unable to make a pipe");
	else {
		c->output = pipe_fds[0];
		fcntl(pipe_fds[0], F_SETFD, FD_CLOEXEC);
		fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK);
		fcntl(pipe_fds[1], F_SETFD, FD_CLOEXEC);
		failed = process_start(&c->process, &(struct process_spec){ .argv = argv,
		    .in = PROCESS_NULL, .out = pipe_fds[1], .err = pipe_fds[1] }, NULL, err);
		close(pipe_fds[1]);
	}
	free(bash);
	return failed;
}

/* Waits for the shell's end. -1: something else came first. */
static int
bash_wait_for_command(struct command *c, int exit_fd, const struct interrupts *interrupts,
    struct error *err)
{
	struct pollfd fds[3] = { { -1, 0, 0 }, { c->output, POLLIN, 0 }, { exit_fd, POLLIN, 0 } };
	int64_t end = clock_monotonic() + c->timeout_ms, now, wake;
	char text[32];

	while (!wait_child(c->process.pid, 0, &c->wait_status)) {
		now = clock_monotonic();
		if (now >= end)
			return error_set(err, ERROR_TIMEOUT, NULL, "timed out after %s",
			    duration_text(c->timeout_ms, text, sizeof text));
		bash_show(c);
		wake = exit_fd == -1 && now + LOOK_AGAIN_MS < end ? now + LOOK_AGAIN_MS : end;
		if (c->shows && c->unshown > 0 && c->shown_next < wake)
			wake = c->shown_next;
		if (interrupts_wait(interrupts, fds, 3, wake, err) == -1)
			return -1;
		if (fds[1].revents != 0 && bash_read_output(c) == -1)
			fds[1].fd = -1;
	}
	return 0;
}

/* Both ends as whole characters. */
static void
bash_write_output(const struct command *c, struct builtin *b)
{
	size_t head = c->head.len, skip = 0;

	if (c->cut > 0) {
		head = utf8_whole(c->head.data, head);
		while (skip < 3 && ((unsigned char)c->tail.data[skip] & 0xc0) == 0x80)
			skip++;
	}
	buffer_append(&b->answer, buffer_string(&c->head), head);
	if (c->cut > 0) {
		builtin_remark(b, "%lld bytes of output are not shown here",
		    c->cut + (long long)(c->head.len - head + skip));
		buffer_byte(&b->answer, '\n');
	}
	buffer_append(&b->answer, buffer_string(&c->tail) + skip, c->tail.len - skip);
}

static int
run_command(struct builtin *b, struct error *err)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, 0 };
	struct command c = { .timeout_ms = BASH_LIMIT_MS, .output = -1 };
	const struct argument arguments[] = {
		{ "command", &c.text, ARGUMENT_NAME, .required = true },
		{ "timeout", &c.timeout_ms, ARGUMENT_NUMBER, .min = 1, .max = TIMEOUT_LIMIT_MS },
		{ .name = NULL }
	};
	const struct interrupts *interrupts;
	int exit_fd, failed;

	if (builtin_arguments(b, arguments, err) != 0)
		return -1;
	c.shows = getenv(TOOL_SHOWS) != NULL;
	unsetenv(TOOL_SHOWS);
	interrupts = builtin_catch(signals);
	failed = bash_start_command(&c, err);
	if (failed == 0) {
		exit_fd = wait_descriptor(c.process.pid);
		failed = bash_wait_for_command(&c, exit_fd, interrupts, err);
		descendants_end(getpid(), SIGTERM, NULL);
		/* The rest of the pipe; a process that still writes to it has been detached. */
		for (size_t taken = 0; taken < PIPE_SIZE_LIMIT && bash_read_output(&c) == 1;
		    taken += READ_SIZE)
			continue;
		if (exit_fd != -1)
			close(exit_fd);
	}
	bash_write_output(&c, b);
	/* Convert the command's status to the tool's. */
	if (failed == 0) {
		b->status = process_exit_code(c.wait_status);
		if (b->status == 0 && b->answer.len == 0)
			builtin_remark(b, "no output");
		if (b->status == SANDBOX_REFUSED) {
			b->status = 1;
			builtin_remark(b, "exit status %d", SANDBOX_REFUSED);
		}
	}
	if (c.output != -1)
		close(c.output);
	buffer_free(&c.head);
	buffer_free(&c.tail);
	return failed;
}

int
main(int argc, char **argv)
{
	return builtin_main("bash", run_command, argc, argv);
}
