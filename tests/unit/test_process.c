/* proc/process: descriptors, signals, PATH, and how a start fails. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "io/file.h"
#include "proc/process.h"

static char directory[] = "/tmp/awf-process-XXXXXX";

static struct process_spec
spec_of(char *const *argv)
{
	return (struct process_spec){ .argv = argv, .in = PROCESS_NULL,
		.out = PROCESS_PIPE, .err = PROCESS_INHERIT };
}

static void
read_all(int fd, struct buffer *out)
{
	struct pollfd poll_fd = { fd, POLLIN, 0 };
	char bytes[512];
	ssize_t got;

	while (poll(&poll_fd, 1, 10000) == 1) {
		got = read(fd, bytes, sizeof bytes);
		if (got == 0)
			return;
		if (got > 0)
			buffer_append(out, bytes, (size_t)got);
	}
	fail_msg("the child neither wrote nor closed its stdout");
}

static int
end_of(struct process *p)
{
	int status;

	assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
	if (p->out >= 0)
		close(p->out);
	return process_exit_code(status);
}

/* Runs to the end; out gets its stdout. */
static int
run(const struct process_spec *spec, struct buffer *out)
{
	struct process p;
	struct error err = ERROR_INIT;

	assert_int_equal(process_start(&p, spec, NULL, &err), 0);
	read_all(p.out, out);
	return end_of(&p);
}

static void
expect_output(const struct process_spec *spec, const char *want)
{
	struct buffer out = BUFFER_INIT;

	assert_int_equal(run(spec, &out), 0);
	assert_string_equal(buffer_string(&out), want);
	buffer_free(&out);
}

static void
make_file(const char *name, const char *text, mode_t mode)
{
	char *path = path_join(directory, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(file_write(fd, text, strlen(text)), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	free(path);
}

static void
test_start_fails(void **state)
{
	static const struct {
		const char *program;
		const char *directory;
		int exit_code, reason;
		const char *message;
	} cases[] = {
		{ "no-such-program-here", NULL, 127, ENOENT, "command not found" },
		{ "./no/such/file", "/", 127, ENOENT, "no such file in the directory that it starts in" },
		{ "/no/such/file", "/", 127, ENOENT, "no such file" },
		{ "bad-interpreter", NULL, 127, ENOENT, "the interpreter that it names (#!) is not there" },
		{ "", NULL, 127, ENOENT, "command not found" },
		{ "/etc/passwd", NULL, 126, EACCES,
		  "unable to run: no x permission (chmod +x makes it a program)" },
		{ "/tmp", NULL, 126, EACCES, "unable to run: it is a directory" },
		{ "not-executable", NULL, 126, EACCES, "unable to run: Permission denied" },
		{ "true", "/no/such/directory", 126, ENOENT,
		  "unable to change to this directory: No such file or directory" },
	};
	char *list = NULL;

	(void)state;
	list = memory_format("PATH=%s:/usr/bin:/bin", directory);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char *argv[] = { (char *)(uintptr_t)cases[i].program, NULL };
		char *environment[] = { list, NULL };
		struct process_spec spec = spec_of(argv);
		struct process p;
		struct error err = ERROR_INIT;
		int exit_code = -1;

		spec.environment = environment;
		spec.directory = cases[i].directory;
		errno = 0;
		assert_int_equal(process_start(&p, &spec, &exit_code, &err), -1);
		assert_int_equal(errno, cases[i].reason);
		assert_int_equal(exit_code, cases[i].exit_code);
		assert_string_equal(err.message, cases[i].message);
		assert_int_equal(err.code, ERROR_EXIT_STATUS);
		assert_int_equal(p.pid, -1);
		assert_int_equal(p.out, -1);
	}
	free(list);
}

static void
test_failed_start_leaks_nothing(void **state)
{
	char *argv[] = { (char *)(uintptr_t)"/no/such/file", NULL };
	struct process_spec spec = spec_of(argv);
	struct process p;
	int before, after;

	(void)state;
	before = dup(0);
	close(before);
	spec.in = PROCESS_PIPE;
	spec.err = PROCESS_PIPE;
	assert_int_equal(process_start(&p, &spec, NULL, NULL), -1);
	after = dup(0);
	close(after);
	assert_int_equal(before, after);
}

static void
test_path_is_the_childs(void **state)
{
	char *argv[] = { (char *)(uintptr_t)"only-here", (char *)(uintptr_t)"x", NULL };
	char *environment[2] = { NULL, NULL };
	struct process_spec spec = spec_of(argv);
	struct process p;

	(void)state;
	assert_int_equal(process_start(&p, &spec, NULL, NULL), -1);
	environment[0] = memory_format("PATH=/nowhere:%s", directory);
	spec.environment = environment;
	expect_output(&spec, "here x\n");
	free(environment[0]);
}

/* What lies in the workspace is not run by its name alone. */
static void
test_empty_elements_of_path_mean_nothing(void **state)
{
	char *argv[] = { (char *)(uintptr_t)"only-here", NULL };
	char *list = (char *)(uintptr_t)"PATH=:/nowhere::/usr/bin:", *environment[2] = { list, NULL };
	struct process_spec spec = spec_of(argv);
	struct process p;
	int exit_code, here = open(".", O_RDONLY | O_CLOEXEC);

	(void)state;
	spec.environment = environment;
	assert_int_equal(chdir(directory), 0);
	assert_int_equal(process_start(&p, &spec, &exit_code, NULL), -1);
	assert_int_equal(exit_code, PROCESS_NOT_FOUND);
	assert_int_equal(fchdir(here), 0);
	close(here);
}

static void
test_file_without_interpreter_goes_to_sh(void **state)
{
	char *argv[] = { path_join(directory, "plain"), (char *)(uintptr_t)"a b", NULL };
	struct process_spec spec = spec_of(argv);

	(void)state;
	expect_output(&spec, "plain a b\n");
	free(argv[0]);
}

#define SHELL(text) { (char *)(uintptr_t)"sh", (char *)(uintptr_t)"-c", \
	(char *)(uintptr_t)(text), NULL }

static void
test_descriptors(void **state)
{
	char *argv[] = SHELL("test -e /dev/fd/9 && echo nine; test -e /dev/fd/8 && echo eight; :");
	struct process_spec spec = spec_of(argv);
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(dup2(fd, 9), 9);
	assert_int_equal(fcntl(fd, F_DUPFD_CLOEXEC, 8), 8);
	expect_output(&spec, "");
	spec.inherit = true;
	expect_output(&spec, "nine\n");
	close(8);
	close(9);
	close(fd);
}

/* stdin, stdout and stderr changed round must not overwrite each other. */
static void
test_crossed_descriptors(void **state)
{
	char *argv[] = SHELL("echo out; echo err >&2; read x; echo $x");
	struct process_spec spec = spec_of(argv);
	struct process p;
	struct buffer out = BUFFER_INIT;
	int saved = fcntl(0, F_DUPFD_CLOEXEC, 3), ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(dup2(ends[1], 0), 0);
	close(ends[1]);
	spec.in = PROCESS_PIPE;
	spec.out = PROCESS_NULL;
	spec.err = 0;
	assert_int_equal(process_start(&p, &spec, NULL, NULL), 0);
	dup2(saved, 0);
	close(saved);
	assert_int_equal(write(p.in, "in\n", 3), 3);
	close(p.in);
	read_all(ends[0], &out);
	assert_string_equal(buffer_string(&out), "err\n");
	assert_int_equal(end_of(&p), 0);
	close(ends[0]);
	buffer_free(&out);
}

static void
test_signals(void **state)
{
	/* 32 and 33 belong to the C library. */
	char *argv[] = SHELL("while read key value; do case $key in SigBlk: | SigIgn:)"
	    " echo $key $((0x$value & 0x7ffffffe7fffffff));; esac; done </proc/self/status");
	struct process_spec spec = spec_of(argv);
	sigset_t all, old;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	/* SIGHUP alone stays ignored, as nohup wants. */
	expect_output(&spec, "SigBlk: 0\nSigIgn: 1\n");
	sigprocmask(SIG_SETMASK, &old, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
}

static void
test_group(void **state)
{
	char *argv[] = { (char *)(uintptr_t)"sleep", (char *)(uintptr_t)"60", NULL };
	struct process_spec spec = spec_of(argv);
	struct process p;

	(void)state;
	assert_int_equal(process_start(&p, &spec, NULL, NULL), 0);
	assert_int_equal(getpgid(p.pid), getpgrp());
	kill(p.pid, SIGKILL);
	assert_int_equal(end_of(&p), 128 + SIGKILL);
	spec.group = true;
	assert_int_equal(process_start(&p, &spec, NULL, NULL), 0);
	assert_int_equal(getpgid(p.pid), p.pid);
	kill(-p.pid, SIGKILL);
	assert_int_equal(end_of(&p), 128 + SIGKILL);
}

static void
test_status_text(void **state)
{
	char text[64];

	(void)state;
	assert_string_equal(process_status_text(3 << 8, text, sizeof text), "exit status 3");
	assert_string_equal(process_status_text(9, text, sizeof text),
	    "killed by signal 9 (Killed)");
	assert_int_equal(process_exit_code(3 << 8), 3);
	assert_int_equal(process_exit_code(9), 137);
}

static int
make_files(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(directory));
	make_file("only-here", "#!/bin/sh\necho here $1\n", 0755);
	make_file("plain", "echo plain \"$1\"\n", 0755);
	make_file("not-executable", "", 0644);
	make_file("bad-interpreter", "#!/no/such/interpreter\n", 0755);
	return 0;
}

static void
test_birth(void **state)
{
	int64_t ours = process_birth(getpid());
	siginfo_t gone;
	pid_t pid;

	(void)state;
	assert_true(ours > 0);
	assert_int_equal(process_birth(getpid()), ours);
	pid = fork();
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &gone, WEXITED | WNOWAIT), 0);
	assert_int_equal(process_birth(pid), -1); /* nobody has waited for it */
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(process_birth(pid), -1);
}

static int
remove_files(void **state)
{
	char *command = NULL;
	int status;

	(void)state;
	command = memory_format("rm -rf %s", directory);
	status = system(command);
	free(command);
	return status;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start_fails),
		cmocka_unit_test(test_failed_start_leaks_nothing),
		cmocka_unit_test(test_path_is_the_childs),
		cmocka_unit_test(test_empty_elements_of_path_mean_nothing),
		cmocka_unit_test(test_file_without_interpreter_goes_to_sh),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_crossed_descriptors),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_group),
		cmocka_unit_test(test_status_text),
		cmocka_unit_test(test_birth),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
