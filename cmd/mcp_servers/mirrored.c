/* Schemas are searched through `properties` only; an annotation anywhere else makes the tool
 * invalid, and is found by searching the whole schema for it. */
#include "mirrored.h"

#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "proc/message.h"

#define ANNOTATION "x-mcp-header"
#define SAFE_INTEGER (((int64_t)1 << 53) - 1)

static bool
is_token(const char *text)
{
	static const char others[] = "!#$%&'*+-.^_`|~";
	bool is = *text != '\0';

	for (; *text != '\0' && is; text++)
		is = (*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'z') ||
		    (*text >= 'A' && *text <= 'Z') || strchr(others, *text) != NULL;
	return is;
}

/* How often a value contains the annotation. */
static size_t
mirrored_count_annotations(struct span value)
{
	size_t count = 0;

	if (span_type(value) != 'o' && span_type(value) != 'a')
		return 0;
	for (struct span_walk x = span_walk(value); span_next(&x);)
		count += (x.key.at != NULL && span_is(x.key, ANNOTATION)) +
		    mirrored_count_annotations(x.value);
	return count;
}

/* Adds the annotations of a schema, and of its properties. Returns what is wrong, or NULL. */
static const char *
read_schema(struct mirrored *m, const char *tool, struct span schema, struct buffer *pointer,
    size_t first)
{
	struct span named = span_member(schema, ANNOTATION), type = span_member(schema, "type");
	const char *why = NULL;
	char *name;

	if (named.at != NULL) {
		name = span_type(named) == 's' ? span_text(named) : NULL;
		if (name == NULL || !is_token(name))
			why = "is not a valid header name";
		else if (!span_is(type, "string") && !span_is(type, "integer") && !span_is(type, "boolean"))
			why = "is for a text, a whole number, true or false alone";
		for (size_t i = first; why == NULL && i < m->count; i++)
			if (strcasecmp(m->list[i].name, name) == 0)
				why = "is there twice";
		if (why != NULL) {
			free(name);
			return why;
		}
		m->list = memory_array(m->list, m->count + 1, sizeof *m->list);
		m->list[m->count++] = (struct mirrored_argument){ memory_text(tool),
			memory_text(buffer_string(pointer)), name };
	}
	for (struct span_walk x = span_walk(span_member(schema, "properties"));
	    why == NULL && span_next(&x);) {
		size_t len = pointer->len;

		if (x.key.at == NULL || span_type(x.value) != 'o')
			continue;
		pointer_append(pointer, x.key);
		why = read_schema(m, tool, x.value, pointer, first);
		pointer->len = len;
		if (pointer->data != NULL)
			pointer->data[len] = '\0';
	}
	return why;
}

static void
mirrored_truncate_list(struct mirrored *m, size_t from)
{
	while (m->count > from) {
		struct mirrored_argument *last = &m->list[--m->count];

		free(last->tool);
		free(last->pointer);
		free(last->name);
	}
}

static void
mirrored_remove_tool(struct mirrored *m, const char *tool)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->count; i++) {
		if (strcmp(m->list[i].tool, tool) != 0) {
			m->list[kept++] = m->list[i];
			continue;
		}
		free(m->list[i].tool);
		free(m->list[i].pointer);
		free(m->list[i].name);
	}
	m->count = kept;
}

/* Whether the tool may be offered. */
static bool
read_tool(struct mirrored *m, struct span tool)
{
	struct span schema = span_member(tool, "inputSchema");
	char *name = span_text(span_member(tool, "name"));
	struct buffer pointer = BUFFER_INIT;
	const char *why = NULL;
	size_t before;

	if (name == NULL)
		return true;
	mirrored_remove_tool(m, name);
	before = m->count;
	why = read_schema(m, name, schema, &pointer, before);
	if (why == NULL && mirrored_count_annotations(schema) != m->count - before)
		why = "stands where no argument is";
	if (why != NULL) {
		message_print(NULL, "the tool '%s' is left out: " ANNOTATION " in its schema %s", name, why);
		mirrored_truncate_list(m, before);
	}
	buffer_free(&pointer);
	free(name);
	return why == NULL;
}

void
mirrored_read(struct mirrored *m, struct span result, struct buffer *out)
{
	struct span tools = span_member(result, "tools");
	struct buffer kept = BUFFER_INIT;
	bool all = true;

	if (span_type(tools) != 'a')
		return;
	for (struct span_walk x = span_walk(tools); span_next(&x);) {
		if (!read_tool(m, x.value)) {
			all = false;
			continue;
		}
		buffer_text(&kept, kept.len > 0 ? "," : "");
		buffer_append(&kept, x.value.at, x.value.len);
	}
	if (!all) {
		buffer_append(out, result.at, (size_t)(tools.at - result.at));
		buffer_format(out, "[%s]", buffer_string(&kept));
		buffer_append(out, tools.at + tools.len,
		    (size_t)(result.at + result.len - tools.at - (ptrdiff_t)tools.len));
	}
	buffer_free(&kept);
}

void
mirrored_encode(struct buffer *out, const char *value, size_t len)
{
	static const char before[] = "=?base64?", after[] = "?=";
	bool plain = len == 0 || (strchr(" \t", value[0]) == NULL &&
	    strchr(" \t", value[len - 1]) == NULL);
	size_t size = sodium_base64_ENCODED_LEN(len, sodium_base64_VARIANT_ORIGINAL);
	char *code;

	for (size_t i = 0; plain && i < len; i++)
		plain = (value[i] >= ' ' && value[i] <= '~') || value[i] == '\t';
	if (plain && len >= sizeof before - 1 + sizeof after - 1 &&
	    strncmp(value, before, sizeof before - 1) == 0 &&
	    strncmp(value + len - (sizeof after - 1), after, sizeof after - 1) == 0)
		plain = false; /* it would be decoded as an encoded value */
	if (plain) {
		buffer_append(out, value, len);
		return;
	}
	code = memory_alloc(size);
	sodium_bin2base64(code, size, (const unsigned char *)value, len,
	    sodium_base64_VARIANT_ORIGINAL);
	buffer_format(out, "%s%s%s", before, code, after);
	free(code);
}

void
mirrored_headers(const struct mirrored *m, struct span tool, struct span arguments,
    void (*take)(void *context, const char *header), void *context)
{
	for (size_t i = 0; i < m->count; i++) {
		const struct mirrored_argument *a = &m->list[i];
		struct buffer text = BUFFER_INIT, header = BUFFER_INIT;
		struct span value;
		long long number;

		if (!span_is(tool, a->tool))
			continue;
		value = pointer_find(arguments, a->pointer);
		if (value.at == NULL || strchr("sntf", span_type(value)) == NULL ||
		    (span_type(value) == 'n' && (!span_integer(value, &number) || number > SAFE_INTEGER ||
		    number < -SAFE_INTEGER)))
			continue;
		if (span_type(value) == 's')
			span_decode(value, &text);
		else
			buffer_append(&text, value.at, value.len);
		buffer_format(&header, "Mcp-Param-%s: ", a->name);
		mirrored_encode(&header, buffer_string(&text), text.len);
		take(context, buffer_string(&header));
		buffer_free(&text);
		buffer_free(&header);
	}
}

void
mirrored_free(struct mirrored *m)
{
	mirrored_truncate_list(m, 0);
	free(m->list);
	*m = (struct mirrored){ NULL, 0 };
}
