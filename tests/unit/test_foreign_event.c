/* ingest/foreign_event: what events of other programs become. */
#include "record.h"
#include "unit.h"

#include "ingest/foreign_event.h"
#include "transcript/form.h"

#define UUID "9a1f0c52-93d4-4e8f-a6b0-5c1d2e3f4a5b"
#define FOREIGN "\"fidelity\":\"agent_emitted\""

static const struct foreign_scope scope = { .run_id = RUN_ID };
static struct error err;

static void
read_event(struct foreign_event *f, const char *text)
{
	if (foreign_event_read(f, span_of(text, strlen(text)), &scope, &err) != 0)
		fail_msg("%s: %s", text, err.message);
}

static void
test_what_becomes_of_them(void **state)
{
	static const struct { const char *text, *type, *payload; } events[] = {
		/* AWF's own, as they are; but who says so is the sender. */
		{ "{\"type\":\"message.user\",\"payload\":{\"role\":\"user\",\"blocks\":[{\"type\":\"text\",\"text\":\"a\","
		  "\"fidelity\":\"router\"},{\"fidelity\":null,\"type\":\"x\"}],\"more\":[1]}}", "message.user",
		  "{\"source\":{\"type\":\"message.user\"}," FOREIGN ",\"role\":\"user\",\"blocks\":[{\"type\":\"text\","
		  "\"text\":\"a\"," FOREIGN "},{\"type\":\"x\"," FOREIGN "}],\"more\":[1],\"data\":{\"blocks\":[{\"fidelity\":"
		  "\"router\"},{}]}}" },
		{ "{\"type\":\"message.assistant\",\"text\":\"hi\",\"agent_id\":\"a\"}", "message.assistant",
		  "{\"source\":{\"type\":\"message.assistant\",\"agent_id\":\"a\"}," FOREIGN
		  ",\"role\":\"assistant\",\"text\":\"hi\",\"blocks\":[{\"type\":\"text\",\"text\":\"hi\"," FOREIGN "}]}" },
		{ "{\"type\":\"tool.call\",\"event_id\":7,\"payload\":{\"name\":\"n\",\"source\":1,\"fidelity\":\"router\","
		  "\"effects\":\"external\"}}", "tool.call", "{\"source\":{\"type\":\"tool.call\",\"event_id\":7},"
		  FOREIGN ",\"call_id\":\"7\",\"name\":\"n\",\"effects\":\"external\",\"data\":{\"source\":1,"
		  "\"fidelity\":\"router\"}}" },
		/* What is ours to say there is theirs in `data`, if it is another, and so is their `data`. */
		{ "{\"type\":\"message.user\",\"payload\":{\"role\":\"system\",\"text\":\"a\",\"data\":{\"role\":2}}}",
		  "message.user", "{\"source\":{\"type\":\"message.user\"}," FOREIGN ",\"role\":\"user\","
		  "\"text\":\"a\",\"blocks\":[{\"type\":\"text\",\"text\":\"a\"," FOREIGN "}],"
		  "\"data\":{\"role\":\"system\",\"data\":{\"role\":2}}}" },
		{ "{\"type\":\"tool.result\",\"name\":\"n\",\"call_id\":7,\"event_id\":\"e\",\"source\":\"s\","
		  "\"fidelity\":null,\"error\":{\"code\":\"c\",\"message\":\"m\",\"stack\":[]}}", "tool.result",
		  "{\"source\":{\"type\":\"tool.result\",\"event_id\":\"e\"}," FOREIGN ",\"call_id\":\"e\","
		  "\"name\":\"n\",\"error\":{\"code\":\"c\",\"message\":\"m\",\"stack\":[]},"
		  "\"data\":{\"call_id\":7,\"source\":\"s\"}}" },
		{ "{\"type\":\"tool.call\",\"payload\":1,\"payload\":{\"name\":\"n\",\"call_id\":\"a\",\"call_id\":\"b\"}}",
		  "tool.call", "{\"source\":{\"type\":\"tool.call\",\"payload\":1}," FOREIGN ",\"call_id\":\"b\","
		  "\"name\":\"n\",\"data\":{\"call_id\":\"a\"}}" },
		/* agent-event. */
		{ "{\"type\":\"tool.start\",\"runId\":\"r\",\"seq\":3,\"payload\":{\"tool\":\"t\",\"callId\":\"c\","
		  "\"argsSummary\":\"x\",\"args\":null}}", "tool.call", "{\"source\":{\"type\":\"tool.start\",\"runId\":\"r\",\"seq\":3}," FOREIGN
		  ",\"name\":\"t\",\"call_id\":\"c\",\"input\":null,"
		  "\"data\":{\"argsSummary\":\"x\"},\"names\":{\"payload\":\"data\","
		  "\"tool\":\"name\",\"callId\":\"call_id\",\"args\":\"input\"}}" },
		{ "{\"type\":\"tool.end\",\"payload\":{\"tool\":\"t\",\"callId\":\"c\",\"durationMs\":12,"
		  "\"error\":\"why\",\"result\":{\"a\":1}}}", "tool.result", "{\"source\":{\"type\":\"tool.end\"}," FOREIGN ",\"name\":\"t\","
		  "\"call_id\":\"c\",\"error\":{\"code\":\"tool\",\"message\":\"why\"},"
		  "\"output\":{\"a\":1},\"duration_ms\":12,\"names\":{\"payload\":\"data\","
		  "\"tool\":\"name\",\"callId\":\"call_id\",\"durationMs\":\"duration_ms\","
		  "\"error\":\"error/message\",\"result\":\"output\"}}" },
		{ "{\"type\":\"tool.end\",\"payload\":{\"tool\":\"t\",\"callId\":\"c\",\"durationMs\":1.5,"
		  "\"outcome\":\"failed\",\"message\":\"m\"}}", "tool.result", "{\"source\":{\"type\":\"tool.end\"}," FOREIGN ",\"name\":\"t\","
		  "\"call_id\":\"c\",\"error\":{\"code\":\"tool\",\"message\":\"m\"},"
		  "\"data\":{\"durationMs\":1.5,\"outcome\":\"failed\",\"message\":\"m\"},"
		  "\"names\":{\"payload\":\"data\",\"tool\":\"name\",\"callId\":\"call_id\"}}" },
		/* An error that says more than its code and message is kept whole, too. */
		{ "{\"type\":\"tool.end\",\"payload\":{\"tool\":\"t\",\"callId\":\"c\",\"error\":{\"code\":\"c\","
		  "\"message\":\"m\"}}}", "tool.result", "{\"source\":{\"type\":\"tool.end\"}," FOREIGN ",\"name\":\"t\","
		  "\"call_id\":\"c\",\"error\":{\"code\":\"c\",\"message\":\"m\"},"
		  "\"names\":{\"payload\":\"data\",\"tool\":\"name\",\"callId\":\"call_id\","
		  "\"error\":\"error\"}}" },
		{ "{\"type\":\"tool.end\",\"payload\":{\"tool\":\"t\",\"callId\":\"c\",\"error\":{\"code\":5,"
		  "\"message\":\"m\"}}}", "tool.result", "{\"source\":{\"type\":\"tool.end\"}," FOREIGN ",\"name\":\"t\","
		  "\"call_id\":\"c\",\"error\":{\"code\":\"tool\",\"message\":\"m\"},"
		  "\"data\":{\"error\":{\"code\":5,\"message\":\"m\"}},"
		  "\"names\":{\"payload\":\"data\",\"tool\":\"name\",\"callId\":\"call_id\"}}" },
		{ "{\"type\":\"tool.end\",\"payload\":{\"tool\":\"t\",\"callId\":\"c\",\"error\":{\"why\":1}}}",
		  "tool.result", "{\"source\":{\"type\":\"tool.end\"}," FOREIGN ",\"name\":\"t\","
		  "\"call_id\":\"c\",\"error\":{\"code\":\"tool\",\"message\":null},"
		  "\"data\":{\"error\":{\"why\":1}},\"names\":{\"payload\":\"data\","
		  "\"tool\":\"name\",\"callId\":\"call_id\"}}" },
		{ "{\"type\":\"tool.end\",\"payload\":{\"tool\":\"t\",\"callId\":\"c\",\"error\":[\"x\"]}}",
		  "tool.result", "{\"source\":{\"type\":\"tool.end\"}," FOREIGN ",\"name\":\"t\","
		  "\"call_id\":\"c\",\"data\":{\"error\":[\"x\"]},"
		  "\"names\":{\"payload\":\"data\",\"tool\":\"name\",\"callId\":\"call_id\"}}" },
		{ "{\"type\":\"llm.turn.end\",\"payload\":{\"content\":[{\"type\":\"x\",\"fidelity\":\"stream\"}]}}",
		  "message.assistant", "{\"source\":{\"type\":\"llm.turn.end\"}," FOREIGN ",\"role\":\"assistant\","
		  "\"blocks\":[{\"type\":\"x\"," FOREIGN
		  "}],\"data\":{\"blocks\":[{\"fidelity\":\"stream\"}]},"
		  "\"names\":{\"payload\":\"data\",\"content\":\"blocks\"}}" },
		{ "{\"type\":\"llm.turn.end\",\"payload\":{\"text\":\"t\",\"message\":\"m\",\"model\":\"x\","
		  "\"stopReason\":\"end_turn\",\"usage\":{\"input_tokens\":1},\"turn\":0,\"cost\":1}}",
		  "message.assistant", "{\"source\":{\"type\":\"llm.turn.end\"}," FOREIGN ",\"role\":\"assistant\","
		  "\"blocks\":[{\"type\":\"text\",\"text\":\"t\"," FOREIGN
		  "}],\"model\":\"x\",\"stop_reason\":\"end_turn\","
		  "\"usage\":{\"input_tokens\":1},\"turn\":0,\"data\":{\"message\":\"m\","
		  "\"cost\":1},\"names\":{\"payload\":\"data\",\"text\":\"blocks/0/text\","
		  "\"model\":\"model\",\"stopReason\":\"stop_reason\",\"usage\":\"usage\","
		  "\"turn\":\"turn\"}}" },
		{ "{\"type\":\"llm.turn.start\",\"payload\":{\"turn\":-1}}", "message.user",
		  "{\"source\":{\"type\":\"llm.turn.start\"}," FOREIGN ",\"role\":\"user\","
		  "\"blocks\":[],\"data\":{\"turn\":-1},\"names\":{\"payload\":\"data\"}}" },
		{ "{\"type\":\"tool.start\",\"payload\":{\"message\":\"no name\"}}", "tool.start",
		  "{\"source\":{\"type\":\"tool.start\"}," FOREIGN ",\"data\":{\"message\":\"no name\"}}" },
		/* interagent. */
		{ "{\"type\":\"tool_call\",\"event_id\":\"a\",\"agent_id\":\"x\",\"timestamp_ns\":5,\"tool_name\":\"t\","
		  "\"payload_hash\":\"00\"}", "tool.call", "{\"source\":{\"type\":\"tool_call\",\"event_id\":\"a\",\"agent_id\":\"x\","
		  "\"timestamp_ns\":5}," FOREIGN ",\"name\":\"t\",\"call_id\":\"a\","
		  "\"data\":{\"payload_hash\":\"00\"},\"names\":{\"tool_name\":\"name\"}}" },
		{ "{\"type\":\"tool_return\",\"event_id\":\"b\",\"parent_event_id\":\"a\",\"tool\":\"t\"}", "tool.result",
		  "{\"source\":{\"type\":\"tool_return\",\"event_id\":\"b\","
		  "\"parent_event_id\":\"a\"}," FOREIGN ",\"name\":\"t\",\"call_id\":\"a\","
		  "\"names\":{\"tool\":\"name\"}}" },
		{ "{\"type\":\"task_sent\",\"recipient_agent_id\":\"y\"}", "task_sent",
		  "{\"source\":{\"type\":\"task_sent\"}," FOREIGN ",\"data\":{\"recipient_agent_id\":\"y\"}}" },
		/* All others keep their names, unless these are AWF's. */
		{ "{\"type\":\"langgraph.node\",\"payload\":[1]}", "langgraph.node",
		  "{\"source\":{\"type\":\"langgraph.node\"}," FOREIGN ",\"data\":[1]}" },
		{ "{\"type\":\"x\"}", "x", "{\"source\":{\"type\":\"x\"}," FOREIGN "}" },
		{ "{\"type\":\"x\",\"payload\":null,\"source\":2}", "x",
		  "{\"source\":{\"type\":\"x\",\"source\":2}," FOREIGN ",\"data\":null}" },
		{ "{\"type\":\"run.completed\",\"payload\":{\"status\":\"success\"}}", "foreign.run.completed",
		  "{\"source\":{\"type\":\"run.completed\"}," FOREIGN ",\"data\":{\"status\":\"success\"}}" },
		{ "{\"type\":\"run\\u002ecompleted\"}", "foreign.run.completed",
		  "{\"source\":{\"type\":\"run\\u002ecompleted\"}," FOREIGN "}" },
		{ "{\"type\":\"run.phase\"}", "foreign.run.phase", "{\"source\":{\"type\":\"run.phase\"}," FOREIGN "}" },
		{ "{\"type\":\"step.completed\",\"payload\":{\"approval\":{}}}", "foreign.step.completed",
		  "{\"source\":{\"type\":\"step.completed\"}," FOREIGN ",\"data\":{\"approval\":{}}}" },
		/* A member that stands twice, or is spelled in another way. */
		{ "{\"type\":\"a\",\"type\":\"tool.start\",\"p\\u0061yload\":{\"tool\":\"t\",\"callId\":\"c\"}}", "tool.call",
		  "{\"source\":{\"type\":\"a\",\"type\":\"tool.start\"}," FOREIGN
		  ",\"name\":\"t\",\"call_id\":\"c\",\"names\":{\"payload\":\"data\","
		  "\"tool\":\"name\",\"callId\":\"call_id\"}}" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(events); i++) {
		struct foreign_event f;
		enum event_type type = event_type_from_name(events[i].type, strlen(events[i].type));

		read_event(&f, events[i].text);
		if (strcmp(f.type_name, events[i].type) != 0 && f.type == EVENT_TYPES)
			fail_msg("%s: %s", events[i].text, f.type_name);
		assert_int_equal(f.type, type);
		if (!buffer_equal(&f.payload, events[i].payload))
			fail_msg("%s\nhave %s\nwant %s", events[i].text, f.payload.data, events[i].payload);
		assert_true(event_is_foreign(f.type, span_of(f.payload.data, f.payload.len)));
		foreign_event_free(&f);
	}
}

static void
test_refused(void **state)
{
	static const struct { const char *text, *message; } events[] = {
		{ "{}", "it has no type" }, { "{\"type\":7}", "it has no type" },
		{ "{\"type\":\"\"}", "it has no type" }, { "{\"type\":\"a\\nb\"}", "it has no type" },
		{ "{\"type\":\"0123456789012345678901234567890123456789012345678901234567890123456789012345678"
		  "90123456789012345678901234567890123456789012345678\"}", "it has no type" },
		{ "{\"type\":\"tool.call\",\"payload\":{}}", "tool.call: \"name\" is missing" },
		{ "{\"type\":\"tool.call\",\"payload\":{\"name\":\"a\",\"name\":\"b\"}}", "stands twice" },
		{ "{\"type\":\"tool.call\",\"payload\":null}", "no object" },
		{ "{\"type\":\"tool.end\",\"payload\":[{\"tool\":\"t\"}]}", NULL },
		{ "{\"type\":\"message.user\",\"payload\":{}}", "\"blocks\" is missing" },
		{ "{\"type\":\"message.user\",\"payload\":{\"blocks\":[3]}}", "not an object" },
		{ "{\"type\":\"llm.turn.end\",\"payload\":{\"blocks\":[{}]}}", "\"type\" is missing" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(events); i++) {
		struct foreign_event f;
		int failed = foreign_event_read(&f, span_of(events[i].text, strlen(events[i].text)), &scope,
		    &err);

		if ((failed != 0) != (events[i].message != NULL) ||
		    (failed != 0 && strstr(err.message, events[i].message) == NULL))
			fail_msg("%s: %s", events[i].text, failed != 0 ? err.message : "taken");
		assert_true(failed == 0 || err.code == ERROR_INVALID_INPUT);
		if (failed == 0)
			foreign_event_free(&f);
	}
}

static void
take_id(const char *text, const struct foreign_scope *in, char id[ID_SIZE], char parent[ID_SIZE],
    bool *identified)
{
	struct foreign_event f;

	assert_int_equal(foreign_event_read(&f, span_of(text, strlen(text)), in, &err), 0);
	memcpy(id, f.id, ID_SIZE);
	memcpy(parent, f.parent, ID_SIZE);
	*identified = f.identified;
	foreign_event_free(&f);
}

/* The same is the same, and nothing else is. */
static void
test_ids(void **state)
{
	static const char *const texts[] = {
		"{\"type\":\"x\",\"event_id\":\"1\"}", "{\"type\":\"x\",\"event_id\":1}",
		"{\"type\":\"x\",\"event_id\":\"1\",\"runId\":\"a\"}", "{\"type\":\"x\",\"event_id\":\"1\",\"runId\":\"b\"}",
		"{\"type\":\"x\",\"event_id\":\"a\\u0000b\"}", "{\"type\":\"x\",\"event_id\":\"a\\u0000c\"}",
		"{\"type\":\"x\",\"event_id\":\"\"}", "{\"type\":\"x\",\"event_id\":\"" UUID " \"}",
		"{\"type\":\"x\",\"event_id\":\"9A1F0C52-93D4-4E8F-A6B0-5C1D2E3F4A5B\"}",
		"{\"type\":\"x\",\"event_id\":\"9a1f0c52-93d4-7e8f-a6b0-5c1d2e3f4a5b\"}", /* version 7 */
		"{\"type\":\"x\",\"event_id\":\"9a1f0c52-93d4-4e8f-06b0-5c1d2e3f4a5b\"}", /* no such variant */
		"{\"type\":\"x\",\"event_id\":\"" UUID "\"}",
	};
	static const unsigned char key[DIGEST_BYTES] = { 1 };
	const struct foreign_scope other = { .run_id = OTHER_ID }, masked = { .run_id = RUN_ID, .key = key };
	char ids[COUNT(texts)][ID_SIZE], id[ID_SIZE], parent[ID_SIZE];
	bool identified;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct buffer line = BUFFER_INIT;
		struct form_fault fault;
		struct form form;

		take_id(texts[i], &scope, ids[i], parent, &identified);
		assert_true(identified);
		assert_string_equal(parent, "");
		take_id(texts[i], &scope, id, parent, &identified);
		assert_string_equal(id, ids[i]);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(ids[i], ids[j]);
		/* It is one that a line may have. */
		buffer_format(&line, "{\"seq\":1,\"timestamp\":\"2026-11-21T08:15:30.123456Z\",\"event_id\":\"%s\","
		    "\"run_id\":\"" RUN_ID "\",\"parent_event_id\":null,\"type\":\"x\",\"path\":\"\",\"iteration\":0,"
		    "\"payload\":null,\"prev\":\"" ZEROS "\"}", ids[i]);
		assert_int_equal(form_check(line.data, line.len, &form, &fault), 0);
		buffer_free(&line);
	}
	assert_string_equal(ids[COUNT(texts) - 1], UUID);
	take_id("{\"type\":\"y\",\"event_id\":\"\\u0031\",\"parent_event_id\":\"\\u0031\"}", &scope, id, parent,
	    &identified);
	assert_string_equal(id, ids[0]);
	assert_string_equal(parent, ids[0]);
	take_id(texts[0], &other, id, parent, &identified);
	assert_string_not_equal(id, ids[0]);
	take_id(texts[0], &masked, id, parent, &identified);
	assert_string_not_equal(id, ids[0]);
	take_id("{\"type\":\"x\",\"event_id\":null}", &scope, id, parent, &identified);
	assert_false(identified);
	take_id("{\"type\":\"x\",\"event_id\":null}", &scope, parent, ids[0], &identified);
	assert_string_not_equal(id, parent);
}

static void
test_places(void **state)
{
	static const struct { const char *text, *path; int64_t iteration; } events[] = {
		{ "{\"type\":\"x\",\"path\":\"a.b-c\",\"iteration\":3}", "a.b-c", 3 },
		{ "{\"type\":\"x\",\"path\":\"a..b\",\"iteration\":-3}", "", 0 },
		{ "{\"type\":\"x\",\"path\":7,\"iteration\":1.5}", "", 0 },
		{ "{\"type\":\"x\"}", "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(events); i++) {
		struct foreign_event f;

		read_event(&f, events[i].text);
		assert_string_equal(f.path, events[i].path);
		assert_int_equal(f.iteration, events[i].iteration);
		foreign_event_free(&f);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_becomes_of_them),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_places),
	};

	return cmocka_run_group_tests(tests, record_setup, record_teardown);
}
