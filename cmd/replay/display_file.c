/*
 * Prints the bytes of a recorded file, or of the run's stdin or stdout. A file is named by its
 * path, or by the last parts of that.
 */
#include "replay/display.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "model/follow.h"
#include "model/model.h"
#include "transcript/blob.h"
#include "transcript/definition_file.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"

#define STDIN_LIMIT ((size_t)1 << 30)

struct recorded {
	char run_id[ID_SIZE];
	struct definition_files files;
	char input[DIGEST_SIZE], output[DIGEST_SIZE]; /* digests from the last attempt that has one;
	                                                 "" */
};

static int
display_file_collect_event(void *context, const struct placed *at, struct error *err)
{
	struct recorded *r = context;
	const struct event_view *event = at->event;

	(void)err;
	if (event->type == EVENT_RUN_STARTED || event_type_starts_call(event->type))
		definition_files_add(&r->files, event->payload);
	if (event->type == EVENT_RUN_STARTED)
		event_copy_id(event->run_id, r->run_id);
	if (event->type != EVENT_RUN_COMPLETED)
		return 0;
	span_copy(span_path(event->payload, KEY_STDIN, KEY_SHA256, NULL), r->input, sizeof r->input);
	span_copy(span_path(event->payload, KEY_STDOUT, KEY_SHA256, NULL), r->output, sizeof r->output);
	return 0;
}

/* Whether a name is the path, or the last parts of it. */
static bool
display_file_name_matches(const char *name, const char *path)
{
	size_t len = strlen(name), all = strlen(path);

	while (strncmp(name, "./", 2) == 0)
		name += 2, len -= 2;
	return len > 0 && len <= all && strcmp(path + all - len, name) == 0 &&
	    (len == all || path[all - len - 1] == '/');
}

static int
find_blob(const struct recorded *r, const char *name, const char **sha256, struct error *err)
{
	const struct definition_file *found = definition_files_find(&r->files, name), *named = NULL;
	struct buffer list = BUFFER_INIT;
	size_t count = 0;

	for (size_t i = 0; i < r->files.count; i++)
		if (display_file_name_matches(name, r->files.list[i].path)) {
			named = &r->files.list[i];
			count++;
		}
	if (found == NULL && count == 1)
		found = named;
	if (found == NULL) {
		/* List the files that match, or all recorded ones. */
		for (size_t i = 0; i < r->files.count; i++)
			if (count > 1 ? display_file_name_matches(name, r->files.list[i].path) :
			    r->files.list[i].kept)
				buffer_format(&list, "%s%s", list.len > 0 ? ", " : "", r->files.list[i].path);
		if (list.len == 0)
			error_set(err, ERROR_USAGE, name, "no file of this run, which keeps none");
		else
			error_set(err, ERROR_USAGE, name, "%s: %s", count > 1 ? "several files "
			    "have this name" :
			    "no file of this run; it has", list.data);
		buffer_free(&list);
		return -1;
	}
	if (!found->kept && found->sha256[0] == '\0')
		return error_set(err, ERROR_USAGE, found->path, "the recording does not have its bytes");
	if (!found->kept)
		return error_set(err, ERROR_USAGE, found->path, found->program ?
		    "the recording has its digest alone: a shell sources it, or it is large" :
		    found->executable ? "the recording has its digest alone: it is a large program" :
		    "the recording has its digest alone, as keys may stand in it; what its servers "
		    "offered: awf-tail --json --type message.user %.8s | jq .payload.mcp", r->run_id);
	*sha256 = found->sha256;
	return 0;
}

static int
read_bytes(const struct display *d, const struct recorded *r, struct buffer *bytes,
    struct error *err)
{
	bool is_stdin = strcmp(d->argument, "stdin") == 0;
	bool is_stdout = strcmp(d->argument, "stdout") == 0;
	const char *sha256 = is_stdin ? r->input : r->output;
	int failed = 0;

	if (!is_stdin && !is_stdout)
		failed = find_blob(r, d->argument, &sha256, err);
	else if (*sha256 == '\0')
		failed = error_set(err, ERROR_USAGE, d->argument, "the recording does not have it");
	if (failed == 0 && is_stdin) {
		char *directory = path_directory(d->run->path), *root = path_directory(directory);
		char *path = memory_format("%s/inputs/%s", root, r->run_id);
		int fd = file_open_plain(path, O_RDONLY, 0);

		if (fd < 0)
			failed = error_set(err, ERROR_USAGE, "stdin", "the recording does not have it");
		else if (file_read(fd, bytes, STDIN_LIMIT) != 0)
			failed = error_errno(err, ERROR_SYSTEM, path, "unable to read");
		file_close(&fd);
		free(path);
		free(root);
		free(directory);
	} else if (failed == 0) {
		char *blobs = transcript_blobs(d->run->path, r->run_id);

		failed = blob_read(blobs, sha256, bytes, err);
		free(blobs);
	}
	return failed;
}

/* On a terminal, the output must be lines of text. */
static void
make_visible(struct buffer *bytes)
{
	struct buffer shown = BUFFER_INIT;
	const char *at = buffer_string(bytes), *end = at + bytes->len;

	while (at < end) {
		size_t len = 0;

		while (at + len < end && at[len] != '\n' && at[len] != '\t')
			len++;
		text_visible(&shown, at, len, 0);
		if (at + len < end)
			buffer_byte(&shown, at[len]);
		at += len + 1;
	}
	buffer_free(bytes);
	*bytes = shown;
}

int
display_file(const struct display *d, struct error *err)
{
	struct recorded r = { .files = DEFINITION_FILES_INIT };
	struct buffer bytes = BUFFER_INIT;
	struct model model;
	int failed;

	model_begin(&model, MODEL_LIVE);
	model.watch = display_file_collect_event;
	model.context = &r;
	failed = model_read_file(&model, d->run->path, err);
	model_free(&model);
	if (failed == 0)
		failed = read_bytes(d, &r, &bytes, err);
	if (failed == 0 && d->screened)
		make_visible(&bytes);
	if (failed == 0)
		failed = outlet_event(d->out, buffer_string(&bytes), bytes.len, err);
	buffer_free(&bytes);
	definition_files_free(&r.files);
	return failed;
}
