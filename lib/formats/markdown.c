/*
 * Line ends are converted to LF first, so that digests of texts and line numbers in messages do not
 * depend on the editor. The YAML reader is given the front matter and the number of its first line.
 *
 * Many authors of agents and skills do not know that ": " ends a plain scalar in YAML, and other
 * programs read such a line as it was meant. So if the front matter is not valid YAML, each value
 * of a top-level key that YAML would not read as written is put in quotes, and the text is read
 * again; if that is not valid either, the first error is reported. A description may extend over
 * the lines of an <example>, such as "user: …", as in the descriptions of Claude Code's agents.
 */
#include "formats/markdown.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "formats/yaml.h"

char *
markdown_trimmed(const char *text, size_t len)
{
	static const char blank[] = " \t\n\r\f\v";

	while (len > 0 && strchr(blank, text[len - 1]) != NULL)
		len--;
	while (len > 0 && strchr(blank, *text) != NULL) {
		text++;
		len--;
	}
	return len == 0 ? NULL : memory_copy(text, len);
}

int
markdown_normalise(struct buffer *text, const char *path, struct error *err)
{
	size_t kept = 0;

	buffer_drop(text, text_byte_order_mark(text->data, text->len));
	for (size_t i = 0; i < text->len; i++)
		if (text->data[i] != '\r' || i + 1 == text->len || text->data[i + 1] != '\n')
			text->data[kept++] = text->data[i];
	if (text->len > 0)
		text->data[kept] = '\0';
	text->len = kept;
	if (utf8_valid(buffer_string(text), kept) && strlen(buffer_string(text)) == kept)
		return 0;
	return error_set(err, ERROR_DEFINITION, path, "not UTF-8, or holds NUL");
}

/* Whether a line is "---", followed only by blanks. */
static bool
is_fence(const char *line)
{
	return strncmp(line, "---", 3) == 0 && line[3 + strspn(line + 3, " \t")] ==
	    (strchr(line, '\n') == NULL ? '\0' : '\n');
}

/* The line after this one, or the end of the text. */
static const char *
markdown_next_line(const char *line)
{
	return line + strcspn(line, "\n") + (strchr(line, '\n') != NULL);
}

/* A character in the name of a key or of a YAML alias. */
static bool
is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c != '\0' && strchr("0123456789_-", c) != NULL);
}

/* The length of the key that begins a line without indentation; 0: there is none. */
static size_t
key_of(const char *line)
{
	size_t len = 0;

	while (is_name_byte(line[len]) && (len > 0 || strchr("0123456789_-", line[len]) == NULL))
		len++;
	return len > 0 && line[len] == ':' && strchr(" \t\n", line[len + 1]) != NULL ? len : 0;
}

static bool
is_description(const char *line)
{
	return key_of(line) == 11 && strncmp(line, "description", 11) == 0;
}

/* Where the value of the key in a line ends: at the next line with a key. In a description, lines
 * between <example> and </example> do not count as such; if a tag is not closed before the end or
 * the next description, tags are ignored. */
static const char *
value_end(const char *line, const char *end, bool examples)
{
	const char *next = line;
	bool open = false;

	while (next < end && (next == line || key_of(next) == 0 || (open && !is_description(next)))) {
		const char *after = markdown_next_line(next);

		for (; examples && next < after; next++)
			open = (open || strncmp(next, "<example>", 9) == 0) &&
			    strncmp(next, "</example>", 10) != 0;
		next = after;
	}
	return open ? value_end(line, end, false) : next;
}

/* Whether the value of a key was meant as a text without quotes but YAML does not read it as one:
 * it contains ": ", or begins with a character that is not allowed there ("*" begins an alias only
 * if a name follows). A description is always a text; values of other keys that may be a number, a
 * list or true are left as they are, and so are block scalars. */
static bool
is_plain(const char *line, const char *value, const char *end)
{
	if (*value == '|' || *value == '>' || *value == '\n' || *value == '\0')
		return false;
	if (is_description(line) || *value == '@' || *value == '`' ||
	    (*value == '*' && !is_name_byte(value[1])))
		return true;
	if (strchr("[]{}\"'&*!%#-", *value) != NULL)
		return false;
	while (value < end && (*value != ':' || strchr(" \t\n", value[1]) == NULL))
		value++;
	return value < end;
}

/* Appends the front matter with such values in quotes. The number of lines stays the same. */
static void
quote_plain(const char *front, const char *end, struct buffer *out)
{
	while (front < end) {
		size_t key = key_of(front), breaks = 0;
		const char *value = front + key + 1;
		const char *next = key == 0 ? markdown_next_line(front) :
		    value_end(front, end, is_description(front));

		value += strspn(value, " \t");
		if (key == 0 || !is_plain(front, value, next)) {
			buffer_append(out, front, (size_t)(next - front));
			front = next;
			continue;
		}
		buffer_append(out, front, key + 1);
		buffer_text(out, " \"");
		for (const char *at = value; at < next; at++) {
			if (*at == '\n') {
				breaks++;
				buffer_byte(out, ' ');
			} else if (*at == '\t') {
				buffer_byte(out, ' ');
			} else {
				if (*at == '"' || *at == '\\')
					buffer_byte(out, '\\');
				buffer_byte(out, *at);
			}
		}
		while (out->len > 0 && out->data[out->len - 1] == ' ')
			out->len--;
		buffer_byte(out, '"');
		while (breaks-- > 0)
			buffer_byte(out, '\n');
		front = next;
	}
}

/* The first top-level line with no space after the colon of its key, which YAML reads as a text.
 * *number is its line number, where `line` is that of the first line; NULL: there is none. */
static const char *
unspaced_key(const char *front, const char *fence, int line, int *number)
{
	for (; front < fence; front = markdown_next_line(front), line++) {
		size_t len = 0;

		while (is_name_byte(front[len]))
			len++;
		if (len > 0 && front[len] == ':' && strchr(" \t\n:/", front[len + 1]) == NULL) {
			*number = line;
			return front;
		}
	}
	return NULL;
}

/* Sets the error for front matter that has no keys, or completes the one for invalid YAML. */
static int
refuse_front(const struct definition *d, const char *front, int line, const char *fence,
    struct error *err)
{
	int number = line;
	const char *key = unspaced_key(front, fence, line, &number);
	char *place = memory_format("%s:%d", d->path, number);

	if (key != NULL)
		error_set(err, ERROR_DEFINITION, place, "'%.*s': a space is missing behind the colon",
		    (int)strcspn(key, "\n"), key);
	else if (d->document != NULL)
		error_set(err, ERROR_DEFINITION, place, "the front matter has no keys: a line of it is "
		    "KEY: VALUE, such as 'model: sonnet'");
	free(place);
	return -1;
}

static json_t *
read_front(struct definition *d, const char *front, int line, const char *fence, struct error *err)
{
	struct error why = ERROR_INIT, again = ERROR_INIT;
	struct buffer quoted = BUFFER_INIT;
	json_t *document = yaml_parse(front, (size_t)(fence - front), d->path, line, &d->lines, &why);

	if (document == NULL) {
		json_decref(d->lines);
		d->lines = NULL;
		quote_plain(front, fence, &quoted);
		document = yaml_parse(buffer_string(&quoted), quoted.len, d->path, line, &d->lines, &again);
		buffer_free(&quoted);
	}
	if (document == NULL && err != NULL)
		*err = why;
	return document;
}

int
markdown_read(struct definition *d, const char *text, char **body, struct error *err)
{
	const char *first = text, *front, *fence;
	int line = 2;

	/* Skip empty lines before the front matter. */
	while (*first != '\0' && first[strspn(first, " \t")] == '\n') {
		first = markdown_next_line(first);
		line++;
	}
	front = fence = markdown_next_line(first);
	if (!is_fence(first)) {
		*body = markdown_trimmed(text, strlen(text));
		d->document = json_object();
		return 0;
	}
	while (*fence != '\0' && !is_fence(fence))
		fence = markdown_next_line(fence);
	if (*fence == '\0')
		return error_set(err, ERROR_DEFINITION, d->path,
		    "the front matter has no closing '---'");
	d->document = read_front(d, front, line, fence, err);
	if (json_is_null(d->document))
		d->document = json_object();
	if (!json_is_object(d->document))
		return refuse_front(d, front, line, fence, err);
	fence = markdown_next_line(fence);
	*body = markdown_trimmed(fence, strlen(fence));
	return 0;
}
