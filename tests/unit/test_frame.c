/* Frames of both ends of a launcher: what is sealed is taken, and nothing else. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "proc/frame.h"

/* The first line of a buffer, without its LF. */
static struct span
first_line(const struct buffer *b)
{
	return span_of(b->data, strcspn(b->data, "\n"));
}

static void
a_request_comes_as_it_was_with_words_of_any_bytes(void **state)
{
	char words[4][8] = { "printf", "\xff\x01", "", "a\nb" }, variable[] = "A=1=2", directory[] = "/a b/\xfe";
	char *argv[] = { words[0], words[1], words[2], words[3], NULL };
	char *environment[] = { variable, NULL }, *sandbox[] = { NULL };
	struct frame_request request = { .argv = argv, .environment = environment, .sandbox = sandbox,
		.own = true, .directory = directory, .ping_ms = 1, .silent_ms = 2, .grace_ms = 3,
		.lost_ms = 4 }, got;
	struct frame_key key, told;
	struct buffer out = BUFFER_INIT;
	struct error err = ERROR_INIT;

	(void)state;
	frame_write_request(&out, &request, &key);
	assert_int_equal(frame_read_request(first_line(&out), &got, &told, &err), 0);
	assert_string_equal(key.hex, told.hex);
	assert_int_equal(list_count(got.argv), 4);
	for (int i = 0; i < 4; i++)
		assert_string_equal(got.argv[i], argv[i]);
	assert_string_equal(got.environment[0], "A=1=2");
	assert_non_null(got.sandbox);
	assert_null(got.sandbox[0]);
	assert_true(got.own);
	assert_string_equal(got.directory, "/a b/\xfe");
	assert_int_equal(got.ping_ms + 10 * got.silent_ms + 100 * got.grace_ms + 1000 * got.lost_ms, 4321);
	frame_request_free(&got);
	buffer_free(&out);
}

/* Whatever single bit of a sealed line is another, it is none. */
static void
no_bit_of_what_is_sealed_may_be_another(void **state)
{
	char word[] = "true", *argv[] = { word, NULL };
	struct frame_request request = { .argv = argv, .ping_ms = 1, .silent_ms = 1, .grace_ms = 1,
		.lost_ms = 1 }, got;
	struct frame_end end = { .exit_code = 3 };
	struct frame_key key, told;
	struct buffer out = BUFFER_INIT;
	struct error err;

	(void)state;
	memset(end.output_sha256, 'a', DIGEST_SIZE - 1);
	memset(end.errors_sha256, 'b', DIGEST_SIZE - 1);
	memset(end.files_sha256, 'c', DIGEST_SIZE - 1);
	frame_write_request(&out, &request, &key);
	for (size_t i = 0; i < (out.len - 1) * 8; i++) {
		out.data[i / 8] = (char)(out.data[i / 8] ^ (1 << i % 8));
		assert_int_equal(frame_read_request(span_of(out.data, out.len - 1), &got, &told, &err), -1);
		out.data[i / 8] = (char)(out.data[i / 8] ^ (1 << i % 8));
	}
	buffer_clear(&out);
	frame_write_end(&out, &end, &key);
	assert_non_null(frame_open(span_of(out.data, out.len - 1), &key).at);
	for (size_t i = 0; i < (out.len - 1) * 8; i++) {
		out.data[i / 8] = (char)(out.data[i / 8] ^ (1 << i % 8));
		assert_null(frame_open(span_of(out.data, out.len - 1), &key).at);
		out.data[i / 8] = (char)(out.data[i / 8] ^ (1 << i % 8));
	}
	for (size_t len = 0; len < out.len - 1; len++)
		assert_null(frame_open(span_of(out.data, len), &key).at);
	frame_key_new(&told);
	assert_null(frame_open(span_of(out.data, out.len - 1), &told).at);
	buffer_free(&out);
}

static void
a_request_of_another_version_is_refused_with_its_key(void **state)
{
	struct buffer json = BUFFER_INIT, out = BUFFER_INIT;
	struct frame_request got;
	struct frame_key key, told;
	struct error err = ERROR_INIT;

	(void)state;
	frame_key_new(&key);
	buffer_format(&json, "{\"type\":\"request\",\"version\":2,\"key\":\"%s\"}", key.hex);
	frame_seal(&out, &key, &json);
	assert_int_equal(frame_read_request(first_line(&out), &got, &told, &err), -1);
	assert_string_equal(err.message,
	    "this awf-exec speaks version 1, not 2: both ends need the same AWF");
	assert_string_equal(told.hex, key.hex);
	/* One without a command. */
	buffer_clear(&json);
	buffer_clear(&out);
	buffer_format(&json, "{\"type\":\"request\",\"version\":1,\"key\":\"%s\"}", key.hex);
	frame_seal(&out, &key, &json);
	assert_int_equal(frame_read_request(first_line(&out), &got, &told, &err), -1);
	assert_string_equal(err.message, "the request lacks a command, or a limit");
	buffer_free(&json);
	buffer_free(&out);
}

static void
bytes_go_in_as_many_frames_as_it_takes(void **state)
{
	size_t len = 3 * FRAME_BYTES + 7, count = 0;
	char *bytes = malloc(len);
	struct buffer out = BUFFER_INIT, got = BUFFER_INIT;

	(void)state;
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)(i * 31);
	frame_bytes(&out, "output", bytes, len);
	for (char *at = out.data, *end; *at != '\0'; at = end + 1, count++) {
		end = strchr(at, '\n');
		assert_true(end - at < 70000);
		assert_true(frame_is(span_of(at, (size_t)(end - at)), "output"));
		assert_int_equal(frame_take_bytes(span_of(at, (size_t)(end - at)), &got), 0);
	}
	assert_int_equal(count, 4);
	assert_int_equal(got.len, len);
	assert_memory_equal(got.data, bytes, len);
	assert_int_equal(frame_take_bytes(span_of("{\"type\":\"output\"}", 17), &got), -1);
	assert_int_equal(frame_take_bytes(span_of("{\"data\":\"?\"}", 12), &got), -1);
	free(bytes);
	buffer_free(&out);
	buffer_free(&got);
}

static void
an_end_tells_what_the_command_came_to(void **state)
{
	struct frame_end end = { .exit_code = 143, .signal_number = 15, .user_ms = 1, .system_ms = 2,
		.max_rss_kib = 3 }, got;
	struct frame_key key;
	struct buffer out = BUFFER_INIT;
	struct error why, refused;

	(void)state;
	error_set(&end.error, ERROR_INTERRUPTED, "sh", "ended");
	memset(end.output_sha256, 'a', DIGEST_SIZE - 1);
	memset(end.errors_sha256, 'b', DIGEST_SIZE - 1);
	memset(end.files_sha256, 'c', DIGEST_SIZE - 1);
	frame_key_new(&key);
	frame_write_end(&out, &end, &key);
	assert_true(frame_read_end(frame_open(first_line(&out), &key), &got));
	assert_int_equal(got.exit_code, 143);
	assert_int_equal(got.signal_number, 15);
	assert_int_equal(got.error.code, ERROR_INTERRUPTED);
	assert_string_equal(got.error.place, "sh");
	assert_string_equal(got.error.message, "ended");
	assert_string_equal(got.output_sha256, end.output_sha256);
	assert_int_equal(got.user_ms + 10 * got.system_ms + 100 * got.max_rss_kib, 321);
	assert_false(frame_read_refused(frame_open(first_line(&out), &key), &refused));
	buffer_clear(&out);
	error_set(&why, ERROR_USAGE, "stdin", "no");
	frame_write_refused(&out, &why, &key);
	assert_false(frame_read_end(frame_open(first_line(&out), &key), &got));
	assert_true(frame_read_refused(frame_open(first_line(&out), &key), &refused));
	assert_int_equal(refused.code, ERROR_CANNOT_LAUNCH);
	assert_string_equal(refused.message, "stdin: no");
	buffer_clear(&out);
	error_set(&why, ERROR_INTERRUPTED, NULL, "ended");
	frame_write_refused(&out, &why, &key);
	assert_true(frame_read_refused(frame_open(first_line(&out), &key), &refused));
	assert_int_equal(refused.code, ERROR_LOST);
	assert_string_equal(refused.message, "ended: the command was not started");
	buffer_free(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_comes_as_it_was_with_words_of_any_bytes),
		cmocka_unit_test(no_bit_of_what_is_sealed_may_be_another),
		cmocka_unit_test(a_request_of_another_version_is_refused_with_its_key),
		cmocka_unit_test(bytes_go_in_as_many_frames_as_it_takes),
		cmocka_unit_test(an_end_tells_what_the_command_came_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
