/* transcript/event: what can be told from a line. */
#include "record.h"

#include "transcript/event.h"

#define HEX "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define BEGIN "\"timestamp\":\"2026-11-21T08:15:30.123456Z\",\"event_id\":\"" OTHER_ID "\",\"run_id\":\"" \
	RUN_ID "\""
#define END ",\"prev\":\"" HEX "\"}"

static void
test_types(void **state)
{
	static const struct { const char *name; bool synced; } types[] = {
		{ "run.started", false }, { "run.completed", true },
		{ "step.started", true }, { "step.completed", true },
		{ "step.call_workflow.started", true }, { "step.call_workflow.completed", true },
		{ "message.user", false }, { "message.assistant", true },
		{ "tool.call", true }, { "tool.result", false }, { "step.waiting", true },
	};

	(void)state;
	assert_int_equal(sizeof types / sizeof types[0], EVENT_TYPES);
	for (int i = 0; i < EVENT_TYPES; i++) {
		const char *name = types[i].name;
		assert_int_equal(event_type_from_name(name, strlen(name)), i);
		assert_string_equal(event_type_name((enum event_type)i), name);
		assert_int_equal(event_type_synced((enum event_type)i), types[i].synced);
	}
	assert_int_equal(event_type_from_name("tool.cal", 8), EVENT_TYPES);
	assert_int_equal(event_type_from_name("", 0), EVENT_TYPES);
	assert_false(event_type_synced(EVENT_TYPES));
	assert_string_equal(event_type_name(EVENT_TYPES), "unknown");
}

static void
test_seq(void **state)
{
	static const struct { const char *line; int64_t seq; } lines[] = {
		{ "{\"seq\":1,", 1 },
		{ "{\"seq\":9000000000000000,", 9000000000000000 },
		{ "{\"seq\":12,\"timestamp", 12 },
		{ "{\"seq\":12", 0 }, /* perhaps 123 */
		{ "{\"seq\":0,", 0 },
		{ "{\"seq\":01,", 0 },
		{ "{\"seq\":-1,", 0 },
		{ "{\"seq\":1.5,", 0 },
		{ "{\"seq\":,", 0 },
		{ "{\"seq\":99999999999999999999,", 0 },
		{ "{ \"seq\":1,", 0 },
		{ "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		int64_t seq = 0;
		bool found = event_seq(lines[i].line, strlen(lines[i].line), &seq);
		if (found != (lines[i].seq != 0) || seq != lines[i].seq)
			fail_msg("%s gives %lld", lines[i].line, (long long)seq);
	}
}

static const struct peeked { const char *line; int64_t seq; const char *type; } peeked[] = {
	{ "{\"seq\":7," BEGIN ",\"parent_event_id\":null,\"type\":\"tool.call\",\"path\":\"a\"}", 7,
	  "tool.call" },
	{ "{\"seq\":7," BEGIN ",\"links\":[\"x\"],\"type\":\"tool.call\"}", 7, "tool.call" },
	{ "{\"seq\":7,\"new\":{\"type\":\"no\"},\"type\":\"from.later\"}", 7, "from.later" },
	{ "{\"seq\":7,\"new\":\"\\\\\",\"type\":\"yes\",\"x\":\"\\\",\\\"type\\\":\\\"no\\\"\"}", 7, "yes" },
	{ "{\"payload\":{\"type\":\"no\",\"seq\":3},\"type\":\"yes\",\"seq\":8}", 8, "yes" },
	{ "{\"seq\":7,\"type\":null}", 0, NULL },
	{ "{\"seq\":7,\"type\":3}", 0, NULL },
	{ "{\"seq\":7,\"path\":\"a\"}", 0, NULL },
	{ "{\"type\":\"tool.call\"}", 0, NULL },
	{ "{\"seq\":\"7\",\"type\":\"tool.call\"}", 0, NULL },
	{ "[7]", 0, NULL },
	{ "{\"seq\":7,\"type", 0, NULL },
	{ "{\"seq\":7,\"type\":\"tool.ca", 0, NULL },
	{ "{\"seq\":7,\"", 0, NULL },
	{ "", 0, NULL },
};

static void
test_peek(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof peeked / sizeof peeked[0]; i++) {
		const struct peeked *p = &peeked[i];
		struct event_head head;
		/* memory of its exact size, so that a sanitizer sees reads beyond it */
		size_t len = strlen(p->line);
		char *line = memory_alloc(len);
		memcpy(line, p->line, len);
		int result = event_peek(line, len, &head);
		if (result != (p->type == NULL ? -1 : 0))
			fail_msg("%s gives %d", p->line, result);
		if (result == 0) {
			assert_int_equal(head.seq, p->seq);
			assert_int_equal(head.type_name.len, strlen(p->type));
			assert_memory_equal(head.type_name.at, p->type, head.type_name.len);
		} else {
			assert_int_equal(head.seq, 0);
		}
		struct event_view view;
		assert_int_equal(event_view(line, len, &view), result);
		free(line);
	}
}

#define CHILD ",\"parent_run_id\":\"" OTHER_ID "\",\"child_run_id\":\"" RUN_ID "\""
#define PARENT ",\"parent_event_id\":\"" OTHER_ID "\""
#define TYPE ",\"type\":\"tool.call\""
#define REST ",\"path\":\"a\",\"payload\":{\"type\":\"x\"}" END

/* Heads as ours are. */
static const char *const usual[] = {
	"{\"seq\":7," BEGIN ",\"parent_event_id\":null" TYPE REST,
	"{\"seq\":9000000000000000," BEGIN PARENT TYPE REST,
	"{\"seq\":12," BEGIN CHILD PARENT ",\"links\":[\"" OTHER_ID "\"]" TYPE REST,
	"{\"seq\":1," BEGIN PARENT ",\"links\":[\"" OTHER_ID "\",\"" RUN_ID "\"],\"type\":\"new.type\"" REST,
	"{\"seq\":7," BEGIN ",\"parent_event_id\":null,\"type\":\"\",\"type\":\"no\"" REST,
};

/* Others, of the same lengths in part, so that what holds them is nearly taken for one. */
static const char *const unusual[] = {
	"{\"seq\":7,\"timestamp\":\"2026-11-21\",\"type\":\"x\",\"e\":\"Z\",\"event_id\":\"" OTHER_ID
	    "\",\"run_id\":\"" RUN_ID "\",\"parent_event_id\":null" TYPE REST,
	"{\"seq\":7,\"timestamp\":\"2026-11-21T08:15:30.123456\\\",\"event_id\":\"" OTHER_ID "\",\"run_id\":\""
	    RUN_ID "\",\"parent_event_id\":null" TYPE REST,
	"{\"seq\":7," BEGIN ",\"parent_event_id\":null,\"type\":\"tool.\\u0063all\"" REST,
	"{\"seq\":7," BEGIN ",\"parent_event_id\":null,\"typ\\u0065\":\"no\"" TYPE REST,
	"{\"seq\":7," BEGIN ",\"links\":[]" PARENT TYPE REST,
	"{\"seq\":7," BEGIN PARENT ",\"links\":[\"" OTHER_ID "\",]" TYPE REST,
	"{\"seq\":7," BEGIN PARENT ",\"links\":[{\"run_id\":\"" RUN_ID "\",\"event_id\":\"" OTHER_ID "\"}]" TYPE REST,
	"{\"seq\":7, " BEGIN PARENT TYPE REST, "{ \"seq\":7," BEGIN PARENT TYPE REST,
	"{\"seq\":7," BEGIN PARENT ",\"type\": \"tool.call\"" REST,
	"{\"seq\":7" TYPE "," BEGIN PARENT REST,
};

/* What walking over the members finds. */
static bool
walk(struct span line, int64_t *seq, struct span *type)
{
	*seq = 0;
	*type = SPAN_NONE;
	for (struct span_walk member = span_walk(line); member.object &&
	    (*seq == 0 || type->at == NULL) && span_next(&member);) {
		long long number = 0;

		if (member.key.len == 5 && memcmp(member.key.at, "\"seq\"", 5) == 0)
			*seq = span_integer(member.value, &number) ? number : 0;
		else if (member.key.len == 6 && memcmp(member.key.at, "\"type\"", 6) == 0)
			*type = member.value.len >= 2 && member.value.at[0] == '"' &&
			    member.value.at[member.value.len - 1] == '"' ?
			    span_of(member.value.at + 1, member.value.len - 2) : SPAN_NONE;
	}
	return *seq > 0 && type->at != NULL;
}

/* Places tell what a walk tells, and no head that is not sound is taken for one of ours. */
static void
peek_as_walk(const char *line, size_t len)
{
	char *copy = memory_copy(line, len), *exact = memory_alloc(len);
	struct event_head head;
	struct span type;
	int64_t seq;
	size_t end, bad;
	bool found;

	memcpy(exact, line, len);
	found = walk(span_of(exact, len), &seq, &type);
	if ((event_peek(exact, len, &head) == 0) != found || (found && (head.seq != seq ||
	    head.type_name.at != type.at || head.type_name.len != type.len)))
		fail_msg("%s", copy);
	if (head.len > 0) {
		copy[head.len] = '}';
		if (scan_value(copy, head.len + 1, SCAN_LINE_DEPTH, &end, &bad) != NULL || !found)
			fail_msg("%s", copy);
	}
	free(exact);
	free(copy);
}

static void
test_peek_by_place(void **state)
{
	static const char bytes[] = "\"\\,:{}[]0 x\n\x7f\x80";
	struct event_head head;

	(void)state;
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
		assert_int_equal(event_peek(usual[i], strlen(usual[i]), &head), 0);
		assert_true(head.len > 0 && usual[i][head.len] == ',');
		assert_int_equal(head.timestamp.len, CLOCK_TEXT_SIZE - 1);
		assert_memory_equal(head.timestamp.at, "2026-11-21T08:15:30.123456Z", head.timestamp.len);
	}
	for (size_t i = 0; i < sizeof unusual / sizeof *unusual; i++) {
		event_peek(unusual[i], strlen(unusual[i]), &head);
		assert_int_equal(head.len, 0);
		peek_as_walk(unusual[i], strlen(unusual[i]));
	}
	/* Cut anywhere, and with another byte, or none, anywhere. */
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
		size_t len = strlen(usual[i]);
		char *line = memory_copy(usual[i], len);

		for (size_t at = 0; at < len; at++) {
			peek_as_walk(line, at);
			for (size_t b = 0; b < sizeof bytes; b++) {
				line[at] = bytes[b];
				peek_as_walk(line, len);
			}
			memmove(line + at, usual[i] + at + 1, len - at - 1);
			peek_as_walk(line, len - 1);
			memcpy(line, usual[i], len);
		}
		free(line);
	}
}

static void
test_time(void **state)
{
	static const struct { const char *line; bool told; } lines[] = {
		{ "{\"seq\":7," BEGIN PARENT TYPE, true },
		{ "{\"seq\":9000000000000000000," BEGIN, true },
		{ "{\"seq\":7,\"timestamp\":\"2026-11-21T08:15:30.123456Z\"", true },
		{ "{\"seq\":7,\"timestamp\":\"2026-11-21T08:15:30.123456Z", false },
		{ "{\"seq\":7,\"timestamp\":\"2026-11-21T08:15:30.12345\"Z\"", false },
		{ "{\"seq\":7,\"timestamp\":\"2026-11-21T08:15:30.12345\\\"\"", false },
		{ "{\"seq\":7,\"timestamp\":\"2026-11-21\"", false },
		{ "{\"seq\":7,\"timestamp\":null," BEGIN, false },
		{ "{\"seq\":7,\"type\":\"x\"," BEGIN, false },
		{ "{\"seq\":0," BEGIN, false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		size_t len = strlen(lines[i].line), head = len < EVENT_TIME_WITHIN ? len : EVENT_TIME_WITHIN;
		struct span time = event_time(lines[i].line, head);

		if ((time.at != NULL) != lines[i].told)
			fail_msg("%s", lines[i].line);
		if (time.at != NULL)
			assert_memory_equal(time.at, "2026-11-21T08:15:30.123456Z", time.len);
	}
}

static void
assert_span(struct span span, const char *text)
{
	assert_non_null(span.at);
	assert_int_equal(span.len, strlen(text));
	assert_memory_equal(span.at, text, span.len);
}

static void
test_view(void **state)
{
	static const char line[] = "{\"seq\":3," BEGIN ",\"parent_run_id\":\"p\",\"child_run_id\":\"c\","
	    "\"parent_event_id\":\"e\",\"links\":[\"l\"],\"type\":\"tool.result\",\"path\":\"a.b\","
	    "\"iteration\":4,\"unknown\":[1],\"payload\":{\"prev\":1,\"seq\":9},\"refs\":[{}]" END;
	struct event_view view;

	(void)state;
	assert_int_equal(event_view(line, sizeof line - 1, &view), 0);
	assert_int_equal(view.seq, 3);
	assert_int_equal(view.type, EVENT_TOOL_RESULT);
	assert_int_equal(view.iteration, 4);
	assert_span(view.timestamp, "\"2026-11-21T08:15:30.123456Z\"");
	assert_span(view.event_id, "\"" OTHER_ID "\"");
	assert_span(view.run_id, "\"" RUN_ID "\"");
	assert_span(view.parent_run_id, "\"p\"");
	assert_span(view.child_run_id, "\"c\"");
	assert_span(view.parent_event_id, "\"e\"");
	assert_span(view.links, "[\"l\"]");
	assert_span(view.type_name, "\"tool.result\"");
	assert_span(view.path, "\"a.b\"");
	assert_span(view.payload, "{\"prev\":1,\"seq\":9}");
	assert_span(view.refs, "[{}]");
	assert_span(view.prev, "\"" HEX "\"");
}

static void
test_view_of_other_writers(void **state)
{
	static const char line[] = "{ \"prev\" : \"x\", \"type\" : \"agent.slept\", \"seq\" : 5 }";
	struct event_view view;

	(void)state;
	assert_int_equal(event_view(line, sizeof line - 1, &view), 0);
	assert_int_equal(view.seq, 5);
	assert_int_equal(view.type, EVENT_TYPES);
	assert_span(view.type_name, "\"agent.slept\"");
	assert_null(view.payload.at);
	assert_null(view.links.at);
}

static void
test_whole(void **state)
{
	static const struct { const char *line; size_t len; bool whole; } lines[] = {
#define LINE(text, whole) { text, sizeof text - 1, whole }
		LINE("{\"seq\":1,\"x\":2" END, true),
		LINE("{\"seq\":1,\"x\":2" END " ", false),
		LINE("{\"seq\":1,\"x\":2,\"prev\":\"" HEX "\"", false),
		LINE("{\"seq\":1,\"x\":2,\"prev\":\"" HEX "0\"}", false),
		LINE("{\"seq\":1,\"x\":2,\"prev\":\"" HEX "00", false),
		LINE("{\"seq\":1,\"x\":2,\"prev\":\"A0112233445566778899aabbccddeeff00112233445566778899"
		    "aabbccddeeff\"}", false),
		LINE("{\"seq\":1,\"x\":\"\0\"" END, false),
		LINE("\0\"seq\":1,\"x\":2" END, false),
		LINE("\"x\":2" END, false),
		LINE("{\"seq\":1,", false),
		LINE("", false),
#undef LINE
	};

	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		int64_t seq = 0;
		char *line = memory_copy(lines[i].line, lines[i].len);
		if (event_line_whole(line, lines[i].len, &seq) != lines[i].whole)
			fail_msg("line %zu", i);
		assert_int_equal(seq, lines[i].whole ? 1 : 0);
		assert_int_equal(event_line_whole(line, lines[i].len, NULL), lines[i].whole);
		if (memchr(line, '\0', lines[i].len) == NULL)
			assert_int_equal(event_line_chained(line, lines[i].len), lines[i].whole);
		free(line);
	}
}

/* A message or tool event that begins with its source is none that anybody goes by. */
static void
test_foreign(void **state)
{
#define EVENT(type, payload) "{\"seq\":3," BEGIN ",\"parent_event_id\":null,\"type\":\"" type \
	"\",\"path\":\"\",\"iteration\":0,\"payload\":" payload END
	static const struct { const char *line; enum event_type type, told; } events[] = {
		{ EVENT("tool.call", "{\"source\":{\"type\":\"x\"},\"name\":\"n\"}"), EVENT_TYPES,
		  EVENT_TOOL_CALL },
		{ EVENT("message.user", "{\"source\":{},\"role\":\"user\"}"), EVENT_TYPES, EVENT_MESSAGE_USER },
		{ EVENT("deploy", "{\"source\":{\"type\":\"deploy\"}}"), EVENT_TYPES, EVENT_TYPES },
		{ EVENT("tool.call", "{\"name\":\"n\",\"source\":{}}"), EVENT_TOOL_CALL, EVENT_TOOL_CALL },
		{ EVENT("tool.call", "{\"source\":\"x\"}"), EVENT_TOOL_CALL, EVENT_TOOL_CALL },
		{ EVENT("tool.call", "null"), EVENT_TOOL_CALL, EVENT_TOOL_CALL },
		{ EVENT("run.started", "{\"source\":{},\"name\":\"n\"}"), EVENT_RUN_STARTED, EVENT_RUN_STARTED },
		{ EVENT("run.completed", "{\"source\":{}}"), EVENT_RUN_COMPLETED, EVENT_RUN_COMPLETED },
		{ EVENT("step.completed", "{\"source\":{}}"), EVENT_STEP_COMPLETED, EVENT_STEP_COMPLETED },
	};
#undef EVENT
	struct event_view view;

	(void)state;
	for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
		assert_int_equal(event_view(events[i].line, strlen(events[i].line), &view), 0);
		if (view.type != events[i].type || view.told != events[i].told ||
		    event_is_foreign(view.told, view.payload) != (view.type == EVENT_TYPES))
			fail_msg("%s: %d, told %d", events[i].line, view.type, view.told);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_seq),
		cmocka_unit_test(test_peek),
		cmocka_unit_test(test_peek_by_place),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_view),
		cmocka_unit_test(test_view_of_other_writers),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_foreign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
