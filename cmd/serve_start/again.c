/* How a run was started stands in its first line. */
#include "serve_start/again.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/list.h"
#include "base/memory.h"
#include "io/file.h"
#include "json/scan.h"
#include "model/waiting.h"
#include "proc/environment.h"
#include "storage/origin.h"
#include "transcript/blob.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/reader.h"
#include "workspace/workflow_file.h"

#define PART ".part"            /* behind the name of an input that was not read to its end */
#define SHELL "/bin/sh"
#define SCRIPT_WORDS 3          /* a script is one of so many: it may have an interpreter, and that an argument */

const char *const again_words[AGAIN_WHATS + 1] = { "resume", "fork", "again", NULL };

/* ---- how it was started ---- */

static char *
again_text(struct span payload, const char *key)
{
	return span_text(span_member(payload, key));
}

/* A pipeline is known by its digest; a script, by the directory that it stands in. */
static void
again_find_workflow(struct again *a, struct span payload)
{
	char recorded[DIGEST_SIZE], digest[DIGEST_SIZE];
	const size_t count = list_count(a->argv);

	if (!span_copy(span_member(payload, KEY_WORKFLOW_SHA256), recorded, sizeof recorded))
		return;
	a->pipeline = count > 3 && strcmp(a->argv[1], "-c") == 0 &&
	    strcmp(digest_sha256(a->argv[2], strlen(a->argv[2]), digest), recorded) == 0;
	for (size_t i = 1; !a->pipeline && a->script == 0 && i < SCRIPT_WORDS && i < count; i++) {
		char *path = path_join(*a->argv[i] == '/' || a->cwd == NULL ? "" : a->cwd, a->argv[i]);

		if (access(path, F_OK) == 0)
			a->script = i;
		free(path);
	}
}

static void
again_find_input(struct again *a, const struct storage *s)
{
	char *path = storage_input(s, a->run_id), *part = memory_format("%s" PART, path);

	if (access(path, F_OK) == 0) {
		a->input = path;
		path = NULL;
	} else if (access(part, F_OK) == 0) {
		a->input = part;
		a->part = true;
		part = NULL;
	}
	free(part);
	free(path);
}

static void
again_read_start(struct again *a, struct span payload)
{
	a->name = again_text(payload, KEY_NAME);
	a->kind = again_text(payload, KEY_KIND);
	a->cwd = again_text(payload, KEY_CWD);
	a->directory = again_text(payload, KEY_DIRECTORY);
	a->no_input = span_true(span_member(payload, KEY_NO_INPUT));
	a->masked = span_member(payload, KEY_MASKED).at != NULL;
	for (struct span_walk word = span_walk(span_member(payload, KEY_ARGV)); span_next(&word);) {
		char *text = span_text(word.value);

		list_take(&a->argv, text != NULL ? text : memory_text(""));
	}
	for (struct span_walk input = span_walk(span_member(payload, KEY_INPUTS)); span_next(&input);) {
		char *key = span_text(input.key), *value = span_text(input.value);

		if (key != NULL && value != NULL)
			list_take(&a->inputs, memory_format("%s=%s", key, value));
		free(value);
		free(key);
	}
	again_find_workflow(a, payload);
}

int
again_read(struct again *a, const struct storage *s, const char *run_id, struct error *err)
{
	char *path = storage_transcript(s, run_id), *blobs = storage_blobs(s, run_id);
	struct buffer whole = BUFFER_INIT;
	struct event_view event;
	struct reader reader;
	const char *line;
	size_t len;
	int got = reader_open(&reader, path, err), failed = -1;

	*a = (struct again){ .name = NULL };
	memcpy(a->run_id, run_id, ID_SIZE);
	if (got == 0) {
		got = reader_next(&reader, &line, &len, err);
		if (got == 1 && blob_inline(blobs, line, len, &whole, err) == 0) {
			if (event_view(whole.data, whole.len, &event) == 0)
				again_read_start(a, event.payload);
			failed = 0;
		} else if (got == 0) {
			error_set(err, ERROR_SYSTEM, path, "has no whole line");
		}
		reader_close(&reader);
	}
	again_find_input(a, s);
	a->origin = origin_name(s, run_id);
	buffer_free(&whole);
	free(blobs);
	free(path);
	return failed;
}

void
again_free(struct again *a)
{
	free(a->name);
	free(a->kind);
	free(a->cwd);
	free(a->directory);
	free(a->input);
	free(a->origin);
	list_free(a->argv);
	list_free(a->inputs);
}

/* ---- the command ---- */

const char *
again_impossible(const struct again *a, const struct again_choice *c)
{
	if (a->masked)
		return "its record is masked: what it was started with is not known";
	if (a->argv == NULL || a->cwd == NULL || a->name == NULL)
		return "its record does not tell how it was started";
	if (c->pipeline != NULL && !a->pipeline)
		return "it is of no pipeline (awf-run -c) whose text could be edited";
	return NULL;
}

static const char *
again_value_of(char *const *inputs, const char *input)
{
	const size_t len = (size_t)(strchr(input, '=') - input) + 1;

	for (; inputs != NULL && *inputs != NULL; inputs++)
		if (strncmp(*inputs, input, len) == 0)
			return *inputs;
	return NULL;
}

/* Inputs that are given, and with all also those of the run that they do not replace. */
static void
again_add_inputs(const struct again *a, const struct again_choice *c, bool all, char ***words)
{
	for (char *const *input = a->inputs; all && input != NULL && *input != NULL; input++)
		if (again_value_of(c->inputs, *input) == NULL) {
			list_add(words, "--input");
			list_add(words, *input);
		}
	for (char *const *input = c->inputs; input != NULL && *input != NULL; input++) {
		list_add(words, "--input");
		list_add(words, *input);
	}
}

/* The words behind the options: what the run is of. */
static void
again_add_workflow(const struct again *a, const struct again_choice *c, char ***words)
{
	char **rest = a->argv;

	if (a->pipeline) {
		rest += 4;
		if (strcmp(a->argv[0], SHELL) != 0) {
			list_add(words, "--shell");
			list_add(words, a->argv[0]);
		}
		list_add(words, "-c");
		list_add(words, c->pipeline != NULL ? c->pipeline : a->argv[2]);
	} else {
		rest += a->script;
	}
	if (*rest != NULL)
		list_add(words, "--");
	for (; *rest != NULL; rest++)
		list_add(words, *rest);
}

/* Those in the first line of the workflow's file, which apply when it is started by hand. */
static void
again_add_file_options(const struct again *a, char ***words)
{
	struct environment environment;
	struct error ignored;
	char *path;

	if (a->script == 0)
		return;
	path = path_join(*a->argv[a->script] == '/' ? "" : a->cwd, a->argv[a->script]);
	workflow_file_environment(&environment);
	workflow_file_options(path, words, &environment, &ignored);
	environment_free(&environment);
	free(path);
}

static char **
again_command_words(const struct again *a, const struct again_choice *c)
{
	char **words = NULL;

	if (c->what == AGAIN_NEW && a->kind != NULL && strcmp(a->kind, "step") == 0)
		return list_copy(a->argv);
	list_add(&words, "awf-run");
	if (c->unattended) {
		list_add(&words, "--wait=" ATTENDED_USUALLY);
		if (c->what != AGAIN_RESUME)
			list_add(&words, "--auto-resume");
	}
	if (c->what != AGAIN_NEW) {
		list_add(&words, c->what == AGAIN_RESUME ? "--resume" : "--fork");
		list_add(&words, a->run_id);
	}
	if (c->at != NULL) {
		list_add(&words, "--at");
		list_add(&words, c->at);
	}
	if (c->what == AGAIN_NEW || c->pipeline != NULL) {
		list_add(&words, "--name");
		list_add(&words, a->name);
		if (a->no_input)
			list_add(&words, "-n");
		again_add_inputs(a, c, true, &words);
		again_add_file_options(a, &words);
		again_add_workflow(a, c, &words);
	} else if (c->what == AGAIN_FORK) {
		again_add_inputs(a, c, false, &words);
	}
	return words;
}

/* A word as sh reads it. */
static void
again_quote(const char *word, struct buffer *out)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+:,./-=";
	/* Of another word, what stands before = would be the name of a variable. */
	const bool assigns = *word != '-' && strchr(word, '=') != NULL;

	if (*word != '\0' && word[strspn(word, plain)] == '\0' && !assigns) {
		buffer_text(out, word);
		return;
	}
	buffer_byte(out, '\'');
	for (; *word != '\0'; word++)
		if (*word == '\'')
			buffer_text(out, "'\\''");
		else
			buffer_byte(out, *word);
	buffer_byte(out, '\'');
}

void
again_write_command(const struct again *a, const struct again_choice *c, const struct storage *s,
    struct buffer *out)
{
	char **words = again_command_words(a, c);
	const bool moves = c->what == AGAIN_NEW || c->pipeline != NULL;
	const char *own = getenv("AWF_STORAGE");

	if (moves) {
		buffer_text(out, "cd ");
		again_quote(a->cwd, out);
		buffer_text(out, " && ");
	}
	if (own != NULL && *own != '\0') {
		buffer_text(out, "AWF_STORAGE=");
		again_quote(s->root, out);
		buffer_byte(out, ' ');
	}
	for (char **word = words; *word != NULL; word++) {
		if (word > words)
			buffer_byte(out, ' ');
		again_quote(*word, out);
	}
	if (c->what == AGAIN_NEW && !a->no_input && a->input != NULL) {
		buffer_text(out, " <");
		again_quote(a->input, out);
	}
	list_free(words);
}

/* ---- starting it ---- */

char *
again_file(const struct again *a, const char *directory)
{
	char there[PATH_MAX], here[PATH_MAX], *path;
	const char *file;
	bool is;

	if (directory == NULL || a->origin != NULL || a->script == 0 || a->directory == NULL ||
	    list_count(a->argv) != a->script + 1 || realpath(a->directory, there) == NULL ||
	    realpath(directory, here) == NULL || strcmp(there, here) != 0)
		return NULL;
	file = path_base(a->argv[a->script]);
	path = path_join(directory, file);
	is = workflow_file_is(path);
	free(path);
	return is ? memory_text(file) : NULL;
}

enum started
again_start(const struct again *a, const struct again_choice *c, const struct start_spec *spec, struct error *err)
{
	struct start_spec made = *spec;
	char **options = NULL, **inputs = list_copy(c->inputs);
	enum started found = START_FAILED;
	int fd = -1;

	/* Its file is named by the caller's directory, not by the record. */
	if (c->what != AGAIN_NEW) {
		list_add(&options, c->what == AGAIN_RESUME ? "--resume" : "--fork");
		list_add(&options, a->run_id);
	}
	if (c->at != NULL) {
		list_add(&options, "--at");
		list_add(&options, c->at);
	}
	for (char *const *input = a->inputs; c->what == AGAIN_NEW && input != NULL && *input != NULL; input++)
		if (again_value_of(c->inputs, *input) == NULL)
			list_add(&inputs, *input);
	if (c->what == AGAIN_NEW && a->name != NULL) {
		list_add(&options, "--name");
		list_add(&options, a->name);
	}
	made.options = options;
	made.inputs = inputs;
	made.resumes = c->what == AGAIN_RESUME;
	made.forks = c->what == AGAIN_FORK;
	if (c->what == AGAIN_NEW && !a->no_input && a->input != NULL &&
	    (fd = file_open_plain(a->input, O_RDONLY, 0)) == -1) {
		error_errno(err, ERROR_SYSTEM, a->input, "unable to open its input");
	} else {
		made.input = fd;
		found = start_workflow(&made, err);
	}
	file_close(&fd);
	list_free(inputs);
	list_free(options);
	return found;
}
