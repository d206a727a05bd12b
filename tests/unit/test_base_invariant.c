/* lib/base/invariant.h: what does not hold ends a program that tests run, and is told in two places. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/invariant.h"

static int calls;

static int
one_more(void)
{
	return ++calls;
}

static void
what_holds_is_looked_at_once(void **state)
{
	(void)state;
	calls = 0;
	INVARIANT(one_more() == 1);
	assert_int_equal(calls, 1);
	assert_int_equal(invariants_checked, 1);
}

/* What is in the file, with a NUL. */
static void
read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t got;

	assert_true(fd >= 0);
	got = read(fd, text, size - 1);
	assert_true(got >= 0);
	text[got] = '\0';
	close(fd);
}

static void
what_does_not_hold_aborts_and_is_told(void **state)
{
	char said[] = "/tmp/test_base_invariant.XXXXXX", log[] = "/tmp/test_base_invariant.XXXXXX", text[512];
	int said_fd = mkstemp(said), log_fd = mkstemp(log), status;
	pid_t pid;

	(void)state;
	assert_true(said_fd >= 0 && log_fd >= 0);
	pid = fork();
	if (pid == 0) {
		setenv("AWF_INVARIANT_LOG", log, 1);
		dup2(said_fd, STDERR_FILENO);
		signal(SIGABRT, SIG_DFL);
		INVARIANT(1 + 1 == 3);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	read_text(said, text, sizeof text);
	assert_non_null(strstr(text, "test_base_invariant.c:"));
	assert_non_null(strstr(text, ": 1 + 1 == 3 does not hold\n"));
	read_text(log, text, sizeof text);
	assert_non_null(strstr(text, ": 1 + 1 == 3 does not hold\n"));
	unlink(said);
	unlink(log);
	close(said_fd);
	close(log_fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_holds_is_looked_at_once),
		cmocka_unit_test(what_does_not_hold_aborts_and_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
