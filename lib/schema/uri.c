/*
 * A reference is split into its parts, pointers into the text, and combined again as in RFC 3986,
 * section 5.2; only a fragment is decoded.
 */
#include "schema/uri.h"

#include <stdbool.h>
#include <string.h>

#include "base/buffer.h"

/* at is NULL if the part is missing. */
struct part {
	const char *at;
	size_t len;
};

struct uri {
	struct part scheme, authority, path, query;
};

static struct part
part_of(const char *at, const char *end)
{
	return (struct part){ at, (size_t)(end - at) };
}

static struct uri
uri_split(const char *text)
{
	static const char scheme[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "0123456789+-.";
	struct uri u = { { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
	size_t len = strcspn(text, ":/?#");

	/* A scheme begins with a letter. */
	if (text[len] == ':' && strspn(text, scheme) == len &&
	    strcspn(text, "0123456789+-.:") > 0) {
		u.scheme = part_of(text, text + len);
		text += len + 1;
	}
	if (strncmp(text, "//", 2) == 0) {
		text += 2;
		len = strcspn(text, "/?#");
		u.authority = part_of(text, text + len);
		text += len;
	}
	len = strcspn(text, "?#");
	u.path = part_of(text, text + len);
	text += len;
	if (*text == '?')
		u.query = part_of(text + 1, text + 1 + strcspn(text + 1, "#"));
	return u;
}

/* Removes dot segments (section 5.2.4), one segment ("/x", or "x" at the start) at a time; ".."
 * removes the previous segment and its '/'. */
static void
append_path(struct buffer *out, const char *path, size_t len)
{
	struct buffer plain = BUFFER_INIT;
	const char *at = path, *end = path + len, *next;
	bool dots = false;

	for (; at < end; at = next) {
		const char *name = at + (*at == '/');

		for (next = name; next < end && *next != '/'; next++)
			;
		dots = next - name <= 2 && next > name && strspn(name, ".") >= (size_t)(next - name);
		if (!dots)
			buffer_append(&plain, at, (size_t)(next - at));
		else if (next - name == 2)
			while (plain.len > 0 && plain.data[--plain.len] != '/')
				;
	}
	if (dots)
		buffer_byte(&plain, '/');
	buffer_append(out, buffer_string(&plain), plain.len);
	buffer_free(&plain);
}

static void
append_part(struct buffer *out, const char *before, const struct part *part, const char *after)
{
	if (part->at == NULL)
		return;
	buffer_text(out, before);
	buffer_append(out, part->at, part->len);
	buffer_text(out, after);
}

char *
uri_resolve(const char *base_text, const char *reference)
{
	struct uri base = uri_split(base_text), r = uri_split(reference);
	const struct uri *from = r.scheme.at != NULL ? &r : &base;
	bool own = r.scheme.at != NULL || r.authority.at != NULL;
	struct buffer out = BUFFER_INIT, merged = BUFFER_INIT;
	size_t len = base.path.len;

	append_part(&out, "", &from->scheme, ":");
	append_part(&out, "//", own ? &r.authority : &base.authority, "");
	if (own || (r.path.len > 0 && *r.path.at == '/')) {
		append_path(&out, r.path.at, r.path.len);
	} else if (r.path.len > 0) {
		/* Section 5.2.3: after the last '/' of the base. */
		while (len > 0 && base.path.at[len - 1] != '/')
			len--;
		if (base.authority.at != NULL && base.path.len == 0)
			buffer_byte(&merged, '/');
		buffer_append(&merged, base.path.at, len);
		buffer_append(&merged, r.path.at, r.path.len);
		append_path(&out, buffer_string(&merged), merged.len);
		buffer_free(&merged);
	} else {
		buffer_append(&out, base.path.at, base.path.len);
	}
	append_part(&out, "?", own || r.path.len > 0 || r.query.at != NULL ? &r.query : &base.query,
	    "");
	return buffer_take(&out);
}

static int
hex_value(char digit)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	const char *found = digit == '\0' ? NULL : strchr(digits, digit);
	int value = found == NULL ? -1 : (int)(found - digits);

	return value < 16 ? value : value - 6;
}

char *
uri_fragment(const char *reference)
{
	struct buffer out = BUFFER_INIT;
	const char *at = strchr(reference, '#');
	int high, low;

	for (at = at == NULL ? "" : at + 1; *at != '\0'; at++) {
		if (*at == '%' && (high = hex_value(at[1])) >= 0 && (low = hex_value(at[2])) >= 0) {
			buffer_byte(&out, (char)(high << 4 | low));
			at += 2;
		} else {
			buffer_byte(&out, *at);
		}
	}
	return buffer_take(&out);
}
