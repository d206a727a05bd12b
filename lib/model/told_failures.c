/*
 * A count is padded to the largest number of digits, so that it can be overwritten in place. When
 * the maximum number of kinds is reached, a last line without text counts all further kinds.
 */
#include "model/told_failures.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/folded_messages.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/lock.h"

#define COUNT_DIGITS 10
#define LOCK_MS 1000
#define FILE_MOST ((size_t)1 << 20)

/* One line of the file: a kind of failure, and its count. */
struct told {
	size_t count;
	const char *text; /* up to the LF */
	size_t len;
};

/* Reads the line at *at and moves *at behind it; false: there is no further complete line. */
static bool
told_failures_read_line(const char **at, struct told *told)
{
	const char *end = strchr(*at, '\n');

	if (end == NULL || end - *at < COUNT_DIGITS + 1)
		return false;
	told->count = strtoul(*at, NULL, 10);
	told->text = *at + COUNT_DIGITS + 1;
	told->len = (size_t)(end - told->text);
	*at = end + 1;
	return true;
}

static bool
is_of_kind(const struct told *told, const struct buffer *kind)
{
	char *text = memory_copy(told->text, told->len);
	struct buffer other = BUFFER_INIT;
	bool same;

	folded_kind(&other, text);
	same = buffer_equal(&other, buffer_string(kind));
	buffer_free(&other);
	free(text);
	return same;
}

/* Counts a failure in the open, locked file. Returns the new count; 0 on an error. */
static size_t
count_in(int fd, const char *text)
{
	struct buffer all = BUFFER_INIT, kind = BUFFER_INIT, line = BUFFER_INIT;
	struct told told = { 0, "", 0 };
	size_t kinds = 0;
	off_t offset = 0;
	const char *at;
	bool found = false;

	if (file_read(fd, &all, FILE_MOST) == -1) {
		buffer_free(&all);
		return 0;
	}
	folded_kind(&kind, text);
	for (at = buffer_string(&all); !found && told_failures_read_line(&at, &told); kinds++) {
		found = kinds == FOLDED_KINDS_MOST || is_of_kind(&told, &kind);
		if (!found)
			offset = at - all.data;
	}
	told.count = found ? told.count + 1 : 1;
	buffer_format(&line, "%0*zu %.*s\n", COUNT_DIGITS, told.count,
	    found ? (int)told.len : kinds == FOLDED_KINDS_MOST ? 0 : (int)strlen(text),
	    found ? told.text : text);
	if (pwrite(fd, line.data, line.len, offset) != (ssize_t)line.len)
		told.count = 0;
	else if (kinds > FOLDED_KINDS_MOST || (!found && kinds == FOLDED_KINDS_MOST))
		told.count = FOLDED_SHOWN + 1; /* failures of too many other kinds are not printed */
	buffer_free(&all);
	buffer_free(&kind);
	buffer_free(&line);
	return told.count;
}

bool
told_failures_add(const char *run_directory, const char *text)
{
	char *path = path_join(run_directory, "failures");
	int fd = file_open_plain(path, O_RDWR | O_CREAT, 0600);
	size_t count = 0;

	if (fd != -1 && lock_file_within(fd, LOCK_MS) == 0)
		count = count_in(fd, text);
	file_close(&fd);
	free(path);
	return count <= FOLDED_SHOWN;
}

void
told_failures_line(struct buffer *out, const char *text, size_t more)
{
	if (text != NULL)
		folded_count(out, text, more);
	else
		buffer_format(out, "%zu more failures of other kinds", more);
}

void
told_failures_read(const char *run_directory,
    void (*each)(void *context, const char *text, size_t more), void *context)
{
	char *path = path_join(run_directory, "failures");
	int fd = file_open_plain(path, O_RDONLY, 0);
	struct buffer all = BUFFER_INIT;
	struct told told;
	const char *at;

	if (fd != -1 && file_read(fd, &all, FILE_MOST) == -1)
		buffer_clear(&all);
	for (at = buffer_string(&all); told_failures_read_line(&at, &told);) {
		char *text = memory_copy(told.text, told.len);

		if (told.len == 0)
			each(context, NULL, told.count);
		else if (told.count > FOLDED_SHOWN)
			each(context, text, told.count - FOLDED_SHOWN);
		free(text);
	}
	file_close(&fd);
	buffer_free(&all);
	free(path);
}
