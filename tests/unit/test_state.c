/* State lines: what is recognised, what stays exact, where input is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "storage/state.h"

#define RUN "11111111-1111-4111-8111-111111111111"
#define EVENT "22222222-2222-4222-8222-222222222222"
#define META "{\"run_id\":\"" RUN "\",\"event_id\":\"" EVENT "\"}"
#define LINE(data) "{\"data\":" data ",\"metadata\":" META "}"

static void
texts_lose_and_regain_their_newline(void **state)
{
	static const struct { const char *in, *json; int no_newline; } cases[] = {
		{ "a\n", "\"a\"", 0 },
		{ "a", "\"a\"", 1 },
		{ "a\n\n", "\"a\\n\"", 0 },
		{ "", "\"\"", 1 },
		{ "\n", "\"\"", 0 },
		{ "\"\\\t", "\"\\\"\\\\\\t\"", 1 },
		{ "\303\244\n", "\"\303\244\"", 0 },
	};
	struct data d = { BUFFER_INIT, false, false };
	struct buffer fed = BUFFER_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		data_from_text(&d, cases[i].in, strlen(cases[i].in));
		assert_string_equal(d.json.data, cases[i].json);
		assert_int_equal(d.no_newline, cases[i].no_newline);
		assert_false(d.base64);
		buffer_clear(&fed);
		data_feed(&d, &fed);
		assert_string_equal(buffer_string(&fed), cases[i].in);
	}
	data_free(&d);
	buffer_free(&fed);
}

static void
bytes_that_are_no_utf8_stay_themselves(void **state)
{
	static const struct { const char *bytes; size_t len; } cases[] = {
		{ "\xff\xfe\n", 3 }, { "a\xc3", 2 }, { "\x80", 1 }, { "\0\xff\0", 3 },
	};
	struct data d = { BUFFER_INIT, false, false };
	struct buffer fed = BUFFER_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		data_from_text(&d, cases[i].bytes, cases[i].len);
		assert_true(d.base64);
		buffer_clear(&fed);
		data_feed(&d, &fed);
		assert_int_equal(fed.len, cases[i].len);
		assert_memory_equal(fed.data, cases[i].bytes, cases[i].len);
	}
	data_free(&d);
	buffer_free(&fed);
}

static void
nul_is_a_character(void **state)
{
	struct data d = { BUFFER_INIT, false, false };
	struct buffer fed = BUFFER_INIT;

	(void)state;
	data_from_text(&d, "a\0b\n", 4);
	assert_string_equal(d.json.data, "\"a\\u0000b\"");
	data_feed(&d, &fed);
	assert_int_equal(fed.len, 4);
	assert_memory_equal(fed.data, "a\0b\n", 4);
	data_free(&d);
	buffer_free(&fed);
}

static void
json_is_fed_as_one_line_and_null_as_nothing(void **state)
{
	static const struct { const char *json, *fed, *raw; } cases[] = {
		{ "{ \"b\" : 1.50, \"a\" : [ ] }", "{\"b\":1.50,\"a\":[]}\n", "{\"b\":1.50,\"a\":[]}\n" },
		{ "null", "", "null\n" },
		{ "12345678901234567890", "12345678901234567890\n", "12345678901234567890\n" },
		{ "\"x\"", "x\n", "x\n" },
		{ "false", "false\n", "false\n" },
	};
	struct data d = { BUFFER_INIT, false, false };
	struct buffer out = BUFFER_INIT;
	struct error err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(data_from_json(&d, cases[i].json, strlen(cases[i].json), &err), 0);
		buffer_clear(&out);
		data_feed(&d, &out);
		assert_string_equal(buffer_string(&out), cases[i].fed);
		buffer_clear(&out);
		data_raw(&d, &out);
		assert_string_equal(buffer_string(&out), cases[i].raw);
	}
	assert_int_equal(data_from_json(&d, "{", 1, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID_INPUT);
	data_free(&d);
	buffer_free(&out);
}

static void
state_lines_are_recognised(void **state)
{
	static const struct { const char *text; int is; } cases[] = {
		{ LINE("1"), 1 },
		{ "{\"metadata\":" META ",\"data\":null}", 1 },
		{ " {\"data\":{},\"metadata\":{\"x\":1,\"event_id\":\"" EVENT "\",\"run_id\":\"" RUN "\"}} ", 1 },
		{ "{\"data\":1}", 0 },
		{ "{\"data\":1,\"metadata\":{}}", 0 },
		{ "{\"data\":1,\"metadata\":" META ",\"more\":1}", 0 },
		{ "{\"data\":1,\"metadata\":{\"run_id\":\"x\",\"event_id\":\"" EVENT "\"}}", 0 },
		{ "{\"data\":1,\"metadata\":{\"run_id\":\"" RUN "\"}}", 0 },
		{ "[1]", 0 },
		{ "\"text\"", 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(state_is(span_of(cases[i].text, strlen(cases[i].text))), cases[i].is);
}

/* Reads text in pieces of step bytes; the items' data joined by '|', then an error
 * message if there was one. */
static char *
read_items(const char *text, size_t len, enum input_form form, size_t step)
{
	struct state_reader r;
	struct buffer out = BUFFER_INIT;
	struct error err = ERROR_INIT;
	struct item item;
	size_t at = 0, piece;
	int fds[2], got;

	memset(&item, 0, sizeof item);
	assert_int_equal(pipe(fds), 0);
	state_reader_begin(&r, fds[0], form, RUN);
	for (;;) {
		got = state_reader_take(&r, &item, &err);
		if (got == 1)
			buffer_format(&out, "%s%s", out.len > 0 ? "|" : "", item.data.json.data);
		if (got == -1)
			buffer_format(&out, "!%s: %s", err.place, err.message);
		if (got == -1 || (got == 0 && r.done))
			break;
		if (got == 1)
			continue;
		piece = len - at < step ? len - at : step;
		if (piece > 0)
			assert_int_equal(write(fds[1], text + at, piece), (int)piece);
		else if (fds[1] != -1) {
			close(fds[1]);
			fds[1] = -1;
		}
		at += piece;
		assert_int_equal(state_reader_fill(&r, &err), 0);
	}
	close(fds[0]);
	if (fds[1] != -1)
		close(fds[1]);
	state_reader_free(&r);
	item_free(&item);
	return buffer_take(&out);
}

static void
items_come_out_however_input_is_split(void **state)
{
	static const struct { const char *text; enum input_form form; const char *items; } cases[] = {
		{ "two\nlines\n", INPUT_AUTO, "\"two\\nlines\"" },
		{ "{\"data\": no json", INPUT_TEXT, "\"{\\\"data\\\": no json\"" },
		{ "{\"a\":1}\n", INPUT_AUTO, "\"{\\\"a\\\":1}\"" },
		{ "{not json", INPUT_AUTO, "\"{not json\"" },
		{ LINE("1") "\n" LINE("[2, 3]") "\n", INPUT_AUTO, "1|[2,3]" },
		{ "{\n  \"data\": \"x\",\n  \"metadata\": " META "\n}\n" LINE("2"), INPUT_AUTO, "\"x\"|2" },
		{ "a\nb", INPUT_LINES, "\"a\"|\"b\"" },
		{ "a\n\nb\n", INPUT_LINES, "\"a\"|\"\"|\"b\"" },
		{ "", INPUT_LINES, "" },
		{ "1 {\"a\": 2}\n[3]\"x\"", INPUT_JSON, "1|{\"a\":2}|[3]|\"x\"" },
		{ "12", INPUT_JSON, "12" },
		{ " \n", INPUT_JSON, "" },
		{ "", INPUT_AUTO, "" },
		{ "", INPUT_NONE, "" },
		{ LINE("1") "\nrest", INPUT_AUTO, "1!stdin: byte 123: no state line among state lines" },
		{ LINE("1") "\n{\"a\":1}\n", INPUT_AUTO, "1!stdin: byte 123: no state line among state lines" },
		{ LINE("1") "\n{\"data\":", INPUT_AUTO, "1!stdin: byte 131: the input ends inside a state line" },
		{ "{\"data\":[1,", INPUT_AUTO,
		    "!stdin: byte 12: the input ends inside a state line (-i text takes it as text)" },
		{ "{\"a\":", INPUT_JSON, "!stdin: byte 6: the input ends inside a JSON value" },
		{ "{\"a\":1}", INPUT_STATE, "!stdin: byte 1: no state line among state lines" },
	};
	static const size_t steps[] = { 1, 2, 3, 7, 1000 };
	char *items;
	size_t i, j;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++)
		for (j = 0; j < sizeof steps / sizeof *steps; j++) {
			items = read_items(cases[i].text, strlen(cases[i].text), cases[i].form, steps[j]);
			assert_string_equal(items, cases[i].items);
			free(items);
		}
	items = read_items("a\0b\0", 4, INPUT_NUL, 1);
	assert_string_equal(items, "\"a\"|\"b\"");
	free(items);
}

static void
a_written_line_reads_back(void **state)
{
	static const unsigned char key[DIGEST_BYTES] = { 1 };
	struct state_spec spec = { .run_id = RUN, .event_id = EVENT, .seq = 7, .call = "a:0:1",
		.path = "a", .iteration = 1, .agent_name = "a", .timestamp = "2026-01-01T00:00:00.000000Z",
		.key = key, .attempt = 1, .part = -1 };
	struct data d = { BUFFER_INIT, false, false };
	struct buffer out = BUFFER_INIT;
	struct span line, metadata;

	(void)state;
	data_from_text(&d, "\xff", 1);
	state_write(&spec, &d, &out);
	assert_int_equal(out.data[out.len - 1], '\n');
	line = span_of(out.data, out.len - 1);
	assert_true(state_is(line));
	metadata = span_member(line, "metadata");
	assert_true(span_is(span_member(metadata, "encoding"), "base64"));
	assert_int_equal(span_type(span_member(metadata, "previous_agent")), '0');
	assert_int_equal(span_member(metadata, "token").len, 66);
	assert_null(span_member(metadata, "error").at);
	assert_null(span_member(metadata, "part").at);
	data_free(&d);
	buffer_free(&out);
}

/* Of the items that are left, some have been read; how the rest comes does not matter. */
static void
what_is_left_is_counted(void **state)
{
	static const struct { const char *text; enum input_form form; int64_t left; } cases[] = {
		{ "a\nb\nc\n", INPUT_LINES, 2 },
		{ "a\nb\nc", INPUT_LINES, 2 },
		{ "a\n\n\n\n", INPUT_LINES, 3 },
		{ "a\n", INPUT_LINES, 0 },
		{ "1 [2,\n3] \"x\" ", INPUT_JSON, 2 },
		{ "1 [2, ", INPUT_JSON, -1 },
		{ LINE("1") "\n" LINE("2") "\n" LINE("3") "\n", INPUT_AUTO, 2 },
		{ LINE("1") "\nrest", INPUT_AUTO, -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const size_t len = strlen(cases[i].text);

		for (size_t first = 0; first <= len; first++) {
			struct buffer more = BUFFER_INIT;
			struct error err = ERROR_INIT;
			struct state_reader r;
			struct item item;
			int fds[2], got;

			memset(&item, 0, sizeof item);
			assert_int_equal(pipe(fds), 0);
			state_reader_begin(&r, fds[0], cases[i].form, RUN);
			assert_int_equal(write(fds[1], cases[i].text, first), (int)first);
			if (first > 0)
				assert_int_equal(state_reader_fill(&r, &err), 0);
			got = state_reader_take(&r, &item, &err);
			if (got == 1) {
				buffer_append(&more, cases[i].text + first, len - first);
				assert_int_equal(state_reader_count(&r, &more), cases[i].left);
				assert_int_equal(more.len, 0);
				/* Nothing was taken by that. */
				assert_int_equal(r.eof, false);
			}
			close(fds[0]);
			close(fds[1]);
			state_reader_free(&r);
			item_free(&item);
			buffer_free(&more);
		}
	}
}

/* Input that is always there interrupts no read. */
static void
a_signal_ends_input_that_never_pauses(void **state)
{
	volatile int number = 15;
	struct state_reader r;
	struct error err = ERROR_INIT;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "a\n", 2), 2);
	state_reader_begin(&r, fds[0], INPUT_LINES, RUN);
	r.signal_number = &number;
	assert_int_equal(state_reader_fill(&r, &err), -1);
	assert_int_equal(err.code, ERROR_CANCELLED);
	close(fds[0]);
	close(fds[1]);
	state_reader_free(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_lose_and_regain_their_newline),
		cmocka_unit_test(bytes_that_are_no_utf8_stay_themselves),
		cmocka_unit_test(nul_is_a_character),
		cmocka_unit_test(json_is_fed_as_one_line_and_null_as_nothing),
		cmocka_unit_test(state_lines_are_recognised),
		cmocka_unit_test(items_come_out_however_input_is_split),
		cmocka_unit_test(what_is_left_is_counted),
		cmocka_unit_test(a_signal_ends_input_that_never_pauses),
		cmocka_unit_test(a_written_line_reads_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
