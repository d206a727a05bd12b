/*
 * A string in the file becomes several strings to search for: itself, as escaped in JSON, and as
 * encoded in base64 after 0, 1 or 2 other bytes. In base64 only the characters are compared that
 * contain bits of the string alone; the neighbour on each side, which contains some of its bits, is
 * masked with them. An array as long as the text records which bytes matched.
 */
#include "patterns.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "io/file.h"
#include "json/writer.h"

#define FILE_LIMIT ((size_t)16 << 20)
#define FIXED_PREFIX "fixed:"
#define EXPRESSION_PREFIX "re:"

/* ---- loading ---- */

/* Takes over bytes. */
static void
patterns_add_fixed_string(struct patterns *p, char *bytes, size_t len, bool base64, bool whole)
{
	p->fixed = memory_array(p->fixed, p->fixed_count + 1, sizeof *p->fixed);
	p->fixed[p->fixed_count++] = (struct fixed){ bytes, len, base64, whole };
}

/* Adds a string in all its forms. */
static void
add_fixed(struct patterns *p, const char *text, size_t len)
{
	struct buffer bytes = BUFFER_INIT, code = BUFFER_INIT;

	patterns_add_fixed_string(p, memory_copy(text, len), len, false, true);
	/* As escaped in JSON, if that differs. */
	json_quote(&code, text, len);
	if (code.len - 2 != len)
		patterns_add_fixed_string(p, memory_copy(code.data + 1, code.len - 2), code.len - 2,
		    false, false);
	/* In base64 after 0, 1 or 2 other bytes: the characters that contain bits of the
	 * string alone. */
	for (size_t before = 0; len >= PATTERNS_BASE64_MIN && before < 3; before++) {
		static const size_t foreign[] = { 0, 2, 3 };
		size_t part = (before + len) * 8 / 6 - foreign[before];

		buffer_clear(&bytes);
		buffer_clear(&code);
		buffer_append(&bytes, "\0\0", before);
		buffer_append(&bytes, text, len);
		base64_encode(bytes.data, bytes.len, &code);
		patterns_add_fixed_string(p, memory_copy(code.data + foreign[before], part), part,
		    true, false);
	}
	buffer_free(&bytes);
	buffer_free(&code);
}

/* Adds a line of the file, without its LF; number: of the line. */
static int
add_line(struct patterns *p, const char *line, size_t len, const char *path, size_t number,
    struct error *err)
{
	static const char fixed[] = FIXED_PREFIX, expression[] = EXPRESSION_PREFIX;
	const char *refused = NULL;
	char why[128], *place;
	int failed;

	if (len == 0 || *line == '#')
		return 0;
	if (memchr(line, '\0', len) != NULL) {
		refused = "holds a NUL";
	} else if (strncmp(line, expression, sizeof expression - 1) == 0) {
		regmatch_t match;
		regex_t *e;

		p->expressions = memory_array(p->expressions, p->expression_count + 1,
		    sizeof *p->expressions);
		e = &p->expressions[p->expression_count];
		failed = regcomp(e, line + sizeof expression - 1, REG_EXTENDED);
		if (failed != 0) {
			regerror(failed, e, why, sizeof why);
			refused = why;
		} else {
			p->expression_count++;
			if (regexec(e, "", 1, &match, 0) == 0)
				refused = "matches the empty text, so it would match anywhere";
		}
	} else {
		if (strncmp(line, fixed, sizeof fixed - 1) == 0) {
			line += sizeof fixed - 1;
			len -= sizeof fixed - 1;
		}
		if (len == 0)
			refused = "is an empty string";
		else
			add_fixed(p, line, len);
	}
	if (refused == NULL)
		return 0;
	place = memory_format("%s:%zu", path, number);
	error_set(err, ERROR_USAGE, place, "%s", refused);
	free(place);
	return -1;
}

int
patterns_load(struct patterns *p, const char *path, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	size_t number = 1;
	int failed = 0;
	char *end;

	memset(p, 0, sizeof *p);
	if (file_load_text(path, FILE_LIMIT, &text, err) != 0)
		return -1;
	for (char *at = text.data; at != NULL && at < text.data + text.len && failed == 0;
	    at = end + 1, number++) {
		size_t len;

		end = memchr(at, '\n', (size_t)(text.data + text.len - at));
		if (end == NULL)
			end = text.data + text.len;
		*end = '\0';
		len = (size_t)(end - at);
		if (len > 0 && at[len - 1] == '\r')
			at[--len] = '\0';
		failed = add_line(p, at, len, path, number, err);
	}
	buffer_free(&text);
	if (failed == 0 && p->fixed_count == 0 && p->expression_count == 0)
		failed = error_set(err, ERROR_USAGE, path, "holds no pattern: nothing would be masked");
	return failed;
}

void
patterns_free(struct patterns *p)
{
	for (size_t i = 0; i < p->fixed_count; i++)
		free(p->fixed[i].bytes);
	for (size_t i = 0; i < p->expression_count; i++)
		regfree(&p->expressions[i]);
	free(p->fixed);
	free(p->expressions);
	buffer_free(&p->cover);
}

/* ---- matching ---- Every match is marked before anything is replaced, so that nothing is left of
 * overlapping matches. */

struct text {
	const char *bytes;
	size_t len;
	char *cover;
	bool any;
};

static void
patterns_mark_range(struct text *t, size_t from, size_t to)
{
	memset(t->cover + from, 1, to - from);
	t->any = true;
}

static bool
in_base64(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	    c == '+' || c == '/';
}

/* The next occurrence of a string in the bytes up to end; NULL: none. */
static const char *
patterns_find_fixed_string(const char *at, const char *end, const struct fixed *f)
{
	while ((size_t)(end - at) >= f->len &&
	    (at = memchr(at, *f->bytes, (size_t)(end - at) - f->len + 1)) != NULL) {
		if (memcmp(at, f->bytes, f->len) == 0)
			return at;
		at++;
	}
	return NULL;
}

static void
mark_fixed(struct text *t, const struct fixed *f)
{
	const char *at = t->bytes, *end = t->bytes + t->len;
	size_t from, to;

	for (; (at = patterns_find_fixed_string(at, end, f)) != NULL; at++) {
		from = (size_t)(at - t->bytes);
		to = from + f->len;
		if (f->base64 && from > 0 && in_base64(t->bytes[from - 1]))
			from--;
		if (f->base64 && to < t->len && in_base64(t->bytes[to]))
			to++;
		patterns_mark_range(t, from, to);
	}
}

/* Marks a part of a string at a place where the text was truncated. */
static void
mark_cut(struct text *t, const struct fixed *f, enum cut cut)
{
	size_t longest = f->len - 1 < t->len ? f->len - 1 : t->len;

	if (!f->whole || cut == CUT_NOWHERE)
		return;
	for (size_t part = longest; part >= PATTERNS_PART_MIN; part--) {
		if (cut == CUT_BEGIN && memcmp(t->bytes, f->bytes + f->len - part, part) == 0) {
			patterns_mark_range(t, 0, part);
			return;
		}
		if (cut == CUT_END && memcmp(t->bytes + t->len - part, f->bytes, part) == 0) {
			patterns_mark_range(t, t->len - part, t->len);
			return;
		}
	}
}

/* regexec() stops at a NUL, so the parts between NULs are searched one by one. The text is
 * followed by a NUL. */
static void
mark_expression(struct text *t, const regex_t *expression)
{
	regmatch_t match;

	for (size_t start = 0; start <= t->len; start += strlen(t->bytes + start) + 1) {
		size_t at = start;

		while (regexec(expression, t->bytes + at, 1, &match, at == start ? 0 : REG_NOTBOL) == 0) {
			if (match.rm_eo > match.rm_so)
				patterns_mark_range(t, at + (size_t)match.rm_so, at +
				    (size_t)match.rm_eo);
			at += (size_t)match.rm_eo + (match.rm_eo == match.rm_so);
			if (at > t->len || t->bytes[at] == '\0')
				break;
		}
	}
}

bool
patterns_mask(struct patterns *p, const char *bytes, size_t len, enum cut cut,
    struct buffer *out)
{
	struct text t = { bytes, len, NULL, false };

	buffer_clear(&p->cover);
	t.cover = buffer_reserve(&p->cover, len + 1);
	memset(t.cover, 0, len + 1);
	for (size_t i = 0; i < p->fixed_count; i++) {
		mark_fixed(&t, &p->fixed[i]);
		mark_cut(&t, &p->fixed[i], cut);
	}
	for (size_t i = 0; i < p->expression_count; i++)
		mark_expression(&t, &p->expressions[i]);
	for (size_t at = 0; at < len;) {
		size_t from = at;

		while (at < len && t.cover[at] == t.cover[from])
			at++;
		if (t.cover[from])
			buffer_text(out, PATTERNS_MASK);
		else
			buffer_append(out, bytes + from, at - from);
	}
	if (len == 0)
		buffer_append(out, bytes, 0);
	return t.any;
}

bool
patterns_found(const struct patterns *p, const char *bytes, size_t len)
{
	for (size_t i = 0; i < p->fixed_count; i++)
		if (p->fixed[i].whole && patterns_find_fixed_string(bytes, bytes + len,
		    &p->fixed[i]) != NULL)
			return true;
	return false;
}
