#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/list.h"
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

enum colour { RED = 3, GREEN, BLUE };
struct inner {
	long long ms;
	const char *text;
};
struct bound {
	bool flag;
	enum colour colour, fixed;
	int small;
	unsigned natural;
	int64_t wide, size, time;
	size_t count;
	const char *text, *choice, *optional;
	char **list, **checked;
	struct inner inner;
	unsigned char guard;
};
enum { FLAG = 1, FIXED, WORD, SMALL, NATURAL, WIDE, COUNTED, SIZE, TIME, DURATION, TEXT, CHOICE, OPTIONAL, INNER,
	LIST, CHECKED, CALLED, ONLY_SAID, OWN, OPERAND, MAYBE, UNSAID = 99 };

static char called_with[32];

static int
refuse_x(const char *value, struct error *err)
{
	return *value != 'x' ? 0 : error_set(err, ERROR_USAGE, "--checked", "x is refused");
}

static int
call(const char *value, struct error *err)
{
	snprintf(called_with, sizeof called_with, "%s", value);
	return refuse_x(value, err);
}

static const char *const colours[] = {"red", "green", "blue", NULL};
static const struct option_spec bound_table[] = {
	{FLAG, 'f', "flag", NULL, "", OPTION_INTO_FLAG(struct bound, flag)},
	{FIXED, 0, "fixed", NULL, "", OPTION_INTO_VALUE(struct bound, fixed, BLUE)},
	{WORD, 'w', "word", "COLOUR", "", OPTION_INTO_WORD(struct bound, colour, colours, RED)},
	{SMALL, 's', "small", "N", "", OPTION_INTO_NUMBER(struct bound, small, -3, INT_MAX)},
	{NATURAL, 0, "natural", "N", "", OPTION_INTO_NUMBER(struct bound, natural, 0, UINT_MAX)},
	{WIDE, 0, "wide", "N", "", OPTION_INTO_NUMBER(struct bound, wide, INT64_MIN, INT64_MAX)},
	{COUNTED, 0, "count", "N", "", OPTION_INTO_NUMBER(struct bound, count, 1, 5)},
	{SIZE, 0, "size", "SIZE", "", OPTION_INTO_SIZE(struct bound, size)},
	{TIME, 0, "time", "TIME", "", OPTION_INTO_TIME(struct bound, time)},
	{DURATION, 0, "duration", "DURATION", "", OPTION_INTO_DURATION(struct bound, inner.ms)},
	{TEXT, 't', "text", "TEXT", "", OPTION_INTO_TEXT(struct bound, text)},
	{CHOICE, 0, "choice", "COLOUR", "", OPTION_INTO_CHOICE(struct bound, choice, colours)},
	{OPTIONAL, 0, "optional", "[=TEXT]", "", OPTION_INTO_TEXT(struct bound, optional)},
	{INNER, 0, "inner", "TEXT", "", OPTION_INTO_TEXT_CHECKED(struct bound, inner.text, refuse_x)},
	{LIST, 'l', "list", "TEXT", "", OPTION_INTO_LIST(struct bound, list)},
	{CHECKED, 0, "checked", "TEXT", "", OPTION_INTO_LIST_CHECKED(struct bound, checked, refuse_x)},
	{CALLED, 0, "called", "TEXT", "", OPTION_CALL(call)},
	{ONLY_SAID, 'o', "only-said", NULL, "", OPTION_ONLY_SAID},
	{OWN, 'p', "own", NULL, "", OPTION_OWN},
	{MAYBE, 0, "maybe", "[=N]", "", OPTION_INTO_NUMBER(struct bound, small, 1, 9)},
	{UNSAID, 0, "unsaid", NULL, "", OPTION_ONLY_SAID},
	OPTION_PSEUDO(OPERAND, "FILE"),
	{OPTION_END, 0, NULL, NULL, NULL},
};

/* Reads a command line of words into b; what options_next() returned, which is the end, or -1 with *err. */
static int
bind_line(struct bound *b, struct options *o, const char *line, struct error *err)
{
	static char *argv[32], text[256];
	int argc = 1, id;

	*b = (struct bound){.guard = 0xa5};
	snprintf(text, sizeof text, "%s", line);
	argv[0] = text;
	for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " "))
		argv[argc++] = strcmp(word, "''") == 0 ? word + 2 : word;
	options_begin(o, bound_table, argc, argv);
	options_bind(o, b);
	while ((id = options_next(o, err)) == OWN || id == OPTION_WORD)
		if (id == OPTION_WORD)
			o->said |= OPTION_SAID(OPERAND);
	assert_int_equal(b->guard, 0xa5);
	return id;
}

static void
stores(void **state)
{
	struct error err = ERROR_INIT;
	struct options o;
	struct bound b;

	(void)state;
	assert_int_equal(bind_line(&b, &o, "", &err), OPTION_END);
	assert_true(!b.flag && b.text == NULL && b.list == NULL && b.wide == 0);
	assert_int_equal(o.said, 0);

	assert_int_equal(bind_line(&b, &o, "-fw green --fixed -s -3 --natural 4294967295 "
	    "--wide -9223372036854775808 --count=5 --size 2K --time 2026-10-01T00:00:00Z --duration 2m "
	    "-thello --choice blue --optional=y --inner z --unsaid", &err), OPTION_END);
	assert_true(b.flag);
	assert_int_equal(b.colour, GREEN);
	assert_int_equal(b.fixed, BLUE);
	assert_int_equal(b.small, -3);
	assert_true(b.natural == UINT_MAX);
	assert_true(b.wide == INT64_MIN);
	assert_int_equal(b.count, 5);
	assert_int_equal(b.size, 2048);
	assert_int_equal(b.time, INT64_C(1790812800000000));
	assert_int_equal(b.inner.ms, 120000);
	assert_string_equal(b.text, "hello");
	assert_string_equal(b.choice, "blue");
	assert_string_equal(b.optional, "y");
	assert_string_equal(b.inner.text, "z");
	assert_null(b.list);
	assert_int_equal(o.said, (OPTION_SAID(LIST) - 1) & ~UINT64_C(1));

	/* The last one counts, an empty text is one, and what is optional and left out is NULL. */
	assert_int_equal(bind_line(&b, &o, "-s 1 --small=2 --text= --optional=x --optional", &err), OPTION_END);
	assert_int_equal(b.small, 2);
	assert_string_equal(b.text, "");
	assert_null(b.optional);
	assert_int_equal(bind_line(&b, &o, "-t ''", &err), OPTION_END);
	assert_string_equal(b.text, "");

	assert_int_equal(bind_line(&b, &o, "--maybe", &err), OPTION_END);
	assert_int_equal(b.small, 0);
	assert_int_equal(o.said, OPTION_SAID(MAYBE));
	assert_int_equal(bind_line(&b, &o, "--maybe=7 --maybe", &err), OPTION_END);
	assert_int_equal(b.small, 7);

	assert_int_equal(bind_line(&b, &o, "-l a --list= -lb --checked y -o", &err), OPTION_END);
	assert_int_equal(list_count(b.list), 3);
	assert_string_equal(b.list[0], "a");
	assert_string_equal(b.list[1], "");
	assert_string_equal(b.list[2], "b");
	assert_int_equal(list_count(b.checked), 1);
	assert_int_equal(o.said, OPTION_SAID(LIST) | OPTION_SAID(CHECKED) | OPTION_SAID(ONLY_SAID));
	list_free(b.list);
	list_free(b.checked);

	assert_int_equal(bind_line(&b, &o, "--called y", &err), OPTION_END);
	assert_string_equal(called_with, "y");
}

static void
refuses_values(void **state)
{
	static const struct {
		const char *line, *error;
	} rows[] = {
		{"-s -4", "-s: -4 is not between -3 and 2147483647"},
		{"--small 2147483648", "--small: 2147483648 is not between -3 and 2147483647"},
		{"--small=", "--small: '' is not a whole number"},
		{"--natural -1", "--natural: -1 is not between 0 and 4294967295"},
		{"--natural 4294967296", "--natural: 4294967296 is not between 0 and 4294967295"},
		{"--count 0", "--count: 0 is not between 1 and 5"},
		{"--size 3X", "--size: '3X' is not a size (as in 500, 64K, 20M, 2G)"},
		{"--size=", "--size: '' is not a size (as in 500, 64K, 20M, 2G)"},
		{"--duration soon", "--duration: 'soon' is not a duration (as in 30, 500ms, 20m, 2h)"},
		{"--time soon", "--time: 'soon' is no age and no time (as in 12h, 30d, 2026-10-01)"},
		{"-w gren", "-w: no such word 'gren' (did you mean 'green'?)"},
		{"--choice mauve", "--choice: 'mauve' is none of red, green, blue"},
		{"--inner x", "--checked: x is refused"},
		{"--checked x", "--checked: x is refused"},
		{"--called x", "--checked: x is refused"},
		{"--flag=1", "--flag: takes no argument"},
	};
	struct options o;
	struct bound b;
	char text[256];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct error err = ERROR_INIT;

		assert_int_equal(bind_line(&b, &o, rows[i].line, &err), -1);
		assert_int_equal(err.code, ERROR_USAGE);
		assert_string_equal(error_text(&err, text, sizeof text), rows[i].error);
		assert_true(b.small == 0 && b.natural == 0 && b.count == 0 && b.size == 0 && b.colour == 0);
		assert_true(b.choice == NULL && b.inner.text == NULL && b.checked == NULL);
	}
}

#define SAID(id) OPTION_SAID(id)

static void
rules_of_what_goes_together(void **state)
{
	static const struct option_rule rules[] = {
		{SAID(FLAG) | SAID(SMALL), SAID(TEXT) | SAID(LIST), 0, NULL},
		{SAID(WIDE), SAID(TEXT), SAID(FIXED), "not with %s: it is narrow"},
		{SAID(ONLY_SAID) | SAID(OWN), SAID(ONLY_SAID) | SAID(OWN), 0, NULL},
		{SAID(OPERAND), SAID(CHOICE), 0, NULL},
		{SAID(SIZE), 0, SAID(OPERAND), NULL},
		{SAID(CALLED), 0, SAID(FLAG) | SAID(TEXT) | SAID(NATURAL), "only with %s, which call it"},
		{SAID(COUNTED), 0, SAID(FLAG) | SAID(NATURAL), NULL},
		{SAID(DURATION), SAID(TIME), 0, "one of the two is enough"},
		{0, 0, SAID(WORD), NULL, UNSAID},
		{0, SAID(CHOICE), 0, NULL, UNSAID},
	};
	static const struct {
		const char *line, *error; /* NULL: it is right */
	} rows[] = {
		{"", NULL},
		{"-f -s 1 FILE", NULL},
		{"-t x", NULL},
		{"-f -t x", "-f: not with -t"},
		{"--flag --text x", "--flag: not with --text"},
		{"--flag -ft x", "-f: not with -t"},
		{"-l x -s 1 -f", "-s: not with -l"},
		{"--wide 1 -t x", "--wide: not with -t: it is narrow"},
		{"--wide 1 -t x --fixed", NULL},
		{"-o", NULL},
		{"-o --only-said", NULL},
		{"-o --own", "--own: not with -o"},
		{"-p -o", "-o: not with -p"},
		{"FILE --choice red", "FILE: not with --choice"},
		{"--size 1", "--size: only with FILE"},
		{"--size 1 FILE", NULL},
		{"--called y", "--called: only with -f, --natural or -t, which call it"},
		{"--called y --text x", NULL},
		{"--count 1", "--count: only with -f or --natural"},
		{"--duration 1 --time 1h", "--duration: one of the two is enough"},
		{"--unsaid", "--unsaid: only with -w"},
		{"--unsaid -w red", NULL},
		{"--unsaid --word red --choice red", "--unsaid: not with --choice"},
	};
	struct options o;
	struct bound b;
	char text[256];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct error err = ERROR_INIT;

		assert_int_equal(bind_line(&b, &o, rows[i].line, &err), OPTION_END);
		assert_int_equal(options_check(&o, rules, COUNT(rules), &err), rows[i].error != NULL ? -1 : 0);
		list_free(b.list);
		if (rows[i].error == NULL)
			continue;
		assert_int_equal(err.code, ERROR_USAGE);
		assert_string_equal(error_text(&err, text, sizeof text), rows[i].error);
	}
}

static void
help_leaves_pseudo_options_out(void **state)
{
	static const struct option_spec options[] = {
		{LINES, 'n', "lines", "N", "only the last N"},
		OPTION_PSEUDO(FOLLOW, "what is given on standard input"),
		{OPTION_END, 0, NULL, NULL, NULL},
	};

	(void)state;
	check_help(options, OPTION_HELP,
	    "  -n, --lines N  only the last N\n"
	    "  -h, --help     print this help\n"
	    "      --version  print the version\n");
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
		cmocka_unit_test(stores),
		cmocka_unit_test(refuses_values),
		cmocka_unit_test(rules_of_what_goes_together),
		cmocka_unit_test(help_leaves_pseudo_options_out),
	};

	return cmocka_run_group_tests_name("base/options", tests, NULL, NULL);
}
