/*
 * Spans, which anybody may send to awf-serve: what awf-import-otel says of a line, and of two, is lines of JSON.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

int program(int argc, char **argv); /* the format's main() */

#define main program
#include "../../cmd/import/otel_main.c"
#undef main

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *lf = memchr(text, '\n', size), *line;
	struct format_log log = { .whole = size % 2 == 0 };
	size_t bad, len;

	for (int i = 0; i < 2; i++) {
		const char *at = i == 0 ? text : lf != NULL ? lf + 1 : text + size;

		len = i == 0 && lf != NULL ? (size_t)(lf - text) : size - (size_t)(at - text);
		log.line++;
		if (scan_within(at, len, SCAN_LINE_DEPTH, &bad) == NULL && span_type(span_trim(span_of(at, len))) == 'o')
			otel_take_line(&log, span_trim(span_of(at, len)));
	}
	otel_finish(&log);
	otel_trace = (struct trace){ .count = 0 };
	for (const char *rest = buffer_string(&log.out); (line = text_part(&rest, '\n', &len)) != NULL && len > 0;)
		assert(scan_check(line, len, &bad) == NULL);
	format_log_free(&log);
	return 0;
}
