/*
 * The normalized form of a value, in which parts that differ between attempts without any
 * significance are replaced by placeholders: values of the attempt's start, under the same name or
 * in PATH, HOME and TMPDIR; the workspace; random parts of new paths. They are searched for
 * wherever a path or a word may begin.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "storage/call_marks_parts.h"
#include "system/file_status.h"

#define RANDOM_LEAST 6       /* of mktemp(1) */
#define SEPARATORS ":;, \t\n=\"'"

static bool
marks_is_separator(char c)
{
	return c == '\0' || strchr(SEPARATORS, c) != NULL;
}

/* Where a path occurs in a text, from `from` on, as a whole or as the beginning of a longer path;
 * NULL: nowhere. */
static const char *
find_path(const char *from, const char *text, const char *path)
{
	size_t len = strlen(path);

	for (const char *at = from; (at = strstr(at, path)) != NULL; at++)
		if ((at == text || marks_is_separator(at[-1])) &&
		    (marks_is_separator(at[len]) || at[len] == '/'))
			return at;
	return NULL;
}

/* How often the text changes between lower case, upper case and digits; random text does so
 * often. */
static size_t
turns_of(const char *text, size_t len)
{
	size_t turns = 0;
	int before = 0;

	for (size_t i = 0; i < len; i++) {
		int now = text[i] >= 'a' && text[i] <= 'z' ? 1 : text[i] >= 'A' && text[i] <= 'Z' ? 2 : 3;

		turns += before != 0 && now != before;
		before = now;
	}
	return turns;
}

/* Whether this is the random part of a name that mktemp(1) or a similar library made. */
static bool
find_random(const char *name, size_t len, size_t *from, size_t *count)
{
	static const char drawn[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

	for (size_t at = 0; at < len;) {
		size_t run = strspn(name + at, drawn), turns;

		if (at + run > len)
			run = len - at;
		turns = turns_of(name + at, run);
		if (run >= RANDOM_LEAST && (turns >= 2 ||
		    (turns >= 1 && at > 0 && name[at - 1] == '.' && (run == 6 || run == 10)) ||
		    (at == 4 && run == 10 && strncmp(name, "tmp.", 4) == 0) ||
		    (run == 11 && strncmp(name + at, "tmp", 3) == 0))) {
			*from = at;
			*count = run;
			return true;
		}
		at += run + 1;
	}
	return false;
}

/* Whether the path was made since the attempt began, for its owner only. */
static bool
is_new(const struct attempt_start *s, const char *path, size_t len)
{
	char *copy = memory_copy(path, len);
	struct file_status status;
	bool found = file_status_read(AT_FDCWD, copy, false, &status) == 0;
	const struct timespec *made = found && status.born ? &status.birth : &status.changed;

	free(copy);
	return found && (status.mode & 077) == 0 && status.owner == geteuid() &&
	    (made->tv_sec > s->written.tv_sec ||
	    (made->tv_sec == s->written.tv_sec && made->tv_nsec >= s->written.tv_nsec));
}

/* Leaves out the random parts of a new path, and of everything below it; and the directory that
 * contains it, which TMPDIR may have chosen. */
bool
marks_form_path(const struct attempt_start *s, const char *path, size_t len, struct buffer *out)
{
	bool new_path = false;
	size_t done = 0;

	for (size_t at = 1, name; at < len; at += name + 1) {
		size_t from, count;

		name = 0;
		while (at + name < len && path[at + name] != '/')
			name++;
		if (!find_random(path + at, name, &from, &count) ||
		    (!new_path && !is_new(s, path, at + name)))
			continue;
		if (!new_path)
			done = at;
		new_path = true;
		buffer_append(out, path + done, at + from - done);
		buffer_byte(out, '*');
		done = at + from + count;
	}
	buffer_append(out, path + done, len - done);
	return new_path;
}

/* Where a text contains a value of the attempt's start, as a word or as the beginning of a path;
 * NULL: nowhere. */
static const char *
find_started_with(const struct attempt_start *s, const struct start_entry *entry, const char *text)
{
	size_t len = strlen(text), part = entry != NULL ? entry->value_len : 0;

	for (size_t at = 0; part > 0 && at + part <= len; at++)
		if ((at == 0 || marks_is_separator(text[at - 1])) &&
		    (marks_is_separator(text[at + part]) || text[at + part] == '/') &&
		    attempt_start_had(s, entry, text + at, part))
			return text + at;
	return NULL;
}

/* Appends a value; in it, the value that the variable had at the attempt's start, and the separator
 * next to that, are left out. */
static void
add_without_start(const struct attempt_start *s, const struct start_entry *entry, const char *value,
    struct buffer *out)
{
	const char *found = find_started_with(s, entry, value), *end;
	size_t len = strlen(value);

	if (found != NULL) {
		end = found + entry->value_len;
		buffer_append(out, value,
		    (size_t)(found - value) - (found > value && found[-1] == ':' ? 1 : 0));
		buffer_text(out, found == value && *end == ':' ? end + 1 : end);
		return;
	}
	if (entry == NULL || entry->value_len == 0) {
		/* x:$NAME with an empty NAME leaves a separator. */
		while (*value == ':')
			value++;
		for (len = strlen(value); len > 0 && value[len - 1] == ':';)
			len--;
	}
	buffer_append(out, value, len);
}

/* Replaces values that other variables had at the attempt's start by placeholders. */
static void
mark_started_with(const struct attempt_start *s, const char *name, char mark, struct buffer *text)
{
	const struct start_entry *entry = attempt_start_find(s, name, strlen(name));
	struct buffer out = BUFFER_INIT;
	const char *at = buffer_string(text), *found;

	while ((found = find_started_with(s, entry, at)) != NULL) {
		buffer_append(&out, at, (size_t)(found - at));
		buffer_byte(&out, mark);
		at = found + entry->value_len;
	}
	buffer_text(&out, at);
	buffer_free(text);
	*text = out;
}

bool
marks_form(const struct attempt_start *s, const struct start_entry *entry, const char *value,
    struct buffer *out)
{
	const char *workspace = s->workspace, *found, *at;
	struct buffer first = BUFFER_INIT, second = BUFFER_INIT;
	bool new_path = false;

	/* Paths are searched for at the beginnings of words. */
	for (at = value; *at != '\0';) {
		size_t len = strcspn(at, SEPARATORS);

		if (*at == '/' && find_path(at, at, workspace) != at)
			new_path |= marks_form_path(s, at, len, &first);
		else
			buffer_append(&first, at, len);
		at += len;
		if (*at != '\0')
			buffer_byte(&first, *at++);
	}
	add_without_start(s, entry, buffer_string(&first), &second);
	mark_started_with(s, "PATH", '\2', &second);
	at = buffer_string(&second);
	while (workspace[1] != '\0' &&
	    (found = find_path(at, buffer_string(&second), workspace)) != NULL) {
		buffer_append(out, at, (size_t)(found - at));
		buffer_byte(out, '\1');
		at = found + strlen(workspace);
	}
	buffer_text(out, at);
	mark_started_with(s, "HOME", '\3', out);
	mark_started_with(s, "TMPDIR", '\4', out);
	buffer_free(&first);
	buffer_free(&second);
	return new_path;
}
