/* io/polling: what ends a wait, and what it says then. */
#include "unit.h"

#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/polling.h"

static void
test_ready(void **state)
{
	struct pollfd fds[3];
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	for (int i = 0; i < 3; i++)
		fds[i] = (struct pollfd){ i == 0 ? -1 : ends[i - 1], i == 2 ? POLLOUT : POLLIN, 0x7f };
	assert_int_equal(poll_until(fds, 3, 0), 1);
	assert_int_equal(fds[0].revents, 0);
	assert_int_equal(fds[1].revents, 0);
	assert_int_equal(fds[2].revents, POLLOUT);
	assert_int_equal(poll_now(ends[0], POLLIN), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_int_equal(poll_now(ends[0], POLLIN), POLLIN);
	assert_int_equal(poll_one(ends[0], POLLIN, 0), POLLIN);
	close(ends[1]);
	assert_int_equal(poll_now(ends[0], 0), POLLHUP);
	assert_int_equal(poll_now(-1, POLLIN), 0);
	close(ends[0]);
	assert_int_equal(poll_now(ends[0], POLLIN), POLLNVAL);
}

static void
test_time(void **state)
{
	struct pollfd one = { -1, POLLIN, 0x7f };
	int64_t began = clock_monotonic();

	(void)state;
	assert_int_equal(poll_until(&one, 1, began - 1000), 0); /* that was: it only looks */
	assert_int_equal(one.revents, 0);
	assert_in_range(clock_monotonic() - began, 0, 5000);
	assert_int_equal(poll_one(-1, POLLIN, clock_monotonic() + 30), 0);
	assert_in_range(clock_monotonic() - began, 29, 5000);
}

static volatile sig_atomic_t caught;

static void
catch(int number)
{
	caught = number;
}

/* A signal that is caught ends the wait, with nothing ready and no error. */
static void
test_signal(void **state)
{
	const struct itimerval soon = { { 0, 0 }, { 0, 30000 } };
	const struct sigaction action = { .sa_handler = catch };
	struct pollfd one = { -1, POLLIN, 0x7f };
	int64_t began = clock_monotonic();

	(void)state;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	assert_int_equal(poll_until(&one, 1, 0), 0);
	assert_int_equal(caught, SIGALRM);
	assert_int_equal(one.revents, 0);
	assert_in_range(clock_monotonic() - began, 29, 5000);
}

/* One that came while it was blocked is taken by the wait. */
static void
test_unblocked(void **state)
{
	const struct sigaction action = { .sa_handler = catch };
	struct pollfd one = { -1, POLLIN, 0 };
	sigset_t blocked, before;

	(void)state;
	caught = 0;
	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	raise(SIGUSR1);
	assert_int_equal(caught, 0);
	assert_int_equal(poll_unblocked(&one, 1, 0, &before), 0);
	assert_int_equal(caught, SIGUSR1);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ready),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_unblocked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
