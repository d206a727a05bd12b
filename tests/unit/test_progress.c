/* run/progress and run/screen: the status line. */
#include "record.h"

#include "base/clock.h"
#include "run/progress.h"
#include "run/screen.h"
#include "unit.h"

#define NOW "2026-11-21T08:15:40Z"

static void
happens(struct progress *p, const char *run_id, const char *type, const char *call,
    const char *path, int iteration)
{
	struct buffer line = BUFFER_INIT;
	char *members = memory_format("\"timestamp\":\"2026-11-21T08:15:%02d.000000Z\",\"run_id\":\"%s\","
	    "\"type\":\"%s\",\"path\":\"%s\",\"iteration\":%d,\"payload\":{\"call\":\"%s\"}",
	    30 + iteration, run_id, type, path, iteration, call);

	record_line(&line, 1, members);
	progress_event(p, line.data, line.len - 1);
	free(members);
	buffer_free(&line);
}

static void
check(const struct progress *p, const char *text)
{
	struct buffer out = BUFFER_INIT;
	int64_t now;

	assert_int_equal(clock_parse(NOW, 0, &now), 0);
	progress_text(p, now, &out);
	assert_string_equal(buffer_string(&out), text);
	buffer_free(&out);
}

static void
test_calls_come_and_go(void **state)
{
	struct progress p = PROGRESS_INIT;

	(void)state;
	check(&p, "");
	happens(&p, RUN_ID, "step.started", "a:0:0", "x.a", 0);
	check(&p, "1 call: a 10.0s");
	happens(&p, RUN_ID, "step.started", "a:0:4", "x.a", 4);
	happens(&p, OTHER_ID, "step.call_workflow.started", "a:0:0", "n", 0);
	check(&p, "3 calls: a 10.0s, a[4] 6.0s, n 10.0s");
	happens(&p, RUN_ID, "tool.call", "a:0:0", "x.a", 0);
	happens(&p, RUN_ID, "step.completed", "nonesuch", "x.a", 0);
	happens(&p, RUN_ID, "step.completed", "a:0:0", "x.a", 0);
	check(&p, "2 calls: a[4] 6.0s, n 10.0s");
	happens(&p, RUN_ID, "step.started", "a:0:4", "x.a", 4);
	check(&p, "2 calls: n 10.0s, a[4] 6.0s");
	happens(&p, OTHER_ID, "run.completed", "", "", 0);
	check(&p, "1 call: a[4] 6.0s");
	happens(&p, RUN_ID, "run.started", "", "", 0);
	check(&p, "");
	progress_event(&p, "nonsense", 8);
	check(&p, "");
	happens(&p, RUN_ID, "step.started", "a:0:0", "a", 0);
	progress_free(&p);
}

static void
test_status_line(void **state)
{
	struct screen s = { .width = 10 };
	struct buffer out = BUFFER_INIT, text = BUFFER_INIT;

	(void)state;
	s.drawn_at = -SCREEN_INTERVAL;
	screen_status(&s, &text, 0, &out);
	screen_erase(&s, &out);
	assert_int_equal(out.len, 0);
	buffer_text(&text, "twelve chars");
	screen_status(&s, &text, 0, &out);
	assert_string_equal(out.data, "twelve c…");
	buffer_clear(&out);
	screen_status(&s, &text, SCREEN_INTERVAL - 1, &out); /* too soon */
	assert_int_equal(out.len, 0);
	screen_status(&s, &text, SCREEN_INTERVAL, &out);
	assert_string_equal(out.data, "\r\033[Ktwelve c…");
	buffer_clear(&out);
	screen_erase(&s, &out);
	assert_string_equal(out.data, "\r\033[K");
	buffer_clear(&out);
	screen_erase(&s, &out);
	assert_int_equal(out.len, 0);
	s.colour = true;
	screen_status(&s, &text, 2 * SCREEN_INTERVAL, &out);
	assert_string_equal(out.data, "\033[7mtwelve c…\033[0m");
	buffer_clear(&out);
	buffer_clear(&text);
	screen_status(&s, &text, 2 * SCREEN_INTERVAL, &out); /* nothing left: at once */
	assert_string_equal(out.data, "\r\033[K");
	buffer_free(&text);
	buffer_free(&out);
}

static void
test_width_of_no_terminal(void **state)
{
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	unsetenv("COLUMNS");
	assert_int_equal(terminal_width(fds[1]), 0);
	setenv("COLUMNS", "72", 1);
	assert_int_equal(terminal_width(fds[1]), 72);
	setenv("COLUMNS", "-1", 1);
	assert_int_equal(terminal_width(fds[1]), 0);
	close(fds[0]);
	close(fds[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_come_and_go),
		cmocka_unit_test(test_status_line),
		cmocka_unit_test(test_width_of_no_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
