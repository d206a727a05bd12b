/* Signals are blocked, and those that are pending are looked at where they count. */
#include "proc/held_signals.h"

#include <poll.h>
#include <stddef.h>

#include "base/clock.h"
#include "io/polling.h"

static const int caught[SIGNALS_ENDING] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };

static void
mask_signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < SIGNALS_ENDING; i++)
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
	for (size_t i = 0; i < SIGNALS_ENDING; i++)
		if (sigismember(&pending, caught[i]) == 1 && sigaction(caught[i], NULL, &action) == 0 &&
		    action.sa_handler != SIG_IGN)
			return caught[i];
	return 0;
}

void
signals_catch(void (*handler)(int), struct sigaction before[SIGNALS_ENDING])
{
	struct sigaction action = { .sa_handler = handler };

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < SIGNALS_ENDING; i++) {
		sigaction(caught[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(caught[i], &action, NULL);
	}
}

void
signals_catch_no_more(const struct sigaction before[SIGNALS_ENDING])
{
	for (size_t i = 0; i < SIGNALS_ENDING; i++)
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
	struct sigaction before[SIGNALS_ENDING];
	struct pollfd watched = { .fd = fd, .events = POLLIN };
	sigset_t mask;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	for (size_t i = 0; i < SIGNALS_ENDING; i++)
		sigdelset(&mask, caught[i]);
	signals_catch(wake_up, before);
	woken_by = 0;
	poll_unblocked(&watched, 1, clock_monotonic() + timeout_ms, &mask);
	signals_catch_no_more(before);
	if (woken_by != 0)
		raise(woken_by); /* held again */
	return signals_held();
}

void
signals_drop(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;

	sigemptyset(&ignore.sa_mask);
	for (size_t i = 0; i < SIGNALS_ENDING; i++) {
		sigaction(caught[i], &ignore, &before); /* drops what is pending */
		sigaction(caught[i], &before, NULL);
	}
}
