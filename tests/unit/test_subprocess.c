/* proc/subprocess: feeding, collecting, deadlines, and that nothing is left running. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/patience.h"
#include "base/text.h"
#include "io/file.h"
#include "proc/descendants.h"
#include "proc/subprocess.h"

static char directory[] = "/tmp/awf-process-XXXXXX";

/* One that is shell text; $1 is the directory of the test. */
struct shell {
	const char *argv[6];
	struct subprocess process;
};

static struct subprocess *
shell_set(struct shell *s, const char *text)
{
	memset(s, 0, sizeof *s);
	s->argv[0] = "/bin/sh";
	s->argv[1] = "-c";
	s->argv[2] = text;
	s->argv[3] = "shell";
	s->argv[4] = directory;
	s->process.argv = (char *const *)(uintptr_t)s->argv;
	return &s->process;
}

static void
run(struct subprocess *b, const struct interrupts *interrupts)
{
	struct error err = ERROR_INIT;

	assert_int_equal(subprocesses_run(b, 1, interrupts, &err), 0);
}

/* Whether the process whose id one wrote to NAME lives. */
static bool
lives(const char *name)
{
	char path[96];
	struct buffer text = BUFFER_INIT;
	struct error err;
	long pid;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	for (int i = 0; i < 200 && access(path, F_OK) != 0; i++)
		usleep(10000);
	assert_int_equal(file_load(path, 100, &text, &err), 0);
	pid = strtol(buffer_string(&text), NULL, 10);
	buffer_free(&text);
	unlink(path);
	assert_true(pid > 1);
	return kill((pid_t)pid, 0) == 0;
}

static void
ends_are_told_apart(void **state)
{
	static const struct {
		const char *text, *input, *output, *errors;
		int exit_code;
		enum error_code code;
		const char *message;
	} rows[] = {
		{ "true", "", "", "", 0, ERROR_NONE, "" },
		{ "cat", "", "", "", 0, ERROR_NONE, "" },
		{ "cat", "some\ninput", "some\ninput", "", 0, ERROR_NONE, "" },
		{ "echo out; echo err >&2; exit 3", "unread", "out\n", "err\n", 3,
		    ERROR_EXIT_STATUS, "exit status 3: err" },
		{ "kill -9 $$", "", "", "", 137, ERROR_EXIT_STATUS, "killed by signal 9 (Killed)" },
		/* closes its pipes, runs on */
		{ "echo x; exec >&- 2>&-; sleep 0.1; exit 4", "", "x\n", "", 4,
		    ERROR_EXIT_STATUS, "exit status 4" },
		/* ends, and leaves the pipe to somebody who still writes */
		{ "(sleep 0.1; echo late) & echo early", "", "early\nlate\n", "", 0, ERROR_NONE, "" },
		{ "exec 0<&-; sleep 0.05; echo done", "unread", "done\n", "", 0, ERROR_NONE, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct shell s;
		struct subprocess *b = shell_set(&s, rows[i].text);

		b->input = rows[i].input;
		b->input_len = strlen(rows[i].input);
		b->quiet = true;
		run(b, NULL);
		assert_string_equal(buffer_string(&b->output), rows[i].output);
		assert_string_equal(buffer_string(&b->errors), rows[i].errors);
		assert_int_equal(b->errors_bytes, strlen(rows[i].errors));
		assert_int_equal(b->exit_code, rows[i].exit_code);
		assert_int_equal(b->error.code, rows[i].code);
		assert_string_equal(b->error.message, rows[i].message);
		subprocess_free(b);
	}
}

static void
what_cannot_run_says_so(void **state)
{
	static const struct { const char *program; int exit_code; const char *message; } rows[] = {
		{ "awf-no-such-program", 127, "command not found" },
		{ "/awf/no/such/program", 127, "no such file" },
		{ "/etc", 126, "unable to run: it is a directory" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const char *argv[] = { rows[i].program, NULL };
		struct subprocess b = { .argv = (char *const *)(uintptr_t)argv };

		run(&b, NULL);
		assert_int_equal(b.error.code, ERROR_EXIT_STATUS);
		assert_string_equal(b.error.place, rows[i].program);
		assert_string_equal(b.error.message, rows[i].message);
		assert_int_equal(b.exit_code, rows[i].exit_code);
		subprocess_free(&b);
	}
}

static void
much_goes_through_at_once(void **state)
{
	struct shell s;
	struct subprocess *b = shell_set(&s, "exec cat");
	size_t len = (size_t)100 << 20;
	char *input = malloc(len);

	(void)state;
	assert_non_null(input);
	for (size_t i = 0; i < len; i++)
		input[i] = (char)(i * 31 >> 7);
	b->input = input;
	b->input_len = len;
	run(b, NULL);
	assert_int_equal(b->error.code, ERROR_NONE);
	assert_int_equal(b->output.len, len);
	assert_int_equal(memcmp(b->output.data, input, len), 0);
	subprocess_free(b);
	free(input);
}

static void
input_need_not_be_read(void **state)
{
	static char input[1 << 20];
	struct shell s;
	struct subprocess *b = shell_set(&s, "head -c 3; echo");

	(void)state;
	memset(input, 'x', sizeof input);
	b->input = input;
	b->input_len = sizeof input;
	run(b, NULL);
	assert_int_equal(b->error.code, ERROR_NONE);
	assert_string_equal(buffer_string(&b->output), "xxx\n");
	subprocess_free(b);
}

static void
too_much_output_ends_it(void **state)
{
	struct shell s;
	struct subprocess *b = shell_set(&s, "exec yes");

	(void)state;
	b->output_limit = 100000;
	run(b, NULL);
	assert_int_equal(b->error.code, ERROR_EXIT_STATUS);
	assert_non_null(strstr(b->error.message, "larger than 97.7 KiB"));
	assert_int_equal(b->output.len, 100000);
	assert_int_equal(b->exit_code, 128 + SIGTERM);
	subprocess_free(b);
}

static void
the_tail_of_stderr_is_kept(void **state)
{
	struct shell s;
	/* 1 + 200,000 × 2 bytes: the cut at 64 KiB falls into a character */
	struct subprocess *b = shell_set(&s, "printf x >&2; yes é | head -n 200000 | tr -d '\\n' >&2");

	(void)state;
	b->quiet = true;
	run(b, NULL);
	assert_int_equal(b->errors_bytes, 400001);
	assert_in_range(b->errors.len, SUBPROCESS_STDERR_TAIL - 3, SUBPROCESS_STDERR_TAIL);
	assert_true(utf8_valid(b->errors.data, b->errors.len));
	subprocess_free(b);
	b = shell_set(&s, "printf x >&2; yes é | head -n 32768 | tr -d '\\n' >&2");
	b->quiet = true;
	run(b, NULL);
	assert_int_equal(b->errors.len, SUBPROCESS_STDERR_TAIL);
	assert_true(utf8_valid(b->errors.data, b->errors.len));
	subprocess_free(b);
}

/* Runs b with our stderr going to fd. */
static void
run_with_stderr(struct subprocess *b, int fd)
{
	int before = dup(STDERR_FILENO);

	dup2(fd, STDERR_FILENO);
	run(b, NULL);
	dup2(before, STDERR_FILENO);
	close(before);
}

static void
stderr_is_passed_through(void **state)
{
	struct buffer text = BUFFER_INIT;
	struct shell s;
	char path[96];
	int fd;

	(void)state;
	snprintf(path, sizeof path, "%s/stderr", directory);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd != -1);
	run_with_stderr(shell_set(&s, "yes 123456789 | head -c 300000 >&2"), fd);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(file_read(fd, &text, 1 << 20), 0);
	assert_int_equal(text.len, 300000);
	assert_memory_equal(text.data + 299900, "123456789\n", 10);
	assert_int_equal(s.process.errors_bytes, 300000);
	subprocess_free(&s.process);
	close(fd);
	buffer_free(&text);
}

static void
a_stderr_that_nobody_reads_holds_nothing_up(void **state)
{
	struct shell s;
	struct subprocess *b = shell_set(&s, "yes >&2");
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	b->timeout_ms = 300;
	run_with_stderr(b, ends[1]);
	assert_int_equal(b->error.code, ERROR_TIMEOUT);
	assert_in_range(b->duration_ms, 300, 4000);
	subprocess_free(b);
	/* nobody there at all */
	close(ends[0]);
	b = shell_set(&s, "yes | head -c 300000 >&2");
	run_with_stderr(b, ends[1]);
	assert_int_equal(b->error.code, ERROR_NONE);
	assert_int_equal(b->errors_bytes, 300000);
	subprocess_free(b);
	close(ends[1]);
}

static void
a_timeout_ends_all_descendants(void **state)
{
	static const char *const rows[] = {
		/* a child, one with a session of its own, and an orphan without pipes */
		"sleep 100 & echo $! >$1/a; wait",
		"setsid sleep 100 & echo $! >$1/a; wait",
		"(setsid sleep 100 >/dev/null 2>&1 & echo $! >$1/a); sleep 100",
		/* the process ends, somebody else keeps the pipe */
		"(sleep 100 & echo $! >$1/a)",
		/* the shell must not go on with its next command */
		"echo $$ >$1/a; sleep 100; touch $1/went-on; sleep 100",
		"echo $$ >$1/a; kill -STOP $$",
	};
	char path[96];

	(void)state;
	snprintf(path, sizeof path, "%s/went-on", directory);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct shell s;
		struct subprocess *b = shell_set(&s, rows[i]);

		b->timeout_ms = 200;
		run(b, NULL);
		assert_int_equal(b->error.code, ERROR_TIMEOUT);
		assert_string_equal(b->error.place, "/bin/sh");
		assert_string_equal(b->error.message, "timed out after 200ms");
		assert_in_range(b->duration_ms, 200, 4000);
		assert_false(lives("a"));
		assert_int_equal(access(path, F_OK), -1);
		subprocess_free(b);
	}
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void
what_ignores_sigterm_is_killed(void **state)
{
	struct shell s;
	struct subprocess *b = shell_set(&s, "trap '' TERM; (sleep 100; sleep 100) >/dev/null 2>&1 & "
	    "echo $! >$1/a; printf partial; wait");

	(void)state;
	b->timeout_ms = 200;
	run(b, NULL);
	assert_int_equal(b->error.code, ERROR_TIMEOUT);
	assert_int_equal(b->exit_code, 128 + SIGKILL);
	assert_in_range(b->duration_ms, GRACE_MS, GRACE_MS + 3000);
	assert_string_equal(buffer_string(&b->output), "partial");
	assert_false(lives("a"));
	subprocess_free(b);
}

/* Who ignores SIGCHLD is told of no end. */
static void
an_end_that_nobody_tells_is_no_exit_status(void **state)
{
	struct shell s;
	struct subprocess *b = shell_set(&s, "echo done; exit 3");

	(void)state;
	signal(SIGCHLD, SIG_IGN);
	run(b, NULL);
	signal(SIGCHLD, SIG_DFL);
	assert_int_equal(b->error.code, ERROR_SYSTEM);
	assert_string_equal(b->error.message, "unable to wait for its end: No child processes");
	assert_int_equal(b->exit_code, -1);
	assert_string_equal(buffer_string(&b->output), "done\n");
	subprocess_free(b);
}

static void
many_run_at_once_and_end_apart(void **state)
{
	enum { COUNT = 20 };
	struct shell s[COUNT];
	struct subprocess processes[COUNT];
	struct error err = ERROR_INIT;
	int64_t began = clock_monotonic();

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		processes[i] = *shell_set(&s[i], i % 2 == 0 ? "cat; sleep 0.6; echo end" :
		    "cat; sleep 100; echo end");
		processes[i].input = "fed";
		processes[i].input_len = 3;
		processes[i].timeout_ms = i % 2 == 0 ? 0 : 200;
	}
	assert_int_equal(subprocesses_run(processes, COUNT, NULL, &err), 0);
	assert_true(clock_monotonic() - began < 5000);
	for (size_t i = 0; i < COUNT; i++) {
		assert_string_equal(buffer_string(&processes[i].output), i % 2 == 0 ? "fedend\n" : "fed");
		assert_int_equal(processes[i].error.code, i % 2 == 0 ? ERROR_NONE : ERROR_TIMEOUT);
		subprocess_free(&processes[i]);
	}
}

/* Of two with an orphan each, only the one that times out loses its own. */
static void
orphans_of_others_are_spared(void **state)
{
	struct shell a, b;
	struct error err = ERROR_INIT;
	struct subprocess processes[2];

	(void)state;
	processes[0] = *shell_set(&a, "(setsid sleep 100 >/dev/null 2>&1 & echo $! >$1/a); sleep 100");
	processes[1] = *shell_set(&b, "(setsid sleep 20 >/dev/null 2>&1 & echo $! >$1/b); "
	    "sleep 1.6; kill -0 $(cat $1/b) && echo spared");
	/* So that an orphan is seen before its parent is gone. */
	processes[0].timeout_ms = 1000;
	assert_int_equal(subprocesses_run(processes, 2, NULL, &err), 0);
	assert_int_equal(processes[0].error.code, ERROR_TIMEOUT);
	assert_int_equal(processes[1].error.code, ERROR_NONE);
	assert_string_equal(buffer_string(&processes[1].output), "spared\n");
	assert_false(lives("a"));
	assert_true(lives("b"));
	subprocess_free(&processes[0]);
	subprocess_free(&processes[1]);
	assert_int_equal(descendants_end(getpid(), SIGKILL, NULL), 0);
}

/* Where there are no pipes left nothing is half done. */
static void
a_machine_that_fails_ends_all(void **state)
{
	struct shell first, second;
	struct error err = ERROR_INIT;
	struct subprocess processes[2];
	struct rlimit before, low;
	int next = dup(STDERR_FILENO);

	(void)state;
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = before;
	low.rlim_cur = (rlim_t)next + 4; /* two pipes, not four */
	processes[0] = *shell_set(&first, "sleep 100");
	processes[1] = *shell_set(&second, "sleep 100");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	assert_int_equal(subprocesses_run(processes, 2, NULL, &err), -1);
	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_int_equal(processes[0].error.code, ERROR_SYSTEM);
	assert_int_equal(processes[0].exit_code, 128 + SIGTERM);
	assert_int_equal(processes[1].error.code, ERROR_SYSTEM);
	subprocess_free(&processes[0]);
	subprocess_free(&processes[1]);
}

static volatile int caught;

static void
catch(int signal_number)
{
	caught = signal_number;
}

static void
a_signal_cancels(void **state)
{
	const struct interrupts interrupts = { &caught, -1 };
	struct sigaction action = { .sa_handler = catch };
	struct shell s;
	struct subprocess *b = shell_set(&s, "sleep 100 & echo $! >$1/a; kill -USR1 $PPID; wait");

	(void)state;
	sigaction(SIGUSR1, &action, NULL);
	caught = 0;
	run(b, &interrupts);
	assert_int_equal(b->error.code, ERROR_CANCELLED);
	assert_non_null(strstr(b->error.message, "User defined signal 1"));
	assert_in_range(b->duration_ms, 0, 4000);
	assert_false(lives("a"));
	subprocess_free(b);
}

static void
a_reader_that_went_away_cancels(void **state)
{
	struct interrupts interrupts = { NULL, -1 };
	struct shell s;
	struct subprocess *b = shell_set(&s, "sleep 100");
	struct error err = ERROR_INIT;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	interrupts.downstream = ends[1];
	assert_false(interrupts_arrived(&interrupts, &err));
	close(ends[0]);
	assert_true(interrupts_arrived(&interrupts, &err));
	run(b, &interrupts);
	assert_int_equal(b->error.code, ERROR_DOWNSTREAM_CLOSED);
	subprocess_free(b);
	close(ends[1]);
	/* a stdout that was never open is no reader that went away */
	assert_false(interrupts_arrived(&interrupts, &err));
	b = shell_set(&s, "echo x");
	run(b, &interrupts);
	assert_string_equal(buffer_string(&b->output), "x\n");
	subprocess_free(b);
}

/* A child that began in the same clock tick as the subprocess would pass for an orphan. */
static void
kept_children_live_on(void **state)
{
	struct interrupts interrupts = { NULL, -1 };
	struct shell s;
	struct subprocess *b;
	pid_t child;

	(void)state;
	b = shell_set(&s, "sleep 100");
	b->timeout_ms = 100;
	child = fork();
	assert_true(child != -1);
	if (child == 0)
		for (;;)
			pause();
	descendants_keep(child);
	run(b, &interrupts);
	assert_int_equal(b->error.code, ERROR_TIMEOUT);
	assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
	descendants_release(child);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	subprocess_free(b);
}

static void
directory_and_environment_are_the_bodys(void **state)
{
	static char home[] = "HOME=/nowhere";
	char *const environment[] = { home, NULL };
	struct shell s;
	struct subprocess *b = shell_set(&s, "echo $HOME; /bin/pwd");
	char want[96];

	(void)state;
	b->environment = environment;
	b->directory = directory;
	run(b, NULL);
	snprintf(want, sizeof want, "/nowhere\n%s\n", directory);
	assert_string_equal(buffer_string(&b->output), want);
	subprocess_free(b);
}

/* A child counts until it was waited for, and so does an orphan of one. */
static void
other_children_are_seen(void **state)
{
	pid_t list[] = { 0, 0, 0 }, child, orphan;
	char text[16];
	int ends[2];

	(void)state;
	if (access("/proc/self/task", F_OK) != 0)
		skip();
	assert_true(descendants_are(list));
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		orphan = fork();
		if (orphan == 0)
			pause();
		dprintf(ends[1], "%ld\n", (long)orphan);
		pause();
	}
	assert_true(read(ends[0], text, sizeof text) > 0);
	orphan = (pid_t)strtol(text, NULL, 10);
	assert_false(descendants_are(list));
	list[0] = child;
	assert_true(descendants_are(list));
	assert_int_equal(kill(child, SIGKILL), 0);
	while (descendants_are(list)) /* until the orphan is ours */
		usleep(1000);
	list[1] = orphan;
	assert_true(descendants_are(list));
	assert_int_equal(waitpid(child, NULL, 0), child);
	list[0] = orphan;
	list[1] = 0;
	assert_true(descendants_are(list));
	assert_int_equal(kill(orphan, SIGKILL), 0);
	assert_int_equal(waitpid(orphan, NULL, 0), orphan);
	list[0] = 0;
	assert_true(descendants_are(list));
	close(ends[0]);
	close(ends[1]);
}

static int
begin(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	descendants_adopt();
	return mkdtemp(directory) == NULL;
}

static int
end(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", directory);
	return system(command);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_are_told_apart),
		cmocka_unit_test(what_cannot_run_says_so),
		cmocka_unit_test(much_goes_through_at_once),
		cmocka_unit_test(input_need_not_be_read),
		cmocka_unit_test(too_much_output_ends_it),
		cmocka_unit_test(the_tail_of_stderr_is_kept),
		cmocka_unit_test(stderr_is_passed_through),
		cmocka_unit_test(a_stderr_that_nobody_reads_holds_nothing_up),
		cmocka_unit_test(a_timeout_ends_all_descendants),
		cmocka_unit_test(what_ignores_sigterm_is_killed),
		cmocka_unit_test(an_end_that_nobody_tells_is_no_exit_status),
		cmocka_unit_test(many_run_at_once_and_end_apart),
		cmocka_unit_test(orphans_of_others_are_spared),
		cmocka_unit_test(a_machine_that_fails_ends_all),
		cmocka_unit_test(a_signal_cancels),
		cmocka_unit_test(a_reader_that_went_away_cancels),
		cmocka_unit_test(kept_children_live_on),
		cmocka_unit_test(other_children_are_seen),
		cmocka_unit_test(directory_and_environment_are_the_bodys),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
