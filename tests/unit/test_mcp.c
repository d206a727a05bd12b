/* agent/mcp_*: variables of definitions, names of tools, and what results come to. */
#include "unit.h"

#include <stdlib.h>

#include "limits/ceiling.h"
#include "turn/mcp_tools.h"

static const struct {
	const char *text, *expanded; /* NULL: an error, */
	const char *message;         /* this one */
} expansions[] = {
	{ "", "", NULL },
	{ "plain $A $ {A} }", "plain $A $ {A} }", NULL },
	{ "${A}", "one", NULL },
	{ "x${A}y${A}z", "xoneyonez", NULL },
	{ "${A:-two}", "one", NULL },
	{ "${NONE:-two}", "two", NULL },
	{ "${NONE:-}", "", NULL },
	{ "${EMPTY:-two}", "", NULL },
	{ "${NONE:-a:-b}", "a:-b", NULL },
	{ "${A", "${A", NULL },
	{ "${{ secrets.A }}${{A}}${{vars.NONE:-x}}", "oneonex", NULL },
	{ "${{ A", "${{ A", NULL },
	{ "${env:A}", "one", NULL },
	{ "${input:a-b}", "in", NULL },
	{ "${input:in-capitals}", "yes", NULL },
	{ "${input:none}", NULL, "${input:none} has no value: give it with awf-run --input none=VALUE" },
	{ "${CLAUDE_PLUGIN_ROOT}/x", "/dev/x", NULL },
	{ "${NONE}", NULL, "${NONE} has no value: set it, or say ${NONE:-DEFAULT}" },
	{ "${}", NULL, "${} has no value: set it, or say ${:-DEFAULT}" },
};

static void
variables_are_expanded(void **state)
{
	(void)state;
	setenv("A", "one", 1);
	setenv("EMPTY", "", 1);
	setenv("AWF_INPUT_a_b", "in", 1);
	setenv("IN_CAPITALS", "yes", 1);
	unsetenv("NONE");
	for (size_t i = 0; i < COUNT(expansions); i++) {
		struct error err = ERROR_INIT;
		char *text = mcp_expand(expansions[i].text, "/dev/null", NULL, NULL, "place", &err);

		if (expansions[i].expanded != NULL) {
			assert_string_equal(text, expansions[i].expanded);
		} else {
			assert_null(text);
			assert_string_equal(err.message, expansions[i].message);
			assert_string_equal(err.place, "place");
		}
		free(text);
	}
}

static const struct {
	const char *name;
	bool named, pattern;
} names[] = {
	{ "read", false, false },
	{ "mcp", false, false },
	{ "mcp__", true, false },
	{ "mcp__a__b", true, false },
	{ "mcp__a__*", true, true },
	{ "mcp__*", true, false },
	{ "mcp____*", true, false },
	{ "mcp__a/b__*", true, false },
	{ "mcp__a__b*", true, false },
	{ "x__*", false, false },
};

static void
names_are_told_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		assert_int_equal(tool_name_served(names[i].name), names[i].named);
		assert_int_equal(tool_name_pattern(names[i].name), names[i].pattern);
	}
}

static const struct {
	const char *above, *list, *tool;
	bool allowed;
} ceilings[] = {
	{ NULL, "read", "read", true },
	{ NULL, "read", "mcp__a__b", false },
	{ NULL, "mcp__a__*", "mcp__a__b", true },
	{ NULL, "mcp__a__*", "mcp__a__", false },
	{ NULL, "mcp__a__*", "mcp__ab__c", false },
	{ "mcp__a__*", "mcp__a__b", "mcp__a__b", true },
	{ "mcp__a__*", "mcp__a__b", "mcp__a__c", false },
	{ "mcp__a__b", "mcp__a__*", "mcp__a__b", true },
	{ "mcp__a__b", "mcp__a__*", "mcp__a__c", false },
	{ "mcp__a__*", "mcp__b__*", "mcp__a__b", false },
	{ "mcp__a__*", "mcp__a__*", "mcp__a__b", true },
};

static void
a_run_allows_tools_of_servers(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(ceilings); i++) {
		unsetenv(CEILING_TOOLS);
		unsetenv(CEILING_POLICY);
		if (ceilings[i].above != NULL)
			ceiling_lower(ceilings[i].above, TOOLS_UNSAID);
		ceiling_lower(ceilings[i].list, TOOLS_UNSAID);
		assert_int_equal(!ceiling_forbids(ceilings[i].tool), ceilings[i].allowed);
	}
	assert_false(ceiling_forbids_all("mcp__a__"));
	assert_true(ceiling_forbids_all("mcp__b__"));
	unsetenv(CEILING_TOOLS);
	assert_false(ceiling_forbids_all("mcp__b__"));
}

#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define IMAGE "{\"type\":\"image\",\"data\":\"aGk=\",\"mimeType\":\"image/png\"}"

static const struct {
	const char *result, *output, *message; /* NULL: it succeeded */
} results[] = {
	{ "{\"content\":[]}", "\"\"", NULL },
	{ "{}", "\"\"", NULL },
	{ "{\"content\":[" TEXT("a\\u00e9\\n") "]}", "\"aé\\n\"", NULL },
	{ "{\"content\":[" TEXT("a") "," TEXT("b") "]}", "\"a\\nb\"", NULL },
	{ "{\"content\":[" TEXT("{}") "],\"structuredContent\":{}}", "{}", NULL },
	{ "{\"content\":[],\"structuredContent\":[1]}", "[1]", NULL },
	{ "{\"content\":[" IMAGE "]}", "[" IMAGE "]", NULL },
	{ "{\"content\":[" TEXT("a") "," IMAGE "]}", "[" TEXT("a") "," IMAGE "]", NULL },
	{ "{\"content\":[" IMAGE "],\"structuredContent\":{}}", "[" TEXT("{}") "," IMAGE "]", NULL },
	{ "{\"content\":[{\"type\":\"text\"}]}", "[{\"type\":\"text\"}]", NULL },
	{ "{\"content\":\"a\"}", "\"a\"", NULL },
	{ "{\"content\":[" TEXT("no") "],\"isError\":false}", "\"no\"", NULL },
	{ "{\"content\":[" TEXT("no") "],\"isError\":true}", "", "no" },
	{ "{\"content\":[],\"isError\":true}", "\"\"", "the tool failed" },
	{ "{\"content\":[" TEXT("a\\nb") "],\"isError\":true}", "\"a\\nb\"", "the tool failed" },
	{ "{\"content\":[" IMAGE "],\"isError\":true}", "[" IMAGE "]", "the tool failed" },
	{ "{\"resultType\":\"input_required\"}", "",
	  "the tool asks for input that there is nobody to give" },
};

static void
results_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(results); i++) {
		struct span result = span_of(results[i].result, strlen(results[i].result));
		struct buffer output = BUFFER_INIT;
		struct error err = ERROR_INIT;
		int status = mcp_answer_read(result, &output, &err);

		assert_string_equal(buffer_string(&output), results[i].output);
		assert_int_equal(status, results[i].message == NULL ? 0 : -1);
		assert_string_equal(err.message, results[i].message == NULL ? "" : results[i].message);
		assert_int_equal(err.code, results[i].message == NULL ? ERROR_NONE : ERROR_TOOL);
		buffer_free(&output);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(variables_are_expanded),
		cmocka_unit_test(names_are_told_apart),
		cmocka_unit_test(a_run_allows_tools_of_servers),
		cmocka_unit_test(results_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
