/*
 * Writes the value while it is read. The members of an object are first listed and sorted by their
 * key tokens; members with the same key keep their order.
 */
#include "json/sorted.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "json/writer.h"

struct sorted_member {
	struct span key, value;
};

static int
compare_keys(const void *a, const void *b)
{
	const struct sorted_member *one = a, *other = b;
	const size_t len = one->key.len < other->key.len ? one->key.len : other->key.len;
	const int order = memcmp(one->key.at, other->key.at, len);

	if (order != 0)
		return order;
	if (one->key.len != other->key.len)
		return one->key.len < other->key.len ? -1 : 1;
	return one->key.at < other->key.at ? -1 : one->key.at > other->key.at;
}

static void
write_text(struct span text, struct buffer *out)
{
	struct buffer decoded = BUFFER_INIT;

	span_decode(text, &decoded);
	json_quote(out, buffer_string(&decoded), decoded.len);
	buffer_free(&decoded);
}

static void
write_members(struct span object, struct buffer *out)
{
	struct sorted_member *list = NULL;
	size_t count = 0;

	for (struct span_walk member = span_walk(object); span_next(&member);) {
		if ((count & (count - 1)) == 0)
			list = memory_array(list, count == 0 ? 1 : count * 2, sizeof *list);
		list[count++] = (struct sorted_member){ member.key, member.value };
	}
	if (count > 1)
		qsort(list, count, sizeof *list, compare_keys);
	buffer_byte(out, '{');
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			buffer_byte(out, ',');
		write_text(list[i].key, out);
		buffer_byte(out, ':');
		sorted_write(list[i].value, out);
	}
	buffer_byte(out, '}');
	free(list);
}

void
sorted_write(struct span value, struct buffer *out)
{
	bool first = true;

	switch (span_type(value)) {
	case 'o':
		write_members(value, out);
		break;
	case 'a':
		buffer_byte(out, '[');
		for (struct span_walk element = span_walk(value); span_next(&element); first = false) {
			if (!first)
				buffer_byte(out, ',');
			sorted_write(element.value, out);
		}
		buffer_byte(out, ']');
		break;
	case 's':
		write_text(value, out);
		break;
	default:
		scan_minify(value, out);
	}
}
