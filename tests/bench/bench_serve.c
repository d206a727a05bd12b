/*
 * What a server of events delivers to many clients: makes a transcript, connects CLIENTS to the
 * server's stream of it, appends lines of 1 KiB, and counts what comes.
 *
 *   bench_serve PORT PATH TRANSCRIPT CLIENTS flood LINES     deliveries a second, as fast as all
 *                                                            clients are served
 *   bench_serve PORT PATH TRANSCRIPT CLIENTS rate SECONDS N  at N lines a second: median and
 *                                                            99 % of µs from append to client
 *   bench_serve PORT PATH TRANSCRIPT CLIENTS idle SECONDS    connects, says "ready", and waits
 *   bench_serve PORT "" "" 1 first COMMAND                   ms from the start of a shell command,
 *                                                            which makes a run, until a client of
 *                                                            the list and then of its events has
 *                                                            the start of its first step
 *
 * $TOKEN is sent, if it is set. Every client reads all that comes and takes the lines out of it:
 * a delivery is one that came whole, to one client, and is the next one of those appended; else
 * the measurement fails. All clients are one thread, which takes its share of the figures.
 */
#define _GNU_SOURCE /* memmem(), epoll_pwait2() */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"

#define LINE 1024            /* bytes of a line, with its LF */
#define FIRST 1000001        /* the first number: all have as many digits */
#define AHEAD 256            /* lines that the slowest client may be behind, in a flood */
#define ROOM (256 << 10)

struct client {
	int fd;
	bool begun;              /* the head of the answer is read */
	long next;               /* the number of the line that is to come next */
	char part[2 * LINE];     /* of a line of the answer, that has not come whole */
	size_t part_len;
};

static struct client *clients;
static size_t client_count;
static int epoll, transcript;
static long next_line = FIRST;
static char *room;
static double *samples;
static size_t sample_count, sample_room;

static _Noreturn void
fail(const char *what)
{
	fprintf(stderr, "bench_serve: %s: %s\n", what, strerror(errno));
	exit(4);
}

static int64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void
append_lines(size_t count)
{
	static char bytes[64 * LINE];
	size_t len = 0;

	for (size_t i = 0; i < count; i++) {
		char *line = bytes + len;
		int head = snprintf(line, LINE, "{\"seq\":%ld,\"timestamp\":\"2026-11-21T08:15:30.123456Z\","
		    "\"type\":\"message.assistant\",\"path\":\"a\",\"iteration\":0,\"payload\":{\"t\":%19" PRId64
		    ",\"text\":\"", next_line++, now());

		memset(line + head, 'x', LINE - (size_t)head);
		memcpy(line + LINE - 4, "\"}}\n", 4);
		len += LINE;
	}
	if (write(transcript, bytes, len) != (ssize_t)len)
		fail("unable to append");
}

/* A connection on which a path was asked for. */
static int
ask(int port, const char *path)
{
	const char *token = getenv("TOKEN");
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	char request[1024];
	int len = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
	    "Accept: text/event-stream\r\n%s%s%s\r\n", path, port, token ? "Authorization: Bearer " : "",
	    token ? token : "", token ? "\r\n" : "");
	int fd;

	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
		fail("unable to connect");
	if (send(fd, request, (size_t)len, 0) != len)
		fail("unable to ask");
	return fd;
}

static void
connect_clients(int port, const char *path)
{
	for (size_t i = 0; i < client_count; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.u64 = i };

		clients[i].fd = ask(port, path);
		epoll_ctl(epoll, EPOLL_CTL_ADD, clients[i].fd, &event);
	}
}

static void
take_sample(const char *line, size_t len, int64_t came)
{
	static const char sign[] = "\"t\":";
	const char *found = memmem(line, len, sign, sizeof sign - 1);

	if (sample_count == sample_room) {
		sample_room = sample_room ? sample_room * 2 : 4096;
		samples = memory_array(samples, sample_room, sizeof *samples);
	}
	samples[sample_count++] = (double)(came - strtoll(found + sizeof sign - 1, NULL, 10)) / 1000;
}

/* A line of an answer: perhaps one that was appended. */
static void
take_line(struct client *c, const char *line, size_t len, int64_t came)
{
	static const char sign[] = "data: {\"seq\":";
	const size_t head = sizeof sign - 1;
	long number;

	if (len < head || memcmp(line, sign, head) != 0 || (number = strtol(line + head, NULL, 10)) < FIRST)
		return;
	if (number != c->next || len != strlen("data: ") + LINE - 1 || memcmp(line + len - 3, "\"}}", 3) != 0) {
		fprintf(stderr, "bench_serve: line %ld has come with %zu bytes, where %ld was to come\n",
		    number, len, c->next);
		exit(4);
	}
	c->next++;
	if (came != 0)
		take_sample(line, len, came);
}

/* Reads what there is of a client. */
static void
read_client(struct client *c, bool sampled)
{
	const char *at = room, *end, *lf;
	ssize_t got;
	int64_t came;

	memcpy(room, c->part, c->part_len);
	got = recv(c->fd, room + c->part_len, ROOM - c->part_len - 1, MSG_DONTWAIT);
	if (got <= 0)
		fail("a client was let go");
	came = sampled ? now() : 0;
	end = room + c->part_len + got;
	if (!c->begun) {
		if (memmem(room, (size_t)(end - room), "\r\n\r\n", 4) == NULL ||
		    memcmp(room, "HTTP/1.1 200", 12) != 0) {
			fprintf(stderr, "%.*s\n", (int)(end - room), room);
			fail("no stream");
		}
		c->begun = true;
	}
	for (; (lf = memchr(at, '\n', (size_t)(end - at))) != NULL; at = lf + 1)
		take_line(c, at, (size_t)(lf - at), came);
	c->part_len = (size_t)(end - at);
	if (c->part_len > sizeof c->part) {
		fprintf(stderr, "bench_serve: a line has no end\n");
		exit(4);
	}
	memcpy(c->part, at, c->part_len);
}

static void
poll_clients(int64_t until, bool sampled)
{
	struct epoll_event events[256];
	int64_t left = until - now();
	struct timespec most = { .tv_sec = 0, .tv_nsec = 0 };
	int count;

	if (left > 0)
		most = (struct timespec){ .tv_sec = left / 1000000000, .tv_nsec = left % 1000000000 };
	count = epoll_pwait2(epoll, events, 256, &most, NULL);

	for (int i = 0; i < count; i++)
		read_client(&clients[events[i].data.u64], sampled);
}

static bool
all_begun(void)
{
	for (size_t i = 0; i < client_count; i++)
		if (!clients[i].begun)
			return false;
	return true;
}

/* The number of the line that the slowest client waits for. */
static long
least(void)
{
	long next = LONG_MAX;

	for (size_t i = 0; i < client_count; i++)
		if (clients[i].next < next)
			next = clients[i].next;
	return next;
}

/* Until all clients have all lines. */
static void
wait_for_all(void)
{
	int64_t end = now() + (int64_t)60 * 1000000000;

	while (least() < next_line) {
		if (now() > end) {
			fprintf(stderr, "bench_serve: %ld of %ld lines have come in 60 s\n", least() - FIRST,
			    next_line - FIRST);
			exit(4);
		}
		poll_clients(now() + 100000000, false);
	}
}

static void
flood(long lines)
{
	int64_t begun = now();
	long written = 0;

	while (written < lines) {
		if (next_line - least() <= AHEAD) {
			append_lines(64);
			written += 64;
		}
		poll_clients(now(), false);
	}
	wait_for_all();
	printf("%.0f\n", (double)written * (double)client_count / ((double)(now() - begun) / 1e9));
}

static int
ascending(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

static void
at_rate(int seconds, int per_second)
{
	int64_t begun = now(), step = 1000000000 / per_second;

	for (long i = 0; i < (long)seconds * per_second; i++) {
		while (now() < begun + i * step)
			poll_clients(begun + i * step, true);
		append_lines(1);
	}
	for (int64_t end = now() + 1000000000; least() < next_line && now() < end;)
		poll_clients(end, true);
	if (sample_count != client_count * (size_t)(next_line - FIRST - 1)) {
		fprintf(stderr, "bench_serve: %zu lines have come within a second\n", sample_count);
		exit(4);
	}
	qsort(samples, sample_count, sizeof *samples, ascending);
	printf("%.0f %.0f %zu\n", samples[sample_count / 2], samples[sample_count * 99 / 100],
	    sample_count);
}

/* Reads into the room until a text has come; where it is. */
static const char *
read_until(int fd, size_t *have, const char *text)
{
	const char *found;

	while (room[*have] = '\0', (found = strstr(room, text)) == NULL) {
		ssize_t got = read(fd, room + *have, ROOM - 1 - *have);

		if (got <= 0)
			fail("the stream ended");
		*have += (size_t)got;
	}
	return found;
}

static void
first_step(int port, const char *command)
{
	static const char sign[] = "\"run_id\":\"";
	char path[128];
	size_t have = 0;
	int64_t begun;
	int list = ask(port, "/api/runs/stream"), events;

	read_until(list, &have, "retry");
	have = 0;
	begun = now();
	if (fork() == 0) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	snprintf(path, sizeof path, "/api/runs/%.36s/events/stream",
	    read_until(list, &have, sign) + sizeof sign - 1);
	have = 0;
	events = ask(port, path);
	read_until(events, &have, "\"step.started\"");
	printf("%.1f\n", (double)(now() - begun) / 1e6);
	wait(NULL);
}

int
main(int argc, char **argv)
{
	struct rlimit limit;

	if (argc < 7) {
		fprintf(stderr, "usage: bench_serve PORT PATH TRANSCRIPT CLIENTS flood|rate|idle|first N [N]\n");
		return 1;
	}
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	client_count = strtoul(argv[4], NULL, 10);
	clients = memory_zero(client_count, sizeof *clients);
	room = memory_alloc(ROOM);
	if (strcmp(argv[5], "first") == 0) {
		first_step(atoi(argv[1]), argv[6]);
		return 0;
	}
	epoll = epoll_create1(0);
	transcript = open(argv[3], O_WRONLY | O_APPEND);
	if (transcript == -1)
		fail(argv[3]);
	for (size_t i = 0; i < client_count; i++)
		clients[i].next = FIRST;
	connect_clients(atoi(argv[1]), argv[2]);
	/* Who has no answer yet may be one of a server that sends nothing of what was before. */
	while (!all_begun())
		poll_clients(now() + 100000000, false);
	append_lines(1);
	wait_for_all();
	if (strcmp(argv[5], "flood") == 0)
		flood(strtol(argv[6], NULL, 10));
	else if (strcmp(argv[5], "rate") == 0)
		at_rate(atoi(argv[6]), argc > 7 ? atoi(argv[7]) : 1000);
	else if (puts("ready") != EOF && fflush(stdout) == 0)
		for (int64_t end = now() + strtol(argv[6], NULL, 10) * 1000000000; now() < end;)
			poll_clients(end, false);
	return 0;
}
