/*
 * The process of a CLI, from its start to the end of everything that it started. A guardian process
 * stands in between, for the case that this process is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/patience.h"
#include "cli.h"
#include "io/file.h"
#include "io/polling.h"
#include "proc/descendants.h"
#include "proc/guardian.h"
#include "proc/process.h"
#include "proc/subprocess.h"
#include "system/descriptor.h"

enum {
	READ_SIZE = 16 << 10,
	ERRORS_KEPT = 16 << 10   /* bytes of stderr */
};

struct running {
	struct cli_run *run;
	struct guardian guardian;
	int in, out, err;     /* this process's ends of its pipes; -1 */
	size_t fed;           /* bytes of the prompt that were written */
	bool watches;         /* stdin may still bring lines */
	bool ended;           /* the process has */
	int64_t deadline;     /* until it must have ended by itself; 0: its output has not ended */
};

/* Makes a pipe, of which end number `mine` stays here and does not block. */
static int
open_pipe(int *ours, int *theirs, int mine)
{
	int ends[2];

	if (descriptor_pipe(ends) != 0)
		return -1;
	fcntl(ends[mine], F_SETFL, O_NONBLOCK);
	*ours = ends[mine];
	*theirs = ends[1 - mine];
	return 0;
}

static int
cli_process_start(struct running *s)
{
	struct cli_run *r = s->run;
	struct process_spec spec = { .argv = r->start.argv, .environment = r->start.environment.list,
	    .in = -1, .out = -1, .err = -1 };
	struct error err = ERROR_INIT;
	int exit_code = PROCESS_CANNOT_RUN, result;

	if (open_pipe(&s->in, &spec.in, 1) != 0 || open_pipe(&s->out, &spec.out, 0) != 0 ||
	    open_pipe(&s->err, &spec.err, 0) != 0)
		result = error_errno(&err, ERROR_SYSTEM, NULL, "unable to make a pipe");
	else
		result = guardian_start(&s->guardian, &spec, NULL, &exit_code, &err);
	file_close(&spec.in);
	file_close(&spec.out);
	file_close(&spec.err);
	if (result != 0 && exit_code == PROCESS_NOT_FOUND)
		cli_fail_as(r, ERROR_INVALID, CLI_NOT_FOUND, r->cli->name, r->cli->install);
	else if (result != 0)
		cli_fail_as(r, ERROR_PROVIDER, "%s: %s", r->cli->name, err.message);
	return result;
}

/* Returns the number of bytes read; 0: none now. At the end of the output the descriptor is
 * closed. */
static size_t
cli_process_read_pipe(int *fd, char *bytes)
{
	ssize_t n = *fd == -1 ? 0 : read(*fd, bytes, READ_SIZE);

	if (*fd != -1 && (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR)))
		file_close(fd);
	return n > 0 ? (size_t)n : 0;
}

static size_t
cli_process_read_output(struct running *s)
{
	char bytes[READ_SIZE];
	size_t len = cli_process_read_pipe(&s->out, bytes);

	cli_feed(s->run, bytes, len);
	return len;
}

static size_t
cli_process_read_errors(struct running *s)
{
	struct buffer *errors = &s->run->errors;
	char bytes[READ_SIZE];
	size_t len = cli_process_read_pipe(&s->err, bytes);

	buffer_append(errors, bytes, len);
	if (errors->len > ERRORS_KEPT)
		buffer_drop(errors, errors->len - ERRORS_KEPT);
	cli_feed_errors(s->run, bytes, len);
	return len;
}

static void
cli_process_cancel(struct running *s, const char *why)
{
	cli_fail_as(s->run, ERROR_CANCELLED, "%s", why);
	s->deadline = clock_monotonic();
}

/* The earlier of two times; 0 means none. */
static int64_t
cli_process_earlier_time(int64_t one, int64_t other)
{
	return one == 0 || (other != 0 && other < one) ? other : one;
}

/* Returns whether to go on waiting. */
static bool
cli_process_serve_round(struct running *s)
{
	enum { CLI_IN, CLI_OUT, CLI_ERR, CLI_EXIT, OUR_IN, OUR_OUT, FDS };
	struct pollfd fds[FDS + CLI_TOOL_FDS] = {
		[CLI_IN] = { s->in, POLLOUT, 0 },
		[CLI_OUT] = { s->out, POLLIN, 0 },
		[CLI_ERR] = { s->err, POLLIN, 0 },
		[CLI_EXIT] = { s->guardian.report, POLLIN, 0 },
		[OUR_IN] = { s->watches ? STDIN_FILENO : -1, POLLIN, 0 },
		[OUR_OUT] = { STDOUT_FILENO, 0, 0 },
	};
	const struct buffer *prompt = &s->run->start.prompt;
	size_t count;
	ssize_t n = 0;

	if (s->deadline == 0 && (s->run->failed || s->run->message.ended))
		s->deadline = clock_monotonic() + (s->run->hopeless ? 0 : CLI_END_MS);
	provider_flush(s->run->provider);
	count = FDS + cli_tools_poll(s->run, fds + FDS);
	if (poll_until(fds, count, cli_process_earlier_time(s->deadline,
	    cli_tools_deadline(s->run))) == -1)
		cli_fail_as(s->run, ERROR_PROVIDER, "unable to wait: %s", strerror(errno));
	if (fds[CLI_IN].revents != 0) {
		while (s->fed < prompt->len && (n = write(s->in, prompt->data + s->fed,
		    prompt->len - s->fed)) > 0)
			s->fed += (size_t)n;
		/* A CLI that does not read its prompt prints the reason to stderr. */
		if (s->fed == prompt->len || (n == -1 && errno != EAGAIN && errno != EINTR))
			file_close(&s->in);
	}
	if (fds[CLI_OUT].revents != 0)
		cli_process_read_output(s);
	if (fds[CLI_ERR].revents != 0)
		cli_process_read_errors(s);
	if (fds[OUR_IN].revents != 0) {
		enum provider_input decision = provider_look(s->run->provider);

		if (decision == PROVIDER_CANCEL)
			cli_process_cancel(s, "cancelled");
		s->watches = decision != PROVIDER_UNWATCH;
		cli_tools_results(s->run);
	}
	cli_tools_serve(s->run, fds + FDS);
	if (fds[OUR_OUT].revents != 0)
		cli_process_cancel(s, "nobody reads the answer");
	if (fds[CLI_EXIT].revents != 0) {
		if (guardian_read(&s->guardian) == GUARDIAN_LOST)
			cli_fail_as(s->run, ERROR_PROVIDER, "the guardian of %s was killed",
			    s->run->cli->name);
		s->ended = true;
		/* Output of other processes that still have the pipe open is not read. */
		while (cli_process_read_output(s) > 0)
			;
		while (cli_process_read_errors(s) > 0)
			;
	}
	return !s->ended && (s->deadline == 0 || clock_monotonic() < s->deadline);
}

static void
let_pass(int signal_number)
{
	(void)signal_number;
}

void
cli_process(struct cli_run *r)
{
	struct running s = { .run = r, .in = -1, .out = -1, .err = -1, .watches = true };
	const struct sigaction pass = { .sa_handler = let_pass };
	struct sigaction old;

	cli_prepare(r);
	if (!r->failed) {
		/* The terminal sends its signals to the CLI as well, whose end gives the answer. */
		sigaction(SIGINT, NULL, &old);
		if (old.sa_handler != SIG_IGN)
			sigaction(SIGINT, &pass, NULL);
		if (cli_process_start(&s) == 0) {
			while (cli_process_serve_round(&s))
				;
			descendants_end(getpid(), SIGTERM, NULL);
			guardian_close(&s.guardian);
			cli_end(r, process_exit_code(s.guardian.wait_status));
		}
		sigaction(SIGINT, &old, NULL);
		file_close(&s.in);
		file_close(&s.out);
		file_close(&s.err);
	}
	cli_clear(r);
}

char *
cli_version(const struct cli *cli)
{
	char *argv[] = { memory_text(cli->name), memory_text("--version"), NULL };
	struct subprocess process = { .argv = argv, .timeout_ms = CLI_VERSION_MS, .quiet = true };
	struct environment environment;
	struct error err;
	char *version = NULL;
	const char *at;
	size_t len;

	environment_begin(&environment);
	process.environment = environment.list;
	if (subprocesses_run(&process, 1, NULL, &err) == 0) {
		/* Find the first word of the form 1.2.3. */
		at = buffer_string(&process.output);
		while (version == NULL && (at = strpbrk(at, "0123456789")) != NULL) {
			len = strspn(at, "0123456789.");
			if (memchr(at, '.', len) != NULL)
				version = memory_copy(at, len);
			at += len;
		}
	}
	subprocess_free(&process);
	environment_free(&environment);
	free(argv[0]);
	free(argv[1]);
	return version;
}
