/*
 * One poll loop over a pipe that the signal handler writes to, the reports of the guardian,
 * the relays of stdin and stdout, and the clock. Whatever ends it first is the verdict and is
 * not changed after; then the rest is ended, and then the output goes out, which nobody can
 * add to any more. Outside of the loop signals are blocked, and those that are pending are
 * looked at where they count.
 */
#define _GNU_SOURCE /* pipe2() */
#include "run/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/patience.h"
#include "base/polling.h"
#include "proc/descendants.h"
#include "proc/ending.h"
#include "proc/guardian.h"
#include "run/roster.h"

enum { LOOK_EVERY_MS = 10 };

static const int caught[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
#define CAUGHT (sizeof caught / sizeof caught[0])

static int signal_pipe[2];

struct watcher {
	struct supervision *s;
	struct guardian guardian;
	struct sigaction before[CAUGHT];
	bool foreground;
	bool done;
	int64_t deadline;  /* ms, 0: none */
	int64_t ended;     /* when the workflow itself had ended */
};

static void
on_signal(int number)
{
	int saved = errno;
	char byte = (char)number;

	/* A full pipe holds signals enough. */
	(void)!write(signal_pipe[1], &byte, 1);
	errno = saved;
}

static void
mask_signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < CAUGHT; i++)
		sigaddset(&set, caught[i]);
	sigprocmask(how, &set, NULL);
}

void
signals_hold(void)
{
	mask_signals(SIG_BLOCK);
}

void
signals_let_go(void)
{
	mask_signals(SIG_UNBLOCK);
}

int
signals_held(void)
{
	struct sigaction action;
	sigset_t pending;

	sigpending(&pending);
	for (size_t i = 0; i < CAUGHT; i++)
		if (sigismember(&pending, caught[i]) == 1 && sigaction(caught[i], NULL, &action) == 0 &&
		    action.sa_handler != SIG_IGN)
			return caught[i];
	return 0;
}

static volatile sig_atomic_t woken_by;

static void
wake_up(int number)
{
	woken_by = number;
}

int
signals_wait(int fd, int timeout_ms)
{
	struct sigaction action = { .sa_handler = wake_up }, before[CAUGHT];
	struct pollfd watched = { .fd = fd, .events = POLLIN };
	sigset_t mask;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < CAUGHT; i++) {
		sigdelset(&mask, caught[i]);
		sigaction(caught[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(caught[i], &action, NULL);
	}
	woken_by = 0;
	poll_unblocked(&watched, 1, clock_monotonic() + timeout_ms, &mask);
	for (size_t i = 0; i < CAUGHT; i++)
		sigaction(caught[i], &before[i], NULL);
	if (woken_by != 0)
		raise(woken_by); /* held again */
	return signals_held();
}

void
signals_drop(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;

	sigemptyset(&ignore.sa_mask);
	for (size_t i = 0; i < CAUGHT; i++) {
		sigaction(caught[i], &ignore, &before); /* drops what is pending */
		sigaction(caught[i], &before, NULL);
	}
}

static int
catch_signals(struct watcher *w)
{
	struct sigaction action = { .sa_handler = on_signal };

	if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0)
		return error_errno(&w->s->error, ERROR_SYSTEM, NULL, "unable to make a pipe");
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < CAUGHT; i++) {
		sigaction(caught[i], NULL, &w->before[i]);
		if (w->before[i].sa_handler != SIG_IGN)
			sigaction(caught[i], &action, NULL);
	}
	mask_signals(SIG_UNBLOCK);
	return 0;
}

static void
release_signals(struct watcher *w)
{
	signals_hold();
	for (size_t i = 0; i < CAUGHT; i++)
		sigaction(caught[i], &w->before[i], NULL);
	close(signal_pipe[0]);
	close(signal_pipe[1]);
}

static bool
in_foreground(void)
{
	int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
	bool foreground = terminal >= 0 && tcgetpgrp(terminal) == getpgrp();

	if (terminal >= 0)
		close(terminal);
	return foreground;
}

static void
finish(struct watcher *w, enum verdict verdict)
{
	w->s->verdict = verdict;
	w->done = true;
}

static void
cancel(struct watcher *w, int number)
{
	w->s->signal_number = number;
	w->s->interrupted = number == SIGTERM || number == SIGHUP;
	error_set(&w->s->error, ERROR_CANCELLED, NULL, "cancelled by signal %d (%s)", number,
	    strsignal(number));
	finish(w, VERDICT_CANCELLED);
}

/* In the foreground the terminal has sent SIGINT and SIGQUIT to the workflow too,
 * which ends of them or does not; once it has ended they mean those who are left. */
static void
take_signal(struct watcher *w)
{
	char byte;

	while (!w->done && read(signal_pipe[0], &byte, 1) == 1)
		if (!w->foreground || (byte != SIGINT && byte != SIGQUIT) ||
		    w->guardian.state != GUARDIAN_RUNNING)
			cancel(w, byte);
}

static bool
died_of_terminal(const struct watcher *w)
{
	int status = w->s->wait_status;

	return w->foreground && WIFSIGNALED(status) &&
	    (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGQUIT);
}

static void
take_report(struct watcher *w)
{
	enum guardian_state state = guardian_read(&w->guardian);

	w->s->wait_status = w->guardian.wait_status;
	if (state == GUARDIAN_LOST) {
		error_set(&w->s->error, ERROR_SYSTEM, NULL,
		    "the guardian of the workflow was killed");
		w->s->interrupted = true;
		finish(w, VERDICT_FAILED);
	} else if (state == GUARDIAN_ALONE) {
		finish(w, VERDICT_ENDED);
	} else if (died_of_terminal(w)) {
		cancel(w, WTERMSIG(w->s->wait_status));
	} else {
		w->ended = clock_monotonic();
	}
}

/* After the workflow: what is left runs on while it is, or may become, a step. */
static void
look_at_rest(struct watcher *w)
{
	if (w->guardian.state == GUARDIAN_ENDED &&
	    clock_monotonic() - w->ended >= STEP_GRACE_MS &&
	    !roster_busy(w->s->run_directory, NULL))
		finish(w, VERDICT_ENDED);
}

static void
look_at_clock(struct watcher *w)
{
	char text[32];

	if (w->done || w->deadline == 0 || clock_monotonic() < w->deadline)
		return;
	error_set(&w->s->error, ERROR_TIMEOUT, NULL, "not done after %s",
	    duration_text(w->s->timeout_ms, text, sizeof text));
	finish(w, VERDICT_TIMEOUT);
}

/* When it looks again whatever comes; 0: never. */
static int64_t
next_look(const struct watcher *w)
{
	return w->guardian.state == GUARDIAN_ENDED ? clock_monotonic() + LOOK_EVERY_MS : w->deadline;
}

static nfds_t
poll_output(const struct watcher *w, struct pollfd fds[OUTPUT_POLLS], int64_t *deadline)
{
	return w->s->output != NULL ? output_poll(w->s->output, fds, deadline) : 0;
}

static void
relay_output(struct watcher *w, const struct pollfd *fds, nfds_t count)
{
	if (count > 0 && output_step(w->s->output, fds, count, &w->s->error) != 0)
		finish(w, VERDICT_FAILED);
}

static void
wait_once(struct watcher *w)
{
	struct pollfd fds[2 + INPUT_POLLS + OUTPUT_POLLS] = {
		{ signal_pipe[0], POLLIN, 0 }, { w->guardian.report, POLLIN, 0 },
	};
	int64_t deadline = next_look(w);
	nfds_t in = input_poll(w->s->input, fds + 2);
	nfds_t out = poll_output(w, fds + 2 + in, &deadline);

	poll_until(fds, 2 + in + out, deadline);
	/* One that came while it waited may be there though poll() did not see it yet: it meant
	 * the workflow, if that has ended since. */
	take_signal(w);
	if (!w->done && fds[1].revents != 0)
		take_report(w);
	if (!w->done && in > 0 && input_step(w->s->input, fds + 2, &w->s->error) != 0)
		finish(w, VERDICT_FAILED);
	if (!w->done)
		relay_output(w, fds + 2 + in, out);
}

/* All has ended that could write: what it wrote last goes out, within the time limit. A
 * run that was ended before its time waits for no reader. */
static void
flush_output(struct watcher *w)
{
	if (w->s->output == NULL)
		return;
	if (output_ended(w->s->output, &w->s->error) != 0)
		finish(w, VERDICT_FAILED);
	w->done = w->s->verdict != VERDICT_ENDED;
	while (!w->done && output_busy(w->s->output)) {
		struct pollfd fds[1 + OUTPUT_POLLS] = { { signal_pipe[0], POLLIN, 0 } };
		int64_t deadline = next_look(w);
		nfds_t out = poll_output(w, fds + 1, &deadline);

		poll_until(fds, 1 + out, deadline);
		if (fds[0].revents != 0)
			take_signal(w);
		if (!w->done)
			relay_output(w, fds + 1, out);
		look_at_clock(w);
	}
}

/* Ends who is left, by the signal that ended the rest. */
static void
end_rest(struct watcher *w)
{
	int number = w->s->verdict == VERDICT_CANCELLED ? w->s->signal_number : SIGTERM;

	if (w->guardian.state != GUARDIAN_ALONE) {
		ending_begin(w->s->run_directory);
		w->s->survivors = descendants_end(getpid(), number, NULL) != 0;
	}
	guardian_close(&w->guardian);
}

static void
watch(struct watcher *w)
{
	const struct process_spec spec = {
		.argv = w->s->argv, .environment = w->s->environment,
		.directory = w->s->directory, .elsewhere = w->s->elsewhere, .in = w->s->input->stream,
		.out = w->s->output != NULL ? w->s->output->stream : PROCESS_INHERIT,
		.err = PROCESS_INHERIT, .group = !w->foreground, .inherit = true,
	};

	int started = guardian_start(&w->guardian, &spec, &w->s->exit_code, &w->s->error);

	input_started(w->s->input);
	if (w->s->output != NULL)
		output_started(w->s->output);
	if (started != 0) {
		w->s->verdict = w->s->error.code == ERROR_SYSTEM ? VERDICT_FAILED :
		    VERDICT_NOT_STARTED;
		w->s->interrupted = w->guardian.state == GUARDIAN_LOST;
		return;
	}
	while (!w->done) {
		wait_once(w);
		look_at_clock(w);
		if (!w->done)
			look_at_rest(w);
	}
	end_rest(w);
	flush_output(w);
}

void
supervise(struct supervision *s)
{
	struct watcher w = { .s = s, .foreground = in_foreground() };

	s->error = (struct error)ERROR_INIT;
	s->verdict = VERDICT_FAILED;
	if (s->timeout_ms > 0)
		w.deadline = clock_monotonic() + s->timeout_ms;
	if (catch_signals(&w) != 0)
		return;
	watch(&w);
	release_signals(&w);
}

void
signals_die(int signal_number)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	const struct rlimit no_core = { 0, 0 };
	sigset_t set;

	setrlimit(RLIMIT_CORE, &no_core);
	sigemptyset(&action.sa_mask);
	sigaction(signal_number, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, signal_number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(signal_number);
	_exit(128 + signal_number);
}
