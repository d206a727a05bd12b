#include "unit.h"

#include "api/joined.h"
#include "json/sorted.h"

static struct span
text(const char *json)
{
	return span_of(json, strlen(json));
}

/* The object that pieces make. */
static void
joins(void **state)
{
	static const struct {
		const char *pieces[4];
		const char *object;
	} rows[] = {
		{ { "{\"a\":\"x\"}", "{\"a\":\"y\"}", "{\"b\":null,\"c\":1}" }, "{\"a\":\"xy\",\"c\":1}" },
		/* All before, once more. */
		{ { "{\"a\":\"x\"}", "{\"a\":\"x\"}" }, "{\"a\":\"x\"}" },
		{ { "{\"a\":1,\"b\":{\"c\":1}}", "{\"a\":2.50,\"b\":{\"d\":2}}" }, "{\"a\":2.50,\"b\":{\"d\":2}}" },
		{ { "{\"a\":[1,\"x\"]}", "{\"a\":[1]}" }, "{\"a\":[1,\"x\",1]}" },
		{ { "{\"a\":[]}" }, "{\"a\":[]}" },
		/* Parts of one index and type are one; their texts grow, the rest is said once. */
		{ { "{\"a\":[{\"type\":\"t\",\"text\":\"ha\",\"index\":0,\"s\":\"1\"}]}",
		    "{\"a\":[{\"type\":\"t\",\"text\":\"ha\",\"index\":0,\"s\":\"2\"},{\"type\":\"u\",\"data\":\"d\",\"index\":0}]}",
		    "{\"a\":[{\"type\":\"t\",\"text\":\"!\",\"index\":1,\"s\":null}]}" },
		    "{\"a\":[{\"type\":\"t\",\"text\":\"haha\",\"index\":0,\"s\":\"2\"},{\"type\":\"u\",\"data\":\"d\",\"index\":0},"
		    "{\"type\":\"t\",\"text\":\"!\",\"index\":1}]}" },
		/* Thoughts without an index, up to the signature: with no text, with all of it. */
		{ { "{\"a\":[{\"type\":\"thinking\",\"thinking\":\"x\",\"signature\":\"\"},{\"type\":\"thinking\",\"thinking\":\"y\"}]}",
		    "{\"a\":[{\"type\":\"thinking\",\"signature\":\"s\"},{\"type\":\"thinking\",\"thinking\":\"z\"}]}",
		    "{\"a\":[{\"type\":\"thinking\",\"thinking\":\"za\",\"signature\":\"t\"}]}" },
		    "{\"a\":[{\"type\":\"thinking\",\"thinking\":\"xy\",\"signature\":\"s\"},"
		    "{\"type\":\"thinking\",\"thinking\":\"za\",\"signature\":\"t\"}]}" },
		/* Others without an index stay apart. */
		{ { "{\"a\":[{\"type\":\"thinking\",\"thinking\":[1]},{\"type\":\"thinking\",\"thinking\":[2]}]}",
		    "{\"a\":[{\"type\":\"thinking\",\"thinking\":\"x\",\"id\":\"1\"},{\"type\":\"thinking\",\"thinking\":\"y\",\"id\":\"2\"}]}" },
		    "{\"a\":[{\"type\":\"thinking\",\"thinking\":[1]},{\"type\":\"thinking\",\"thinking\":[2]},"
		    "{\"type\":\"thinking\",\"thinking\":\"x\",\"id\":\"1\"},{\"type\":\"thinking\",\"thinking\":\"y\",\"id\":\"2\"}]}" },
		/* Keys keep their tokens; another kind of value takes the place of the first. */
		{ { "{\"\\u00e9\\\"\":\"\\u00e9\\n\"}", "{\"\\u00e9\\\"\":[2]}" }, "{\"\\u00e9\\\"\":[2]}" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct joined joined = { .members = NULL };
		struct buffer out = BUFFER_INIT;
		struct writer w;

		for (size_t k = 0; k < COUNT(rows[i].pieces) && rows[i].pieces[k] != NULL; k++)
			for (struct span_walk member = span_walk(text(rows[i].pieces[k])); span_next(&member);)
				joined_add(&joined, member.key, member.value);
		writer_begin(&w, &out);
		writer_object(&w);
		joined_write(&joined, &w);
		writer_object_end(&w);
		assert_string_equal(buffer_string(&out), rows[i].object);
		buffer_free(&out);
		joined_free(&joined);
	}
}

static void
drops_and_sets(void **state)
{
	struct joined joined = { .members = NULL };
	struct buffer out = BUFFER_INIT;
	struct writer w;

	(void)state;
	joined_add(&joined, text("\"a\""), text("[1]"));
	joined_add(&joined, text("\"b\""), text("\"x\""));
	joined_set(&joined, text("\"a\""), text("[2]"));
	assert_true(joined_has(&joined, "b"));
	joined_drop(&joined, "b");
	assert_false(joined_has(&joined, "b"));
	writer_begin(&w, &out);
	joined_write(&joined, &w);
	assert_string_equal(buffer_string(&out), "\"a\":[2]");
	buffer_free(&out);
	joined_free(&joined);
}

/* Values that are the same, whoever wrote them, have one form; others have another. */
static void
sorts(void **state)
{
	static const struct {
		const char *json, *form;
	} rows[] = {
		{ " { \"b\" : 1.50e1 , \"a\" : [ true , null , { } , [ ] ] } ", "{\"a\":[true,null,{},[]],\"b\":1.50e1}" },
		{ "{\"a\":\"\\u00e9\\/\\u0041\\n\"}", "{\"a\":\"\303\251/A\\n\"}" },
		{ "{\"ab\":1,\"a\":2,\"a\":3}", "{\"a\":2,\"a\":3,\"ab\":1}" },
		{ "\"x\"", "\"x\"" },
		{ "-0.0", "-0.0" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct buffer out = BUFFER_INIT;

		sorted_write(text(rows[i].json), &out);
		assert_string_equal(buffer_string(&out), rows[i].form);
		buffer_free(&out);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joins),
		cmocka_unit_test(drops_and_sets),
		cmocka_unit_test(sorts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
