/* lib/rerun/canonical: lines without time and chance, and the first difference of two
 * recordings. */
#include "graph.h"

#include "rerun/canonical.h"
#include "unit.h"

static void
test_lines(void **state)
{
	static const struct { const char *line, *canonical; } lines[] = {
		{ "{\"seq\":1,\"timestamp\":\"t\",\"event_id\":\"e\",\"payload\":null,\"prev\":\"p\"}",
		    "{\"event_id\":\"e\",\"payload\":null}" },
		{ "{\"seq\":1,\"prev\":\"p\"}", "{}" },
		{ "{\"a\":{\"seq\":1,\"duration_ms\":2},\"payload\":{\"seq\":1,\"prev\":2}}",
		    "{\"a\":{\"seq\":1,\"duration_ms\":2},\"payload\":{\"seq\":1,\"prev\":2}}" },
		{ "{\"payload\":{\"duration_ms\":1.50e3,\"result\":{\"duration_ms\":5,\"n\":1.50}}}",
		    "{\"payload\":{\"result\":{\"duration_ms\":5,\"n\":1.50}}}" },
		{ "{\"payload\":{\"z\":\"\\u00e9\",\"seal\":{\"signature\":\"s\"},\"a\":[ 1 ]}}",
		    "{\"payload\":{\"z\":\"\\u00e9\",\"a\":[ 1 ]}}" },
		{ "{\"payload\":{\"retries\":[{\"code\":\"x\",\"duration_ms\":1},{\"duration_ms\":2},[],7]}}",
		    "{\"payload\":{\"retries\":[{\"code\":\"x\"},{},[],7]}}" },
		{ "{\"payload\":{\"retries\":[],\"duration\\u005fms\":3}}", "{\"payload\":{\"retries\":[]}}" },
		{ "{\"payload\":{\"retries\":null},\"refs\":[{\"at\":\"/payload/x\"}]}",
		    "{\"payload\":{\"retries\":null},\"refs\":[{\"at\":\"/payload/x\"}]}" },
		{ "{\"payload\":{\"changed\":[{\"path\":\"a\",\"observed\":true}],\"changed_more\":2,"
		    "\"commit\":\"c\",\"name\":\"bash\"}}", "{\"payload\":{\"name\":\"bash\"}}" },
		{ "{\"payload\":{\"error\":{\"code\":\"divergence\"},\"stderr\":\"pid 7\",\"stderr_bytes\":5}}",
		    "{\"payload\":{\"error\":{\"code\":\"divergence\"}}}" },
		{ "{\"payload\":{\"error\":{\"code\":\"exit_status\"},\"stderr\":\"pid 7\"}}",
		    "{\"payload\":{\"error\":{\"code\":\"exit_status\"},\"stderr\":\"pid 7\"}}" },
		{ "{\"payload\":[{\"duration_ms\":1}]}", "{\"payload\":[{\"duration_ms\":1}]}" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++) {
		struct buffer out = BUFFER_INIT;

		canonical_line(lines[i].line, strlen(lines[i].line), &out);
		assert_string_equal(out.data, lines[i].canonical);
		buffer_free(&out);
	}
}

/* A run with two calls, one of which has a message. */
struct event_words {
	unsigned id, parent;
	const char *links, *type, *payload;
};
static const struct event_words base[] = {
	{ 1, 0, NULL, "run.started", "{\"attempt\":1}" },
	{ 3, 1, NULL, "step.started", "{\"call\":\"a:0:0\",\"attempt\":1,\"input\":\"x\"}" },
	{ 4, 3, NULL, "message.user", "{\"blocks\":[{\"text\":\"one\"},{\"text\":\"two\"}]}" },
	{ 5, 4, NULL, "step.completed", "{\"call\":\"a:0:0\",\"result\":{\"k/1\":1,\"l\":2}}" },
	{ 6, 1, NULL, "step.started", "{\"call\":\"b:0:0\",\"attempt\":1}" },
	{ 7, 6, NULL, "step.completed", "{\"call\":\"b:0:0\",\"result\":null,\"duration_ms\":9}" },
	{ 2, 1, NULL, "run.completed", "{\"status\":\"success\"}" },
};

/* The base with one event instead of the one with its id, or one more; without the
 * event `without`. */
static const char *
put_changed(const char *name, const struct event_words *changed, unsigned without)
{
	struct buffer lines = BUFFER_INIT;
	const char *path;
	bool instead = false;
	long seq = 0;

	for (size_t i = 0; i < COUNT(base); i++) {
		const struct event_words *e = &base[i];

		if (e->id == without)
			continue;
		if (changed && changed->id == e->id) {
			e = changed;
			instead = true;
		}
		graph_event(&lines, ++seq, e->id, e->parent, e->links, e->type, e->payload);
	}
	if (changed && !instead)
		graph_event(&lines, ++seq, changed->id, changed->parent, changed->links, changed->type,
		    changed->payload);
	path = graph_put(name, &lines);
	buffer_free(&lines);
	return path;
}

#define E(n) "00000000-0000-4000-8000-00000000000" #n

static void
test_differences(void **state)
{
	static const struct { struct event_words changed; unsigned without; const char *text; } table[] = {
		{ { 7, 6, NULL, "step.completed", "{\"call\":\"b:0:0\",\"result\":null,\"duration_ms\":1}" },
		    0, "" },
		{ { 4, 3, NULL, "message.user", "{\"blocks\":[{\"text\":\"one\"},{\"text\":\"2\"}]}" }, 0,
		    "a:0:0: message.user " E(4) ": /payload/blocks/1/text differs\n"
		    "  recording: \"two\"\n  replay: \"2\"\n" },
		{ { 4, 3, NULL, "message.user", "{\"blocks\":[{\"text\":\"one\"}]}" }, 0,
		    "a:0:0: message.user " E(4) ": /payload/blocks/1 differs\n"
		    "  recording: {\"text\":\"two\"}\n  replay: (absent)\n" },
		{ { 5, 4, NULL, "step.completed", "{\"call\":\"a:0:0\",\"result\":{\"l\":2}}" }, 0,
		    "a:0:0: step.completed " E(5) ": /payload/result/k~11 differs\n"
		    "  recording: 1\n  replay: (absent)\n" },
		{ { 5, 4, NULL, "step.completed", "{\"call\":\"a:0:0\",\"result\":{\"k/1\":1,\"m\":0,\"l\":2}}" }, 0,
		    "a:0:0: step.completed " E(5) ": /payload/result/m differs\n"
		    "  recording: (absent)\n  replay: 0\n" },
		{ { 5, 4, NULL, "step.completed", "{\"call\":\"a:0:0\",\"result\":{\"l\":2,\"k/1\":1}}" }, 0,
		    "a:0:0: step.completed " E(5) ": /payload/result differs\n"
		    "  recording: {\"k/1\":1,\"l\":2}\n  replay: {\"l\":2,\"k/1\":1}\n" },
		{ { 5, 4, NULL, "step.completed", "{\"call\":\"a:0:0\",\"result\":[1]}" }, 0,
		    "a:0:0: step.completed " E(5) ": /payload/result differs\n"
		    "  recording: {\"k/1\":1,\"l\":2}\n  replay: [1]\n" },
		{ { 2, 1, NULL, "run.completed", "{\"status\":\"failed\"}" }, 0,
		    "run: run.completed " E(2) ": /payload/status differs\n"
		    "  recording: \"success\"\n  replay: \"failed\"\n" },
		{ { 6, 1, NULL, "step.started", "{\"call\":\"b:0:0\",\"attempt\":1,\"x\":\"\x1b[2J\"}" }, 0, NULL },
		/* causes: the order parts, where the event whose causes changed is at hand */
		{ { 6, 1, "[\"" E(5) "\"]", "step.started", "{\"call\":\"b:0:0\",\"attempt\":1}" }, 0,
		    "b:0:0: step.started " E(6) ": /links differs\n"
		    "  recording: (absent)\n  replay: [\"" E(5) "\"]\n" },
		{ { 3, 1, "[\"" E(7) "\"]", "step.started", "{\"call\":\"a:0:0\",\"attempt\":1,\"input\":\"x\"}" }, 0,
		    "a:0:0: step.started " E(3) ": /links differs\n"
		    "  recording: (absent)\n  replay: [\"" E(7) "\"]\n" },
		{ { 3, 1, NULL, "step.started", "{\"call\":\"a:0:0\",\"attempt\":2,\"input\":\"x\"}" }, 2,
		    "a:0:0: step.started " E(3) ": /payload/attempt differs\n"
		    "  recording: 1\n  replay: 2\n" },
		/* one more, one less */
		{ { 8, 4, NULL, "message.user", "{}" }, 0,
		    "a:0:0: message.user " E(8) " is in the replay only\n" },
		{ { 0, 0, NULL, NULL, NULL }, 7,
		    "b:0:0: step.completed " E(7) " is in the recording only\n" },
		{ { 0, 0, NULL, NULL, NULL }, 2,
		    "run: run.completed " E(2) " is in the recording only\n" },
	};
	const char *recording = put_changed("recording", NULL, 0);

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++) {
		const struct event_words *changed = table[i].changed.id > 0 ? &table[i].changed : NULL;
		const char *replay = put_changed("replay", changed, table[i].without);
		struct buffer text = BUFFER_INIT;
		struct error err = ERROR_INIT;
		struct difference d;
		int differ = canonical_compare(recording, replay, &d, &err);

		if (!table[i].text) {
			/* a control character alone is no JSON */
			assert_int_equal(differ, -1);
			assert_int_equal(err.code, ERROR_INVALID_INPUT);
			difference_free(&d);
			continue;
		}
		assert_int_equal(differ, table[i].text[0] != '\0');
		if (differ == 1)
			difference_text(&d, "recording", "replay", &text);
		assert_string_equal(buffer_string(&text), table[i].text);
		difference_free(&d);
		buffer_free(&text);
	}
}

/* The other way round "only" names the other one. */
static void
test_sides(void **state)
{
	const char *whole = put_changed("whole", NULL, 0), *part = put_changed("part", NULL, 2);
	struct error err = ERROR_INIT;
	struct difference d;

	(void)state;
	assert_int_equal(canonical_compare(whole, part, &d, &err), 1);
	assert_int_equal(d.kind, DIFFERENCE_FIRST_ONLY);
	difference_free(&d);
	assert_int_equal(canonical_compare(part, whole, &d, &err), 1);
	assert_int_equal(d.kind, DIFFERENCE_SECOND_ONLY);
	assert_string_equal(d.event_id, E(2));
	difference_free(&d);
	assert_int_equal(canonical_compare(whole, record_path("none"), &d, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	difference_free(&d);
}

static struct span
of(const char *text)
{
	return span_of(text, strlen(text));
}

/* Of texts of several lines those that differ are shown, so many. */
static void
test_shown_lines(void **state)
{
	struct buffer first = BUFFER_INIT, second = BUFFER_INIT, text = BUFFER_INIT;
	struct difference d = { .kind = DIFFERENCE_VALUE, .type = EVENT_MESSAGE_USER, .event_id = E(4) };

	(void)state;
	difference_values(&d, of("{\"a\":1,\"text\":\"who\\nare\\nyou\"}"),
	    of("{\"a\":1,\"text\":\"who\\nis\\nshe\\u001b\\nyou\"}"));
	difference_text(&d, "a", "b", &text);
	assert_string_equal(text.data, "run: message.user " E(4) ": /text differs\n"
	    "  a: \"who\\nare\\nyou\"\n  b: \"who\\nis\\nshe\\u001b\\nyou\"\n"
	    "    -are\n    +is\n    +she\\x1b\n");
	difference_free(&d);
	buffer_clear(&text);

	buffer_text(&first, "\"");
	buffer_text(&second, "\"");
	for (int i = 0; i < 20; i++) {
		buffer_format(&first, "%d\\n", i);
		buffer_format(&second, "%d.\\n", i);
	}
	buffer_text(&first, "\"");
	buffer_text(&second, "\"");
	d = (struct difference){ .kind = DIFFERENCE_VALUE, .type = EVENT_MESSAGE_USER };
	difference_values(&d, span_of(first.data, first.len), span_of(second.data, second.len));
	difference_text(&d, "a", "b", &text);
	assert_string_equal(strstr(text.data, "    -15"), "    -15\n    and 24 more lines\n");
	difference_free(&d);
	buffer_free(&first);
	buffer_free(&second);
	buffer_free(&text);
}

/* Long values are shown around the place where they differ, on one harmless line. */
static void
test_shown_values(void **state)
{
	struct buffer first = BUFFER_INIT, second = BUFFER_INIT, text = BUFFER_INIT;
	struct event_words event = { 8, 4, NULL, "message.user", NULL };
	struct error err = ERROR_INIT;
	struct difference d;
	const char *a, *b;

	(void)state;
	buffer_text(&first, "{\"text\":\"");
	for (int i = 0; i < 1000; i++)
		buffer_text(&first, "é");
	buffer_text(&first, "here\\n\xe2\x80\xae");
	for (int i = 0; i < 1000; i++)
		buffer_byte(&first, 'x');
	buffer_text(&first, "\"}");
	buffer_append(&second, first.data, first.len);
	*strstr(second.data, "here") = 'H';
	event.payload = first.data;
	a = put_changed("a", &event, 0);
	event.payload = second.data;
	b = put_changed("b", &event, 0);
	assert_int_equal(canonical_compare(a, b, &d, &err), 1);
	difference_text(&d, "a", "b", &text);
	assert_string_equal(text.data, "a:0:0: message.user " E(8) ": /payload/text differs\n"
	    "  a: …ééééééééééééhere\\n\\u202exxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…\n"
	    "  b: …ééééééééééééHere\\n\\u202exxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…\n");
	difference_free(&d);
	buffer_free(&first);
	buffer_free(&second);
	buffer_free(&text);
}

/* Lines in any order, under any seq, have the same canonical bytes. */
static void
test_interleavings(void **state)
{
	size_t order[COUNT(base)];
	const char *recording = put_changed("recording", NULL, 0);

	(void)state;
	srand(2);
	for (size_t i = 0; i < COUNT(base); i++)
		order[i] = i;
	for (int round = 0; round < 50; round++) {
		struct buffer lines = BUFFER_INIT;
		struct error err = ERROR_INIT;
		struct difference d;

		for (size_t i = COUNT(base) - 1; i > 0; i--) {
			size_t other = (size_t)rand() % (i + 1), kept = order[i];

			order[i] = order[other];
			order[other] = kept;
		}
		for (size_t i = 0; i < COUNT(base); i++) {
			const struct event_words *e = &base[order[i]];

			graph_event(&lines, (long)i + 1, e->id, e->parent, e->links, e->type, e->payload);
		}
		assert_int_equal(canonical_compare(recording, graph_put("other", &lines), &d, &err), 0);
		difference_free(&d);
		buffer_free(&lines);
	}
}

static void
test_calls(void **state)
{
	static const char *const calls[] = { "", "a:0:0", "a:0:0", "a:0:0", "b:0:0", "b:0:0", "" };
	struct canonical c;
	struct error err = ERROR_INIT;
	struct buffer call = BUFFER_INIT;
	size_t i = 0;

	(void)state;
	assert_int_equal(canonical_open(&c, put_changed("t", NULL, 0), &err), 0);
	for (; canonical_next(&c, &err) == 1; i++) {
		buffer_clear(&call);
		assert_int_equal(canonical_call(&c, c.node, &call, &err), 0);
		assert_string_equal(buffer_string(&call), calls[i]);
	}
	assert_int_equal(i, COUNT(calls));
	assert_int_equal(canonical_next(&c, &err), 0);
	canonical_close(&c);
	buffer_free(&call);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_differences),
		cmocka_unit_test(test_sides),
		cmocka_unit_test(test_shown_lines),
		cmocka_unit_test(test_shown_values),
		cmocka_unit_test(test_interleavings),
		cmocka_unit_test(test_calls),
	};

	return cmocka_run_group_tests_name("canonical", tests, record_setup, record_teardown);
}
