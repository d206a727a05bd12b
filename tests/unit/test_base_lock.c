#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/lock.h"

static char path[] = "/tmp/awf-test-XXXXXX";
static volatile int stop;

static int
make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int
remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static int
open_file(void)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Another process that holds these bytes for a time, 0: until it is killed. */
static pid_t
start_holder(struct lock_range range, unsigned milliseconds)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int fd = open(path, O_RDWR);

		if (lock_take(fd, range) != 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		if (milliseconds == 0)
			pause();
		usleep(milliseconds * 1000);
		lock_release(fd, range);
		pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void
end_holder(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void
take_note(int number)
{
	stop = number;
}

/* SIGALRM after a time, which interrupts what waits. */
static void
alarm_in(long milliseconds, void (*handler)(int number))
{
	struct sigaction action = { .sa_handler = handler };
	struct itimerval timer = { .it_value = { .tv_usec = milliseconds * 1000 } };

	stop = 0;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void
nothing(int number)
{
	(void)number;
}

static void
test_lock_of_a_process_goes_with_it(void **state)
{
	pid_t holder = start_holder(LOCK_WHOLE, 0), owner = 0;
	int fd = open_file();

	(void)state;
	assert_int_equal(lock_take(fd, LOCK_WHOLE), -1);
	assert_true(errno == EAGAIN || errno == EACCES);
	assert_int_equal(lock_look(fd, LOCK_WHOLE, &owner), 1);
	assert_int_equal(owner, holder);
	end_holder(holder);
	assert_int_equal(lock_look(fd, LOCK_WHOLE, NULL), 0);
	assert_int_equal(lock_take(fd, LOCK_WHOLE), 0);
	assert_int_equal(lock_look(fd, LOCK_WHOLE, NULL), 0); /* no other's */
	close(fd);
	assert_int_equal(lock_look(fd, LOCK_WHOLE, NULL), -1);
	assert_int_equal(errno, EBADF);
}

static void
test_bytes_are_locked_apart(void **state)
{
	const struct lock_range held = { 10, 5 };
	const struct { struct lock_range range; int taken; } rows[] = {
		{ { 0, 10 }, 0 }, { { 9, 2 }, 1 }, { { 10, 1 }, 1 }, { { 14, 100 }, 1 },
		{ { 15, 5 }, 0 }, { { 15, 0 }, 0 }, { { 12, 0 }, 1 }, { LOCK_WHOLE, 1 }
	};
	pid_t holder = start_holder(held, 0);
	int fd = open_file();

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		assert_int_equal(lock_look(fd, rows[i].range, NULL), rows[i].taken);
		assert_int_equal(lock_take(fd, rows[i].range), -rows[i].taken);
		lock_release(fd, rows[i].range);
	}
	close(fd);
	end_holder(holder);
}

static void
test_wait_outlasts_a_signal_until_stopped(void **state)
{
	pid_t holder = start_holder(LOCK_WHOLE, 300);
	int fd = open_file();

	(void)state;
	alarm_in(50, nothing);
	assert_int_equal(lock_wait(fd, LOCK_WHOLE, NULL), 0);
	end_holder(holder);
	close(fd);

	holder = start_holder(LOCK_WHOLE, 0);
	fd = open_file();
	alarm_in(50, take_note);
	assert_int_equal(lock_wait(fd, LOCK_WHOLE, &stop), -1);
	assert_int_equal(errno, EINTR);
	assert_int_equal(lock_wait(fd, LOCK_WHOLE, &stop), -1); /* stopped before */
	assert_int_equal(errno, EINTR);
	end_holder(holder);
	assert_int_equal(lock_wait(fd, LOCK_WHOLE, &stop), 0); /* nobody to wait for */
	close(fd);
}

static void
test_outputs_that_are_locked(void **state)
{
	int ends[2], sockets[2], null = open("/dev/null", O_WRONLY | O_CLOEXEC), fd = open_file();

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	assert_true(lock_applies(ends[1]));
	assert_true(lock_applies(sockets[0]));
	assert_true(lock_applies(fd));
	assert_false(lock_applies(null));
	for (int i = 0; i < 2; i++) {
		close(ends[i]);
		close(sockets[i]);
	}
	close(null);
	close(fd);
	assert_false(lock_applies(fd));
}

static void
test_lock_of_an_open_file_is_as_long_as_that(void **state)
{
	int first = open_file(), second = open_file(), copy = dup(first);

	(void)state;
	assert_int_equal(lock_file_take(first), 0);
	assert_int_equal(lock_file_take(second), -1);
	assert_int_equal(errno, EWOULDBLOCK);
	close(first);
	assert_int_equal(lock_file_take(second), -1);
	close(copy);
	assert_int_equal(lock_file_take(second), 0);
	lock_file_release(second);
	first = open_file();
	assert_int_equal(lock_file_share(first), 0);
	assert_int_equal(lock_file_share(second), 0);
	alarm_in(50, nothing);
	assert_int_equal(lock_file_wait(second), -1);
	assert_int_equal(errno, EINTR);
	close(first);
	assert_int_equal(lock_file_wait(second), 0);
	close(second);
}

static void
test_wait_for_an_open_file_has_a_limit(void **state)
{
	int first = open_file(), second = open_file();
	int64_t began = clock_monotonic();

	(void)state;
	assert_int_equal(lock_file_take(first), 0);
	assert_int_equal(lock_file_within(second, 100), -1);
	assert_int_equal(errno, EWOULDBLOCK);
	assert_true(clock_monotonic() - began >= 100);
	assert_true(clock_monotonic() - began < 10000);
	lock_file_release(first);
	assert_int_equal(lock_file_within(second, 0), 0);
	close(first);
	close(second);
	assert_int_equal(lock_file_within(second, 1000000), -1);
	assert_int_equal(errno, EBADF);
}

static void
test_bytes_of_an_open_file(void **state)
{
	const struct lock_range one = { 3, 1 }, before = { 0, 3 };
	int first = open_file(), second = open_file();

	(void)state;
	assert_int_equal(lock_file_take_range(first, one), 0);
	assert_int_equal(lock_file_look_range(second, one), 1);
	assert_int_equal(lock_file_look_range(second, before), 0);
	assert_int_equal(lock_file_look_range(first, one), 0);
	assert_int_equal(lock_file_take_range(second, one), -1);
	assert_int_equal(lock_file_take(second), 0); /* another kind */
	close(open_file());                          /* which a process's would end with */
	assert_int_equal(lock_file_look_range(second, one), 1);
	close(first);
	assert_int_equal(lock_file_look_range(second, one), 0);
	close(second);
}

static void
test_name_of_what_is_locked(void **state)
{
	char moved[sizeof path + 2];
	int fd = open_file();

	(void)state;
	snprintf(moved, sizeof moved, "%s.", path);
	assert_true(lock_named(fd, path));
	assert_int_equal(rename(path, moved), 0);
	assert_false(lock_named(fd, path));
	close(open(path, O_WRONLY | O_CREAT, 0600));
	assert_false(lock_named(fd, path));
	assert_int_equal(rename(moved, path), 0);
	assert_true(lock_named(fd, path));
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lock_of_a_process_goes_with_it),
		cmocka_unit_test(test_bytes_are_locked_apart),
		cmocka_unit_test(test_wait_outlasts_a_signal_until_stopped),
		cmocka_unit_test(test_outputs_that_are_locked),
		cmocka_unit_test(test_lock_of_an_open_file_is_as_long_as_that),
		cmocka_unit_test(test_wait_for_an_open_file_has_a_limit),
		cmocka_unit_test(test_bytes_of_an_open_file),
		cmocka_unit_test(test_name_of_what_is_locked),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
