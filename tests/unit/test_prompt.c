/* agent/prompt: names and what becomes of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "formats/prompt.h"

#define DATA "{\"x\":{\"y\":\"z\"},\"n\":1.50,\"list\":[\"a\",{\"b\":true}]," \
	"\"quote\":\"\\\"\\u00e9\\n\",\"none\":null,\"7\":\"seven\"}"
#define INPUTS "{\"topic\":\"tea\"}"

/* error: ERROR_NONE and the text, or the code and the message. */
static const struct {
	const char *prompt;
	enum error_code error;
	const char *text;
} prompts[] = {
	{ "", ERROR_NONE, "" },
	{ "no names { } }}", ERROR_NONE, "no names { } }}" },
	{ "a {{data.x.y}} b", ERROR_NONE, "a z b" },
	{ "{{ data.x.y }}{{data.n}}", ERROR_NONE, "z1.50" },
	{ "{{data.x}}", ERROR_NONE, "{\"y\":\"z\"}" },
	{ "{{data.list.0}}{{data.list.1.b}}", ERROR_NONE, "atrue" },
	{ "{{data.7}}", ERROR_NONE, "seven" },
	{ "{{data.quote}}", ERROR_NONE, "\"\xc3\xa9\n" },
	{ "{{data.none}}", ERROR_NONE, "null" },
	{ "{{inputs.topic}}!", ERROR_NONE, "tea!" },
	{ "{{inputs}}", ERROR_NONE, INPUTS },
	{ "[{{data.zz?}}{{inputs.q.r?}}{{data.x.y?}}]", ERROR_NONE, "[z]" },
	{ "\\{{data}} \\\\{{{data.x.y}}", ERROR_NONE, "{{data}} \\{{{data.x.y}}" },
	{ "{{data.zz}}", ERROR_INVALID_INPUT,
	  "{{data.zz}} is missing in the input ({{data.zz?}} may be)" },
	{ "{{data.list.2}}", ERROR_INVALID_INPUT,
	  "{{data.list.2}} is missing in the input ({{data.list.2?}} may be)" },
	{ "{{data.list.x}}", ERROR_INVALID_INPUT,
	  "{{data.list.x}} is missing in the input ({{data.list.x?}} may be)" },
	{ "{{data..x}}", ERROR_INVALID_INPUT,
	  "{{data..x}} is missing in the input ({{data..x?}} may be)" },
	{ "{{data.x.y.z}}", ERROR_INVALID_INPUT,
	  "{{data.x.y.z}} is missing in the input ({{data.x.y.z?}} may be)" },
	{ "{{date}}", ERROR_DEFINITION,
	  "{{date}}: expected data or inputs (\\{{ stands for two braces)" },
	{ "{{}}", ERROR_DEFINITION,
	  "{{}}: expected data or inputs (\\{{ stands for two braces)" },
	{ "a {{data", ERROR_DEFINITION, "{{ has no }} (\\{{ stands for two braces)" },
};

static void
names_are_replaced(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof prompts / sizeof *prompts; i++) {
		struct error err = ERROR_INIT;
		struct buffer out = BUFFER_INIT;
		int result = prompt_render(prompts[i].prompt, span_of(DATA, strlen(DATA)),
		    span_of(INPUTS, strlen(INPUTS)), "p.md", &out, &err);

		assert_int_equal(result, prompts[i].error == ERROR_NONE ? 0 : -1);
		assert_int_equal(err.code, prompts[i].error);
		if (result == 0)
			assert_string_equal(out.data, prompts[i].text);
		else
			assert_string_equal(err.message, prompts[i].text);
		assert_string_equal(err.place, result == 0 ? "" : "p.md");
		err = (struct error)ERROR_INIT;
		assert_int_equal(prompt_check(prompts[i].prompt, "p.md", &err),
		    prompts[i].error == ERROR_DEFINITION ? -1 : 0);
		assert_string_equal(err.message,
		    prompts[i].error == ERROR_DEFINITION ? prompts[i].text : "");
		buffer_free(&out);
	}
}

static void
data_is_named_or_not(void **state)
{
	static const char *const with[] = { "{{data}}", "a {{ data.x? }}", "{{inputs.k}} {{data.0}}" };
	static const char *const without[] = { "", "data", "{data}", "\\{{data}}", "{{inputs.data}}" };

	(void)state;
	for (size_t i = 0; i < sizeof with / sizeof *with; i++)
		assert_true(prompt_has_data(with[i]));
	for (size_t i = 0; i < sizeof without / sizeof *without; i++)
		assert_false(prompt_has_data(without[i]));
}

static void
text_and_nothing_can_be_data(void **state)
{
	struct error err = ERROR_INIT;
	struct buffer out = BUFFER_INIT;

	(void)state;
	assert_int_equal(prompt_render("<{{data}}>", span_of("\"a\\tb\"", 6), span_of(NULL, 0), NULL,
	    &out, &err), 0);
	assert_string_equal(out.data, "<a\tb>");
	buffer_clear(&out);
	assert_int_equal(prompt_render("<{{data?}}>", span_of(NULL, 0), span_of(NULL, 0), NULL,
	    &out, &err), 0);
	assert_string_equal(out.data, "<>");
	assert_int_equal(prompt_render("{{inputs.k}}", span_of(NULL, 0), span_of(NULL, 0), NULL,
	    &out, &err), -1);
	buffer_free(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_replaced),
		cmocka_unit_test(data_is_named_or_not),
		cmocka_unit_test(text_and_nothing_can_be_data),
	};

	return cmocka_run_group_tests_name("prompt", tests, NULL, NULL);
}
