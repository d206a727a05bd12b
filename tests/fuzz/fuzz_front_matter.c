/*
 * Agent files: whatever is read, what comes out of it is whole: texts are UTF-8,
 * values can be written as JSON and read again, the prompt can be rendered.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "definitions/agent.h"
#include "formats/prompt.h"
#include "formats/yaml.h"
#include "json/scan.h"
#include "json/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
is_whole(const json_t *value)
{
	struct buffer text = BUFFER_INIT;
	json_t *again;

	value_write(value, &text);
	again = value_parse(text.data, text.len, NULL, ERROR_DEFINITION, NULL);
	assert(again != NULL && json_equal(again, value));
	json_decref(again);
	buffer_free(&text);
}

static void
is_error(const struct error *err)
{
	assert(err->code == ERROR_DEFINITION || err->code == ERROR_INVALID_INPUT);
	assert(err->message[0] != '\0' && strchr(err->message, '\n') == NULL);
	assert(strncmp(err->place, "x.", 2) == 0);
}

static void
render(const char *prompt)
{
	static const char data[] = "{\"a\":[1,\"x\",{\"b\":null}]}";
	struct span value = span_of(data, sizeof data - 1);
	struct error err = ERROR_INIT;
	struct buffer out = BUFFER_INIT;

	if (prompt_render(prompt, value, value, "x.md", &out, &err) != 0)
		is_error(&err);
	buffer_free(&out);
}

static void
agent_file(const char *path, const uint8_t *data, size_t size)
{
	struct error err = ERROR_INIT;
	struct buffer text = BUFFER_INIT;
	struct agent a;

	buffer_append(&text, data, size);
	if (agent_parse(&a, path, &text, &err) != 0) {
		is_error(&err);
		buffer_free(&text);
		return;
	}
	assert(a.name != NULL && utf8_valid(a.name, strlen(a.name)));
	is_whole(a.document);
	is_whole(a.params);
	if (a.system != NULL)
		render(a.system);
	agent_free(&a);
	buffer_free(&text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = ERROR_INIT;
	json_t *value = yaml_parse((const char *)data, size, "x.yaml", 1, NULL, &err);

	if (value == NULL)
		is_error(&err);
	else
		is_whole(value);
	json_decref(value);
	agent_file("x.md", data, size);
	agent_file("x.json", data, size);
	return 0;
}
