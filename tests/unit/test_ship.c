/* cmd/ship: what databases refuse of JSON is replaced, and nothing else; which lines of a batch a
 * target does not have, and which it refuses. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "ship/batch.h"
#include "ship/copy.h"
#include "ship/row.h"

static void
test_clean(void **state)
{
	static const struct { const char *json, *clean; } cases[] = {
		/* NULL: as it is */
		{ "{\"a\":\"b\\\"\\\\u0000\\\\\",\"n\":[1,-2.5e3,0.1]}", NULL },
		{ "\"\\ud83d\\ude00 \\u00e9\\uffff\"", NULL },
		{ "{\"1e999\":\"1e999\"}", NULL },
		{ "\"a\\u0000b\"", "\"a\\ufffdb\"" },
		{ "\"\\u0000\"", "\"\\ufffd\"" },
		{ "\"\\ud83d\"", "\"\\ufffd\"" },
		{ "\"\\ud83d\\u0041\"", "\"\\ufffd\\u0041\"" },
		{ "\"\\ud83d\\ud83d\\ude00\"", "\"\\ufffd\\ud83d\\ude00\"" },
		{ "\"\\ude00\\\\ud83d\"", "\"\\ufffd\\\\ud83d\"" },
		{ "{\"k\\u0000\":1}", "{\"k\\ufffd\":1}" },
		{ "[1e999,-1E-999,1e5,1]", "[null,null,1e5,1]" },
		{ "1e999", "null" },
	};
	struct buffer long_number = BUFFER_INIT, out = BUFFER_INIT;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct span json = span_of(cases[i].json, strlen(cases[i].json));

		buffer_clear(&out);
		assert_int_equal(row_clean(json, &out), cases[i].clean != NULL);
		assert_string_equal(buffer_string(&out), cases[i].clean != NULL ? cases[i].clean : "");
	}
	buffer_text(&long_number, "[7,");
	for (int i = 0; i < 400; i++)
		buffer_byte(&long_number, '1');
	buffer_text(&long_number, ",8]");
	buffer_clear(&out);
	assert_true(row_clean(span_of(long_number.data, long_number.len), &out));
	assert_string_equal(out.data, "[7,null,8]");
	buffer_free(&long_number);
	buffer_free(&out);
}

static void
test_copy_numeric(void **state)
{
	static const struct { const char *number; short words[8]; size_t count; } cases[] = {
		/* digits, weight, sign, dscale, then each digit of base 10000 */
		{ "0", { 0, 0, 0, 0 }, 4 },
		{ "-0.000", { 0, 0, 0, 3 }, 4 },
		{ "1", { 1, 0, 0, 0, 1 }, 5 },
		{ "-10000", { 1, 1, 0x4000, 0, 1 }, 5 },
		{ "0.0041", { 1, -1, 0, 4, 41 }, 5 },
		{ "1e-7", { 1, -2, 0, 7, 10 }, 5 },
		{ "123456.789", { 3, 1, 0, 3, 12, 3456, 7890 }, 7 },
		{ "12E+30", { 1, 7, 0, 0, 1200 }, 5 },
		{ "00010001.00010000", { 3, 1, 0, 8, 1, 1, 1 }, 7 },
		{ "1e9999", { 1, 2499, 0, 0, 1000 }, 5 },
		{ "1e-9999", { 1, -2500, 0, 9999, 10 }, 5 },
		/* not representable */
		{ "1e10000", { 0 }, 0 },
		{ "1e-99999999999999999999", { 0 }, 0 },
		{ "12345678901234567890123456789012345678901234567890123456789012345", { 0 }, 0 },
	};
	struct buffer out = BUFFER_INIT;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		buffer_clear(&out);
		assert_int_equal(copy_numeric(&out, cases[i].number), cases[i].count > 0 ? 0 : -1);
		assert_int_equal(out.len, cases[i].count > 0 ? 4 + 2 * cases[i].count : 0);
		for (size_t j = 0; j < cases[i].count; j++) {
			const unsigned char *word = (const unsigned char *)out.data + 4 + 2 * j;

			assert_int_equal((short)(word[0] << 8 | word[1]), cases[i].words[j]);
		}
	}
	buffer_free(&out);
}

/* A line of a chain: seq, and the digest of the one before it. */
static void
add_line(struct batch *b, struct batch_run *run, int64_t seq, const char *what,
    char prev[DIGEST_SIZE])
{
	char *line = memory_format("{\"seq\":%lld,\"event_id\":\"e\",\"type\":\"%s\",\"prev\":\"%s\"}",
	    (long long)seq, what, prev);

	batch_add(b, run, span_of(line, strlen(line)), seq, "", "");
	digest_blake2b(line, strlen(line), prev);
	free(line);
}

static bool line_is_there;

static int
same(void *context, const struct batch_run *run, size_t number, struct error *err)
{
	(void)context;
	assert_int_equal(number, run->count - 1);
	return line_is_there ? 0 : error_set(err, ERROR_DIVERGENCE, NULL, "another");
}

static void
test_new_lines(void **state)
{
	char digests[6][DIGEST_SIZE];
	struct batch b = { .runs = NULL };
	struct batch_run *run = batch_run(&b, "7d44ba3e-1111-4111-8111-111111111111", "o", "t", 1);
	struct position have = { .seq = 0 };
	struct error err = ERROR_INIT;
	size_t first = 9;

	(void)state;
	memset(digests[0], '0', DIGEST_SIZE - 1);
	digests[0][DIGEST_SIZE - 1] = '\0';
	for (int64_t seq = 1; seq <= 4; seq++) {
		memcpy(digests[seq], digests[seq - 1], DIGEST_SIZE);
		add_line(&b, run, seq, "x", digests[seq]);
	}
	/* What the target has, from nothing to all. */
	for (int64_t seq = 0; seq <= 4; seq++) {
		have.seq = seq;
		memcpy(have.digest, digests[seq], DIGEST_SIZE);
		assert_int_equal(batch_new_lines(run, &have, &first, same, NULL, &err), 0);
		assert_int_equal(first, seq);
		if (seq == 0)
			continue;
		have.digest[5] = have.digest[5] == 'a' ? 'b' : 'a';
		assert_int_equal(batch_new_lines(run, &have, &first, same, NULL, &err), -1);
		assert_int_equal(err.code, ERROR_DIVERGENCE);
	}
	/* And more than that. */
	have.seq = 7;
	line_is_there = true;
	assert_int_equal(batch_new_lines(run, &have, &first, same, NULL, &err), 0);
	assert_int_equal(first, 4);
	line_is_there = false;
	assert_int_equal(batch_new_lines(run, &have, &first, same, NULL, &err), -1);
	batch_position(run, &have);
	assert_int_equal(have.seq, 4);
	assert_string_equal(have.digest, digests[4]);

	/* It has less than what it was sent before. */
	batch_clear(&b);
	assert_int_equal(b.with_count, 0);
	add_line(&b, run, 3, "x", digests[2]);
	have.seq = 1;
	assert_int_equal(batch_new_lines(run, &have, &first, same, NULL, &err), -1);
	assert_string_equal(err.message, "the target has lost lines: it has 1, and had 2");
	batch_free(&b);
}

/* Runs with lines are in the order of their ids, whatever comes first. */
static void
test_order(void **state)
{
	static const char *const ids[] = { "bbbbbbbb-1111-4111-8111-111111111111",
		"aaaaaaaa-1111-4111-8111-111111111111", "cccccccc-1111-4111-8111-111111111111" };
	char prev[DIGEST_SIZE] = "0";
	struct batch b = { .runs = NULL };

	(void)state;
	for (size_t i = 0; i < COUNT(ids); i++) {
		const struct batch_run *run = batch_run(&b, ids[i], "", "", 0);

		assert_ptr_equal(batch_run(&b, ids[i], "o", "t", 1), run);
	}
	for (size_t i = 0; i < COUNT(ids); i++)
		if (i != 2)
			add_line(&b, b.runs[i], 1, "x", prev);
	batch_sort(&b);
	assert_int_equal(b.run_count, 3);
	assert_int_equal(b.with_count, 2);
	assert_string_equal(b.with[0]->run_id, ids[1]);
	assert_string_equal(b.with[1]->run_id, ids[0]);
	assert_string_equal(b.with[0]->origin, "o");
	batch_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_copy_numeric),
		cmocka_unit_test(test_new_lines),
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
