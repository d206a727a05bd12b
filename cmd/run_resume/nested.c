/*
 * A child is looked up in its parent's history as a step is, but with a fixed text as its input:
 * the real input may not have arrived yet, and is compared only if the choice depends on it. How
 * the recorded call ended, and whether its transcript exists, then decide what is done.
 */
#include "run_resume/nested.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "io/file.h"
#include "run_resume/same_input.h"
#include "storage/storage.h"
#include "transcript/call.h"
#include "transcript/event_keys.h"
#include "transcript/reader.h"

#define DECIDED_FILE "decided"
#define REDO_CHANGED "redo-changed"
#define DECIDED_LIMIT ((size_t)1 << 20)

/* Lines of DECIDED_FILE, such as: redo brief:0:0/send:0:0 */
enum { ANSWER_REDO, ANSWER_SKIP, ANSWER_NEW, ANSWERS };
static const char *const words[ANSWERS] = { "redo ", "skip ", "new " };

const char *
nested_path_inside(const char *path, const char *call, const char *names, const char *call_path)
{
	const char *rest = path_inside(path, call, call_path), *line;
	size_t len;

	while (rest == NULL && (line = text_part(&names, '\n', &len)) != NULL) {
		char *name = memory_copy(line, len);

		if (len > 0)
			rest = path_inside(path, name, call_path);
		free(name);
	}
	return rest;
}

static char **
paths_inside(char *const *paths, const char *call, const char *names, const char *path)
{
	char **inside = NULL;

	for (; paths != NULL && *paths != NULL; paths++) {
		const char *rest = nested_path_inside(*paths, call, names, path);

		if (rest != NULL)
			list_add(&inside, rest);
	}
	return inside;
}

struct nested_answers
nested_answers_inside(const struct history_answers *around, const char *call, const char *names,
    const char *path)
{
	return (struct nested_answers){ .redo = paths_inside(around->redo, call, names, path),
		.skip = paths_inside(around->skip, call, names, path),
		.new_steps = paths_inside(around->new_steps, call, names, path),
		.redo_changed = around->redo_changed };
}

struct history_answers
nested_answers_of(const struct nested_answers *answers)
{
	return (struct history_answers){ .redo = answers->redo, .skip = answers->skip,
		.new_steps = answers->new_steps, .redo_changed = answers->redo_changed };
}

void
nested_answers_free(struct nested_answers *answers)
{
	list_free(answers->redo);
	list_free(answers->skip);
	list_free(answers->new_steps);
	*answers = (struct nested_answers){ .redo = NULL };
}

int
nested_decide(const char *run_directory, const struct history_answers *answers, struct error *err)
{
	char *const *const lists[ANSWERS] = { [ANSWER_REDO] = answers->redo,
		[ANSWER_SKIP] = answers->skip, [ANSWER_NEW] = answers->new_steps };
	struct buffer text = BUFFER_INIT;
	char *path = path_join(run_directory, DECIDED_FILE);
	int fd = -1, failed = 0;

	for (int i = 0; i < ANSWERS; i++)
		for (char *const *at = lists[i]; at != NULL && *at != NULL; at++)
			buffer_format(&text, "%s%s\n", words[i], *at);
	if (answers->redo_changed)
		buffer_text(&text, REDO_CHANGED "\n");
	if (text.len > 0)
		fd = file_open_plain(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (text.len > 0 && (fd < 0 || file_write(fd, text.data, text.len) != 0))
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to write");
	if (fd >= 0)
		close(fd);
	buffer_free(&text);
	free(path);
	return failed;
}

/* Reads the user's decisions about the recorded call, which may have had another occurrence. */
static int
find_decisions(struct nested *n, const struct child *c, struct error *err)
{
	const char *names, *call = history_call_label(n->history, &n->recalled, &names);
	char *path = path_join(c->parent.directory, DECIDED_FILE);
	char **lists[ANSWERS] = { NULL };
	struct history_answers around = { .redo_changed = false };
	struct buffer text = BUFFER_INIT;
	int fd = file_open_plain(path, O_RDONLY, 0), failed = 0;

	if (fd < 0 && errno != ENOENT)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to open");
	if (fd >= 0 && file_read(fd, &text, DECIDED_LIMIT) != 0)
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to read");
	if (failed == 0) {
		for (char *line = text.len > 0 ? text.data : NULL, *end;
		    line != NULL && (end = strchr(line, '\n')) != NULL; line = end + 1) {
			*end = '\0';
			around.redo_changed |= strcmp(line, REDO_CHANGED) == 0;
			for (int i = 0; i < ANSWERS; i++)
				if (strncmp(line, words[i], strlen(words[i])) == 0)
					list_add(&lists[i], line + strlen(words[i]));
		}
		around.redo = lists[ANSWER_REDO];
		around.skip = lists[ANSWER_SKIP];
		around.new_steps = lists[ANSWER_NEW];
		n->answers = nested_answers_inside(&around, call, names, c->path);
	}
	if (fd >= 0)
		close(fd);
	buffer_free(&text);
	for (int i = 0; i < ANSWERS; i++)
		list_free(lists[i]);
	free(path);
	return failed;
}

static void
nested_reuse_result(struct nested *n)
{
	const struct recalled_event *end = recalled_result(&n->recalled);
	struct span result = span_member(end->view.payload, KEY_RESULT);

	n->way = NESTED_REUSE;
	buffer_append(&n->result.json, result.at, result.len);
	n->result.base64 = recalled_binary(end, "/" KEY_PAYLOAD "/" KEY_RESULT);
	n->result.no_newline = span_true(span_member(end->view.payload, KEY_NO_NEWLINE));
	n->reused_from = (struct child_recorded){ n->recalled.run_id, end->id };
}

/* Whether the recorded call succeeded, is unchanged, and its stdout is recorded in the parent. */
static bool
result_stands(const struct nested *n)
{
	const struct recalled *r = &n->recalled;

	return !r->changed && r->end == RECALL_SUCCEEDED &&
	    span_member(recalled_result(r)->view.payload, KEY_RESULT).at != NULL;
}

/* Without its transcript (not kept, or removed) nobody knows what it did. */
static int
refuse_missing(struct nested *n, const struct child *c, struct error *err)
{
	const char *call = history_call_label(n->history, &n->recalled, NULL);
	const char *prefix = history_prefix(n->history);
	char *other;

	memcpy(n->recalled.compared, n->recalled.root, ID_SIZE);
	/* With the words and the input of the record it cannot be another one. */
	other = n->recalled.changed || n->recalled.fit <= 0 ? memory_format(", or, if it is another one, with --new %s%s",
	    history_steps(n->history), c->path) : memory_text("");
	error_set(err, ERROR_WAITING, c->call, "the record of this child run, %s, is gone (--no-transcript?), "
	    "and it may have changed something: to run it once more, resume with --redo %s%s, to take it as done, "
	    "with --skip %s%s%s", n->run_id, prefix, call, prefix, call, other);
	free(other);
	return -1;
}

/* The user says that it is done: with what it wrote, if its parent has recorded that. Its input is noted, so that it
 * is known again. */
static int
nested_take_as_done(struct nested *n, const struct child *c, int *input, struct error *err)
{
	if (input_digest(c->parent.directory, input, &n->given, err) != 0)
		return -1;
	if (n->recalled.end == RECALL_SUCCEEDED &&
	    span_member(recalled_result(&n->recalled)->view.payload, KEY_RESULT).at != NULL) {
		nested_reuse_result(n);
		return 0;
	}
	n->way = NESTED_REUSE;
	data_from_text(&n->result, "", 0);
	return 0;
}

/* A child run that has not ended well continues, unless the user wants another in its place. */
static int
nested_refuse_skip(const struct nested *n, struct error *err)
{
	const char *call = history_call_label(n->history, &n->recalled, NULL);
	const char *prefix = history_prefix(n->history);

	return error_set(err, ERROR_WAITING, call, "is a child run that has not ended well, and goes on: it is "
	    "not to be skipped whole; skip a call in it, or resume with --redo %s%s for another run in its "
	    "place", prefix, call);
}

/* What is recorded of the input of a child: the call that took it over may have had another one. */
static struct span
recorded_input(const struct recalled *r)
{
	struct span given = r->completed.line.len > 0 ? span_member(r->completed.view.payload, KEY_STDIN) : SPAN_NONE;

	return given.at != NULL ? given : span_member(recalled_result(r)->view.payload, KEY_STDIN);
}

/* Decides what a resumed run or a fork does with a recorded child. */
static int
nested_choose_way(struct nested *n, const struct child *c, int *input, struct error *err)
{
	const struct recalled *r = &n->recalled;
	const struct recalled_event *end = recalled_result(r);
	char *path = storage_transcript(&c->parent.storage, n->run_id);
	bool there = transcript_begun(path), same = false;

	free(path);
	if (r->beside)
		return nested_take_as_done(n, c, input, err);
	/* Its parent died before it was made, or it could not be, or it waited before it had changed
	 * anything: of others that ended the call's end names that of the run. Of one without a
	 * transcript that did not end nothing tells whether it came to be. */
	if (!there && ((r->end == RECALL_OPEN &&
	    !span_true(span_member(r->started.view.payload, KEY_NO_TRANSCRIPT))) ||
	    ((r->end == RECALL_FAILED || r->end == RECALL_WAITING) && end->view.links.at == NULL)))
		return 0;
	if (!there && result_stands(n)) {
		if (same_input(&c->parent.storage, n->run_id, c->parent.directory,
		    recorded_input(r), input, &same, err) != 0)
			return -1;
		if (same) {
			nested_reuse_result(n);
			return 0;
		}
	}
	if (!there && r->decided == RECALL_SKIP)
		return nested_take_as_done(n, c, input, err);
	if (!there && r->decided == RECALL_REDO)
		return 0;
	if (!there)
		return refuse_missing(n, c, err);
	/* If it took over one of other words, that answers the question about those once more. */
	if (r->decided == RECALL_SKIP && r->end != RECALL_SUCCEEDED && !r->changed && !r->lent && !r->edited)
		return nested_refuse_skip(n, err);
	if (r->run_id[0] != '\0') {
		n->way = NESTED_FORK;
		return 0;
	}
	n->way = NESTED_AGAIN;
	if (span_true(span_member(r->started.view.payload, KEY_DETACHED))) {
		/* A detached child only has to exist. */
		n->way = NESTED_REUSE;
		data_from_text(&n->result, n->run_id, strlen(n->run_id));
		n->result.no_newline = false;
	} else if (result_stands(n)) {
		if (same_input(&c->parent.storage, n->run_id, c->parent.directory,
		    recorded_input(r), input, &same, err) != 0)
			return -1;
		if (same)
			nested_reuse_result(n);
	}
	return 0;
}

static struct input_digests
read_digests(struct span given)
{
	struct input_digests digests = { .bytes = 0 };
	long long bytes = 0;

	span_copy(span_member(given, KEY_SHA256), digests.sha256, sizeof digests.sha256);
	span_copy(span_member(given, KEY_DATA_SHA256), digests.data_sha256, sizeof digests.data_sha256);
	span_integer(span_member(given, KEY_BYTES), &bytes);
	digests.bytes = bytes;
	return digests;
}

/* In a replay: uses the recorded end if the input is the same. */
static int
nested_replay_result(struct nested *n, struct child *c, int *input, struct error *err)
{
	const struct recalled *r = &n->recalled;
	const struct recalled_event *end = recalled_result(r);
	struct span payload = end->view.payload, given = span_member(payload, KEY_STDIN);
	struct span link = span_element(r->completed.view.links, 0);
	struct storage source;
	long long number = 0;
	char *path;
	bool same = true;
	int failed = 0;

	if (r->end == RECALL_OPEN)
		return error_set(err, ERROR_DIVERGENCE, c->call,
		    "the recording ends in the middle of this child run");
	free(c->call);
	c->call = span_text(span_member(r->started.view.payload, KEY_CALL));
	memcpy(c->next_started, r->started.id, ID_SIZE);
	memcpy(c->next_completed, r->completed.id, ID_SIZE);

	/* If the recorded input is incomplete, it is unknown how much the child read. */
	source = (struct storage){ .root = run_source(&c->parent) };
	path = source.root != NULL ? storage_input(&source, n->run_id) : NULL;
	if (given.at != NULL && path != NULL && access(path, F_OK) == 0)
		failed = same_input(&source, n->run_id, c->parent.directory, given, input, &same, err);
	if (failed == 0 && !same)
		failed = error_set(err, ERROR_DIVERGENCE, c->call,
		    "the child run is not given what it was given when it was recorded");
	free(path);
	storage_close(&source);
	if (failed != 0)
		return -1;

	if (span_member(payload, KEY_RESULT).at != NULL) {
		nested_reuse_result(n);
		n->end.result = &n->result;
	}
	recalled_error(end, &n->error);
	n->end.error = &n->error;
	n->end.exit_code = -1;
	if (span_integer(span_member(payload, KEY_EXIT_CODE), &number))
		n->end.exit_code = (int)number;
	if (span_copy(span_member(payload, KEY_COMPARED_WITH), n->compared_with, sizeof n->compared_with))
		n->end.compared_with = n->compared_with;
	if (span_copy(span_member(link, KEY_EVENT_ID), n->completed, sizeof n->completed))
		n->end.completed = n->completed;
	n->given = read_digests(given);
	n->given_early = read_digests(span_member(r->started.view.payload, KEY_STDIN));
	n->end.stdin_sha256 = n->given.sha256[0] != '\0' ? n->given.sha256 : NULL;
	n->end.stdin_data_sha256 = n->given.data_sha256[0] != '\0' ? n->given.data_sha256 : NULL;
	n->end.stdin_bytes = n->given.bytes;
	number = 0;
	span_integer(span_member(payload, KEY_STDOUT_BYTES), &number);
	n->end.stdout_bytes = number;
	n->way = NESTED_REPLAY;
	return 0;
}

struct fitting {
	const struct child *child;
	int input;
	bool waited;             /* waiting for input was in vain; do not wait again for
	                            another record */
};

static int
compare_input(void *context, const char *child_run_id, struct span given)
{
	struct fitting *f = context;
	const enum input_fit fit = input_compare_begin(&f->child->parent.storage, child_run_id,
	    f->child->parent.directory, given, f->input, f->waited ? 1 : INPUT_BEGIN_MS);

	f->waited |= fit == INPUT_UNKNOWN;
	return (int)fit;
}

/* Whether a child has an input that is read: a terminal is not compared, nor is another device. */
static bool
is_given(int input)
{
	struct stat status;

	return input >= 0 && fstat(input, &status) == 0 &&
	    (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || S_ISREG(status.st_mode));
}

int
nested_find(struct nested *n, struct child *c, int *input, struct error *err)
{
	const struct span null = span_of(CHILD_INPUT, sizeof CHILD_INPUT - 1);
	char sha256[DIGEST_SIZE];
	struct fitting fitting = { c, *input, false };
	const struct recall_query query = {
		.fits = compare_input,
		.fits_context = &fitting,
		.marks = &c->marks,
		.occurrence = c->roster.occurrence,
		.enclosing = c->enclosing,
		.root = recall_root(c->enclosing),
		.tool_call = call_tool_around(),
		.path = c->path,
		.name = c->name,
		.input_sha256 = digest_sha256(null.at, null.len, sha256),
		.definition_sha256 = c->definition_sha256,
		.input = null,
		.definition = c->command,
		.child = true,
		.given = is_given(*input),
		.text = c->text,
		.tried = c->tried,
	};
	int found;

	memset(n, 0, sizeof *n);
	if (history_open(&n->history, c->parent.directory, err) != 0)
		return -1;
	if (n->history == NULL)
		return 0;
	n->recall = history_recall(n->history);
	found = n->recall.claim(n->recall.history, &query, &n->recalled, err);
	n->recalls = found == 1;
	if (!n->recalls)
		return found == -1 ? -1 : 0;
	if (n->recall.mode == RECALL_RESUME && !n->recalled.beside)
		n->claims = (struct child_recorded){ n->recalled.run_id, n->recalled.started.id };
	if (!event_copy_id(n->recalled.started.view.child_run_id, n->run_id))
		return error_set(err, ERROR_SYSTEM, c->call, "its record does not name a child run");
	if (n->recall.mode == RECALL_REPLAY)
		return nested_replay_result(n, c, input, err);
	return find_decisions(n, c, err) != 0 ? -1 : nested_choose_way(n, c, input, err);
}

bool
nested_goes_on(const struct nested *n)
{
	return n->history != NULL && n->recall.mode == RECALL_RESUME;
}

void
nested_claimed(struct nested *n)
{
	if (!n->recalls)
		return;
	if (n->way == NESTED_AGAIN || n->way == NESTED_FORK)
		history_child_goes_on(n->history, &n->recalled);
	n->recall.claimed(n->recall.history, &n->recalled);
}

void
nested_free(struct nested *n)
{
	recalled_free(&n->recalled);
	data_free(&n->result);
	nested_answers_free(&n->answers);
	history_close(n->history);
	memset(n, 0, sizeof *n);
}
