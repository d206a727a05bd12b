/* schema/pattern: what matches, and what is refused and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "schema/pattern.h"

#define TEXT(text) text, sizeof(text) - 1

/* As zod has them, and a password that is to have one of each. */
#define MAIL "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$"
#define DURATION "^P(?:(\\d+W)|(?!.*W)(?=\\d|T\\d)(\\d+Y)?(\\d+M)?(\\d+D)?(T(?=\\d)(\\d+H)?(\\d+M)?(\\d+([.,]\\d+)?S)?)?)$"
#define HOST "^(?=.{1,253}\\.?$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[-0-9a-zA-Z]{0,61}[0-9a-zA-Z])?)*\\.?$"
#define PASSWORD "^(?=.*[a-z])(?=.*[A-Z])(?=.*\\d)(?=.*[^\\w\\s]).{8,}$"

static const struct {
	const char *pattern;
	const char *text;
	size_t len;
	bool matches;
} matches[] = {
	{ "", TEXT(""), true },
	{ "", TEXT("anything"), true },
	{ "b", TEXT("abc"), true },
	{ "^b", TEXT("abc"), false },
	{ "b$", TEXT("abc"), false },
	{ "^abc$", TEXT("abc"), true },
	{ "^$", TEXT(""), true },
	{ "^$", TEXT("\n"), false },
	{ "a$", TEXT("a\n"), false },
	{ "^a.c$", TEXT("abc"), true },
	{ "^a.c$", TEXT("a\nc"), false },
	{ "^a.c$", TEXT("a\xe2\x80\xa8" "c"), false },
	{ "^.$", TEXT("\xc3\xa9"), true },
	{ "^.$", TEXT("\xf0\x9f\x98\x80"), true },
	{ "^..$", TEXT("\xf0\x9f\x98\x80"), false },
	{ "^a.b$", TEXT("a\0b"), true },
	{ "^\\0$", TEXT("\0"), true },
	{ "^\\d+$", TEXT("0129"), true },
	{ "^\\d+$", TEXT("12a"), false },
	{ "^\\D$", TEXT("x"), true },
	{ "^\\D$", TEXT("7"), false },
	{ "^\\w+$", TEXT("aZ_9"), true },
	{ "^\\w$", TEXT("\xc3\xa9"), false },
	{ "^\\W$", TEXT("\xc3\xa9"), true },
	{ "^\\s$", TEXT("\xc2\xa0"), true },
	{ "^\\S$", TEXT("\xc2\xa0"), false },
	{ "^[\\s\\S]*$", TEXT("a\nb \xf0\x9f\x98\x80"), true },
	{ "^[\\d-]+$", TEXT("1-2"), true },
	{ "^[\\D]$", TEXT("1"), false },
	{ "^[^\\d]$", TEXT("1"), false },
	{ "^[^\\d]$", TEXT("x"), true },
	{ "^[]$", TEXT(""), false },
	{ "^[^]$", TEXT("\n"), true },
	{ "^[a-c]$", TEXT("b"), true },
	{ "^[a-c]$", TEXT("d"), false },
	{ "^[-a]$", TEXT("-"), true },
	{ "^[a-]$", TEXT("-"), true },
	{ "^[\\]\\\\]+$", TEXT("]\\"), true },
	{ "^[\\b]$", TEXT("\b"), true },
	{ "^\\p{L}+$", TEXT("a\xcf\x80\xd0\x96\xe4\xb8\xad"), true },
	{ "^\\p{Letter}$", TEXT("1"), false },
	{ "^\\P{Letter}$", TEXT("1"), true },
	{ "^\\P{gc=L}$", TEXT("a"), false },
	{ "^\\p{General_Category=Uppercase_Letter}\\p{Ll}$", TEXT("Aa"), true },
	{ "^\\p{Lu}$", TEXT("a"), false },
	{ "^\\p{LC}$", TEXT("\xe4\xb8\xad"), false },
	{ "^\\p{digit}+$", TEXT("7\xe0\xa5\xaa"), true },
	{ "^[\\p{Sc}\\d]+$", TEXT("\xe2\x82\xac" "5"), true },
	{ "^[^\\p{P}\\p{Z}]$", TEXT(","), false },
	{ "^[^\\p{P}\\p{Z}]$", TEXT("x"), true },
	{ "^\\p{Cn}$", TEXT("\xf4\x8f\xbf\xbf"), true },
	{ "^\\p{Any}$", TEXT("\xf4\x8f\xbf\xbf"), true },
	{ "^\\P{Any}$", TEXT("a"), false },
	{ "^[z-z0-9a-cb-d]+$", TEXT("0abcdz9"), true },
	{ "^[z-z0-9a-cb-d]+$", TEXT("e"), false },
	{ "^[.*+?]+$", TEXT("*.+?"), true },
	{ "^[\xd0\xb0-\xd1\x8f]+$", TEXT("\xd0\xbf\xd1\x80\xd0\xb8"), true },
	{ "^[\xd0\xb0-\xd1\x8f]+$", TEXT("\xd0\x9f"), false },
	{ "^[\\u0430-\\u044f]$", TEXT("\xd0\xbf"), true },
	{ "^\\u00e9$", TEXT("\xc3\xa9"), true },
	{ "^\\uD83D\\uDE00$", TEXT("\xf0\x9f\x98\x80"), true },
	{ "^\\u{1F600}$", TEXT("\xf0\x9f\x98\x80"), true },
	{ "^\\x41\\cJ\\t$", TEXT("A\n\t"), true },
	{ "^\\/\\.\\-\\$$", TEXT("/.-$"), true },
	{ "^(a|b)c$", TEXT("bc"), true },
	{ "^(?:a|bc|)d$", TEXT("d"), true },
	{ "^(?:a|bc|)d$", TEXT("bcd"), true },
	{ "^(?:a|bc|)d$", TEXT("cd"), false },
	{ "^(?<year>\\d{4})-(?<month>\\d\\d)$", TEXT("2026-11"), true },
	{ "a|b|c|d", TEXT("xxd"), true },
	{ "^a|b$", TEXT("xb"), true },
	{ "^a*$", TEXT(""), true },
	{ "^a+$", TEXT(""), false },
	{ "^a+?$", TEXT("aa"), true },
	{ "^ab?c$", TEXT("ac"), true },
	{ "^a{2}$", TEXT("aa"), true },
	{ "^a{2}$", TEXT("aaa"), false },
	{ "^a{2,}$", TEXT("aaaa"), true },
	{ "^a{2,}$", TEXT("a"), false },
	{ "^a{1,3}$", TEXT("aaa"), true },
	{ "^a{1,3}$", TEXT("aaaa"), false },
	{ "^a{0}b$", TEXT("b"), true },
	{ "^(ab){2}$", TEXT("abab"), true },
	{ "^(a*)*$", TEXT("aaaa"), true },
	{ "^(a|b*)*c$", TEXT("abbac"), true },
	{ "^(){3}a$", TEXT("a"), true },
	{ "^a{,2}$", TEXT("a{,2}"), true },
	{ "^{}$", TEXT("{}"), true },
	{ "^]$", TEXT("]"), true },
	{ "\\bfoo\\b", TEXT("a foo."), true },
	{ "\\bfoo\\b", TEXT("afoo"), false },
	{ "\\Boo", TEXT("foo"), true },
	{ "\\Bfoo", TEXT("foo"), false },
	{ "^\\B$", TEXT(""), true },
	{ "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
	  TEXT("6ba7b810-9dad-41d1-80b4-00c04fd430c8"), true },
	{ "^[^@\\s]+@[^@\\s]+\\.[a-z]{2,}$", TEXT("a.b@example.org"), true },
	{ "^[^@\\s]+@[^@\\s]+\\.[a-z]{2,}$", TEXT("a b@example.org"), false },
	{ MAIL, TEXT("a.b@example.org"), true },
	{ MAIL, TEXT(".a@example.org"), false },
	{ MAIL, TEXT("a..b@example.org"), false },
	{ MAIL, TEXT("o'n+x-1@a-b.c.io"), true },
	{ MAIL, TEXT("a.@b.cd"), false },
	{ DURATION, TEXT("P3Y6M4DT12H30M5S"), true },
	{ DURATION, TEXT("P2W"), true },
	{ DURATION, TEXT("P1YW"), false },
	{ DURATION, TEXT("P"), false },
	{ DURATION, TEXT("P1DT"), false },
	{ DURATION, TEXT("PT1.5S"), true },
	{ HOST, TEXT("www.example.org"), true },
	{ HOST, TEXT("-a.org"), false },
	{ PASSWORD, TEXT("aB3$efgh"), true },
	{ PASSWORD, TEXT("aB3efghi"), false },
	{ PASSWORD, TEXT("aB3$efg"), false },
	{ PASSWORD, TEXT("AB3$EFGH"), false },
	{ "^(?!foo)", TEXT("foobar"), false },
	{ "^(?!foo)", TEXT("barfoo"), true },
	{ "^(?!foo$).*$", TEXT("foo"), false },
	{ "^(?!foo$).*$", TEXT("food"), true },
	{ "(?<=a)b", TEXT("ab"), true },
	{ "(?<=a)b", TEXT("cb"), false },
	{ "(?<!a)b", TEXT("ab"), false },
	{ "(?<!a)b", TEXT("b"), true },
	{ "(?<!a)b", TEXT("abb"), true },
	{ "(?<=\\d{3}|x)y", TEXT("12y"), false },
	{ "(?<=\\d{3}|x)y", TEXT("123y"), true },
	{ "(?<=\\d{3}|x)y", TEXT("xy"), true },
	{ "(?<=^ab*)c", TEXT("abbbc"), true },
	{ "(?<=^ab*)c", TEXT("xabc"), false },
	{ "(?<=a(?=bc)b)c", TEXT("abc"), true },
	{ "(?<=a(?=bd)b)c", TEXT("abc"), false },
	{ "a(?=b(?!c))", TEXT("abcabd"), true },
	{ "a(?=b(?!c))", TEXT("abcabc"), false },
	{ "^(?!.*(?<!x)y)", TEXT("xyxy"), true },
	{ "^(?!.*(?<!x)y)", TEXT("xyay"), false },
	{ "a(?=\\b)", TEXT("ab a"), true },
	{ "(?=$)", TEXT("abc"), true },
	{ "(?=^)b", TEXT("ab"), false },
	{ "(?:(?=a)a|(?!a)b)+$", TEXT("abab"), true },
	{ "^(?=(ab|a|b){2,3}$)a", TEXT("aba"), true },
	{ "^(?=(ab|c){2}$)a", TEXT("abab"), true },
	{ "^(?=(ab|c){2}$)a", TEXT("aba"), false },
	{ "^(?=[\xc3\xa9]x)..$", TEXT("\xc3\xa9x"), true },
	{ "(?<=\xc3\xa9)x", TEXT("\xc3\xa9x"), true },
	{ "(?<!\xc3\xa9)x", TEXT("\xc3\xa9x"), false },
	{ "(?!)", TEXT("a"), false },
	{ "(?=)", TEXT(""), true },
	{ "(?<!)", TEXT(""), false },
	{ "^(a+)b\\1$", TEXT("aabaa"), true },
	{ "^(a+)b\\1$", TEXT("aaba"), false },
	{ "^(['\"]).*\\1$", TEXT("'x'"), true },
	{ "^(['\"]).*\\1$", TEXT("'x\""), false },
	{ "^(?<year>\\d+)-\\k<year>$", TEXT("12-12"), true },
	{ "^(?<year>\\d+)-\\k<year>$", TEXT("12-13"), false },
	{ "^(?:(?<q>a)|(?<q>b))\\k<q>$", TEXT("bb"), true },
	{ "^(?:(?<q>a)|(?<q>b))\\k<q>$", TEXT("ab"), false },
	{ "^\\k<x>(?<x>a)$", TEXT("a"), true },
	{ "^(?:(a)|b)*\\1$", TEXT("ab"), true },
	{ "^(?:(a)|b)*\\1$", TEXT("aba"), false },
	{ "^(?:(a)|b)*\\1c$", TEXT("bac"), false },
	{ "^(?:(a)|b)*\\1c$", TEXT("baac"), true },
	{ "^(a*)*\\1b$", TEXT("aab"), true },
	{ "^(a\\1)$", TEXT("a"), true },
	{ "^(?=(a+))\\1b$", TEXT("aab"), true },
	{ "^(?=(a+))\\1ab$", TEXT("aab"), false },
	{ "(?<=(\\w)\\1)x", TEXT("aax"), true },
	{ "(?<=\\1(\\w))x", TEXT("aax"), true },
	{ "(?<=\\1(\\w))x", TEXT("abx"), false },
	{ "^(?!(.).*\\1).*$", TEXT("abc"), true },
	{ "^(?!(.).*\\1).*$", TEXT("abca"), false },
	{ "^(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)\\10$", TEXT("abcdefghijj"), true },
	{ "^(?:(a|b)\\1)+$", TEXT("aabbaa"), true },
	{ "^(?:(a|b)\\1){2,}$", TEXT("aabb"), true },
	{ "^(?:(a|b)\\1){2,}$", TEXT("aaba"), false },
	{ "^(.+?)\\1+?$", TEXT("abcabcabc"), true },
	{ "^(\xf0\x9f\x98\x80)\\1$", TEXT("\xf0\x9f\x98\x80\xf0\x9f\x98\x80"), true },
	{ "^(?<$a_1>x)\\k<$a_1>$", TEXT("xx"), true },
};

static const struct {
	const char *pattern, *why;
} refused[] = {
	{ "(?=a)*", "there is nothing to repeat" },
	{ "(?<!a){2}", "there is nothing to repeat" },
	{ "(?=a", "( has no )" },
	{ "(?<=", "( has no )" },
	{ "(?!a(?<=*))", "there is nothing to repeat" },
	{ "(a)\\2", "a backreference leads to no group" },
	{ "\\1", "a backreference leads to no group" },
	{ "(?:a)\\1", "a backreference leads to no group" },
	{ "(a)\\99999999999999999999999", "a backreference leads to no group" },
	{ "(?<x>a)\\k<y>", "a backreference leads to no group" },
	{ "(?<x>a)\\k<x", "the name of a group has no >" },
	{ "(?<x>a)\\k", "\\k has no <\xe2\x80\xa6>" },
	{ "(?<>a)", "the name of a group is empty" },
	{ "[\\1]", "it has an unknown escape" },
	{ "\\00", "it has an unknown escape" },
	{ "(?i)a", "inline flags are not supported" },
	{ "(?<x", "the name of a group has no >" },
	{ "\\p{Greek}", "\\p{\xe2\x80\xa6} names no general category; others are not supported" },
	{ "\\p{Script=Greek}",
	  "\\p{\xe2\x80\xa6} names no general category; others are not supported" },
	{ "[\\p{}]", "\\p{\xe2\x80\xa6} names no general category; others are not supported" },
	{ "\\pL", "\\p has no {\xe2\x80\xa6}" },
	{ "\\p{L", "\\p has no {\xe2\x80\xa6}" },
	{ "\\A", "it has an unknown escape" },
	{ "a\\", "it ends in a backslash" },
	{ "(a", "( has no )" },
	{ "a)", ") has no (" },
	{ "[a", "[ has no ]" },
	{ "[a\\", "it ends in a backslash" },
	{ "*a", "there is nothing to repeat" },
	{ "a**", "there is nothing to repeat" },
	{ "(|+)", "there is nothing to repeat" },
	{ "^*", "there is nothing to repeat" },
	{ "{2}", "there is nothing to repeat" },
	{ "[b-a]", "a range is out of order" },
	{ "[a-\\d]", "a range ends in a class" },
	{ "a{3,2}", "the numbers of a repetition are out of order" },
	{ "a{10001}", "it repeats too often" },
	{ "a{99999999999999999999}", "it repeats too often" },
	{ "((a{100}){100}){100}", "the pattern is too large" },
	{ "\\u12", "an escape does not name a code point" },
	{ "\\u{110000}", "an escape does not name a code point" },
	{ "\\u{41", "\\u{ has no }" },
	{ "\\xg0", "an escape does not name a code point" },
	{ "\\ud83d\\u0041", "half of a surrogate pair is missing" },
};

static void
patterns_match(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof matches / sizeof *matches; i++) {
		const char *why = NULL;
		struct pattern *p = pattern_compile_as(matches[i].pattern,
		    strlen(matches[i].pattern), PATTERN_REFERENCES, &why);

		if (p == NULL)
			fail_msg("%s: %s", matches[i].pattern, why);
		if (pattern_matches(p, matches[i].text, matches[i].len) != matches[i].matches)
			fail_msg("%s on '%s': expected %d", matches[i].pattern, matches[i].text,
			    matches[i].matches);
		pattern_free(p);
	}
}

/* Where the first match from start on is; -1: there is none. */
static const struct {
	unsigned flags;
	const char *pattern, *text;
	size_t from;
	int start;
	size_t end;
} found[] = {
	{ 0, "b", "abab", 0, 1, 2 },
	{ 0, "b", "abab", 2, 3, 4 },
	{ 0, "b", "aba", 2, -1, 0 },
	{ 0, "", "ab", 1, 1, 1 },
	{ 0, "a*", "baac", 1, 1, 3 },
	{ 0, "a+", "baac", 0, 1, 3 },
	{ 0, "a+?", "baac", 0, 1, 2 },
	{ 0, "<.*>", "<a><b>", 0, 0, 6 },
	{ 0, "<.*?>", "<a><b>", 0, 0, 3 },
	{ 0, "<.{1,3}>", "<a><b>", 0, 0, 3 },
	{ 0, "a{2,3}?", "aaaa", 0, 0, 2 },
	{ 0, "a??b", "aab", 0, 1, 3 },
	{ 0, "a|ab", "ab", 0, 0, 1 },
	{ 0, "ab|a", "ab", 0, 0, 2 },
	{ 0, "(a|ab)(c|bcd)", "abcd", 0, 0, 4 },
	{ 0, "x*y|abc", "xxabc", 0, 2, 5 },
	{ 0, "abcd|bc", "abce", 0, 1, 3 },
	{ 0, "\\bb", "ab b", 0, 3, 4 },
	{ 0, "^b", "a\nb", 0, -1, 0 },
	{ PATTERN_LINES, "^b", "a\nb", 0, 2, 3 },
	{ PATTERN_LINES, "a$", "a\nb", 0, 0, 1 },
	{ PATTERN_LINES, "^$", "a\n\nb", 0, 2, 2 },
	{ 0, "a.b", "a\nb", 0, -1, 0 },
	{ PATTERN_ALL, "a.b", "a\nb", 0, 0, 3 },
	{ PATTERN_ALL | PATTERN_LINES, "^a.*b$", "a\nb\nb", 0, 0, 5 },
	{ 0, "abc", "ABC", 0, -1, 0 },
	{ PATTERN_FOLD, "aBc", "AbC", 0, 0, 3 },
	{ PATTERN_FOLD, "[a-c]+", "xABCd", 0, 1, 4 },
	{ PATTERN_FOLD, "[^a-c]", "ABCd", 0, 3, 4 },
	{ PATTERN_FOLD, "[Z-b]", "z", 0, 0, 1 },
	{ 0, "a+(?=b)", "aac aab", 0, 4, 6 },
	{ 0, "(?<=a)a", "baaa", 2, 2, 3 },
	{ PATTERN_LINES, "(?<=^ *)b", "ab\n  b", 0, 5, 6 },
	{ PATTERN_FOLD, "(?<!A)b", "aB b", 0, 3, 4 },
	{ PATTERN_REFERENCES, "(.)\\1", "abccd", 1, 2, 4 },
	{ PATTERN_REFERENCES, "(a|ab)(c|bcd)\\1?", "abcda", 0, 0, 5 },
	{ PATTERN_FOLD, "\xc3\xa9", "\xc3\x89", 0, -1, 0 },
};

static void
matches_are_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
		const char *why = "";
		struct pattern *p = pattern_compile_as(found[i].pattern, strlen(found[i].pattern),
		    found[i].flags, &why);
		size_t start = found[i].from, end = 0;
		struct pattern_search *search;
		bool matched;

		if (p == NULL)
			fail_msg("%s: %s", found[i].pattern, why);
		search = pattern_search_begin(p, found[i].text, strlen(found[i].text));
		matched = pattern_search_next(search, &start, &end);
		if (matched != (found[i].start != -1) ||
		    (matched && (start != (size_t)found[i].start || end != found[i].end)))
			fail_msg("%s in '%s': %d, %zu to %zu", found[i].pattern, found[i].text,
			    matched, start, end);
		pattern_search_end(search);
		pattern_free(p);
	}
}

static void
others_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		const char *why = NULL;
		struct pattern *p = pattern_compile_as(refused[i].pattern,
		    strlen(refused[i].pattern), PATTERN_REFERENCES, &why);

		if (p != NULL)
			fail_msg("%s was taken", refused[i].pattern);
		assert_string_equal(why, refused[i].why);
	}
}

static void
deep_groups_are_refused(void **state)
{
	char source[201];
	const char *why = NULL;

	(void)state;
	memset(source, '(', 100);
	memset(source + 100, ')', 100);
	assert_null(pattern_compile(source, 200, &why));
	assert_string_equal(why, "groups are nested too deeply");
}

/* Would take 2^100000 steps if alternatives were tried one after another. */
static void
time_is_linear(void **state)
{
	static const char source[] = "^(a|a)*(a|a)*(aa*)*$";
	const char *why = NULL;
	struct pattern *p = pattern_compile(source, sizeof source - 1, &why);
	char *text = memory_alloc(100001);

	(void)state;
	assert_non_null(p);
	memset(text, 'a', 100000);
	text[100000] = 'b';
	assert_false(pattern_matches(p, text, 100001));
	assert_true(pattern_matches(p, text, 100000));
	free(text);
	pattern_free(p);
}

static void
references_are_refused_unless_asked_for(void **state)
{
	const char *why = NULL;

	(void)state;
	assert_null(pattern_compile("(a)\\1", 5, &why));
	assert_string_equal(why, "backreferences are not supported");
	assert_null(pattern_compile("(?<x>a)\\k<x>", 12, &why));
	assert_string_equal(why, "backreferences are not supported");
}

/* What a pattern takes for so many letters a with a b after them, at most so many steps for
 * each of them; 0: it has references, and is given up. */
static void
work_is_bounded(void **state)
{
	static const struct {
		const char *pattern;
		long steps;
	} bounds[] = {
		{ "^(a|a)*(a|a)*(aa*)*$", 60 }, { "^(?=(a|a)*$)", 40 }, { "(?=(?=a*c)a*$)a", 60 },
		{ "(?<=^(a*)*)c", 60 }, { "(?!a*$)(?<!^a*)c", 60 }, { "^(a|a)*\\1c$", 0 },
		{ "^(?=((a+)+)+$)\\1", 0 }, { "^(a?){30}(a*)*\\2c", 0 },
	};
	enum { LENGTH = 20000 };
	char *text = memory_alloc(LENGTH + 1);

	(void)state;
	memset(text, 'a', LENGTH);
	text[LENGTH] = 'b';
	for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
		const char *why = "";
		long work = 1000000000, left = work;
		struct pattern *p = pattern_compile_as(bounds[i].pattern,
		    strlen(bounds[i].pattern), PATTERN_REFERENCES, &why);

		if (p == NULL)
			fail_msg("%s: %s", bounds[i].pattern, why);
		assert_int_equal(pattern_match(p, text, LENGTH + 1, &left),
		    bounds[i].steps == 0 ? -1 : 0);
		if (work - left > (bounds[i].steps == 0 ? 11000000 : bounds[i].steps * LENGTH))
			fail_msg("%s took %ld steps", bounds[i].pattern, work - left);
		left = 100;
		assert_int_equal(pattern_match(p, text, LENGTH + 1, &left), -1);
		assert_true(left < 0);
		pattern_free(p);
	}
	free(text);
}

static void
too_much_looking_around_is_refused(void **state)
{
	char source[66 * 4];
	const char *why = NULL;

	(void)state;
	for (size_t i = 0; i < 66; i++)
		memcpy(source + i * 4, "(?=)", 4);
	assert_null(pattern_compile(source, sizeof source, &why));
	assert_string_equal(why, "it looks ahead or behind too often");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_match),
		cmocka_unit_test(matches_are_found),
		cmocka_unit_test(others_are_refused),
		cmocka_unit_test(deep_groups_are_refused),
		cmocka_unit_test(time_is_linear),
		cmocka_unit_test(references_are_refused_unless_asked_for),
		cmocka_unit_test(work_is_bounded),
		cmocka_unit_test(too_much_looking_around_is_refused),
	};

	return cmocka_run_group_tests_name("pattern", tests, NULL, NULL);
}
