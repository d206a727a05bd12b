/* storage/resumes: failures to resume a run, and decisions that make them forgotten. */
#include "record.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>

#include "io/lock.h"
#include "storage/resumes.h"

static struct storage storage;

static int
setup(void **state)
{
	struct error err;
	int failed = record_setup(state);

	storage = (struct storage){ .root = record_directory };
	return failed == 0 ? resumes_add(&storage, RUN_ID, &err) : failed;
}

static int64_t
next(long long count)
{
	return count < 3 ? count * 1000000 : 0;
}

/* Adds one, and says which that was. */
static long long
add_one(const char *message)
{
	struct resume_failures f;
	struct error err;

	assert_int_equal(resumes_add_failure(&storage, RUN_ID, message, next, &f, &err), 0);
	assert_string_equal(f.message, message);
	assert_int_equal(f.next, next(f.count));
	free(f.message);
	return f.count;
}

static void
check_read(long long count, const char *message)
{
	struct resume_failures f;

	resumes_read_failures(&storage, RUN_ID, &f);
	assert_int_equal(f.count, count);
	assert_int_equal(f.next, count > 0 ? next(count) : 0);
	if (message == NULL)
		assert_null(f.message);
	else
		assert_string_equal(f.message, message);
	free(f.message);
}

static void
failures_are_counted_until_something_is_decided(void **state)
{
	(void)state;
	check_read(0, NULL);
	for (int times = 0; times < 2; times++) {
		assert_int_equal(add_one("a long message, longer than the others"), 1);
		assert_int_equal(add_one("two"), 2);
		check_read(2, "two");
		assert_int_equal(add_one("three"), 3);
		check_read(3, "three");
		resumes_tell(&storage, RUN_ID);
		check_read(0, NULL);
	}
}

static void
what_is_no_count_is_none(void **state)
{
	static const char *const texts[] = { "{\"failures\":-5,\"message\":\"x\"}\n", "{\"failures\":", "[]",
		"{\"failures\":\"2\"}\n" };
	const char *path = record_path("resumes/" RUN_ID);

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

		assert_int_equal(file_write(fd, texts[i], strlen(texts[i])), 0);
		close(fd);
		check_read(0, NULL);
		assert_int_equal(add_one("one"), 1);
	}
}

/* A failure does not count to those before a decision that came before it. */
static void
a_failure_waits_for_a_decision_that_is_being_told(void **state)
{
	const struct timespec nap = { .tv_nsec = 200 * 1000000L };
	const char *path = record_path("resumes/" RUN_ID);
	int fd, status;
	pid_t pid;

	(void)state;
	resumes_tell(&storage, RUN_ID);
	add_one("one");
	add_one("two");
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(lock_file_within(fd, 1000), 0);
	pid = fork();
	if (pid == 0)
		_exit(add_one("after it") == 1 ? 0 : 1);
	nanosleep(&nap, NULL);
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	lock_file_release(fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	check_read(1, "after it");
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failures_are_counted_until_something_is_decided),
		cmocka_unit_test(what_is_no_count_is_none),
		cmocka_unit_test(a_failure_waits_for_a_decision_that_is_being_told),
	};

	return cmocka_run_group_tests(tests, setup, record_teardown);
}
