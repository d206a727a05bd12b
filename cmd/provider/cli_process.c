/* The process of a CLI, from its start to the end of all that it started. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli_start.h"
#include "exec/descendants.h"
#include "exec/process.h"
#include "exec/wait.h"

enum {
	READ_SIZE = 64 << 10,
	ERRORS_KEPT = 16 << 10,  /* bytes of stderr */
	LINGER_MS = 10000        /* for a CLI to end that has said all */
};

/* Descriptors that are waited for. */
enum { CLI_IN, CLI_OUT, CLI_ERR, CLI_EXIT, OUR_IN, OUR_OUT, FDS };

struct running {
	struct cli_run *run;
	struct process process;
	size_t fed;           /* bytes of the prompt */
	int exit_fd;          /* readable when the process has ended; -1 */
	bool watches;         /* our stdin may say something yet */
	bool ended;           /* the process has, with exit_code */
	int exit_code;
	int64_t deadline;     /* to end by itself; 0: it has not said all yet */
};

static void
drop(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

static int
start(struct running *s)
{
	struct cli_run *r = s->run;
	const struct process_spec spec = { .argv = r->argv, .environment = r->environment.list,
	    .in = PROCESS_PIPE, .out = PROCESS_PIPE, .err = PROCESS_PIPE };
	struct error err = ERROR_INIT;
	int exit_code;

	if (process_start(&s->process, &spec, &exit_code, &err) == 0) {
		s->exit_fd = wait_descriptor(s->process.pid);
		return 0;
	}
	if (exit_code == PROCESS_NOT_FOUND)
		cli_fail_as(r, ERROR_INVALID, "there is no %s in $PATH: %s", r->cli->name,
		    r->cli->install);
	else
		cli_fail_as(r, ERROR_PROVIDER, "%s: %s", r->cli->name, err.message);
	return -1;
}

static void
feed(struct running *s)
{
	const struct buffer *prompt = &s->run->prompt;
	ssize_t n = 0;

	while (s->fed < prompt->len && (n = write(s->process.in, prompt->data + s->fed,
	    prompt->len - s->fed)) > 0)
		s->fed += (size_t)n;
	/* One that does not read its prompt says why on stderr. */
	if (s->fed == prompt->len || (n == -1 && errno != EAGAIN && errno != EINTR))
		drop(&s->process.in);
}

/* Bytes read; 0: there are none now. At the end the descriptor is closed. */
static size_t
take(int *fd, char *bytes)
{
	ssize_t n = *fd == -1 ? 0 : read(*fd, bytes, READ_SIZE);

	if (*fd != -1 && (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR)))
		drop(fd);
	return n > 0 ? (size_t)n : 0;
}

static size_t
take_output(struct running *s)
{
	char bytes[READ_SIZE];
	size_t len = take(&s->process.out, bytes);

	cli_feed(s->run, bytes, len);
	return len;
}

static size_t
take_errors(struct running *s)
{
	struct buffer *errors = &s->run->errors;
	char bytes[READ_SIZE];
	size_t len = take(&s->process.err, bytes);

	buffer_append(errors, bytes, len);
	if (errors->len > ERRORS_KEPT)
		buffer_drop(errors, errors->len - ERRORS_KEPT);
	return len;
}

static void
reap(struct running *s)
{
	int status;

	if (s->ended || waitpid(s->process.pid, &status, WNOHANG) <= 0)
		return;
	s->ended = true;
	s->exit_code = process_exit_code(status);
	/* What others hold open is none of its output. */
	while (take_output(s) > 0)
		;
	while (take_errors(s) > 0)
		;
}

static void
cancel(struct running *s, const char *why)
{
	cli_fail_as(s->run, ERROR_CANCELLED, "%s", why);
	s->deadline = clock_monotonic();
}

static void
look(struct running *s)
{
	enum http_watch decision = provider_look(s->run->provider);

	if (decision == HTTP_CANCEL)
		cancel(s, "cancelled");
	if (decision == HTTP_UNWATCH)
		s->watches = false;
}

static void
set_poll(const struct running *s, struct pollfd fds[FDS])
{
	fds[CLI_IN] = (struct pollfd){ s->process.in, POLLOUT, 0 };
	fds[CLI_OUT] = (struct pollfd){ s->process.out, POLLIN, 0 };
	fds[CLI_ERR] = (struct pollfd){ s->process.err, POLLIN, 0 };
	fds[CLI_EXIT] = (struct pollfd){ s->exit_fd, POLLIN, 0 };
	fds[OUR_IN] = (struct pollfd){ s->watches ? STDIN_FILENO : -1, POLLIN, 0 };
	fds[OUR_OUT] = (struct pollfd){ STDOUT_FILENO, 0, 0 };
}

/* How long to wait; -1: for ever. */
static int
patience(struct running *s)
{
	struct cli_run *r = s->run;
	int64_t left;

	if (s->deadline == 0 && (r->failed || r->message.ended))
		s->deadline = clock_monotonic() + (r->hopeless ? 0 : LINGER_MS);
	if (s->deadline == 0)
		return s->exit_fd == -1 ? LINGER_MS / 100 : -1;
	left = s->deadline - clock_monotonic();
	return left < 0 ? 0 : s->exit_fd == -1 && left > LINGER_MS / 100 ? LINGER_MS / 100 :
	    (int)left;
}

/* Whether to go on waiting. */
static bool
serve(struct running *s)
{
	struct pollfd fds[FDS];
	int wait_ms = patience(s);

	set_poll(s, fds);
	if (poll(fds, FDS, wait_ms) == -1 && errno != EINTR)
		cli_fail_as(s->run, ERROR_PROVIDER, "unable to wait: %s", strerror(errno));
	if (fds[CLI_IN].revents != 0)
		feed(s);
	if (fds[CLI_OUT].revents != 0)
		take_output(s);
	if (fds[CLI_ERR].revents != 0)
		take_errors(s);
	if (fds[OUR_IN].revents != 0)
		look(s);
	if (fds[OUR_OUT].revents != 0)
		cancel(s, "nobody reads the answer");
	reap(s);
	return !s->ended && (s->deadline == 0 || clock_monotonic() < s->deadline);
}

void
cli_process(struct cli_run *r)
{
	struct running s = { .run = r, .process = { -1, -1, -1, -1, NULL }, .exit_fd = -1,
	    .watches = true };

	cli_prepare(r);
	if (!r->failed && start(&s) == 0) {
		while (serve(&s))
			;
		descendants_end(getpid(), SIGTERM, NULL);
		drop(&s.process.in);
		drop(&s.process.out);
		drop(&s.process.err);
		drop(&s.exit_fd);
		cli_end(r, s.exit_code);
	}
	cli_clear(r);
}
