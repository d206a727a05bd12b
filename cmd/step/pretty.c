/* A walk over a checked value, whose depth is bounded, so it may call itself. */
#include "step/pretty.h"

#include <string.h>

static void
new_line(struct buffer *out, unsigned depth)
{
	buffer_byte(out, '\n');
	while (depth-- > 0)
		buffer_text(out, "  ");
}

/* Depth is bounded by that of checked values. */
static void
put(struct span value, unsigned depth, struct buffer *out)
{
	bool object = span_type(value) == 'o', any = false;
	struct span_walk walk;
	struct span key, member;

	if (strchr("oa", span_type(value)) == NULL) {
		buffer_append(out, value.at, value.len);
		return;
	}
	buffer_byte(out, object ? '{' : '[');
	span_walk_begin(&walk, value);
	while (span_walk_next(&walk, &key, &member)) {
		if (any)
			buffer_byte(out, ',');
		any = true;
		new_line(out, depth + 1);
		if (object) {
			buffer_append(out, key.at, key.len);
			buffer_text(out, ": ");
		}
		put(member, depth + 1, out);
	}
	if (any)
		new_line(out, depth);
	buffer_byte(out, object ? '}' : ']');
}

void
json_pretty(struct span value, struct buffer *out)
{
	put(span_trim(value), 0, out);
	buffer_byte(out, '\n');
}
