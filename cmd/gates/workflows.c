/*
 * Comments are looked at until the first line that is none.
 */
#include "gates/workflows.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "json/value.h"

#define FILE_LIMIT ((size_t)16 << 20)
#define SUFFIX ".awf"

/* What stands behind a key in a line; NULL: it is not of that key. */
static char *
value_of(const char *line, size_t len, const char *key)
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
			e->description = value_of(line, len, "# awf: description:");
		if (e->input == NULL)
			e->input = value_of(line, len, "# awf: input:");
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
	char *name = memory_copy(file, strlen(file) - (text_ends(file, SUFFIX) ? strlen(SUFFIX) : 0));

	for (char *at = name; *at != '\0'; at++)
		if (!isalnum((unsigned char)*at) && *at != '_' && *at != '-')
			*at = '_';
	return name;
}

static bool
is_workflow(const char *path, const char *name)
{
	struct stat status;

	return *name != '.' && stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
	    (text_ends(name, SUFFIX) || access(path, X_OK) == 0);
}

static int
compare(const void *a, const void *b)
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
add(struct workflows *w, const char *name, struct error *err)
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
	DIR *files;
	int failed = 0;

	*w = (struct workflows){ .directory = realpath(directory, NULL) };
	files = w->directory != NULL ? opendir(w->directory) : NULL;
	if (files == NULL)
		return error_errno(err, ERROR_USAGE, directory, "unable to read the workflows");
	while (failed == 0 && (entry = readdir(files)) != NULL) {
		char *path = path_join(w->directory, entry->d_name);

		if (is_workflow(path, entry->d_name))
			failed = add(w, entry->d_name, err);
		free(path);
	}
	closedir(files);
	if (w->count > 0)
		qsort(w->list, w->count, sizeof *w->list, compare);
	return failed;
}

void
workflows_free(struct workflows *w)
{
	for (size_t i = 0; i < w->count; i++)
		free_entry(&w->list[i]);
	free(w->list);
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

int
workflow_check(const struct workflow_entry *e, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	char sha256[DIGEST_SIZE];
	int failed = file_load(e->path, FILE_LIMIT, &text, err);

	if (failed == 0 && strcmp(digest_sha256(text.data, text.len, sha256), e->sha256) != 0)
		failed = error_set(err, ERROR_BLOCKED, e->name, "has changed since awf-mcp was started, and is "
		    "not started any more: whoever is led must not change the way; start awf-mcp again");
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
