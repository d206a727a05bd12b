/* A block without a name or size gets a label without it. */
#include "storage/attached.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "transcript/event_keys.h"

void
attached_label(const char *media_type, const char *name, int64_t bytes, struct buffer *out)
{
	char size[32];

	buffer_format(out, "[%s", media_type);
	if (name != NULL)
		buffer_format(out, " %s", name);
	if (bytes >= 0)
		buffer_format(out, ", %s", size_text(bytes, size, sizeof size));
	buffer_byte(out, ']');
}

bool
attached_text(struct span block, struct buffer *out)
{
	static const char *const types[] = { "image", "document", NULL };
	const char *type = span_one_of(span_member(block, KEY_TYPE), types);
	char *media_type = span_text(span_member(block, KEY_MEDIA_TYPE));
	char *name = span_text(span_member(block, KEY_NAME));
	long long bytes;

	if (!span_integer(span_member(block, KEY_BYTES), &bytes) || bytes < 0)
		bytes = -1;
	if (type != NULL)
		attached_label(media_type != NULL ? media_type : type, name, bytes, out);
	free(media_type);
	free(name);
	return type != NULL;
}

/* The size of the bytes that a block of an output has in a blob; -1: it has none. */
static long long
bytes_of_block(struct span refs, size_t number)
{
	char before[64];
	int len = snprintf(before, sizeof before, "\"/payload/output/%zu/", number);
	long long bytes = -1;

	for (struct span_walk entry = span_walk(refs); span_next(&entry);) {
		struct span at = span_member(entry.value, KEY_AT);

		if (at.len > (size_t)len && memcmp(at.at, before, (size_t)len) == 0)
			span_integer(span_member(entry.value, KEY_BYTES), &bytes);
	}
	return bytes;
}

bool
attached_output(struct span output, struct span refs, struct buffer *out)
{
	const size_t before = out->len;
	bool any = false;
	size_t number = 0;

	if (refs.at == NULL || span_type(output) != 'a')
		return false;
	for (struct span_walk block = span_walk(output); span_next(&block); number++) {
		struct span resource = span_member(block.value, "resource");
		struct span inside = span_type(resource) == 'o' ? resource : block.value;
		struct span text = span_member(inside, "text"), uri = span_member(inside, "uri");
		long long bytes = bytes_of_block(refs, number);

		if (out->len > before)
			buffer_byte(out, '\n');
		if (bytes >= 0) {
			char *type = span_text(span_member(inside, "mimeType")), *name = span_text(uri);

			attached_label(type != NULL ? type : "file", name, bytes, out);
			free(type);
			free(name);
			any = true;
		} else {
			span_decode(text.at != NULL ? text : uri, out);
		}
	}
	if (!any)
		out->len = before;
	return any;
}
