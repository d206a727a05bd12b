/*
 * The caller passes the data of a decision as bytes (deciding_edit()) or as a reader of state lines
 * (deciding_complete()). Option -O of the step says how the step reads the stdout of its command; the
 * data has the same form.
 */
#include "decide/deciding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "decide/due.h"
#include "decide/open_question.h"
#include "io/file.h"
#include "json/value.h"
#include "model/tool_approval.h"
#include "proc/process.h"
#include "schema/schema.h"
#include "storage/lineage.h"
#include "storage/resumes.h"
#include "storage/run.h"
#include "transcript/call.h"
#include "transcript/event_keys.h"
#include "transcript/reader.h"

#define VALUE "value" /* form of an answer to a question with a schema */

const char *
deciding_task(const char *text, char run_id[ID_SIZE])
{
	if (strlen(text) <= ID_SIZE || text[ID_SIZE - 1] != '/' || !id_valid(text, ID_SIZE - 1))
		return NULL;
	memcpy(run_id, text, ID_SIZE - 1);
	run_id[ID_SIZE - 1] = '\0';
	return text + ID_SIZE;
}

/* Whether the run named run_id is this run, or was started inside of it at any depth: 1, 0, or -1
 * with *err. */
static int
is_inside(const struct storage *storage, const char *inner, const char *run_id, struct error *err)
{
	struct lineage lineage = { .count = 0 };
	char *directory;
	bool inside;
	int failed;

	if (inner == NULL || !id_valid(inner, strlen(inner)))
		return 0;
	directory = storage_run_directory(storage, inner);
	failed = lineage_read(&lineage, directory, err);
	free(directory);
	if (failed != 0)
		return -1;
	inside = strcmp(inner, run_id) == 0;
	for (size_t i = 0; i < lineage.count; i++)
		inside = inside || strcmp(lineage.runs[i].run_id, run_id) == 0;
	return inside;
}

/* The same for the run of a process, found in the environment with which the process was
 * started. */
static int
is_started_inside(const struct storage *storage, pid_t pid, const char *run_id, struct error *err)
{
	static const char name[] = "AWF_RUN_ID=";
	struct buffer text = BUFFER_INIT;
	int inside = 0;

	if (process_read(pid, "environ", &text))
		for (const char *at = buffer_string(&text), *end = at + text.len;
		    at < end && inside == 0; at += strlen(at) + 1)
			if (strncmp(at, name, sizeof name - 1) == 0)
				inside = is_inside(storage, at + sizeof name - 1, run_id, err);
	buffer_free(&text);
	return inside;
}

int
deciding_allowed(const struct storage *s, const char *run_id, enum decision_verdict verdict,
    pid_t asker, struct error *err)
{
	struct process_stat status;
	bool own = asker == getpid();
	pid_t owner = 0;
	int inside;

	if (decision_about(verdict) != WAITING_APPROVAL)
		return 0;
	if (!own && (asker <= 0 || !process_stat(asker, &status)))
		return error_set(err, ERROR_USAGE, run_id, "the process that asks cannot be seen from "
		    "here, and may be part of the run");
	inside = own ? is_inside(s, getenv("AWF_RUN_ID"), run_id, err) : 0;
	storage_run_owner(s, run_id, &owner);
	/* If a process has removed AWF's variables from its environment, one of its ancestors
	 * usually has them. If these have removed them too, the process is still a descendant of
	 * the run's awf-run. */
	for (pid_t pid = asker; inside == 0 && pid > 1 && process_stat(pid, &status);
	    pid = status.parent)
		inside = pid == owner ? 1 : is_started_inside(s, pid, run_id, err);
	return inside != 1 ? inside : error_set(err, ERROR_USAGE, run_id,
	    "a run does not decide about itself, nor about one that it is inside of");
}

int
deciding_open(struct deciding *d, const struct storage *s, const char *run_id,
    enum decision_verdict verdict, struct error *err)
{
	char *path = storage_transcript(s, run_id), *blobs = storage_blobs(s, run_id);

	d->storage = s;
	d->decision.verdict = verdict;
	d->directory = storage_run_directory(s, run_id);
	d->opened = undecided_open(&d->undecided, path, blobs, run_id, err) == 0;
	free(blobs);
	free(path);
	return d->opened ? 0 : -1;
}

/* ---- questions ---- */

/* The question in a call's step.started, as a span of that line; .at NULL: there is none. */
static struct span
load_question(const struct deciding *d, struct event_place begin, struct buffer *line)
{
	struct event_view event;

	if (begin.length == 0 || event_load(d->undecided.path, begin, line, NULL) != 0 ||
	    event_view(line->data, line->len, &event) != 0)
		return SPAN_NONE;
	return span_member(event.payload, KEY_QUESTION);
}

static void
note_schema(struct deciding *d, struct span question)
{
	struct span schema = span_member(question, KEY_SCHEMA);

	if (schema.at != NULL)
		d->schema = memory_copy(schema.at, schema.len);
}

static bool
is_named(const struct model_call *c, const char *call, bool task)
{
	return task ? strcmp(c->id, call) == 0 : call_is_named(call, c->id, c->step->path, c->iteration);
}

/* Connects to the process that asks a question in the call with this name. 1; 0: there is none; -1:
 * several calls of the name ask. */
static int
find_question(struct deciding *d, const char *call, bool task, struct error *err)
{
	const struct model_call *found = NULL;
	struct error none;

	for (const struct model_call *c = d->undecided.model.first; c != NULL; c = c->next) {
		char started[ID_SIZE], token[QUESTION_TOKEN_SIZE];
		struct buffer line = BUFFER_INIT;
		struct span question = SPAN_NONE;
		int fd = -1;

		if (c->state == CALL_OPEN && c->id[0] != '\0' && is_named(c, call, task))
			question = load_question(d, c->begin, &line);
		if (question.at != NULL) {
			question_token(d->undecided.run_id, model_call_event_id(c, started), token);
			fd = question_connect(d->directory, token, &none);
		}
		if (fd != -1 && found != NULL) {
			error_set(err, ERROR_USAGE, call, "several calls of it ask, name one: %s, %s", found->id,
			    c->id);
			close(fd);
			buffer_free(&line);
			return -1;
		}
		if (fd != -1) {
			found = c;
			d->question = fd;
			d->asked = true;
			note_schema(d, question);
			d->asks = (struct waiting){ .what = WAITING_COMPLETION, .call = memory_text(c->id),
				.begin = c->begin };
			snprintf(d->asks.form, sizeof d->asks.form, "%s", d->schema != NULL ? VALUE : "text");
			d->at = &d->asks;
		}
		buffer_free(&line);
	}
	return found != NULL;
}

/* Notes the question of a call whose process does not ask any more, if it has one. */
static void
note_question(struct deciding *d)
{
	struct buffer line = BUFFER_INIT;
	struct span question = load_question(d, d->at->begin, &line);

	d->asked = question.at != NULL;
	note_schema(d, question);
	buffer_free(&line);
}

/* Finds the call with this name whose command is still running: 1; 0: there is none; -1: *err. */
static int
find_working(struct deciding *d, struct error *err)
{
	int found = undecided_find_working(&d->undecided, d->named, d->task, &d->working, err);

	if (found != 1)
		return found;
	free(d->asks.call);
	d->asks = (struct waiting){ .what = WAITING_COMPLETION, .call = memory_text(d->working.call),
		.begin = d->working.begin };
	memcpy(d->asks.form, d->working.form, sizeof d->asks.form);
	d->at = &d->asks;
	return 1;
}

int
deciding_find(struct deciding *d, const char *call, bool task, struct error *err)
{
	enum decision_verdict verdict = d->decision.verdict;
	int working;

	d->named = memory_text(call);
	d->task = task;

	/* First look for a process that asks right now: after a resume, a call that has waited
	 * before may be asking again. */
	if (verdict == DECISION_COMPLETED || verdict == DECISION_FAILED) {
		int found = find_question(d, call, task, err);

		if (found != 0)
			return found == 1 ? 0 : -1;
	}
	d->at = undecided_find(&d->undecided, call, task, verdict, err);
	if (d->at == NULL && decision_about(verdict) == WAITING_COMPLETION) {
		struct error found = ERROR_INIT;

		working = find_working(d, &found);
		if (working == -1)
			*err = found;
		if (working != 0)
			return working == 1 ? 0 : -1;
		d->at = verdict != DECISION_HEARTBEAT ?
		    undecided_find_completed(&d->undecided, call, task) : NULL;
		d->repeats = d->at != NULL;
	}
	if (d->at == NULL)
		return -1;
	if (verdict == DECISION_COMPLETED)
		note_question(d);
	return 0;
}

/* Checks an answer to a question that nobody asks right now against the question's schema. The
 * step's other demands are checked when the run is resumed. */
static int
check_schema(const struct deciding *d, struct error *err)
{
	struct buffer why = BUFFER_INIT;
	json_t *document;
	struct schema *schema = NULL;
	int failed = 0;

	if (d->schema == NULL || d->question != -1 || d->decision.results.count != 1)
		return 0;
	document = value_parse(d->schema, strlen(d->schema), d->at->call, ERROR_SCHEMA, err);
	if (document != NULL)
		schema = schema_compile(document, 0, d->at->call, err);
	failed = schema == NULL ? -1 : schema_check_bytes(schema, d->results[0].json.data,
	    d->results[0].json.len, &why);
	if (schema != NULL && failed != 0)
		error_set(err, ERROR_INVALID_INPUT, d->at->call, "the answer is not what was asked for: %s",
		    buffer_string(&why));
	schema_free(schema);
	json_decref(document);
	buffer_free(&why);
	return failed;
}

int
deciding_sign(struct deciding *d, const char *seal_file, bool demanded, struct error *err)
{
	int found = seal_key_find(&d->seal, seal_file, demanded, err);

	d->decision.seal = found == 1 ? &d->seal : NULL;
	return found == -1 ? -1 : 0;
}

int
deciding_sealed(const struct deciding *d, char public_key[DIGEST_SIZE], struct error *err)
{
	struct event_view event;
	struct reader r;
	const char *line;
	size_t len;
	int got;

	if (reader_open(&r, d->undecided.path, err) != 0)
		return -1;
	got = waiting_seek_end(&r, err) == 0 ? reader_next(&r, &line, &len, err) : -1;
	if (got == 1)
		got = event_view(line, len, &event) == 0 &&
		    span_copy(span_path(event.payload, KEY_SEAL, KEY_PUBLIC_KEY, NULL), public_key,
		        DIGEST_SIZE);
	reader_close(&r);
	return got;
}

/* ---- the data ---- */

static void
add_result(struct deciding *d, struct data *data)
{
	size_t count = d->decision.results.count++;

	d->results = memory_array(d->results, count + 1, sizeof *d->results);
	d->results[count] = *data;
	d->decision.results.list = d->results;
	*data = (struct data){ BUFFER_INIT, false, false };
}

int
deciding_approve(struct deciding *d, struct error *err)
{
	struct data input;

	if (undecided_input(&d->undecided, d->at, &input, err) != 0)
		return -1;
	add_result(d, &input);
	return 0;
}

int
deciding_edit(struct deciding *d, const char *bytes, size_t len, struct error *err)
{
	struct data edited;
	const struct buffer *was = &d->results[0].json;
	int differs = decision_edit(&d->results[0], bytes, len, &edited, err);

	if (differs != -1 && tool_approval_check_edit(d->at->call, span_of(was->data, was->len),
	    span_of(edited.json.data, edited.json.len), err) != 0) {
		data_free(&edited);
		return -1;
	}
	if (differs == 1) {
		data_free(&d->results[0]);
		d->results[0] = edited;
		d->decision.verdict = DECISION_EDITED;
	} else {
		data_free(&edited);
	}
	return differs == -1 ? -1 : 0;
}

int
deciding_always(struct deciding *d, struct error *err)
{
	const struct data *data = &d->results[0];
	struct buffer always = BUFFER_INIT;
	int failed = tool_approval_allow_always(d->at->call, span_of(data->json.data, data->json.len),
	    &always, err);

	if (failed == 0)
		failed = deciding_edit(d, always.data, always.len, err);
	buffer_free(&always);
	return failed;
}

enum input_form
deciding_form(const struct deciding *d)
{
	static const struct { const char *name; enum input_form form; } forms[] = {
		{ "lines", INPUT_LINES }, { "nul", INPUT_NUL }, { "json", INPUT_JSON },
		{ VALUE, INPUT_JSON },
	};

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (strcmp(d->at->form, forms[i].name) == 0)
			return forms[i].form;
	return INPUT_TEXT;
}

int
deciding_complete(struct deciding *d, struct state_reader *reader, struct error *err)
{
	enum input_form form = deciding_form(d);
	bool value = strcmp(d->at->form, VALUE) == 0;
	struct data none = { BUFFER_INIT, false, false };
	struct item item;
	int got = 0;

	d->decision.results.several = form != INPUT_TEXT && !value;
	memset(&item, 0, sizeof item);
	while (reader != NULL && (got = state_reader_next(reader, &item, err)) == 1) {
		add_result(d, &item.data);
		item_free(&item);
	}
	if (got == 0 && value && d->decision.results.count != 1)
		return error_set(err, ERROR_INVALID_INPUT, d->at->call,
		    "one JSON value is the answer, and %zu came", d->decision.results.count);
	if (got == 0 && form == INPUT_TEXT && d->decision.results.count == 0) {
		if (reader == NULL)
			data_null(&none);
		else
			data_from_text(&none, "", 0);
		add_result(d, &none);
	}
	return got == 0 ? check_schema(d, err) : got;
}

/* ---- the record ---- */

/* For a call whose command is still running, the result is recorded for its end. The time limit for
 * the result begins only after the command has ended, so a heartbeat changes nothing. If the
 * command ends meanwhile, the call now waits, or has failed. */
static int
record_decision(struct deciding *d, struct error *err)
{
	if (d->working.call != NULL) {
		int ended = d->decision.verdict == DECISION_HEARTBEAT ? 0 :
		    undecided_decide_early(&d->undecided, &d->working, &d->decision, err);

		if (ended != 1)
			return ended;
		d->at = undecided_find(&d->undecided, d->named, d->task, d->decision.verdict, err);
		if (d->at == NULL)
			return -1;
	}
	return undecided_decide(&d->undecided, d->at, &d->decision, err);
}

int
deciding_record(struct deciding *d, struct error *err)
{
	struct open_question_answer answer = { .by = d->decision.by, .reason = d->decision.reason };

	if (d->repeats)
		return undecided_repeat(&d->undecided, d->at, &d->decision, err);
	if (d->question == -1) {
		int failed = record_decision(d, err);

		if (failed == 0)
			due_tell(d->storage, d->undecided.run_id);
		return failed;
	}
	if (d->decision.verdict == DECISION_COMPLETED && data_binary(&d->results[0]))
		return error_set(err, ERROR_INVALID_INPUT, d->at->call, "an answer is text or JSON, not bytes");
	if (d->decision.verdict == DECISION_COMPLETED) {
		answer.data = span_of(d->results[0].json.data, d->results[0].json.len);
		answer.no_newline = d->results[0].no_newline;
	}
	if (question_answer(d->question, &answer, err) == 0)
		return 0;
	if (err->place[0] == '\0')
		snprintf(err->place, sizeof err->place, "%s", d->at->call);
	return -1;
}

enum deciding_next
deciding_next(const struct deciding *d)
{
	struct error ignored;
	struct due due;

	if (d->question != -1 || d->working.call != NULL || (d->at != NULL && d->at->attended &&
	    storage_run_alive(d->storage, d->undecided.run_id)))
		return NEXT_AT_ONCE;
	return due_read(&due, d->storage, d->undecided.run_id, false, &ignored) == 0 && due.by_itself &&
	    (due.ready || storage_run_alive(d->storage, d->undecided.run_id)) &&
	    resumes_are_served(d->storage) ? NEXT_BY_ITSELF : NEXT_BY_RESUME;
}

const char *
deciding_next_word(enum deciding_next next)
{
	static const char *const words[] = { [NEXT_AT_ONCE] = "at_once", [NEXT_BY_ITSELF] = "by_itself",
		[NEXT_BY_RESUME] = "resume" };

	return words[next];
}

void
deciding_close(struct deciding *d)
{
	for (size_t i = 0; i < d->decision.results.count; i++)
		data_free(&d->results[i]);
	free(d->results);
	seal_key_forget(&d->seal);
	file_close(&d->question);
	if (d->opened)
		undecided_close(&d->undecided);
	free(d->asks.call);
	working_free(&d->working);
	free(d->named);
	free(d->schema);
	free(d->directory);
	*d = (struct deciding)DECIDING_INIT;
}
