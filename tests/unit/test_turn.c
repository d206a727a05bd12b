/* agent/turn: the turn loop against scripted providers and tools that are shell
 * scripts: what is asked, what is recorded with which causes, and what ends it. */
#include "turns.h"

#include "base/clock.h"

static void
each_conversation(void **state)
{
	for (size_t i = 0; i < COUNT(conversations); i++) {
		struct bench b;
		char *have;
		int status;

		print_message("# %s\n", conversations[i].what);
		for (int n = 0; n < 4 && conversations[i].answers[n] != NULL; n++)
			put((char[]){ (char)('1' + n), '\0' }, conversations[i].answers[n], 0600);
		bench_open(&b, all);
		status = turns_run(&b.turns, &b.err);
		have = trace(&b);
		assert_string_equal(have, conversations[i].trace);
		assert_int_equal(b.err.code, status == 0 ? ERROR_NONE : conversations[i].code);
		assert_int_equal(status, conversations[i].code == ERROR_NONE ? 0 : -1);
		if (status == 0)
			assert_string_equal(buffer_string(&b.turns.outcome.result), conversations[i].result);
		else
			assert_string_equal(b.err.message, conversations[i].message);
		assert_int_equal(b.turns.outcome.tool_calls, conversations[i].calls);
		free(have);
		bench_close(&b);
		clean(state);
	}
}

#define FROM "\"from\":\"scripted/m\","

/* The digest in an answer, the number of its event, is of the request without its id, and without who
 * is asked and whose the messages of the model are. */
static void
assert_digest(const struct bench *b, int number, int request_number)
{
	static const char *const beside[] = { FROM, ",\"provider\":\"scripted\"" };
	char *request = asked(request_number), digest[DIGEST_SIZE], *quoted, *at;

	request[7] = '{';
	for (size_t i = 0; i < COUNT(beside); i++)
		while ((at = strstr(request, beside[i])) != NULL)
			memmove(at, at + strlen(beside[i]), strlen(at + strlen(beside[i])) + 1);
	quoted = memory_format("\"%s\"", digest_sha256(request + 7, strlen(request + 7), digest));
	assert_payload(b, number, "/request_sha256", quoted);
	free(quoted);
	free(request);
}

static void
what_is_asked_and_recorded(void **state)
{
	static const char *const tools[] = { "echo", NULL };
	char *request;
	struct buffer dry = BUFFER_INIT;
	struct bench b;

	(void)state;
	put("1", ANSWER("{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"s\"},"
	    USE("t1", "echo", "{\"x\":15}"), "tool_use"), 0600);
	put("2", DONE, 0600);
	bench_open(&b, tools);
	b.member.agent.system = memory_text("be brief");
	json_decref(b.member.agent.params);
	b.member.agent.params = json_pack("{s:i}", "max_tokens", 99);
	assert_int_equal(turns_request(&b.turns, &dry, &b.err), 0);
	assert_int_equal(turns_run(&b.turns, &b.err), 0);
	request = asked(1);
	assert_string_equal(request, "{\"id\":1,\"model\":\"m\",\"system\":\"be brief\",\"messages\":["
	    "{\"role\":\"user\",\"blocks\":[{\"type\":\"text\",\"text\":\"ask\"}]}],\"tools\":["
	    "{\"name\":\"echo\",\"input_schema\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":"
	    "\"integer\"}},\"required\":[\"x\"]}}],\"params\":{\"max_tokens\":99},\"stream\":true}");
	assert_string_equal(buffer_string(&dry), request);
	free(request);
	/* the answer goes back as it came, the results in a user's message */
	assert_asked(2, ",{" FROM "\"role\":\"assistant\",\"blocks\":[{\"type\":\"thinking\",\"thinking\":"
	    "\"hm\",\"signature\":\"s\"},{\"type\":\"tool_use\",\"tool_id\":\"t1\",\"tool_name\":"
	    "\"echo\",\"tool_input\":{\"x\":15}}]},{\"role\":\"user\",\"blocks\":[{\"type\":"
	    "\"tool_result\",\"tool_id\":\"t1\",\"tool_content\":{\"x\":15}}]}],\"tools\"");
	assert_payload(&b, 2, "/role", "\"user\"");
	assert_payload(&b, 2, "/blocks",
	    "[{\"type\":\"text\",\"text\":\"ask\",\"fidelity\":\"router\"}]");
	assert_payload(&b, 2, "/system_prompt", "\"be brief\"");
	assert_payload(&b, 2, "/tools/0/name", "\"echo\"");
	assert_payload(&b, 2, "/params", "{\"max_tokens\":99}");
	assert_payload(&b, 2, "/turn", "0");
	assert_payload(&b, 3, "/blocks/0/fidelity", "\"agent_emitted\"");
	assert_payload(&b, 3, "/blocks/1/tool_input", "{\"x\":15}");
	assert_payload(&b, 3, "/model", "\"m-1\"");
	assert_payload(&b, 3, "/stop_reason", "\"tool_use\"");
	assert_payload(&b, 3, "/usage", "{\"input_tokens\":10,\"output_tokens\":5}");
	assert_payload(&b, 3, "/turn", "0");
	assert_digest(&b, 3, 1);
	assert_payload(&b, 4, "", "{\"name\":\"echo\",\"call_id\":\"t1\",\"input\":{\"x\":15},"
	    "\"effects\":\"none\",\"fidelity\":\"router\"}");
	assert_payload(&b, 5, "/output", "{\"x\":15}");
	assert_payload(&b, 5, "/fidelity", "\"router\"");
	assert_payload(&b, 6, "/turn", "1");
	assert_digest(&b, 6, 2);
	assert_string_equal(buffer_string(&b.turns.outcome.usage),
	    "{\"input_tokens\":20,\"output_tokens\":10}");
	buffer_free(&dry);
	bench_close(&b);
}

static void
what_the_model_reads_of_failures(void **state)
{
	struct bench b;

	(void)state;
	put("1", ANSWER(USE("t1", "fail", "{}") "," USE("t2", "unlisted", "{}") ","
	    USE("t3", "echo", "{}") "," USE("t4", "plain", "{}"), "tool_use"), 0600);
	put("2", DONE, 0600);
	bench_open(&b, all);
	assert_int_equal(turns_run(&b.turns, &b.err), 0);
	assert_asked(2, "{\"type\":\"tool_result\",\"tool_id\":\"t1\",\"tool_content\":"
	    "\"exit status 3\\nbroken\\n\",\"is_error\":true}");
	assert_asked(2, "\"tool_id\":\"t2\",\"tool_content\":\"the tool 'unlisted' is not allowed\","
	    "\"is_error\":true");
	assert_asked(2, "\"tool_id\":\"t3\",\"tool_content\":\"the arguments break the schema: ");
	assert_asked(2, "\"tool_id\":\"t4\",\"tool_content\":\"plain text\"}");
	assert_payload(&b, 5, "/stderr", "\"broken\\n\"");
	assert_payload(&b, 5, "/error", "{\"code\":\"exit_status\",\"message\":\"exit status 3: broken\"}");
	bench_close(&b);
}

static void
a_policy_of_warning_runs_what_is_found(void **state)
{
	struct bench b;
	char *have;

	(void)state;
	put("1", ANSWER(USE("t1", "unlisted", "{}") "," USE("t2", "nowhere", "{}"), "tool_use"), 0600);
	put("2", DONE, 0600);
	bench_open(&b, NULL);
	b.member.agent.tools_policy = TOOLS_WARN;
	assert_int_equal(turns_run(&b.turns, &b.err), 0);
	have = trace(&b);
	assert_string_equal(have,
	    "user<1 assistant<2 call<3 result<4 call<3 result<6!blocked assistant<5+7");
	free(have);
	assert_payload(&b, 4, "/warning", "\"the agent's list of tools does not allow it\"");
	assert_payload(&b, 5, "/output", "\"unlisted ran\"");
	bench_close(&b);
}

static void
keys_reach_tools_that_name_them(void **state)
{
	static char name[] = "ANTHROPIC_API_KEY", value[] = "sk-file";
	char *names[] = { name }, *values[] = { value };
	struct keys keys = { names, values, 1 };
	struct bench b;

	(void)state;
	setenv("OPENAI_API_KEY", "sk-other", 1);
	put("1", ANSWER(USE("t1", "keyed", "{}"), "tool_use"), 0600);
	put("2", DONE, 0600);
	bench_open(&b, all);
	b.turns.keys = &keys;
	assert_int_equal(turns_run(&b.turns, &b.err), 0);
	assert_payload(&b, 5, "/output", "\"sk-file \"");
	bench_close(&b);
	unsetenv("OPENAI_API_KEY");
}

static void
limits_end_the_call(void **state)
{
	static const struct { int64_t turns, tokens; enum error_code code; const char *message;
		const char *trace; } rows[] = {
		{ 1, 0, ERROR_MAX_TURNS, "reached max_turns (1) without a result",
		    "user<1 assistant<2 call<3 result<4" },
		{ 2, 0, ERROR_NONE, "", "user<1 assistant<2 call<3 result<4 assistant<5" },
		{ 0, 15, ERROR_MAX_TOKENS, "reached max_tokens_total (15 of 15) without a result",
		    "user<1 assistant<2 call<3 result<4" },
		/* an answer that is there is not thrown away */
		{ 0, 16, ERROR_NONE, "", "user<1 assistant<2 call<3 result<4 assistant<5" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct bench b;
		char *have;

		put("1", ANSWER(USE("t1", "echo", "{\"x\":1}"), "tool_use"), 0600);
		put("2", DONE, 0600);
		bench_open(&b, all);
		b.member.agent.limits.max_turns = rows[i].turns;
		b.member.agent.limits.max_tokens_total = rows[i].tokens;
		assert_int_equal(turns_run(&b.turns, &b.err), rows[i].code == ERROR_NONE ? 0 : -1);
		assert_int_equal(b.err.code, rows[i].code);
		assert_string_equal(b.err.message, rows[i].message);
		have = trace(&b);
		assert_string_equal(have, rows[i].trace);
		free(have);
		bench_close(&b);
		clean(state);
	}
}

static void
a_stop_tool_ends_it(void **state)
{
	static const struct { const char *stop, *answers[2], *trace, *result; } rows[] = {
		/* without a file: any object is the result, nothing runs */
		{ "finish", { ANSWER(USE("t1", "plain", "{}") "," USE("t2", "finish", "{\"a\": [1, 2]}"),
		    "tool_use") }, "user<1 assistant<2 call<3 result<4 call<3 result<6", "{\"a\":[1,2]}" },
		{ "finish", { ANSWER(USE("t1", "finish", "[]"), "tool_use"), DONE },
		    "user<1 assistant<2 call<3 result<4!schema assistant<5", "\"done\"" },
		/* with a file, among the agent's tools or not: it runs, and must succeed */
		{ "echo", { ANSWER(USE("t1", "echo", "{\"x\":7}"), "tool_use") },
		    "user<1 assistant<2 call<3 result<4", "{\"x\":7}" },
		{ "unlisted", { ANSWER(USE("t1", "unlisted", "{\"y\":1}"), "tool_use") },
		    "user<1 assistant<2 call<3 result<4", "{\"y\":1}" },
		{ "fail", { ANSWER(USE("t1", "fail", "{\"y\":1}"), "tool_use"), DONE },
		    "user<1 assistant<2 call<3 result<4!exit_status assistant<5", "\"done\"" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct bench b;
		char *have;

		put("1", rows[i].answers[0], 0600);
		if (rows[i].answers[1] != NULL)
			put("2", rows[i].answers[1], 0600);
		bench_open(&b, all);
		b.member.agent.stop_tool = memory_text(rows[i].stop);
		if (i == 3)
			assert_int_equal(tool_load(&b.member.stop, rows[i].stop, directory, &b.err), 0);
		assert_int_equal(turns_run(&b.turns, &b.err), 0);
		have = trace(&b);
		assert_string_equal(have, rows[i].trace);
		assert_string_equal(buffer_string(&b.turns.outcome.result), rows[i].result);
		free(have);
		assert_asked(1, i < 2 ? "{\"name\":\"finish\",\"description\":\"Gives the result and ends "
		    "the work.\",\"input_schema\":{\"type\":\"object\"}}" : rows[i].stop);
		bench_close(&b);
		clean(state);
	}
}

static void
a_stop_command_is_asked_after_each_turn(void **state)
{
	static const struct { const char *command; int status; enum error_code code;
		const char *result; } rows[] = {
		{ "\"grep -q seven\"", 0, ERROR_NONE, "\"it is seven\"" },
		{ "[\"grep\", \"-q\", \"seven\"]", 0, ERROR_NONE, "\"it is seven\"" },
		{ "\"exit 1\"", 0, ERROR_NONE, "\"done\"" },
		{ "\"exit 2\"", -1, ERROR_EXIT_STATUS, "" },
		{ "[\"/no/such/program\"]", -1, ERROR_EXIT_STATUS, "" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct bench b;

		put("1", ANSWER(TEXT("it is seven") "," USE("t1", "echo", "{\"x\":1}"), "tool_use"), 0600);
		put("2", DONE, 0600);
		bench_open(&b, all);
		b.member.agent.stop_command = value_parse(rows[i].command, strlen(rows[i].command), "", ERROR_USAGE,
		    &b.err);
		assert_int_equal(turns_run(&b.turns, &b.err), rows[i].status);
		assert_int_equal(b.err.code, rows[i].code);
		assert_string_equal(buffer_string(&b.turns.outcome.result), rows[i].result);
		if (rows[i].status == -1)
			assert_non_null(strstr(b.err.message, "the command of stop_when: "));
		bench_close(&b);
		clean(state);
	}
}

static void
retries_are_noted_and_wait(void **state)
{
	struct bench b;
	struct span notes;
	int64_t began;

	(void)state;
	put("1", "{\"id\":@ID@,\"type\":\"error\",\"category\":\"rate_limit\",\"retry_after_ms\":400,"
	    "\"message\":\"slow down\"}\n", 0600);
	put("2.sh", "[ -e $SCRIPT/died ] || { touch $SCRIPT/died; exit 1; }\n", 0600);
	bench_open(&b, NULL);
	began = clock_monotonic();
	/* the provider dies at its second request; the one after it is a new process */
	put("3", DONE, 0600);
	assert_int_equal(turns_run(&b.turns, &b.err), -1);
	assert_int_equal(b.err.code, ERROR_RATE_LIMIT);
	assert_true(clock_monotonic() - began >= 400);
	buffer_byte(&b.turns.outcome.retries, ']');
	notes = span_of(b.turns.outcome.retries.data, b.turns.outcome.retries.len);
	assert_memory_equal(notes.at, "{\"code\":\"rate_limit\",\"message\":\"slow down\",\"duration_ms\":",
	    57);
	assert_non_null(strstr(notes.at, ",\"turn\":0},{\"code\":\"provider\","));
	bench_close(&b);
}

static void
no_wait_beyond_the_deadline(void **state)
{
	struct bench b;
	int64_t began = clock_monotonic();

	(void)state;
	put("1", "{\"id\":@ID@,\"type\":\"error\",\"category\":\"rate_limit\",\"retry_after_ms\":60000}\n",
	    0600);
	bench_open(&b, NULL);
	b.turns.deadline = clock_monotonic() + 5000;
	assert_int_equal(turns_run(&b.turns, &b.err), -1);
	assert_int_equal(b.err.code, ERROR_RATE_LIMIT);
	assert_true(clock_monotonic() - began < 4000);
	bench_close(&b);
}

static void
deadlines_end_requests_and_tools(void **state)
{
	struct bench b;
	char *have;

	/* silence */
	bench_open(&b, all);
	b.turns.deadline = clock_monotonic() + 300;
	assert_int_equal(turns_run(&b.turns, &b.err), -1);
	assert_int_equal(b.err.code, ERROR_TIMEOUT);
	bench_close(&b);
	clean(state);
	/* silence, with a limit for each request */
	bench_open(&b, all);
	b.turns.timeout_ms = 200;
	assert_int_equal(turns_run(&b.turns, &b.err), -1);
	assert_int_equal(b.err.code, ERROR_TIMEOUT);
	provider_stop(&b.provider);
	assert_asked(2, "{\"cancel\":1}");
	bench_close(&b);
	clean(state);
	/* a tool is recorded, then the whole call ends */
	put("1", ANSWER(USE("t1", "slow", "{}") "," USE("t2", "plain", "{}"), "tool_use"), 0600);
	bench_open(&b, all);
	b.tools[3].timeout_ms = 0;
	b.turns.deadline = clock_monotonic() + 500;
	assert_int_equal(turns_run(&b.turns, &b.err), -1);
	assert_int_equal(b.err.code, ERROR_TIMEOUT);
	have = trace(&b);
	assert_string_equal(have, "user<1 assistant<2 call<3 result<4!timeout");
	free(have);
	bench_close(&b);
}

static void
nobody_listening_means_no_request(void **state)
{
	struct bench b;
	char *have, *path = path_join(directory, "log");
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	put("1", DONE, 0600);
	bench_open(&b, NULL);
	b.interrupts.downstream = ends[1];
	assert_int_equal(turns_run(&b.turns, &b.err), -1);
	assert_int_equal(b.err.code, ERROR_DOWNSTREAM_CLOSED);
	have = trace(&b);
	assert_string_equal(have, "");
	assert_int_equal(access(path, F_OK), -1);
	close(ends[1]);
	free(have);
	free(path);
	bench_close(&b);
}

static volatile int caught;

static void
catch(int signal_number)
{
	caught = signal_number;
}

static void
a_signal_cancels_a_tool(void **state)
{
	struct sigaction action = { .sa_handler = catch };
	struct bench b;
	char *have;

	(void)state;
	put_tool("killer", "{\"effects\":\"workspace\"}", "kill -USR1 $PPID\nsleep 100\n");
	put("1", ANSWER(USE("t1", "killer", "{}") "," USE("t2", "killer", "{}"), "tool_use"), 0600);
	sigaction(SIGUSR1, &action, NULL);
	caught = 0;
	bench_open(&b, (const char *const[]){ "killer", NULL });
	b.interrupts.signal_number = &caught;
	assert_int_equal(turns_run(&b.turns, &b.err), -1);
	assert_int_equal(b.err.code, ERROR_CANCELLED);
	have = trace(&b);
	assert_string_equal(have, "user<1 assistant<2 call<3 result<4!cancelled");
	free(have);
	/* what ends the call follows the result */
	have = line(&b, 5);
	assert_non_null(strstr(have, b.call.last));
	free(have);
	bench_close(&b);
}

/* A transcript that is gone ends the call, whenever that is noticed. */
static void
what_cannot_be_recorded_ends_the_call(void **state)
{
	static const char *const scripts[] = {
		"exit 0\n", "rm $SCRIPT/transcript.jsonl\n"
	};

	for (size_t i = 0; i < COUNT(scripts); i++) {
		struct bench b;

		put_tool("remover", "{}", scripts[i]);
		put("1", ANSWER(USE("t1", "remover", "{}"), "tool_use"), 0600);
		put("2", DONE, 0600);
		bench_open(&b, (const char *const[]){ "remover", NULL });
		if (i == 0)
			unlink(b.path);
		assert_int_equal(turns_run(&b.turns, &b.err), -1);
		assert_int_equal(b.err.code, ERROR_SYSTEM);
		assert_int_equal(b.turns.outcome.tool_calls, i);
		bench_close(&b);
		clean(state);
	}
}

static void
shown_text_is_harmless(void **state)
{
	char *path = path_join(directory, "stderr");
	struct buffer shown = BUFFER_INIT;
	struct bench b;
	int before = dup(STDERR_FILENO);

	(void)state;
	put("1", "{\"id\":@ID@,\"type\":\"delta\",\"kind\":\"thinking\",\"text\":\"not this\"}\n"
	    "{\"id\":@ID@,\"type\":\"delta\",\"kind\":\"text\",\"text\":\"two\\nlines\"}\n"
	    "{\"id\":@ID@,\"type\":\"delta\",\"kind\":\"text\",\"text\":\" \\u001b[31m\"}\n" DONE, 0600);
	bench_open(&b, NULL);
	b.turns.verbose = true;
	assert_non_null(freopen(path, "w", stderr));
	assert_int_equal(turns_run(&b.turns, &b.err), 0);
	dup2(before, STDERR_FILENO);
	close(before);
	assert_int_equal(file_load(path, 1000, &shown, &b.err), 0);
	assert_string_equal(shown.data, "two\nlines \\x1b[31m\n");
	buffer_free(&shown);
	free(path);
	bench_close(&b);
}

static void
operations(void **state)
{
	static const struct { const char *tool, *input, *result, *trace; enum error_code code; } rows[] = {
		{ "echo", "{\"x\":1}", "{\"x\":1}", "call<1 result<2", ERROR_NONE },
		{ "plain", "{}", "\"plain text\"", "call<1 result<2", ERROR_NONE },
		{ "echo", "{\"x\":null}", "", "call<1 result<2!schema", ERROR_SCHEMA },
		{ "echo", "\"text\"", "", "call<1 result<2!schema", ERROR_SCHEMA },
		{ "fail", "{}", "", "call<1 result<2!exit_status", ERROR_EXIT_STATUS },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct bench b;
		char *have;

		bench_open(&b, (const char *const[]){ rows[i].tool, NULL });
		assert_int_equal(turns_operation(&b.turns, &b.tools[0],
		    span_of(rows[i].input, strlen(rows[i].input)), &b.err),
		    rows[i].code == ERROR_NONE ? 0 : -1);
		assert_int_equal(b.err.code, rows[i].code);
		assert_string_equal(buffer_string(&b.turns.outcome.result), rows[i].result);
		assert_int_equal(b.turns.outcome.tool_calls, 1);
		have = trace(&b);
		assert_string_equal(have, rows[i].trace);
		free(have);
		bench_close(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(each_conversation, clean),
		cmocka_unit_test_teardown(what_is_asked_and_recorded, clean),
		cmocka_unit_test_teardown(what_the_model_reads_of_failures, clean),
		cmocka_unit_test_teardown(a_policy_of_warning_runs_what_is_found, clean),
		cmocka_unit_test_teardown(keys_reach_tools_that_name_them, clean),
		cmocka_unit_test_teardown(limits_end_the_call, clean),
		cmocka_unit_test_teardown(a_stop_tool_ends_it, clean),
		cmocka_unit_test_teardown(a_stop_command_is_asked_after_each_turn, clean),
		cmocka_unit_test_teardown(retries_are_noted_and_wait, clean),
		cmocka_unit_test_teardown(no_wait_beyond_the_deadline, clean),
		cmocka_unit_test_teardown(deadlines_end_requests_and_tools, clean),
		cmocka_unit_test_teardown(nobody_listening_means_no_request, clean),
		cmocka_unit_test_teardown(a_signal_cancels_a_tool, clean),
		cmocka_unit_test_teardown(what_cannot_be_recorded_ends_the_call, clean),
		cmocka_unit_test_teardown(shown_text_is_harmless, clean),
		cmocka_unit_test_teardown(operations, clean),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
