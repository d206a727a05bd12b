/* agent/tool: tool files, where they are found, and what goes in and out. */
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
#include "definitions/tool.h"
#include "definitions/trust.h"
#include "io/installation.h"
#include "proc/libexec.h"

static char directory[] = "/tmp/awf-tool-XXXXXX";

static int
enter(void **state)
{
	(void)state;
	if (mkdtemp(directory) == NULL || chdir(directory) != 0 || mkdir("tools", 0700) != 0)
		return -1;
	setenv("XDG_CONFIG_HOME", directory, 1);
	assert_int_equal(trust_record_edits(directory, NULL), 0);
	unsetenv("AWF_TOOL_PATH");
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
put(const char *path, const char *text, mode_t mode)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void
load(struct tool *t, const char *text)
{
	struct error err = ERROR_INIT;

	put("tools/x.tool.json", text, 0600);
	if (tool_load(t, "x", NULL, &err) != 0)
		fail_msg("%s: %s", err.place, err.message);
}

static void
all_keys_are_read(void **state)
{
	struct tool t;

	(void)state;
	put("tools/run", "#!/bin/sh\n", 0700);
	load(&t, "{\"$schema\": \"s\", \"title\": \"t\", \"$comment\": \"c\", \"name\": \"x\",\n"
	    "\"description\": \"Does x.\", \"input_schema\": { \"type\": \"object\",\n"
	    "  \"properties\": { \"n\": { \"multipleOf\": 0.10 } } },\n"
	    "\"output_schema\": {\"type\": \"integer\"}, \"command\": \"run\", \"timeout\": \"5s\",\n"
	    "\"effects\": \"external\", \"idempotent\": true, \"concurrent\": true,\n"
	    "\"env\": [\"X_KEY\"], \"sandbox\": \"none\", \"network\": true}");
	assert_string_equal(t.name, "x");
	assert_string_equal(t.path, "tools/x.tool.json");
	assert_string_equal(t.description, "Does x.");
	assert_string_equal(t.input_schema.data,
	    "{\"type\":\"object\",\"properties\":{\"n\":{\"multipleOf\":0.10}}}");
	assert_non_null(t.output);
	assert_string_equal(t.argv[0], "tools/run");
	assert_null(t.argv[1]);
	assert_int_equal(t.timeout_ms, 5000);
	assert_int_equal(t.effects, EFFECTS_EXTERNAL);
	assert_true(t.idempotent);
	assert_true(t.concurrent);
	assert_string_equal(t.environment[0], "X_KEY");
	assert_null(t.environment[1]);
	tool_free(&t);
}

static void
defaults_hold(void **state)
{
	struct buffer why = BUFFER_INIT;
	struct tool t;

	(void)state;
	put("tools/x", "#!/bin/sh\n", 0700);
	load(&t, "{}");
	assert_null(t.description);
	assert_string_equal(t.input_schema.data, "{\"type\":\"object\"}");
	assert_null(t.output);
	assert_string_equal(t.argv[0], "tools/x");
	assert_int_equal(t.timeout_ms, 0);
	assert_int_equal(t.effects, EFFECTS_UNDECLARED);
	assert_false(t.idempotent);
	assert_false(t.concurrent);
	assert_null(t.environment[0]);
	assert_int_equal(tool_check_input(&t, span_of("{}", 2), &why), 0);
	assert_int_equal(tool_check_input(&t, span_of("[]", 2), &why), -1);
	assert_string_equal(why.data, "expected object, got array");
	buffer_free(&why);
	tool_free(&t);
	assert_int_equal(unlink("tools/x"), 0);
}

static const struct {
	const char *command, *first, *second;
} commands[] = {
	{ "\"./run\"", "tools/run", NULL },
	{ "\"/bin/sh\"", "/bin/sh", NULL },
	{ "[\"sh\", \"./run\"]", "sh", "tools/run" },
	{ "[\"./run\", \"a b\"]", "tools/run", "a b" },
	{ "[\"./run\", \"\"]", "tools/run", "" },
	{ "[\"../run2\", \"/x\"]", "tools/../run2", "/x" },
};

static void
commands_are_found(void **state)
{
	char text[128];
	struct tool t;

	(void)state;
	put("tools/run", "#!/bin/sh\n", 0700);
	put("run2", "#!/bin/sh\n", 0700);
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		snprintf(text, sizeof text, "{\"command\": %s}", commands[i].command);
		load(&t, text);
		assert_string_equal(t.argv[0], commands[i].first);
		if (commands[i].second == NULL)
			assert_null(t.argv[1]);
		else
			assert_string_equal(t.argv[1], commands[i].second);
		tool_free(&t);
	}
}

static const struct {
	const char *text, *message;
} refused[] = {
	{ "[]", "expected an object, got list" },
	{ "{\"name\": \"y\"}", "name: expected 'x', as the file is called" },
	{ "{\"timout\": 1}", "timout: unknown key (did you mean 'timeout'?)" },
	{ "{\"wholly_unknown_thing\": 1}", "wholly_unknown_thing: unknown key" },
	{ "{\"description\": 1}", "description: expected a text, got whole number" },
	{ "{\"input_schema\": true}", "input_schema: expected a schema with \"type\": \"object\"" },
	{ "{\"input_schema\": {\"type\": \"array\"}}",
	  "input_schema: expected a schema with \"type\": \"object\"" },
	{ "{\"command\": 1}", "command: expected a file or a list of words" },
	{ "{\"command\": \"\"}", "command: expected a file or a list of words" },
	{ "{\"command\": []}", "command: expected a file or a list of words" },
	{ "{\"command\": [\"a\", 1]}", "command: expected a file or a list of words" },
	{ "{\"command\": \"none\"}", "unable to run 'tools/none': No such file or directory" },
	{ "{\"command\": \"run -x\"}", "unable to run 'tools/run -x': No such file or directory "
	  "(a command with arguments is a list)" },
	{ "{\"command\": \"data\"}", "unable to run 'tools/data': Permission denied (chmod +x?)" },
	{ "{\"command\": [\"no-such-program\"]}",
	  "'no-such-program' is not in $PATH ('./no-such-program' would stand beside this file)" },
	{ "{}", "unable to run 'tools/x': No such file or directory" },
	{ "{\"timeout\": []}", "timeout: expected a duration such as 30, 500ms or 20m" },
	{ "{\"effects\": \"some\"}", "effects: expected none, read, workspace or external" },
	{ "{\"idempotent\": 1}", "idempotent: expected true or false, got whole number" },
	{ "{\"concurrent\": \"yes\"}", "concurrent: expected true or false, got text" },
	{ "{\"env\": [\"A-B\"]}", "env: 'A-B' is no variable's name" },
	{ "{\"env\": [\"1A\"]}", "env: '1A' is no variable's name" },
	{ "{\"sandbox\": true}", "sandbox: expected workspace, read-only or none" },
	{ "{\"sandbox\": \"strict\"}", "sandbox: expected workspace, read-only or none" },
	{ "{\"network\": 1}", "network: expected true or false, got whole number" },
};

static void
bad_tools_are_refused(void **state)
{
	struct tool t;

	(void)state;
	put("tools/run", "#!/bin/sh\n", 0700);
	put("tools/data", "x", 0600);
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		struct error err = ERROR_INIT;

		put("tools/x.tool.json", refused[i].text, 0600);
		if (tool_load(&t, "x", NULL, &err) == 0)
			fail_msg("%s was taken", refused[i].text);
		assert_string_equal(err.message, refused[i].message);
		assert_string_equal(err.place, "tools/x.tool.json");
		assert_int_equal(error_status(err.code), STATUS_DEFINITION);
	}
}

static void
bad_schemas_are_named(void **state)
{
	struct error err = ERROR_INIT;
	struct tool t;

	(void)state;
	put("tools/x.tool.json", "{\"input_schema\": {\"type\": \"object\", \"properties\": "
	    "{\"a\": {\"typ\": 1}}}}", 0600);
	assert_int_equal(tool_load(&t, "x", NULL, &err), -1);
	assert_string_equal(err.place, "tools/x.tool.json: input_schema");
	assert_string_equal(err.message,
	    "/properties/a/typ: unknown keyword (did you mean 'type'?)");
	put("tools/x.tool.json", "{\"output_schema\": 1}", 0600);
	assert_int_equal(tool_load(&t, "x", NULL, &err), -1);
	assert_string_equal(err.place, "tools/x.tool.json: output_schema");
	put("tools/x.tool.json", "{", 0600);
	assert_int_equal(tool_load(&t, "x", NULL, &err), -1);
	assert_int_equal(err.code, ERROR_DEFINITION);
}

static void
tools_are_found(void **state)
{
	struct error err = ERROR_INIT;
	struct tool t;
	char want[512], *own;

	(void)state;
	assert_int_equal(mkdir("one", 0700), 0);
	assert_int_equal(mkdir("flow", 0700), 0);
	assert_int_equal(mkdir("flow/tools", 0700), 0);
	put("flow/tools/y.tool.json", "{\"command\": [\"sh\"]}", 0600);
	assert_int_equal(tool_load(&t, "y", NULL, &err), -1);
	assert_int_equal(tool_load(&t, "y", "flow", &err), 0);
	assert_string_equal(t.path, "flow/tools/y.tool.json");
	tool_free(&t);
	put("one/y.tool.json", "{\"command\": [\"sh\"]}", 0600);
	setenv("AWF_TOOL_PATH", ":none:one:flow/tools", 1);
	assert_int_equal(tool_load(&t, "y", "flow", &err), 0);
	assert_string_equal(t.path, "one/y.tool.json");
	tool_free(&t);
	own = libexec_path();
	assert_int_equal(tool_load(&t, "z", "flow", &err), -1);
	snprintf(want, sizeof want, "not found in none, one, flow/tools, tools, "
	    "%s/awf/tools, %s/tools, %.*s, %s", directory, installation_share(),
	    (int)strcspn(own, ":"), own, strchr(own, ':') + 1);
	free(own);
	assert_string_equal(err.place, "z.tool.json");
	assert_string_equal(err.message, want);
	unsetenv("AWF_TOOL_PATH");
	assert_int_equal(tool_load(&t, "../z", NULL, &err), -1);
	assert_string_equal(err.message, "no tool's name (1 to 64 of A-Z a-z 0-9 _ -)");
}

/* The digest changes with the tool file, its executable and its scripts. */
static void
digests_cover_what_runs(void **state)
{
	static const char direct[] = "{\"command\": \"run\"}";
	static const char script[] = "{\"command\": [\"sh\", \"./run\"]}";
	char before[65];
	struct tool t;

	(void)state;
	put("tools/run", "#!/bin/sh\n", 0700);
	load(&t, direct);
	memcpy(before, t.sha256, sizeof before);
	tool_free(&t);
	put("tools/run", "#!/bin/sh\ntrue\n", 0700);
	load(&t, direct);
	assert_string_not_equal(before, t.sha256);
	tool_free(&t);

	load(&t, script);
	memcpy(before, t.sha256, sizeof before);
	tool_free(&t);
	put("tools/run", "#!/bin/sh\n", 0700);
	load(&t, script);
	assert_string_not_equal(before, t.sha256);
	memcpy(before, t.sha256, sizeof before);
	tool_free(&t);
	load(&t, "{\"command\": [\"sh\", \"./run\"] }");
	assert_string_not_equal(before, t.sha256);
	tool_free(&t);
}

/* json NULL: refused, with the reason. */
static const struct {
	const char *schema, *printed, *json, *why;
} results[] = {
	{ NULL, "", "\"\"", NULL },
	{ NULL, "two\nlines\n", "\"two\\nlines\"", NULL },
	{ NULL, "5\n", "\"5\"", NULL },
	{ NULL, "{\"a\": 1.0}\n", "{\"a\":1.0}", NULL },
	{ NULL, " [1, 2]", "[1,2]", NULL },
	{ NULL, "{\"a\": 1} x", "\"{\\\"a\\\": 1} x\"", NULL },
	{ NULL, "a\xff", "\"a\xef\xbf\xbd\"", NULL },
	{ "{\"type\": \"integer\"}", "5\n", "5", NULL },
	{ "{\"type\": \"integer\"}", "\xef\xbb\xbf 5\n", "5", NULL },
	{ NULL, "\xef\xbb\xbf[5]", "\"\xef\xbb\xbf[5]\"", NULL },
	{ "{\"type\": \"integer\"}", "five\n", NULL, "not JSON: " },
	{ "{\"type\": \"integer\"}", "", NULL, "not JSON: " },
	{ "{\"type\": \"integer\"}", "[5]", NULL, "expected integer, got array" },
};

static void
results_become_json(void **state)
{
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
		struct buffer json = BUFFER_INIT, why = BUFFER_INIT;
		struct tool t;
		int result;

		snprintf(text, sizeof text, "{\"command\": [\"sh\"], \"output_schema\": %s}",
		    results[i].schema == NULL ? "null" : results[i].schema);
		load(&t, text);
		result = tool_result(&t, results[i].printed, strlen(results[i].printed), &json, &why);
		assert_int_equal(result, results[i].json == NULL ? -1 : 0);
		assert_string_equal(buffer_string(&json), results[i].json == NULL ? ""
		    : results[i].json);
		if (result != 0 && strncmp(why.data, results[i].why, strlen(results[i].why)) != 0)
			fail_msg("%s: %s", results[i].printed, why.data);
		buffer_free(&json);
		buffer_free(&why);
		tool_free(&t);
	}
}

static void
effects_have_names(void **state)
{
	enum effects effects = EFFECTS_UNDECLARED;

	(void)state;
	for (enum effects e = EFFECTS_NONE; e <= EFFECTS_EXTERNAL; e++) {
		assert_int_equal(effects_parse(effects_name(e), &effects), 0);
		assert_int_equal(effects, e);
	}
	assert_null(effects_name(EFFECTS_UNDECLARED));
	assert_int_equal(effects_parse("all", &effects), -1);
	assert_false(effects_outside(EFFECTS_READ));
	assert_false(effects_outside(EFFECTS_UNDECLARED));
	assert_true(effects_outside(EFFECTS_WORKSPACE));
	assert_true(effects_outside(EFFECTS_EXTERNAL));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_keys_are_read),
		cmocka_unit_test(defaults_hold),
		cmocka_unit_test(commands_are_found),
		cmocka_unit_test(bad_tools_are_refused),
		cmocka_unit_test(bad_schemas_are_named),
		cmocka_unit_test(tools_are_found),
		cmocka_unit_test(digests_cover_what_runs),
		cmocka_unit_test(results_become_json),
		cmocka_unit_test(effects_have_names),
	};

	return cmocka_run_group_tests_name("tool", tests, enter, leave);
}
