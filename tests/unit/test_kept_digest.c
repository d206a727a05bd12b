/* run/kept_digest: what is kept of which file, when, and that it is what the file held. */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "storage/kept_digest.h"

#define TELLS_AFTER_MS 2500
#define SIZE 4096
#define ROUNDS 300

static char directory[] = "/tmp/awf-digest-XXXXXX";
static char a_sha256[DIGEST_SIZE], b_sha256[DIGEST_SIZE];
static char zeros[DIGEST_SIZE];
static int64_t made; /* when a was, ms */

static void
put(const char *path, char byte)
{
	char bytes[SIZE];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	memset(bytes, byte, sizeof bytes);
	assert_int_equal(write(fd, bytes, sizeof bytes), sizeof bytes);
	assert_int_equal(close(fd), 0);
}

static int
enter(void **state)
{
	char bytes[SIZE];

	(void)state;
	memset(zeros, '0', sizeof zeros - 1);
	if (mkdtemp(directory) == NULL || chdir(directory) != 0 || mkdir("run", 0700) != 0)
		return -1;
	put("a", 'a');
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

/* Root's, for as long as this machine has been, in a directory that is root's. */
static void
what_root_alone_can_write_is_read_once(void **state)
{
	char sha256[DIGEST_SIZE], own[DIGEST_SIZE], other[DIGEST_SIZE], link[300], text[DIGEST_SIZE];

	(void)state;
	assert_int_equal(digest(NULL, "/bin/sh", own), 0);
	assert_int_equal(take_links(link, text), 0);
	assert_int_equal(digest("run", "/bin/sh", sha256), 0);
	assert_string_equal(sha256, own);
	assert_int_equal(take_links(link, text), 1);
	assert_string_equal(text, own);
	/* What is kept is what is told; of no other file. */
	assert_int_equal(symlink(zeros, link), 0);
	assert_int_equal(digest("run", "/bin/sh", sha256), 0);
	assert_string_equal(sha256, zeros);
	assert_int_equal(digest(NULL, "/bin/cat", other), 0);
	assert_int_equal(digest("run", "/bin/cat", sha256), 0);
	assert_string_equal(sha256, other);
	take_links(link, text);
}

/* Who has a file in memory gives it other contents, and its size, times and inode stay. */
static void
what_this_user_may_write_is_read_each_time(void **state)
{
	char sha256[DIGEST_SIZE], link[300], text[DIGEST_SIZE];
	struct stat was, is;
	char *memory;
	int fd = open("a", O_RDWR);

	(void)state;
	memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	memory[0] = 'a'; /* from here on the memory is written without a word to the file system */
	sleep_until(made + TELLS_AFTER_MS + 100);
	assert_int_equal(fstat(fd, &was), 0);
	assert_int_equal(digest("run", "a", sha256), 0);
	assert_string_equal(sha256, a_sha256);
	assert_int_equal(take_links(link, text), 0);
	memset(memory, 'b', SIZE);
	assert_int_equal(digest("run", "a", sha256), 0);
	assert_string_equal(sha256, b_sha256);
	assert_int_equal(fstat(fd, &is), 0);
	if (is.st_ctim.tv_nsec != was.st_ctim.tv_nsec)
		print_message("the memory was written to disk meanwhile: nothing was tried\n");
	assert_int_equal(munmap(memory, SIZE), 0);
	close(fd);
}

/* As this user, or as one who is not root: "PATH tells". */
static void
tells(const char *path, bool wanted)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	if (kept_digest_state_tells(path, &st) != wanted)
		fail_msg("%s: %s", path, wanted ? "does not tell" : "tells");
}

static void
the_state_tells_of_what_root_alone_can_write(void **state)
{
	int status;
	struct stat other;
	pid_t pid;

	(void)state;
	assert_int_equal(symlink("/bin/sh", "link"), 0);
	tells("/bin/sh", true);
	tells("link", true);
	tells("a", false);
	tells("/bin", false);
	tells("/dev/null", false);
	/* What the path leads to is another one by now. */
	assert_int_equal(stat("/bin/cat", &other), 0);
	assert_false(kept_digest_state_tells("/bin/sh", &other));
	assert_false(kept_digest_state_tells("none", &other));
	if (geteuid() != 0)
		return;
	/* Root can write all, and believes the system's programs alone; others believe root, but for
	 * what lies where more may write. */
	tells("/etc/passwd", false);
	assert_int_equal(chmod(directory, 0755), 0);
	put("roots", 'r');
	assert_int_equal(chmod("roots", 0644), 0);
	pid = fork();
	if (pid == 0) {
		if (seteuid(65534) != 0)
			_exit(9);
		tells("/bin/sh", true);
		tells("/etc/passwd", true);
		tells("roots", false); /* in /tmp */
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void
the_state_is_another_one_after_any_change_that_shows(void **state)
{
	struct buffer was = BUFFER_INIT, is = BUFFER_INIT;
	struct stat st;

	(void)state;
	put("changed", 'a');
	assert_int_equal(stat("changed", &st), 0);
	kept_digest_state(&st, &was);
	usleep(20000);
	assert_int_equal(chmod("changed", 0640), 0);
	assert_int_equal(stat("changed", &st), 0);
	kept_digest_state(&st, &is);
	assert_string_not_equal(was.data, is.data);
	buffer_free(&was);
	buffer_free(&is);
}

/* They are kept as one, for this text and all of these states, which tell all. */
static void
several_files_have_one_digest(void **state)
{
	static const char *const all[] = { "/bin/cat", "/bin/sh", NULL },
	    *const fewer[] = { "/bin/cat", NULL }, *const mixed[] = { "/bin/sh", "a", NULL };
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
	assert_int_equal(digest_of_files("run", span_of("x", 1), mixed, sha256, &failed), 0);
	assert_int_equal(take_links(link, text), 0);
}

static void
what_is_changed_while_it_is_read_is_not_kept(void **state)
{
	struct digest_reading r;

	(void)state;
	assert_int_equal(digest_reading_begin(&r, "/bin/sh"), 0);
	assert_true(digest_reading_end(&r));
	/* Nor what may be at any time; as if it told here. */
	for (int change = 0; change < 2; change++) {
		assert_int_equal(digest_reading_begin(&r, "a"), 0);
		assert_false(r.tells);
		r.tells = true;
		if (change)
			put("a", 'c');
		assert_int_equal(digest_reading_end(&r), !change);
	}
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

/* A name leads to one file, and then to another: what is kept of either is its own. (Nothing is
 * kept if it led elsewhere meanwhile.) */
static void
a_file_that_is_exchanged_keeps_its_own(void **state)
{
	static const char *const files[] = { "/bin/sh", "/bin/cat" };
	char sha256[DIGEST_SIZE], own[COUNT(files)][DIGEST_SIZE], link[300], text[DIGEST_SIZE];
	volatile int stop = 0;
	pthread_t thread;
	size_t kept = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(files); i++)
		assert_int_equal(digest(NULL, files[i], own[i]), 0);
	assert_int_equal(symlink(files[0], "flipping"), 0);
	assert_int_equal(pthread_create(&thread, NULL, flip, (void *)(uintptr_t)&stop), 0);
	for (int round = 0; round < ROUNDS; round++) {
		assert_int_equal(digest("run", "flipping", sha256), 0);
		if (take_links(link, text) == 0)
			continue;
		kept++;
		assert_int_equal(symlink(text, link), 0);
		for (size_t i = 0; i < COUNT(files); i++) {
			assert_int_equal(digest("run", files[i], sha256), 0);
			assert_string_equal(sha256, own[i]);
		}
		take_links(link, text);
	}
	stop = 1;
	pthread_join(thread, NULL);
	assert_true(kept > 0);
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
		cmocka_unit_test(what_root_alone_can_write_is_read_once),
		cmocka_unit_test(what_this_user_may_write_is_read_each_time),
		cmocka_unit_test(the_state_tells_of_what_root_alone_can_write),
		cmocka_unit_test(the_state_is_another_one_after_any_change_that_shows),
		cmocka_unit_test(several_files_have_one_digest),
		cmocka_unit_test(what_is_changed_while_it_is_read_is_not_kept),
		cmocka_unit_test(a_file_that_is_exchanged_keeps_its_own),
		cmocka_unit_test(what_is_no_file_has_none),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
