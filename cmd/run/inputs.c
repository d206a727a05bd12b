/*
 * Inputs stay KEY=VALUE texts until they are written as JSON or exported. The AWF_INPUT_ variables
 * of an outer run are removed first, so that they are not taken for inputs of this run.
 */
#include "run/inputs.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "json/writer.h"

#define PREFIX "AWF_INPUT_"

/* Whether an input has the key of text, which is KEY=VALUE. */
static bool
has_key(char *const *inputs, const char *text)
{
	size_t len = strcspn(text, "=") + 1;

	for (; inputs != NULL && *inputs != NULL; inputs++)
		if (strncmp(*inputs, text, len) == 0)
			return true;
	return false;
}

int
inputs_add(char ***inputs, const char *text, struct error *err)
{
	size_t len = strcspn(text, "=");

	if (text[len] != '=' || !environment_name_valid(text, len))
		return error_set(err, ERROR_USAGE, "--input",
		    "'%s' is not KEY=VALUE with a KEY of letters, digits and _", text);
	if (!utf8_valid(text, strlen(text)))
		return error_set(err, ERROR_USAGE, "--input", "the value of %.*s is not UTF-8",
		    (int)len, text);
	if (has_key(*inputs, text))
		return error_set(err, ERROR_USAGE, "--input", "%.*s is given twice", (int)len, text);
	list_add(inputs, text);
	return 0;
}

void
inputs_complete(char ***inputs, char *const *others)
{
	for (; others != NULL && *others != NULL; others++)
		if (!has_key(*inputs, *others))
			list_add(inputs, *others);
}

void
inputs_write(char *const *inputs, struct buffer *json)
{
	struct writer w;

	writer_begin(&w, json);
	writer_object(&w);
	for (; inputs != NULL && *inputs != NULL; inputs++) {
		const char *value = strchr(*inputs, '=');
		char *key = memory_copy(*inputs, (size_t)(value - *inputs));

		writer_member_string(&w, key, value + 1);
		free(key);
	}
	writer_object_end(&w);
}

void
inputs_export(char *const *inputs, struct environment *e)
{
	char *name;

	for (size_t i = 0; e->list[i] != NULL;) {
		if (strncmp(e->list[i], PREFIX, sizeof PREFIX - 1) != 0) {
			i++;
			continue;
		}
		name = memory_copy(e->list[i], strcspn(e->list[i], "="));
		environment_unset(e, name);
		free(name);
	}
	for (; inputs != NULL && *inputs != NULL; inputs++) {
		const char *value = strchr(*inputs, '=');

		name = memory_format(PREFIX "%.*s", (int)(value - *inputs), *inputs);
		environment_set(e, name, value + 1);
		free(name);
	}
}
