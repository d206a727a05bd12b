/* The terminal is /dev/tty; what was typed before the question was asked is dropped by
 * tcflush(3). */
#include "view/terminal_question.h"

#include <errno.h>
#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include "io/file.h"
#include "io/lock.h"
#include "io/terminal.h"

#define TERMINAL "/dev/tty"
#define NAP_MS 100

/* Opens the terminal, if this process may ask a question there; else -1. */
static int
asking_terminal_open(void)
{
	int fd = isatty(STDERR_FILENO) ? open(TERMINAL, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;

	if (fd >= 0 && tcgetpgrp(fd) == getpgrp())
		return fd;
	file_close(&fd);
	return -1;
}

bool
terminal_question_possible(void)
{
	int fd = asking_terminal_open();
	const bool possible = fd >= 0;

	file_close(&fd);
	return possible;
}

int
terminal_question_open(struct terminal_question *q, const char *path,
    const struct interrupts *interrupts, struct error *err)
{
	int failed = 0;

	*q = (struct terminal_question){ asking_terminal_open(), -1, interrupts };
	if (q->terminal == -1)
		return 0;
	q->turn = file_open_plain(path, O_RDWR | O_CREAT, 0600);
	if (q->turn < 0)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to open");
	while (failed == 0 && lock_file_take(q->turn) != 0)
		failed = errno == EWOULDBLOCK ? interrupts_sleep(interrupts, NAP_MS, err) :
		    error_errno(err, ERROR_SYSTEM, path, "unable to lock");
	return failed == 0 ? 1 : -1;
}

void
terminal_question_close(struct terminal_question *q)
{
	file_close(&q->turn);
	file_close(&q->terminal);
}

int
terminal_question_print(struct terminal_question *q, struct buffer *out, struct error *err)
{
	struct buffer shown = BUFFER_INIT;
	int failed = 0;

	terminal_text(&shown, buffer_string(out), out->len);
	if (file_write(q->terminal, buffer_string(&shown), shown.len) != 0)
		failed = error_errno(err, ERROR_SYSTEM, TERMINAL, "unable to write");
	buffer_free(&shown);
	buffer_clear(out);
	return failed;
}

void
terminal_question_forget_typed(struct terminal_question *q)
{
	tcflush(q->terminal, TCIFLUSH);
}

int
terminal_question_ask(struct terminal_question *q, struct buffer *out, struct buffer *line,
    struct error *err)
{
	struct pollfd fds[2] = { { .fd = -1 }, { .fd = q->terminal, .events = POLLIN } };
	char bytes[256];
	ssize_t got;

	buffer_clear(line);
	if (terminal_question_print(q, out, err) != 0)
		return -1;
	do {
		if (interrupts_wait(q->interrupts, fds, 2, 0, err) != 0)
			return -1;
		if (fds[1].revents == 0)
			continue;
		got = read(q->terminal, bytes, sizeof bytes);
		if (got <= 0)
			return 0;
		buffer_append(line, bytes, (size_t)got);
	} while (line->len == 0 || line->data[line->len - 1] != '\n');
	line->data[--line->len] = '\0';
	return 1;
}
