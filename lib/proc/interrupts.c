/*
 * The handler's flag is checked with all signals blocked, and the wait itself unblocks them, so
 * that no signal comes between the check and the wait. A descriptor polled for no events still
 * reports POLLERR and POLLHUP: these show that a reader is gone.
 */
#include "proc/interrupts.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "io/polling.h"

static volatile int caught;

static void
note_signal(int number)
{
	caught = number;
}

const struct interrupts *
interrupts_catch(const int *signals)
{
	static const struct interrupts interrupts = { &caught, -1 };
	struct sigaction action, before;

	memset(&action, 0, sizeof action);
	action.sa_handler = note_signal;
	sigemptyset(&action.sa_mask);
	for (; *signals != 0; signals++)
		if (sigaction(*signals, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(*signals, &action, NULL);
	return &interrupts;
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

static bool
interrupts_signal_arrived(const struct interrupts *interrupts, struct error *err)
{
	if (interrupts == NULL || interrupts->signal_number == NULL ||
	    *interrupts->signal_number == 0)
		return false;
	error_set(err, ERROR_CANCELLED, NULL, "cancelled by signal %d (%s)",
	    *interrupts->signal_number, strsignal(*interrupts->signal_number));
	return true;
}

/* A terminal that went away hangs up; a pipe without a reader is in error. */
static bool
downstream_gone(short revents, struct error *err)
{
	if ((revents & (POLLERR | POLLHUP)) == 0)
		return false;
	error_set(err, ERROR_DOWNSTREAM_CLOSED, NULL, "nobody reads the output any more");
	return true;
}

bool
interrupts_arrived(const struct interrupts *interrupts, struct error *err)
{
	return interrupts_signal_arrived(interrupts, err) || (interrupts != NULL &&
	    downstream_gone(poll_now(interrupts->downstream, 0), err));
}

/* poll_until() without a gap between checking the flag and waiting. */
static int
guarded_poll(const struct interrupts *interrupts, struct pollfd *fds, size_t count,
    int64_t deadline)
{
	sigset_t all, before;
	int ready = 0, error = 0;

	if (interrupts == NULL || interrupts->signal_number == NULL)
		return poll_until(fds, count, deadline);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	if (*interrupts->signal_number == 0) {
		ready = poll_unblocked(fds, count, deadline, &before);
		error = errno;
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return ready;
}

int
interrupts_wait(const struct interrupts *interrupts, struct pollfd *fds, size_t count,
    int64_t deadline, struct error *err)
{
	int ready;

	INVARIANT(count >= 1);
	for (size_t i = 0; i < count; i++)
		fds[i].revents = 0;
	fds[0] = (struct pollfd){ interrupts == NULL ? -1 : interrupts->downstream, 0, 0 };
	ready = guarded_poll(interrupts, fds, count, deadline);
	INVARIANT(ready <= (int)count);
	if (ready > 0 && (fds[0].revents & POLLNVAL) != 0) {
		/* If stdout was closed from the start, it would end every wait. */
		fds[0] = (struct pollfd){ -1, 0, 0 };
		ready = guarded_poll(interrupts, fds, count, deadline);
	}
	if (ready == -1)
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to wait");
	return interrupts_signal_arrived(interrupts, err) || downstream_gone(fds[0].revents, err) ?
	    -1 : 0;
}

int
interrupts_sleep(const struct interrupts *interrupts, int64_t ms, struct error *err)
{
	int64_t end = clock_monotonic() + ms;
	struct pollfd own;

	while (clock_monotonic() < end)
		if (interrupts_wait(interrupts, &own, 1, end, err) == -1)
			return -1;
	return 0;
}
