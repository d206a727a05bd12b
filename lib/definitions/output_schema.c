/*
 * The schema is sent to the model as its author wrote it, minified. Markdown fences around an
 * answer are removed, because models write them even if they are told not to.
 */
#include "definitions/output_schema.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "definitions/trust.h"
#include "formats/definition.h"
#include "io/file.h"
#include "json/value.h"

#define FENCE "```"
#define ANY "{}"

/* Compiles a schema. Providers need a schema that is an object, so true becomes {}; false is
 * refused, since no answer could be valid. */
static int
output_schema_compile(struct output_schema *o, json_t *document, const char *place,
    struct error *err)
{
	if (!json_is_object(document) && !json_is_true(document))
		return error_set(err, ERROR_DEFINITION, place,
		    "expected a JSON Schema, an object or true, got %s", definition_type(document));
	o->schema = schema_compile(document, SCHEMA_TYPOS, place, err);
	return o->schema == NULL ? -1 : 0;
}

int
output_schema_take(struct output_schema *o, json_t *value, struct error *err)
{
	output_schema_free(o);
	if (json_is_true(value))
		buffer_text(&o->text, ANY);
	else
		value_write(value, &o->text);
	return output_schema_compile(o, value, NULL, err);
}

int
output_schema_load(struct output_schema *o, const char *path, const char *definition, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	json_t *document = NULL;
	int result = -1;

	output_schema_free(o);
	o->path = memory_text(path);
	if (path[strspn(path, " \t\n")] == '{' && access(path, F_OK) != 0)
		return error_set(err, ERROR_DEFINITION, "--output-schema",
		    "takes the name of a file with the schema, not the schema itself");
	if ((definition == NULL ? file_load(path, DEFINITION_LIMIT, &text, err) :
	    trust_file_load(definition, path, DEFINITION_LIMIT, &text, err)) == -1)
		err->code = ERROR_DEFINITION;
	else
		document = value_parse(buffer_string(&text), text.len, path, ERROR_DEFINITION, err);
	if (document != NULL)
		result = output_schema_compile(o, document, path, err);
	if (result == 0 && json_is_true(document))
		buffer_text(&o->text, ANY);
	else if (result == 0)
		scan_minify(span_trim_json(span_of(text.data, text.len)), &o->text);
	json_decref(document);
	buffer_free(&text);
	return result;
}

/* The text inside of one Markdown fence, whatever language the fence names. */
static struct span
output_schema_strip_fence(struct span text)
{
	const size_t mark = sizeof FENCE - 1;
	const char *line;

	text = span_trim_json(text);
	if (text.len < 2 * mark || memcmp(text.at, FENCE, mark) != 0 ||
	    memcmp(text.at + text.len - mark, FENCE, mark) != 0)
		return text;
	line = memchr(text.at, '\n', text.len - mark);
	if (line == NULL)
		return text;
	return span_trim_json(span_of(line + 1, (size_t)(text.at + text.len - mark - (line + 1))));
}

int
output_schema_check(const struct output_schema *o, struct span value, struct buffer *why)
{
	return o->schema == NULL ? 0 : schema_check_bytes(o->schema, value.at, value.len, why);
}

int
output_schema_read(const struct output_schema *o, struct span text, struct buffer *json,
    struct buffer *why)
{
	struct span value = output_schema_strip_fence(text);

	if (value.len == 0) {
		buffer_text(why, "not JSON: it has no text");
		return -1;
	}
	if (output_schema_check(o, value, why) != 0)
		return -1;
	scan_minify(value, json);
	return 0;
}

void
output_schema_free(struct output_schema *o)
{
	schema_free(o->schema);
	buffer_free(&o->text);
	free(o->path);
	*o = (struct output_schema){ .schema = NULL };
}
