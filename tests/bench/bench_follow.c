/*
 * How soon `awf-tail -f` shows an event after it is on disk, beside `tail -f`:
 * appends EVENTS to a transcript that each follows and waits for every line.
 * usage: bench_follow EVENTS
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/file.h"
#include "proc/process.h"
#include "storage/run.h"

#define BETWEEN_EVENTS 1000000 /* ns */

static _Noreturn void
fail(const char *what, const struct error *err)
{
	fprintf(stderr, "bench_follow: %s%s%s\n", what, err ? ": " : "", err ? err->message : "");
	exit(4);
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Reads up to the end of a line. */
static void
read_line(int fd)
{
	char bytes[65536];
	ssize_t n;

	do {
		n = read(fd, bytes, sizeof bytes);
		if (n <= 0)
			fail("the follower ended", NULL);
	} while (bytes[n - 1] != '\n');
}

static int
ascending(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

/* Median milliseconds from the end of an append to the line in the pipe. */
static double
median(struct run *run, const char *const *argv, int events)
{
	struct process_spec spec = { .argv = (char *const *)(const void *)argv, .in = PROCESS_NULL, .err = PROCESS_INHERIT };
	const struct timespec pause = { 0, BETWEEN_EVENTS };
	struct process follower;
	double *times = memory_array(NULL, (size_t)events, sizeof *times), result;
	int pipe_fds[2];
	struct error err;

	if (pipe(pipe_fds) != 0)
		fail("unable to make a pipe", NULL);
	spec.out = pipe_fds[1];
	if (process_start(&follower, &spec, NULL, &err) != 0)
		fail("unable to start", &err);
	close(pipe_fds[1]);
	read_line(pipe_fds[0]);
	nanosleep(&(struct timespec){ 0, 100 * BETWEEN_EVENTS }, NULL);
	for (int i = 0; i < events; i++) {
		struct event e = { .type = EVENT_TOOL_CALL, .path = "bench",
			.parent_event_id = run->started };

		nanosleep(&pause, NULL);
		if (transcript_append(&run->transcript, &e, &err) != 0)
			fail("unable to append", &err);
		times[i] = now();
		read_line(pipe_fds[0]);
		times[i] = now() - times[i];
	}
	close(pipe_fds[0]);
	kill(follower.pid, SIGKILL);
	waitpid(follower.pid, NULL, 0);
	qsort(times, (size_t)events, sizeof *times, ascending);
	result = times[events / 2];
	free(times);
	return result;
}

int
main(int argc, char **argv)
{
	struct run_spec spec = { .name = "bench", .kind = "workflow", .keep_transcript = true,
		.latest = true };
	int events = argc == 2 ? atoi(argv[1]) : 0;
	struct error err;
	struct run run;
	double ours, peer;

	if (events <= 0) {
		fprintf(stderr, "usage: bench_follow EVENTS\n");
		return 1;
	}
	if (run_create(&run, &spec, &err) != 0)
		fail("unable to make a run", &err);
	ours = median(&run, (const char *[]){ "awf-tail", "-f", "-n", "1", NULL }, events);
	peer = median(&run, (const char *[]){ "tail", "-f", "-n", "1", run.transcript.path, NULL }, events);
	printf("event on disk to `awf-tail -f` output, median | %.3f ms | `tail -f`: %.3f ms | "
	    "under 2 ms\n", ours, peer);
	run_finish(&run, &(struct run_end){ .status = "success" }, &err);
	run_close(&run);
	return 0;
}
