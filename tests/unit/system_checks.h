/*
 * What lib/system promises, checked for each way in which it is built: as here (test_system.c), as with the
 * oldest C library (test_system_oldest.c), and as where nothing is but POSIX (test_system_portable.c). The
 * two latter include the sources, so that all of the library that they link uses theirs.
 */
#ifndef AWF_TESTS_SYSTEM_CHECKS_H
#define AWF_TESTS_SYSTEM_CHECKS_H

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/polling.h"
#include "proc/process.h"
#include "system/descriptor.h"
#include "system/file_status.h"

#define CLOSE_RANGE 436

static void
assert_closes(int fd)
{
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
}

static void
descriptors_close_at_exec(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(sa_family_t);
	int ends[2], listener, client, fd;

	(void)state;
	assert_int_equal(descriptor_pipe(ends), 0);
	for (int i = 0; i < 2; i++) {
		assert_closes(ends[i]);
		close(ends[i]);
	}
	assert_int_equal(descriptor_socket_pair(AF_UNIX, SOCK_STREAM, ends), 0);
	for (int i = 0; i < 2; i++) {
		assert_closes(ends[i]);
		close(ends[i]);
	}

	listener = descriptor_socket(AF_UNIX, SOCK_STREAM);
	client = descriptor_socket(AF_UNIX, SOCK_STREAM);
	assert_closes(listener);
	/* With a name of the kernel's. */
	assert_int_equal(bind(listener, (struct sockaddr *)&address, len), 0);
	len = sizeof address;
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(connect(client, (struct sockaddr *)&address, len), 0);
	fd = descriptor_accept(listener);
	assert_closes(fd);
	assert_true((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
	assert_true((fcntl(client, F_GETFL) & O_NONBLOCK) == 0);
	assert_int_equal(descriptor_unblock(client), 0);
	assert_true((fcntl(client, F_GETFL) & O_NONBLOCK) != 0);
	close(fd);
	close(client);
	close(listener);
}

static void
an_unnamed_file_has_no_name(void **state)
{
	int fd = descriptor_unnamed("test");
	char text[8];
	struct stat st;

	(void)state;
	assert_closes(fd);
	assert_int_equal(write(fd, "text", 4), 4);
	assert_int_equal(pread(fd, text, sizeof text, 0), 4);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_nlink, 0);
	close(fd);
}

static void
a_look_into_a_pipe_takes_nothing(void **state)
{
	char text[8] = "";
	int ends[2];
	ssize_t got;

	(void)state;
	assert_int_equal(descriptor_pipe(ends), 0);
	assert_int_equal(write(ends[1], "abc", 3), 3);
	got = descriptor_peek(ends[0], text, sizeof text);
	if (got == -1)
		assert_int_equal(errno, ENOSYS);
	else
		assert_string_equal(text, "abc");
	assert_int_equal(read(ends[0], text, sizeof text), 3);
	close(ends[0]);
	close(ends[1]);
}

/* As on a kernel that does not have the call. */
static int
take_away(unsigned number)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof filter / sizeof *filter, filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ? -1 :
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* In a process of its own: which descriptor is wrongly open or closed, or 0. */
static int
closes_from(int first)
{
	static const int opened[] = { 20, 21, 40, 300, 900 };

	for (size_t i = 0; i < COUNT(opened); i++)
		if (dup2(STDOUT_FILENO, opened[i]) == -1)
			return 1;
	descriptor_close_from(first);
	for (size_t i = 0; i < COUNT(opened); i++)
		if ((fcntl(opened[i], F_GETFD) == -1) != (opened[i] >= first))
			return 2 + (int)i;
	return fcntl(STDERR_FILENO, F_GETFD) == -1 ? 99 : 0;
}

static void
all_from_one_on_are_closed(void **state)
{
	(void)state;
	for (int without = 0; without < 2; without++) {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			_exit(without && take_away(CLOSE_RANGE) != 0 ? 98 : closes_from(21));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

/* What a program says that is started with these descriptors. */
static void
started_says(const char *script, const char *directory, bool session, bool inherit, char text[64])
{
	char shell[] = "/bin/sh", option[] = "-c", words[256];
	char *argv[] = { shell, option, words, NULL };
	const struct process_spec spec = { .argv = argv, .directory = directory, .in = PROCESS_NULL,
		.out = PROCESS_PIPE, .err = PROCESS_INHERIT, .session = session, .inherit = inherit };
	struct error err = ERROR_INIT;
	struct process p;
	size_t len = 0;
	ssize_t got;
	int status;

	snprintf(words, sizeof words, "%s", script);
	assert_int_equal(process_start(&p, &spec, &status, &err), 0);
	assert_int_equal(waitpid(p.pid, &status, 0), p.pid);
	assert_int_equal(status, 0);
	while ((got = read(p.out, text + len, 63 - len)) > 0)
		len += (size_t)got;
	text[len] = '\0';
	close(p.out);
}

static void
a_program_gets_what_it_should_have(void **state)
{
	const char *open = "if [ -e /proc/self/fd/77 ]; then echo open; else echo closed; fi";
	char text[64];

	(void)state;
	assert_int_equal(dup2(STDERR_FILENO, 77), 77);
	started_says(open, NULL, false, false, text);
	assert_string_equal(text, "closed\n");
	started_says(open, NULL, false, true, text);
	assert_string_equal(text, "open\n");
	close(77);
	started_says("pwd", "/proc", false, false, text);
	assert_string_equal(text, "/proc\n");
	/* Field 6 of stat(5) is the session. */
	started_says("read -r pid name state parent group session rest </proc/self/stat; test $session = $$ && echo own",
	    NULL, true, false, text);
	assert_string_equal(text, "own\n");
}

static void
the_status_is_that_of_the_file(void **state)
{
	char path[] = "/tmp/awf-test-XXXXXX";
	int fd = mkstemp(path), directory = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct file_status s, of_open;
	struct stat st;

	(void)state;
	assert_true(fd != -1 && directory != -1);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(file_status_read(directory, path + 5, false, &s), 0);
	assert_int_equal(file_status_read(fd, "", true, &of_open), 0);
	for (int i = 0; i < 2; i++, s = of_open) {
		assert_true(s.inode == st.st_ino && s.mode == st.st_mode && s.owner == st.st_uid && s.links == 1);
		assert_true(s.written.tv_sec == st.st_mtim.tv_sec && s.written.tv_nsec == st.st_mtim.tv_nsec);
		assert_true(s.changed.tv_sec == st.st_ctim.tv_sec && s.changed.tv_nsec == st.st_ctim.tv_nsec);
		assert_true(!s.born || (s.birth.tv_sec > st.st_ctim.tv_sec - 60 && s.birth.tv_sec <= st.st_ctim.tv_sec));
	}
	unlink(path);
	assert_int_equal(file_status_read(directory, path + 5, false, &s), -1);
	assert_int_equal(errno, ENOENT);
	close(fd);
	close(directory);
}

static volatile sig_atomic_t caught;

static void
catch_signal(int number)
{
	caught = number;
}

/* A signal that only the wait lets through ends it, and so does the deadline; what is ready is told. */
static void
waits_end(void **state)
{
	const struct sigaction action = { .sa_handler = catch_signal };
	struct pollfd one = { .events = POLLIN };
	int64_t began;
	sigset_t blocked, during;
	int ends[2];

	(void)state;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	assert_int_equal(sigprocmask(SIG_BLOCK, &blocked, &during), 0);
	raise(SIGUSR1);
	assert_int_equal(caught, 0);
	assert_int_equal(poll_unblocked(NULL, 0, 0, &during), 0);
	assert_int_equal(caught, SIGUSR1);
	sigprocmask(SIG_SETMASK, &during, NULL);

	began = clock_monotonic();
	assert_int_equal(poll_until(NULL, 0, began + 30), 0);
	assert_true(clock_monotonic() >= began + 29);
	assert_int_equal(descriptor_pipe(ends), 0);
	assert_int_equal(write(ends[1], "a", 1), 1);
	one.fd = ends[0];
	assert_int_equal(poll_unblocked(&one, 1, 0, &during), 1);
	assert_true((one.revents & POLLIN) != 0);
	close(ends[0]);
	close(ends[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptors_close_at_exec),
		cmocka_unit_test(an_unnamed_file_has_no_name),
		cmocka_unit_test(a_look_into_a_pipe_takes_nothing),
		cmocka_unit_test(all_from_one_on_are_closed),
		cmocka_unit_test(a_program_gets_what_it_should_have),
		cmocka_unit_test(the_status_is_that_of_the_file),
		cmocka_unit_test(waits_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
