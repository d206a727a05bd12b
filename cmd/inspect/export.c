/*
 * Records, then snapshot, then files with the manifest that lists them. A map of what is
 * there already ends circles of runs, and keeps a file from being listed once for each step
 * that names it. If anything is missing or refused, the whole export is removed: half of one
 * would replay to something else.
 */
#include "inspect/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/copytree.h"
#include "base/file.h"
#include "base/installation.h"
#include "base/map.h"
#include "base/memory.h"
#include "inspect/recorded_file.h"
#include "json/writer.h"
#include "transcript/event_keys.h"

#define FILE_LIMIT ((size_t)256 << 20)
#define MANIFEST_FORMAT 1

struct exporting {
	const struct source *source;
	char *const *visible;      /* directories that the user has named */
	struct source *children;   /* and theirs, if they can be replayed by themselves */
	size_t child_count;
	struct map known;          /* ids of runs, and paths that the manifest lists */
	struct storage storage;    /* the export */
	bool snapshot;             /* it has one of the run's */
	struct buffer text;        /* of the manifest */
	struct writer manifest;
};

static bool
is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Copies a file, making the directories above its copy; what was copied already is
 * left as it is. */
static int
copy(const char *from, const char *to, struct error *err)
{
	char *parent = path_directory(to);
	int failed = directory_make(parent, 0755, err);

	free(parent);
	if (failed == 0 && !is_there(to))
		failed = copytree_file(from, to, err);
	return failed;
}

/* Takes both paths over. */
static int
copy_if_there(char *from, char *to, struct error *err)
{
	int failed = is_there(from) ? copy(from, to, err) : 0;

	free(from);
	free(to);
	return failed;
}

static int
copy_blobs(char *from, char *to, struct error *err)
{
	char *parent = path_directory(to);
	int failed = 0;

	if (is_there(from))
		failed = directory_make(parent, 0755, err) != 0 ||
		    copytree(from, to, NULL, err) != 0;
	free(parent);
	free(from);
	free(to);
	return failed ? -1 : 0;
}

static char *
unfinished(char *input)
{
	char *part = memory_format("%s.part", input);

	free(input);
	return part;
}

/* Whether it is so for the first time. */
static bool
is_new(struct exporting *x, const char *text)
{
	if (map_get(&x->known, text, strlen(text)) != NULL)
		return false;
	map_put(&x->known, text, strlen(text), 0);
	return true;
}

static int
copy_snapshot(const struct exporting *x, const char *from, const char *run_id, struct error *err)
{
	char *parent = path_join(x->storage.root, "snapshots"), *to = path_join(parent, run_id);
	int failed = directory_make(parent, 0755, err) != 0 ||
	    copytree(from, to, x->source->storage.root, err) != 0;

	free(parent);
	free(to);
	return failed ? -1 : 0;
}

/* Transcript, blobs and input of a run in the source's storage. */
static int
export_record(const struct exporting *x, const char *run_id, struct error *err)
{
	const struct storage *from = &x->source->storage, *to = &x->storage;

	if (from->root == NULL)
		return 0;
	if (copy_if_there(storage_transcript(from, run_id), storage_transcript(to, run_id), err) != 0 ||
	    copy_blobs(storage_blobs(from, run_id), storage_blobs(to, run_id), err) != 0 ||
	    copy_if_there(storage_input(from, run_id), storage_input(to, run_id), err) != 0)
		return -1;
	return copy_if_there(unfinished(storage_input(from, run_id)),
	    unfinished(storage_input(to, run_id)), err);
}

static int
export_own_snapshot(const struct exporting *x, const char *run_id, struct error *err)
{
	char *from = storage_snapshot(&x->source->storage, run_id);
	int failed = is_there(from) ? copy_snapshot(x, from, run_id, err) : 0;

	free(from);
	return failed;
}

/* A child's record is needed by its parent's replay in any case. */
static int
export_children(struct exporting *x, const struct source *parent, struct error *err)
{
	for (size_t i = 0; x->source->storage.root != NULL && i < parent->child_count; i++) {
		const char *run_id = parent->children[i];
		struct source child;

		if (!is_new(x, run_id))
			continue;
		if (export_record(x, run_id, err) != 0 || export_own_snapshot(x, run_id, err) != 0)
			return -1;
		if (source_open_child(&child, parent, run_id, NULL) != 0) {
			source_close(&child);
			continue;
		}
		x->children = memory_array(x->children, x->child_count + 1, sizeof *x->children);
		x->children[x->child_count++] = child;
		if (export_children(x, &child, err) != 0)
			return -1;
	}
	return 0;
}

/* A file by itself has only itself, and perhaps blobs beside it. */
static int
export_records(struct exporting *x, struct error *err)
{
	const struct source *s = x->source;

	if (copy_if_there(memory_text(s->transcript), storage_transcript(&x->storage, s->run_id),
	    err) != 0 || export_record(x, s->run_id, err) != 0)
		return -1;
	if (s->storage.root == NULL && copy_blobs(memory_text(s->blobs),
	    storage_blobs(&x->storage, s->run_id), err) != 0)
		return -1;
	if (is_new(x, s->run_id) && export_children(x, s, err) != 0)
		return -1;
	return storage_set_latest(&x->storage, s->run_id, err);
}

static int
export_snapshot(struct exporting *x, bool today, struct error *err)
{
	const struct source *s = x->source;
	const char *from = s->snapshot != NULL ? s->snapshot : today ? s->workspace : NULL;

	if (from == s->workspace && recorded_workspace_check(s, err) != 0)
		return -1;
	x->snapshot = from != NULL;
	return x->snapshot ? copy_snapshot(x, from, s->run_id, err) : 0;
}

static bool
below(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	return strncmp(path, directory, len) == 0 && path[len] == '/';
}

/* Where a file goes: the user's agents and tools are looked for in a configuration,
 * wherever that is. */
static char *
destination(const struct exporting *x, const char *path)
{
	char *own = path_config(""), *to;
	size_t len = own != NULL ? strlen(own) : 0;

	if (own != NULL && strncmp(path, own, len) == 0)
		to = memory_format("%s/" SOURCE_CONFIG "/awf/%s", x->storage.root, path + len);
	else
		to = memory_format("%s/" SOURCE_FILES "%s", x->storage.root, path);
	free(own);
	return to;
}

static int
list_file(struct exporting *x, const char *path, const char *copied, struct error *err)
{
	struct buffer bytes = BUFFER_INIT;
	char sha256[DIGEST_SIZE];
	int failed = file_load(copied, FILE_LIMIT, &bytes, err);

	if (failed == 0) {
		writer_object(&x->manifest);
		writer_member_string(&x->manifest, KEY_PATH, path);
		writer_member_string(&x->manifest, "file", copied + strlen(x->storage.root) + 1);
		writer_member_string(&x->manifest, KEY_SHA256,
		    digest_sha256(buffer_string(&bytes), bytes.len, sha256));
		writer_object_end(&x->manifest);
	}
	buffer_free(&bytes);
	return failed;
}

static bool
in_snapshot(const struct exporting *x, const struct source *s, const char *path)
{
	return below(path, s->workspace) && (s == x->source ? x->snapshot : s->snapshot != NULL);
}

/* From the recording, if it has it; else as it is today. */
static int
write_file(const struct source *s, const struct definition_file *file, const char *to,
    struct error *err)
{
	return file->kept && !is_there(to) ? source_restore(s, file, to, err) :
	    copy(file->path, to, err);
}

/* It was recorded. What a child was made of the run's own replay can do without. */
static int
export_file(struct exporting *x, const struct source *s, const struct definition_file *file,
    struct error *err)
{
	const char *path = file->path;
	char *to;
	int failed;

	if (below(path, installation_share()) || in_snapshot(x, s, path) ||
	    (s != x->source && !file->kept && !is_there(path)) || !is_new(x, path))
		return 0;
	if (!file->kept && !is_there(path))
		return error_set(err, ERROR_USAGE, path,
		    "a step of the run was made of this file, which is not there any more");
	if (!file->kept && recorded_file_check(s, x->visible, path, err) != 0)
		return -1;
	to = file->config != NULL ? memory_format("%s/" SOURCE_CONFIG "/awf/%s", x->storage.root,
	    file->config) : destination(x, path);
	failed = write_file(s, file, to, err) != 0 || list_file(x, path, to, err) != 0;
	free(to);
	return failed ? -1 : 0;
}

static int
export_files(struct exporting *x, const struct source *s, struct error *err)
{
	struct definition_file script = { .path = source_script(s) };
	int failed = 0;

	if (s->script == NULL && script.path != NULL)
		failed = export_file(x, s, &script, err);
	else if (s == x->source && source_script_lost(s))
		failed = error_set(err, ERROR_USAGE, s->name,
		    "the workflow's script is not what it was, or not there");
	for (size_t i = 0; failed == 0 && i < s->definitions.count; i++)
		failed = export_file(x, s, &s->definitions.list[i], err);
	free(script.path);
	return failed;
}

static int
write_manifest(const struct exporting *x, struct error *err)
{
	char *path = path_join(x->storage.root, SOURCE_MANIFEST);
	struct replacement file;
	int failed = replacement_open(&file, path, 0644, err);

	if (failed == 0 && file_write(file.fd, buffer_string(&x->text), x->text.len) != 0) {
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to write");
		replacement_abandon(&file);
	} else if (failed == 0) {
		failed = replacement_commit(&file, false, err);
	}
	free(path);
	return failed;
}

/* The files, and the list of them. */
static int
export_workflow(struct exporting *x, struct error *err)
{
	const struct source *s = x->source;
	struct writer *w = &x->manifest;
	char *directory = path_join(x->storage.root, SOURCE_WORKFLOW);
	int failed = directory_make(directory, 0755, err);

	free(directory);
	writer_begin(w, &x->text);
	writer_object(w);
	writer_member_integer(w, KEY_FORMAT, MANIFEST_FORMAT);
	writer_member_string(w, KEY_RUN_ID, s->run_id);
	writer_member_string(w, KEY_NAME, s->name);
	writer_member_string(w, KEY_WORKSPACE, s->workspace);
	writer_member_string(w, KEY_DIRECTORY, s->directory);
	writer_member_bool(w, KEY_SNAPSHOT, x->snapshot);
	writer_key(w, KEY_FILES);
	writer_array(w);
	if (failed == 0)
		failed = export_files(x, s, err);
	for (size_t i = 0; failed == 0 && i < x->child_count; i++)
		failed = export_files(x, &x->children[i], err);
	writer_array_end(w);
	writer_object_end(w);
	buffer_byte(&x->text, '\n');
	if (failed == 0)
		failed = write_manifest(x, err);
	buffer_free(&x->text);
	return failed;
}

/* An export of an export has its files: where they come from nobody need know. */
static int
pass_workflow(const struct exporting *x, struct error *err)
{
	char *from = path_join(x->source->storage.root, SOURCE_WORKFLOW);
	char *to = path_join(x->storage.root, SOURCE_WORKFLOW);
	int failed = copytree(from, to, NULL, err);

	free(from);
	free(to);
	return failed;
}

int
export_run(const struct source *s, const char *directory, bool today, char *const *visible,
    struct error *err)
{
	struct exporting x = { .source = s, .visible = visible };
	int failed;

	/* Only what is empty can be removed, so this never removes anything else. */
	if ((rmdir(directory) != 0 && errno != ENOENT) || mkdir(directory, 0755) != 0)
		return error_errno(err, ERROR_USAGE, directory, "unable to make this directory");
	x.storage.root = realpath(directory, NULL);
	if (x.storage.root == NULL)
		return error_errno(err, ERROR_SYSTEM, directory, "unable to find it");
	failed = export_records(&x, err) != 0 || export_snapshot(&x, today, err) != 0 ||
	    (s->files != NULL ? pass_workflow(&x, err) : export_workflow(&x, err)) != 0;
	if (failed)
		copytree_remove(x.storage.root, NULL);
	storage_close(&x.storage);
	for (size_t i = 0; i < x.child_count; i++)
		source_close(&x.children[i]);
	free(x.children);
	map_free(&x.known);
	return failed ? -1 : 0;
}
