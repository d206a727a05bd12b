/*
 * At the start: enter the parent's roster, write and sync the line of the start, then make the
 * child. At the end: write and sync the line, then leave the roster. So a process that dies in
 * between is missed. The roster record stays open, as if the call had died, after an error of the
 * machine or if somebody killed it.
 */
#include "run_resume/child.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/memory.h"
#include "base/text.h"
#include "history/recall.h"
#include "json/exact.h"
#include "model/results.h"
#include "proc/ending.h"
#include "storage/definition_file_keep.h"
#include "transcript/call.h"
#include "transcript/event_keys.h"

#define KIND "call_workflow"
#define NAME_LIMIT 128

static int
child_enter_roster(struct child *c, struct error *err)
{
	struct roster_entry entry = { .name = c->name, .tried = c->tried, .out = STDOUT_FILENO };
	const char *enclosing, *path;

	if (call_around(&enclosing, &path, err) != 0)
		return -1;
	entry.enclosing = enclosing;
	if (roster_begin(&c->roster, c->parent.directory, &entry, err) != 0)
		return -1;
	c->enclosing = memory_text(enclosing);
	c->path = memory_format("%s%s%s", path, *path != '\0' ? "." : "", c->name);
	c->call = memory_format("%s%s%s:%ld:0", enclosing, *enclosing != '\0' ? "/" : "", c->name,
	    c->roster.occurrence);
	return 0;
}

int
child_enter(struct child *c, const char *run_name, const char *script, bool tried,
    struct error *err)
{
	const char *ending, *dot;
	size_t len;

	memset(c, 0, sizeof *c);
	c->tried = tried;
	c->roster.fd = -1;
	if (run_enter(&c->parent, err) != 0)
		return -1;
	ending = ending_begun(c->parent.directory);
	id_new(c->run_id);
	c->begun = clock_monotonic();
	/* brief.awf: brief; a character that names cannot have becomes "_". */
	dot = strrchr(run_name, '.');
	len = dot != NULL && dot > run_name ? (size_t)(dot - run_name) : strlen(run_name);
	c->name = memory_copy(run_name, len < NAME_LIMIT ? len : NAME_LIMIT);
	for (char *at = c->name; *at != '\0'; at++)
		if (!name_valid((char[]){ *at, '\0' }))
			*at = '_';
	if (ending != NULL) {
		/* The parent must notice that the child is missing, even with --try. */
		c->tried = false;
		if (child_enter_roster(c, err) != 0)
			return -1;
		return error_set(err, ERROR_BLOCKED, run_name, "not started: %s is being ended",
		    strcmp(ending, "the run") == 0 ? "the run around it" : ending);
	}
	if (lineage_read(&c->lineage, c->parent.directory, err) != 0 ||
	    lineage_add(&c->lineage, c->run_id, script, err) != 0)
		return -1;
	return child_enter_roster(c, err);
}

void
child_define(struct child *c, const struct child_start *start)
{
	struct buffer text = BUFFER_INIT;
	struct writer w;

	writer_begin(&w, &text);
	writer_array(&w);
	for (char *const *word = start->argv; *word != NULL; word++)
		writer_exact_string(&w, *word);
	writer_array_end(&w);
	buffer_append(&text, start->inputs.at, start->inputs.len);
	digest_sha256(text.data, text.len, c->definition_sha256);
	buffer_clear(&text);
	for (char *const *word = start->argv; *word != NULL; word++)
		buffer_format(&text, "%s%s", word != start->argv ? " " : "", *word);
	recalled_describe_inputs(&text, start->inputs);
	c->command = buffer_take(&text);
	c->text = start->script == NULL;
}

static void
write_recorded(struct writer *w, const char *key, const struct child_recorded *recorded)
{
	if (recorded->event_id == NULL)
		return;
	if (*recorded->run_id == '\0') {
		writer_member_string(w, key, recorded->event_id);
		return;
	}
	writer_key(w, key);
	writer_object(w);
	writer_member_string(w, KEY_RUN_ID, recorded->run_id);
	writer_member_string(w, KEY_EVENT_ID, recorded->event_id);
	writer_object_end(w);
}

static void
begin_payload(const struct child *c, struct writer *w, struct buffer *payload)
{
	writer_begin(w, payload);
	writer_object(w);
	writer_member_string(w, KEY_NAME, c->name);
	writer_member_string(w, KEY_KIND, KIND);
	writer_member_string(w, KEY_CALL, c->call);
}

static int
child_append_event(struct child *c, struct event *e, const struct buffer *payload,
    struct error *err)
{
	e->path = c->path;
	e->child_run_id = c->run_id;
	e->payload = span_of(payload->data, payload->len);
	return transcript_append(&c->parent.transcript, e, err) != 0 ? -1 :
	    transcript_sync(&c->parent.transcript, err);
}

static void
write_input(struct writer *w, const char *sha256, int64_t bytes, const char *data_sha256)
{
	writer_key(w, KEY_STDIN);
	writer_object(w);
	writer_member_string(w, KEY_SHA256, sha256);
	writer_member_integer(w, KEY_BYTES, bytes);
	writer_member_string(w, KEY_DATA_SHA256, data_sha256);
	writer_object_end(w);
}

int
child_started(struct child *c, const struct child_start *start,
    const struct child_recorded *claims, struct error *err)
{
	struct event e = { .type = EVENT_CALL_WORKFLOW_STARTED,
		.event_id = c->next_started[0] != '\0' ? c->next_started : NULL,
		.parent_event_id = c->parent.started };
	struct buffer payload = BUFFER_INIT;
	char sha256[DIGEST_SIZE];
	struct writer w;
	int failed = 0;

	begin_payload(c, &w, &payload);
	writer_member_integer(&w, KEY_ATTEMPT, c->parent.attempt);
	writer_member_string(&w, KEY_INPUT_SHA256, digest_sha256(CHILD_INPUT,
	    sizeof CHILD_INPUT - 1, sha256));
	writer_member_span(&w, KEY_INPUT, span_of(CHILD_INPUT, sizeof CHILD_INPUT - 1));
	writer_member_string(&w, KEY_DEFINITION_SHA256, c->definition_sha256);
	writer_member_string(&w, KEY_WORKFLOW_SHA256, start->workflow_sha256);
	if (start->script != NULL) {
		writer_key(&w, KEY_FILES);
		writer_array(&w);
		if (utf8_valid(start->script, strlen(start->script)))
			failed = definition_file_keep(&c->parent, start->script, &w, err);
		writer_array_end(&w);
	}
	writer_member_span(&w, KEY_INPUTS, start->inputs);
	marks_write(&c->marks, &w);
	call_write_command(&w, start->argv);
	if (start->timeout_ms > 0)
		writer_member_integer(&w, KEY_TIMEOUT_MS, start->timeout_ms);
	if (start->detached)
		writer_member_bool(&w, KEY_DETACHED, true);
	if (start->no_transcript)
		writer_member_bool(&w, KEY_NO_TRANSCRIPT, true);
	if (start->given != NULL)
		write_input(&w, start->given->sha256, start->given->bytes,
		    start->given->data_sha256[0] != '\0' ? start->given->data_sha256 : NULL);
	write_recorded(&w, KEY_CLAIMS, claims);
	if (c->tried)
		writer_member_string(&w, KEY_MODE, "try");
	if (call_try_around() > 0)
		writer_member_integer(&w, KEY_TRY, call_try_around());
	writer_member_string(&w, KEY_TOOL_CALL, call_tool_around());
	writer_object_end(&w);
	if (failed == 0)
		failed = child_append_event(c, &e, &payload, err);
	buffer_free(&payload);
	if (failed != 0)
		return -1;
	memcpy(c->cause.run_id, c->parent.id, ID_SIZE);
	memcpy(c->cause.event_id, e.id, ID_SIZE);
	return 0;
}

int
child_completed(struct child *c, const struct child_end *end, struct error *err)
{
	struct event e = { .type = EVENT_CALL_WORKFLOW_COMPLETED,
		.event_id = c->next_completed[0] != '\0' ? c->next_completed : NULL,
		.parent_event_id = c->cause.event_id };
	const struct results results = { .list = end->result, .count = 1 };
	const bool fails = end->error != NULL && end->error->code != ERROR_NONE;
	struct buffer payload = BUFFER_INIT;
	struct binaries binaries = BINARIES_INIT;
	struct writer w;
	struct buffer links = BUFFER_INIT;
	int failed;

	begin_payload(c, &w, &payload);
	if (fails)
		call_write_error(&w, KEY_ERROR, end->error);
	/* A reader of a failed child has read what it printed, so that is recorded as its result; a
	 * failed child that printed nothing has no result. */
	if (end->result != NULL && !(fails && data_nothing(end->result))) {
		results_write(&results, &w);
		binaries_add_results(&binaries, &results);
	} else if (end->result == NULL && !(fails && end->stdout_bytes == 0) &&
	    end->reused_from.event_id == NULL) {
		writer_member_integer(&w, KEY_STDOUT_BYTES, end->stdout_bytes);
	}
	writer_member_integer(&w, KEY_DURATION_MS, clock_monotonic() - c->begun);
	if (end->exit_code >= 0)
		writer_member_integer(&w, KEY_EXIT_CODE, end->exit_code);
	writer_member_string(&w, KEY_COMPARED_WITH, end->compared_with);
	if (end->stdin_sha256 != NULL)
		write_input(&w, end->stdin_sha256, end->stdin_bytes, end->stdin_data_sha256);
	write_recorded(&w, KEY_REUSED_FROM, &end->reused_from);
	writer_object_end(&w);
	e.raws = binaries.list;
	e.raw_count = binaries.count;
	if (end->completed != NULL) {
		event_add_link(&links, c->run_id, end->completed);
		e.links = span_of(links.data, links.len);
	}
	failed = child_append_event(c, &e, &payload, err);
	/* After an error of the machine, or if somebody killed it, the enclosing work did not reach
	 * this call's end. */
	if (failed == 0 && end->error != NULL && end->error->code == ERROR_SYSTEM)
		roster_fail(&c->roster, end->error);
	else if (failed == 0 && (end->error == NULL || end->error->code != ERROR_INTERRUPTED))
		roster_end(&c->roster);
	buffer_free(&payload);
	binaries_free(&binaries);
	buffer_free(&links);
	return failed;
}

void
child_fail(struct child *c, const struct error *why)
{
	roster_fail(&c->roster, why);
}

void
child_leave(struct child *c)
{
	if (c->parent.directory == NULL)
		return;
	marks_free(&c->marks);
	roster_close(&c->roster);
	run_close(&c->parent);
	free(c->name);
	free(c->path);
	free(c->call);
	free(c->command);
	free(c->enclosing);
	c->name = c->path = c->call = c->enclosing = NULL;
}
