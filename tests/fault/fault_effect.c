/*
 * An effect on the world outside, as a command or a tool: notes in a ledger that it
 * happened, by one write, then answers.
 *
 * usage: fault_effect LEDGER FORMAT <INPUT
 * Prints FORMAT with the input in the place of its %. The ledger is the file LEDGER in
 * the directory $LEDGERS; its line is "CALL INPUT". Before and after that it takes its
 * time, up to $EFFECT_MS milliseconds in all.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "io/file.h"

static void
work(void)
{
	const char *limit = getenv("EFFECT_MS");
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	srandom((unsigned)time.tv_nsec);
	time.tv_sec = 0;
	time.tv_nsec = limit == NULL ? 0 : random() % (atol(limit) * 500000 + 1);
	nanosleep(&time, NULL);
}

static int
enter(const char *ledger, const struct buffer *input)
{
	const char *directory = getenv("LEDGERS"), *call = getenv("AWF_CALL");
	struct buffer path = BUFFER_INIT, line = BUFFER_INIT;
	int fd, result;

	buffer_format(&path, "%s/%s", directory == NULL ? "." : directory, ledger);
	fd = open(buffer_string(&path), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	buffer_format(&line, "%s ", call == NULL ? "-" : call);
	buffer_append(&line, input->data, input->len);
	buffer_byte(&line, '\n');
	result = fd == -1 ? -1 : file_write(fd, line.data, line.len);
	buffer_free(&line);
	buffer_free(&path);
	return result;
}

int
main(int argc, char **argv)
{
	struct buffer input = BUFFER_INIT;
	const char *rest = argc == 3 ? strchr(argv[2], '%') : NULL;
	char bytes[4096];
	ssize_t len;

	if (rest == NULL) {
		fprintf(stderr, "usage: fault_effect LEDGER FORMAT <INPUT\n");
		return 1;
	}
	while ((len = read(STDIN_FILENO, bytes, sizeof bytes)) > 0)
		buffer_append(&input, bytes, (size_t)len);
	if (input.len > 0 && input.data[input.len - 1] == '\n')
		input.len--;
	work();
	if (enter(argv[1], &input) != 0) {
		perror(argv[1]);
		return 4;
	}
	work();
	printf("%.*s", (int)(rest - argv[2]), argv[2]);
	fwrite(buffer_string(&input), 1, input.len, stdout);
	printf("%s\n", rest + 1);
	buffer_free(&input);
	return fflush(stdout) == 0 ? 0 : 4;
}
