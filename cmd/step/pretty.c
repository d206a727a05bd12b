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

	if (strchr("oa", span_type(value)) == NULL) {
		buffer_append(out, value.at, value.len);
		return;
	}
	buffer_byte(out, object ? '{' : '[');
	for (struct span_walk member = span_walk(value); span_next(&member);) {
		if (any)
			buffer_byte(out, ',');
		any = true;
		new_line(out, depth + 1);
		if (object) {
			buffer_append(out, member.key.at, member.key.len);
			buffer_text(out, ": ");
		}
		put(member.value, depth + 1, out);
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
