/* A segment is decoded completely before it is checked, as . and .. can be escaped. */
#include "request_path.h"

#include <string.h>

static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* RFC 3986, section 2.3: these mean the same with and without an escape. */
static bool
is_unreserved(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	    (c != '\0' && strchr("-._~", c) != NULL);
}

/* Appends the segment up to end. Returns NULL, or why it is refused. */
static const char *
add_segment(const char *at, const char *end, struct buffer *out)
{
	size_t begin = out->len, len;

	for (; at < end; at++) {
		unsigned char c = (unsigned char)*at;
		bool escaped = c == '%';

		if (escaped) {
			int high = end - at > 2 ? hex_value(at[1]) : -1, low = high != -1 ? hex_value(at[2]) : -1;

			if (low == -1)
				return "an escape in the path of a request is a percent sign and two hexadecimal digits";
			c = (unsigned char)(high << 4 | low);
			at += 2;
		}
		if (c == '\\' || (c == '/' && escaped))
			return "the path of a request is to have no \\ and no escaped slash (%2F, %5C)";
		if (c < ' ' || c == 0x7f || (c == '#' && !escaped))
			return "the path of a request is to have no # and no control character";
		if (escaped && !is_unreserved(c))
			buffer_format(out, "%%%02X", c);
		else
			buffer_byte(out, (char)c);
	}
	len = out->len - begin;
	if ((len == 1 || len == 2) && memcmp(out->data + begin, "..", len) == 0)
		return "the path of a request is to have no part . or ..";
	return NULL;
}

const char *
request_path_normalize(struct span path, struct buffer *out)
{
	const char *at = path.at, *end = path.at + path.len, *stop, *wrong = NULL;

	if (path.len == 0 || *at != '/')
		return "the target of a request is to be a path, which begins with a slash";
	for (; at < end && wrong == NULL; at = stop) {
		stop = memchr(at + 1, '/', (size_t)(end - at - 1));
		stop = stop != NULL ? stop : end;
		if (stop - at > 1) {
			buffer_byte(out, '/');
			wrong = add_segment(at + 1, stop, out);
		}
	}
	if (out->len == 0)
		buffer_byte(out, '/');
	return wrong;
}
