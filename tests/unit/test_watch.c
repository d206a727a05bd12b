/* run/watch: changes are noticed, and nothing else wakes. */
#include "record.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "model/watch.h"

static struct error err;

static bool
reported(const struct watch *w)
{
	struct pollfd fd = { .fd = w->fd, .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

static void
test_file(void **state)
{
	const char *path = record_path("file");
	struct watch w;

	(void)state;
	record_put(path, "", 0);
	watch_open(&w);
	assert_int_equal(watch_add(&w, path, &err), 0);
	assert_false(reported(&w));
	record_put(path, "x", 1);
	assert_true(reported(&w));
	watch_wait(&w, -1, 60000); /* does not wait */
	watch_drain(&w);
	assert_false(reported(&w));
	unlink(path);
	assert_true(reported(&w));
	watch_close(&w);
	watch_drain(&w);
}

static void
test_directory(void **state)
{
	const char *path = record_path("directory"), *name = record_path("directory/new");
	const char *other = record_path("directory/other");
	struct watch w;

	(void)state;
	assert_int_equal(mkdir(path, 0700), 0);
	watch_open(&w);
	assert_int_equal(watch_add(&w, path, &err), 0);
	record_put(name, "", 0);
	assert_true(reported(&w));
	watch_drain(&w);
	record_put(name, "x", 1); /* its names stay as they are */
	assert_false(reported(&w));
	assert_int_equal(rename(name, other), 0);
	assert_true(reported(&w));
	watch_drain(&w);
	assert_int_equal(unlink(other), 0);
	assert_true(reported(&w));
	watch_close(&w);
}

static void
test_files_of_a_directory(void **state)
{
	const char *path = record_path("files"), *name = record_path("files/new");
	struct watch w;

	(void)state;
	assert_int_equal(mkdir(path, 0700), 0);
	watch_open(&w);
	assert_int_equal(watch_add_files(&w, path, &err), 0);
	record_put(name, "", 0);
	assert_true(reported(&w));
	watch_drain(&w);
	record_put(name, "x", 1);
	assert_true(reported(&w));
	watch_drain(&w);
	assert_int_equal(unlink(name), 0);
	assert_true(reported(&w));
	assert_int_equal(watch_add_files(&w, record_path("none"), &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	watch_close(&w);
}

static void
test_writer_wakes(void **state)
{
	const char *path = record_path("waking");
	struct watch w;
	int64_t begun = clock_monotonic();

	(void)state;
	record_put(path, "", 0);
	watch_open(&w);
	assert_int_equal(watch_add(&w, path, &err), 0);
	if (fork() == 0) {
		usleep(20000);
		record_put(path, "x", 1);
		_exit(0);
	}
	watch_wait(&w, -1, 60000);
	assert_true(reported(&w));
	assert_true(clock_monotonic() - begun < 30000);
	wait(NULL);
	watch_close(&w);
}

static void
test_hang_up_and_time(void **state)
{
	struct watch w;
	int ends[2];
	int64_t begun = clock_monotonic();

	(void)state;
	watch_open(&w);
	assert_int_equal(pipe(ends), 0);
	watch_wait(&w, ends[1], 30);
	assert_true(clock_monotonic() - begun >= 29);
	close(ends[0]);
	watch_wait(&w, ends[1], 60000);
	assert_true(clock_monotonic() - begun < 30000);
	close(ends[1]);
	watch_close(&w);
}

static void
test_without_notification(void **state)
{
	const char *path = record_path("sleeping");
	struct watch w = { -1 };
	int64_t begun = clock_monotonic();

	(void)state;
	record_put(path, "", 0);
	assert_int_equal(watch_add(&w, path, &err), 0);
	watch_wait(&w, -1, 60000);
	watch_wait(&w, -1, -1);
	assert_true(clock_monotonic() - begun < 30000);
	watch_close(&w);
}

static void
test_missing(void **state)
{
	const char *path = record_path("missing");
	struct watch w;

	(void)state;
	watch_open(&w);
	assert_int_equal(watch_add(&w, path, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_string_equal(err.place, path);
	/* a descriptor of another kind stands for a failing inotify */
	int fd = w.fd;
	w.fd = open("/dev/null", O_RDONLY);
	assert_int_equal(watch_add(&w, record_directory, &err), -1);
	watch_close(&w);
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_directory),
		cmocka_unit_test(test_files_of_a_directory),
		cmocka_unit_test(test_writer_wakes),
		cmocka_unit_test(test_hang_up_and_time),
		cmocka_unit_test(test_without_notification),
		cmocka_unit_test(test_missing),
	};

	return cmocka_run_group_tests(tests, record_setup, record_teardown);
}
