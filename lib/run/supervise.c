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
#include "base/file.h"
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

/* Those that were ignored stay so. */
static void
catch_signals(void (*handler)(int), struct sigaction before[CAUGHT])
{
	struct sigaction action = { .sa_handler = handler };

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < CAUGHT; i++) {
		sigaction(caught[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(caught[i], &action, NULL);
	}
}

static void
catch_no_more(const struct sigaction before[CAUGHT])
{
	for (size_t i = 0; i < CAUGHT; i++)
		sigaction(caught[i], &before[i], NULL);
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
	struct sigaction before[CAUGHT];
	struct pollfd watched = { .fd = fd, .events = POLLIN };
	sigset_t mask;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	for (size_t i = 0; i < CAUGHT; i++)
		sigdelset(&mask, caught[i]);
	catch_signals(wake_up, before);
	woken_by = 0;
	poll_unblocked(&watched, 1, clock_monotonic() + timeout_ms, &mask);
	catch_no_more(before);
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

static void
take_report(struct watcher *w)
{
	enum guardian_state state = guardian_read(&w->guardian);
	int status = w->guardian.wait_status;

	w->s->wait_status = status;
	if (state == GUARDIAN_LOST) {
		error_set(&w->s->error, ERROR_SYSTEM, NULL,
		    "the guardian of the workflow was killed");
		w->s->interrupted = true;
		finish(w, VERDICT_FAILED);
	} else if (state == GUARDIAN_ALONE) {
		finish(w, VERDICT_ENDED);
	} else if (w->foreground && WIFSIGNALED(status) &&
	    (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGQUIT)) {
		cancel(w, WTERMSIG(status)); /* it died of the terminal */
	} else {
		w->ended = clock_monotonic();
	}
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
	return w->guardian.state == GUARDIAN_ENDED ? clock_monotonic() + LOOK_EVERY_MS :
	    w->deadline;
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

/* From the start of the workflow until no descendant is left. */
static void
watch(struct watcher *w)
{
	struct supervision *s = w->s;
	const struct process_spec spec = {
		.argv = s->argv, .environment = s->environment,
		.directory = s->directory, .elsewhere = s->elsewhere, .in = s->input->stream,
		.out = s->output != NULL ? s->output->stream : PROCESS_INHERIT,
		.err = PROCESS_INHERIT, .group = !w->foreground, .inherit = true,
	};
	int started = guardian_start(&w->guardian, &spec, s->service, &s->exit_code, &s->error);

	input_started(s->input);
	if (s->output != NULL)
		output_started(s->output);
	if (started != 0) {
		s->verdict = s->error.code == ERROR_SYSTEM ? VERDICT_FAILED : VERDICT_NOT_STARTED;
		s->interrupted = w->guardian.state == GUARDIAN_LOST;
		return;
	}

	while (!w->done) {
		struct pollfd fds[2 + INPUT_POLLS + OUTPUT_POLLS] = {
			{ signal_pipe[0], POLLIN, 0 }, { w->guardian.report, POLLIN, 0 },
		};
		int64_t deadline = next_look(w);
		nfds_t in = input_poll(s->input, fds + 2);
		nfds_t out = poll_output(w, fds + 2 + in, &deadline);

		poll_until(fds, 2 + in + out, deadline);
		/* One that came while it waited may be there though poll() did not see it yet: it
		 * meant the workflow, if that has ended since. */
		take_signal(w);
		if (!w->done && fds[1].revents != 0)
			take_report(w);
		if (!w->done && in > 0 && input_step(s->input, fds + 2, &s->error) != 0)
			finish(w, VERDICT_FAILED);
		if (!w->done)
			relay_output(w, fds + 2 + in, out);
		look_at_clock(w);
		/* After the workflow: what is left runs on while it is, or may become, a step. */
		if (!w->done && w->guardian.state == GUARDIAN_ENDED &&
		    clock_monotonic() - w->ended >= STEP_GRACE_MS &&
		    !roster_busy(s->run_directory, NULL))
			finish(w, VERDICT_ENDED);
	}

	/* Who is left ends by the signal that ended the rest. */
	if (w->guardian.state != GUARDIAN_ALONE) {
		ending_begin(s->run_directory);
		s->survivors = descendants_end(getpid(),
		    s->verdict == VERDICT_CANCELLED ? s->signal_number : SIGTERM, NULL) != 0;
	}
	guardian_close(&w->guardian);
	flush_output(w);
}

void
supervise(struct supervision *s)
{
	struct sigaction before[CAUGHT];
	int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
	struct watcher w = { .s = s,
		.foreground = terminal >= 0 && tcgetpgrp(terminal) == getpgrp() };

	file_close(&terminal);
	s->error = (struct error)ERROR_INIT;
	s->verdict = VERDICT_FAILED;
	if (s->timeout_ms > 0)
		w.deadline = clock_monotonic() + s->timeout_ms;
	if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
		error_errno(&s->error, ERROR_SYSTEM, NULL, "unable to make a pipe");
		return;
	}
	catch_signals(on_signal, before);
	signals_let_go();
	watch(&w);
	signals_hold();
	catch_no_more(before);
	close(signal_pipe[0]);
	close(signal_pipe[1]);
}
