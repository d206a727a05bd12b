#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/options.h"

enum { LINES = 1, FOLLOW, QUIET, COLOUR, SEAL, MODEL };

static const struct option_spec table[] = {
	{LINES, 'n', "lines", "N", "only the last N"},
	{FOLLOW, 'f', "follow", NULL, "go on as it grows"},
	{QUIET, 'q', NULL, NULL, "say nothing"},
	{COLOUR, 0, "colour", "WHEN", "always, never or auto"},
	{SEAL, 0, "seal", "[=KEYFILE]", "with a key or without"},
	{MODEL, 0, "model", "[PROVIDER/]MODEL", "part of it may be left out"},
	{OPTION_END, 0, NULL, NULL, NULL},
};

/* Everything the parser says, as "1=5 2 w=x end: rest" or "… ! error". */
static void
trace(struct options *o, struct buffer *out)
{
	struct error err = ERROR_INIT;
	char text[256];
	int id;

	while ((id = options_next(o, &err)) != OPTION_END && id != -1) {
		if (id == OPTION_WORD)
			buffer_format(out, "w=%s ", o->value);
		else
			buffer_format(out, "%d%s%s ", id, o->value ? "=" : "", o->value ? o->value : "");
	}
	if (id == -1) {
		assert_int_equal(err.code, ERROR_USAGE);
		buffer_format(out, "! %s", error_text(&err, text, sizeof text));
		return;
	}
	buffer_text(out, "end");
	for (int i = o->next; i < o->argc; i++)
		buffer_format(out, " %s", o->argv[i]);
	buffer_text(out, o->saw_dashes ? " (--)" : "");
}

#define MAX_WORDS 8

static void
check(const char *const words[MAX_WORDS], bool at_word, bool at_dashes, const char *expected)
{
	char *argv[MAX_WORDS + 1] = {(char *)"program"};
	struct buffer out = BUFFER_INIT;
	struct options o;
	int argc = 1;

	for (size_t i = 0; i < MAX_WORDS - 1 && words[i]; i++)
		argv[argc++] = (char *)words[i];
	options_begin(&o, table, argc, argv);
	o.stop_at_word = at_word;
	o.stop_at_dashes = at_dashes;
	trace(&o, &out);
	assert_string_equal(out.data, expected);
	buffer_free(&out);
}

static void
parses(void **state)
{
	static const struct {
		const char *words[MAX_WORDS];
		const char *expected;
	} rows[] = {
		{{NULL}, "end"},
		{{"-n", "5", "x"}, "1=5 w=x end"},
		{{"-n5"}, "1=5 end"},
		{{"-fqn5"}, "2 3 1=5 end"},
		{{"-fn", "5"}, "2 1=5 end"},
		{{"--lines", "5", "--lines=6", "--lines="}, "1=5 1=6 1= end"},
		{{"x", "-f", "y", "--follow"}, "w=x 2 w=y 2 end"},
		{{"-n", "-f"}, "1=-f end"},
		{{"--model", "a/b", "--model=c"}, "6=a/b 6=c end"},
		{{"--seal", "x", "--seal=k", "--seal="}, "5 w=x 5=k 5= end"},
		{{"--seal"}, "5 end"},
		{{"--lines", "--"}, "1=-- end"},
		{{"-", "-f"}, "w=- 2 end"},
		{{"-f", "--", "-q", "--follow"}, "2 w=-q w=--follow end (--)"},
		{{"--", "--"}, "w=-- end (--)"},
		{{"--help"}, "-3 end"},
		{{"--version"}, "-4 end"},
		{{""}, "w= end"},
		{{"--folow"}, "! --folow: unknown option (did you mean --follow?)"},
		{{"--follow=1"}, "! --follow: takes no argument"},
		{{"--help=all"}, "-3 end"},
		{{"--help=1"}, "! --help: takes no argument but all: --help=all"},
		{{"-hf"}, "-3 2 end"},
		{{"--foll"}, "! --foll: unknown option (did you mean --follow?)"},
		{{"--versoin"}, "! --versoin: unknown option (did you mean --version?)"},
		{{"--zzzzzzzz"}, "! --zzzzzzzz: unknown option (see --help)"},
		{{"--zzzzzzzz=5"}, "! --zzzzzzzz: unknown option (see --help)"},
		{{"-x"}, "! -x: unknown option (see --help)"},
		{{"-fx"}, "2 ! -x: unknown option (see --help)"},
		{{"--lines"}, "! --lines: needs an argument, N"},
		{{"-n"}, "! -n: needs an argument, N"},
		{{"-fn"}, "2 ! -n: needs an argument, N"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		check(rows[i].words, false, false, rows[i].expected);
}

static void
stops_where_it_is_told(void **state)
{
	static const struct {
		const char *words[MAX_WORDS];
		bool at_word, at_dashes;
		const char *expected;
	} rows[] = {
		{{"-f", "x", "-q"}, true, false, "2 end x -q"},
		{{"-f", "--", "-q", "x"}, true, false, "2 end -q x (--)"},
		{{"-n", "5"}, true, false, "1=5 end"},
		{{"x", "-f", "--", "-q", "--"}, false, true, "w=x 2 end -q -- (--)"},
		{{"x", "--"}, false, true, "w=x end (--)"},
		{{"x", "-f"}, false, true, "w=x 2 end"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		check(rows[i].words, rows[i].at_word, rows[i].at_dashes, rows[i].expected);
}

/* expected: what stands behind the usage. */
static void
check_help(const struct option_spec *options, int id, const char *expected)
{
	static const char usage[] =
	    "usage: awf-x [options] FILE\n"
	    "       awf-x --list\n"
	    "\n"
	    "Says more.\n"
	    "\n";
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	options_help(out, "awf-x [options] FILE\nawf-x --list\n\nSays more.", options, id);
	fclose(out);
	assert_true(size >= strlen(usage));
	assert_memory_equal(text, usage, strlen(usage));
	assert_string_equal(text + strlen(usage), expected);
	free(text);
}

static void
help(void **state)
{
	static const struct option_spec long_table[] = {
		{LINES, 'n', "lines", "N", "only the last N"},
		{OPTION_SECTION, 0, NULL, NULL, "Seldom needed"},
		{COLOUR, 0, "colour", "WHEN", "always, never or auto, whatever the terminal may say of "
		    "itself, … and so on"},
		{MODEL, 0, "model-of-the-agent", "[PROVIDER/]MODEL", "below what is too long"},
		{OPTION_END, 0, NULL, NULL, NULL},
	};

	(void)state;
	check_help(table, OPTION_HELP,
	    "  -n, --lines N         only the last N\n"
	    "  -f, --follow          go on as it grows\n"
	    "  -q                    say nothing\n"
	    "      --colour WHEN     always, never or auto\n"
	    "      --seal[=KEYFILE]  with a key or without\n"
	    "      --model [PROVIDER/]MODEL\n"
	    "                        part of it may be left out\n"
	    "  -h, --help            print this help\n"
	    "      --version         print the version\n");
	check_help(long_table, OPTION_HELP,
	    "  -n, --lines N      only the last N\n"
	    "  -h, --help[=all]   print this help, or that of all options\n"
	    "      --version      print the version\n");
	check_help(long_table, OPTION_HELP_ALL,
	    "  -n, --lines N      only the last N\n"
	    "\n"
	    "Seldom needed:\n"
	    "      --colour WHEN  always, never or auto, whatever the terminal may say of\n"
	    "                     itself, … and so on\n"
	    "      --model-of-the-agent [PROVIDER/]MODEL\n"
	    "                     below what is too long\n"
	    "\n"
	    "  -h, --help[=all]   print this help, or that of all options\n"
	    "      --version      print the version\n");
}

static void
numbers(void **state)
{
	static const struct {
		const char *text;
		long long value;
		const char *wrong;
	} rows[] = {
		{"0", 0, NULL},
		{"10", 10, NULL},
		{"-3", -3, NULL},
		{"", 0, "'' is not a whole number"},
		{"x", 0, "'x' is not a whole number"},
		{"1x", 0, "'1x' is not a whole number"},
		{" 1", 0, "' 1' is not a whole number"},
		{"1.5", 0, "'1.5' is not a whole number"},
		{"11", 0, "11 is not between -3 and 10"},
		{"-4", 0, "-4 is not between -3 and 10"},
		{"99999999999999999999", 0, "99999999999999999999 is not between -3 and 10"},
	};
	struct error err;
	long long value;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		int status = options_number("-n", rows[i].text, -3, 10, &value, &err);

		assert_int_equal(status, rows[i].wrong ? -1 : 0);
		if (rows[i].wrong) {
			assert_string_equal(err.place, "-n");
			assert_string_equal(err.message, rows[i].wrong);
		} else {
			assert_int_equal(value, rows[i].value);
		}
	}
}

static void
durations(void **state)
{
	struct error err;
	long long ms;

	(void)state;
	assert_int_equal(options_duration("--timeout", "2m", &ms, &err), 0);
	assert_int_equal(ms, 120000);
	assert_int_equal(options_duration("--timeout", "soon", &ms, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_string_equal(err.place, "--timeout");
	assert_string_equal(err.message, "'soon' is not a duration (as in 30, 500ms, 20m, 2h)");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses),
		cmocka_unit_test(stops_where_it_is_told),
		cmocka_unit_test(help),
		cmocka_unit_test(numbers),
		cmocka_unit_test(durations),
	};

	return cmocka_run_group_tests_name("base/options", tests, NULL, NULL);
}
