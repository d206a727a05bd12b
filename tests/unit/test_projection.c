/* lib/projection/projection: other vocabularies, and their schemas. */
#include "record.h"

#include "json/value.h"
#include "model/excerpt.h"
#include "projection/projection.h"
#include "schema/schema.h"
#include "unit.h"

static const char *const fixtures[] = { "brief", "nested", "release" };

/* A transcript of a fixture's events. */
static void
load(const char *fixture, struct buffer *transcript)
{
	struct buffer events = BUFFER_INIT;
	char *path = memory_format("tests/fixtures/%s.events", fixture);
	long seq = 0;

	record_load(path, &events);
	for (char *line = strtok(events.data, "\n"); line; line = strtok(NULL, "\n")) {
		line[strlen(line) - 1] = '\0';
		record_line(transcript, ++seq, line + 1);
	}
	free(path);
	buffer_free(&events);
}

/* The lines of the transcript's lines from the one numbered `from` on. */
static char *
projected(const char *name, bool tools, const char *path, const struct buffer *transcript,
    int from)
{
	struct projector p = { .tools = tools };
	struct buffer out = BUFFER_INIT;
	struct error err;
	const char *line = transcript->data, *end;

	p.projection = projection_find(name, "--as", &err);
	assert_non_null(p.projection);
	for (int number = 1; (end = strchr(line, '\n')) != NULL; line = end + 1, number++)
		if (number >= from)
			assert_int_equal(projector_line(&p, path, line - transcript->data, line,
			    (size_t)(end - line), &out, &err), 0);
	projector_free(&p);
	return buffer_take(&out);
}

/* The document of a transcript, or what went wrong. */
static char *
documented(const char *name, const char *path, const struct buffer *transcript,
    struct error *err)
{
	struct projector p = { .tools = false };
	struct buffer out = BUFFER_INIT;
	const char *line = transcript->data, *end;
	int failed = 0;

	p.projection = projection_find(name, "--as", err);
	assert_non_null(p.projection);
	for (; failed == 0 && (end = strchr(line, '\n')) != NULL; line = end + 1)
		failed = projector_line(&p, path, line - transcript->data, line,
		    (size_t)(end - line), &out, err);
	assert_int_equal(out.len, 0);
	if (failed == 0)
		projector_document(&p, &out);
	projector_free(&p);
	return failed == 0 ? buffer_take(&out) : NULL;
}

static bool
is_document(const char *name)
{
	struct error err;

	return projection_find(name, "--as", &err)->document != NULL;
}

static struct schema *
schema_of(const char *name)
{
	struct error err;
	const char *text = projection_schema(projection_index(name, "--as", &err));
	json_t *document = value_parse(text, strlen(text), name, ERROR_DEFINITION, &err);
	struct schema *schema = schema_compile(document, SCHEMA_TYPOS, name, &err);

	json_decref(document);
	assert_non_null(schema);
	return schema;
}

/* Numbers go on from the first one, source_seq never back. */
static void
check_lines(const char *name, char *lines)
{
	const char *counter = strcmp(name, "runtime") == 0 ? "offset" : "seq";
	json_int_t number = strcmp(name, "runtime") == 0 ? 0 : 1, source = 1;
	struct schema *schema = schema_of(name);
	struct buffer why = BUFFER_INIT;
	struct error err;

	for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n"), number++) {
		json_t *value = value_parse(line, strlen(line), name, ERROR_INVALID_INPUT, &err);

		assert_non_null(value);
		if (schema_check(schema, value, &why) != 0)
			fail_msg("%s: %s: %s", name, buffer_string(&why), line);
		assert_int_equal(json_integer_value(json_object_get(value, counter)), number);
		assert_true(json_integer_value(json_object_get(value, "source_seq")) >= source);
		source = json_integer_value(json_object_get(value, "source_seq"));
		json_decref(value);
	}
	assert_true(number > 1);
	schema_free(schema);
	buffer_free(&why);
}

static void
test_lines_have_the_form_of_their_schema(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(fixtures); i++) {
		struct buffer transcript = BUFFER_INIT;

		load(fixtures[i], &transcript);
		for (const char *const *name = projection_names(); *name; name++) {
			char *lines;

			if (is_document(*name))
				continue;
			lines = projected(*name, true, "/nowhere", &transcript, 1);
			check_lines(*name, lines);
			free(lines);
		}
		buffer_free(&transcript);
	}
}

static void
check_document(const char *name, const char *text)
{
	struct schema *schema = schema_of(name);
	struct buffer why = BUFFER_INIT;
	struct error err;
	json_t *value = value_parse(text, strlen(text), name, ERROR_INVALID_INPUT, &err);

	assert_non_null(value);
	if (schema_check(schema, value, &why) != 0)
		fail_msg("%s: %s: %s", name, buffer_string(&why), text);
	json_decref(value);
	schema_free(schema);
	buffer_free(&why);
}

static void
test_documents_have_the_form_of_their_schema(void **state)
{
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(fixtures); i++) {
		struct buffer transcript = BUFFER_INIT;
		char *text;

		load(fixtures[i], &transcript);
		text = documented("agentloom", "/nowhere/x.jsonl", &transcript, &err);
		/* A message of "release" is in a blob that is nowhere. */
		assert_int_equal(text == NULL, strcmp(fixtures[i], "release") == 0);
		if (text != NULL)
			check_document("agentloom", text);
		else
			assert_non_null(strstr(err.message, "unable to open the blob"));
		free(text);
		buffer_free(&transcript);
	}
}

/* A run and its child run make one document; the lines of each are counted for itself. */
static void
test_runs_in_a_document(void **state)
{
	struct projector p = { .tools = false };
	struct buffer transcript = BUFFER_INIT, out = BUFFER_INIT;
	struct error err;
	json_t *value, *events;
	const char *line, *end;

	(void)state;
	load("brief", &transcript);
	p.projection = &projection_agentloom;
	for (line = transcript.data; (end = strchr(line, '\n')) != NULL; line = end + 1)
		for (size_t i = 0; i < 2; i++)
			assert_int_equal(projector_line(&p, i == 0 ? "/a" : "/b", line - transcript.data,
			    line, (size_t)(end - line), &out, &err), 0);
	projector_document(&p, &out);
	check_document("agentloom", out.data);
	value = value_parse(out.data, out.len, "x", ERROR_INVALID_INPUT, &err);
	assert_int_equal(json_array_size(json_object_get(value, "research")), 4);
	events = json_object_get(value, "_inter_agent_events");
	assert_int_equal(json_integer_value(json_object_get(json_array_get(events, 0), "seq")), 1);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(events, 1), "seq")), 1);
	json_decref(value);
	projector_free(&p);
	buffer_free(&transcript);
	buffer_free(&out);
}

/* A call that is made again in a further attempt is known as that, however many other runs
 * came in between: their number must not move what is known of the first. */
static void
test_attempts_in_a_document(void **state)
{
	struct projector p = { .projection = &projection_agentloom };
	struct buffer transcript = BUFFER_INIT, out = BUFFER_INIT;
	struct error err;
	const char *end;
	char *attempt;
	json_t *value;

	(void)state;
	load("brief", &transcript);
	for (int64_t made = 0; made < 2; made++) {
		for (const char *line = transcript.data; (end = strchr(line, '\n')) != NULL; line = end + 1)
			assert_int_equal(projector_line(&p, "/a",
			    line - transcript.data + made * (int64_t)transcript.len, line,
			    (size_t)(end - line), &out, &err), 0);
		end = strchr(transcript.data, '\n');
		if (made == 1)
			break;
		for (char path[] = "/!.jsonl"; path[1] <= '~'; path[1]++)
			assert_int_equal(projector_line(&p, path, 0, transcript.data,
			    (size_t)(end - transcript.data), &out, &err), 0);
		attempt = strstr(transcript.data, "\"attempt\":1}");
		assert_true(attempt != NULL && attempt < end);
		attempt[sizeof "\"attempt\":" - 1] = '2';
	}
	projector_document(&p, &out);
	value = value_parse(out.data, out.len, "x", ERROR_INVALID_INPUT, &err);
	assert_int_equal(json_array_size(json_object_get(value, "research")), 2);
	json_decref(value);
	projector_free(&p);
	buffer_free(&transcript);
	buffer_free(&out);
}

/* One event, its causes by number. */
static void
add(struct buffer *transcript, long seq, long parent, const char *type, const char *path,
    const char *payload)
{
	char *members = memory_format("\"timestamp\":\"2026-01-01T00:00:00.000000Z\",\"event_id\":"
	    "\"00000000-0000-4000-8000-%012ld\",\"run_id\":\"" OTHER_ID "\",\"parent_event_id\":"
	    "\"00000000-0000-4000-8000-%012ld\",\"type\":\"%s\",\"path\":\"%s\",\"payload\":%s", seq,
	    parent, type, path, payload);

	record_line(transcript, seq, members);
	free(members);
}

#define ASKED "{\"blocks\":[{\"type\":\"text\",\"text\":\"q\"}],\"params\":{}}"
#define SAID(turn, text) "{\"turn\":" turn ",\"blocks\":[{\"type\":\"text\",\"text\":\"" text "\"}]}"
#define CLAIMS(id) ",\"claims\":\"00000000-0000-4000-8000-0000000000" id "\""
#define CALL(name, call, more) "{\"name\":\"" name "\",\"call\":\"" call "\",\"model\":\"m\"" more "}"

/* What a later attempt makes anew counts once; what it takes over stays. */
static void
test_attempts_in_a_recording(void **state)
{
	static const char *const answers[] = { "kept", "in attempt 2", "another call" };
	struct buffer transcript = BUFFER_INIT;
	struct error err;
	json_t *value;
	char *text;

	(void)state;
	add(&transcript, 1, 0, "run.started", "", "{\"attempt\":1}");
	add(&transcript, 2, 1, "step.started", "a", CALL("a", "a:0:0", ""));
	add(&transcript, 3, 2, "message.user", "a", ASKED);
	add(&transcript, 4, 3, "message.assistant", "a", SAID("0", "kept"));
	add(&transcript, 5, 4, "message.assistant", "a", SAID("1", "lost"));
	add(&transcript, 6, 1, "step.started", "_b", CALL("_b", "_b:0:0", ""));
	add(&transcript, 7, 6, "message.user", "_b", ASKED);
	add(&transcript, 8, 7, "message.assistant", "_b", SAID("0", "lost"));
	add(&transcript, 9, 0, "run.started", "", "{\"attempt\":2}");
	add(&transcript, 10, 9, "step.started", "a", CALL("a", "a:1:0", CLAIMS("02")));
	add(&transcript, 11, 10, "message.assistant", "a", SAID("1", "in attempt 2"));
	add(&transcript, 12, 9, "step.started", "a", CALL("a", "a:0:0", ""));
	add(&transcript, 13, 12, "message.assistant", "a", SAID("0", "another call"));
	add(&transcript, 14, 9, "step.started", "_b", CALL("_b", "_b:0:0", ""));
	add(&transcript, 15, 14, "message.user", "_b", ASKED);
	add(&transcript, 16, 15, "message.assistant", "_b", SAID("0", "new"));
	text = documented("agentloom", "/nowhere", &transcript, &err);
	check_document("agentloom", text);
	assert_null(strstr(text, "lost"));
	value = value_parse(text, strlen(text), "x", ERROR_INVALID_INPUT, &err);
	assert_int_equal(json_object_size(value), 4);
	for (size_t i = 0; i < COUNT(answers); i++)
		assert_string_equal(answers[i], json_string_value(json_object_get(json_array_get(
		    json_object_get(value, "a"), i), "content")));
	assert_int_equal(json_array_size(json_object_get(value, "a")), COUNT(answers));
	assert_null(json_object_get(value, "_b"));
	assert_non_null(strstr(text, "\n\"d4d64fd65847b659"));
	json_decref(value);
	free(text);
	buffer_free(&transcript);
}

static void
test_counted_from_the_start(void **state)
{
	struct buffer transcript = BUFFER_INIT;
	const char *path = record_path("x.jsonl");

	(void)state;
	load("release", &transcript);
	record_put(path, transcript.data, transcript.len);
	for (const char *const *name = projection_names(); *name; name++) {
		char *all;

		if (is_document(*name))
			continue;
		all = projected(*name, false, path, &transcript, 1);
		for (int from = 2; from <= 28; from++) {
			char *some = projected(*name, false, path, &transcript, from);

			assert_true(strlen(some) <= strlen(all));
			assert_string_equal(some, all + strlen(all) - strlen(some));
			free(some);
		}
		free(all);
	}
	buffer_free(&transcript);
}

static void
test_nothing_to_read(void **state)
{
	struct projector p = { .tools = false };
	struct buffer out = BUFFER_INIT;
	struct error err;

	(void)state;
	p.projection = &projection_runtime;
	assert_int_equal(projector_line(&p, "/nowhere/x.jsonl", 10, "{}", 2, &out, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_non_null(strstr(err.place, "/nowhere/x.jsonl"));
	projector_free(&p);
}

static void
test_damaged_lines_are_not_counted(void **state)
{
	static const char *const damaged[] = { "", "{}", "{\"seq\":1", "{\"seq\":1,\"type\":\"run.started\"}",
		"{\"seq\":1,\"type\":\"run.started\",\"payload\":{]},\"prev\":\"" ZEROS "\"}" };
	struct projector p = { .projection = &projection_runtime };
	struct buffer out = BUFFER_INIT, line = BUFFER_INIT;
	struct error err;
	int64_t start = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(damaged); i++) {
		size_t len = strlen(damaged[i]);

		assert_int_equal(projector_line(&p, "/nowhere", start, damaged[i], len, &out, &err), 0);
		start += (int64_t)len + 1;
	}
	assert_int_equal(out.len, 0);
	record_line(&line, 1, "\"type\":\"run.started\"");
	assert_int_equal(projector_line(&p, "/nowhere", start, line.data, line.len - 1, &out, &err), 0);
	assert_non_null(strstr(out.data, "\"offset\":0,"));
	projector_free(&p);
	buffer_free(&out);
	buffer_free(&line);
}

/* Events that name causes nobody has seen, and have no payload to speak of. */
static void
test_poor_events(void **state)
{
	static const char *const types[] = { "step.completed", "step.call_workflow.completed",
		"message.user", "message.assistant", "tool.call", "tool.result", "run.completed",
		"step.started", "step.call_workflow.started", "run.started", "of.tomorrow" };
	static const char *const payloads[] = { "null", "{}",
		"{\"call\":1,\"name\":2,\"error\":3,\"blocks\":4,\"input\":5,\"changed\":[6],\"usage\":7}" };
	struct buffer transcript = BUFFER_INIT;
	struct error err;
	long seq = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(types) * COUNT(payloads); i++) {
		char *members = memory_format("\"timestamp\":\"?\",\"event_id\":\"%zu\",\"run_id\":7,"
		    "\"parent_event_id\":\"" OTHER_ID "\",\"type\":\"%s\",\"payload\":%s", i,
		    types[i % COUNT(types)], payloads[i / COUNT(types)]);

		record_line(&transcript, ++seq, members);
		free(members);
	}
	for (const char *const *name = projection_names(); *name; name++) {
		char *lines = is_document(*name) ? documented(*name, "/nowhere", &transcript, &err) :
		    projected(*name, true, "/nowhere", &transcript, 1);

		if (is_document(*name))
			check_document(*name, lines);
		for (char *line = is_document(*name) ? NULL : strtok(lines, "\n"); line;
		    line = strtok(NULL, "\n")) {
			json_t *value = value_parse(line, strlen(line), line, ERROR_INVALID_INPUT, &err);

			assert_non_null(value);
			json_decref(value);
		}
		free(lines);
	}
	buffer_free(&transcript);
}

static void
test_names(void **state)
{
	static const struct { const char *name, *message; } table[] = {
		{ "runtme", "no such vocabulary 'runtme' (did you mean 'runtime'?)" },
		{ "agent_event", "no such vocabulary 'agent_event' (did you mean 'agent-event'?)" },
		{ "", "no such vocabulary '' (see awf-projections(7))" },
	};
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++) {
		assert_null(projection_find(table[i].name, "--as", &err));
		assert_int_equal(err.code, ERROR_USAGE);
		assert_string_equal(err.place, "--as");
		assert_string_equal(err.message, table[i].message);
	}
	for (const char *const *name = projection_names(); *name; name++) {
		const struct projection *projection = projection_find(*name, "--as", &err);

		assert_string_equal(projection->name, *name);
		assert_int_equal(projection_has_tools(projection), strcmp(*name, "daemon-event") == 0);
	}
}

static void
test_excerpt_texts(void **state)
{
	static const struct { const char *text; size_t limit; const char *cut; bool all; } table[] = {
		{ "", 5, "", true },
		{ "12345", 5, "12345", true },
		{ "123456", 5, "12345…", false },
		{ "1\n", 5, "1", true },
		{ "1\n\n\n", 5, "1", true },
		{ "\n1", 5, "…", false },
		{ "1\n2", 5, "1…", false },
		{ "äää", 5, "ää…", false },
		{ "äää", 1, "…", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++) {
		struct buffer out = BUFFER_INIT;

		assert_int_equal(excerpt_text(&out, table[i].text, strlen(table[i].text), table[i].limit),
		    table[i].all);
		assert_string_equal(buffer_string(&out), table[i].cut);
		buffer_free(&out);
	}
}

/* What stands in payload.output, as a line tells of it. */
static void
test_excerpt_contents(void **state)
{
	static const char digest[] = "\"bytes\":%d,\"sha256\":\"";
	static const struct { const char *line, *told; int bytes; } table[] = {
		{ "{\"payload\":{\"output\":\"done\"}}", "{\"k\":\"done\"}", 0 },
		{ "{\"payload\":{\"output\":\"password\\n\"}}", "{\"k\":\"pass…\",", 9 },
		{ "{\"payload\":{\"output\":\"one line\\nand another\"}}", "{\"k\":\"one line…\",", 20 },
		{ "{\"payload\":{\"output\":{\"a\":[1]}}}", "{\"k\":\"{\\\"a\\\":[1]}\"}", 0 },
		{ "{\"payload\":{\"output\":null}}", "{}", 0 },
		{ "{\"payload\":{}}", "{}", 0 },
		{ "{\"payload\":{\"output\":null},\"refs\":[{\"at\":\"/payload/output\",\"bytes\":7,"
		    "\"sha256\":\"ab\"}]}", "{", 7 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++) {
		struct span line = span_of(table[i].line, strlen(table[i].line));
		const struct event_view event = { .payload = span_member(line, "payload"),
			.refs = span_member(line, "refs") };
		struct buffer out = BUFFER_INIT;
		struct writer w;

		writer_begin(&w, &out);
		writer_object(&w);
		excerpt_contents(&w, "k", &event, "output");
		writer_object_end(&w);
		if (table[i].bytes == 0) {
			assert_string_equal(out.data, table[i].told);
		} else {
			char *more = memory_format(digest, table[i].bytes);

			assert_memory_equal(out.data, table[i].told, strlen(table[i].told));
			assert_memory_equal(out.data + strlen(table[i].told), more, strlen(more));
			free(more);
		}
		buffer_free(&out);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_have_the_form_of_their_schema),
		cmocka_unit_test(test_documents_have_the_form_of_their_schema),
		cmocka_unit_test(test_runs_in_a_document),
		cmocka_unit_test(test_attempts_in_a_document),
		cmocka_unit_test(test_attempts_in_a_recording),
		cmocka_unit_test(test_counted_from_the_start),
		cmocka_unit_test(test_nothing_to_read),
		cmocka_unit_test(test_damaged_lines_are_not_counted),
		cmocka_unit_test(test_poor_events),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_excerpt_texts),
		cmocka_unit_test(test_excerpt_contents),
	};

	return cmocka_run_group_tests(tests, record_setup, record_teardown);
}
