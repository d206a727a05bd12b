#!/usr/bin/env bats
# The table of options: a row whose member has another type, or does not hold all that the option
# may be, does not compile.
bats_require_minimum_version 1.5.0
load ../../support/helpers

# INTO: what a row ends with.
row_compiles() {
	cc -std=c11 -fsyntax-only -Wall -Wextra -Wpedantic -Wno-missing-field-initializers -Werror \
		-I"$BATS_TEST_DIRNAME/../../../lib" -x c - <<-END
		#include "base/options.h"
		struct s { bool flag; int small; unsigned natural; int64_t wide; const char *text; char *own, **list;
			char array[8]; short narrow; struct { const char *text; } inner; };
		extern const char *const words[];
		extern int check(const char *value, struct error *err);
		extern const struct option_spec table[];
		const struct option_spec table[] = { { 1, 'o', "option", "X", "help", OPTION_$1 }, { 0, 0, NULL, NULL, NULL } };
	END
}

@test "rows that fit their members compile" {
	for into in 'INTO_FLAG(struct s, flag)' 'INTO_NUMBER(struct s, small, INT_MIN, INT_MAX)' \
		'INTO_NUMBER(struct s, natural, 0, UINT_MAX)' 'INTO_VALUE(struct s, small, 7)' \
		'INTO_SIZE(struct s, wide)' 'INTO_TIME(struct s, wide)' 'INTO_DURATION(struct s, wide)' \
		'INTO_TEXT(struct s, inner.text)' 'INTO_TEXT_CHECKED(struct s, text, check)' \
		'INTO_CHOICE(struct s, text, words)' 'INTO_WORD(struct s, natural, words, 1)' \
		'INTO_LIST(struct s, list)' 'CALL(check)' 'ONLY_SAID' 'OWN'; do
		row_compiles "$into" || fail "$into"
	done
}

@test "rows that do not fit their members do not compile" {
	for into in 'INTO_FLAG(struct s, small)' 'INTO_FLAG(struct s, text)' 'INTO_NUMBER(struct s, flag, 0, 1)' \
		'INTO_NUMBER(struct s, narrow, 0, 1)' 'INTO_NUMBER(struct s, text, 0, 1)' \
		'INTO_NUMBER(struct s, small, 0, INT64_MAX)' 'INTO_NUMBER(struct s, natural, -1, 5)' \
		'INTO_VALUE(struct s, small, 1LL << 40)' 'INTO_VALUE(struct s, text, 0)' 'INTO_SIZE(struct s, small)' \
		'INTO_TIME(struct s, natural)' 'INTO_DURATION(struct s, small)' 'INTO_TEXT(struct s, own)' \
		'INTO_TEXT(struct s, array)' 'INTO_TEXT(struct s, list)' 'INTO_TEXT(struct s, missing)' \
		'INTO_CHOICE(struct s, wide, words)' 'INTO_WORD(struct s, text, words, 0)' 'INTO_LIST(struct s, text)' \
		'CALL(words)'; do
		! row_compiles "$into" 2>/dev/null || fail "$into"
	done
}
