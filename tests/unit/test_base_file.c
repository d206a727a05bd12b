#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
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
	char *command = memory_format("rm -rf %s", directory);
	int status = system(command);

	(void)state;
	free(command);
	return status;
}

static void
put(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(file_write(fd, text, strlen(text)), 0);
	close(fd);
}

static size_t
entries(const char *path)
{
	DIR *dir = opendir(path);
	size_t count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2;
}

static void
loads_what_was_written(void **state)
{
	struct buffer b = BUFFER_INIT;
	struct error err;

	(void)state;
	put("plain", "hello", 0600);
	buffer_text(&b, "> ");
	assert_int_equal(file_load("plain", 5, &b, &err), 0);
	assert_string_equal(b.data, "> hello");
	assert_int_equal(file_load("/dev/null", 0, &b, &err), 0);
	assert_string_equal(b.data, "> hello");
	assert_int_equal(file_load("/proc/self/stat", SIZE_MAX, &b, &err), 0);
	assert_true(b.len > 7);
	buffer_free(&b);
}

static void
load_fails_by_name(void **state)
{
	static const struct {
		const char *path, *message;
	} rows[] = {
		{"missing", "unable to open: No such file or directory"},
		{".", "unable to read: Is a directory"},
		{"plain", "larger than 4 bytes"},
		{"/dev/zero", "larger than 4 bytes"},
	};
	struct error err;

	(void)state;
	put("plain", "hello", 0600);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct buffer b = BUFFER_INIT;

		assert_int_equal(file_load(rows[i].path, 4, &b, &err), -1);
		assert_int_equal(err.code, ERROR_SYSTEM);
		assert_string_equal(err.place, rows[i].path);
		assert_string_equal(err.message, rows[i].message);
		assert_int_equal(b.len, 0);
		buffer_free(&b);
	}
}

/* More than a pipe holds, through non-blocking ends of it. */
static void
waits_on_non_blocking(void **state)
{
	size_t len = (size_t)1 << 20;
	char *bytes = memory_zero(1, len);
	struct buffer b = BUFFER_INIT;
	int fds[2], status;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(fds[0]);
		_exit(file_write(fds[1], bytes, len) == 0 ? 0 : 1);
	}
	close(fds[1]);
	assert_int_equal(file_read(fds[0], &b, len), 0);
	assert_int_equal(b.len, len);
	assert_memory_equal(b.data, bytes, len);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(fds[0]);
	buffer_free(&b);
	free(bytes);
}

static void
read_and_write_fail_with_errno(void **state)
{
	struct buffer b = BUFFER_INIT;
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_true(full >= 0);
	assert_int_equal(file_write(full, "x", 1), -1);
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(file_read(full, &b, 10), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(file_write(full, "", 0), 0);
	close(full);
	buffer_free(&b);
}

static void
makes_directories(void **state)
{
	static const char *const paths[] = {"a/b/c", "a/b/c", "a/b/d/", "./e//f", "g"};
	struct error err;
	struct stat st;
	char *absolute = path_join(directory, "h/i");

	(void)state;
	for (size_t i = 0; i < COUNT(paths); i++) {
		assert_int_equal(directory_make(paths[i], 0700, &err), 0);
		assert_int_equal(stat(paths[i], &st), 0);
		assert_true(S_ISDIR(st.st_mode));
		assert_int_equal(st.st_mode & 0777, 0700);
	}
	assert_int_equal(directory_make(absolute, 0700, &err), 0);
	assert_int_equal(directory_sync(absolute, &err), 0);
	free(absolute);
	put("file", "", 0600);
	assert_int_equal(directory_make("file/x", 0700, &err), -1);
	assert_string_equal(err.place, "file");
	assert_string_equal(err.message, "unable to make the directory: Not a directory");
	assert_int_equal(directory_make("a/../file", 0700, &err), -1);
	assert_int_equal(directory_make("", 0700, &err), -1);
	assert_int_equal(directory_sync("missing", &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
}

static void
paths_lie_within(void **state)
{
	static const struct {
		const char *path, *directory;
		bool within;
	} rows[] = {
		{"/a/b", "/a", true},
		{"/a", "/a", true},
		{"/a/b", "/a/", true},
		{"/a", "/", true},
		{"/ab", "/a", false},
		{"/b/a", "/a", false},
		{"/", "/a", false},
		{"a/b", "/", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(path_within(rows[i].path, rows[i].directory), rows[i].within);
}

static void
paths(void **state)
{
	static const struct {
		const char *directory, *name, *joined, *base, *parent;
	} rows[] = {
		{"a", "b", "a/b", "b", "a"},
		{"a/", "b", "a/b", "b", "a"},
		{"/", "b", "/b", "b", "/"},
		{"/a/b", "c.d", "/a/b/c.d", "c.d", "/a/b"},
	};
	char *text;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *joined = path_join(rows[i].directory, rows[i].name);
		char *parent = path_directory(joined);

		assert_string_equal(joined, rows[i].joined);
		assert_string_equal(path_base(joined), rows[i].base);
		assert_string_equal(parent, rows[i].parent);
		free(joined);
		free(parent);
	}
	assert_string_equal(path_base("x"), "x");
	text = path_directory("x");
	assert_string_equal(text, ".");
	free(text);
}

static void
interpreters(void **state)
{
	static const struct {
		const char *text, *interpreter;
	} rows[] = {
		{"#!/bin/sh -e\necho", "/bin/sh -e"}, {"#! /bin/sh\r\n", " /bin/sh"}, {"#!", ""}, {"", NULL},
		{"#", NULL}, {"echo\n#!/bin/sh", NULL},
	};
	char path[] = "/tmp/test_base_file-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_int_not_equal(fd, -1);
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *found;

		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, rows[i].text, strlen(rows[i].text), 0), strlen(rows[i].text));
		found = file_interpreter(path);
		if (rows[i].interpreter == NULL)
			assert_null(found);
		else
			assert_string_equal(found, rows[i].interpreter);
		free(found);
	}
	close(fd);
	unlink(path);
	assert_null(file_interpreter(path));
	assert_null(file_interpreter("/"));
}

static void
climbs(void **state)
{
	static const struct {
		const char *path, *above[3]; /* all there are */
	} rows[] = {
		{"/a/b", {"/a", "/"}}, {"/a", {"/"}}, {"/", {NULL}}, {"a/b", {"a", "."}}, {".", {NULL}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *path = memory_text(rows[i].path);

		for (size_t n = 0; rows[i].above[n] != NULL; n++) {
			assert_true(path_climb(&path));
			assert_string_equal(path, rows[i].above[n]);
		}
		assert_false(path_climb(&path));
		free(path);
	}
}

static void
normal_paths(void **state)
{
	static const struct {
		const char *path, *normal;
	} rows[] = {
		{"/", "/"}, {"//", "/"}, {"/.", "/"}, {"/..", "/"}, {"/a/..", "/"}, {"/../..", "/"},
		{"/a", "/a"}, {"/a/", "/a"}, {"//a///b/", "/a/b"}, {"/a/./b/.", "/a/b"},
		{"/a/../b", "/b"}, {"/a/b/../../c", "/c"}, {"/a/b/../../../../c", "/c"},
		{"/../../etc/x", "/etc/x"}, {"/a/...", "/a/..."}, {"/.a/..b/c.", "/.a/..b/c."},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *normal = path_normal(rows[i].path);

		assert_string_equal(normal, rows[i].normal);
		free(normal);
	}
}

static void
searches_for_what_can_run(void **state)
{
	static const struct {
		const char *list, *name, *found;
	} rows[] = {
		{"p1:p2", "tool", "p2/tool"},
		{"p2:p1", "tool", "p2/tool"},
		{":p2", "tool", "p2/tool"},
		{"p3/:p2", "tool", "p2/tool"},
		{"p2", "absent", NULL},
		{"", "tool", NULL},
		{"::", "tool", NULL},
		{NULL, "tool", NULL},
	};
	struct error err;

	(void)state;
	assert_int_equal(directory_make("p1", 0700, &err), 0);
	assert_int_equal(directory_make("p2", 0700, &err), 0);
	assert_int_equal(directory_make("p3/tool", 0700, &err), 0);
	put("p1/tool", "", 0600);
	put("p2/tool", "", 0700);
	put("tool", "", 0700);
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *found = path_search(rows[i].list, rows[i].name);

		assert_int_equal(!found, !rows[i].found);
		if (found)
			assert_string_equal(found, rows[i].found);
		free(found);
	}
}

static void
replaces_at_once(void **state)
{
	struct replacement r;
	struct buffer b = BUFFER_INIT;
	struct error err;
	struct stat st;

	(void)state;
	assert_int_equal(directory_make("r", 0700, &err), 0);
	put("r/x", "old", 0600);
	assert_int_equal(chmod("r/x", 04600), 0);
	assert_int_equal(replacement_open(&r, "r/x", 0640, &err), 0);
	assert_int_equal(fcntl(r.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(file_write(r.fd, "new", 3), 0);
	assert_int_equal(file_load("r/x", 10, &b, &err), 0);
	assert_string_equal(b.data, "old");
	assert_int_equal(replacement_commit(&r, true, &err), 0);
	buffer_clear(&b);
	assert_int_equal(file_load("r/x", 10, &b, &err), 0);
	assert_string_equal(b.data, "new");
	assert_int_equal(stat("r/x", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600); /* as it was, but not set-user-ID */
	assert_int_equal(replacement_open(&r, "r/fresh", 0640, &err), 0);
	assert_int_equal(replacement_commit(&r, true, &err), 0);
	assert_int_equal(stat("r/fresh", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(entries("r"), 2);
	buffer_free(&b);
}

static void
replacement_leaves_nothing_behind(void **state)
{
	struct replacement r;
	struct error err;

	(void)state;
	assert_int_equal(directory_make("n/taken/x", 0700, &err), 0);
	assert_int_equal(replacement_open(&r, "n/missing/x", 0600, &err), -1);
	assert_string_equal(err.place, "n/missing/x");
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_int_equal(replacement_open(&r, "n/y", 0600, &err), 0);
	replacement_abandon(&r);
	replacement_abandon(&r);
	assert_int_equal(replacement_open(&r, "n/taken", 0600, &err), -1);
	assert_string_equal(err.place, "n/taken");
	assert_string_equal(err.message, "unable to open: Is a directory");
	assert_int_equal(replacement_open(&r, "n/z", 0600, &err), 0);
	assert_int_equal(mkdir("n/z", 0700), 0);
	assert_int_equal(replacement_commit(&r, false, &err), -1);
	assert_non_null(strstr(err.message, "unable to replace: Is a directory"));
	assert_int_equal(entries("n"), 2);
}

static void
a_device_is_written_to_as_it_is(void **state)
{
	struct replacement r;
	struct error err;
	struct stat st;

	(void)state;
	assert_int_equal(replacement_open(&r, "/dev/null", 0600, &err), 0);
	assert_int_equal(file_write(r.fd, "x", 1), 0);
	assert_int_equal(replacement_commit(&r, true, &err), 0);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

static void
config_and_data_are_where_the_user_says(void **state)
{
	static const struct { const char *place, *home, *config, *data; } rows[] = {
		{"/etc/mine", "/home/u", "/etc/mine/awf/keys", "/etc/mine/awf/keys"},
		{"relative", "/home/u", "/home/u/.config/awf/keys", "/home/u/.local/share/awf/keys"},
		{"", "/home/u", "/home/u/.config/awf/keys", "/home/u/.local/share/awf/keys"},
		{"", "", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *config, *data;

		setenv("XDG_CONFIG_HOME", rows[i].place, 1);
		setenv("XDG_DATA_HOME", rows[i].place, 1);
		setenv("HOME", rows[i].home, 1);
		config = path_config("keys");
		data = path_data("keys");
		assert_true((rows[i].config == NULL) == (config == NULL));
		assert_true((rows[i].data == NULL) == (data == NULL));
		if (rows[i].config != NULL)
			assert_string_equal(config, rows[i].config);
		if (rows[i].data != NULL)
			assert_string_equal(data, rows[i].data);
		free(config);
		free(data);
	}
}

static void
private_files_are_closed_to_others(void **state)
{
	static const struct { mode_t mode; bool private; } rows[] = {
		{0600, true}, {0400, true}, {0700, true}, {0640, false}, {0602, false}, {0610, false},
	};

	(void)state;
	put("private", "x", 0600);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct error err = ERROR_INIT;
		int fd;

		fd = open("private", O_RDONLY | O_CLOEXEC);
		assert_int_equal(chmod("private", rows[i].mode), 0);
		assert_int_equal(file_check_private(fd, "private", &err), rows[i].private ? 0 : -1);
		close(fd);
		if (!rows[i].private)
			assert_string_equal(err.message,
			    "holds keys and is open to others; run: chmod 600 private");
	}
	struct error err = ERROR_INIT;
	assert_int_equal(file_check_private(-1, "private", &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loads_what_was_written),
		cmocka_unit_test(load_fails_by_name),
		cmocka_unit_test(waits_on_non_blocking),
		cmocka_unit_test(read_and_write_fail_with_errno),
		cmocka_unit_test(makes_directories),
		cmocka_unit_test(paths_lie_within),
		cmocka_unit_test(paths),
		cmocka_unit_test(interpreters),
		cmocka_unit_test(climbs),
		cmocka_unit_test(normal_paths),
		cmocka_unit_test(searches_for_what_can_run),
		cmocka_unit_test(replaces_at_once),
		cmocka_unit_test(replacement_leaves_nothing_behind),
		cmocka_unit_test(a_device_is_written_to_as_it_is),
		cmocka_unit_test(config_and_data_are_where_the_user_says),
		cmocka_unit_test(private_files_are_closed_to_others),
	};

	umask(022);
	return cmocka_run_group_tests_name("io/file", tests, enter, leave);
}
