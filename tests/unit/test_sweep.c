/* io/sweep: which files of a directory are removed, and when. */
#include "record.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "io/sweep.h"

static int fd;

static int
setup(void **state)
{
	int failed = record_setup(state);

	fd = open(record_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return failed != 0 || fd == -1 ? -1 : 0;
}

static int
teardown(void **state)
{
	close(fd);
	return record_teardown(state);
}

/* Makes a file that was changed so many seconds ago. */
static void
make(const char *name, int64_t age)
{
	const struct timespec at = { .tv_sec = time(NULL) - (time_t)age }, times[] = { at, at };
	int file = openat(fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(file != -1);
	assert_int_equal(futimens(file, times), 0);
	close(file);
}

static bool
is_there(const char *name)
{
	return faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool
is_old(void *context, int in, const char *name, const struct stat *status)
{
	(void)name;
	assert_int_equal(in, fd);
	++*(int *)context;
	return sweep_age(status) >= SWEEP_DAY;
}

static void
only_regular_files_that_are_chosen_are_removed(void **state)
{
	int count = 0;

	(void)state;
	make("old", 2 * SWEEP_DAY);
	make("new", 0);
	make("swept", 2 * SWEEP_DAY);
	assert_int_equal(mkdirat(fd, "room", 0700), 0);
	assert_int_equal(symlinkat("old", fd, "link"), 0);
	for (int times = 0; times < 2; times++)
		sweep_files(fd, is_old, &count);
	assert_int_equal(count, 3);
	assert_false(is_there("old"));
	assert_true(is_there("new") && is_there("swept") && is_there("room") && is_there("link"));
	sweep_files(-1, is_old, &count);
	assert_int_equal(count, 3);
}

static void
it_is_done_once_a_day_unless_the_clock_may_be_wrong(void **state)
{
	static const struct {
		int64_t age;         /* of the last time; */
		bool removes, marks;
	} rows[] = {
		{ 0, false, false }, { SWEEP_DAY - 60, false, false }, { SWEEP_DAY, true, true },
		{ 90 * SWEEP_DAY - 60, true, true }, { 90 * SWEEP_DAY, false, true }, { -3600, false, true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct stat status;
		int count = 0;

		make("old", 2 * SWEEP_DAY);
		make("swept", rows[i].age);
		sweep_daily(fd, 90 * SWEEP_DAY, is_old, &count);
		assert_int_equal(is_there("old"), !rows[i].removes);
		assert_int_equal(fstatat(fd, "swept", &status, 0), 0);
		assert_in_range(sweep_age(&status) - (rows[i].marks ? 0 : rows[i].age) + 60, 0, 120);
		/* It was done, or is to be done a day later. */
		make("old", 2 * SWEEP_DAY);
		sweep_daily(fd, 90 * SWEEP_DAY, is_old, &count);
		assert_true(is_there("old"));
	}
	/* The first time begins the day. */
	assert_int_equal(unlinkat(fd, "swept", 0), 0);
	sweep_daily(fd, 90 * SWEEP_DAY, is_old, &(int){ 0 });
	assert_true(is_there("old") && is_there("swept"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_regular_files_that_are_chosen_are_removed),
		cmocka_unit_test(it_is_done_once_a_day_unless_the_clock_may_be_wrong),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
