/* agent/agent and agent/yaml: agent files, what they say, and how they are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/list.h"
#include "definitions/agent.h"
#include "formats/definition.h"
#include "formats/yaml.h"
#include "io/file.h"
#include "io/installation.h"
#include "json/value.h"

static char directory[] = "/tmp/awf-agent-XXXXXX";

/* All tests run in a directory of their own, where no configuration is. */
static int
enter(void **state)
{
	(void)state;
	if (mkdtemp(directory) == NULL || chdir(directory) != 0)
		return -1;
	setenv("XDG_CONFIG_HOME", directory, 1);
	setenv("AWF_PROVIDER_PATH", directory, 1);
	return 0;
}

static int
leave(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof command, "rm -r %s", directory);
	return chdir("/") != 0 || system(command) != 0 ? -1 : 0;
}

static void
put(const char *path, const char *bytes, size_t len)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

/* lines NULL: the message, with "x.yaml:LINE: " before it. */
static const struct {
	const char *yaml, *json;
} yamls[] = {
	{ "", "null" },
	{ "# nothing\n", "null" },
	{ "a: 1\nb: [x, y]\nc: {d: e}\n", "{\"a\":1,\"b\":[\"x\",\"y\"],\"c\":{\"d\":\"e\"}}" },
	{ "a:\nb: ~\nc: null\nd: Null\n", "{\"a\":null,\"b\":null,\"c\":null,\"d\":null}" },
	{ "[true, True, FALSE, yes, no, on, off, y]",
	  "[true,true,false,\"yes\",\"no\",\"on\",\"off\",\"y\"]" },
	{ "[0, -7, +7, 007, 0o17, 0x1F, 0b1, 1_000]", "[0,-7,7,7,15,31,\"0b1\",\"1_000\"]" },
	{ "[0.5, -.5, 2., 1e2, 2.5E-1, ., e5, 1e, -, 1.2.3]",
	  "[0.5,-0.5,2.0,100.0,0.25,\".\",\"e5\",\"1e\",\"-\",\"1.2.3\"]" },
	{ "[9223372036854775807, 9223372036854775808]",
	  "[9223372036854775807,9.223372036854776e+18]" },
	{ "['1', \"true\", \"a\\tb\\0\", 2026-11-21]", "[\"1\",\"true\",\"a\\tb\\u0000\",\"2026-11-21\"]" },
	{ "a: |\n  x\n  y\nb: >-\n  x\n  y\n", "{\"a\":\"x\\ny\\n\",\"b\":\"x y\"}" },
	{ "- a\n- - b\n  - c: 1\n    d: 2\n", "[\"a\",[\"b\",{\"c\":1,\"d\":2}]]" },
	{ "\"<<\": 1\n1: 2\n", "{\"<<\":1,\"1\":2}" },
	{ "\xc3\xa9: \xf0\x9f\x98\x80\n", "{\"\xc3\xa9\":\"\xf0\x9f\x98\x80\"}" },
};

static const struct {
	const char *yaml;
	int line;
	const char *message;
} bad_yamls[] = {
	{ "a: 1\na: 2\n", 11, "'a' is there twice" },
	{ "a: &x 1\n", 10, "anchors, aliases and tags are not supported" },
	{ "a: 1\n\nb: *x\n", 12, "anchors, aliases and tags are not supported" },
	{ "a: !!str 1\n", 10, "anchors, aliases and tags are not supported" },
	{ "! a: 1\n", 10, "anchors, aliases and tags are not supported" },
	{ "- &a [1]\n", 10, "anchors, aliases and tags are not supported" },
	{ "- &a {b: 1}\n", 10, "anchors, aliases and tags are not supported" },
	{ "a: {b: 1}\n<<: {c: 2}\n", 11, "merge keys are not supported" },
	{ "[a]: 1\n", 10, "a key must be a text" },
	{ "\"a\\0b\": 1\n", 10, "a key must not hold NUL" },
	{ "a: .inf\n", 10, "infinities and NaN are not supported" },
	{ "a: -.INF\n", 10, "infinities and NaN are not supported" },
	{ "a: .nan\n", 10, "infinities and NaN are not supported" },
	{ "a: 1e999\n", 10, "the number is too large" },
	{ "a: 0xffffffffffffffffff\n", 10, "the number is too large" },
	{ "a: 1\n---\nb: 2\n", 11, "more than one document" },
	{ "a: [1\n", 10, "a '[' without its ']', or a comma is missing" },
	{ "a: {b: 1\n", 10, "a '{' without its '}', or a comma is missing" },
	{ "a: ]\n", 10, "a value is missing, or a bracket too many is there" },
	{ "a: 1\nb: \"c\nd\n", 11, "a text in quotes has no end" },
	{ "a: \"\\d\"\n", 10, "a \\ in double quotes begins an escape: single quotes leave it as it is" },
	{ "a:\n  b: 1\n c: 2\n", 12, "neither KEY: VALUE, nor indented as the lines before it" },
	{ "a: 1\nb\n", 11, "a line without a colon, where KEY: VALUE is expected" },
	{ "a: b: c\n", 10, "a second colon in the line, or a line before it without one: a text with "
	    "': ' in it stands in quotes" },
	{ "a: - b\n", 10, "a list of dashes begins on a line of its own" },
	{ "- a\nb: c\n", 11, "what follows a list of dashes begins with a dash, or is indented less" },
	{ "a: &\n", 10, "a text that begins with '&' or '*' has to stand in quotes" },
	{ "a: |x\n", 10, "behind '|' or '>' the text begins on the next line" },
	{ "a: \xff\n", 10, "invalid leading UTF-8 octet" },
	{ "a:\n\t- b\n", 11, "a tab indents it, where YAML takes spaces alone" },
};

static void
yaml_becomes_json(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof yamls / sizeof *yamls; i++) {
		struct error err = ERROR_INIT;
		struct buffer json = BUFFER_INIT;
		json_t *value = yaml_parse(yamls[i].yaml, strlen(yamls[i].yaml), "x.yaml", 1, NULL,
		    &err);

		if (value == NULL)
			fail_msg("%s: %s", yamls[i].yaml, err.message);
		value_write(value, &json);
		assert_string_equal(json.data, yamls[i].json);
		buffer_free(&json);
		json_decref(value);
	}
}

static void
bad_yaml_is_refused(void **state)
{
	char place[32];

	(void)state;
	for (size_t i = 0; i < sizeof bad_yamls / sizeof *bad_yamls; i++) {
		struct error err = ERROR_INIT;

		if (yaml_parse(bad_yamls[i].yaml, strlen(bad_yamls[i].yaml), "x.yaml", 10, NULL,
		    &err) != NULL)
			fail_msg("%s was taken", bad_yamls[i].yaml);
		snprintf(place, sizeof place, "x.yaml:%d", bad_yamls[i].line);
		assert_string_equal(err.message, bad_yamls[i].message);
		assert_string_equal(err.place, place);
		assert_int_equal(err.code, ERROR_DEFINITION);
	}
}

static void
yaml_has_limits(void **state)
{
	struct error err = ERROR_INIT;
	struct buffer text = BUFFER_INIT;
	json_t *value;

	(void)state;
	for (int i = 0; i < YAML_DEPTH_LIMIT; i++)
		buffer_byte(&text, '[');
	for (int i = 0; i < YAML_DEPTH_LIMIT; i++)
		buffer_byte(&text, ']');
	value = yaml_parse(text.data, text.len, "x", 1, NULL, &err);
	assert_non_null(value);
	json_decref(value);
	buffer_clear(&text);
	for (int i = 0; i <= YAML_DEPTH_LIMIT; i++)
		buffer_byte(&text, '[');
	assert_null(yaml_parse(text.data, text.len, "x", 1, NULL, &err));
	assert_string_equal(err.message, "nested too deeply");
	buffer_clear(&text);
	while (text.len <= YAML_SIZE_LIMIT)
		buffer_text(&text, "# a comment that is long enough to get there soon enough\n");
	assert_null(yaml_parse(text.data, text.len, "x", 1, NULL, &err));
	assert_string_equal(err.message, "too large");
	buffer_free(&text);
}

/* Neither is lost, nor leaked. */
static void
two_keys_may_give_the_same_names(void **state)
{
	static const struct definition_key table[] = {
		{"names", definition_names, 0, 0, 0},
		{"others", definition_names, 0, 0, 0},
		{NULL, NULL, 0, 0, 0},
	};
	static const char *const wanted[] = {"a", "b", "c"};
	struct definition d = {"x", json_pack("{s:s,s:[s]}", "names", "a, b", "others", "c"), NULL};
	struct error err = ERROR_INIT;
	char **names = NULL;

	(void)state;
	assert_int_equal(definition_read(&d, table, &names, &err), 0);
	assert_int_equal(list_count(names), sizeof wanted / sizeof *wanted);
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		assert_string_equal(names[i], wanted[i]);
	list_free(names);
	json_decref(d.document);
}

static void
all_keys_are_read(void **state)
{
	static const char text[] =
	    "\xef\xbb\xbf---\r\n"
	    "name: researcher\r\n"
	    "description: Finds things out.\r\n"
	    "provider: anthropic\r\n"
	    "model: m-1\r\n"
	    "max_tokens: 1000\r\n"
	    "temperature: 0.5\r\n"
	    "top_p: 1\r\n"
	    "stop_sequences: [END]\r\n"
	    "thinking: 2000\r\n"
	    "cache: false\r\n"
	    "tools: search, word_count ,\r\n"
	    "tools_policy: warn\r\n"
	    "max_turns: 0\r\n"
	    "max_tokens_total: 50000\r\n"
	    "timeout: 1.5\r\n"
	    "stop_when: {tool: search}\r\n"
	    "color: blue\r\n"
	    "---  \r\n"
	    "\r\n You are a researcher.\r\n---\r\nCite. \r\n\r\n";
	struct error err = ERROR_INIT;
	struct buffer params = BUFFER_INIT;
	char digest[DIGEST_SIZE];
	struct agent a;

	(void)state;
	put("full.md", text, sizeof text - 1);
	if (agent_load(&a, "full.md", &err) != 0)
		fail_msg("%s: %s", err.place, err.message);
	assert_string_equal(a.path, "full.md");
	assert_string_equal(a.name, "researcher");
	assert_string_equal(a.description, "Finds things out.");
	assert_string_equal(a.provider, "anthropic");
	assert_string_equal(a.model, "m-1");
	assert_string_equal(a.system, "You are a researcher.\n---\nCite.");
	value_write(a.params, &params);
	assert_string_equal(params.data, "{\"max_tokens\":1000,\"temperature\":0.5,\"top_p\":1,"
	    "\"stop_sequences\":[\"END\"],\"thinking\":2000,\"cache\":false}");
	assert_string_equal(a.tools[0], "search");
	assert_string_equal(a.tools[1], "word_count");
	assert_null(a.tools[2]);
	assert_int_equal(a.tools_policy, TOOLS_WARN);
	assert_int_equal(a.limits.max_turns, 0);
	assert_int_equal(a.limits.max_tokens_total, 50000);
	assert_int_equal(a.limits.timeout_ms, 1500);
	assert_string_equal(a.stop_tool, "search");
	assert_null(a.stop_command);
	assert_string_equal(json_string_value(json_object_get(a.document, "color")), "blue");
	assert_string_equal(a.sha256, digest_sha256(text, sizeof text - 1, digest));
	buffer_free(&params);
	agent_free(&a);
}

static void
defaults_hold(void **state)
{
	struct error err = ERROR_INIT;
	struct agent a;

	(void)state;
	put("short.md", "Be brief.\n", 10);
	assert_int_equal(agent_load(&a, "short.md", &err), 0);
	assert_string_equal(a.name, "short");
	assert_string_equal(a.system, "Be brief.");
	assert_null(a.provider);
	assert_null(a.model);
	assert_null(a.description);
	assert_null(a.tools[0]);
	assert_int_equal(json_object_size(a.params), 0);
	assert_int_equal(a.tools_policy, TOOLS_UNSAID);
	assert_int_equal(a.limits.max_turns, 30);
	assert_int_equal(a.limits.max_tokens_total, 0);
	assert_int_equal(a.limits.timeout_ms, 0);
	agent_free(&a);

	put("empty.md", "---\n---\n", 8);
	assert_int_equal(agent_load(&a, "empty.md", &err), 0);
	assert_null(a.system);
	assert_true(json_is_object(a.document));
	agent_free(&a);
}

static void
json_files_are_agents_too(void **state)
{
	static const char text[] = "{\"system\": \"Be brief.\", \"provider\": \"openai\", "
	    "\"tools\": [], \"stop_when\": {\"command\": [\"test\", \"-s\"]}, \"timeout\": \"2m\"}";
	struct error err = ERROR_INIT;
	struct agent a;

	(void)state;
	put("plain.json", text, sizeof text - 1);
	assert_int_equal(agent_load(&a, "plain.json", &err), 0);
	assert_string_equal(a.name, "plain");
	assert_string_equal(a.system, "Be brief.");
	assert_string_equal(a.provider, "openai");
	assert_null(a.stop_tool);
	assert_int_equal(json_array_size(a.stop_command), 2);
	assert_int_equal(a.limits.timeout_ms, 120000);
	agent_free(&a);
}


/* The front matter's lines begin at 2. */
static const struct {
	const char *front, *place, *message;
} bad_agents[] = {
	{ "name: x\nmodel: y\nprovider: opnai", "x.md:4",
	  "unknown provider 'opnai' (did you mean 'openai'?)" },
	{ "name: a\nbase_url: https://x", "x.md:3", "base_url: is no key of agents: where a server is, and what "
	  "key it gets, is said by the user's file of an endpoint alone (awf-endpoint(5))" },
	{ "headers:\n  Authorization: Bearer x", "x.md:2",
	  "headers: Authorization could say who asks or where a request goes: only an endpoint's file may set it, which is the user's" },
	{ "headers:\n  OpenAI-Beta: {env: HOME}", "x.md:2", "headers: OpenAI-Beta: expected a text" },
	{ "body:\n  tools: []", "x.md:2", "body: tools is written by AWF itself, and cannot be changed" },
	{ "timeouts:\n  idle: 0", "x.md:2",
	  "timeouts.idle: expected a number of seconds, more than 0 and at most 86400" },
	{ "provider: ../x", "x.md:2", "unknown provider '../x': there is no awf-provider-../x in "
	  "$AWF_PROVIDER_PATH, AWF's own directory or $PATH, nor an endpoint of that name" },
	{ "name: 5", "x.md:2", "name: expected a text, got whole number" },
	{ "name: ''", "x.md:2", "name: must not be empty or hold NUL" },
	{ "name: \"a\\tb\"", "x.md:2", "name: has a control character" },
	{ "model: [a]", "x.md:2", "model: expected a text, got list" },
	{ "\n\nmax_tokens: 0", "x.md:4", "max_tokens: expected a whole number from 1 to 2147483647" },
	{ "max_tokens: many", "x.md:2", "max_tokens: expected a whole number from 1 to 2147483647" },
	{ "max_turns: -1", "x.md:2", "max_turns: expected a whole number from 0 to 2147483647" },
	{ "max_turns: 1.5", "x.md:2", "max_turns: expected a whole number from 0 to 2147483647" },
	{ "temperature: 2.1", "x.md:2", "temperature: expected a number from 0 to 2" },
	{ "top_p: '1'", "x.md:2", "top_p: expected a number from 0 to 1" },
	{ "stop_sequences: END", "x.md:2", "stop_sequences: expected a list of texts, got text" },
	{ "stop_sequences: [1]", "x.md:2", "stop_sequences: expected a list of texts" },
	{ "cache: maybe", "x.md:2", "cache: expected true or false, got text" },
	{ "thinking: deep", "x.md:2",
	  "thinking: expected true, false, a number of tokens, none, minimal, low, medium, high, xhigh or max" },
	{ "thinking: 0", "x.md:2",
	  "thinking: expected true, false, a number of tokens, none, minimal, low, medium, high, xhigh or max" },
	{ "tools: {a: 1}", "x.md:2", "tools: expected a list of names, got object" },
	{ "tools: [1]", "x.md:2", "tools: expected a list of names" },
	{ "tools: a, b/c", "x.md:2",
	  "tools: 'b/c' is no tool's name (1 to 64 of A-Z a-z 0-9 _ -)" },
	{ "tools: [a, b, a]", "x.md:2", "tools: 'a' is there twice" },
	{ "tools_policy: stop", "x.md:2", "tools_policy: expected block or warn" },
	{ "timeout: soon", "x.md:2", "timeout: expected a duration such as 30, 500ms or 20m" },
	{ "timeout: -1", "x.md:2", "timeout: expected a duration such as 30, 500ms or 20m" },
	{ "stop_when: done", "x.md:2",
	  "stop_when: expected {tool: NAME} or {command: TEXT or list of texts}" },
	{ "stop_when: {command: []}", "x.md:2",
	  "stop_when: expected {tool: NAME} or {command: TEXT or list of texts}" },
	{ "name: x\nstop_when: {tool: a/b}", "x.md:3",
	  "stop_when: 'a/b' is no tool's name (1 to 64 of A-Z a-z 0-9 _ -)" },
	{ "mcp_servers: 5", "x.md:2", "mcp_servers: expected a list of names, got whole number" },
	{ "mcp_servers: a, b, a", "x.md:2", "mcp_servers: 'a' is there twice" },
	{ "mcp_servers: {a: 5}", "x.md: mcpServers.a", "expected {command: …, args: …} or {url: …}, got whole number" },
	{ "mcp_servers: {'@': {command: x}}", "x.md: mcpServers.@", "'@' is no server's name" },
	{ "mcp_servers: {a: {}}", "x.md: mcpServers.a", "no command, and no url" },
	{ "mcp_servers: {a: {command: []}}", "x.md: mcpServers.a", "command: must not be empty" },
	{ "mcp_servers: {a: {command: x, args: y}}", "x.md: mcpServers.a",
	  "args: expected a list of texts, got text" },
	{ "mcp_servers: {a: {command: x, args: [[]]}}", "x.md: mcpServers.a",
	  "args: expected a list of texts" },
	{ "mcp_servers: {a: {command: x, env: [y]}}", "x.md: mcpServers.a",
	  "env: expected names and texts, got list" },
	{ "mcp_servers: {a: {command: x, env: {Y: []}}}", "x.md: mcpServers.a",
	  "env: Y: expected a text, got list" },
	{ "mcp_servers: {a: {command: x, env: {Y=: z}}}", "x.md: mcpServers.a",
	  "env: 'Y=' is no variable's name" },
	{ "mcp_servers: {a: {command: x, timeout: -1}}", "x.md: mcpServers.a",
	  "timeout: must not be negative" },
	{ "mcp_servers: {a: {type: pigeon, url: 'https://x'}}", "x.md: mcpServers.a",
	  "type: expected stdio, http or sse" },
	{ "mcp_servers: {a: {url: 'ftp://x'}}", "x.md: mcpServers.a",
	  "url: expected http://… or https://…" },
	{ "tools: [mcp__*]", "x.md:2", "tools: 'mcp__*' is no tool's name (1 to 64 of A-Z a-z 0-9 _ -)" },
	{ "skills: [A]", "x.md:2", "skills: 'A' is no skill's name "
	    "(1 to 64 of a-z 0-9 and single hyphens between them)" },
	{ "agents_md: 1", "x.md:2", "agents_md: expected true or false, got whole number" },
	{ "handoffs: [a, b, a]", "x.md:2", "handoffs: 'a' is there twice" },
	{ "handoffs: 5", "x.md:2", "handoffs: expected a list of names, got whole number" },
	{ "phases: [a]", "x.md:2", "expected a phase {name: …, instructions: …}, got text" },
	{ "phases:\n  - name: a\n    instructions: x\n    later: y", "x.md:5", "later: unknown key" },
	{ "output_schema: [a]", "x.md:2",
	  "output_schema: expected a JSON Schema, an object or true, got list" },
	{ "output_schema: {typ: object}", "x.md:2",
	  "output_schema: /typ: unknown keyword (did you mean 'type'?)" },
	{ "output_repairs: -1", "x.md:2", "output_repairs: expected a whole number from 0 to 2147483647" },
	{ "before_turn: []", "x.md:2", "before_turn: expected a text, a list of texts, or {command: …, timeout: …}" },
	{ "before_turn: {command: x, time: 5}", "x.md:2", "before_turn: expected a text, a list of texts, or {command: …, timeout: …}" },
	{ "before_turn: {command: x, timeout: y}", "x.md:2", "before_turn: expected a duration such as 30, 500ms or 20m" },
	{ "fallback: 7", "x.md:2", "fallback: expected a list of PROVIDER/MODEL, got whole number" },
	{ "continue_from: [x]", "x.md:2", "continue_from: expected a text, got list" },
	{ "sandbox: strict", "x.md:2", "sandbox: expected workspace, read-only or none" },
	{ "network: 1", "x.md:2", "network: expected true or false, got whole number" },
	{ "- a", "x.md:2", "the front matter has no keys: a line of it is KEY: VALUE, such as 'model: sonnet'" },
	{ "model:x", "x.md:2", "'model:x': a space is missing behind the colon" },
	{ "name: a\nmodel:x", "x.md:3", "'model:x': a space is missing behind the colon" },
	{ "https://example.org", "x.md:2", "the front matter has no keys: a line of it is KEY: VALUE, such as "
	    "'model: sonnet'" },
	{ "a: 1\na: 2", "x.md:3", "'a' is there twice" },
};

static void
expect_refused(const char *path, const char *bytes, size_t len, const char *place,
    const char *message)
{
	struct error err = ERROR_INIT;
	struct agent a;

	put(path, bytes, len);
	if (agent_load(&a, path, &err) == 0)
		fail_msg("%s was taken", bytes);
	assert_string_equal(err.message, message);
	assert_string_equal(err.place, place);
	assert_int_equal(error_status(err.code), STATUS_DEFINITION);
}

static void
bad_agents_are_refused(void **state)
{
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof bad_agents / sizeof *bad_agents; i++) {
		int len = snprintf(text, sizeof text, "---\n%s\n---\nprompt\n", bad_agents[i].front);

		expect_refused("x.md", text, (size_t)len, bad_agents[i].place,
		    bad_agents[i].message);
	}
}

#define TEXT(text) text, sizeof(text) - 1

static void
bad_files_are_refused(void **state)
{
	struct error err = ERROR_INIT;
	struct agent a;

	(void)state;
	expect_refused("x.md", TEXT("---\nname: x\n"), "x.md",
	    "the front matter has no closing '---'");
	expect_refused("x.md", TEXT("a\0b"), "x.md", "not UTF-8, or holds NUL");
	expect_refused("x.md", TEXT("a\xff"), "x.md", "not UTF-8, or holds NUL");
	expect_refused("x.json", TEXT("[1]"), "x.json",
	    "expected an object of keys, such as {\"model\": \"sonnet\"}, got list");
	expect_refused("x.json", TEXT("{\"model\":1}"), "x.json",
	    "model: expected a text, got whole number");
	expect_refused("x.json", TEXT("{\"system\":\"a\",\"prompt\":\"b\"}"), "x.json",
	    "prompt: 'system' says the same, drop one");
	expect_refused("x.json", TEXT("{\"prompt\":1}"), "x.json",
	    "prompt: expected a text, got whole number");
	put("x.json", "{", 1);
	assert_int_equal(agent_load(&a, "x.json", &err), -1);
	assert_int_equal(err.code, ERROR_DEFINITION);
	assert_int_equal(agent_load(&a, "missing.md", &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
}

static void
expect_found(const char *file, const char *workflow, const char *path)
{
	struct error err = ERROR_INIT;
	char *found = agent_find(file, NULL, workflow, &err);

	if (found == NULL)
		fail_msg("%s: %s", err.place, err.message);
	assert_string_equal(found, path);
	free(found);
}

static void
agents_are_found(void **state)
{
	struct error err = ERROR_INIT;
	char want[256];

	(void)state;
	assert_int_equal(mkdir("agents", 0700), 0);
	assert_int_equal(mkdir("flow", 0700), 0);
	assert_int_equal(mkdir("flow/agents", 0700), 0);
	assert_int_equal(mkdir("awf", 0700), 0);
	assert_int_equal(mkdir("awf/agents", 0700), 0);
	put("flow/agents/a.md", "x", 1);
	put("awf/agents/b.md", "x", 1);
	expect_found("a", "flow", "flow/agents/a.md");
	expect_found("a.md", "flow", "flow/agents/a.md");
	expect_found("agents/a.md", "flow", "flow/agents/a.md");
	put("agents/a.md", "x", 1);
	expect_found("a", "flow", "agents/a.md");
	expect_found("agents/a.md", "flow", "agents/a.md");
	snprintf(want, sizeof want, "%s/awf/agents/b.md", directory);
	expect_found("b", NULL, want);
	put("b", "x", 1);
	expect_found("b", NULL, "b");
	assert_null(agent_find("c", NULL, "flow", &err));
	assert_string_equal(err.place, "c");
	snprintf(want, sizeof want, "not found in agents, flow/agents, %s/awf/agents, %s/agents",
	    directory, installation_share());
	assert_string_equal(err.message, want);
	assert_null(agent_find("agents/c.md", NULL, "flow", &err));
	snprintf(want, sizeof want, "not found in %s/agents, flow/agents", directory);
	assert_string_equal(err.message, want);
	assert_null(agent_find("agents/c.md", NULL, NULL, &err));
	snprintf(want, sizeof want, "not found in %s/agents", directory);
	assert_string_equal(err.message, want);
	assert_null(agent_find("/nosuch/c.md", NULL, "flow", &err));
	assert_string_equal(err.message, "not found in /nosuch");
	assert_null(agent_find("agents", NULL, NULL, &err));
}

static const struct {
	const char *text, *provider, *model;
} models[] = {
	{ "m-1", NULL, "m-1" },
	{ "openai/m-1", "openai", "m-1" },
	{ "openai/org/m-1", "openai", "org/m-1" },
	{ "org/m-1", NULL, "org/m-1" },
	{ "mine/m", "mine", "m" },
};

static void
models_name_their_provider(void **state)
{
	struct error err = ERROR_INIT;
	struct agent a;

	(void)state;
	put("awf-provider-mine", "#!/bin/sh\n", 10);
	assert_int_equal(chmod("awf-provider-mine", 0700), 0);
	for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
		agent_plain(&a, "plain");
		assert_int_equal(agent_set_model(&a, models[i].text, "-m", &err), 0);
		assert_string_equal(a.model, models[i].model);
		if (models[i].provider == NULL)
			assert_null(a.provider);
		else
			assert_string_equal(a.provider, models[i].provider);
		agent_free(&a);
	}
	agent_plain(&a, "plain");
	assert_string_equal(a.name, "plain");
	assert_string_equal(a.sha256, "");
	assert_int_equal(agent_set_model(&a, "openai/", "-m", &err), -1);
	assert_string_equal(err.place, "-m");
	assert_int_equal(err.code, ERROR_USAGE);
	assert_int_equal(agent_set_model(&a, "", "-m", &err), -1);
	agent_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(yaml_becomes_json),
		cmocka_unit_test(bad_yaml_is_refused),
		cmocka_unit_test(yaml_has_limits),
		cmocka_unit_test(two_keys_may_give_the_same_names),
		cmocka_unit_test(all_keys_are_read),
		cmocka_unit_test(defaults_hold),
		cmocka_unit_test(json_files_are_agents_too),
		cmocka_unit_test(bad_agents_are_refused),
		cmocka_unit_test(bad_files_are_refused),
		cmocka_unit_test(agents_are_found),
		cmocka_unit_test(models_name_their_provider),
	};

	return cmocka_run_group_tests_name("agent", tests, enter, leave);
}
