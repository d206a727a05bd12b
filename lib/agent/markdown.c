/*
 * Line ends become LF first, so that digests of texts and lines of messages are the same
 * whatever an editor wrote. The front matter is given to the YAML reader with the number of
 * its first line.
 */
#include "agent/markdown.h"

#include <stdbool.h>
#include <string.h>

#include "agent/yaml.h"
#include "base/memory.h"
#include "base/text.h"

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

	if (text->len >= 3 && memcmp(text->data, "\xef\xbb\xbf", 3) == 0)
		buffer_drop(text, 3);
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

/* Whether a line is "---", with nothing but blanks behind. */
static bool
is_fence(const char *line)
{
	return strncmp(line, "---", 3) == 0 && line[3 + strspn(line + 3, " \t")] ==
	    (strchr(line, '\n') == NULL ? '\0' : '\n');
}

/* The line after this one, or the end of the text. */
static const char *
next_line(const char *line)
{
	return line + strcspn(line, "\n") + (strchr(line, '\n') != NULL);
}

int
markdown_read(struct definition *d, const char *text, char **body, struct error *err)
{
	const char *front = next_line(text), *fence = front;

	if (!is_fence(text)) {
		*body = markdown_trimmed(text, strlen(text));
		d->document = json_object();
		return 0;
	}
	while (*fence != '\0' && !is_fence(fence))
		fence = next_line(fence);
	if (*fence == '\0')
		return error_set(err, ERROR_DEFINITION, d->path,
		    "the front matter has no closing '---'");
	d->document = yaml_parse(front, (size_t)(fence - front), d->path, 2, &d->lines, err);
	if (json_is_null(d->document))
		d->document = json_object();
	fence = next_line(fence);
	*body = markdown_trimmed(fence, strlen(fence));
	return d->document == NULL ? -1 : 0;
}
