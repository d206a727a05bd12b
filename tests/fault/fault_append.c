/*
 * Appends events to a transcript (made if it is not there), syncing each, and
 * prints seq and event_id of what was acknowledged.
 * usage: fault_append [-k] FILE COUNT SIZE
 * COUNT - : one event per line of stdin. SIZE: bytes of text in the payload.
 * -k: goes on after an error.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "transcript/transcript.h"

#define RUN_ID "0b7a1c52-93d4-4e8f-a6b0-5c1d2e3f4a5b"

struct appender {
	struct transcript transcript;
	struct buffer payload;
	bool keep_going;
	int status;
};

static void
say_repaired(const char *text)
{
	fprintf(stderr, "fault_append: %s\n", text);
}

static int
say_error(const struct error *err)
{
	char text[1400];

	fprintf(stderr, "fault_append: %s\n", error_text(err, text, sizeof text));
	return error_status(err->code);
}

/* false: no more. */
static bool
append_one(struct appender *a)
{
	struct error err;
	struct event e = { .type = EVENT_TOOL_RESULT, .path = "fault",
		.payload = { a->payload.data, a->payload.len } };

	if (transcript_append(&a->transcript, &e, &err) == -1 ||
	    (a->transcript.sync == SYNC_STEP && transcript_sync(&a->transcript, &err) == -1)) {
		a->status = say_error(&err);
		return a->keep_going;
	}
	printf("%lld %s\n", (long long)e.seq, e.id);
	return fflush(stdout) == 0;
}

static void
append_all(struct appender *a, const char *count)
{
	char line[16];

	if (strcmp(count, "-") == 0) {
		while (fgets(line, sizeof line, stdin) != NULL && append_one(a))
			continue;
		return;
	}
	for (long left = atol(count); left > 0 && append_one(a); left--)
		continue;
}

int
main(int argc, char **argv)
{
	struct appender a = { .payload = BUFFER_INIT };
	struct error err;

	if (argc > 1 && strcmp(argv[1], "-k") == 0) {
		a.keep_going = true;
		argv++, argc--;
	}
	if (argc != 4) {
		fprintf(stderr, "usage: fault_append [-k] FILE COUNT|- SIZE\n");
		return STATUS_USAGE;
	}
	signal(SIGXFSZ, SIG_IGN);
	int opened = access(argv[1], F_OK) == 0
	    ? transcript_open(&a.transcript, argv[1], "blobs", RUN_ID, &err)
	    : transcript_create(&a.transcript, argv[1], "blobs", RUN_ID, &err);
	if (opened == -1)
		return say_error(&err);
	a.transcript.repaired = say_repaired;
	buffer_format(&a.payload, "{\"text\":\"%0*d\"}", atoi(argv[3]), 0);
	append_all(&a, argv[2]);
	buffer_free(&a.payload);
	transcript_close(&a.transcript);
	return a.status;
}
