/* Tokens and gates: a gate takes what a required call of this attempt has made, and
 * nothing else, whatever of the line or its token was changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "step_call/gate.h"
#include "storage/token.h"
#include "transcript/call.h"

#define RUN "11111111-1111-4111-8111-111111111111"
#define OTHER "33333333-3333-4333-8333-333333333333"
#define EVENT "22222222-2222-4222-8222-222222222222"

static const unsigned char key[DIGEST_BYTES] = "the key of the run, 32 bytes ...";
static const unsigned char other_key[DIGEST_BYTES] = "the key of another, 32 bytes ...";

/* Found before libsodium's own: what compares tokens is counted, and told how much
 * it looked at. */
static int compared;
static size_t compared_bytes;
int sodium_memcmp(const void *left, const void *right, size_t len);

int
sodium_memcmp(const void *left, const void *right, size_t len)
{
	compared++;
	compared_bytes = len;
	return memcmp(left, right, len) == 0 ? 0 : -1;
}

/* A line as a step writes it. */
static void
make_line(const char *run_id, int attempt, const char *call, const char *path,
    const struct data *data, struct buffer *line)
{
	struct state_spec spec = { .run_id = run_id, .event_id = EVENT, .seq = 3, .call = call,
		.path = path, .agent_name = "check", .timestamp = "2026-11-21T08:15:30.000000Z",
		.key = key, .attempt = attempt, .part = -1 };

	state_write(&spec, data, line);
}

static void
replace(struct buffer *text, const char *from, const char *to)
{
	struct buffer changed = BUFFER_INIT;
	const char *at = strstr(text->data, from);

	if (at == NULL)
		fail_msg("'%s' is not in %s", from, text->data);
	buffer_append(&changed, text->data, (size_t)(at - text->data));
	buffer_text(&changed, to);
	buffer_text(&changed, at + strlen(from));
	buffer_free(text);
	*text = changed;
}

/* Reads the line as awf-step would; through a file, as readers take a descriptor. */
static void
read_item(const struct buffer *line, struct item *item)
{
	FILE *file = tmpfile();
	struct state_reader reader;
	struct error err = ERROR_INIT;

	assert_non_null(file);
	assert_int_equal(fwrite(line->data, 1, line->len, file), line->len);
	rewind(file);
	memset(item, 0, sizeof *item);
	state_reader_begin(&reader, fileno(file), INPUT_AUTO, RUN);
	assert_int_equal(state_reader_next(&reader, item, &err), 1);
	state_reader_free(&reader);
	fclose(file);
}

static struct gate
gate_of(const char *const *paths)
{
	struct gate gate = { .run_id = RUN, .attempt = 1, .key = key };
	struct error err = ERROR_INIT;

	for (; *paths != NULL; paths++)
		if (gate_require(&gate, *paths, &err) != 0)
			fail_msg("%s", err.message);
	return gate;
}

static int
passes(struct gate *gate, const struct buffer *line, struct error *why)
{
	struct item item;
	int which;

	read_item(line, &item);
	which = gate_pass(gate, &item, why);
	item_free(&item);
	gate_free(gate);
	return which;
}

/* What was made by call, of path, against what is required. */
static void
required_paths_and_calls_pass(void **state)
{
	static const struct { const char *call, *path; const char *required[3]; int which; } cases[] = {
		{ "check:0:0", "check", { "check" }, 0 },
		{ "check:3:12", "check", { "check" }, 0 },
		{ "check:0:1", "check", { "other", "check" }, 1 },
		{ "check:0:1", "check", { "check:0:1" }, 0 },
		{ "check:0:1", "check", { "check:0:2" }, -1 },
		{ "check:0:1", "check", { "chec" }, -1 },
		{ "check:0:1", "check", { "checks" }, -1 },
		{ "check:0:1", "check", { "check.check" }, -1 },
		{ "a:0:0/b-2:1:0", "a.b-2", { "a.b-2" }, 0 },
		{ "a:0:0/b-2:1:0", "a.b-2", { "a" }, -1 },
		{ "a:0:0/b-2:1:0", "a.b-2", { "b-2" }, -1 },
		{ "a:0:0/b-2:1:0", "a.b-2", { "a:0:0/b-2:1:0" }, 0 },
		{ "a:0:0/b-2:1:0", "a.b-2", { "a:0:0" }, -1 },
		{ "a:0:0/a:0:3", "a", { "a" }, 0 },
		{ "a:0:0/a:0:3", "a", { "a.a" }, -1 },
		{ "a:0:0/a:0:0", "a.a", { "a" }, -1 },
		{ "a:0:0/a:0:3/b:0:0", "a.b", { "a.b" }, 0 },
	};
	struct data data = { BUFFER_INIT, false, false };
	size_t i;

	(void)state;
	data_from_text(&data, "yes\n", 4);
	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct gate gate = gate_of(cases[i].required);
		struct buffer line = BUFFER_INIT;
		struct error why = ERROR_INIT;

		make_line(RUN, 1, cases[i].call, cases[i].path, &data, &line);
		if (passes(&gate, &line, &why) != cases[i].which)
			fail_msg("%s, required %s: %s", cases[i].call, cases[i].required[0], why.message);
		assert_int_equal(why.code, cases[i].which == -1 ? ERROR_BLOCKED : ERROR_NONE);
		buffer_free(&line);
	}
	data_free(&data);
}

static void
what_was_changed_is_refused(void **state)
{
	static const struct { const char *from, *to, *why; } cases[] = {
		{ "\"okay\"", "\"Okay\"", "no token" },
		{ "\"okay\"", "[\"okay\"]", "no token" },
		{ "check:0:1", "check:0:2", "no token" },
		{ "check:0:1", "check:0:1\\n", "names no call" },
		{ "\"path\":\"check\"", "\"path\":\"deploy\"", "made by" },
		{ "\"path\":\"check\"", "\"path\":\"check\\n\"", "names no call" },
		{ "\"path\":\"check\",", "", "names no call" },
		{ EVENT, OTHER, "no token" },
		{ RUN, OTHER, "of another run" },
		{ "\"call\":\"check:0:1\",", "", "names no call" },
		{ "\"call\":\"check:0:1\"", "\"call\":1", "names no call" },
		{ "\"token\":", "\"tokens\":", "no token" },
		{ "\"token\":\"", "\"token\":\"0", "no token" },
		{ "\"token\":", "\"token\":null,\"was\":", "no token" },
		{ "\"token\":", "\"token\":\"\",\"was\":", "no token" },
		{ "\"sha256\":", "\"no_newline\":true,\"sha256\":", "no token" },
		{ "\"sha256\":", "\"attachments\":[{\"path\":\"x.png\"}],\"sha256\":", "no token" },
		{ "\"sha256\":", "\"encoding\":\"base64\",\"sha256\":", "no token" },
		{ "{\"data\":", "x{\"data\":", "is no state line" },
		{ "\"metadata\":", "\"meta\":", "is no state line" },
	};
	static const char *const required[] = { "check", NULL };
	struct data data = { BUFFER_INIT, false, false };
	size_t i;

	(void)state;
	data_from_text(&data, "okay\n", 5);
	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct gate gate = gate_of(required);
		struct buffer line = BUFFER_INIT;
		struct error why = ERROR_INIT;

		make_line(RUN, 1, "check:0:1", "check", &data, &line);
		replace(&line, cases[i].from, cases[i].to);
		if (passes(&gate, &line, &why) != -1)
			fail_msg("%s -> %s passes", cases[i].from, cases[i].to);
		assert_int_equal(why.code, ERROR_BLOCKED);
		if (strstr(why.message, cases[i].why) == NULL)
			fail_msg("%s -> %s: %s", cases[i].from, cases[i].to, why.message);
		buffer_free(&line);
	}
	data_free(&data);
}

static void
a_step_is_not_another_by_its_path(void **state)
{
	static const char *const required[] = { "check", NULL };
	struct gate gate = gate_of(required);
	struct data data = { BUFFER_INIT, false, false };
	struct buffer line = BUFFER_INIT;
	struct error why = ERROR_INIT;

	(void)state;
	data_from_text(&data, "okay\n", 5);
	make_line(RUN, 1, "check:0:1/check:0:0", "check.check", &data, &line);
	replace(&line, "check.check", "check");
	assert_int_equal(passes(&gate, &line, &why), -1);
	assert_non_null(strstr(why.message, "no token"));
	buffer_free(&line);
	data_free(&data);
}

/* A line that goes out again has the token that it would have had. */
static void
lines_are_vouched_for_again(void **state)
{
	static const char *const required[] = { "check", NULL };
	struct gate gate = gate_of(required);
	struct data data = { BUFFER_INIT, false, false };
	struct buffer line = BUFFER_INIT;
	struct item item;
	char token[DIGEST_SIZE];

	(void)state;
	data_from_text(&data, "okay", 4);
	make_line(RUN, 1, "check:0:1", "check", &data, &line);
	read_item(&line, &item);
	assert_true(gate_vouched(&gate, &item));
	assert_true(gate_vouch(&gate, &item, token));
	assert_non_null(strstr(line.data, token));
	gate.attempt = 2;
	assert_false(gate_vouched(&gate, &item));
	item_free(&item);
	buffer_clear(&line);
	buffer_text(&line, "no line");
	read_item(&line, &item);
	assert_false(gate_vouched(&gate, &item));
	assert_false(gate_vouch(&gate, &item, token));
	item_free(&item);
	buffer_free(&line);
	data_free(&data);
	gate_free(&gate);
}

/* What the call has passed on, and nothing else. */
static void
attachments_are_vouched_for(void **state)
{
	static const struct { const char *from, *to; int which; } cases[] = {
		{ "a.png", "a.png", 0 }, { "a.png", "b.png", -1 }, { "[{", "[{ ", 0 },
		{ "\"attachments\"", "\"attached\"", -1 }, { "}]", "},1]", -1 },
	};
	static const char *const required[] = { "check", NULL };
	const char *attachments = "[{\"path\":\"a.png\"}]";
	const struct state_spec spec = { .run_id = RUN, .event_id = EVENT, .call = "check:0:1",
		.path = "check", .timestamp = "", .key = key, .attempt = 1, .part = -1,
		.attachments = { attachments, strlen(attachments) } };
	struct data data = { BUFFER_INIT, false, false };

	(void)state;
	data_from_text(&data, "okay", 4);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct gate gate = gate_of(required);
		struct buffer line = BUFFER_INIT;
		struct error why = ERROR_INIT;

		state_write(&spec, &data, &line);
		replace(&line, cases[i].from, cases[i].to);
		if (passes(&gate, &line, &why) != cases[i].which)
			fail_msg("%s -> %s: %s", cases[i].from, cases[i].to, why.message);
		buffer_free(&line);
	}
	data_free(&data);
}

static void
another_attempt_or_key_is_refused(void **state)
{
	static const struct { int attempt; const unsigned char *key; int which; } cases[] = {
		{ 1, key, 0 }, { 2, key, -1 }, { 1, other_key, -1 },
	};
	static const char *const required[] = { "check", NULL };
	struct data data = { BUFFER_INIT, false, false };
	size_t i;

	(void)state;
	data_from_text(&data, "\xff", 1);
	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct gate gate = gate_of(required);
		struct buffer line = BUFFER_INIT;
		struct error why = ERROR_INIT;

		gate.attempt = cases[i].attempt;
		gate.key = cases[i].key;
		make_line(RUN, 1, "check:0:1", "check", &data, &line);
		assert_int_equal(passes(&gate, &line, &why), cases[i].which);
		buffer_free(&line);
	}
	data_free(&data);
}

/* Each bit of a token counts, and what compares them looks at all of it each time. */
static void
tokens_are_compared_in_constant_time(void **state)
{
	const struct token_claim claim = { RUN, 1, "check:0:1", "check", EVENT, "", false, false,
		{ NULL, 0 } };
	char token[DIGEST_SIZE], given[DIGEST_SIZE + 2];
	size_t i;

	(void)state;
	token_issue(key, &claim, token);
	snprintf(given, sizeof given, "\"%s\"", token);
	compared = 0;
	assert_true(token_check(key, &claim, span_of(given, sizeof given - 1)));
	assert_int_equal(compared, 1);
	for (i = 0; i < (DIGEST_SIZE - 1) * 8; i++) {
		given[1 + i / 8] = (char)(given[1 + i / 8] ^ (1 << i % 8));
		compared_bytes = 0;
		assert_false(token_check(key, &claim, span_of(given, sizeof given - 1)));
		assert_int_equal(compared_bytes, DIGEST_SIZE - 1);
		given[1 + i / 8] = (char)(given[1 + i / 8] ^ (1 << i % 8));
	}
	assert_false(token_check(key, &claim, span_of(given, sizeof given - 2)));
	assert_false(token_check(key, &claim, span_of(NULL, 0)));
}

static void
only_paths_and_calls_are_required(void **state)
{
	static const struct { const char *text; int valid; } cases[] = {
		{ "check", 1 }, { "a.b.c", 1 }, { "check:0:0", 1 }, { "a:0:0/b:12:3", 1 },
		{ "", 0 }, { ".", 0 }, { "a.", 0 }, { ".a", 0 }, { "a..b", 0 }, { "a/b", 0 },
		{ "a:0", 0 }, { "a:0:", 0 }, { "a::0", 0 }, { ":0:0", 0 }, { "a:0:0/", 0 },
		{ "a:0:0:0", 0 }, { "a:0:0 ", 0 }, { "a:0:-1", 0 }, { "a b", 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct gate gate = { .count = 0 };
		struct error err = ERROR_INIT;
		int result = gate_require(&gate, cases[i].text, &err);

		if ((result == 0) != (cases[i].valid == 1))
			fail_msg("'%s': %s", cases[i].text, err.message);
		assert_int_equal(err.code, cases[i].valid ? ERROR_NONE : ERROR_USAGE);
		gate_free(&gate);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(required_paths_and_calls_pass),
		cmocka_unit_test(what_was_changed_is_refused),
		cmocka_unit_test(a_step_is_not_another_by_its_path),
		cmocka_unit_test(lines_are_vouched_for_again),
		cmocka_unit_test(attachments_are_vouched_for),
		cmocka_unit_test(another_attempt_or_key_is_refused),
		cmocka_unit_test(tokens_are_compared_in_constant_time),
		cmocka_unit_test(only_paths_and_calls_are_required),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
