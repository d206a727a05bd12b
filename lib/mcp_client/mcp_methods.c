/*
 * A table of methods. Only the part of a server's answer that the model asked for is passed on:
 * servers add other members, such as how long it may be cached.
 *
 * Source: modelcontextprotocol.io/specification, "Server Features", "Resources", "Prompts".
 */
#include "mcp_client/mcp_methods.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "json/writer.h"
#include "mcp_client/mcp.h"

#define LIST_SCHEMA \
	"{\"type\":\"object\",\"properties\":{\"cursor\":{\"type\":\"string\"," \
	"\"description\":\"nextCursor of the list before, for what follows it\"}}," \
	"\"additionalProperties\":false}"
#define READ_SCHEMA \
	"{\"type\":\"object\",\"properties\":{\"uri\":{\"type\":\"string\"}}," \
	"\"required\":[\"uri\"],\"additionalProperties\":false}"
#define PROMPT_SCHEMA \
	"{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}," \
	"\"arguments\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}}}," \
	"\"required\":[\"name\"],\"additionalProperties\":false}"

#define READ "resources/read"

const struct mcp_method mcp_methods[] = {
	{ "list_resources", "resources/list", MCP_RESOURCES,
	    "Lists resources of this server: texts and files that read_resource reads.",
	    LIST_SCHEMA, "resources" },
	{ "list_resource_templates", "resources/templates/list", MCP_RESOURCES,
	    "Lists templates (RFC 6570) of URIs that read_resource of this server reads.",
	    LIST_SCHEMA, "resourceTemplates" },
	{ "read_resource", READ, MCP_RESOURCES,
	    "Reads the resource of this server that a URI names.", READ_SCHEMA, "contents" },
	{ "list_prompts", "prompts/list", MCP_PROMPTS,
	    "Lists prompts of this server, with the arguments that get_prompt gives them.",
	    LIST_SCHEMA, "prompts" },
	{ "get_prompt", "prompts/get", MCP_PROMPTS,
	    "Gets the messages of a prompt of this server.", PROMPT_SCHEMA, "messages" },
	{ NULL, NULL, 0, NULL, NULL, NULL },
};

const struct mcp_method *
mcp_method_find(struct span method)
{
	for (const struct mcp_method *m = mcp_methods; m->tool != NULL; m++)
		if (span_is(method, m->method))
			return m;
	return NULL;
}

/* If all contents are text, they are written as lines; otherwise each is written as a content
 * block. */
static void
write_contents(struct span contents, struct buffer *output)
{
	struct buffer text = BUFFER_INIT;
	bool bytes = false, first = true;
	struct writer w;

	for (struct span_walk content = span_walk(contents); span_next(&content);)
		bytes = bytes || span_member(content.value, "blob").at != NULL;
	writer_begin(&w, output);
	if (bytes)
		writer_array(&w);
	for (struct span_walk content = span_walk(contents); span_next(&content);) {
		struct span line = span_member(content.value, "text");

		if (!bytes) {
			buffer_text(&text, first ? "" : "\n");
			span_decode(line, &text);
		} else {
			writer_object(&w);
			writer_member_string(&w, "type", line.at != NULL ? "text" : "resource");
			writer_member_span(&w, line.at != NULL ? "text" : "resource",
			    line.at != NULL ? line : content.value);
			writer_object_end(&w);
		}
		first = false;
	}
	if (bytes)
		writer_array_end(&w);
	else
		writer_bytes(&w, buffer_string(&text), text.len);
	buffer_free(&text);
}

int
mcp_method_read(const struct mcp_method *m, struct span result, struct buffer *output,
    struct error *err)
{
	static const char *const beside[] = { "description", "nextCursor" };
	struct span asked = span_member(result, m->member);
	struct writer w;

	if (span_type(asked) != 'a')
		return error_set(err, ERROR_TOOL, NULL, "the server's answer to '%s' has no '%s'",
		    m->method, m->member);
	if (strcmp(m->method, READ) == 0) {
		write_contents(asked, output);
		return 0;
	}
	writer_begin(&w, output);
	writer_object(&w);
	writer_member_span(&w, m->member, asked);
	for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
		if (span_type(span_member(result, beside[i])) == 's')
			writer_member_span(&w, beside[i], span_member(result, beside[i]));
	writer_object_end(&w);
	return 0;
}
