#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "io/terminal.h"

static const struct {
	const char *bytes;
	unsigned len; /* of its first character, 0: not well-formed */
	uint32_t code;
} characters[] = {
	{"a", 1, 'a'},
	{"\x7f", 1, 0x7f},
	{"\xc2\x80", 2, 0x80},
	{"\xdf\xbf", 2, 0x7ff},
	{"\xe0\xa0\x80", 3, 0x800},
	{"\xed\x9f\xbf", 3, 0xd7ff},
	{"\xee\x80\x80", 3, 0xe000},
	{"\xef\xbf\xbf", 3, 0xffff},
	{"\xf0\x90\x80\x80", 4, 0x10000},
	{"\xf4\x8f\xbf\xbf", 4, 0x10ffff},
	{"\x80", 0, 0},             /* a continuation alone */
	{"\xc0\x80", 0, 0},         /* overlong */
	{"\xc1\xbf", 0, 0},
	{"\xe0\x9f\xbf", 0, 0},
	{"\xf0\x8f\xbf\xbf", 0, 0},
	{"\xed\xa0\x80", 0, 0},     /* surrogates */
	{"\xed\xbf\xbf", 0, 0},
	{"\xf4\x90\x80\x80", 0, 0}, /* above U+10FFFF */
	{"\xf5\x80\x80\x80", 0, 0},
	{"\xff", 0, 0},
	{"\xc3", 0, 0},             /* cut off */
	{"\xe2\x82", 0, 0},
	{"\xf0\x9f\x98", 0, 0},
	{"\xc3(", 0, 0},
	{"\xe2\x82(", 0, 0},
	{"\xf0\x9f\x98(", 0, 0},
};

static void
decodes_and_encodes(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(characters); i++) {
		size_t len = strlen(characters[i].bytes);
		struct buffer out = BUFFER_INIT;
		uint32_t code = 0;

		assert_int_equal(utf8_decode(characters[i].bytes, len, &code), characters[i].len);
		if (characters[i].len > 0) {
			assert_int_equal(code, characters[i].code);
			utf8_append(&out, code);
			assert_true(buffer_equal(&out, characters[i].bytes));
		}
		buffer_free(&out);
	}
	assert_int_equal(utf8_decode("", 0, &(uint32_t){0}), 0);
}

/* Each character at each distance from the blocks that are looked at at once. */
static void
validity_at_any_place(void **state)
{
	char text[80];

	(void)state;
	for (size_t i = 0; i < COUNT(characters); i++) {
		size_t len = strlen(characters[i].bytes);

		for (size_t before = 0; before < 40; before++) {
			memset(text, 'x', sizeof text);
			memcpy(text + before, characters[i].bytes, len);
			if (utf8_valid(text, before + len) != (characters[i].len > 0) ||
			    utf8_valid(text, sizeof text) != (characters[i].len > 0))
				fail_msg("row %zu after %zu bytes", i, before);
		}
	}
	assert_true(utf8_valid("", 0));
	assert_true(utf8_valid("a\0b", 3));
}

static void
whole_characters(void **state)
{
	static const struct {
		const char *bytes;
		size_t whole;
	} rows[] = {
		{"", 0}, {"abc", 3}, {"ab\xc3", 2}, {"ab\xc3\xa4", 4}, {"a\xe2\x82", 1},
		{"\xe2", 0}, {"a\xe2\x82\xac", 4}, {"a\xf0\x9f\x98", 1}, {"a\xf0\x9f", 1},
		{"a\xf0", 1}, {"a\xf0\x9f\x98\x80", 5}, {"\x80\x80\x80\x80", 4},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(utf8_whole(rows[i].bytes, strlen(rows[i].bytes)), rows[i].whole);
}

static void
names(void **state)
{
	char longest[130];

	(void)state;
	assert_true(name_valid("a"));
	assert_true(name_valid("Write_2-x"));
	assert_false(name_valid(""));
	assert_false(name_valid("a.b"));
	assert_false(name_valid("a/b"));
	assert_false(name_valid(".."));
	assert_false(name_valid("a b"));
	assert_false(name_valid("ä"));
	assert_false(name_valid("a\n"));
	memset(longest, 'n', sizeof longest);
	longest[128] = '\0';
	assert_true(name_valid(longest));
	longest[128] = 'n';
	longest[129] = '\0';
	assert_false(name_valid(longest));
}

static void
suggestions(void **state)
{
	static const char *const candidates[] = {
		"follow", "lines", "timeout", "retry-on", "retries", "after", "all", NULL,
	};
	static const struct {
		const char *word, *meant;
	} rows[] = {
		{"folow", "follow"}, {"fololw", "follow"}, {"folllow", "follow"}, {"line", "lines"},
		{"time-out", "timeout"}, {"timeuot", "timeout"}, {"time", "timeout"}, {"retry", "retry-on"},
		{"retires", "retries"}, {"al", "all"}, {"lines", "lines"}, {"xyz", NULL}, {"", NULL},
		{"q", NULL}, {"banana", NULL},
		{"a-word-so-long-that-nobody-can-have-meant-an-option-of-this-program", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *meant = text_suggest(rows[i].word, candidates);

		if (!meant != !rows[i].meant || (meant && strcmp(meant, rows[i].meant) != 0))
			fail_msg("%s: %s", rows[i].word, meant ? meant : "nothing");
	}
}

static void
visible(void **state)
{
	static const struct {
		const char *bytes;
		size_t width;
		const char *shown;
	} rows[] = {
		{"", 0, ""},
		{"plain", 0, "plain"},
		{"a\nb\tc\rd", 0, "a\\nb\\tc\\rd"},
		{"\x1b[31mred\x07\x7f", 0, "\\x1b[31mred\\x07\\x7f"},
		{"\xc2\x9b" "31m", 0, "\\u009b31m"},
		{"\xe2\x80\xae" "evil", 0, "\\u202eevil"},
		{"\xe2\x81\xa6x\xe2\x80\xa8y", 0, "\\u2066x\\u2028y"},
		{"bad \xff\xc3", 0, "bad \\xff\\xc3"},
		{"Größe 日本", 0, "Größe 日本"},
		{"abcdef", 6, "abcdef"},
		{"abcdefg", 6, "abcde…"},
		{"abc\n", 4, "abc…"},
		{"abc\n", 5, "abc\\n"},
		{"日本語", 6, "日本語"},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日…"},
		{"e\xcc\x81" "e\xcc\x81", 2, "e\xcc\x81" "e\xcc\x81"},
		{"✅✅✅", 6, "✅✅✅"},
		{"✅❌⚡🟢🫠", 5, "✅❌…"},
		{"☺️x", 2, "…"},
		{"☺️x", 3, "☺️x"},
		{"ab", 1, "…"},
		{"a", 1, "a"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct buffer out = BUFFER_INIT;

		buffer_text(&out, "> ");
		text_visible(&out, rows[i].bytes, strlen(rows[i].bytes), rows[i].width);
		assert_string_equal(out.data + 2, rows[i].shown);
		buffer_free(&out);
	}
}

/* What is invisible is shown, unless it makes of what stands before it what is seen. */
static void
invisible(void **state)
{
	static const struct {
		const char *bytes, *shown; /* NULL: as it is */
	} rows[] = {
		{"a\u200bb\u2060c\u00add\ufeff", "a\\u200bb\\u2060c\\u00add\\ufeff"},
		{"rm\U000e0020\U000e0041\U000e007f -r", "rm\\U000e0020\\U000e0041\\U000e007f -r"},
		{"a\ufe0f\ufe00\U000e0100", "a\\ufe0f\\ufe00\\U000e0100"},
		{"0\ufe00", "0\\ufe00"},
		{"\u3164\u115f\u2800x", "\\u3164\\u115f\u2800x"},
		{"a\U0001d159b\U00016fe4c\uffa0\u1160\u17b4\u17b5", "a\\U0001d159b\\U00016fe4c\\uffa0\\u1160\\u17b4\\u17b5"},
		{"\U0001107f\U00011a47\U00011a99\U00011f42\U00013441\U00013442",
		    "\\U0001107f\\U00011a47\\U00011a99\\U00011f42\\U00013441\\U00013442"},
		{"\u034f\u180e\ufff9\U0001d173\ufdd0", "\\u034f\\u180e\\ufff9\\U0001d173\\ufdd0"},
		{"\U000e0fff", "\\U000e0fff"},
		{"\u0600\u0661", NULL}, /* a number sign, which is seen */
		/* emoji */
		{"☺\ufe0f ☺\ufe0e 1\ufe0f\u20e3 #\ufe0f\u20e3", NULL},
		{"☺\ufe0f\ufe0f", "☺\ufe0f\\ufe0f"},
		{"😀\U000e0101\U000e0102", "😀\\U000e0101\\U000e0102"},
		{"1\ufe0f", "1\\ufe0f"},
		{"👩\u200d👩\u200d👧 👩🏽\u200d❤\ufe0f\u200d💋\u200d👨🏾 🏳\ufe0f\u200d🌈", NULL},
		{"👩\u200d", "👩\\u200d"},
		{"👩\u200dx", "👩\\u200dx"},
		{"👩\u200d\u200d👩", "👩\\u200d\\u200d👩"},
		{"\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", NULL},
		{"\U0001f3f4\U000e0067\U000e0062\U000e007f",
		    "\U0001f3f4\\U000e0067\\U000e0062\\U000e007f"},
		/* ideographs with a form, Mongolian letters */
		{"葛\U000e0101葛\ufe00\u1820\u180b", NULL},
		{"葛\U000e0101\U000e0102", "葛\U000e0101\\U000e0102"},
		/* words: Persian, with and without a mark between; Devanagari; Latin */
		{"می\u200cخواهم", NULL},
		{"م\u064e\u200c\u064eخ", NULL},
		{"خوا\u200cهم", "خوا\\u200cهم"}, /* alef joins to nothing anyway */
		{"می\u200c", "می\\u200c"},
		{"می\u200dخ", "می\\u200dخ"},
		{"क्\u200dष क्\u200cष", NULL},
		{"क\u200dष", "क\\u200dष"},
		{"ab\u200ccd\u200d", "ab\\u200ccd\\u200d"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct buffer out = BUFFER_INIT;

		text_visible(&out, rows[i].bytes, strlen(rows[i].bytes), 0);
		assert_string_equal(buffer_string(&out), rows[i].shown == NULL ? rows[i].bytes : rows[i].shown);
		buffer_free(&out);
	}
}

/* The same with LF and tab, whole, in pieces of every length, and of JSON. */
static void
terminal(void **state)
{
	static const struct {
		const char *bytes, *text, *json; /* NULL: as the bytes are */
	} rows[] = {
		{"a\n\tb é", NULL, NULL},
		{"a\r\x1b]0;x\x07\x7f", "a\\r\\x1b]0;x\\x07\\x7f", "a\\u000d\\u001b]0;x\\u0007\\u007f"},
		{"\xff", "\\xff", "\\ufffd"},
		{"\n\u202e\n", "\n\\u202e\n", "\n\\u202e\n"},
		{"x\U000e0041y", "x\\U000e0041y", "x\\udb40\\udc41y"},
		{"x1\ufe0f\u20e3 👩\u200d👧\n", NULL, NULL},
		{"👩\u200d\n", "👩\\u200d\n", "👩\\u200d\n"},
		{"می\u200cخ", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *text = rows[i].text == NULL ? rows[i].bytes : rows[i].text;
		const size_t len = strlen(rows[i].bytes);
		struct buffer out = BUFFER_INIT;

		terminal_text(&out, rows[i].bytes, len);
		assert_string_equal(buffer_string(&out), text);
		buffer_clear(&out);
		terminal_json(&out, rows[i].bytes, len);
		assert_string_equal(buffer_string(&out), rows[i].json == NULL ? rows[i].bytes : rows[i].json);
		buffer_free(&out);
	}
}

/* A character, an emoji and a joiner may be cut between two pieces. */
static void
terminal_in_pieces(void **state)
{
	static const char *const texts[] = {
		"aéb", "x 👩\u200d👧 y", "👩🏽\u200d❤\ufe0f\u200d💋\u200d👨🏾", "👩\u200d",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		for (size_t first = 1; first < strlen(texts[i]); first++) {
			struct buffer out = BUFFER_INIT, cut = BUFFER_INIT, whole = BUFFER_INIT;

			terminal_text(&whole, texts[i], strlen(texts[i]));
			terminal_piece(&out, &cut, texts[i], first);
			terminal_piece(&out, &cut, texts[i] + first, strlen(texts[i]) - first);
			terminal_piece(&out, &cut, "", 0);
			assert_string_equal(buffer_string(&out), buffer_string(&whole));
			assert_int_equal(cut.len, 0);
			buffer_free(&out);
			buffer_free(&cut);
			buffer_free(&whole);
		}
}

static void
parts(void **state)
{
	static const struct {
		const char *text, *parts; /* each with a | behind it */
	} rows[] = {
		{"", "|"},
		{"a", "a|"},
		{"a,bc", "a|bc|"},
		{",a,,b,", "|a||b||"},
		{NULL, ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct buffer out = BUFFER_INIT;
		const char *at = rows[i].text, *part;
		size_t len;

		while ((part = text_part(&at, ',', &len)) != NULL)
			buffer_format(&out, "%.*s|", (int)len, part);
		assert_string_equal(buffer_string(&out), rows[i].parts);
		buffer_free(&out);
	}
}

static void
secrets_are_hidden(void **state)
{
	static const char secret[] = "sk+ab/cd%ef";
	static const struct {
		const char *text, *hidden;
	} rows[] = {
		{"x sk+ab/cd%ef y", "x *********** y"},
		{"sk+ab/cd%efsk+ab/cd%ef", "**********************"},
		{"{\"k\":\"sk+ab\\/cd%ef\"}", "{\"k\":\"************\"}"},
		{"\\u0073k\\u002Bab\\u002fcd%ef", "**************************"},
		{"?key=sk%2Bab%2fcd%25ef&x", "?key=*****************&x"},
		{"sk+ab/cd%e", "sk+ab/cd%e"},
		{"sk+ab\\/cd%2", "sk+ab\\/cd%2"},
		{"\\u0073k\\u01", "\\u0073k\\u01"},
		{"sk+ab\\u102fcd%ef", "sk+ab\\u102fcd%ef"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const size_t len = strlen(rows[i].text);
		char *text = malloc(len);    /* no NUL ends it */

		memcpy(text, rows[i].text, len);
		assert_int_equal(text_has(text, len, secret), strcmp(rows[i].text, rows[i].hidden) != 0);
		text_hide(text, len, secret);
		assert_memory_equal(text, rows[i].hidden, len);
		free(text);
	}
}

static void
hides_in_data_what_is_no_word(void **state)
{
	static const char *const list[] = { "sk-0123456789abcdef", "placeholder", "no-digit-in-it-but-long", "sk-0/9",
		NULL };
	char *const *secrets = (char *const *)(uintptr_t)list;
	char text[] = "sk-0123456789abcdef placeholder no-digit-in-it-but-long sk-0/9";
	static const struct {
		const char *text;
		size_t begun;
	} rows[] = {
		{ "", 0 }, { "a", 0 }, { "as", 1 }, { "sk-0123456789abcde", 18 }, { "sk-0123456789abcdef", 0 },
		{ "sksk-0", 4 }, { "sk-0x", 0 }, { "s\\u00", 5 }, { "sk-%", 4 }, { "placeholde", 0 },
		{ "s%6", 3 }, { "sk-\\u0030", 9 }
	};

	(void)state;
	text_hide_in_data(text, strlen(text), secrets);
	assert_string_equal(text, "******************* placeholder no-digit-in-it-but-long sk-0/9");
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(text_secret_begun(rows[i].text, strlen(rows[i].text), secrets), rows[i].begun);
	assert_int_equal(text_secret_begun("s", 1, NULL), 0);
}

static void
prefixes(void **state)
{
	static const char tabs[] = { '\t', ' ', '\t' };

	(void)state;
	assert_int_equal(text_prefix_of(tabs, sizeof tabs, " \t"), 3);
	assert_int_equal(text_prefix_of(tabs, 1, " \t"), 1);
	assert_int_equal(text_prefix_of(tabs, sizeof tabs, "\t"), 1);
	assert_int_equal(text_prefix_of("\0\t", 2, "\t"), 0);
	assert_int_equal(text_prefix_of(NULL, 0, "\t"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decodes_and_encodes),
		cmocka_unit_test(validity_at_any_place),
		cmocka_unit_test(whole_characters),
		cmocka_unit_test(names),
		cmocka_unit_test(suggestions),
		cmocka_unit_test(visible),
		cmocka_unit_test(invisible),
		cmocka_unit_test(terminal),
		cmocka_unit_test(terminal_in_pieces),
		cmocka_unit_test(parts),
		cmocka_unit_test(secrets_are_hidden),
		cmocka_unit_test(hides_in_data_what_is_no_word),
		cmocka_unit_test(prefixes),
	};

	return cmocka_run_group_tests_name("base/text", tests, NULL, NULL);
}
