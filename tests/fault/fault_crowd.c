/*
 * Many processes append to one new transcript at once. Half of them are forked
 * and go on with their parent's struct transcript; the others execute
 * fault_append.
 * usage: fault_crowd FILE PROCESSES EVENTS
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transcript/transcript.h"

#define RUN_ID "0b7a1c52-93d4-4e8f-a6b0-5c1d2e3f4a5b"

static _Noreturn void
fail(const struct error *err)
{
	char text[1400];

	fprintf(stderr, "fault_crowd: %s\n", error_text(err, text, sizeof text));
	_exit(error_status(err->code));
}

static _Noreturn void
append_with(struct transcript *t, long events)
{
	static const char payload[] = "{\"text\":\"from a child that was forked\"}";
	struct event e = { .type = EVENT_TOOL_CALL, .path = "crowd.forked",
		.payload = { payload, sizeof payload - 1 } };
	struct error err;

	for (; events > 0; events--) {
		if (transcript_append(t, &e, &err) == -1)
			fail(&err);
	}
	_exit(0);
}

static _Noreturn void
execute(const char *path, const char *events)
{
	dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
	execlp("fault_append", "fault_append", path, events, "300", (char *)NULL);
	perror("fault_append");
	_exit(STATUS_SYSTEM);
}

int
main(int argc, char **argv)
{
	struct transcript t;
	struct error err;
	int status, failed = 0;

	if (argc != 4) {
		fprintf(stderr, "usage: fault_crowd FILE PROCESSES EVENTS\n");
		return STATUS_USAGE;
	}
	if (transcript_create(&t, argv[1], "blobs", RUN_ID, &err) == -1)
		fail(&err);
	for (long i = 0; i < atol(argv[2]); i++) {
		if (fork() != 0)
			continue;
		if (i % 2 == 0)
			append_with(&t, atol(argv[3]));
		execute(argv[1], argv[3]);
	}
	while (wait(&status) > 0)
		failed |= status;
	transcript_close(&t);
	return failed == 0 ? STATUS_OK : STATUS_SYSTEM;
}
