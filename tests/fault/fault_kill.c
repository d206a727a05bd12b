/*
 * Four processes append lines of 200 bytes to 200 KB to one transcript; each round
 * one of them is killed at a random moment, and another started.
 * usage: fault_kill DIRECTORY ROUNDS SEED
 * Leaves transcript.jsonl, the event ids whose append returned (acknowledged), and
 * the lines that a concurrent reader saw (followed). Prints how many torn lines
 * were repaired.
 */
#define _GNU_SOURCE /* ppoll() */
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "model/watch.h"
#include "transcript/reader.h"
#include "transcript/transcript.h"

#define RUN_ID "0b7a1c52-93d4-4e8f-a6b0-5c1d2e3f4a5b"
#define WRITERS 4
#define LEAST 200
#define MOST 200000
#define LIFE_US 4000     /* at most, between two kills */
#define TIME_LIMIT 300   /* s, for all */
#define REPAIRED 'R'     /* begins a report of a repair; others are event ids */

static const char *const transcript_path = "transcript.jsonl";

static _Noreturn void
fail(const char *who, const struct error *err)
{
	char text[1400];

	fprintf(stderr, "fault_kill: %s: %s\n", who, error_text(err, text, sizeof text));
	_exit(STATUS_SYSTEM);
}

/* Reports are written whole: they are shorter than PIPE_BUF. */
static int reports;

static void
report(const char *text)
{
	char line[ID_SIZE];

	memcpy(line, text, ID_SIZE - 1);
	line[ID_SIZE - 1] = '\n';
	if (write(reports, line, sizeof line) != sizeof line)
		_exit(STATUS_SYSTEM);
}

static void
report_repair(const char *text)
{
	char line[ID_SIZE];

	snprintf(line, sizeof line, "%c%-35.35s", REPAIRED, text);
	report(line);
}

static double
random_fraction(void)
{
	return (double)random() / ((double)RAND_MAX + 1);
}

/* As many short lines as long ones, by orders of magnitude. */
static size_t
random_size(void)
{
	return (size_t)(LEAST * pow((double)MOST / LEAST, random_fraction()));
}

static _Noreturn void
write_for_ever(unsigned seed)
{
	static char payload[MOST + 16] = "{\"text\":\"";
	const size_t head = strlen(payload);
	struct transcript t;
	struct error err;

	srandom(seed);
	if (transcript_open(&t, transcript_path, "blobs", RUN_ID, &err) == -1)
		fail("writer", &err);
	t.repaired = report_repair;
	for (;;) {
		size_t size = random_size();
		memset(payload + head, 'a' + (int)(random() % 26), size);
		memcpy(payload + head + size, "\"}", 2);
		struct event e = { .type = EVENT_TOOL_RESULT, .path = "kill",
			.payload = { payload, head + size + 2 } };
		if (transcript_append(&t, &e, &err) == -1)
			fail("writer", &err);
		report(e.id);
	}
}

static bool
is_end(const char *line, size_t len)
{
	struct event_head head;

	return event_peek(line, len, &head) == 0 && head.type == EVENT_RUN_COMPLETED;
}

/* Prints lines as they come, until the end of the run. */
static _Noreturn void
follow(void)
{
	FILE *out = fopen("followed", "w");
	struct reader r;
	struct watch w;
	struct error err;
	const char *line = "";
	size_t len = 0;
	int got;

	if (out == NULL)
		_exit(STATUS_SYSTEM);
	watch_open(&w);
	if (watch_add(&w, transcript_path, &err) == -1 || reader_open(&r, transcript_path, &err) == -1)
		fail("follower", &err);
	do {
		watch_drain(&w);
		while ((got = reader_next(&r, &line, &len, &err)) == 1) {
			fwrite(line, 1, len, out);
			putc('\n', out);
			if (is_end(line, len))
				_exit(fclose(out) == 0 ? STATUS_OK : STATUS_SYSTEM);
		}
		watch_wait(&w, -1, 100);
	} while (got == 0);
	fail("follower", &err);
}

static pid_t
start_writer(unsigned seed)
{
	pid_t pid = fork();

	if (pid == 0)
		write_for_ever(seed);
	return pid;
}

/* A writer ends by being killed, never on its own. */
static void
kill_writer(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
		fprintf(stderr, "fault_kill: a writer failed\n");
		exit(STATUS_WORK);
	}
}

struct collector {
	int fd;
	FILE *acknowledged;
	long repairs;
};

/* Takes reports until that time (µs), or until there are no more writers. */
static void
collect(struct collector *c, int64_t until)
{
	struct pollfd fd = { .fd = c->fd, .events = POLLIN };
	char line[ID_SIZE];
	int64_t left;

	while ((left = until - clock_wall()) > 0) {
		const struct timespec time = { .tv_sec = left / 1000000, .tv_nsec = left % 1000000 * 1000 };
		if (ppoll(&fd, 1, &time, NULL) < 1)
			continue;
		if (read(c->fd, line, sizeof line) < (ssize_t)sizeof line)
			return;
		if (line[0] == REPAIRED)
			c->repairs++;
		else
			fwrite(line, 1, sizeof line, c->acknowledged);
	}
}

/* The run's last event; it repairs what the last killed writer left. */
static void
end_run(struct collector *c)
{
	struct event e = { .type = EVENT_RUN_COMPLETED, .path = "" };
	struct transcript t;
	struct error err;

	if (transcript_open(&t, transcript_path, "blobs", RUN_ID, &err) == -1)
		fail("end", &err);
	t.repaired = report_repair;
	if (transcript_append(&t, &e, &err) == -1)
		fail("end", &err);
	report(e.id);
	transcript_close(&t);
	close(reports);
	collect(c, INT64_MAX);
	fclose(c->acknowledged);
}

static void
kill_rounds(struct collector *c, long rounds, unsigned seed)
{
	pid_t writers[WRITERS];

	for (unsigned i = 0; i < WRITERS; i++)
		writers[i] = start_writer(seed++);
	for (; rounds > 0; rounds--) {
		collect(c, clock_wall() + (int64_t)(random_fraction() * LIFE_US));
		pid_t *victim = &writers[random() % WRITERS];
		kill_writer(*victim);
		*victim = start_writer(seed++);
	}
	for (unsigned i = 0; i < WRITERS; i++)
		kill_writer(writers[i]);
}

int
main(int argc, char **argv)
{
	struct collector c = { .repairs = 0 };
	struct transcript t;
	struct error err;
	int ends[2], status;

	if (argc != 4 || chdir(argv[1]) == -1 || pipe(ends) == -1 ||
	    (c.acknowledged = fopen("acknowledged", "w")) == NULL) {
		fprintf(stderr, "usage: fault_kill DIRECTORY ROUNDS SEED\n");
		return STATUS_USAGE;
	}
	c.fd = ends[0];
	reports = ends[1];
	srandom((unsigned)atol(argv[3]));
	alarm(TIME_LIMIT);
	if (transcript_create(&t, transcript_path, "blobs", RUN_ID, &err) == -1)
		fail("start", &err);
	transcript_close(&t);
	pid_t follower = fork();
	if (follower == 0)
		follow();
	kill_rounds(&c, atol(argv[2]), (unsigned)atol(argv[3]) * 1000003U);
	end_run(&c);
	if (waitpid(follower, &status, 0) == -1 || status != 0) {
		fprintf(stderr, "fault_kill: the follower failed\n");
		return STATUS_WORK;
	}
	printf("%ld\n", c.repairs);
	return STATUS_OK;
}
