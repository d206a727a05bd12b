/* io/copytree: what is counted, left out and refused; removal. The whole of a copy
 * is compared in tests/cli/run/awf-run-snapshot.bats. */
#include "unit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/copytree.h"
#include "io/file.h"

static char directory[] = "/tmp/awf-test-XXXXXX";

static int
enter(void **state)
{
	(void)state;
	return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int
leave(void **state)
{
	(void)state;
	return copytree_remove(directory, NULL);
}

static void
put(const char *path, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	char *bytes = memory_zero(size + 1, 1);

	assert_true(fd >= 0);
	memset(bytes, 'x', size);
	assert_int_equal(file_write(fd, bytes, size), 0);
	free(bytes);
	close(fd);
}

static bool
exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* from/ with two files, a directory, a link and a pipe. */
static int
make_tree(void **state)
{
	(void)state;
	mkdir("from", 0755);
	mkdir("from/sub", 0555);
	put("from/empty", 0);
	put("from/file", 200000);
	if (symlink("/etc/passwd", "from/link") != 0 || mkfifo("from/pipe", 0600) != 0)
		return -1;
	return 0;
}

static int
remove_tree(void **state)
{
	(void)state;
	return copytree_remove("from", NULL) != 0 || copytree_remove("to", NULL) != 0 ? -1 : 0;
}

static void
copies_all_but_pipes(void **state)
{
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(copytree("from", "to", NULL, &err), 0);
	assert_true(exists("to/file") && exists("to/link") && exists("to/sub") && !exists("to/pipe"));
}

/* What the kernel tells as a link's length may be less than what it leads to: of a link that
 * has changed since, and of those in /proc. */
static void
copies_links_whole(void **state)
{
	struct error err = ERROR_INIT;
	char name[NAME_MAX + 1], link[64], target[PATH_MAX] = "";
	int fd;

	(void)state;
	memset(name, 'n', NAME_MAX);
	name[NAME_MAX] = '\0';
	put(name, 1);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	snprintf(link, sizeof link, "to/%d", fd);
	assert_int_equal(copytree("/proc/self/fd", "to", NULL, &err), 0);
	assert_true(readlink(link, target, sizeof target - 1) > NAME_MAX);
	assert_string_equal(strrchr(target, '/') + 1, name);
	close(fd);
	unlink(name);
}

static void
leaves_out_the_exception_and_itself(void **state)
{
	struct error err = ERROR_INIT;

	(void)state;
	mkdir("from/not", 0700);
	put("from/not/this", 1);
	mkdir("from/copies", 0700);
	assert_int_equal(copytree("from", "from/copies/one", "from/not", &err), 0);
	assert_true(exists("from/copies/one/copies") && !exists("from/copies/one/copies/one"));
	assert_true(exists("from/copies/one/file"));
	assert_false(exists("from/copies/one/not"));
	assert_int_equal(copytree("from", "to", "from/nowhere", &err), 0);
	assert_true(exists("to/not/this") && exists("to/copies/one/file"));
}

static int asked;

static bool
at_the_third(void)
{
	return ++asked == 3;
}

static void
stops_when_told(void **state)
{
	struct error err = ERROR_INIT;

	(void)state;
	asked = 0;
	assert_int_equal(copytree_until("from", "to", NULL, at_the_third, &err), -1);
	assert_int_equal(err.code, ERROR_CANCELLED);
	assert_int_equal(asked, 3);
	assert_false(exists("to"));
}

static void
refuses_by_name(void **state)
{
	static const struct {
		const char *from, *to, *message;
	} cases[] = {
		{ "nowhere", "to", "nowhere: unable to open: No such file or directory" },
		{ "from/file", "to", "from/file: unable to open: Not a directory" },
		{ "from", "from/sub", "from/sub: unable to make it: File exists" },
		{ "from", "no/to", "no/to: unable to make it: No such file or directory" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct error err = ERROR_INIT;
		char text[1400];

		assert_int_equal(copytree(cases[i].from, cases[i].to, NULL, &err), -1);
		assert_int_equal(err.code, ERROR_SYSTEM);
		assert_string_equal(error_text(&err, text, sizeof text), cases[i].message);
		assert_true(exists("from/sub") && !exists("to"));
	}
}

static bool
at_once(void)
{
	return true;
}

static void
does_not_copy_the_machine(void **state)
{
	static const char *const names[] = { "/", "/.", "/../" };

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct error err = ERROR_INIT;

		assert_int_equal(copytree_until(names[i], "to", NULL, at_once, &err), -1);
		assert_int_equal(err.code, ERROR_USAGE);
		assert_string_equal(err.message, "the root directory is not copied");
		assert_false(exists("to"));
	}
}

static void
removes_closed_directories_and_no_targets(void **state)
{
	struct error err = ERROR_INIT;

	(void)state;
	mkdir("from/closed", 0700);
	mkdir("from/closed/deeper", 0700);
	put("from/closed/deeper/file", 1);
	mkdir("kept", 0700);
	put("kept/file", 1);
	assert_int_equal(symlink("../../kept", "from/closed/out"), 0);
	chmod("from/closed/deeper", 0);
	chmod("from/closed", 0);
	assert_int_equal(copytree_remove("from", &err), 0);
	assert_true(!exists("from") && exists("kept/file"));
	assert_int_equal(copytree_remove("from", &err), 0);
	assert_int_equal(copytree_remove("kept/file/below", &err), -1);
	assert_string_equal(err.message, "unable to remove: Not a directory");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(copies_all_but_pipes, make_tree, remove_tree),
		cmocka_unit_test_setup_teardown(copies_links_whole, make_tree, remove_tree),
		cmocka_unit_test_setup_teardown(leaves_out_the_exception_and_itself, make_tree, remove_tree),
		cmocka_unit_test_setup_teardown(stops_when_told, make_tree, remove_tree),
		cmocka_unit_test_setup_teardown(refuses_by_name, make_tree, remove_tree),
		cmocka_unit_test_setup_teardown(does_not_copy_the_machine, make_tree, remove_tree),
		cmocka_unit_test_setup_teardown(removes_closed_directories_and_no_targets, make_tree, remove_tree),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
