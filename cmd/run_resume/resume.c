/*
 * The first line of the transcript says how the run was started; the last one before any decisions
 * says how it ended. Forks are followed back to the oldest run, and listed from there. The history
 * of each child that will be resumed is built too, but not written: only its effects in doubt are
 * needed, before anything runs.
 */
#include "run_resume/resume.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/patience.h"
#include "io/file.h"
#include "json/scan.h"
#include "model/waiting.h"
#include "proc/environment.h"
#include "run_resume/moved.h"
#include "run_resume/nested.h"
#include "run_resume/survivors.h"
#include "storage/call_marks.h"
#include "storage/origin.h"
#include "transcript/blob.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/reader.h"
#include "transcript/torn.h"
#include "transcript/verify.h"

/* Characters that a shell does not interpret. */
#define SHELL_PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,:@%"

#define INPUT_VARIABLE "AWF_INPUT_"
#define FORKS_LIMIT 64     /* length of a chain of forks */

/* "key=value", or only "key", for each member of an object. */
static void
resume_add_members(char ***list, struct span object, bool values)
{
	if (span_type(object) != 'o')
		return;
	for (struct span_walk member = span_walk(object); span_next(&member);) {
		struct buffer text = BUFFER_INIT;

		span_decode(member.key, &text);
		if (values) {
			buffer_byte(&text, '=');
			span_decode(member.value, &text);
		}
		list_take(list, buffer_take(&text));
	}
}

/* Whether a run records the variable without --env. */
static bool
resume_records_always(const char *name, size_t len)
{
	static const char *const always[] = { "PATH", "LANG", "LC_*", "TZ", "AWF_*", NULL };

	for (size_t i = 0; always[i] != NULL; i++)
		if (environment_pattern_matches(always[i], name, len))
			return true;
	return false;
}

static int
not_recorded(const struct resume *r, struct error *err)
{
	return error_set(err, ERROR_SCHEMA, r->path, "does not say how the run was started");
}

static void
resume_set_text(char **text, struct span payload, const char *key)
{
	free(*text);
	*text = span_text(span_member(payload, key));
}

static void
resume_add_ignored(struct resume *r, struct span names)
{
	if (span_type(names) != 'a')
		return;
	for (struct span_walk name = span_walk(names); span_next(&name);) {
		char *text = span_text(name.value);

		if (text != NULL && !list_has(r->settings.ignored, text))
			list_add(&r->settings.ignored, text);
		free(text);
	}
}

/* Reads the working directory of an attempt, and what it ran. */
static void
resume_read_place(struct resume *r, struct span payload)
{
	struct span argv = span_member(payload, KEY_ARGV), files;

	list_free(r->recorded.argv);
	r->recorded.argv = NULL;
	if (span_type(argv) == 'a') {
		for (struct span_walk word = span_walk(argv); span_next(&word);) {
			char *text = span_text(word.value);

			list_take(&r->recorded.argv, text != NULL ? text : memory_text(""));
		}
	}
	resume_set_text(&r->recorded.directory, payload, KEY_DIRECTORY);
	resume_set_text(&r->directory, payload, KEY_CWD);
	resume_set_text(&r->settings.workspace, payload, KEY_WORKSPACE);
	resume_set_text(&r->stored, payload, KEY_STORAGE);
	resume_add_ignored(r, span_path(payload, KEY_START, KEY_IGNORED, NULL));
	span_copy(span_member(payload, KEY_WORKFLOW_SHA256), r->recorded.sha256,
	    sizeof r->recorded.sha256);
	/* The recorded file whose digest is that of the script. */
	free(r->script);
	r->script = NULL;
	files = span_member(payload, KEY_FILES);
	for (struct span_walk file = span_walk(files); files.at != NULL && r->script == NULL &&
	    r->recorded.sha256[0] != '\0' && span_next(&file);)
		if (span_is(span_member(file.value, KEY_SHA256), r->recorded.sha256))
			r->script = span_text(span_member(file.value, KEY_PATH));
	if (r->recorded.directory == NULL && r->directory != NULL)
		r->recorded.directory = memory_text(r->directory);
}

/* Reads run.started; blobs were inserted. */
static int
resume_read_run_started(struct resume *r, const char *line, size_t len, struct error *err)
{
	struct buffer start = BUFFER_INIT;
	struct event_view view;
	struct span payload;
	char *policy;

	if (event_view(line, len, &view) != 0 || view.type != EVENT_RUN_STARTED)
		return not_recorded(r, err);
	payload = view.payload;
	if (span_true(span_member(payload, KEY_MASKED)))
		return error_set(err, ERROR_USAGE, r->run_id,
		    "was masked (--mask), so that it cannot be gone on from");
	resume_read_place(r, payload);
	r->recorded.name = span_text(span_member(payload, KEY_NAME));
	r->settings.snapshot = span_true(span_member(payload, KEY_SNAPSHOT));
	r->settings.no_input = span_true(span_member(payload, KEY_NO_INPUT));
	resume_add_members(&r->settings.inputs, span_member(payload, KEY_INPUTS), true);
	resume_add_members(&r->settings.variables, span_member(payload, KEY_ENV), false);
	resume_add_members(&r->settings.values, span_member(payload, KEY_ENV), true);
	marks_read_start(payload, &start);
	r->settings.start = buffer_take(&start);
	r->by_itself = span_is(span_member(payload, KEY_RESUME), RESUME_AUTO);
	r->settings.allow_tools = span_text(span_path(payload, KEY_ENV, CEILING_TOOLS, NULL));
	policy = span_text(span_path(payload, KEY_ENV, CEILING_POLICY, NULL));
	if (policy != NULL)
		tools_policy_parse(policy, NULL, &r->settings.tools_policy, NULL);
	free(policy);
	span_copy(span_member(payload, KEY_FORKED_FROM), r->forked_from, sizeof r->forked_from);
	r->forked_at = span_text(span_member(payload, KEY_FORKED_AT));
	r->traceparent = span_text(span_member(payload, KEY_TRACEPARENT));
	run_cause_read(&r->cause, &view);
	if (r->recorded.argv == NULL || r->recorded.name == NULL || r->directory == NULL)
		return not_recorded(r, err);
	return 0;
}

/* Reads the next line. Returns -1 on errors and if there is none. */
static int
resume_read_line(struct resume *r, struct reader *reader, struct buffer *line, struct error *err)
{
	const char *at;
	size_t len;
	int got = reader_next(reader, &at, &len, err);

	if (got == 0)
		return not_recorded(r, err);
	return got == 1 ? blob_inline(r->blobs, at, len, line, err) : -1;
}

static int
read_record(struct resume *r, struct error *err)
{
	struct buffer first = BUFFER_INIT, last = BUFFER_INIT;
	struct event_view view;
	struct reader reader;
	int failed;

	/* The record of a run that was received from elsewhere is not trusted, also not about its
	 * parent or its forks. */
	if (origin_check_own(&r->storage, r->run_id, err) != 0)
		return -1;
	if (reader_open(&reader, r->path, err) != 0)
		return -1;
	failed = resume_read_line(r, &reader, &first, err);
	if (failed == 0)
		failed = resume_read_run_started(r, first.data, first.len, err);
	/* The end of the last attempt, if it has one: only decisions follow it. */
	if (failed == 0)
		failed = waiting_seek_end(&reader, err);
	if (failed == 0)
		failed = resume_read_line(r, &reader, &last, err);
	if (failed == 0 && event_view(last.data, last.len, &view) == 0 &&
	    view.type == EVENT_RUN_COMPLETED) {
		span_copy(span_member(view.payload, KEY_STATUS), r->status, sizeof r->status);
		r->interrupted = span_true(span_member(view.payload, KEY_INTERRUPTED));
		r->reader_gone = span_is(span_path(view.payload, KEY_ERROR, KEY_CODE, NULL),
		    error_name(ERROR_DOWNSTREAM_CLOSED));
	}
	buffer_free(&first);
	buffer_free(&last);
	reader_close(&reader);
	return failed;
}

void
resume_tell_script(const struct resume *r, struct error *err)
{
	char *kept = path_join(r->blobs, r->recorded.sha256), *message;

	/* A path that a shell would interpret is not put into a command. */
	if (r->script != NULL && access(kept, R_OK) == 0) {
		if (strspn(r->script, SHELL_PLAIN) == strlen(r->script))
			message = memory_format("%s; it is recorded, and brought back by: awf-replay --show %s "
			    "%.8s >%s", err->message, r->script, r->run_id, r->script);
		else
			message = memory_format("%s; it is recorded (awf-replay --show): put it back there",
			    err->message);
		snprintf(err->message, sizeof err->message, "%s", message);
		free(message);
	}
	free(kept);
}

static void
at_run(struct resume *r, const struct storage *s, const char *run_id)
{
	*r = (struct resume){ .path = storage_transcript(s, run_id),
		.blobs = storage_blobs(s, run_id), .storage = { .root = memory_text(s->root) } };
	memcpy(r->run_id, run_id, sizeof r->run_id);
}

/* Adds the inputs of a run, as variables, and what --env made it record. */
static void
resume_add_earlier(char ***earlier, const struct resume *r)
{
	for (char **input = r->settings.inputs; input != NULL && *input != NULL; input++)
		list_take(earlier, memory_format(INPUT_VARIABLE "%s", *input));
	for (char **value = r->settings.values; value != NULL && *value != NULL; value++)
		if (!resume_records_always(*value, strcspn(*value, "=")))
			list_add(earlier, *value);
}

/* The value in a list of KEY=VALUE. */
static const char *
resume_value_of(char *const *list, const char *key, size_t len)
{
	for (; list != NULL && *list != NULL; list++)
		if (strncmp(*list, key, len) == 0 && (*list)[len] == '=')
			return *list + len + 1;
	return NULL;
}

char **
resume_changed_variables(const struct resume *r, const struct resume_plan *plan, char *const *inputs)
{
	const size_t prefix = strlen(INPUT_VARIABLE);
	char **earlier = NULL, **changed = NULL;

	if (plan->forks ? plan->at != NULL : r->earlier == NULL)
		return NULL;
	for (char **each = r->earlier; each != NULL && *each != NULL; each++)
		list_add(&earlier, *each);
	if (plan->forks)
		resume_add_earlier(&earlier, r);
	for (char **each = earlier; each != NULL && *each != NULL; each++) {
		const size_t len = strcspn(*each, "=");
		const bool is_input = len > prefix && strncmp(*each, INPUT_VARIABLE, prefix) == 0;
		char *name = memory_copy(*each, len);
		const char *value = is_input ? resume_value_of(inputs, name + prefix, len - prefix) : getenv(name);

		if (strcmp(value != NULL ? value : "", *each + len + 1) != 0 && !list_has(changed, name))
			list_add(&changed, name);
		free(name);
	}
	for (char *const *input = inputs; input != NULL && *input != NULL; input++) {
		char *name = memory_format(INPUT_VARIABLE "%.*s", (int)strcspn(*input, "="), *input);

		if (resume_value_of(earlier, name, strlen(name)) == NULL)
			list_add(&changed, name);
		free(name);
	}
	list_free(earlier);
	return changed;
}

/* Finds all runs in the chain of forks: what the run was forked from, what that was forked
 * from, and so on. */
static int
find_others(struct resume *r, const struct storage *s, struct error *err)
{
	char next[ID_SIZE];
	char *at = r->forked_at != NULL ? memory_text(r->forked_at) : NULL;
	bool compared = true; /* their inputs are: nobody has said from where on the fork is another (--at) */
	int failed = 0;

	memcpy(next, r->forked_from, sizeof next);
	while (failed == 0 && next[0] != '\0') {
		struct resume older;

		if (r->other_count == FORKS_LIMIT || !id_valid(next, strlen(next))) {
			failed = error_set(err, ERROR_SCHEMA, r->path, "is forked from too many others");
			break;
		}
		compared &= at == NULL;
		at_run(&older, s, next);
		failed = read_record(&older, err);
		if (failed == 0) {
			r->others = memory_array(r->others, r->other_count + 2, sizeof *r->others);
			memmove(r->others + 1, r->others, r->other_count * sizeof *r->others);
			r->others[0] = (struct history_source){ memory_text(older.path),
				memory_text(older.blobs), at };
			r->other_count++;
			at = older.forked_at;
			older.forked_at = NULL;
			if (compared)
				resume_add_earlier(&r->earlier, &older);
		}
		memcpy(next, older.forked_from, sizeof next);
		resume_free(&older);
	}
	free(at);
	return failed;
}

int
resume_find(struct resume *r, const struct storage *s, const char *run, struct error *err)
{
	struct run_ref ref;
	struct stat status;
	char *directory;
	int failed;

	*r = (struct resume){ .path = NULL };
	if (storage_resolve(s, run, &ref, err) != 0) {
		/* A run without a transcript that was killed leaves only its directory. */
		if (!id_valid(run, strlen(run)))
			return -1;
		directory = storage_run_directory(s, run);
		if (lstat(directory, &status) == 0)
			error_set(err, ERROR_USAGE, run,
			    "keeps no transcript (--no-transcript), so that it cannot be gone on from");
		free(directory);
		return -1;
	}
	if (!ref.in_storage) {
		error_set(err, ERROR_USAGE, ref.path, "is not a transcript of the storage %s", s->root);
		run_ref_free(&ref);
		return -1;
	}
	at_run(r, s, ref.run_id);
	run_ref_free(&ref);
	failed = read_record(r, err);
	return failed == 0 ? find_others(r, s, err) : failed;
}

int
resume_check_ended(const struct resume *r, const struct storage *s, struct error *err)
{
	if (storage_run_alive(s, r->run_id))
		return error_set(err, ERROR_SYSTEM, r->run_id, "the run is alive");
	return 0;
}

int
resume_check_dead(const struct resume *r, struct error *err)
{
	char variable[sizeof "AWF_RUN_ID=" + ID_SIZE];
	struct survivor first;
	size_t count;

	snprintf(variable, sizeof variable, "AWF_RUN_ID=%s", r->run_id);
	count = survivors_find(variable, SURVIVORS_MS, &first);
	if (count == 0)
		return 0;
	return error_set(err, ERROR_SYSTEM, r->run_id,
	    "process %ld%s of its last attempt still lives (%s): end it first", (long)first.pid,
	    count > 1 ? ", and others," : "", first.command);
}

/* Starts reading the calls of the record and of the runs that it was forked from. */
static int
begin_reading(struct resume *r, const struct resume_plan *plan, struct error *err)
{
	struct history_spec spec = { .mode = RECALL_RESUME, .other_count = r->other_count,
		.answers = plan->answers, .prefix = r->prefix, .steps = r->steps, .excused = r->excused, .names = &r->words.names };

	history_reading_free(r->reading);
	if (plan->forks) {
		if (r->others == NULL)
			r->others = memory_zero(1, sizeof *r->others);
		r->others[spec.other_count++] = (struct history_source){ r->path, r->blobs, plan->at };
	} else {
		spec.own = (struct history_source){ r->path, r->blobs, NULL };
	}
	spec.others = r->others;
	return history_begin(&r->reading, &spec, err);
}

/* State of reading a record while it is verified. */
struct checking {
	struct resume *r;
	const struct resume_plan *plan;
	bool failed;
	bool again;                  /* it is read again, only for its calls */
	struct error *err;
};

/* Each attempt may have had another working directory. */
static int
resume_read_attempt(struct resume *r, const char *line, size_t len, struct error *err)
{
	struct buffer whole = BUFFER_INIT;
	struct event_view event;
	char *directory = NULL, *stored = NULL;
	int failed = blob_inline(r->blobs, line, len, &whole, err);

	if (failed == 0 && event_view(whole.data, whole.len, &event) == 0) {
		directory = span_text(span_member(event.payload, KEY_CWD));
		stored = span_text(span_member(event.payload, KEY_STORAGE));
	}
	if (directory != NULL && span_type(span_member(event.payload, KEY_ARGV)) == 'a') {
		moved_files(r, directory, stored);
		resume_read_place(r, event.payload);
	}
	free(directory);
	free(stored);
	buffer_free(&whole);
	return failed;
}

/* Adds TEXT of "/bin/sh -c TEXT NAME". */
static void
add_text(struct resume *r, struct span payload)
{
	struct span argv = span_member(payload, KEY_ARGV);
	char *text = span_is(span_element(argv, 1), "-c") ? span_text(span_element(argv, 2)) : NULL;

	if (text != NULL)
		list_take(&r->words.texts, text);
}

static void
resume_read_checked_line(void *context, const char *line, size_t len, int64_t at)
{
	struct checking *c = context;
	struct event_view event;

	if (at == 0)
		c->failed = begin_reading(c->r, c->plan, c->err) != 0;
	if (!c->failed)
		c->failed = history_take(c->r->reading, line, len, at, c->err) != 0;
	if (c->again || event_view(line, len, &event) != 0)
		return;
	if (at == 0) {
		definition_files_free(&c->r->words.files);
		file_names_free(&c->r->words.file_names);
		list_free(c->r->words.texts);
		c->r->words.texts = NULL;
	}
	if (at > 0 && event.type == EVENT_RUN_STARTED && !c->failed)
		c->failed = resume_read_attempt(c->r, line, len, c->err) != 0;
	if (event.type == EVENT_RUN_STARTED)
		add_text(c->r, event.payload);
	definition_files_take(&c->r->words.files, &event);
}

/* Moves away what a crash left: 1, and the record is to be looked at again. -1: that is not all there is to it, or
 * nothing would be left to resume. */
static int
resume_repair_record(const struct resume *r, const struct verify_report *report,
    void (*repaired)(const char *text), struct error *err)
{
	char *torn, *text, *place;
	int64_t moved;

	if (report->damage && report->intact > 0 && repaired != NULL) {
		if (verify_repair(r->path, report, &moved, err) == 0) {
			torn = torn_path(r->path);
			text = memory_format("%s: moved %lld bytes of a torn line to %s", r->path,
			    (long long)moved, torn);
			repaired(text);
			free(text);
			free(torn);
			return 1;
		}
		if (err->code != ERROR_SCHEMA)
			return -1;
	}
	place = memory_format("%s:%lld", r->path, (long long)report->line);
	error_set(err, ERROR_SCHEMA, place, "%s (%s); see awf-verify", report->fault.message,
	    verify_rule_name(report->rule));
	free(place);
	return -1;
}

int
resume_check_record(struct resume *r, const struct resume_plan *plan,
    void (*repaired)(const char *text), struct error *err)
{
	struct checking checking = { r, plan, false, false, err };
	const struct verify_spec spec = { .take = resume_read_checked_line, .context = &checking };
	struct verify_report report;
	int again;

	do {
		if (verify_transcript(r->path, &spec, &report, err) != 0)
			return -1;
		again = report.faulty ? resume_repair_record(r, &report, repaired, err) : 0;
	} while (again == 1);
	if (again == -1 || checking.failed)
		return -1;
	history_end(r->reading);
	return 0;
}

/* Reads the record without verifying it; again: its workspace and files are known already. */
static int
read_lines(struct resume *r, const struct resume_plan *plan, bool again, struct error *err)
{
	struct checking checking = { r, plan, false, again, err };
	struct reader reader;
	const char *line;
	size_t len;
	int got = 0;

	if (reader_open(&reader, r->path, err) != 0)
		return -1;
	while (!checking.failed && (got = reader_next(&reader, &line, &len, err)) == 1)
		resume_read_checked_line(&checking, line, len, reader.line_start);
	if (!checking.failed && got == 0 && reader.line_start == 0 && reader.position == 0)
		checking.failed = begin_reading(r, plan, err) != 0;
	reader_close(&reader);
	if (checking.failed || got == -1)
		return -1;
	history_end(r->reading);
	return 0;
}

static int resume_build_with_index(struct resume *r, const struct resume_plan *plan,
    const char *index, bool inside, struct error *err);

/* ---- programs that have changed ---- */

/* Adds the changed programs of a child run to those of its parent. */
static void
add_programs(struct history_summary *to, struct history_summary *from)
{
	for (size_t i = 0; i < from->program_count; i++) {
		struct history_program *program = &from->programs[i], *known = NULL;

		for (size_t k = 0; known == NULL && k < to->program_count; k++)
			if (strcmp(to->programs[k].path, program->path) == 0)
				known = &to->programs[k];
		if (known != NULL) {
			known->results += program->results;
			continue;
		}
		to->programs = memory_array(to->programs, to->program_count + 1, sizeof *to->programs);
		to->programs[to->program_count++] = *program;
		program->path = memory_text("");
	}
}

/* Adjusts the paths of a child run's programs if its directory is within a workspace
 * that has moved. */
static void
move_child(struct resume *child, const struct resume *parent)
{
	size_t len = parent->moved_from != NULL ? strlen(parent->moved_from) : 0;
	char *directory;

	if (parent->moved_from == NULL || !path_within(child->directory, parent->moved_from))
		return;
	directory = memory_format("%s%s", parent->directory, child->directory + len);
	moved_files(child, directory, parent->storage.root);
	child->moved_from = child->directory;
	child->directory = directory;
}

/* Adds which answers match something in a child run, and why others do not match: the child knows
 * more of that than its parent. */
static void
add_answers(struct history_summary *to, const struct history_answers *answers,
    const struct history_child *child, const struct history_summary *inside)
{
	char *const *const lists[] = { answers->redo, answers->skip, answers->new_steps };

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		for (char *const *path = lists[i]; path != NULL && *path != NULL; path++) {
			const char *rest = nested_path_inside(*path, child->call, child->names, child->path);
			const bool redone = rest != NULL && list_has(inside->redone, rest);

			/* What is in doubt in a child run that did not succeed is asked about, and needs an answer. */
			if (redone && child->kept.code != ERROR_NONE &&
			    (child->succeeded || inside->doubt_count == 0)) {
				history_refuse(to, *path, &child->kept);
				continue;
			}
			if (rest != NULL && list_has(inside->named, rest))
				list_add(&to->named, *path);
			if (redone)
				list_add(&to->redone, *path);
			for (size_t r = 0; rest != NULL && r < inside->refused_count; r++)
				if (strcmp(inside->refused[r].path, rest) == 0)
					history_refuse(to, *path, &inside->refused[r].why);
		}
}

static void
add_taken(struct history_summary *to, const struct history_summary *from)
{
	for (char *const *id = from->taken; id != NULL && *id != NULL; id++)
		list_add(&to->taken, *id);
}

static void
resume_add_answers(struct history_summary *to, const struct history_summary *from)
{
	for (char *const *path = from->named; path != NULL && *path != NULL; path++)
		list_add(&to->named, *path);
	for (char *const *path = from->redone; path != NULL && *path != NULL; path++)
		list_add(&to->redone, *path);
	for (size_t i = 0; i < from->refused_count; i++)
		history_refuse(to, from->refused[i].path, &from->refused[i].why);
}

struct looking {
	struct resume *parent;
	const struct resume_plan *plan;
	struct history_summary found; /* programs, doubts, taken, redone, named, refused */
};

/* Builds the history of a child run. Its index is written only where the parent asks for that, and
 * not if nothing has changed. */
static int
build_inside(struct resume *inner, const struct resume *parent, const struct history_child *child,
    const struct resume_plan *plan, struct error *err)
{
	char *index = parent->indexes_in != NULL ? history_inside(parent->indexes_in, child->run_id) : NULL;
	int built;

	inner->excused = child->excused;
	inner->indexes_in = parent->indexes_in;
	inner->words.around = &parent->words.file_names;
	inner->prefix = memory_format("%s%s/", parent->prefix != NULL ? parent->prefix : "", child->call);
	inner->steps = memory_format("%s%s.", parent->steps != NULL ? parent->steps : "", child->path);
	built = read_lines(inner, plan, false, err);
	if (built == 0) {
		move_child(inner, parent);
		built = resume_build_with_index(inner, plan, index, true, err);
	}
	free(index);
	return built;
}

/* Adds the effects in doubt in a child run to those of its parent, whose user decides about them. */
static void
add_doubts(struct history_summary *to, struct history_summary *from, const char *run_id)
{
	to->doubts = memory_array(to->doubts, to->doubt_count + from->doubt_count + 1, sizeof *to->doubts);
	for (size_t i = 0; i < from->doubt_count; i++) {
		struct history_doubt *doubt = &to->doubts[to->doubt_count++];

		*doubt = from->doubts[i];
		if (doubt->run_id[0] == '\0')
			memcpy(doubt->run_id, run_id, ID_SIZE);
	}
	from->doubt_count = 0;
}

/* Callback of history_check_children(). A record that cannot be read is skipped here, and
 * reported elsewhere. Of a child run that did not succeed only the answers are looked at: the rest,
 * and its index, come with add_child(). */
static enum child_contains
resume_check_child(void *context, const struct history_child *child)
{
	struct looking *l = context;
	struct nested_answers answers = nested_answers_inside(&l->plan->answers, child->call, child->names, child->path);
	const struct resume_plan plan = { child->forked, NULL, nested_answers_of(&answers) };
	const char *indexes_in = l->parent->indexes_in;
	struct resume inner = { .path = NULL };
	struct error ignored = ERROR_INIT;
	bool outdated = false, redone = false;

	if (!child->succeeded)
		l->parent->indexes_in = NULL;
	if ((child->succeeded || answers.redo != NULL) &&
	    resume_find(&inner, &l->parent->storage, child->run_id, &ignored) == 0) {
		const bool built = build_inside(&inner, l->parent, child, &plan, &ignored) != -1;

		for (size_t i = 0; built && i < inner.history.program_count; i++)
			outdated |= inner.history.programs[i].results > 0;
		redone = inner.history.redone != NULL;
		add_answers(&l->found, &l->plan->answers, child, &inner.history);
		if (child->succeeded)
			add_taken(&l->found, &inner.history);
		if (outdated && child->succeeded)
			add_programs(&l->found, &inner.history);
		if (redone && child->succeeded && child->kept.code == ERROR_NONE)
			add_doubts(&l->found, &inner.history, child->run_id);
		l->parent->words.file_names.edited |= inner.words.file_names.edited;
	}
	l->parent->indexes_in = indexes_in;
	resume_free(&inner);
	nested_answers_free(&answers);
	return redone ? CHILD_REDONE : outdated ? CHILD_OUTDATED : CHILD_NOTHING;
}

/* If the workspace does not exist, its programs cannot be checked. */
static void
check_programs(struct resume *r, struct looking *l)
{
	const char *directory = r->programs_in != NULL ? r->programs_in : r->directory;

	if (!path_is_directory(directory))
		return;
	history_check_programs(r->reading, directory);
	history_check_children(r->reading, resume_check_child, l);
}

/* Adds a child run's effects in doubt to those of its parent, prefixed with the child's call. */
static int
add_child(struct resume *r, const struct history_child *child, const struct resume_plan *around,
    struct error *err)
{
	struct nested_answers answers = nested_answers_inside(&around->answers, child->call, child->names, child->path);
	const struct resume_plan plan = { child->forked, NULL, nested_answers_of(&answers) };
	struct history_summary *own = &r->history;
	struct resume inner = { .path = NULL };
	bool failed = resume_find(&inner, &r->storage, child->run_id, err) != 0 ||
	    resume_check_ended(&inner, &r->storage, err) != 0;

	if (!failed) {
		failed = build_inside(&inner, r, child, &plan, err) == -1;
		r->words.file_names.edited |= inner.words.file_names.edited;
		add_answers(own, &around->answers, child, &inner.history);
		add_taken(own, &inner.history);
	}
	/* A child that succeeded after its parent died has none to decide; one whose reader closed
	 * the pipe is resumed. */
	if (!failed && (strcmp(inner.status, "success") != 0 || inner.reader_gone)) {
		add_doubts(own, &inner.history, child->run_id);
		add_programs(own, &inner.history);
	}
	resume_free(&inner);
	nested_answers_free(&answers);
	return failed ? -1 : 0;
}

/* Which steps a child run without a record has, nothing tells: any may be new in it. */
static void
add_unknown_steps(struct resume *r, const struct history_child *child, const struct resume_plan *plan)
{
	for (char *const *path = plan->answers.new_steps; path != NULL && *path != NULL; path++)
		if (nested_path_inside(*path, child->call, child->names, child->path) != NULL)
			list_add(&r->history.named, *path);
}

static bool
is_dropped(void *context, const char *name, bool lately)
{
	const struct resume *r = context;

	return file_names_dropped(&r->words.file_names, name, lately);
}

static bool
is_written(void *context, const char *command, const char *name)
{
	const struct resume *r = context;

	return file_names_written(&r->words.file_names, command, name);
}

static bool
calls_step(void *context, const char *name, const char *command)
{
	const struct resume *r = context;

	return file_names_calls(&r->words.file_names, name, command);
}

/* Like resume_build(), with the path of the index; NULL: write none. inside: none either if nothing
 * has changed, and no call has asked. */
static int
resume_build_with_index(struct resume *r, const struct resume_plan *plan, const char *index,
    bool inside, struct error *err)
{
	struct looking looking = { .parent = r, .plan = plan };
	int failed = 0;
	char *path;

	history_summary_free(&r->history);
	if (r->reading == NULL || !history_is_of(r->reading))
		failed = read_lines(r, plan, true, err);
	if (failed == 0 && !r->words.file_names.read) {
		file_names_read(&r->words.file_names, &r->words.files, r->blobs);
		if (r->words.texts != NULL && r->words.text != NULL)
			file_names_add_texts(&r->words.file_names, r->words.texts, r->words.text);
		else if (r->words.texts != NULL && r->words.around != NULL)
			file_names_add(&r->words.file_names, r->words.around);
	}
	r->words.names = (struct history_names){ r->words.file_names.edited, is_dropped, is_written,
	    calls_step, r };
	if (failed == 0) {
		check_programs(r, &looking);
		failed = history_summarize(r->reading, &r->history, err);
		add_programs(&r->history, &looking.found);
		add_doubts(&r->history, &looking.found, "");
		resume_add_answers(&r->history, &looking.found);
		add_taken(&r->history, &looking.found);
		history_summary_free(&looking.found);
	}
	/* Only children that were made: the parent may have died before that. */
	for (size_t i = 0; failed == 0 && i < r->history.child_count; i++) {
		const struct history_child *child = &r->history.children[i];

		path = storage_transcript(&r->storage, child->run_id);
		if (transcript_begun(path))
			failed = add_child(r, child, plan, err);
		else
			add_unknown_steps(r, child, plan);
		free(path);
	}
	/* Now all calls in child runs are known. A child run also gets answers about others, so
	 * only the outermost run checks them. */
	if (failed == 0 && r->prefix == NULL)
		failed = history_check_answers(&plan->answers, &r->history, err);
	r->words.names.edited = r->words.file_names.edited;
	if (failed == 0 && index != NULL && (!inside || r->history.changed || r->history.asked ||
	    r->history.has_children))
		failed = history_write(r->reading, index, err);
	if (index != NULL) {
		history_reading_free(r->reading);
		r->reading = NULL;
	}
	if (failed != 0)
		return -1;
	for (size_t i = 0; i < r->history.doubt_count; i++)
		if (r->history.doubts[i].decided == RECALL_UNDECIDED)
			return 0;
	return 1;
}

int
resume_build(struct resume *r, const struct resume_plan *plan, const char *run_directory,
    struct error *err)
{
	char *index = run_directory != NULL ? path_join(run_directory, HISTORY_FILE) : NULL;
	int built;

	r->indexes_in = run_directory;
	built = resume_build_with_index(r, plan, index, false, err);
	r->indexes_in = NULL;
	free(index);
	if (built != -1 && run_directory != NULL && r->history.taken != NULL &&
	    history_note_taken(run_directory, r->history.taken, err) != 0)
		return -1;
	return built;
}

void
resume_free(struct resume *r)
{
	for (size_t i = 0; i < r->other_count; i++) {
		free((void *)(uintptr_t)r->others[i].path);
		free((void *)(uintptr_t)r->others[i].blobs);
		free((void *)(uintptr_t)r->others[i].left_out);
	}
	free(r->others);
	workflow_free(&r->recorded);
	storage_close(&r->storage);
	free(r->path);
	free(r->blobs);
	free(r->script);
	free(r->directory);
	free(r->moved_from);
	free(r->programs_in);
	free(r->stored);
	free(r->settings.workspace);
	free(r->forked_at);
	list_free(r->earlier);
	free(r->traceparent);
	free(r->prefix);
	free(r->steps);
	list_free(r->settings.inputs);
	list_free(r->settings.variables);
	list_free(r->settings.values);
	free(r->settings.start);
	free(r->settings.max_cost);
	free(r->settings.on_complete);
	free(r->settings.on_failure);
	list_free(r->settings.ignored);
	list_free(r->words.texts);
	free(r->settings.allow_tools);
	history_summary_free(&r->history);
	definition_files_free(&r->words.files);
	file_names_free(&r->words.file_names);
	history_reading_free(r->reading);
	*r = (struct resume){ .path = NULL };
}
