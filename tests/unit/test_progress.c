/* run/progress and run/screen: the status line. */
#include "record.h"

#include "base/clock.h"
#include "base/locale.h"
#include "unit.h"
#include "view/progress.h"
#include "view/screen.h"

#define NOW "2026-11-21T08:15:40Z"

static struct model one, other;

static void
happens(struct model *m, const char *type, const char *call, const char *path, int iteration)
{
	struct buffer line = BUFFER_INIT;
	struct event_view event;
	struct placed placed;
	char *members = memory_format("\"timestamp\":\"2026-11-21T08:15:%02d.000000Z\",\"run_id\":\"%s\","
	    "\"type\":\"%s\",\"path\":\"%s\",\"iteration\":%d,\"payload\":{\"call\":\"%s\"}",
	    30 + iteration, RUN_ID, type, path, iteration, call);

	record_line(&line, 1, members);
	model_line(m, line.data, line.len - 1, (struct event_place){ 0, 0 }, &event, &placed);
	free(members);
	buffer_free(&line);
}

static void
check(const char *text)
{
	struct progress p = PROGRESS_INIT;
	struct buffer out = BUFFER_INIT;
	int64_t now;

	assert_int_equal(clock_parse(NOW, 0, &now), 0);
	progress_add(&p, &one);
	progress_add(&p, &other);
	progress_text(&p, now, &out);
	assert_string_equal(buffer_string(&out), text);
	progress_free(&p);
	buffer_free(&out);
}

static void
test_calls_come_and_go(void **state)
{
	const enum model_level levels[] = { MODEL_LIVE, MODEL_OPEN, MODEL_EVENTS };

	(void)state;
	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
		model_begin(&one, levels[i]);
		model_begin(&other, levels[i]);
		check("");
		happens(&one, "step.started", "a:0:0", "x.a", 0);
		check("1 call: a 10.0s");
		happens(&one, "step.started", "a:0:4", "x.a", 4);
		happens(&other, "step.call_workflow.started", "a:0:0", "n", 0);
		check("3 calls: a 10.0s, n 10.0s, a[4] 6.0s");
		happens(&one, "tool.call", "a:0:0", "x.a", 0);
		happens(&one, "step.completed", "nonesuch", "x.a", 0);
		happens(&one, "step.completed", "a:0:0", "x.a", 0);
		check("2 calls: n 10.0s, a[4] 6.0s");
		happens(&one, "step.started", "a:0:4", "x.a", 4); /* once more: it is that one alone */
		check("2 calls: n 10.0s, a[4] 6.0s");
		happens(&one, "step.started", "a:0:4/b:0:1", "x.a.b", 1);
		happens(&one, "step.completed", "a:0:4", "x.a", 5);
		check("2 calls: n 10.0s, b[1] 9.0s"); /* what it is in has ended */
		happens(&one, "step.completed", "a:0:4/b:0:1", "x.a.b", 5);
		happens(&one, "step.started", "a:0:6", "x.a", 6);
		happens(&other, "run.completed", "", "", 0);
		check("1 call: a[6] 4.0s");
		happens(&one, "run.started", "", "", 0);
		check("");
		happens(&one, "step.started", "a:0:0", "a", 0);
		check("1 call: a 10.0s");
		model_free(&one);
		model_free(&other);
	}
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

/* Text in a buffer of its own. */
static const struct buffer *
text_of(const char *bytes)
{
	static struct buffer b[4];
	static unsigned next;
	struct buffer *text = &b[next++ % COUNT(b)];

	buffer_clear(text);
	buffer_text(text, bytes);
	return text;
}

static void
test_block(void **state)
{
	struct screen s = { .width = 10 };
	struct buffer out = BUFFER_INIT;

	(void)state;
	screen_block(&s, text_of(""), text_of(""), 0, 1, &out);
	assert_int_equal(out.len, 0);
	screen_block(&s, text_of("done\n"), text_of("a\nb\nc\n"), 3, 1, &out);
	assert_string_equal(out.data, "done\n\ra\033[K\r\nb\033[K\r\nc\033[J\r\033[2A");
	/* Drawn over what is there, unless something is to stand above. */
	buffer_clear(&out);
	screen_block(&s, text_of(""), text_of("d\n"), 1, 2, &out);
	assert_string_equal(out.data, "\rd\033[J\r");
	buffer_clear(&out);
	screen_block(&s, text_of("more\n"), text_of("e\nf\n"), 2, 3, &out);
	assert_string_equal(out.data, "\r\033[K\033[Jmore\n\re\033[K\r\nf\033[J\r\033[1A");
	buffer_clear(&out);
	screen_erase(&s, &out);
	assert_string_equal(out.data, "\r\033[K\033[B\r\033[K\033[1A\033[J");
	buffer_clear(&out);
	screen_block(&s, text_of(""), text_of("e\nf\n"), 2, 3, &out);
	screen_resized(&s, 5);
	buffer_clear(&out);
	screen_block(&s, text_of(""), text_of(""), 0, 4, &out);
	assert_string_equal(out.data, "\r\033[K\033[J");
	buffer_clear(&out);
	screen_erase(&s, &out);
	assert_int_equal(out.len, 0);
	buffer_free(&out);
	for (int i = 0; i < 4; i++)
		buffer_free((struct buffer *)text_of(""));
}

static void
test_what_the_environment_says(void **state)
{
	static const struct { const char *all, *ctype, *lang; bool utf8; } locales[] = {
		{ "", "", "", false }, { "", "", "de_DE.UTF-8", true }, { "C", "", "de_DE.UTF-8", false },
		{ "", "en_US.utf8", "C", true }, { "", "C", "C.UTF-8", false }, { "C.UTF-8", "C", "C", true },
	};
	static const struct { const char *says; int mode; } modes[] = {
		{ "", SCREEN_LIVE }, { "live", SCREEN_LIVE }, { "log", SCREEN_LOG }, { "off", SCREEN_OFF },
		{ "none", -1 },
	};

	(void)state;
	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	for (size_t i = 0; i < COUNT(locales); i++) {
		setenv("LC_ALL", locales[i].all, 1);
		setenv("LC_CTYPE", locales[i].ctype, 1);
		setenv("LANG", locales[i].lang, 1);
		assert_int_equal(locale_is_utf8(), locales[i].utf8);
	}
	for (size_t i = 0; i < COUNT(modes); i++) {
		enum screen_mode mode = SCREEN_LOG;
		struct error err;

		setenv("AWF_VIEW", modes[i].says, 1);
		assert_int_equal(screen_mode(&mode, NULL, &err), modes[i].mode == -1 ? -1 : 0);
		if (modes[i].mode != -1)
			assert_int_equal(mode, modes[i].mode);
	}
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
		cmocka_unit_test(test_block),
		cmocka_unit_test(test_what_the_environment_says),
		cmocka_unit_test(test_width_of_no_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
