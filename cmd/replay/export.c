/*
 * Writes the records, then the snapshot, then files with the manifest that lists them. A map of
 * what was written prevents endless loops if runs name each other, and lists a file only once even
 * if several steps name it. If anything is missing or refused, the whole export is removed, because
 * the replay of an incomplete export would differ.
 */
#include "replay/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/memory.h"
#include "io/copytree.h"
#include "io/file.h"
#include "io/installation.h"
#include "json/writer.h"
#include "replay_run/recorded_file.h"

#define FILE_LIMIT ((size_t)256 << 20)
#define MANIFEST_FORMAT 1

struct exporting {
	const struct source *source;
	char *const *visible;      /* further directories, which the user has named with
	                              --visible */
	struct source *children;   /* the child runs that can be replayed by themselves */
	size_t child_count;
	struct map known;          /* ids of runs that were written, and paths that are in the
	                              manifest */
	struct storage storage;    /* the storage that is the export */
	bool snapshot;             /* the run has a snapshot */
	struct writer manifest;
};

static bool
export_path_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Copies a file or a tree if it exists, and makes the directories above its copy; does nothing if
 * it was copied before. Frees both paths. */
static int
copy_if_there(char *from, char *to, bool tree, struct error *err)
{
	char *parent = path_directory(to);
	int failed = 0;

	if (export_path_exists(from)) {
		failed = directory_make(parent, 0755, err);
		if (failed == 0 && tree)
			failed = copytree(from, to, NULL, err);
		else if (failed == 0 && !export_path_exists(to))
			failed = copytree_file(from, to, err);
	}
	free(parent);
	free(from);
	free(to);
	return failed;
}

/* Adds a name to the map; whether it is new. */
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

/* Copies transcript, blobs and input of a run in the source's storage; the input has another name
 * if the run has not read all of it. */
static int
export_record(const struct exporting *x, const char *run_id, struct error *err)
{
	const struct storage *from = &x->source->storage, *to = &x->storage;
	char *input, *copy;
	int failed;

	if (from->root == NULL)
		return 0;
	input = storage_input(from, run_id);
	copy = storage_input(to, run_id);
	failed = copy_if_there(storage_transcript(from, run_id), storage_transcript(to, run_id), false,
	        err) != 0 ||
	    copy_if_there(storage_blobs(from, run_id), storage_blobs(to, run_id), true, err) != 0 ||
	    copy_if_there(memory_text(input), memory_text(copy), false, err) != 0 ||
	    copy_if_there(memory_format("%s.part", input), memory_format("%s.part", copy), false,
	        err) != 0;
	free(input);
	free(copy);
	return failed ? -1 : 0;
}

/* Copies a child run: the replay of the parent needs its transcript. */
static int
export_children(struct exporting *x, const struct source *parent, struct error *err)
{
	for (size_t i = 0; x->source->storage.root != NULL && i < parent->children.count; i++) {
		const char *run_id = parent->children.ids[i];
		struct source child;
		char *snapshot;
		int failed;

		if (!is_new(x, run_id))
			continue;
		snapshot = storage_snapshot(&x->source->storage, run_id);
		failed = export_record(x, run_id, err) != 0 ||
		    (export_path_exists(snapshot) && copy_snapshot(x, snapshot, run_id, err) != 0);
		free(snapshot);
		if (failed)
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

/* Copies a recording that is a single file, and blobs if they are next to it. */
static int
export_records(struct exporting *x, bool today, struct error *err)
{
	const struct source *s = x->source;
	const char *snapshot = s->snapshot != NULL ? s->snapshot : today ? s->workspace : NULL;

	if (copy_if_there(memory_text(s->transcript), storage_transcript(&x->storage, s->run_id),
	    false, err) != 0 || export_record(x, s->run_id, err) != 0)
		return -1;
	if (s->storage.root == NULL && copy_if_there(memory_text(s->blobs),
	    storage_blobs(&x->storage, s->run_id), true, err) != 0)
		return -1;
	if (is_new(x, s->run_id) && export_children(x, s, err) != 0)
		return -1;
	if (storage_set_latest(&x->storage, s->run_id, err) != 0)
		return -1;
	if (snapshot == s->workspace && recorded_workspace_check(s, err) != 0)
		return -1;
	x->snapshot = snapshot != NULL;
	return x->snapshot ? copy_snapshot(x, snapshot, s->run_id, err) : 0;
}

static bool
export_path_is_below(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	return strncmp(path, directory, len) == 0 && path[len] == '/';
}

/* Where a file is put in the export: a file of the user's configuration is put into a configuration
 * directory. */
static char *
export_destination_path(const struct exporting *x, const struct definition_file *file)
{
	char *own = path_config("");
	const char *config = file->config;
	size_t len = own != NULL ? strlen(own) : 0;

	if (config == NULL && own != NULL && strncmp(file->path, own, len) == 0)
		config = file->path + len;
	free(own);
	return config != NULL ? memory_format("%s/" SOURCE_CONFIG "/awf/%s", x->storage.root, config) :
	    memory_format("%s/" SOURCE_FILES "%s", x->storage.root, file->path);
}

/* Copies a definition file of the run or of a child: as it was recorded, or else as it is today. If
 * one of a child is missing, that is no error, since the run's own replay does not need it. */
static int
export_file(struct exporting *x, const struct source *s, const struct definition_file *file,
    struct error *err)
{
	const char *path = file->path;
	bool there = export_path_exists(path);
	bool in_snapshot = export_path_is_below(path, s->workspace) &&
	    (s == x->source ? x->snapshot : s->snapshot != NULL);
	struct buffer bytes = BUFFER_INIT;
	char *to, sha256[DIGEST_SIZE];
	int failed;

	if (export_path_is_below(path, installation_share()) || in_snapshot ||
	    (s != x->source && !file->kept && !there) || !is_new(x, path))
		return 0;
	if (!file->kept && !there)
		return error_set(err, ERROR_USAGE, path,
		    "a step of the run was made of this file, which is not there any more");
	if (!file->kept && recorded_file_check(s, x->visible, path, err) != 0)
		return -1;
	to = export_destination_path(x, file);
	failed = file->kept && !export_path_exists(to) ? source_restore(s, file, to, err) :
	    copy_if_there(memory_text(path), memory_text(to), false, err);
	if (failed == 0)
		failed = file_load(to, FILE_LIMIT, &bytes, err);
	if (failed == 0) {
		writer_object(&x->manifest);
		writer_member_string(&x->manifest, "path", path);
		writer_member_string(&x->manifest, "file", to + strlen(x->storage.root) + 1);
		writer_member_string(&x->manifest, "sha256",
		    digest_sha256(buffer_string(&bytes), bytes.len, sha256));
		writer_object_end(&x->manifest);
	}
	buffer_free(&bytes);
	free(to);
	return failed;
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
		    "the workflow's script has changed or does not exist any more");
	for (size_t i = 0; failed == 0 && i < s->definitions.count; i++)
		failed = export_file(x, s, &s->definitions.list[i], err);
	free(script.path);
	return failed;
}

/* The files, and the manifest that lists them. */
static int
export_workflow(struct exporting *x, struct error *err)
{
	const struct source *s = x->source;
	struct writer *w = &x->manifest;
	char *directory = path_join(x->storage.root, SOURCE_WORKFLOW);
	char *path = path_join(x->storage.root, SOURCE_MANIFEST);
	struct buffer text = BUFFER_INIT;
	struct replacement file;
	int failed = directory_make(directory, 0755, err);

	writer_begin(w, &text);
	writer_object(w);
	writer_member_integer(w, "format", MANIFEST_FORMAT);
	writer_member_string(w, "run_id", s->run_id);
	writer_member_string(w, "name", s->name);
	writer_member_string(w, "workspace", s->workspace);
	writer_member_string(w, "directory", s->directory);
	writer_member_bool(w, "snapshot", x->snapshot);
	writer_member_array(w, "files");
	if (failed == 0)
		failed = export_files(x, s, err);
	for (size_t i = 0; failed == 0 && i < x->child_count; i++)
		failed = export_files(x, &x->children[i], err);
	writer_array_end(w);
	writer_object_end(w);
	buffer_byte(&text, '\n');

	if (failed == 0)
		failed = replacement_open(&file, path, 0644, err);
	if (failed == 0 && file_write(file.fd, buffer_string(&text), text.len) != 0) {
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to write");
		replacement_abandon(&file);
	} else if (failed == 0) {
		failed = replacement_commit(&file, false, err);
	}
	buffer_free(&text);
	free(path);
	free(directory);
	return failed;
}

int
export_run(const struct source *s, const char *directory, bool today, char *const *visible,
    struct error *err)
{
	struct exporting x = { .source = s, .visible = visible };
	int failed;

	/* rmdir() removes the directory only if it is empty, so nothing is lost. */
	if ((rmdir(directory) != 0 && errno != ENOENT) || mkdir(directory, 0755) != 0)
		return error_errno(err, ERROR_USAGE, directory, "unable to make this directory");
	x.storage.root = realpath(directory, NULL);
	if (x.storage.root == NULL)
		return error_errno(err, ERROR_SYSTEM, directory, "unable to find it");
	failed = export_records(&x, today, err);
	if (failed == 0 && s->files == NULL) {
		failed = export_workflow(&x, err);
	} else if (failed == 0) {
		/* If the recording is itself in an export, its files are taken from there; where
		 * they originally were does not matter. */
		char *from = path_join(s->storage.root, SOURCE_WORKFLOW);
		char *to = path_join(x.storage.root, SOURCE_WORKFLOW);

		failed = copytree(from, to, NULL, err);
		free(from);
		free(to);
	}
	if (failed != 0)
		copytree_remove(x.storage.root, NULL);
	storage_close(&x.storage);
	for (size_t i = 0; i < x.child_count; i++)
		source_close(&x.children[i]);
	free(x.children);
	map_free(&x.known);
	return failed != 0 ? -1 : 0;
}
