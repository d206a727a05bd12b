/* transcript/call: the causes of a call's events. */
#include "record.h"

#include "transcript/call.h"
#include "transcript/reader.h"

static struct error err;

/* parent_event_id and links of the last line, as JSON. */
static void
last_causes(const char *path, struct buffer *out)
{
	struct event_view view;
	struct reader r;
	const char *line;
	size_t len;

	buffer_clear(out);
	assert_int_equal(reader_open(&r, path, &err), 0);
	assert_int_equal(reader_seek_last(&r, 1, &err), 0);
	assert_int_equal(reader_next(&r, &line, &len, &err), 1);
	assert_int_equal(event_view(line, len, &view), 0);
	assert_true(span_is(view.path, "group.step"));
	assert_int_equal(view.iteration, 3);
	buffer_append(out, view.parent_event_id.at, view.parent_event_id.len);
	if (view.links.at != NULL)
		buffer_append(out, view.links.at, view.links.len);
	reader_close(&r);
}

static void
test_causes(void **state)
{
	const char *path = record_path("call.jsonl");
	struct buffer payload = BUFFER_INIT, causes = BUFFER_INIT;
	struct transcript t;
	char ids[6][ID_SIZE], expected[200];

	(void)state;
	assert_int_equal(transcript_create(&t, path, "", RUN_ID, &err), 0);
	struct call c = { .transcript = &t, .name = "step", .path = "group.step",
		.id = "group:0:0/step:0:3", .iteration = 3 };
	/* nothing before it */
	assert_int_equal(call_event(&c, EVENT_STEP_STARTED, NULL, NULL, ids[0], &err), 0);
	last_causes(path, &causes);
	assert_true(buffer_equal(&causes, "null"));
	/* the event before it */
	buffer_text(&payload, "{\"turn\":0}");
	assert_int_equal(call_event(&c, EVENT_MESSAGE_ASSISTANT, NULL, &payload, ids[1], &err), 0);
	last_causes(path, &causes);
	snprintf(expected, sizeof expected, "\"%s\"", ids[0]);
	assert_true(buffer_equal(&causes, expected));
	/* one that is named: the call goes on from the message */
	assert_int_equal(call_event(&c, EVENT_TOOL_CALL, ids[1], NULL, ids[2], &err), 0);
	assert_int_equal(call_event(&c, EVENT_TOOL_RESULT, ids[2], NULL, ids[3], &err), 0);
	last_causes(path, &causes);
	snprintf(expected, sizeof expected, "\"%s\"", ids[2]);
	assert_true(buffer_equal(&causes, expected));
	assert_string_equal(c.last, ids[1]);
	/* several, which count once */
	const char *const results[] = { ids[3], ids[2], ids[0] };
	call_follow(&c, results, 3);
	assert_int_equal(call_event(&c, EVENT_MESSAGE_ASSISTANT, NULL, NULL, ids[4], &err), 0);
	last_causes(path, &causes);
	snprintf(expected, sizeof expected, "\"%s\"[\"%s\",\"%s\"]", ids[3], ids[2], ids[0]);
	assert_true(buffer_equal(&causes, expected));
	assert_int_equal(call_event(&c, EVENT_STEP_COMPLETED, NULL, NULL, NULL, &err), 0);
	last_causes(path, &causes);
	snprintf(expected, sizeof expected, "\"%s\"", ids[4]);
	assert_true(buffer_equal(&causes, expected));
	assert_int_equal(call_sync(&c, &err), 0);
	/* what fails leaves the call where it was */
	snprintf(expected, sizeof expected, "%s", c.last);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(call_event(&c, EVENT_TOOL_CALL, NULL, NULL, ids[5], &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_string_equal(c.last, expected);
	buffer_free(&payload);
	buffer_free(&causes);
	buffer_free(&c.links);
	transcript_close(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_causes) };

	return cmocka_run_group_tests(tests, record_setup, record_teardown);
}
