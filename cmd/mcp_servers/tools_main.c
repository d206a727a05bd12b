/*
 * awf-mcp-tools: the MCP server through which an agent CLI gets AWF's tools. The CLI starts it,
 * according to its configuration (awf-provider-cli(7)). It only passes bytes from its stdin to a
 * socket of the provider that started the CLI, and from there to its stdout, after it has sent the
 * secret that it was given. It ends when either side does.
 *
 * The secret is in no argument, which other users could see, and only in the environment of this
 * program.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "../program.h"
#include "base/options.h"
#include "io/file.h"
#include "system/descriptor.h"

#define PROGRAM "awf-mcp-tools"
#define READ_SIZE (16 << 10)

static const char usage[] =
PROGRAM "\n"
"\n"
"Offers the tools of an awf-step to the agent CLI that it has started, as an MCP\n"
"server on stdin and stdout. The provider of the CLI has it started, see\n"
"awf-provider-cli(7).";

static const struct option_spec options[] = { { 0, 0, NULL, NULL, NULL } };

static int
connect_to(const char *path, struct error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = -1;

	if (strlen(path) >= sizeof address.sun_path) {
		error_set(err, ERROR_USAGE, "AWF_MCP_SOCKET", "too long for a socket");
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = descriptor_socket(AF_UNIX, SOCK_STREAM);
	if (fd != -1 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
		return fd;
	error_errno(err, ERROR_SYSTEM, path, "unable to connect");
	file_close(&fd);
	return -1;
}

/* Passes on what can be read. False: one side has ended. */
static bool
tools_relay_bytes(int from, int to)
{
	char bytes[READ_SIZE];
	ssize_t len;

	do
		len = read(from, bytes, sizeof bytes);
	while (len == -1 && errno == EINTR);
	return len > 0 && file_write(to, bytes, (size_t)len) == 0;
}

static int
tools_relay_stdio(struct error *err)
{
	const char *path = getenv("AWF_MCP_SOCKET"), *secret = getenv("AWF_MCP_SECRET");
	int fd;

	if (path == NULL || secret == NULL)
		return error_set(err, ERROR_USAGE, NULL, "the provider of an agent CLI has it started: "
		    "AWF_MCP_SOCKET and AWF_MCP_SECRET are not there");
	fd = connect_to(path, err);
	if (fd == -1)
		return -1;
	if (file_write(fd, secret, strlen(secret)) == 0 && file_write(fd, "\n", 1) == 0) {
		struct pollfd fds[] = { { STDIN_FILENO, POLLIN, 0 }, { fd, POLLIN, 0 } };

		while (poll(fds, 2, -1) != -1 || errno == EINTR)
			if ((fds[0].revents != 0 && !tools_relay_bytes(STDIN_FILENO, fd)) ||
			    (fds[1].revents != 0 && !tools_relay_bytes(fd, STDOUT_FILENO)))
				break;
	}
	file_close(&fd);
	return 0;
}

int
main(int argc, char **argv)
{
	struct error err = ERROR_INIT;
	struct options o;
	int status;

	program_begin();
	signal(SIGPIPE, SIG_IGN);
	options_begin(&o, options, argc, argv);
	if (!program_read_options(PROGRAM, PROGRAM, usage, &o, &status))
		return status;
	return tools_relay_stdio(&err) == 0 ? STATUS_OK : program_fail(PROGRAM, &err);
}
