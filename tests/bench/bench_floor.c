/*
 * The least that a step of an agent can cost as a process of its own: what awf-step writes
 * for one is appended and synced where that syncs, the same requests are made of a server
 * that is there, the same tool is started. Nothing is parsed, checked, locked or looked up,
 * and nothing is linked when it starts.
 *     bench_floor none|step PORT LINES REQUEST REQUEST TRANSCRIPT
 * LINES has the step's lines of a transcript, each REQUEST is the body of one to a model.
 * What is read from stdin is printed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOM 65536

static _Noreturn void
fail(const char *what)
{
	perror(what);
	exit(EXIT_FAILURE);
}

static void
put(int fd, const char *bytes, size_t len, const char *what)
{
	if (write(fd, bytes, len) != (ssize_t)len)
		fail(what);
}

/* What a descriptor gives until its end, as a string. */
static size_t
take(int fd, char out[ROOM], const char *what)
{
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, out + len, ROOM - 1 - len)) > 0)
		len += (size_t)n;
	if (n < 0 || len == ROOM - 1)
		fail(what);
	out[len] = '\0';
	return len;
}

static size_t
load(const char *path, char out[ROOM])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len;

	if (fd < 0)
		fail(path);
	len = take(fd, out, path);
	close(fd);
	return len;
}

static int
server_connect(const char *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
		fail("server");
	return fd;
}

/* Reads the answer to its last chunk, which is empty. */
static void
ask(int server, const char *path)
{
	static const char end[] = "\r\n0\r\n\r\n";
	static char body[ROOM], request[ROOM + 256], answer[ROOM];
	size_t len = load(path, body), got = 0;
	ssize_t n;
	int head = snprintf(request, sizeof request,
	    "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
	    "Authorization: Bearer x\r\nContent-Length: %zu\r\n\r\n%s", len, body);

	put(server, request, (size_t)head, "server");
	while (got < sizeof end || memcmp(answer + got - (sizeof end - 1), end, sizeof end - 1) != 0) {
		n = read(server, answer + got, sizeof answer - got);
		if (n <= 0)
			fail("server");
		got += (size_t)n;
	}
	if (strncmp(answer, "HTTP/1.1 200 ", 13) != 0) {
		fprintf(stderr, "bench_floor: %.12s\n", answer);
		exit(EXIT_FAILURE);
	}
}

static void
run_tool(const char *input)
{
	static char output[ROOM];
	char tool[] = "/bin/cat", *argv[] = { tool, NULL };
	extern char **environ;
	posix_spawn_file_actions_t actions;
	int in[2], out[2], status;
	pid_t pid;

	if (pipe(in) != 0 || pipe(out) != 0)
		fail("pipe");
	put(in[1], input, strlen(input), "pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	for (int i = 0; i < 2; i++) {
		posix_spawn_file_actions_addclose(&actions, in[i]);
		posix_spawn_file_actions_addclose(&actions, out[i]);
	}
	errno = posix_spawn(&pid, tool, &actions, NULL, argv, environ);
	if (errno != 0)
		fail(tool);
	close(in[0]);
	close(in[1]);
	close(out[1]);
	take(out[0], output, tool);
	close(out[0]);
	if (waitpid(pid, &status, 0) != pid || status != 0 || strcmp(output, input) != 0)
		fail(tool);
}

static bool
is(const char *line, const char *type)
{
	const char *at = strstr(line, "\"type\":\"");

	return at != NULL && strncmp(at + 8, type, strlen(type)) == 0 && at[8 + strlen(type)] == '"';
}

int
main(int argc, char **argv)
{
	static char item[ROOM], lines[ROOM];
	size_t item_len;
	bool synced;
	int transcript, server;
	char *line, *end;

	if (argc != 7) {
		fprintf(stderr, "usage: bench_floor none|step PORT LINES REQUEST REQUEST TRANSCRIPT\n");
		return EXIT_FAILURE;
	}
	synced = strcmp(argv[1], "step") == 0;
	item_len = take(STDIN_FILENO, item, "stdin");
	load(argv[3], lines);
	transcript = open(argv[6], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (transcript < 0)
		fail(argv[6]);
	server = server_connect(argv[2]);
	for (line = lines; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		put(transcript, line, (size_t)(end + 1 - line), argv[6]);
		*end = '\0';
		if (synced && (is(line, "tool.call") || is(line, "step.completed")) && fdatasync(transcript) != 0)
			fail(argv[6]);
		if (is(line, "message.user"))
			ask(server, argv[4]);
		if (is(line, "tool.call"))
			run_tool("{\"text\":\"hello\"}\n");
		if (is(line, "tool.result"))
			ask(server, argv[5]);
	}
	put(STDOUT_FILENO, item, item_len, "stdout");
	return EXIT_SUCCESS;
}
