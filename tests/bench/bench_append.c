/*
 * Appends 500-byte events to one new transcript from several processes at once.
 * usage: bench_append PROCESSES EVENTS [none|step|event]
 * EVENTS are those of each process; one line tells how many went in per second.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "transcript/transcript.h"

#define LINE_SIZE 500
#define REST_OF_LINE 345 /* without payload, seq of six digits */

static _Noreturn void
fail(const struct error *err)
{
	char text[1400];

	fprintf(stderr, "bench_append: %s\n", error_text(err, text, sizeof text));
	exit(error_status(err->code));
}

static void
append_events(struct transcript *t, long count)
{
	char payload[LINE_SIZE - REST_OF_LINE + 1];
	char parent[ID_SIZE];
	struct error err;
	struct event e = { .type = EVENT_TOOL_RESULT, .path = "bench", .payload =
	    { payload, sizeof payload - 1 } };

	snprintf(payload, sizeof payload, "{\"text\":\"%0*d\"}", (int)sizeof payload - 12, 0);
	for (; count > 0; count--) {
		if (transcript_append(t, &e, &err) == -1)
			fail(&err);
		e.parent_event_id = memcpy(parent, e.id, ID_SIZE);
	}
}

/* Waits for all children; status 4 if one failed. */
static void
wait_for_all(void)
{
	int status, failed = 0;

	while (wait(&status) > 0)
		failed |= status;
	if (failed != 0)
		exit(STATUS_SYSTEM);
}

int
main(int argc, char **argv)
{
	char directory[] = "/tmp/bench_append.XXXXXX";
	char run_id[ID_SIZE];
	struct transcript t;
	struct error err;

	if (argc < 3 || atol(argv[1]) < 1 || atol(argv[2]) < 1) {
		fprintf(stderr, "usage: bench_append PROCESSES EVENTS [none|step|event]\n");
		return STATUS_USAGE;
	}
	setenv("AWF_SYNC", argc > 3 ? argv[3] : "none", 1);
	if (mkdtemp(directory) == NULL)
		return STATUS_SYSTEM;
	char *path = memory_format("%s/%s.jsonl", directory, id_new(run_id));
	if (transcript_create(&t, path, directory, run_id, &err) == -1)
		fail(&err);
	long processes = atol(argv[1]), events = atol(argv[2]);
	int64_t begun = clock_wall();
	for (long i = 0; i < processes; i++) {
		if (fork() == 0) {
			append_events(&t, events);
			_exit(0);
		}
	}
	wait_for_all();
	double seconds = (double)(clock_wall() - begun) / 1e6;
	off_t size = lseek(t.fd, 0, SEEK_END);
	printf("append, %ld process%s, %lld-byte events, sync %s: %.0f/s\n", processes,
	    processes == 1 ? "" : "es", (long long)size / (processes * events),
	    argc > 3 ? argv[3] : "none", (double)(processes * events) / seconds);
	transcript_close(&t);
	unlink(path);
	rmdir(directory);
	free(path);
	return 0;
}
