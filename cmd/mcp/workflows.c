/*
 * Only the comments at the beginning of a file are read.
 */
#include "mcp/workflows.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "json/value.h"
#include "storage/origin.h"
#include "transcript/blob.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/reader.h"
#include "workspace/workflow_file.h"

#define FILE_LIMIT ((size_t)16 << 20)

/* The text after a key in a line; NULL: the line has another key, or none. */
static char *
workflows_header_value(const char *line, size_t len, const char *key)
{
	size_t at = strlen(key);

	if (len <= at || strncmp(line, key, at) != 0)
		return NULL;
	while (at < len && line[at] == ' ')
		at++;
	while (len > at && (line[len - 1] == ' ' || line[len - 1] == '\r'))
		len--;
	return memory_copy(line + at, len - at);
}

static int
read_header(struct workflow_entry *e, const char *text, struct error *err)
{
	json_t *document;

	for (const char *line = text; *line == '#'; line += *line == '\n') {
		size_t len = strcspn(line, "\n");

		if (e->description == NULL)
			e->description = workflows_header_value(line, len, "# awf: description:");
		if (e->input == NULL)
			e->input = workflows_header_value(line, len, "# awf: input:");
		line += len;
	}
	if (e->input == NULL)
		return 0;
	document = value_parse(e->input, strlen(e->input), e->path, ERROR_DEFINITION, err);
	if (document != NULL)
		e->schema = schema_compile(document, SCHEMA_TYPOS, e->path, err);
	if (document != NULL && e->schema != NULL && !json_is_object(document)) {
		error_set(err, ERROR_DEFINITION, e->path, "awf: input: is to be an object, a JSON Schema");
		json_decref(document);
		return -1;
	}
	json_decref(document);
	return e->schema != NULL ? 0 : -1;
}

static char *
tool_name(const char *file)
{
	char *name = memory_copy(file, strlen(file) - (text_ends(file, WORKFLOW_SUFFIX) ? strlen(WORKFLOW_SUFFIX) : 0));

	for (char *at = name; *at != '\0'; at++)
		if (!isalnum((unsigned char)*at) && *at != '_' && *at != '-')
			*at = '_';
	return name;
}

static int
workflows_compare_names(const void *a, const void *b)
{
	return strcmp(((const struct workflow_entry *)a)->name, ((const struct workflow_entry *)b)->name);
}

static void
free_entry(struct workflow_entry *e)
{
	free(e->name);
	free(e->tool);
	free(e->path);
	free(e->description);
	free(e->input);
	schema_free(e->schema);
}

static int
workflows_add_entry(struct workflows *w, const char *name, struct error *err)
{
	struct workflow_entry e = { .name = memory_text(name), .tool = tool_name(name),
		.path = path_join(w->directory, name) };
	struct buffer text = BUFFER_INIT;
	int failed = file_load(e.path, FILE_LIMIT, &text, err);

	if (failed == 0) {
		digest_sha256(text.data, text.len, e.sha256);
		failed = read_header(&e, buffer_string(&text), err);
	}
	buffer_free(&text);
	if (failed != 0) {
		free_entry(&e);
		return -1;
	}
	w->list = memory_array(w->list, w->count + 1, sizeof *w->list);
	w->list[w->count++] = e;
	return 0;
}

int
workflows_load(struct workflows *w, const char *directory, struct error *err)
{
	struct dirent *entry;
	struct stat st;
	DIR *files;
	int failed = 0;

	*w = (struct workflows){ .directory = realpath(directory, NULL) };
	files = w->directory != NULL ? opendir(w->directory) : NULL;
	if (files == NULL)
		return error_errno(err, ERROR_USAGE, directory, "unable to read the workflows");
	while (failed == 0 && (entry = readdir(files)) != NULL) {
		char *path = path_join(w->directory, entry->d_name);

		if (workflow_file_is(path) && stat(path, &st) == 0 && (uintmax_t)st.st_size > FILE_LIMIT)
			list_add(&w->too_large, entry->d_name);
		else if (workflow_file_is(path))
			failed = workflows_add_entry(w, entry->d_name, err);
		free(path);
	}
	closedir(files);
	if (w->count > 0)
		qsort(w->list, w->count, sizeof *w->list, workflows_compare_names);
	return failed;
}

void
workflows_free(struct workflows *w)
{
	for (size_t i = 0; i < w->count; i++)
		free_entry(&w->list[i]);
	free(w->list);
	list_free(w->too_large);
	free(w->directory);
	*w = (struct workflows){ .count = 0 };
}

const struct workflow_entry *
workflows_find(const struct workflows *w, const char *name, struct error *err)
{
	const char **names = memory_zero(w->count + 1, sizeof *names), *near;
	struct buffer all = BUFFER_INIT;
	const struct workflow_entry *found = NULL;

	for (size_t i = 0; i < w->count; i++) {
		names[i] = w->list[i].name;
		buffer_format(&all, "%s%s", i > 0 ? ", " : "", w->list[i].name);
		if (strcmp(w->list[i].name, name) == 0 || strcmp(w->list[i].tool, name) == 0)
			found = &w->list[i];
	}
	near = text_suggest(name, names);
	if (found == NULL && near != NULL)
		error_set(err, ERROR_USAGE, name, "no such workflow (did you mean '%s'?)", near);
	else if (found == NULL)
		error_set(err, ERROR_USAGE, name, "no such workflow; there are: %s",
		    w->count > 0 ? all.data : "none");
	buffer_free(&all);
	free(names);
	return found;
}

/* The script of a run: the one of its definition files with the workflow's digest. NULL: the run is
 * a pipeline, or a program. */
static char *
script_of(struct span payload)
{
	struct span sha256 = span_member(payload, KEY_WORKFLOW_SHA256), files = span_member(payload, KEY_FILES);
	char digest[DIGEST_SIZE];

	if (span_type(files) != 'a' || !span_copy(sha256, digest, sizeof digest))
		return NULL;
	for (struct span_walk file = span_walk(files); span_next(&file);)
		if (span_is(span_member(file.value, KEY_SHA256), digest))
			return span_text(span_member(file.value, KEY_PATH));
	return NULL;
}

const struct workflow_entry *
workflows_of_run(const struct workflows *w, const struct storage *s, const char *run_id, char **name,
    struct error *err)
{
	char *path = storage_transcript(s, run_id), *blobs = storage_blobs(s, run_id);
	const struct workflow_entry *found = NULL;
	struct buffer first = BUFFER_INIT;
	struct event_view event;
	struct reader reader;
	const char *line;
	size_t len;
	int got = origin_check_own(s, run_id, err);

	if (name != NULL)
		*name = NULL;
	if (got == 0 && (got = reader_open(&reader, path, err)) == 0) {
		got = reader_next(&reader, &line, &len, err) == 1 ?
		    blob_inline(blobs, line, len, &first, err) : -1;
		reader_close(&reader);
	}
	if (got == 0 && event_view(first.data, first.len, &event) == 0 && event.type == EVENT_RUN_STARTED) {
		char *script = script_of(event.payload);

		if (name != NULL)
			*name = span_text(span_member(event.payload, KEY_NAME));
		for (size_t i = 0; script != NULL && i < w->count; i++)
			if (span_is(span_member(event.payload, KEY_DIRECTORY), w->directory) &&
			    strcmp(path_base(script), w->list[i].name) == 0)
				found = &w->list[i];
		free(script);
	}
	if (found == NULL)
		error_set(err, ERROR_BLOCKED, run_id, "was not made by a workflow of %s: only runs of its "
		    "workflows can be led, inspected or resumed here", w->directory);
	buffer_free(&first);
	free(blobs);
	free(path);
	return found;
}

int
workflow_check(const struct workflow_entry *e, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	char sha256[DIGEST_SIZE];
	int failed = workflow_file_check(e->path, err);

	if (failed == 0)
		failed = file_load(e->path, FILE_LIMIT, &text, err);
	if (failed == 0 && strcmp(digest_sha256(text.data, text.len, sha256), e->sha256) != 0)
		failed = error_set(err, ERROR_BLOCKED, e->name, "has changed since awf-mcp was started, and is "
		    "not started, resumed or continued any more: an agent that is led must not change what "
		    "leads it; start awf-mcp again");
	buffer_free(&text);
	return failed;
}

int
workflow_check_input(const struct workflow_entry *e, struct span input, struct error *err)
{
	struct buffer why = BUFFER_INIT;
	int failed = 0;

	if (e->schema != NULL)
		failed = schema_check_bytes(e->schema, input.at != NULL ? input.at : "null",
		    input.at != NULL ? input.len : 4, &why);
	if (failed != 0)
		error_set(err, ERROR_INVALID_INPUT, e->name, "the input is not what it takes: %s",
		    buffer_string(&why));
	buffer_free(&why);
	return failed;
}
