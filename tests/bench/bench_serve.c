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
 * $TOKEN is sent, if it is set. Most clients drop their bytes in the kernel (MSG_TRUNC), so as to
 * measure the server and not them; every 10th reads them, and looks when the last was appended.
 */
#define _GNU_SOURCE /* memmem(), memrchr() */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

#define LINE 1024
#define FIRST 1000001        /* the first number: all have as many digits */
#define AHEAD (256 * LINE)   /* that the slowest client may be behind, in a flood */
#define ROOM (256 << 10)

struct client {
	int fd;
	bool begun;              /* the head of the answer is read */
	uint64_t bytes;          /* of the body */
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
		memcpy(line + LINE - 5, "\"}}\n", 4);
		line[LINE - 5 + 3] = '\n';
		len += LINE - 1;
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
take_sample(size_t len)
{
	static const char sign[] = "\"t\":";
	const char *at = room, *end = room + len, *found;

	while ((found = memmem(at, (size_t)(end - at), sign, sizeof sign - 1)) != NULL &&
	    end - found > 24) {
		if (sample_count == sample_room) {
			sample_room = sample_room ? sample_room * 2 : 4096;
			samples = memory_array(samples, sample_room, sizeof *samples);
		}
		samples[sample_count++] = (double)(now() - strtoll(found + 4, NULL, 10)) / 1000;
		at = found + 24;
	}
}

/* Reads what there is of a client. */
static void
read_client(size_t i, bool sampled)
{
	struct client *c = &clients[i];
	bool drop = c->begun && !(sampled && i % 10 == 0);
	ssize_t got = recv(c->fd, room, ROOM, MSG_DONTWAIT | (drop ? MSG_TRUNC : 0));

	if (got <= 0)
		fail("a client was let go");
	if (!c->begun) {
		const char *body = memmem(room, (size_t)got, "\r\n\r\n", 4);

		if (body == NULL || memcmp(room, "HTTP/1.1 200", 12) != 0) {
			fprintf(stderr, "%.*s\n", (int)got, room);
			fail("no stream");
		}
		c->begun = true;
		c->bytes += (uint64_t)(room + got - body - 4);
		return;
	}
	c->bytes += (uint64_t)got;
	if (!drop && sampled)
		take_sample((size_t)got);
}

static void
poll_clients(int64_t until, bool sampled)
{
	struct epoll_event events[256];
	int64_t left = until - now();
	int count = epoll_wait(epoll, events, 256, left > 0 ? (int)(left / 1000000) : 0);

	for (int i = 0; i < count; i++)
		read_client(events[i].data.u64, sampled);
}

static bool
all_begun(void)
{
	for (size_t i = 0; i < client_count; i++)
		if (!clients[i].begun)
			return false;
	return true;
}

static uint64_t
least(void)
{
	uint64_t bytes = UINT64_MAX;

	for (size_t i = 0; i < client_count; i++)
		if (clients[i].bytes < bytes)
			bytes = clients[i].bytes;
	return bytes;
}

static void
wait_for(uint64_t bytes)
{
	int64_t end = now() + (int64_t)60 * 1000000000;

	while (least() < bytes) {
		if (now() > end) {
			fprintf(stderr, "have %" PRIu64 " of %" PRIu64 "\n", least(), bytes);
			fail("it takes too long");
		}
		poll_clients(now() + 100000000, false);
	}
}

static void
flood(long lines)
{
	uint64_t before = least();
	int64_t begun = now();
	long written = 0;

	while (written < lines) {
		if ((int64_t)(least() - before) + AHEAD >= (int64_t)written * (LINE - 1)) {
			append_lines(64);
			written += 64;
		}
		poll_clients(now(), false);
	}
	wait_for(before + (uint64_t)written * (LINE - 1));
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
			poll_clients(now(), true);
		append_lines(1);
	}
	for (int i = 0; i < 200; i++)
		poll_clients(now() + 5000000, true);
	if (sample_count == 0)
		fail("nothing came");
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
	connect_clients(atoi(argv[1]), argv[2]);
	/* Who has no answer yet may be one of a server that sends nothing of what was before. */
	while (!all_begun())
		poll_clients(now() + 100000000, false);
	append_lines(1);
	wait_for(least() + LINE - 1);
	if (strcmp(argv[5], "flood") == 0)
		flood(strtol(argv[6], NULL, 10));
	else if (strcmp(argv[5], "rate") == 0)
		at_rate(atoi(argv[6]), argc > 7 ? atoi(argv[7]) : 1000);
	else if (puts("ready") != EOF && fflush(stdout) == 0)
		for (int64_t end = now() + strtol(argv[6], NULL, 10) * 1000000000; now() < end;)
			poll_clients(end, false);
	return 0;
}
