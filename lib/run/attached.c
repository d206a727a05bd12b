/* What a block does not say, its name or its size, is left out of the label. */
#include "run/attached.h"

#include <stddef.h>
#include <stdlib.h>

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
