/* proc/passing and isolate/isolate where the ends of children are not kept: there is an error. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "isolate/isolate.h"
#include "proc/passing.h"

/* What hangs or turns for ever ends the test. */
#define LIMIT_SECONDS 20

static sigset_t before;

static int
setup(void **state)
{
	sigset_t set;

	(void)state;
	sigemptyset(&set);
	passing_add(&set);
	alarm(LIMIT_SECONDS);
	return sigprocmask(SIG_BLOCK, &set, &before);
}

static int
teardown(void **state)
{
	struct sigaction action = { .sa_flags = 0 };

	(void)state;
	action.sa_handler = SIG_DFL;
	alarm(0);
	return sigaction(SIGCHLD, &action, NULL) | sigprocmask(SIG_SETMASK, &before, NULL);
}

static void
children_are(void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_flags = flags };

	action.sa_handler = handler;
	assert_int_equal(sigaction(SIGCHLD, &action, NULL), 0);
}

/* A child that ends after some time. */
static pid_t
child(long milliseconds)
{
	pid_t pid = fork();

	if (pid == 0) {
		nanosleep(&(struct timespec){ 0, milliseconds * 1000000 }, NULL);
		_exit(7);
	}
	return pid;
}

static void
a_child_is_waited_for(void **state)
{
	int status = 0;
	pid_t pid = child(20);

	(void)state;
	assert_int_equal(passing_wait(pid, pid, &status), 0);
	assert_int_equal(WEXITSTATUS(status), 7);
	/* A second time it is none. */
	assert_int_equal(passing_wait(pid, pid, &status), -1);
	assert_int_equal(errno, ECHILD);
}

static void
children_whose_ends_are_not_kept_end_the_wait(void **state)
{
	static const struct { void (*handler)(int); int flags; } kinds[] = {
		{ SIG_IGN, 0 }, { SIG_IGN, SA_NOCLDWAIT }, { SIG_DFL, SA_NOCLDWAIT } };
	int status = 0;

	(void)state;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		for (long wait = 0; wait <= 50; wait += 50) {
			pid_t pid;

			children_are(kinds[i].handler, kinds[i].flags);
			pid = child(wait);
			if (wait == 0)
				nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
			errno = 0;
			assert_int_equal(passing_wait(pid, pid, &status), -1);
			assert_int_equal(errno, ECHILD);
		}
}

static int
nothing(void *context)
{
	*(int *)context = 1;
	return 0;
}

static void
nothing_is_isolated_whose_end_is_not_kept(void **state)
{
	char workspace[] = "/tmp/awf-passing-XXXXXX";
	struct isolate_spec spec = { .workspace = workspace };
	struct isolate_end end;
	struct error err = ERROR_INIT;
	int ran = 0;

	(void)state;
	assert_non_null(mkdtemp(workspace));
	children_are(SIG_IGN, 0);
	assert_int_equal(isolate_run(&spec, nothing, &ran, &end, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_non_null(strstr(err.message, "ignores SIGCHLD"));
	children_are(SIG_DFL, SA_NOCLDWAIT);
	assert_int_equal(isolate_run(&spec, nothing, &ran, &end, &err), -1);
	assert_non_null(strstr(err.message, "SA_NOCLDWAIT"));
	assert_int_equal(ran, 0);
	assert_int_equal(rmdir(workspace), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_child_is_waited_for, setup, teardown),
		cmocka_unit_test_setup_teardown(children_whose_ends_are_not_kept_end_the_wait, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(nothing_is_isolated_whose_end_is_not_kept, setup,
		    teardown),
	};

	return cmocka_run_group_tests_name("passing", tests, NULL, NULL);
}
