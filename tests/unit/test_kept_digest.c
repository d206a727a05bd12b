/* run/kept_digest: what is kept of which file, when, and that it is what the file held. */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/kept_digest.h"

#define KEPT_AFTER_MS 2500
#define ROUNDS 300

static char directory[] = "/tmp/awf-digest-XXXXXX";
static char a_sha256[DIGEST_SIZE], b_sha256[DIGEST_SIZE];
static char zeros[DIGEST_SIZE];
static int64_t made; /* when a and b were, ms */

static void
put(const char *path, char byte)
{
	char bytes[4096];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	memset(bytes, byte, sizeof bytes);
	assert_int_equal(write(fd, bytes, sizeof bytes), sizeof bytes);
	assert_int_equal(close(fd), 0);
}

static int
enter(void **state)
{
	char bytes[4096];

	(void)state;
	memset(zeros, '0', sizeof zeros - 1);
	if (mkdtemp(directory) == NULL || chdir(directory) != 0 || mkdir("run", 0700) != 0)
		return -1;
	put("a", 'a');
	put("b", 'b');
	made = clock_monotonic();
	digest_sha256(memset(bytes, 'a', sizeof bytes), sizeof bytes, a_sha256);
	digest_sha256(memset(bytes, 'b', sizeof bytes), sizeof bytes, b_sha256);
	return 0;
}

static int
leave(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof command, "rm -r %s", directory);
	return chdir("/") != 0 || system(command) != 0 ? -1 : 0;
}

/* How many links there are in the run's directory, which ends without any; the last of them. */
static size_t
take_links(char link[300], char text[DIGEST_SIZE])
{
	DIR *names = opendir("run");
	const struct dirent *name;
	size_t count = 0;

	memset(text, 0, DIGEST_SIZE);
	while ((name = readdir(names)) != NULL)
		if (name->d_name[0] != '.') {
			snprintf(link, 300, "run/%s", name->d_name);
			assert_int_equal(readlink(link, text, DIGEST_SIZE), DIGEST_SIZE - 1);
			text[DIGEST_SIZE - 1] = '\0';
			assert_int_equal(unlink(link), 0);
			count++;
		}
	closedir(names);
	return count;
}

static void
sleep_until(int64_t ms)
{
	while (clock_monotonic() < ms)
		usleep(1000);
}

/* Of one file alone. */
static int
digest(const char *run, const char *path, char sha256[DIGEST_SIZE])
{
	const char *const paths[] = { path, NULL }, *failed = NULL;
	int result = digest_of_files(run, span_of("", 0), paths, sha256, &failed);

	if (result == -1)
		assert_string_equal(failed, path);
	return result;
}

/* A file that was changed just now could change again and look as it did, whatever its other
 * times say. */
static void
what_was_changed_just_now_is_read_again(void **state)
{
	const struct timespec past[2] = { { 1, 0 }, { 1, 0 } };
	char sha256[DIGEST_SIZE], link[300], text[DIGEST_SIZE];

	(void)state;
	put("new", 'a');
	assert_int_equal(utimensat(AT_FDCWD, "new", past, 0), 0);
	assert_int_equal(digest("run", "new", sha256), 0);
	assert_string_equal(sha256, a_sha256);
	assert_int_equal(take_links(link, text), 0);
	put("new", 'b');
	assert_int_equal(utimensat(AT_FDCWD, "new", past, 0), 0);
	assert_int_equal(digest("run", "new", sha256), 0);
	assert_string_equal(sha256, b_sha256);
	/* Nor a while later, as clocks of some file systems count seconds, or two. */
	sleep_until(made + KEPT_AFTER_MS - 500);
	assert_int_equal(digest("run", "a", sha256), 0);
	assert_int_equal(take_links(link, text), 0);
}

static void
an_old_file_is_read_once(void **state)
{
	char sha256[DIGEST_SIZE], link[300], text[DIGEST_SIZE];

	(void)state;
	sleep_until(made + KEPT_AFTER_MS + 100);
	assert_int_equal(digest(NULL, "a", sha256), 0);
	assert_string_equal(sha256, a_sha256);
	assert_int_equal(take_links(link, text), 0);
	assert_int_equal(digest("run", "a", sha256), 0);
	assert_string_equal(sha256, a_sha256);
	assert_int_equal(take_links(link, text), 1);
	assert_string_equal(text, a_sha256);
	/* What is kept is what is told. */
	assert_int_equal(symlink(zeros, link), 0);
	assert_int_equal(digest("run", "a", sha256), 0);
	assert_string_equal(sha256, zeros);
	/* Of no other file, nor of one whose mode or owner was changed, which may be another. */
	assert_int_equal(digest("run", "b", sha256), 0);
	assert_string_equal(sha256, b_sha256);
	assert_int_equal(chmod("a", 0640), 0);
	assert_int_equal(digest("run", "a", sha256), 0);
	assert_string_equal(sha256, a_sha256);
	take_links(link, text);
}

/* They are kept as one, for this text and all of these states. */
static void
several_files_have_one_digest(void **state)
{
	static const char *const all[] = { "b", "/bin/sh", NULL }, *const fewer[] = { "b", NULL };
	const struct { const char *text; const char *const *paths; bool found; } rows[] = {
		{ "x", all, true }, { "y", all, false }, { "x", fewer, false },
	};
	char sha256[DIGEST_SIZE], computed[DIGEST_SIZE], link[300], text[DIGEST_SIZE];
	const char *failed;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(digest_of_files("run", span_of("x", 1), all, sha256, &failed), 0);
		assert_int_equal(take_links(link, text), 1);
		assert_string_equal(text, sha256);
		assert_int_equal(symlink(zeros, link), 0);
		assert_int_equal(digest_of_files(NULL, span_of(rows[i].text, 1), rows[i].paths, computed,
		    &failed), 0);
		assert_int_equal(digest_of_files("run", span_of(rows[i].text, 1), rows[i].paths, sha256,
		    &failed), 0);
		assert_string_equal(sha256, rows[i].found ? zeros : computed);
		take_links(link, text);
	}
}

static void
what_is_changed_while_it_is_read_is_not_kept(void **state)
{
	struct digest_reading r;

	(void)state;
	assert_int_equal(digest_reading_begin(&r, "b"), 0);
	assert_true(digest_reading_end(&r));
	assert_int_equal(digest_reading_begin(&r, "b"), 0);
	put("b", 'c');
	assert_false(digest_reading_end(&r));
}

static void *
flip(void *arg)
{
	const volatile int *stop = arg;

	while (!*stop)
		for (const char *target = "/bin/sh"; target != NULL;
		    target = strcmp(target, "/bin/sh") == 0 ? "/bin/cat" : NULL) {
			(void)!symlink(target, "next");
			(void)!rename("next", "flipping");
		}
	return NULL;
}

/* A name leads to one file, and then to another: what is kept of either is its own. */
static void
a_file_that_is_exchanged_keeps_its_own(void **state)
{
	static const char *const files[] = { "/bin/sh", "/bin/cat" };
	char sha256[DIGEST_SIZE], own[COUNT(files)][DIGEST_SIZE], link[300], text[DIGEST_SIZE];
	volatile int stop = 0;
	pthread_t thread;

	(void)state;
	for (size_t i = 0; i < COUNT(files); i++)
		assert_int_equal(digest(NULL, files[i], own[i]), 0);
	assert_int_equal(symlink(files[0], "flipping"), 0);
	assert_int_equal(pthread_create(&thread, NULL, flip, (void *)(uintptr_t)&stop), 0);
	for (int round = 0; round < ROUNDS; round++) {
		assert_int_equal(digest("run", "flipping", sha256), 0);
		assert_int_equal(take_links(link, text), 1);
		assert_int_equal(symlink(text, link), 0);
		for (size_t i = 0; i < COUNT(files); i++) {
			assert_int_equal(digest("run", files[i], sha256), 0);
			assert_string_equal(sha256, own[i]);
		}
		take_links(link, text);
	}
	stop = 1;
	pthread_join(thread, NULL);
}

static void
what_is_no_file_has_none(void **state)
{
	static const char *const paths[] = { "none", "run", "pipe" };
	char sha256[DIGEST_SIZE];

	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	for (size_t i = 0; i < COUNT(paths); i++) {
		errno = 0;
		assert_int_equal(digest("run", paths[i], sha256), -1);
		assert_int_not_equal(errno, 0);
	}
	/* A run's directory that is gone keeps nothing, and is no error. */
	assert_int_equal(digest("gone", "/bin/sh", sha256), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_changed_just_now_is_read_again),
		cmocka_unit_test(an_old_file_is_read_once),
		cmocka_unit_test(several_files_have_one_digest),
		cmocka_unit_test(what_is_changed_while_it_is_read_is_not_kept),
		cmocka_unit_test(a_file_that_is_exchanged_keeps_its_own),
		cmocka_unit_test(what_is_no_file_has_none),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
