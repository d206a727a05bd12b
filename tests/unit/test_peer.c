/* proc/peer: full pipes, silence and death, stderr, and how a peer is ended. */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/patience.h"
#include "proc/descendants.h"
#include "proc/peer.h"

#define LATE 10000 /* ms: none of these peers takes so long */

static void
start(struct peer *p, const char *text)
{
	char *argv[4];
	const struct process_spec spec = { .argv = argv, .err = PROCESS_PIPE };
	struct error err;

	process_shell(argv, text);
	assert_int_equal(peer_start(p, &spec, &err), 0);
}

static void
nothing_is_left(void)
{
	assert_int_equal(waitpid(-1, NULL, 0), -1);
	assert_int_equal(errno, ECHILD);
}

/* The event that ends waiting for a line, or PEER_SERVED with the line. */
static enum peer_event
wait_line(struct peer *p, int64_t ms, struct span *line)
{
	int64_t deadline = clock_monotonic() + ms;
	enum peer_event event = PEER_SERVED;
	struct error err;

	while (event == PEER_SERVED && peer_line(p, line) == 0)
		event = peer_wait(p, deadline, NULL, &err);
	return event;
}

static void
full_pipes_hold_up_nobody(void **state)
{
	enum { LINES = 100000 };
	struct peer p = { .end_ms = LATE };
	struct span line;
	char expected[64];

	(void)state;
	start(&p, "exec cat");
	for (int i = 0; i < LINES; i++)
		buffer_format(&p.outgoing, "a line that has the number %d\n", i);
	assert_int_equal(peer_send(&p), 0);
	assert_true(peer_unsent(&p) > 0);
	for (int i = 0; i < LINES; i++) {
		assert_int_equal(wait_line(&p, LATE, &line), PEER_SERVED);
		snprintf(expected, sizeof expected, "a line that has the number %d", i);
		assert_int_equal(line.len, strlen(expected));
		assert_memory_equal(line.at, expected, line.len);
	}
	assert_int_equal(peer_unsent(&p), 0);
	assert_int_equal(peer_untaken(&p), 0);
	assert_int_equal(peer_end(&p), 0);
	peer_free(&p);
	nothing_is_left();
}

/* What it has not read when it answers goes out with what it is told next. */
static void
a_line_that_is_answered_early_stays_whole(void **state)
{
	struct peer p = { .end_ms = LATE };
	struct span line;

	(void)state;
	start(&p, "echo early; read first; read second; echo $second ${#first}");
	for (int i = 0; i < 20000; i++)
		buffer_text(&p.outgoing, "0123456789");
	buffer_byte(&p.outgoing, '\n');
	peer_send(&p);
	assert_int_equal(wait_line(&p, LATE, &line), PEER_SERVED);
	assert_memory_equal(line.at, "early", 5);
	buffer_text(&p.outgoing, "second\n");
	assert_int_equal(wait_line(&p, LATE, &line), PEER_SERVED);
	assert_int_equal(line.len, strlen("second 200000"));
	assert_memory_equal(line.at, "second 200000", line.len);
	peer_end(&p);
	peer_free(&p);
}

static void
silence_is_told_from_death(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
		enum peer_event event;
		int exit_code;
	} rows[] = {
		{ "exec cat", 50, PEER_LATE, 0 },
		{ "exec >&-; read line; exit 5", LATE, PEER_GONE, 5 },
		{ "exit 3", LATE, PEER_GONE, 3 },
		{ "kill -9 $$", LATE, PEER_GONE, 128 + SIGKILL },
		{ "printf 'no line'; exit 4", LATE, PEER_GONE, 4 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct peer p = { .end_ms = LATE };
		struct span line;

		start(&p, rows[i].text);
		assert_int_equal(wait_line(&p, rows[i].ms, &line), rows[i].event);
		assert_int_equal(process_exit_code(peer_end(&p)), rows[i].exit_code);
		assert_int_equal(p.process.pid, 0);
		assert_int_equal(peer_untaken(&p), 0);
		assert_int_equal(peer_end(&p), -1);
		peer_free(&p);
	}
	nothing_is_left();
}

static void
one_that_reads_no_more_may_still_speak(void **state)
{
	struct peer p = { .end_ms = LATE };
	struct span line;

	(void)state;
	start(&p, "exec <&-; echo closed; sleep 0.1; echo said");
	assert_int_equal(wait_line(&p, LATE, &line), PEER_SERVED);
	buffer_text(&p.outgoing, "lost\n");
	assert_int_equal(peer_send(&p), -1);
	assert_int_equal(p.process.in, -1);
	assert_int_equal(wait_line(&p, LATE, &line), PEER_SERVED);
	assert_memory_equal(line.at, "said", 4);
	assert_int_equal(wait_line(&p, LATE, &line), PEER_GONE);
	assert_int_equal(peer_end(&p), 0);
	assert_int_equal(peer_send(&p), -1);
	peer_free(&p);
}

static void
the_last_of_stderr_is_kept_without_secrets(void **state)
{
	char first[] = "hunter22", *secrets[] = { first, NULL };
	struct peer p = { .end_ms = LATE, .secrets = secrets };
	struct span line;

	(void)state;
	start(&p, "i=0; while [ $i -lt 3000 ]; do echo 'it is hunter22'; i=$((i+1)); done >&2\n"
	    "printf hun >&2; sleep 0.1; printf 'ter22, the last' >&2; exit 1");
	assert_int_equal(wait_line(&p, LATE, &line), PEER_GONE);
	peer_keep_errors(&p, "!", 1);
	peer_end(&p);
	assert_in_range(p.errors.len, 8 << 10, 2 * (8 << 10));
	assert_null(strstr(p.errors.data, "hunter22"));
	assert_null(strstr(p.errors.data, "unter22"));
	assert_non_null(strstr(p.errors.data, "it is ********\n********, the last!"));
	peer_free(&p);
}

static void
it_is_ended_in_steps(void **state)
{
	static const struct {
		const char *text;
		int64_t end_ms;
		bool ignores_signals;
		int exit_code;
		int64_t at_least, at_most;
	} rows[] = {
		/* It ends by itself; by SIGTERM; by SIGKILL; by SIGKILL at once. */
		{ "echo ready; exec cat", 5000, false, 0, 0, 4000 },
		{ "echo ready; exec sleep 100", 200, false, 128 + SIGTERM, 200, 3000 },
		{ "trap '' TERM; echo ready; sleep 100; sleep 100", 0, false, 128 + SIGKILL, 200, 30000 },
		{ "echo ready; exec sleep 100", 0, true, 128 + SIGKILL, 0, 2000 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct peer p = { .end_ms = rows[i].end_ms, .ignores_signals = rows[i].ignores_signals };
		struct span line;
		int64_t began;

		start(&p, rows[i].text);
		assert_int_equal(wait_line(&p, LATE, &line), PEER_SERVED);
		assert_true(descendants_kept(p.process.pid));
		began = clock_monotonic();
		assert_int_equal(process_exit_code(peer_end(&p)), rows[i].exit_code);
		assert_in_range(clock_monotonic() - began, rows[i].at_least, rows[i].at_most);
		peer_free(&p);
	}
	assert_int_equal(descendants_end(getpid(), SIGKILL, NULL), 0);
	nothing_is_left();
}

/* Its time runs from when its stdin was closed, so that several end at once. */
static void
several_end_at_once(void **state)
{
	struct peer p[3] = { { .end_ms = 400 }, { .end_ms = 400 }, { .end_ms = 400 } };
	struct span line;
	int64_t began;

	(void)state;
	for (int i = 0; i < 3; i++) {
		start(&p[i], "echo ready; exec sleep 100");
		assert_int_equal(wait_line(&p[i], LATE, &line), PEER_SERVED);
	}
	began = clock_monotonic();
	for (int i = 0; i < 3; i++)
		peer_hang_up(&p[i]);
	for (int i = 0; i < 3; i++) {
		peer_end(&p[i]);
		peer_free(&p[i]);
	}
	assert_in_range(clock_monotonic() - began, 400, 1100);
}

static void
orphans_are_ended_with_it(void **state)
{
	char mark[] = "test-peer";
	struct peer p = { .end_ms = 5000, .mark = mark };
	struct span line;

	(void)state;
	descendants_adopt();
	start(&p, "AWF_BODY=test-peer setsid sh -c 'echo ready; exec sleep 100' & exit 0");
	assert_int_equal(wait_line(&p, LATE, &line), PEER_SERVED);
	assert_int_equal(peer_end(&p), 0);
	peer_free(&p);
	nothing_is_left();
}

/* A process made by fork() lets go of its parent's, which lives on and can be spoken to. */
static void
one_that_is_forgotten_lives_on(void **state)
{
	struct peer p = { .end_ms = LATE };
	struct span line;
	pid_t child;
	int status;

	(void)state;
	start(&p, "exec cat");
	child = fork();
	if (child == 0) {
		peer_forget(&p);
		_exit(p.process.pid == 0 && peer_end(&p) == -1 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	buffer_text(&p.outgoing, "still here\n");
	peer_send(&p);
	assert_int_equal(wait_line(&p, LATE, &line), PEER_SERVED);
	assert_int_equal(peer_end(&p), 0);
	peer_free(&p);
}

static void
it_can_be_started_again(void **state)
{
	struct peer p = { .end_ms = LATE };
	struct span line;

	(void)state;
	for (int i = 0; i < 2; i++) {
		start(&p, "echo one; echo two; exec cat");
		assert_int_equal(wait_line(&p, LATE, &line), PEER_SERVED);
		assert_memory_equal(line.at, "one", 3);
		assert_int_equal(peer_end(&p), 0);
		/* Nothing takes it any more, and the next has nothing of it. */
		buffer_text(&p.outgoing, "late\n");
	}
	start(&p, "head -n 1");
	buffer_text(&p.outgoing, "first\n");
	assert_int_equal(wait_line(&p, LATE, &line), PEER_SERVED);
	assert_memory_equal(line.at, "first", 5);
	peer_end(&p);
	peer_free(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_pipes_hold_up_nobody),
		cmocka_unit_test(a_line_that_is_answered_early_stays_whole),
		cmocka_unit_test(silence_is_told_from_death),
		cmocka_unit_test(one_that_reads_no_more_may_still_speak),
		cmocka_unit_test(the_last_of_stderr_is_kept_without_secrets),
		cmocka_unit_test(it_is_ended_in_steps),
		cmocka_unit_test(several_end_at_once),
		cmocka_unit_test(orphans_are_ended_with_it),
		cmocka_unit_test(one_that_is_forgotten_lives_on),
		cmocka_unit_test(it_can_be_started_again),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
