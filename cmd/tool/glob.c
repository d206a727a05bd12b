/*
 * The pattern is translated from left to right, element by element, into an expression that
 * is anchored at both ends. Whether a name begins here is carried along, as two stars mean
 * directories only as a whole name. A bracket or brace that is never closed stands for
 * itself.
 */
#include "glob.h"

#include <string.h>

#include "base/buffer.h"

static const char special[] = "*?[{\\";

/* The ] of a class that begins at at; NULL if it has none. ] in the first place is one of its
 * characters. */
static const char *
class_end(const char *at)
{
	at++;
	if (*at == '!' || *at == '^')
		at++;
	if (*at == ']')
		at++;
	for (; *at != '\0' && *at != ']' && *at != '/'; at++)
		if (*at == '\\' && at[1] != '\0')
			at++;
	return *at == ']' ? at : NULL;
}

/* The end of a {…} group, which is not in a class; NULL if it has none, and stands for itself. */
static const char *
group_end(const char *at)
{
	const char *class;
	int depth = 0;

	for (; *at != '\0'; at++) {
		if (*at == '\\' && at[1] != '\0')
			at++;
		else if (*at == '[' && (class = class_end(at)) != NULL)
			at = class;
		else if (*at == '{')
			depth++;
		else if (*at == '}' && --depth == 0)
			return at;
	}
	return NULL;
}

static void
append_literal(struct buffer *out, char byte)
{
	if (strchr("^$\\.*+?()[]{}|/", byte) != NULL)
		buffer_byte(out, '\\');
	buffer_byte(out, byte);
}

static void
append_class(struct buffer *out, const char *at, const char *end)
{
	at++;
	buffer_byte(out, '[');
	if (*at == '!' || *at == '^') {
		buffer_text(out, "^\\/");
		at++;
	}
	for (; at < end; at++) {
		bool escaped = *at == '\\' && at + 1 < end;

		at += escaped ? 1 : 0;
		if (*at == '-')
			buffer_text(out, escaped ? "\\-" : "-");
		else
			append_literal(out, *at);
	}
	buffer_byte(out, ']');
}

struct pattern *
glob_compile(const char *glob, struct error *err)
{
	struct buffer source = BUFFER_INIT;
	const char *why = NULL, *end;
	struct pattern *pattern;
	bool name_begins = true;
	unsigned depth = 0; /* of groups */

	buffer_text(&source, "^(?:");
	for (const char *at = glob; *at != '\0'; at = end) {
		bool begins = name_begins;

		name_begins = *at == '/' || ((*at == '{' || *at == ',') && begins);
		end = at + 1;
		if (*at == '*') {
			/* At the beginning of a name, where there is nothing else in it, two or more stand
			 * for directories. */
			end = at + strspn(at, "*");
			if (end == at + 1 || !begins || strchr("/,}", *end) == NULL) {
				buffer_text(&source, "[^\\/]*");
			} else if (*end != '/') {
				buffer_text(&source, "[^]*");
			} else {
				buffer_text(&source, "(?:[^\\/]+\\/)*");
				end++;
				name_begins = true;
			}
		} else if (*at == '?') {
			buffer_text(&source, "[^\\/]");
		} else if (*at == '[' && class_end(at) != NULL) {
			end = class_end(at);
			append_class(&source, at, end++);
		} else if (*at == '{' && group_end(at) != NULL) {
			buffer_text(&source, "(?:");
			depth++;
		} else if (*at == ',' && depth > 0) {
			buffer_byte(&source, '|');
			name_begins = true;
		} else if (*at == '}' && depth > 0) {
			buffer_byte(&source, ')');
			depth--;
		} else {
			if (*at == '\\' && at[1] != '\0')
				end = ++at + 1;
			append_literal(&source, *at);
		}
	}
	buffer_text(&source, ")$");
	pattern = pattern_compile(source.data, source.len, &why);
	if (pattern == NULL)
		error_set(err, ERROR_INVALID_INPUT, glob, "not a pattern of file names: %s", why);
	buffer_free(&source);
	return pattern;
}

size_t
glob_base(const char *glob)
{
	size_t len = strcspn(glob, special);

	while (len > 0 && glob[len - 1] != '/')
		len--;
	return len;
}
