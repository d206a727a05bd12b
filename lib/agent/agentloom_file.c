/*
 * The text is kept and looked into by spans. What kind of file it is shows in its first line:
 * an object that goes on, or has none of the members that single answers have.
 */
#include "agent/agentloom_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agentloom.h"
#include "base/file.h"
#include "base/memory.h"

/* Whether a file that begins with this line is a recording: an object that goes on, or
 * one that is no answer of another kind. */
static bool
begins(const char *line, size_t len)
{
	struct span first = span_trim(span_of(line, len));
	struct framer framer;
	size_t used, bad;

	framer_begin(&framer);
	if (first.len == 0 || first.at[0] != '{')
		return false;
	if (framer_feed(&framer, first.at, first.len, &used) == FRAME_MORE)
		return true;
	if (scan_within(first.at, first.len, SCAN_LINE_DEPTH, &bad) != NULL)
		return false;
	return span_member(first, "_version").at != NULL ||
	    (span_type(span_member(first, "blocks")) != 'a' &&
	    span_type(span_member(first, "type")) != 's' &&
	    span_type(span_member(first, "match")) != 's');
}

int
agentloom_file_is(const char *path, bool *is, struct error *err)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	ssize_t len;

	if (file == NULL)
		return error_errno(err, ERROR_INVALID, path, "unable to open");
	len = getline(&line, &size, file);
	*is = len > 0 && begins(line, (size_t)len);
	free(line);
	fclose(file);
	return 0;
}

static bool
is_metadata(struct span key)
{
	return key.len > 1 && key.at[1] == '_';
}

/* Refuses an entry, or what is in one; key is a token with its quotes or NULL. */
static int
refuse(const struct agentloom_file *f, struct span key, const char *why, struct error *err)
{
	char *name = span_text(key);

	error_set(err, ERROR_INVALID, f->path, "entry '%s': %s", name != NULL ? name : "", why);
	free(name);
	return -1;
}

static const char *
check_tool_calls(struct span calls)
{
	if (span_type(calls) == 0 || span_type(calls) == '0')
		return NULL;
	if (span_type(calls) != 'a')
		return "tool_calls: expected an array";
	for (struct span_walk call = span_walk(calls); span_next(&call);)
		if (span_type(span_member(call.value, "name")) != 's')
			return "tool_calls: expected objects with a name";
	return NULL;
}

static const char *
check_answer(struct span answer)
{
	char type = span_type(span_member(answer, "content"));

	if (span_type(answer) != 'o')
		return "expected an answer, or a list of them";
	if (type != 0 && type != '0' && type != 's')
		return "content: expected a string";
	return check_tool_calls(span_member(answer, "tool_calls"));
}

static const char *
check_entry(struct span value)
{
	const char *why = NULL;

	if (span_type(value) != 'a')
		return check_answer(value);
	for (struct span_walk answer = span_walk(value); why == NULL && span_next(&answer);)
		why = check_answer(answer.value);
	return why;
}

static int
check_version(struct agentloom_file *f, struct error *err)
{
	struct span version = span_member(f->document, "_version");
	long long number;

	f->old = version.at == NULL;
	if (f->old || (span_integer(version, &number) && number == AGENTLOOM_VERSION))
		return 0;
	return error_set(err, ERROR_INVALID, f->path, "_version is %.*s: only %d, and files without "
	    "one, can be replayed", version.len > 32 ? 32 : (int)version.len, version.at,
	    AGENTLOOM_VERSION);
}

static int
check_document(struct agentloom_file *f, struct error *err)
{
	const char *why;

	if (span_type(f->document) != 'o')
		return error_set(err, ERROR_INVALID, f->path, "expected an object");
	if (check_version(f, err) != 0)
		return -1;
	for (struct span_walk member = span_walk(f->document); span_next(&member);)
		if (!is_metadata(member.key) && (why = check_entry(member.value)) != NULL)
			return refuse(f, member.key, why, err);
	return 0;
}

static int
refuse_json(const struct agentloom_file *f, const char *why, size_t bad, struct error *err)
{
	const char *at = f->text.data, *line = at, *lf;
	size_t number = 1;
	char *place;

	for (; (lf = memchr(line, '\n', (size_t)(at + bad - line))) != NULL; line = lf + 1)
		number++;
	place = memory_format("%s:%zu", f->path, number);
	error_set(err, ERROR_INVALID, place, "byte %zu: %s", (size_t)(at + bad - line) + 1, why);
	free(place);
	return -1;
}

int
agentloom_file_parse(struct agentloom_file *f, const char *path, struct buffer *text,
    struct error *err)
{
	const char *wrong;
	size_t bad;

	*f = (struct agentloom_file){ .path = memory_text(path), .text = *text };
	*text = (struct buffer)BUFFER_INIT;
	wrong = scan_within(buffer_string(&f->text), f->text.len, SCAN_LINE_DEPTH, &bad);
	if (wrong != NULL)
		return refuse_json(f, wrong, bad, err);
	f->document = span_trim(span_of(f->text.data, f->text.len));
	return check_document(f, err);
}

int
agentloom_file_load(struct agentloom_file *f, const char *path, struct error *err)
{
	struct error why = ERROR_INIT;
	struct buffer text = BUFFER_INIT;

	if (file_load(path, SCAN_LINE_LIMIT, &text, &why) == 0)
		return agentloom_file_parse(f, path, &text, err);
	buffer_free(&text);
	*f = (struct agentloom_file){ .path = NULL };
	return error_set(err, ERROR_INVALID, path, "%s", why.message);
}

void
agentloom_file_free(struct agentloom_file *f)
{
	buffer_free(&f->text);
	free(f->path);
	*f = (struct agentloom_file){ .path = NULL };
}
