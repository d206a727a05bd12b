#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/beneath.h"
#include "io/file.h"

#define SWAPS 2000

static char directory[] = "/tmp/awf-test-XXXXXX";

static void
put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(file_write(fd, text, strlen(text)), 0);
	close(fd);
}

/* secret and root/{file, a/{inner, up -> .., out -> ../..}, ...} */
static int
enter(void **state)
{
	(void)state;
	if (!mkdtemp(directory) || chdir(directory) != 0 || mkdir("root", 0700) != 0 ||
	    mkdir("root/a", 0700) != 0 || mkdir("rooted", 0700) != 0)
		return -1;
	put("secret", "secret");
	put("rooted/secret", "secret");
	put("root/file", "file");
	put("root/a/inner", "inner");
	return symlink("..", "root/a/up") != 0 || symlink("../..", "root/a/out") != 0 ||
	    symlink("a/inner", "root/inside") != 0 || symlink("../secret", "root/outside") != 0 ||
	    symlink("/etc/passwd", "root/absolute") != 0 ||
	    symlink("/proc/self/cwd/secret", "root/magic") != 0 ||
	    mkfifo("root/pipe", 0600) != 0 ? -1 : 0;
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

/* What the file holds, or the errno of not getting it. */
static int
get(const char *root, const char *path, char text[16])
{
	struct buffer b = BUFFER_INIT;
	struct error err = ERROR_INIT;
	int why = 0;

	text[0] = '\0';
	if (beneath_load(root, path, 1 << 10, &b, &err) == 0)
		snprintf(text, 16, "%s", buffer_string(&b));
	else
		why = errno;
	assert_int_equal(err.code, why == 0 ? ERROR_NONE : ERROR_INVALID_INPUT);
	buffer_free(&b);
	return why;
}

struct row {
	const char *path, *text;
	int why, why_without; /* the second: where no link is followed */
};

static const struct row rows[] = {
	{ "file", "file", 0, 0 },
	{ "a/inner", "inner", 0, 0 },
	{ "a//./inner", "inner", 0, 0 },
	{ "inside", "inner", 0, ELOOP },
	{ "a/up/file", "file", 0, ELOOP },
	{ "a/../file", "file", 0, EXDEV },
	{ "../secret", "", EXDEV, EXDEV },
	{ "a/../../secret", "", EXDEV, EXDEV },
	{ "outside", "", EXDEV, ELOOP },
	{ "absolute", "", EXDEV, ELOOP },
	{ "a/out/secret", "", EXDEV, ELOOP },
	{ "magic", "", EXDEV, ELOOP },
	{ "/etc/passwd", "", EXDEV, EXDEV },
	{ "pipe", "", EINVAL, EINVAL },
	{ "a", "", EISDIR, EISDIR },
	{ "missing", "", ENOENT, ENOENT },
};

static void
never_leaves_the_root(void **state)
{
	char text[16];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(get("root", rows[i].path, text), rows[i].why);
		assert_string_equal(text, rows[i].text);
		assert_int_equal(beneath_there("root", rows[i].path),
		    rows[i].why != EXDEV && rows[i].why != ENOENT);
	}
}

static void
takes_absolute_paths_below_the_root(void **state)
{
	char *root = path_join(directory, "root"), *path = path_join(root, "a/inner"), text[16];
	char *beside = path_join(directory, "rooted/secret"), *slash = path_join(root, "");

	(void)state;
	assert_int_equal(get(root, path, text), 0);
	assert_string_equal(text, "inner");
	assert_int_equal(get(slash, path, text), 0);
	assert_int_equal(get("/", path, text), 0);
	assert_int_equal(get(root, beside, text), EXDEV);
	assert_string_equal(beneath_part("/r", "/r"), ".");
	assert_string_equal(beneath_part("/r", "/r//a"), "a");
	assert_string_equal(beneath_part("/r", "a"), "a");
	assert_null(beneath_part("/r", "/ra"));
	free(root);
	free(path);
	free(beside);
	free(slash);
}

static void
says_what_is_wrong(void **state)
{
	struct error err = ERROR_INIT;
	struct buffer b = BUFFER_INIT;

	(void)state;
	assert_int_equal(beneath_open_file("root", "outside", &err), -1);
	assert_string_equal(err.place, "outside");
	assert_string_equal(err.message, "leads out of root");
	assert_int_equal(beneath_open_file("nowhere", "file", &err), -1);
	assert_string_equal(err.place, "nowhere");
	assert_int_equal(beneath_load("root", "file", 3, &b, &err), -1);
	assert_int_equal(errno, EFBIG);
	buffer_free(&b);
}

static void *
swap(void *arg)
{
	const volatile int *stop = arg;

	while (!*stop) {
		(void)!rename("root/b", "root/c");
		(void)!symlink("..", "root/b");
		unlink("root/b");
		(void)!rename("root/c", "root/b");
	}
	return NULL;
}

/* b is a directory now, and then a link to where a secret lies. */
static void
is_not_outrun(void **state)
{
	volatile int stop = 0;
	pthread_t thread;
	char text[16];

	(void)state;
	assert_int_equal(mkdir("root/b", 0700), 0);
	put("root/b/secret", "own");
	assert_int_equal(pthread_create(&thread, NULL, swap, (void *)(uintptr_t)&stop), 0);
	for (int i = 0; i < SWAPS; i++) {
		get("root", "b/secret", text);
		assert_string_not_equal(text, "secret");
	}
	stop = 1;
	pthread_join(thread, NULL);
}

/* A kernel, or a seccomp filter, that does not know openat2(). */
static int
take_openat2_away(int error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 437, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof filter / sizeof *filter, filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ? -1 :
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* The number of the first row that is not as it should be. */
static int
differs_without(int error)
{
	char text[16];

	if (take_openat2_away(error) != 0)
		return 99;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *r = &rows[i];

		if (get("root", r->path, text) != r->why_without || beneath_there("root", r->path) !=
		    (r->why_without != ELOOP && r->why_without != EXDEV && r->why_without != ENOENT) ||
		    strcmp(text, r->why_without == 0 ? r->text : "") != 0)
			return (int)i + 1;
	}
	return 0;
}

static void
never_leaves_it_without_openat2(void **state)
{
	const int errors[] = { ENOSYS, EPERM };

	(void)state;
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			_exit(differs_without(errors[i]));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(never_leaves_the_root),
		cmocka_unit_test(takes_absolute_paths_below_the_root),
		cmocka_unit_test(says_what_is_wrong),
		cmocka_unit_test(is_not_outrun),
		cmocka_unit_test(never_leaves_it_without_openat2),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
