/*
 * One poll loop over a pipe to which the signal handler writes, the reports of the guardian, the
 * relays of stdin and stdout, and the clock. The first event that ends the loop decides the
 * outcome, which does not change any more; then remaining processes are ended, and then the output
 * is written, to which nobody can add any more. Outside the loop signals are blocked, and pending
 * ones are read where they matter.
 */
#include "start/supervise.h"

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
#include "io/file.h"
#include "io/polling.h"
#include "proc/descendants.h"
#include "proc/ending.h"
#include "proc/guardian.h"
#include "storage/roster.h"
#include "system/descriptor.h"

enum { LOOK_EVERY_MS = 10 };

/* Terminal signals that are relayed. */
static const int of_terminal[] = { SIGWINCH, SIGCONT, SIGTSTP };
#define OF_TERMINAL (sizeof of_terminal / sizeof of_terminal[0])

static int signal_pipe[2];

struct watcher {
	struct supervision *s;
	struct guardian guardian;
	bool foreground;
	bool done;
	int64_t deadline;  /* ms, 0: none */
	int64_t ended;     /* when the workflow itself ended */
};

static void
on_signal(int number)
{
	int saved = errno;
	char byte = (char)number;

	/* If the pipe is full, it contains enough signals. */
	(void)!write(signal_pipe[1], &byte, 1);
	errno = saved;
}

static void
watcher_finish(struct watcher *w, enum verdict verdict)
{
	w->s->verdict = verdict;
	w->done = true;
}

static void
watcher_cancel(struct watcher *w, int number)
{
	w->s->signal_number = number;
	w->s->interrupted = number == SIGTERM || number == SIGHUP;
	error_set(&w->s->error, ERROR_CANCELLED, NULL, "cancelled by signal %d (%s)", number,
	    strsignal(number));
	watcher_finish(w, VERDICT_CANCELLED);
}

/* In the foreground the terminal has sent SIGINT and SIGQUIT to the workflow too, which decides
 * itself whether it ends; after its end, they are for the remaining processes. A relayed
 * terminal sends none here. */
static void
watcher_read_signals(struct watcher *w)
{
	const struct supervision_terminal *t = w->s->terminal;
	char byte;

	while (!w->done && read(signal_pipe[0], &byte, 1) == 1)
		if (t != NULL && (byte == SIGWINCH || byte == SIGCONT || byte == SIGTSTP))
			t->signalled(t->context, byte);
		else if (t != NULL || !w->foreground || (byte != SIGINT && byte != SIGQUIT) ||
		    w->guardian.state != GUARDIAN_RUNNING)
			watcher_cancel(w, byte);
}

static void
watcher_read_report(struct watcher *w)
{
	enum guardian_state state = guardian_read(&w->guardian);
	int status = w->guardian.wait_status;
	const struct supervision_terminal *t = w->s->terminal;

	if (w->guardian.stopped != 0) {
		if (t != NULL)
			t->stopped(t->context, w->guardian.stopped);
		return;
	}
	if (t != NULL && state == GUARDIAN_ENDED)
		t->ended(t->context);
	w->s->wait_status = status;
	if (state == GUARDIAN_LOST) {
		error_set(&w->s->error, ERROR_SYSTEM, NULL,
		    "the process of AWF that watches over the workflow was killed");
		w->s->interrupted = true;
		watcher_finish(w, VERDICT_FAILED);
	} else if (state == GUARDIAN_ALONE) {
		watcher_finish(w, VERDICT_ENDED);
	} else if (w->foreground && WIFSIGNALED(status) &&
	    (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGQUIT)) {
		watcher_cancel(w, WTERMSIG(status)); /* killed by a signal of the terminal */
	} else {
		w->ended = clock_monotonic();
	}
}

static void
watcher_check_timeout(struct watcher *w)
{
	char text[32];

	if (w->done || w->deadline == 0 || clock_monotonic() < w->deadline)
		return;
	error_set(&w->s->error, ERROR_TIMEOUT, NULL, "not done after %s",
	    duration_text(w->s->timeout_ms, text, sizeof text));
	watcher_finish(w, VERDICT_TIMEOUT);
}

/* When to check again if nothing happens; 0: never. */
static int64_t
next_look(const struct watcher *w)
{
	return w->guardian.state == GUARDIAN_ENDED ? clock_monotonic() + LOOK_EVERY_MS :
	    w->deadline;
}

/* The descriptor that the workflow gets as stdin, stdout or stderr. */
static int
watcher_choose_fd(const struct supervision *s, int fd, int inherited)
{
	const struct supervision_terminal *t = s->terminal;

	return t != NULL && t->is(t->context, inherited) ? t->guardian->slave : fd;
}

static nfds_t
poll_terminal(const struct watcher *w, struct pollfd fds[TERMINAL_POLLS], int64_t *deadline)
{
	const struct supervision_terminal *t = w->s->terminal;

	return t != NULL ? t->poll(t->context, fds, deadline) : 0;
}

static void
relay_terminal(struct watcher *w, const struct pollfd *fds, nfds_t count)
{
	const struct supervision_terminal *t = w->s->terminal;
	int number = t != NULL ? t->step(t->context, fds, count) : 0;

	if (number != 0 && w->guardian.state != GUARDIAN_RUNNING)
		watcher_cancel(w, number);
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
		watcher_finish(w, VERDICT_FAILED);
}

/* All writers have ended: write their last output, within the time limit. A run that was ended
 * early does not wait for a reader. */
static void
flush_output(struct watcher *w)
{
	if (w->s->output == NULL)
		return;
	if (output_ended(w->s->output, &w->s->error) != 0)
		watcher_finish(w, VERDICT_FAILED);
	w->done = w->s->verdict != VERDICT_ENDED;
	while (!w->done && output_busy(w->s->output)) {
		struct pollfd fds[1 + OUTPUT_POLLS] = { { signal_pipe[0], POLLIN, 0 } };
		int64_t deadline = next_look(w);
		nfds_t out = poll_output(w, fds + 1, &deadline);

		poll_until(fds, 1 + out, deadline);
		if (fds[0].revents != 0)
			watcher_read_signals(w);
		if (!w->done)
			relay_output(w, fds + 1, out);
		watcher_check_timeout(w);
	}
}

/* Runs from the start of the workflow until it has no descendants. */
static void
watcher_run_workflow(struct watcher *w)
{
	struct supervision *s = w->s;
	const struct process_spec spec = {
		.argv = s->argv, .environment = s->environment,
		.directory = s->directory, .elsewhere = s->elsewhere,
		.in = watcher_choose_fd(s, s->input->stream, s->input->stream),
		.out = s->output != NULL ? s->output->stream :
		    watcher_choose_fd(s, PROCESS_INHERIT, STDOUT_FILENO),
		.err = watcher_choose_fd(s, PROCESS_INHERIT, STDERR_FILENO),
		.group = !w->foreground || s->terminal != NULL,
		.terminal = s->terminal != NULL ? s->terminal->guardian->slave : 0, .inherit = true,
	};
	const struct guardian_duties duties = {
		.service = s->service, .terminal = s->terminal != NULL ? s->terminal->guardian : NULL,
	};
	int started = guardian_start(&w->guardian, &spec, &duties, &s->exit_code, &s->error);

	input_started(s->input);
	if (s->output != NULL)
		output_started(s->output);
	if (started != 0) {
		s->verdict = s->error.code == ERROR_SYSTEM ? VERDICT_FAILED : VERDICT_NOT_STARTED;
		s->interrupted = w->guardian.state == GUARDIAN_LOST;
		return;
	}
	if (s->terminal != NULL)
		s->terminal->started(s->terminal->context, w->guardian.program);

	while (!w->done) {
		struct pollfd fds[2 + INPUT_POLLS + OUTPUT_POLLS + TERMINAL_POLLS] = {
			{ signal_pipe[0], POLLIN, 0 }, { w->guardian.report, POLLIN, 0 },
		};
		int64_t deadline = next_look(w);
		nfds_t in = input_poll(s->input, fds + 2);
		nfds_t out = poll_output(w, fds + 2 + in, &deadline);
		nfds_t shown = poll_terminal(w, fds + 2 + in + out, &deadline);

		poll_until(fds, 2 + in + out + shown, deadline);
		/* A signal that arrived during the wait may be pending although poll() did not
		 * report it: if the workflow has ended since, it was meant for it. */
		watcher_read_signals(w);
		if (!w->done && fds[1].revents != 0)
			watcher_read_report(w);
		if (!w->done && in > 0 && input_step(s->input, fds + 2, &s->error) != 0)
			watcher_finish(w, VERDICT_FAILED);
		if (!w->done)
			relay_output(w, fds + 2 + in, out);
		if (!w->done)
			relay_terminal(w, fds + 2 + in + out, shown);
		watcher_check_timeout(w);
		/* After the workflow's end, remaining processes may continue as long as one is, or
		 * may become, a step. */
		if (!w->done && w->guardian.state == GUARDIAN_ENDED &&
		    clock_monotonic() - w->ended >= STEP_GRACE_MS &&
		    !roster_busy(s->run_directory, NULL))
			watcher_finish(w, VERDICT_ENDED);
	}

	/* Remaining processes are ended by the signal that ended the others. */
	if (w->guardian.state != GUARDIAN_ALONE) {
		ending_begin(s->run_directory);
		s->survivors = descendants_end(getpid(),
		    s->verdict == VERDICT_CANCELLED ? s->signal_number : SIGTERM, NULL) != 0;
	}
	guardian_close(&w->guardian);
	flush_output(w);
}

/* Signals that were ignored stay ignored. */
static void
catch_of_terminal(struct sigaction before[OF_TERMINAL])
{
	struct sigaction action = { .sa_handler = on_signal };

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < OF_TERMINAL; i++) {
		sigaction(of_terminal[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(of_terminal[i], &action, NULL);
	}
}

void
supervise_workflow(struct supervision *s)
{
	struct sigaction before[SIGNALS_ENDING], of_terminal_before[OF_TERMINAL];
	int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
	struct watcher w = { .s = s,
		.foreground = terminal >= 0 && tcgetpgrp(terminal) == getpgrp() };

	file_close(&terminal);
	s->error = (struct error)ERROR_INIT;
	s->verdict = VERDICT_FAILED;
	if (s->timeout_ms > 0)
		w.deadline = clock_monotonic() + s->timeout_ms;
	if (descriptor_pipe(signal_pipe) != 0 || descriptor_unblock(signal_pipe[0]) != 0 ||
	    descriptor_unblock(signal_pipe[1]) != 0) {
		error_errno(&s->error, ERROR_SYSTEM, NULL, "unable to make a pipe");
		return;
	}
	signals_catch(on_signal, before);
	if (s->terminal != NULL)
		catch_of_terminal(of_terminal_before);
	signals_let_go();
	watcher_run_workflow(&w);
	signals_hold();
	if (s->terminal != NULL) {
		s->terminal->finish(s->terminal->context);
		for (size_t i = 0; i < OF_TERMINAL; i++)
			sigaction(of_terminal[i], &of_terminal_before[i], NULL);
	}
	signals_catch_no_more(before);
	close(signal_pipe[0]);
	close(signal_pipe[1]);
}
