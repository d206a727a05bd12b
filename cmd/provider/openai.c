/*
 * Whether a model or server accepts a schema at all is known only from its name. strict.c has a
 * list of the keywords of JSON Schema that are enforced strictly; a schema beyond these is sent as
 * a hint, and awf-step checks the answer.
 */
#include "openai.h"

#include <string.h>

#include "pass.h"
#include "strict.h"
#include "transcript/event_keys.h"

enum schema_use
openai_schema(const struct exchange *x)
{
	static const char *const without[] = { "gpt-3.5*", "gpt-4", "gpt-4-*", "o1-mini*",
	    "o1-preview*", "deepseek-*", NULL };
	struct span schema = x->request->output_schema;
	const bool tools = span_element(x->request->tools, 0).at != NULL;
	const enum schema_use use = request_schema(x);

	/* What an endpoint says of its models is not guessed from their names. */
	if (use != SCHEMA_WHOLE || request_endpoint(x, "schema").at != NULL)
		return use == SCHEMA_WHOLE && !strict_object(schema) ? SCHEMA_UNSAID : use;
	/* Servers that imitate the API refuse a schema beside tools, or never call one (vllm#39929). */
	if (x->destination.users && tools)
		return SCHEMA_UNSAID;
	return strict_object(schema) && strstr(x->base, "//api.deepseek.com") == NULL &&
	    !request_model(x->request->model, without) ? use : SCHEMA_UNSAID;
}

void
openai_write_schema(struct writer *w, struct span schema)
{
	static const char *const keywords[] = { "$defs", "$ref", "additionalProperties", "anyOf",
	    "const", "definitions", "description", "enum", "exclusiveMaximum", "exclusiveMinimum",
	    "format", "items", "maxItems", "maximum", "minItems", "minimum", "multipleOf",
	    "pattern", "properties", "required", "title", "type", NULL };
	static const char *const formats[] = { "date", "date-time", "duration", "email", "hostname",
	    "ipv4", "ipv6", "time", "uuid", NULL };
	static const struct strict strict = { keywords, formats, true, true };

	writer_member_string(w, "name", "answer");
	strict_write(w, "schema", schema);
	writer_member_bool(w, "strict", strict_takes(&strict, schema));
}

/* The APIs demand a name. */
void
openai_write_file(struct writer *w, struct span document)
{
	struct span name = span_member(document, KEY_NAME);

	if (name.at == NULL)
		writer_member_string(w, "filename", "document.pdf");
	pass_member(w, "filename", name);
	pass_data_url(w, "file_data", document);
}
