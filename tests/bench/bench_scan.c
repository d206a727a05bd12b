/*
 * Reads all lines of a transcript, looking at the seq and type of each.
 * usage: bench_scan FILE
 */
#include <stdio.h>

#include "base/clock.h"
#include "transcript/event.h"
#include "transcript/reader.h"

int
main(int argc, char **argv)
{
	struct reader r;
	struct error err;
	const char *line;
	size_t len;
	int64_t lines = 0, calls = 0;
	struct event_head head;
	int got;

	if (argc != 2) {
		fprintf(stderr, "usage: bench_scan FILE\n");
		return STATUS_USAGE;
	}
	int64_t begun = clock_wall();
	if (reader_open(&r, argv[1], &err) == -1)
		return error_status(err.code);
	while ((got = reader_next(&r, &line, &len, &err)) == 1) {
		lines++;
		if (event_peek(line, len, &head) == 0 && head.type == EVENT_TOOL_CALL)
			calls++;
	}
	double seconds = (double)(clock_wall() - begun) / 1e6;
	printf("scan, %lld MiB, %lld lines, %lld of them tool calls: %.2f s\n",
	    (long long)(r.position >> 20), (long long)lines, (long long)calls, seconds);
	reader_close(&r);
	return got == 0 ? STATUS_OK : error_status(err.code);
}
