/*
 * One pass over the transcript: a later run.started replaces earlier ones, and the files and
 * providers that steps name are collected. Recorded paths are normalized before they are used, so
 * that no ".." leads out of an export or a snapshot.
 */
#include "replay_run/source.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "history/recorded_providers.h"
#include "io/beneath.h"
#include "io/file.h"
#include "json/writer.h"
#include "model/model.h"
#include "rerun/found_run.h"
#include "storage/lineage.h"
#include "transcript/blob.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/reader.h"
#include "transcript/transcript.h"

#define SCRIPT_LIMIT ((size_t)16 << 20)

/* State of reading the transcript. */
struct gathering {
	struct source *source;
	struct definition_files latest; /* named by the current attempt so far */
	bool fed;                  /* a first step had an input */
	char stdin_sha256[DIGEST_SIZE];
};

static bool
is_file(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* Takes over the path; frees it and returns NULL if nothing is there. */
static char *
if_there(char *path, bool (*there)(const char *))
{
	if (there(path))
		return path;
	free(path);
	return NULL;
}

/* ---- what the transcript says ---- */

/* A recorded path, normalized; NULL if it is not absolute. */
static char *
recorded_path(struct span value)
{
	char *text = span_text(value);
	char *path = text != NULL && *text == '/' ? path_normal(text) : NULL;

	free(text);
	return path;
}

/* Puts the files of the current attempt before those of earlier ones. */
static void
settle_definitions(struct gathering *g)
{
	struct definition_files *all = &g->source->definitions;

	for (size_t i = 0; i < g->latest.count; i++)
		definition_files_put(all, &g->latest.list[i]);
	free(g->latest.list);
	g->latest = (struct definition_files)DEFINITION_FILES_INIT;
}

/* The name in an error message about an unknown provider: between quotes, which names cannot
 * contain. NULL: it is another message. To be freed by the caller. */
static char *
source_read_refused_provider(const char *message)
{
	const char *at = strstr(message, PROVIDER_REFUSED_BEGIN), *end;

	if (at == NULL)
		return NULL;
	at += sizeof PROVIDER_REFUSED_BEGIN - 1;
	end = strchr(at, '\'');
	return end == NULL ? NULL : memory_copy(at, (size_t)(end - at));
}

/* Takes over the name, which may be NULL or invalid. */
static void
add_provider(struct source *s, const char *mark, char *name)
{
	char *word = name != NULL && name_valid(name) ? memory_format("%s%s", mark, name) : NULL;

	if (word != NULL && !list_has(s->providers, word))
		list_take(&s->providers, word);
	else
		free(word);
	free(name);
}

/* A further attempt: it may have providers that the one before did not find. */
static int
source_read_run_started(struct gathering *g, const struct event_view *event, struct span line,
    struct error *err)
{
	struct source *s = g->source;
	struct event_view view;
	long long attempt;
	char **kept = s->providers;

	buffer_clear(&s->line);
	if (event->refs.at == NULL)
		buffer_append(&s->line, line.at, line.len);
	else if (blob_inline(s->blobs, line.at, line.len, &s->line, err) != 0)
		return -1;
	if (event_view(s->line.data, s->line.len, &view) != 0 ||
	    !span_integer(span_member(view.payload, KEY_ATTEMPT), &attempt) || attempt < 1 ||
	    attempt > INT_MAX || !span_copy(view.event_id, s->started, sizeof s->started) ||
	    !span_copy(view.run_id, s->run_id, sizeof s->run_id) || !id_valid(s->run_id, ID_SIZE - 1))
		return error_set(err, ERROR_SCHEMA, s->transcript, "its run.started is damaged: "
		    "see awf-verify");
	s->payload = view.payload;
	s->parent = view.parent_run_id;
	s->attempt = (int)attempt;
	settle_definitions(g);
	for (char **word = s->providers; word != NULL && *word != NULL; word++) {
		if (strncmp(*word, PROVIDER_UNKNOWN, sizeof PROVIDER_UNKNOWN - 1) == 0)
			free(*word);
		else
			*kept++ = *word;
	}
	if (kept != NULL)
		*kept = NULL;
	definition_files_begin(&g->latest, s->payload);
	s->completed[0] = '\0';
	s->status[0] = '\0';
	g->stdin_sha256[0] = '\0';
	return 0;
}

/* The digest of an endpoint; of its model, or that of the step. */
static void
add_endpoint(struct source *s, struct span endpoint, struct span model)
{
	char *provider = span_text(span_member(endpoint, KEY_NAME)), *name;
	char *own = span_text(span_member(endpoint, KEY_MODEL)), *other = span_text(model), sha256[65];

	if (provider != NULL && (own != NULL || other != NULL) &&
	    span_copy(span_member(endpoint, KEY_SHA256), sha256, sizeof sha256)) {
		name = memory_format("%s/%s", provider, own != NULL ? own : other);
		if (s->endpoints.len > 0)
			buffer_byte(&s->endpoints, ',');
		json_quote(&s->endpoints, name, strlen(name));
		buffer_format(&s->endpoints, ":\"%s\"", sha256);
		free(name);
	}
	free(provider);
	free(own);
	free(other);
}

static void
source_read_call(struct gathering *g, const struct event_view *event)
{
	struct source *s = g->source;
	struct span input = span_member(event->payload, KEY_INPUT);

	if (input.at != NULL && span_type(input) != '0' && span_is(event->parent_event_id, s->started))
		g->fed = true;
	definition_files_begin(&g->latest, event->payload);
	add_provider(s, "", span_text(span_member(event->payload, KEY_PROVIDER)));
	add_endpoint(s, span_member(event->payload, KEY_ENDPOINT), span_member(event->payload, KEY_MODEL));
	for (struct span_walk one = span_walk(span_member(event->payload, KEY_ENDPOINTS)); span_next(&one);)
		add_endpoint(s, one.value, span_member(event->payload, KEY_MODEL));
}

static int
refuse_damaged(const struct source *s, struct error *err)
{
	return error_set(err, ERROR_SCHEMA, s->transcript, "a line is no event: see awf-verify");
}

static int
source_read_event(void *context, const struct placed *placed, struct error *err)
{
	struct gathering *g = context;
	struct source *s = g->source;
	const struct event_view *event = placed->event;
	struct span error = span_member(event->payload, KEY_ERROR);

	if (placed->run->damaged > 0)
		return refuse_damaged(s, err);
	if (event->type == EVENT_RUN_STARTED)
		return source_read_run_started(g, event, placed->line, err);
	if (event_type_starts_call(event->type))
		source_read_call(g, event);
	child_runs_note(&s->children, event);
	if (event->type == EVENT_STEP_COMPLETED &&
	    span_is(span_member(error, KEY_CODE), error_name(ERROR_DEFINITION))) {
		char *message = span_text(span_member(error, KEY_MESSAGE));

		if (message != NULL)
			add_provider(s, PROVIDER_UNKNOWN, source_read_refused_provider(message));
		free(message);
	}
	if (event->type == EVENT_RUN_COMPLETED) {
		span_copy(event->event_id, s->completed, sizeof s->completed);
		span_copy(span_member(event->payload, KEY_STATUS), s->status, sizeof s->status);
		span_copy(span_path(event->payload, KEY_STDIN, KEY_SHA256, NULL), g->stdin_sha256,
		    sizeof g->stdin_sha256);
	}
	return 0;
}

static int
read_transcript(struct gathering *g, struct error *err)
{
	struct source *s = g->source;
	struct model model;
	int failed;

	model_begin(&model, MODEL_OPEN);
	model.watch = source_read_event;
	model.context = g;
	failed = model_read_file(&model, s->transcript, err);
	if (failed == 0 && model.damaged > 0)
		failed = refuse_damaged(s, err);
	model_free(&model);
	settle_definitions(g);
	if (failed == 0 && s->started[0] == '\0')
		return error_set(err, ERROR_SCHEMA, s->transcript, "it has no run.started");
	return failed;
}

/* ---- what of that is needed ---- */

static int
read_started(struct source *s, struct error *err)
{
	struct span files = span_member(s->payload, KEY_FILES);
	struct span argv = span_member(s->payload, KEY_ARGV);
	struct definition_file file;

	s->name = span_text(span_member(s->payload, KEY_NAME));
	if (s->name != NULL)
		text_line(s->name); /* it is printed in messages */
	s->kind = span_text(span_member(s->payload, KEY_KIND));
	s->workspace = recorded_path(span_member(s->payload, KEY_CWD));
	s->directory = recorded_path(span_member(s->payload, KEY_DIRECTORY));
	if (span_type(argv) == 'a')
		for (struct span_walk word = span_walk(argv); span_next(&word);)
			if (span_type(word.value) == 's')
				list_take(&s->argv, span_text(word.value));
	span_copy(span_member(s->payload, KEY_WORKFLOW_SHA256), s->workflow_sha256,
	    sizeof s->workflow_sha256);

	/* The script is the first file; others are programs in its command line. */
	s->contained = span_type(files) == 'a';
	if (s->contained && definition_file_read(&file, span_element(files, 0))) {
		if (file.kept && !file.program)
			s->script = memory_text(file.path);
		definition_file_free(&file);
	}
	if (s->name == NULL || s->kind == NULL || s->argv == NULL || s->workspace == NULL)
		return error_set(err, ERROR_SCHEMA, s->transcript,
		    "its run.started does not say what was run, and where");
	if (s->directory == NULL)
		s->directory = memory_text(s->workspace);
	return 0;
}

/* Where the snapshot of a run's workspace contains that of a child; NULL if it does not. */
static char *
source_part_of_snapshot(const struct source *s, const char *snapshot, const char *workspace)
{
	if (workspace == NULL || !path_within(s->workspace, workspace))
		return NULL;
	return if_there(memory_format("%s%s", snapshot, s->workspace + strlen(workspace)),
	    path_is_directory);
}

/* Reads where a run was started, and in which run. -1: it cannot be read. */
static int
source_read_beginning(const char *transcript, char **workspace, char parent[ID_SIZE])
{
	struct event_view event;
	struct reader reader;
	struct error ignored;
	const char *line;
	size_t len;
	int failed = -1;

	if (reader_open(&reader, transcript, &ignored) != 0)
		return -1;
	if (reader_next(&reader, &line, &len, &ignored) == 1 && event_view_whole(line, len, &event)) {
		*workspace = recorded_path(span_member(event.payload, KEY_CWD));
		event_copy_id(event.parent_run_id, parent);
		failed = 0;
	}
	reader_close(&reader);
	return failed;
}

/* A child run without its own snapshot uses that of the nearest outer run that has one, if it
 * contains the child's directory. */
static void
find_snapshot_around(struct source *s)
{
	char run_id[ID_SIZE];
	bool named = event_copy_id(s->parent, run_id);

	for (size_t depth = 0; named && s->snapshot == NULL && depth < LINEAGE_LIMIT; depth++) {
		char *transcript = storage_transcript(&s->storage, run_id);
		char *snapshot = storage_snapshot(&s->storage, run_id), *workspace = NULL;
		const bool kept = path_is_directory(snapshot);

		named = source_read_beginning(transcript, &workspace, run_id) == 0 && *run_id != '\0';
		if (kept) {
			s->snapshot = source_part_of_snapshot(s, snapshot, workspace);
			named = false;
		}
		free(workspace);
		free(snapshot);
		free(transcript);
	}
}

/* Finds the files beside the transcript. */
static void
find_parts(struct source *s)
{
	char *path;

	if (s->storage.root == NULL)
		return;
	s->input = if_there(storage_input(&s->storage, s->run_id), is_file);
	if (s->input == NULL) {
		path = storage_input(&s->storage, s->run_id);
		s->input = if_there(memory_format("%s.part", path), is_file);
		free(path);
	}
	s->snapshot = if_there(storage_snapshot(&s->storage, s->run_id), path_is_directory);
	if (s->snapshot == NULL && !span_true(span_member(s->payload, KEY_SNAPSHOT)))
		find_snapshot_around(s);
	path = path_join(s->storage.root, SOURCE_MANIFEST);
	if (is_file(path)) {
		s->files = path_join(s->storage.root, SOURCE_FILES);
		s->config = if_there(path_join(s->storage.root, SOURCE_CONFIG), path_is_directory);
		if (s->config != NULL && !beneath_there(s->storage.root, s->config)) {
			free(s->config);
			s->config = NULL;
		}
	}
	free(path);
}

static int
source_refuse_unsuitable_run(const struct source *s, const struct gathering *g, struct error *err)
{
	if (s->storage.root != NULL && storage_run_alive(&s->storage, s->run_id))
		return error_set(err, ERROR_USAGE, s->run_id, "the run is alive: wait for its end");
	if (span_true(span_member(s->payload, KEY_MASKED)))
		return error_set(err, ERROR_USAGE, s->run_id,
		    "the run was masked: what it was given and made is not all there");
	if (strcmp(s->kind, "step") == 0 && g->fed)
		return error_set(err, ERROR_USAGE, s->run_id, "the input of a step outside of any run "
		    "is not kept: run it with awf-run");
	if (span_true(span_member(s->payload, KEY_SNAPSHOT)) && s->snapshot == NULL)
		return error_set(err, ERROR_SYSTEM, s->run_id,
		    "the snapshot of its workspace (snapshots/%s in the storage that has made it) is not "
		    "here: 'awf-replay --export DIR' takes it along from there", s->run_id);
	if (g->stdin_sha256[0] != '\0' && s->input == NULL)
		return error_set(err, ERROR_SYSTEM, s->run_id,
		    "its standard input (inputs/%s in the storage) is missing", s->run_id);
	return 0;
}

int
source_open(struct source *s, const struct storage *storage, const char *argument,
    struct error *err)
{
	struct gathering g = { .source = s };
	struct stat own, given;
	struct found_run found;
	const char *base;
	char *directory;
	int failed;

	memset(s, 0, sizeof *s);
	failed = found_run_find(&found, storage, argument, err);
	s->storage = found.storage;
	s->transcript = found.transcript;
	if (failed != 0)
		return -1;
	s->own = s->storage.root != NULL && storage->root != NULL &&
	    stat(s->storage.root, &given) == 0 && stat(storage->root, &own) == 0 &&
	    given.st_dev == own.st_dev && given.st_ino == own.st_ino;

	/* In a storage the file is "<run-id>.jsonl"; the blobs are needed before the first line is
	 * read. A transcript outside of a storage may have its blobs in the same relative place. */
	base = path_base(s->transcript);
	if (strlen(base) >= ID_SIZE - 1 && id_valid(base, ID_SIZE - 1))
		memcpy(s->run_id, base, ID_SIZE - 1);
	directory = path_directory(s->transcript);
	s->blobs = s->storage.root != NULL ? storage_blobs(&s->storage, s->run_id) :
	    memory_format("%s/blobs", directory);
	free(directory);

	failed = read_transcript(&g, err) != 0 || read_started(s, err) != 0;
	definition_files_free(&g.latest);
	if (failed)
		return -1;
	find_parts(s);
	return source_refuse_unsuitable_run(s, &g, err);
}

int
source_open_child(struct source *s, const struct source *parent, const char *run_id,
    struct error *err)
{
	char *directory = path_directory(parent->transcript);
	char *path = memory_format("%s/%s.jsonl", directory, run_id);
	int failed;

	memset(s, 0, sizeof *s);
	if (transcript_begun(path))
		failed = source_open(s, &parent->storage, path, err);
	else
		failed = error_set(err, ERROR_USAGE, path, "its transcript is not there");
	s->own = parent->own;
	free(path);
	free(directory);
	return failed;
}

static bool
source_path_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

char *
source_exported(const struct source *s, const char *path)
{
	char *found = s->files != NULL && *path == '/' ? path_join(s->files, path + 1) : NULL;

	if (found != NULL && beneath_there(s->storage.root, found))
		return found;
	free(found);
	return NULL;
}

char *
source_file(const struct source *s, const char *path)
{
	size_t len = strlen(s->workspace);
	char *found = NULL;

	if (s->snapshot != NULL && strncmp(path, s->workspace, len) == 0 && path[len] == '/')
		found = if_there(path_join(s->snapshot, path + len + 1), source_path_exists);
	if (found == NULL)
		found = source_exported(s, path);
	return found != NULL ? found : memory_text(path);
}

void
source_forget_files(struct source *s)
{
	for (size_t i = 0; i < s->definitions.count; i++)
		s->definitions.list[i].kept = false;
	free(s->script);
	s->script = NULL;
	s->contained = false;
}

bool
source_file_differs(const struct source *s, const struct definition_file *file)
{
	char *path, *there;
	bool differs;

	if (!file->kept)
		return false;
	there = file->config != NULL && s->config != NULL ?
	    memory_format("%s/awf/%s", s->config, file->config) : source_file(s, file->path);
	path = path_join(s->blobs, file->sha256);
	differs = !definition_file_is_at(file, there) && definition_file_is_at(file, path);
	free(path);
	free(there);
	return differs;
}

int
source_restore(const struct source *s, const struct definition_file *file, const char *path,
    struct error *err)
{
	char *directory = path_directory(path);
	struct buffer bytes = BUFFER_INIT;
	struct replacement to;
	int failed = blob_read(s->blobs, file->sha256, &bytes, err) != 0 ||
	    directory_make(directory, 0755, err) != 0 ||
	    replacement_open(&to, path, file->executable ? 0755 : 0644, err) != 0;

	if (!failed && file_write(to.fd, buffer_string(&bytes), bytes.len) != 0) {
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to write");
		replacement_abandon(&to);
	} else if (!failed) {
		failed = replacement_commit(&to, false, err);
	}
	buffer_free(&bytes);
	free(directory);
	return failed ? -1 : 0;
}

static bool
is_digest_of(const char *sha256, const char *bytes, size_t len)
{
	char found[DIGEST_SIZE];

	return strcmp(digest_sha256(bytes, len, found), sha256) == 0;
}

char *
source_script(const struct source *s)
{
	if (s->script != NULL)
		return memory_text(s->script);
	for (char **word = s->argv; *s->workflow_sha256 != '\0' && *word != NULL; word++) {
		char *from = path_join(**word == '/' ? "" : s->workspace, *word);
		char *path = path_normal(from), *file = source_file(s, path);
		struct buffer bytes = BUFFER_INIT;
		bool same = is_file(file) && file_load(file, SCRIPT_LIMIT, &bytes, NULL) == 0 &&
		    is_digest_of(s->workflow_sha256, buffer_string(&bytes), bytes.len);

		buffer_free(&bytes);
		free(from);
		free(file);
		if (same)
			return path;
		free(path);
	}
	return NULL;
}

bool
source_script_lost(const struct source *s)
{
	char *script = source_script(s);
	bool lost = *s->workflow_sha256 != '\0' && script == NULL;

	/* The text of a pipeline is in the command line itself. */
	for (char **word = s->argv; lost && *word != NULL; word++)
		lost = !is_digest_of(s->workflow_sha256, *word, strlen(*word));
	free(script);
	return lost;
}

void
source_close(struct source *s)
{
	char *texts[] = { s->transcript, s->blobs, s->input, s->snapshot, s->files, s->config,
		s->name, s->kind, s->workspace, s->directory, s->script };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		free(texts[i]);
	definition_files_free(&s->definitions);
	child_runs_free(&s->children);
	list_free(s->argv);
	list_free(s->providers);
	buffer_free(&s->endpoints);
	buffer_free(&s->line);
	storage_close(&s->storage);
	memset(s, 0, sizeof *s);
}
