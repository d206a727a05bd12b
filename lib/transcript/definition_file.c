/*
 * An element of `files` may come from another program: its path is normalized, so that it cannot
 * lead outside the directory into which its bytes are copied, and without a valid digest its bytes
 * count as not kept. The files of a run are a list without an index, as there are few.
 */
#include "transcript/definition_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "io/file.h"
#include "transcript/blob.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

/* Removes "..", which may lead outside the target directory. */
static char *
plain_path(struct span value)
{
	char *text = span_text(value);
	char *path = text != NULL && *text == '/' ? path_normal(text) : NULL;

	free(text);
	return path;
}

/* Whether a path is absolute, without parts that are empty, "." or "..". */
static bool
is_plain(const char *path)
{
	char *normal = *path == '/' ? path_normal(path) : NULL;
	bool plain = normal != NULL && strcmp(normal, path) == 0;

	free(normal);
	return plain;
}

bool
definition_file_read(struct definition_file *f, struct span element)
{
	char *config, *rooted;

	memset(f, 0, sizeof *f);
	if (span_type(element) != 'o') {
		f->path = span_type(element) == 's' ? plain_path(element) : NULL;
		return f->path != NULL;
	}
	f->path = plain_path(span_member(element, KEY_PATH));
	if (f->path == NULL)
		return false;
	config = span_text(span_member(element, KEY_CONFIG));
	if (config != NULL && *config != '\0') {
		rooted = path_join("/", config);
		free(config);
		config = path_normal(rooted);
		free(rooted);
		memmove(config, config + 1, strlen(config));
	}
	f->config = config;
	if (span_copy(span_member(element, KEY_SHA256), f->sha256, sizeof f->sha256) &&
	    blob_name_valid(f->sha256))
		f->kept = span_member(element, KEY_KEPT).len != sizeof "false" - 1;
	else
		f->sha256[0] = '\0';
	f->executable = span_true(span_member(element, KEY_EXECUTABLE));
	f->program = span_true(span_member(element, KEY_PROGRAM));
	INVARIANT(is_plain(f->path));
	INVARIANT(f->config == NULL || *f->config != '/');
	return true;
}

void
definition_file_free(struct definition_file *f)
{
	free(f->path);
	free(f->config);
	memset(f, 0, sizeof *f);
}

bool
definition_file_is_at(const struct definition_file *f, const char *path)
{
	char sha256[DIGEST_SIZE];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	bool same;

	if (fd < 0)
		return false;
	same = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && digest_fd(fd, sha256) == 0 &&
	    strcmp(sha256, f->sha256) == 0;
	close(fd);
	return same;
}

static struct definition_file *
definition_files_find_path(const struct definition_files *files, const char *path)
{
	for (size_t i = 0; i < files->count; i++)
		if (strcmp(files->list[i].path, path) == 0)
			return &files->list[i];
	return NULL;
}

const struct definition_file *
definition_files_find(const struct definition_files *files, const char *path)
{
	return definition_files_find_path(files, path);
}

void
definition_files_put(struct definition_files *files, const struct definition_file *file)
{
	struct definition_file *known = definition_files_find_path(files, file->path);

	INVARIANT(is_plain(file->path));
	INVARIANT(!file->kept || blob_name_valid(file->sha256));
	if (known != NULL) {
		if (known->kept && strcmp(known->sha256, file->sha256) != 0) {
			files->replaced = memory_array(files->replaced, files->replaced_count + 1,
			    sizeof *files->replaced);
			files->replaced[files->replaced_count++] = *known;
		} else {
			definition_file_free(known);
		}
		*known = *file;
		return;
	}
	files->list = memory_array(files->list, files->count + 1, sizeof *files->list);
	files->list[files->count++] = *file;
	INVARIANT(definition_files_find_path(files, file->path) == &files->list[files->count - 1]);
}

/* Reads the elements one after another; false at the end. */
static bool
next_file(struct span_walk *walk, struct definition_file *file)
{
	while (span_next(walk))
		if (definition_file_read(file, walk->value))
			return true;
	return false;
}

static struct span_walk
walk_files(struct span payload)
{
	struct span files = span_member(payload, KEY_FILES);

	return span_walk(span_type(files) == 'a' ? files : SPAN_NONE);
}

void
definition_files_add(struct definition_files *files, struct span payload)
{
	struct definition_file file;

	for (struct span_walk walk = walk_files(payload); next_file(&walk, &file);)
		definition_files_put(files, &file);
}

void
definition_files_begin(struct definition_files *files, struct span payload)
{
	struct definition_file file;

	for (struct span_walk walk = walk_files(payload); next_file(&walk, &file);)
		if (definition_files_find_path(files, file.path) != NULL)
			definition_file_free(&file);
		else
			definition_files_put(files, &file);
}

void
definition_files_take(struct definition_files *files, const struct event_view *event)
{
	if (event->type == EVENT_RUN_STARTED || event_type_starts_call(event->type))
		definition_files_add(files, event->payload);
}

void
definition_files_free(struct definition_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		definition_file_free(&files->list[i]);
	for (size_t i = 0; i < files->replaced_count; i++)
		definition_file_free(&files->replaced[i]);
	free(files->list);
	free(files->replaced);
	*files = (struct definition_files)DEFINITION_FILES_INIT;
}
