/* What the tests of the turn loop share: a bench with a scripted provider and tools
 * that are shell scripts, conversations on it, and what they leave in the transcript. */
#ifndef AWF_TESTS_TURNS_H
#define AWF_TESTS_TURNS_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

#include "base/memory.h"
#include "definitions/trust.h"
#include "io/file.h"
#include "json/value.h"
#include "proc/descendants.h"
#include "transcript/reader.h"
#include "turn/turn.h"

#define RUN_ID "0b7a1c52-93d4-4e8f-a6b0-5c1d2e3f4a5b"

static char directory[64];

static inline void
put(const char *name, const char *text, mode_t mode)
{
	char *path = path_join(directory, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, mode), 0);
	free(path);
}

/* A tool whose script begins by noting that it ran. */
static inline void
put_tool(const char *name, const char *definition, const char *script)
{
	char *file = memory_format("tools/%s.tool.json", name);
	char *text = memory_format("#!/bin/sh\necho %s >>$SCRIPT/ran\n%s", name, script);

	put(file, definition, 0600);
	free(file);
	file = memory_format("tools/%s", name);
	put(file, text, 0700);
	free(file);
	free(text);
}

static inline void
put_tools(void)
{
	put_tool("echo", "{\"effects\":\"none\",\"concurrent\":true,\"input_schema\":{\"type\":"
	    "\"object\",\"properties\":{\"x\":{\"type\":\"integer\"}},\"required\":[\"x\"]}}",
	    "cat\n");
	put_tool("plain", "{}", "echo plain text\n");
	put_tool("fail", "{}", "echo broken >&2\nexit 3\n");
	put_tool("slow", "{\"timeout\":\"200ms\"}", "sleep 100\n");
	put_tool("liar", "{\"output_schema\":{\"type\":\"integer\"}}", "echo '\"no\"'\n");
	/* ends only if another one runs at the same time */
	put_tool("meet", "{\"concurrent\":true,\"timeout\":\"5s\"}",
	    "read -r it\ntouch $SCRIPT/met-$$\n"
	    "while [ $(ls $SCRIPT | grep -c '^met-') -lt 2 ]; do sleep 0.02; done\necho \"$it\"\n");
	put_tool("keyed", "{\"env\":[\"ANTHROPIC_API_KEY\"]}",
	    "echo \"$ANTHROPIC_API_KEY $OPENAI_API_KEY\"\n");
	put_tool("unlisted", "{}", "echo unlisted ran\n");
}

/* Everything that a turn loop needs. */
struct bench {
	struct member member;
	struct tool tools[16];
	struct provider provider;
	char started[ID_SIZE];
	struct transcript transcript;
	struct call call;
	struct retry retry;
	struct environment environment;
	struct interrupts interrupts;
	struct turns turns;
	struct error err;
	char *path, *blobs;
};

/* Everything but the transcript and the provider. */
static inline void
bench_begin(struct bench *b, const char *const *tools)
{
	memset(b, 0, sizeof *b);
	b->path = path_join(directory, "transcript.jsonl");
	b->blobs = path_join(directory, "blobs");
	agent_plain(&b->member.agent, "tester");
	b->member.agent.model = memory_text("m");
	b->member.agent.provider = memory_text("scripted");
	b->member.tools = b->tools;
	b->member.provider = &b->provider;
	b->call = (struct call){ .transcript = &b->transcript, .name = "s", .path = "s", .id = "s:0:0" };
	retry_default(&b->retry);
	b->retry.delay_ms = 1;
	environment_begin(&b->environment);
	environment_unset(&b->environment, "ANTHROPIC_API_KEY");
	environment_unset(&b->environment, "OPENAI_API_KEY");
	for (; tools != NULL && tools[b->member.tool_count] != NULL; b->member.tool_count++)
		if (tool_load(&b->tools[b->member.tool_count], tools[b->member.tool_count],
		    directory, &b->err) == -1)
			fail_msg("%s: %s", b->err.place, b->err.message);
	b->interrupts = (struct interrupts){ NULL, -1 };
	b->turns = (struct turns){ .member = &b->member, .call = &b->call,
	    .retry = &b->retry, .interrupts = &b->interrupts, .environment = &b->environment,
	    .workflow_directory = directory, .prompt = { "ask", 3 } };
}

static inline void
bench_open(struct bench *b, const char *const *tools)
{
	bench_begin(b, tools);
	unlink(b->path);
	assert_int_equal(transcript_create(&b->transcript, b->path, b->blobs, RUN_ID, &b->err), 0);
	assert_int_equal(call_event(&b->call, EVENT_STEP_STARTED, NULL, NULL, b->started, &b->err), 0);
	b->turns.started = b->started;
	provider_begin(&b->provider, "scripted", NULL, NULL, NULL);
}

static inline void
bench_close(struct bench *b)
{
	turns_free(&b->turns);
	provider_stop(&b->provider);
	agent_free(&b->member.agent);
	tool_free(&b->member.stop);
	for (size_t i = 0; i < b->member.tool_count; i++)
		tool_free(&b->tools[i]);
	environment_free(&b->environment);
	transcript_close(&b->transcript);
	buffer_free(&b->call.links);
	free(b->path);
	free(b->blobs);
}

/* Files of the last test but the tools. */
static inline int
clean(void **state)
{
	char *command = memory_format("find %s -maxdepth 1 -type f -delete", directory);
	int status = system(command);

	(void)state;
	free(command);
	return status;
}

/* A line of the transcript; the caller frees it. 1 is the first. */
static inline char *
line(const struct bench *b, int number)
{
	struct reader r;
	struct error err;
	const char *at;
	size_t len;
	char *copy = NULL;

	assert_int_equal(reader_open(&r, b->path, &err), 0);
	while (number-- > 0) {
		free(copy);
		if (reader_next(&r, &at, &len, &err) != 1)
			fail_msg("the transcript has fewer lines");
		copy = memory_copy(at, len);
	}
	reader_close(&r);
	return copy;
}

static inline void
assert_payload(const struct bench *b, int number, const char *pointer, const char *json)
{
	char *text = line(b, number);
	struct span value = pointer_find(span_member(span_of(text, strlen(text)), "payload"), pointer);

	if (value.len != strlen(json) || memcmp(value.at, json, value.len) != 0)
		fail_msg("line %d: %s is %.*s, not %s", number, pointer, (int)value.len,
		    value.at == NULL ? "" : value.at, json);
	free(text);
}

/* Number of the line whose event this is. */
static inline size_t
number_of(char ids[][ID_SIZE], size_t count, struct span id)
{
	for (size_t i = 0; i < count; i++)
		if (span_is(id, ids[i]))
			return i + 1;
	return 0;
}

/* What was recorded as "TYPE<PARENT+LINK!ERROR …", by numbers of lines. */
static inline char *
trace(const struct bench *b)
{
	static const char *const shorts[EVENT_TYPES] = {
		[EVENT_STEP_STARTED] = "step", [EVENT_MESSAGE_USER] = "user",
		[EVENT_MESSAGE_ASSISTANT] = "assistant", [EVENT_TOOL_CALL] = "call",
		[EVENT_TOOL_RESULT] = "result"
	};
	char ids[64][ID_SIZE], code[32];
	struct buffer out = BUFFER_INIT;
	struct event_view view;
	struct reader r;
	struct error err;
	const char *at;
	size_t len, count = 0;

	assert_int_equal(reader_open(&r, b->path, &err), 0);
	while (reader_next(&r, &at, &len, &err) == 1) {
		assert_int_equal(event_view(at, len, &view), 0);
		assert_true(span_copy(view.event_id, ids[count], ID_SIZE));
		if (count++ == 0)
			continue;
		buffer_format(&out, "%s%s<%zu", count > 2 ? " " : "",
		    event_tells_retry(&view) ? "retry" : shorts[view.type],
		    number_of(ids, count, view.parent_event_id));
		for (struct span_walk link = span_walk(view.links); span_next(&link);)
			buffer_format(&out, "+%zu", number_of(ids, count, link.value));
		if (span_copy(span_path(view.payload, "error", "code", NULL), code, sizeof code))
			buffer_format(&out, "!%s", code);
	}
	reader_close(&r);
	return buffer_take(&out);
}

/* Line of the provider's log, from 1; the caller frees it. */
static inline char *
asked(int number)
{
	char *path = path_join(directory, "log"), *text, *at, *copy;
	struct buffer log = BUFFER_INIT;
	struct error err;

	assert_int_equal(file_load(path, 1 << 24, &log, &err), 0);
	text = buffer_take(&log);
	at = text;
	while (--number > 0 && at != NULL)
		at = strchr(at, '\n') == NULL ? NULL : strchr(at, '\n') + 1;
	if (at == NULL || *at == '\0')
		fail_msg("fewer requests were sent");
	copy = at == NULL ? NULL : memory_copy(at, strcspn(at, "\n"));
	free(path);
	free(text);
	return copy;
}

static inline void
assert_asked(int number, const char *text)
{
	char *request = asked(number);

	if (strstr(request, text) == NULL)
		fail_msg("request %d: %s", number, request);
	free(request);
}

#define ANSWER(blocks, reason) "{\"id\":@ID@,\"type\":\"message\",\"blocks\":[" blocks "]," \
	"\"stop_reason\":\"" reason "\",\"usage\":{\"input_tokens\":10,\"output_tokens\":5}," \
	"\"model\":\"m-1\"}\n"
#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define USE(id, name, input) "{\"type\":\"tool_use\",\"tool_id\":\"" id "\",\"tool_name\":\"" \
	name "\",\"tool_input\":" input "}"
#define FAILURE(category) "{\"id\":@ID@,\"type\":\"error\",\"category\":\"" category "\"," \
	"\"message\":\"it failed\"}\n"
#define DONE ANSWER(TEXT("done"), "end_turn")

static const char *const all[] = { "echo", "plain", "fail", "slow", "liar", "meet", "keyed", NULL };

/* Conversations: answers, what they are recorded as, and what comes of them. */
static const struct conversation {
	const char *what, *answers[4], *trace, *result;
	enum error_code code;
	const char *message;
	int64_t calls;
} conversations[] = {
	{ "a text is the result", { ANSWER(TEXT("one ") "," TEXT("é\\u0041"), "end_turn") },
	    "user<1 assistant<2", "\"one éA\"", ERROR_NONE, "", 0 },
	{ "thinking is not", { ANSWER("{\"type\":\"thinking\",\"thinking\":\"hm\"}," TEXT("x"),
	    "stop_sequence") }, "user<1 assistant<2", "\"x\"", ERROR_NONE, "", 0 },
	{ "an empty answer is an empty result", { ANSWER("", "end_turn") },
	    "user<1 assistant<2", "\"\"", ERROR_NONE, "", 0 },
	{ "a tool and an answer", { ANSWER(TEXT("let me") "," USE("t1", "echo", "{\"x\":1}"),
	    "tool_use"), DONE },
	    "user<1 assistant<2 call<3 result<4 assistant<5", "\"done\"", ERROR_NONE, "", 1 },
	{ "two tools after one another", { ANSWER(USE("t1", "plain", "{}") ","
	    USE("t2", "echo", "{\"x\":1}"), "tool_use"), DONE },
	    "user<1 assistant<2 call<3 result<4 call<3 result<6 assistant<5+7",
	    "\"done\"", ERROR_NONE, "", 2 },
	{ "two at once", { ANSWER(USE("t1", "meet", "{\"n\":1}") "," USE("t2", "meet",
	    "{\"n\":2}"), "tool_use"), DONE },
	    "user<1 assistant<2 call<3 call<3 result<4 result<5 assistant<6+7",
	    "\"done\"", ERROR_NONE, "", 2 },
	{ "a tool that is not allowed", { ANSWER(USE("t1", "unlisted", "{}"), "tool_use"), DONE },
	    "user<1 assistant<2 call<3 result<4!blocked assistant<5", "\"done\"", ERROR_NONE,
	    "", 1 },
	{ "arguments that break the schema", { ANSWER(USE("t1", "echo", "{\"x\":\"1\"}"),
	    "tool_use"), DONE },
	    "user<1 assistant<2 call<3 result<4!schema assistant<5", "\"done\"", ERROR_NONE, "", 1 },
	{ "arguments that are no JSON", { ANSWER(USE("t1", "echo", "\"{x\""), "tool_use"), DONE },
	    "user<1 assistant<2 call<3 result<4!schema assistant<5", "\"done\"", ERROR_NONE, "", 1 },
	{ "a tool that fails", { ANSWER(USE("t1", "fail", "{}"), "tool_use"), DONE },
	    "user<1 assistant<2 call<3 result<4!exit_status assistant<5", "\"done\"",
	    ERROR_NONE, "", 1 },
	{ "a tool that takes too long", { ANSWER(USE("t1", "slow", "{}"), "tool_use"), DONE },
	    "user<1 assistant<2 call<3 result<4!timeout assistant<5", "\"done\"",
	    ERROR_NONE, "", 1 },
	{ "a tool that breaks its word", { ANSWER(USE("t1", "liar", "{}"), "tool_use"), DONE },
	    "user<1 assistant<2 call<3 result<4!schema assistant<5", "\"done\"",
	    ERROR_NONE, "", 1 },
	{ "what the API ran is not run again", { ANSWER("{\"type\":\"tool_use\",\"tool_id\":\"s1\","
	    "\"tool_name\":\"plain\",\"tool_input\":{},\"fidelity\":\"agent_emitted\"}," TEXT("x"),
	    "end_turn") }, "user<1 assistant<2", "\"x\"", ERROR_NONE, "", 0 },
	{ "a pause goes on", { ANSWER(TEXT("wait"), "pause"), ANSWER("", "pause"), DONE },
	    "user<1 assistant<2 assistant<3 assistant<4", "\"done\"", ERROR_NONE, "", 0 },
	{ "an answer that was cut off", { ANSWER(TEXT("half"), "max_tokens") },
	    "user<1 assistant<2", NULL, ERROR_MAX_TOKENS,
	    "the answer was cut off at the limit of tokens (max_tokens)", 0 },
	{ "a refusal", { ANSWER(TEXT("I will not"), "refusal") },
	    "user<1 assistant<2", NULL, ERROR_REFUSED, "the model refused: I will not", 0 },
	{ "a refusal without words", { ANSWER("", "refusal") },
	    "user<1 assistant<2", NULL, ERROR_REFUSED, "the model refused", 0 },
	{ "an error that no try helps", { FAILURE("auth") },
	    "user<1", NULL, ERROR_AUTH, "it failed", 0 },
	{ "an error that stays", { FAILURE("overloaded"), FAILURE("rate_limit"),
	    FAILURE("network") }, "user<1 retry<1 retry<1", NULL, ERROR_NETWORK, "it failed", 0 },
	{ "an error that passes", { FAILURE("overloaded"), DONE }, "user<1 retry<1 assistant<2",
	    "\"done\"", ERROR_NONE, "", 0 },
	{ "an agent CLI's own calls", { "{\"id\":@ID@,\"type\":\"tool_call\",\"name\":\"Bash\","
	    "\"call_id\":\"a\",\"input\":{\"c\": 1}}\n{\"id\":@ID@,\"type\":\"tool_call\","
	    "\"name\":\"Read\",\"call_id\":\"b\"}\n{\"id\":@ID@,\"type\":\"tool_result\","
	    "\"call_id\":\"b\",\"output\":2}\n{\"id\":@ID@,\"type\":\"tool_result\",\"call_id\":"
	    "\"a\",\"output\":1}\n" DONE },
	    "user<1 call<2 call<2 result<4 result<3 assistant<6+5", "\"done\"", ERROR_NONE, "", 2 },
	{ "a result of no call", { "{\"id\":@ID@,\"type\":\"tool_result\",\"call_id\":\"x\"}\n"
	    DONE }, "user<1 retry<1 retry<1", NULL, ERROR_PROVIDER, "the provider broke the protocol: a tool_result without its tool_call", 0 },
	{ "two results of a call", { "{\"id\":@ID@,\"type\":\"tool_call\",\"name\":\"n\","
	    "\"call_id\":\"a\"}\n{\"id\":@ID@,\"type\":\"tool_result\",\"call_id\":\"a\"}\n"
	    "{\"id\":@ID@,\"type\":\"tool_result\",\"call_id\":\"a\"}\n" DONE },
	    "user<1 call<2 result<3", NULL, ERROR_PROVIDER,
	    "the provider broke the protocol: a second tool_result of one tool_call", 1 },
	{ "a call that cannot be recorded", { "{\"id\":@ID@,\"type\":\"tool_call\",\"name\":5,"
	    "\"call_id\":\"a\"}\n" DONE }, "user<1 retry<1 retry<1", NULL, ERROR_PROVIDER,
	    "the provider broke the protocol: \"name\" is not a string", 0 },
};

static inline int
begin(void **state)
{
	char *tools;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	descendants_adopt();
	if (unit_make_directory(directory, "turn") != 0)
		return -1;
	tools = path_join(directory, "tools");
	if (mkdir(tools, 0700) != 0)
		return -1;
	free(tools);
	setenv("SCRIPT", directory, 1);
	setenv("AWF_PROVIDER_PATH", "tests/fixtures/providers", 1);
	setenv("XDG_CONFIG_HOME", directory, 1);
	if (trust_record_edits(directory, NULL) != 0)
		return -1;
	unsetenv("AWF_TOOL_PATH");
	put_tools();
	return 0;
}

static inline int
end(void **state)
{
	char *command = memory_format("rm -r %s", directory);
	int status = system(command);

	(void)state;
	free(command);
	return status;
}

#endif
