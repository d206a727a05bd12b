/* json/pattern: what matches, and what is refused and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "json/pattern.h"

#define TEXT(text) text, sizeof(text) - 1

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
};

static const struct {
	const char *pattern, *why;
} refused[] = {
	{ "(?=a)", "lookaround is not supported" },
	{ "(?!a)", "lookaround is not supported" },
	{ "(?<=a)b", "lookaround is not supported" },
	{ "(?<!a)b", "lookaround is not supported" },
	{ "(a)\\1", "backreferences are not supported" },
	{ "(?<x>a)\\k<x>", "backreferences are not supported" },
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
		struct pattern *p = pattern_compile(matches[i].pattern,
		    strlen(matches[i].pattern), &why);

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
		bool matched;

		if (p == NULL)
			fail_msg("%s: %s", found[i].pattern, why);
		matched = pattern_find(p, found[i].text, strlen(found[i].text), &start, &end);
		if (matched != (found[i].start != -1) ||
		    (matched && (start != (size_t)found[i].start || end != found[i].end)))
			fail_msg("%s in '%s': %d, %zu to %zu", found[i].pattern, found[i].text,
			    matched, start, end);
		pattern_free(p);
	}
}

static void
others_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		const char *why = NULL;
		struct pattern *p = pattern_compile(refused[i].pattern,
		    strlen(refused[i].pattern), &why);

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_match),
		cmocka_unit_test(matches_are_found),
		cmocka_unit_test(others_are_refused),
		cmocka_unit_test(deep_groups_are_refused),
		cmocka_unit_test(time_is_linear),
	};

	return cmocka_run_group_tests_name("pattern", tests, NULL, NULL);
}
