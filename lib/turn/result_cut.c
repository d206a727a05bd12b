/* A text that cannot be kept is cut all the same: `read` says then that it is not there. */
#include "turn/result_cut.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/memory.h"
#include "base/text.h"
#include "definitions/tool.h"
#include "formats/content.h"
#include "io/file.h"
#include "io/replacement.h"

#define LINE_BYTES ((size_t)1900) /* of a broken line; `read` shows 2000 */
#define NAME_DIGITS 16

char *
result_directory(const char *run_directory)
{
	return memory_format("%s/results", run_directory);
}

bool
result_is_long(struct span output, size_t limit)
{
	struct buffer text = BUFFER_INIT;
	bool is_long = false;

	/* Decoded, a text is no longer than its token. */
	if (limit == 0 || output.len <= limit || content_is(output))
		return false;
	span_plain(output, &text);
	is_long = text.len > limit;
	buffer_free(&text);
	return is_long;
}

/* The text with its long lines broken, and the number of the line with the byte at. */
static size_t
break_lines(const struct buffer *text, size_t at, struct buffer *out)
{
	size_t line = 1, found = 1, from = 0;

	while (from < text->len) {
		const char *end = memchr(text->data + from, '\n', text->len - from);
		size_t len = end == NULL ? text->len - from : (size_t)(end - text->data) - from;
		const bool whole = len <= LINE_BYTES;

		if (!whole)
			len = utf8_whole(text->data + from, LINE_BYTES);
		if (len == 0 && !whole)
			len = LINE_BYTES; /* no UTF-8 */
		if (from <= at)
			found = line;
		buffer_append(out, text->data + from, len);
		buffer_byte(out, '\n');
		from += len + (whole ? 1 : 0);
		line++;
	}
	return found;
}

/* The name says what is in the file, so a file with a part of it must not get the name. */
static void
keep_result(const char *directory, const char *name, const struct buffer *lines)
{
	char *path = memory_format("%s/%s", directory, name);
	struct error ignored = ERROR_INIT;
	struct replacement file;

	if ((mkdir(directory, 0700) == 0 || errno == EEXIST) &&
	    faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0 &&
	    replacement_open(&file, path, 0600, &ignored) == 0) {
		if (file_write(file.fd, lines->data, lines->len) == 0)
			replacement_commit(&file, false, &ignored);
		else
			replacement_abandon(&file);
	}
	free(path);
}

void
result_cut(struct buffer *text, size_t limit, const char *call_id, const char *directory)
{
	char sha256[DIGEST_SIZE], *name;
	struct buffer lines = BUFFER_INIT, told = BUFFER_INIT;
	size_t len, line, whole = text->len;

	if (limit == 0 || text->len <= limit)
		return;
	len = utf8_whole(text->data, limit);
	buffer_format(&told, "%s\n", call_id);
	buffer_append(&told, text->data, text->len);
	digest_sha256(told.data, told.len, sha256);
	buffer_free(&told);
	name = memory_format(TOOL_RESULT_NAME "%.*s", NAME_DIGITS, sha256);
	line = break_lines(text, len, &lines);
	if (directory != NULL)
		keep_result(directory, name, &lines);
	text->len = len;
	buffer_format(text, "\n[These are the first %zu of %zu bytes. The tool read, if you have it, shows the "
	    "rest: file_path \"%s\", offset %zu]", len, whole, name, line);
	free(name);
	buffer_free(&lines);
}
