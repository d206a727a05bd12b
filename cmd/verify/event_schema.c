/*
 * Each shape becomes the schema of an object. A shape with an id is put into $defs under that id,
 * and referred to. A kind becomes its plain schema, with null as an alternative if it is allowed.
 */
#include "verify/event_schema.h"

#include <string.h>

#include "json/writer.h"
#include "transcript/event_table.h"

#define DEFINED(id) "{\"$ref\":\"#/$defs/" id "\"}"

/* Definitions of kinds for which the JSON type is not enough. */
static const struct {
	const char *id, *schema;
} definitions[] = {
	{ "uuid", "{\"type\":\"string\",\"pattern\":\"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-"
	    "[89ab][0-9a-f]{3}-[0-9a-f]{12}$\"}" },
	{ "digest", "{\"type\":\"string\",\"pattern\":\"^[0-9a-f]{64}$\"}" },
	{ "time", "{\"type\":\"string\",\"pattern\":\"^[0-9]{4}-(0[1-9]|1[0-2])-"
	    "(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)\\\\.[0-9]{6}Z$\"}" },
};

/* type and further requirements; type NULL: `whole` is the schema. */
static const struct {
	const char *type, *more, *whole;
} kinds[] = {
	[KIND_ANY] = { NULL, NULL, "true" },
	[KIND_OBJECT] = { "object", "", NULL },
	[KIND_ARRAY] = { "array", "", NULL },
	[KIND_TEXT] = { "string", "", NULL },
	[KIND_BOOL] = { "boolean", "", NULL },
	[KIND_INTEGER] = { "integer", "", NULL },
	[KIND_COUNT] = { "integer", ",\"minimum\":0", NULL },
	[KIND_POSITIVE] = { "integer", ",\"minimum\":1", NULL },
	[KIND_SEQ] = { "integer", ",\"minimum\":1", NULL },
	[KIND_UUID] = { NULL, NULL, DEFINED("uuid") },
	[KIND_DIGEST] = { NULL, NULL, DEFINED("digest") },
	[KIND_SIGNATURE] = { "string", ",\"pattern\":\"^[0-9a-f]{128}$\"", NULL },
	[KIND_TIME] = { NULL, NULL, DEFINED("time") },
	[KIND_PATH] = { "string",
	    ",\"pattern\":\"^([A-Za-z0-9_-]+(\\\\.[A-Za-z0-9_-]+)*)?$\"", NULL },
	[KIND_POINTER] = { "string", ",\"pattern\":\"^/\"", NULL },
	[KIND_TYPE] = { "string", "", NULL },
	[KIND_PAYLOAD] = { NULL, NULL, "{\"type\":[\"object\",\"null\"]}" },
};

static void
write_member(const struct event_member *member, struct buffer *out)
{
	const char *type = kinds[member->kind].type, *more = kinds[member->kind].more;
	bool nullable = member->flags & MEMBER_NULLABLE, list = member->flags & MEMBER_LIST;
	bool of_shape = member->shape != NULL && member->kind == KIND_OBJECT;
	bool either = member->shape != NULL && !of_shape;

	if (member->kind == KIND_WORD) {
		buffer_text(out, "{\"enum\":[");
		for (size_t i = 0; member->words[i] != NULL; i++)
			buffer_format(out, "%s\"%s\"", i > 0 ? "," : "", member->words[i]);
		buffer_text(out, nullable ? ",null]}" : "]}");
		return;
	}
	if (nullable && !list && member->shape == NULL && type != NULL) {
		buffer_format(out, "{\"type\":[\"%s\",\"null\"]%s}", type, more);
		return;
	}
	if (nullable)
		buffer_text(out, "{\"anyOf\":[");
	if (list)
		buffer_format(out, "{\"type\":\"array\",%s\"items\":",
		    member->flags & MEMBER_NOT_EMPTY ? "\"minItems\":1," : "");
	buffer_text(out, either ? "{\"anyOf\":[" : "");
	if (of_shape)
		buffer_format(out, DEFINED("%s"), member->shape->id);
	else if (type != NULL)
		buffer_format(out, "{\"type\":\"%s\"%s}", type, more);
	else
		buffer_text(out, kinds[member->kind].whole);
	if (either)
		buffer_format(out, "," DEFINED("%s") "]}", member->shape->id);
	buffer_text(out, list ? "}" : "");
	buffer_text(out, nullable ? ",{\"type\":\"null\"}]}" : "");
}

/* Writes the members of an object's schema; indent: of each line. */
static void
write_shape(const struct event_shape *shape, const char *indent, struct buffer *out)
{
	bool required = false;

	if (shape->about != NULL) {
		buffer_format(out, "%s\"description\": ", indent);
		json_quote(out, shape->about, strlen(shape->about));
		buffer_text(out, ",\n");
	}
	buffer_format(out, "%s\"type\": \"object\",\n%s\"properties\": {\n", indent, indent);
	for (size_t i = 0; i < shape->count; i++) {
		buffer_format(out, "%s  \"%s\": ", indent, shape->members[i].key);
		write_member(&shape->members[i], out);
		buffer_text(out, i + 1 < shape->count ? ",\n" : "\n");
	}
	buffer_format(out, "%s}", indent);
	for (size_t i = 0; i < shape->count; i++) {
		if (!(shape->members[i].flags & MEMBER_REQUIRED))
			continue;
		if (!required)
			buffer_format(out, ",\n%s\"required\": [", indent);
		buffer_format(out, "%s\"%s\"", required ? ", " : "", shape->members[i].key);
		required = true;
	}
	buffer_text(out, required ? "]" : "");
}

void
event_schema_write(struct buffer *out)
{
	buffer_text(out, "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
	    "  \"$id\": \"urn:awf:transcript:1\",\n  \"title\": \"A line of an AWF transcript\",\n");
	write_shape(&event_line, "  ", out);
	buffer_text(out, ",\n  \"allOf\": [\n");
	/* Selects the payload's schema by the type of the event. */
	for (size_t i = 0; i < EVENT_TYPES; i++) {
		buffer_format(out, "    {\"if\": {\"properties\": {\"type\": {\"const\": \"%s\"}}, "
		    "\"required\": [\"type\"]},\n     \"then\": {\"properties\": {\"payload\": "
		    "{\"$ref\": \"#/$defs/%s\"}}}}", event_table[i].name, event_table[i].payload->id);
		buffer_text(out, i + 1 < EVENT_TYPES ? ",\n" : "\n");
	}
	buffer_text(out, "  ],\n  \"$defs\": {\n");
	for (size_t i = 0; i < sizeof definitions / sizeof *definitions; i++)
		buffer_format(out, "    \"%s\": %s,\n", definitions[i].id, definitions[i].schema);
	for (size_t i = 0; i < event_shape_count; i++) {
		buffer_format(out, "    \"%s\": {\n", event_shapes[i]->id);
		write_shape(event_shapes[i], "      ", out);
		buffer_text(out, i + 1 < event_shape_count ? "\n    },\n" : "\n    }\n");
	}
	buffer_text(out, "  }\n}\n");
}
