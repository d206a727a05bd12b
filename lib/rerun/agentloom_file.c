/*
 * The text is kept in memory and read by spans. The kind of file is recognized by its first line:
 * it is a JSON object that does not end in that line, or that has none of the members of a single
 * recorded answer.
 */
#include "rerun/agentloom_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "io/file.h"
#include "rerun/agentloom.h"
#include "transcript/event_keys.h"

int
agentloom_file_is(const char *path, bool *is, struct error *err)
{
	FILE *file = fopen(path, "re");
	struct framer framer;
	struct span first;
	char *line = NULL;
	size_t size = 0, used, bad;
	ssize_t len;

	if (file == NULL)
		return error_errno(err, ERROR_INVALID, path, "unable to open");
	len = getline(&line, &size, file);
	fclose(file);
	first = span_trim(span_of(line, len > 0 ? (size_t)len : 0));
	framer_begin(&framer);
	*is = false;
	if (first.len > 0 && first.at[0] == '{') {
		/* An incomplete object, or one that is not an answer of another format. */
		if (framer_feed(&framer, first.at, first.len, &used) == FRAME_MORE)
			*is = true;
		else if (scan_within(first.at, first.len, SCAN_LINE_DEPTH, &bad) == NULL)
			*is = span_member(first, "_version").at != NULL ||
			    (span_type(span_member(first, KEY_BLOCKS)) != 'a' &&
			    span_type(span_member(first, KEY_TYPE)) != 's' &&
			    span_type(span_member(first, "match")) != 's');
	}
	free(line);
	return 0;
}

/* Why an answer is invalid; NULL: it is valid. */
static const char *
check_answer(struct span answer)
{
	struct span calls = span_member(answer, "tool_calls");
	char content = span_type(span_member(answer, "content"));

	if (span_type(answer) != 'o')
		return "expected an answer, or a list of them";
	if (content != 0 && content != '0' && content != 's')
		return "content: expected a string";
	if (span_type(calls) == 0 || span_type(calls) == '0')
		return NULL;
	if (span_type(calls) != 'a')
		return "tool_calls: expected an array";
	for (struct span_walk call = span_walk(calls); span_next(&call);)
		if (span_type(span_member(call.value, "name")) != 's')
			return "tool_calls: expected objects with a name";
	return NULL;
}

/* Checks the version, and the answers of all entries. */
static int
check_document(struct agentloom_file *f, struct error *err)
{
	struct span version = span_member(f->document, "_version");
	long long number;

	if (span_type(f->document) != 'o')
		return error_set(err, ERROR_INVALID, f->path, "expected an object");
	f->old = version.at == NULL;
	if (!f->old && (!span_integer(version, &number) || number != AGENTLOOM_VERSION))
		return error_set(err, ERROR_INVALID, f->path, "_version is %.*s: only %d, and files "
		    "without one, can be replayed", version.len > 32 ? 32 : (int)version.len, version.at,
		    AGENTLOOM_VERSION);
	for (struct span_walk entry = span_walk(f->document); span_next(&entry);) {
		const char *why = NULL;
		char *name;

		if (entry.key.len > 1 && entry.key.at[1] == '_')
			continue;
		if (span_type(entry.value) != 'a')
			why = check_answer(entry.value);
		for (struct span_walk answer = span_walk(entry.value);
		    span_type(entry.value) == 'a' && why == NULL && span_next(&answer);)
			why = check_answer(answer.value);
		if (why == NULL)
			continue;
		name = span_text(entry.key);
		error_set(err, ERROR_INVALID, f->path, "entry '%s': %s", name != NULL ? name : "", why);
		free(name);
		return -1;
	}
	return 0;
}

int
agentloom_file_parse(struct agentloom_file *f, const char *path, struct buffer *text,
    struct error *err)
{
	const char *wrong, *line, *lf;
	size_t bad, number = 1;
	char *place;

	*f = (struct agentloom_file){ .path = memory_text(path), .text = *text };
	*text = (struct buffer)BUFFER_INIT;
	wrong = scan_within(buffer_string(&f->text), f->text.len, SCAN_LINE_DEPTH, &bad);
	if (wrong == NULL) {
		f->document = span_trim(span_of(f->text.data, f->text.len));
		return check_document(f, err);
	}
	for (line = f->text.data;
	    (lf = memchr(line, '\n', (size_t)(f->text.data + bad - line))) != NULL; line = lf + 1)
		number++;
	place = memory_format("%s:%zu", f->path, number);
	error_set(err, ERROR_INVALID, place, "byte %zu: %s",
	    (size_t)(f->text.data + bad - line) + 1, wrong);
	free(place);
	return -1;
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
