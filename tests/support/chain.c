/*
 * Makes a transcript of events: each line of stdin is an event as in
 * awf-transcript(5) without seq and prev; stdout is the same with both.
 * usage: chain < EVENTS > TRANSCRIPT
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "io/file.h"
#include "json/line_input.h"

static _Noreturn void
fail(const struct error *err)
{
	char text[sizeof err->place + sizeof err->message + 4];

	fprintf(stderr, "chain: %s\n", error_text(err, text, sizeof text));
	exit(error_status(err->code));
}

int
main(void)
{
	char prev[DIGEST_SIZE] = "0000000000000000000000000000000000000000000000000000000000000000";
	struct buffer out = BUFFER_INIT;
	struct line_input in;
	struct error err;
	const char *line;
	size_t len;
	int got;

	line_input_begin(&in, STDIN_FILENO, "stdin");
	while ((got = line_input_next(&in, &line, &len, &err)) == 1) {
		size_t start = out.len;

		if (len < 2 || line[0] != '{' || line[len - 1] != '}') {
			error_set(&err, ERROR_INVALID_INPUT, "stdin", "line %lld is no object",
			    (long long)in.lines);
			fail(&err);
		}
		buffer_format(&out, "{\"seq\":%lld,", (long long)in.lines);
		buffer_append(&out, line + 1, len - 2);
		buffer_format(&out, ",\"prev\":\"%s\"}", prev);
		digest_blake2b(out.data + start, out.len - start, prev);
		buffer_byte(&out, '\n');
	}
	if (got == -1)
		fail(&err);
	line_input_free(&in);
	if (file_write(STDOUT_FILENO, buffer_string(&out), out.len) != 0) {
		error_errno(&err, ERROR_SYSTEM, "stdout", "unable to write");
		fail(&err);
	}
	buffer_free(&out);
	return 0;
}
