/* transcript/blob: large values leave a line and come back as they were. */
#include "record.h"

#include <sys/stat.h>

#include "transcript/blob.h"

static struct error err;

static void
test_write_and_read(void **state)
{
	static const bool syncs[] = { true, false };
	const char *blobs = record_path("blobs");
	char name[DIGEST_SIZE], again[DIGEST_SIZE];
	struct buffer bytes = BUFFER_INIT;
	struct stat status;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(blob_write(blobs, "abc", 3, syncs[i], name, &err), 0);
		assert_string_equal(name,
		    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
		/* there already: left alone */
		assert_int_equal(blob_write(blobs, "abc", 3, syncs[i], again, &err), 0);
		assert_string_equal(name, again);
		buffer_text(&bytes, "before ");
		assert_int_equal(blob_read(blobs, name, &bytes, &err), 0);
		assert_true(buffer_equal(&bytes, "before abc"));
		buffer_clear(&bytes);
		char *path = path_join(blobs, name);
		assert_int_equal(stat(path, &status), 0);
		assert_int_equal(status.st_mode & 07777, 0600);
		unlink(path);
		free(path);
	}
	assert_int_equal(stat(blobs, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	assert_int_equal(status.st_nlink, 2);
	buffer_free(&bytes);
}

/* One that was cut short, as after a loss of power without sync, is written anew. */
static void
test_short_blob_is_replaced(void **state)
{
	const char *blobs = record_path("short");
	char name[DIGEST_SIZE];
	struct buffer bytes = BUFFER_INIT;

	(void)state;
	assert_int_equal(blob_write(blobs, "abc", 3, false, name, &err), 0);
	char *path = path_join(blobs, name);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(blob_write(blobs, "abc", 3, false, name, &err), 0);
	assert_int_equal(blob_read(blobs, name, &bytes, &err), 0);
	assert_true(buffer_equal(&bytes, "abc"));
	free(path);
	buffer_free(&bytes);
}

static void
test_what_cannot_be_read(void **state)
{
	static const char *const names[] = { "", "../../etc/passwd", ZEROS "0", ZEROS,
		"BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD" };
	const char *blobs = record_path("unread");
	char name[DIGEST_SIZE];
	struct buffer bytes = BUFFER_INIT;

	(void)state;
	assert_int_equal(blob_write(blobs, "abc", 3, false, name, &err), 0);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		assert_int_equal(blob_read(blobs, names[i], &bytes, &err), -1);
		assert_int_equal(err.code, ERROR_SYSTEM);
	}
	char *path = path_join(blobs, name);
	record_put(path, "abd", 3);
	assert_int_equal(blob_read(blobs, name, &bytes, &err), -1);
	assert_string_equal(err.place, path);
	assert_non_null(strstr(err.message, "damaged"));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(blob_read(blobs, name, &bytes, &err), -1);
	assert_int_equal(bytes.len, 0);
	free(path);
	buffer_free(&bytes);
}

static void
test_links_are_not_followed(void **state)
{
	const char *link = record_path("linked"), *target = record_path("target");
	char name[DIGEST_SIZE];
	struct buffer bytes = BUFFER_INIT;

	(void)state;
	assert_int_equal(mkdir(target, 0700), 0);
	assert_int_equal(symlink(target, link), 0);
	assert_int_equal(blob_write(link, "abc", 3, false, name, &err), -1);
	assert_string_equal(err.place, link);
	assert_int_equal(rmdir(target), 0);
	assert_int_equal(blob_read(link, name, &bytes, &err), -1);
	buffer_free(&bytes);
}

static void
test_name_that_is_taken(void **state)
{
	const char *blobs = record_path("taken");
	char name[DIGEST_SIZE];
	char *path;

	(void)state;
	assert_int_equal(blob_write(blobs, "abc", 3, false, name, &err), 0);
	path = path_join(blobs, name);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(blob_write(blobs, "abc", 3, false, name, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_string_equal(err.place, path);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(blobs), 0); /* no temporary file is left */
	free(path);
}

/* A string token of len bytes. */
static char *
token_of(size_t len)
{
	char *token = memory_alloc(len + 1);

	memset(token, 'x', len);
	token[0] = token[len - 1] = '"';
	token[len] = '\0';
	return token;
}

/* Values with %s for a token above the limit, and where it was found. */
static const struct large { const char *value, *at; } larges[] = {
	{ "%s", "/payload" },
	{ "{\"a\":1,\"b\":%s,\"c\":[1, 2]}", "/payload/b" },
	{ "[{},[0,{\"a/b~c\":%s}],\"\\\"\\u00e9\"]", "/payload/1/1/a~1b~0c" },
	{ "{\"\":{\"\\u0061\":%s}}", "/payload//a" },
};

static void
test_externalise_and_inline(void **state)
{
	const char *blobs = record_path("large");
	char *token = token_of(BLOB_THRESHOLD + 1);
	struct buffer out = BUFFER_INIT, refs = BUFFER_INIT, whole = BUFFER_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof larges / sizeof larges[0]; i++) {
		const char *hole = strstr(larges[i].value, "%s");
		int before = (int)(hole - larges[i].value);
		char *value = memory_format("%.*s%s%s", before, larges[i].value, token, hole + 2);
		char *without = memory_format("%.*snull%s", before, larges[i].value, hole + 2);
		buffer_clear(&out);
		buffer_clear(&refs);
		buffer_clear(&whole);
		assert_int_equal(blob_externalise(blobs, span_of(value, strlen(value)), "/payload",
		    false, &out, &refs, &err), 0);
		assert_true(buffer_equal(&out, without));
		assert_true(span_is(span_member(span_of(refs.data, refs.len), "at"), larges[i].at));

		char *line = memory_format("{\"seq\":1,\"payload\":%s,\"refs\":[%s],\"prev\":\"x\"}",
		    out.data, refs.data);
		char *expected = memory_format("{\"seq\":1,\"payload\":%s,\"prev\":\"x\"}", value);
		assert_int_equal(blob_inline(blobs, line, strlen(line), &whole, &err), 0);
		assert_true(buffer_equal(&whole, expected));
		free(expected);
		free(line);
		free(without);
		free(value);
	}
	free(token);
	buffer_free(&out);
	buffer_free(&refs);
	buffer_free(&whole);
}

/* Keys that no pointer tells apart, in values from outside: nothing gets lost. */
static void
test_keys_beyond_pointers(void **state)
{
	static const char *const values[] = {
		"{\"a\":%s,\"a\":%s}", "{\"a\\u0000b\":%s,\"a\":%s}", "{\"\\ud800\":%s,\"\\ud801\":%s}",
		"{\"a\":{\"x\":%s},\"\\u0061\":{\"x\":%s}}", "{\"a\":\"\",\"b\":{\"\\u0000\":%s,\"\":%s}}",
	};
	const char *blobs = record_path("keys");
	char *first = token_of(BLOB_THRESHOLD + 1), *second = token_of(BLOB_THRESHOLD + 2);
	struct buffer out = BUFFER_INIT, refs = BUFFER_INIT, whole = BUFFER_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
		const char *one = strstr(values[i], "%s"), *two = strstr(one + 2, "%s");
		char *value = memory_format("%.*s%s%.*s%s%s", (int)(one - values[i]), values[i], first,
		    (int)(two - one) - 2, one + 2, second, two + 2);
		buffer_clear(&out);
		buffer_clear(&refs);
		buffer_clear(&whole);
		assert_int_equal(blob_externalise(blobs, span_of(value, strlen(value)), "/payload",
		    false, &out, &refs, &err), 0);
		char *line = memory_format("{\"payload\":%s,\"refs\":[%s]}", out.data, refs.data);
		char *expected = memory_format("{\"payload\":%s}", value);
		assert_int_equal(blob_inline(blobs, line, strlen(line), &whole, &err), 0);
		assert_true(buffer_equal(&whole, expected));
		free(expected);
		free(line);
		free(value);
	}
	free(first);
	free(second);
	buffer_free(&out);
	buffer_free(&refs);
	buffer_free(&whole);
}

static void
test_threshold_and_several(void **state)
{
	const char *blobs = record_path("several");
	char *small = token_of(BLOB_THRESHOLD), *large = token_of(BLOB_THRESHOLD + 1);
	char *value = memory_format("[%s,%s,{\"k\":%s}]", small, large, large);
	struct buffer out = BUFFER_INIT, refs = BUFFER_INIT;

	(void)state;
	assert_int_equal(blob_externalise(blobs, span_of(value, strlen(value)), "", false, &out, &refs,
	    &err), 0);
	char *expected = memory_format("[%s,null,{\"k\":null}]", small);
	assert_true(buffer_equal(&out, expected));
	assert_non_null(strstr(refs.data, "{\"at\":\"/1\","));
	assert_non_null(strstr(refs.data, "},{\"at\":\"/2/k\","));
	free(expected);
	free(value);
	free(small);
	free(large);
	buffer_free(&out);
	buffer_free(&refs);
}

#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define REF(at, encoding) "{\"at\":\"" at "\",\"sha256\":\"" ABC "\",\"bytes\":3,\"encoding\":\"" \
	encoding "\"}"

/* Lines of any writer; NULL: the references are refused. */
static const struct inlined { const char *line, *whole; } inlined[] = {
	{ "{\"seq\":1, \"x\" : null}", "{\"seq\":1, \"x\" : null}" },
	{ "{\"x\":null,\"refs\":[]}", "{\"x\":null}" },
	{ "{\"refs\":[" REF("/x", "raw") "],\"x\":null,\"y\":[null]}",
	  "{\"x\":\"YWJj\",\"y\":[null]}" },
	{ "{\"x\":{\"y\":[null,null]},\"refs\":[" REF("/x/y/1", "raw") "," REF("/x/y/0", "raw") "]}",
	  "{\"x\":{\"y\":[\"YWJj\",\"YWJj\"]}}" },
	{ "{\"x\":null,\"refs\":[" REF("/x", "raw") "," REF("/x", "raw") "]}", "{\"x\":\"YWJj\"}" },
	{ "{\"z\":0,\"refs\":[" REF("/refs/1", "raw") ",null]}", NULL },
	{ "{\"x\":1,\"refs\":[" REF("/x", "raw") "]}", NULL },
	{ "{\"x\":null,\"refs\":[" REF("/y", "raw") "]}", NULL },
	{ "{\"x\":null,\"refs\":[{\"at\":\"/x\",\"sha256\":\"../x\"}]}", NULL },
	{ "{\"x\":null,\"refs\":[{\"at\":\"/x\"}]}", NULL },
	{ "{\"x\":null,\"refs\":[7]}", NULL },
};

static void
test_inline(void **state)
{
	const char *blobs = record_path("inline");
	char name[DIGEST_SIZE];
	struct buffer whole = BUFFER_INIT;

	(void)state;
	assert_int_equal(blob_write(blobs, "abc", 3, false, name, &err), 0);
	for (size_t i = 0; i < sizeof inlined / sizeof inlined[0]; i++) {
		const char *line = inlined[i].line;
		buffer_clear(&whole);
		int result = blob_inline(blobs, line, strlen(line), &whole, &err);
		if (result != (inlined[i].whole == NULL ? -1 : 0))
			fail_msg("%s gives %d", line, result);
		if (result == 0)
			assert_string_equal(buffer_string(&whole), inlined[i].whole);
		else
			assert_int_equal(err.code, ERROR_SYSTEM);
	}
	buffer_free(&whole);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write_and_read),
		cmocka_unit_test(test_short_blob_is_replaced),
		cmocka_unit_test(test_what_cannot_be_read),
		cmocka_unit_test(test_links_are_not_followed),
		cmocka_unit_test(test_name_that_is_taken),
		cmocka_unit_test(test_externalise_and_inline),
		cmocka_unit_test(test_keys_beyond_pointers),
		cmocka_unit_test(test_threshold_and_several),
		cmocka_unit_test(test_inline),
	};

	return cmocka_run_group_tests(tests, record_setup, record_teardown);
}
