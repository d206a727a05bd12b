/* run/run_lock: who owns a run, and what is left of one whose owner is gone. */
#include "unit.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "io/file.h"
#include "record.h"
#include "storage/run_lock.h"

static bool
exists(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0;
}

/* A process that owns the run, until it is killed. */
static pid_t
start_owner(const char *directory)
{
	struct error err;
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		int fd = run_lock_make(directory, &err);

		if (fd < 0 || run_lock_sign(fd, directory, 7, &err) != 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void
end_owner(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void
test_make(void **state)
{
	const char *directory = record_path("make");
	struct buffer text = BUFFER_INIT;
	struct error err = ERROR_INIT;
	int fd = run_lock_make(directory, &err);
	char expected[64];

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(run_lock_sign(fd, directory, 1, &err), 0);
	snprintf(expected, sizeof expected, "%ld 1\n", (long)getpid());
	close(fd);
	record_load(path_join(directory, "lock"), &text);
	assert_memory_equal(buffer_string(&text), expected, strlen(expected));
	assert_int_equal(run_lock_make(directory, &err), -1); /* it must be new */
	assert_int_equal(err.code, ERROR_SYSTEM);
	run_directory_drop(directory);
	assert_false(exists(directory));
	assert_false(exists(record_path("make.gone")));
	buffer_free(&text);
}

static void
test_take_over(void **state)
{
	const char *directory = record_path("dead");
	struct error err = ERROR_INIT;
	struct buffer text = BUFFER_INIT;
	pid_t owner = start_owner(directory);
	char expected[64];
	int fd;

	(void)state;
	record_put(record_path("dead/key"), "key", 3);
	assert_int_equal(mkdir(record_path("dead/roster"), 0700), 0);
	record_put(record_path("dead/roster/entry"), "x", 1);
	assert_int_equal(run_lock_take_over(directory, &err), -1);
	snprintf(expected, sizeof expected, "the run is running: process %ld has its lock",
	    (long)owner);
	assert_string_equal(err.place, "dead");
	assert_string_equal(err.message, expected);
	assert_true(exists(record_path("dead/roster/entry")));
	end_owner(owner);
	fd = run_lock_take_over(directory, &err);
	assert_true(fd >= 0);
	assert_false(exists(record_path("dead/key")));
	assert_false(exists(record_path("dead/roster")));
	assert_int_equal(run_lock_sign(fd, directory, 8, &err), 0);
	record_load(record_path("dead/lock"), &text); /* which frees the lock, and is the last look */
	snprintf(expected, sizeof expected, "%ld 8\n", (long)getpid());
	assert_memory_equal(buffer_string(&text), expected, strlen(expected));
	close(fd);
	buffer_free(&text);
}

/* In a process of its own, as the owner of the lock would lose it. */
static void
start_failing(const char *directory, const struct error *why)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		run_lock_fail(directory, why);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* In an attempt, the last that a step has told, in no more bytes than the file had. */
static void
test_fail(void **state)
{
	const char *directory = record_path("fail");
	struct error err = ERROR_INIT, why;
	int fd = run_lock_make(directory, &err);
	struct stat before, after;

	(void)state;
	assert_true(fd >= 0);
	assert_false(run_lock_failed(fd, &why)); /* it is not signed yet */
	assert_int_equal(run_lock_sign(fd, directory, 1, &err), 0);
	assert_int_equal(fstat(fd, &before), 0);
	assert_false(run_lock_failed(fd, &why));
	error_set(&err, ERROR_SYSTEM, "somewhere", "%0500d", 1);
	start_failing(directory, &err);
	assert_true(run_lock_failed(fd, &why));
	assert_int_equal(strncmp(why.message, "somewhere: 000", 14), 0);
	error_set(&err, ERROR_SYSTEM, "roster/a", "no room");
	start_failing(directory, &err);
	assert_true(run_lock_failed(fd, &why));
	assert_int_equal(why.code, ERROR_SYSTEM);
	assert_string_equal(why.message, "roster/a: no room");
	assert_int_equal(fstat(fd, &after), 0);
	assert_int_equal(after.st_size, before.st_size);
	start_failing("/nonexistent", &err);
	close(fd);
	/* The next attempt has not failed yet. */
	fd = run_lock_take_over(directory, &err);
	assert_int_equal(run_lock_sign(fd, directory, 2, &err), 0);
	assert_false(run_lock_failed(fd, &why));
	close(fd);
	run_directory_drop(directory);
}

static void
test_take_over_nothing(void **state)
{
	struct error err = ERROR_INIT;
	int fd = run_lock_take_over(record_path("new"), &err);

	(void)state;
	assert_true(fd >= 0);
	assert_true(exists(record_path("new/lock")));
	close(fd);
	record_put(record_path("file"), "x", 1);
	assert_int_equal(run_lock_take_over(record_path("file"), &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_int_equal(run_lock_take_over(record_path("no/such"), &err), -1);
}

/* An owner that was killed while it removed its directory, and a later one. */
static void
test_drop_twice(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(mkdir(record_path(i == 0 ? "twice.gone" : "twice"), 0700), 0);
		record_put(record_path(i == 0 ? "twice.gone/lock" : "twice/lock"), "x", 1);
	}
	run_directory_drop(record_path("twice"));
	assert_false(exists(record_path("twice")));
	assert_false(exists(record_path("twice.gone")));
	run_directory_drop(record_path("twice")); /* which is not there */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_make),
		cmocka_unit_test(test_take_over),
		cmocka_unit_test(test_fail),
		cmocka_unit_test(test_take_over_nothing),
		cmocka_unit_test(test_drop_twice),
	};

	return cmocka_run_group_tests(tests, record_setup, record_teardown);
}
