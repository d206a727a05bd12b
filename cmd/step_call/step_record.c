/*
 * The payloads of the two events, member by member. If the input is the result of the parent event
 * it is not written again: a digest proves that. The start is synced only before effects outside,
 * the end always.
 */
#include "step_call/step_call.h"

#include <string.h>

#include "base/memory.h"
#include "decide/decision.h"
#include "model/results.h"
#include "step_call/work.h"
#include "transcript/event_keys.h"

/* Whether the item's data is, byte for byte, the result of the parent event, so that
 * step.started need not repeat it. A call that failed or was skipped has no result, nor has the
 * start of the enclosing call; one of several parts is not the whole result. */
static bool
input_is_result(const struct step_call *call)
{
	static const char *const others[] = { "part", "error", "failure", "skipped" };
	struct span metadata = span_of(buffer_string(&call->item->metadata), call->item->metadata.len);
	char sha256[DIGEST_SIZE];

	if (metadata.len == 0 || call->item->foreign || strcmp(call->parent, call->step->place.parent) == 0 ||
	    !span_is(span_member(metadata, "event_id"), call->parent))
		return false;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (span_member(metadata, others[i]).at != NULL)
			return false;
	digest_sha256(call->item->data.json.data, call->item->data.json.len, sha256);
	return span_is(span_member(metadata, "sha256"), sha256);
}

static void
step_record_write_condition(struct writer *w, const struct condition *condition,
    const struct condition_answer *answer)
{
	if (!answer->asked)
		return;
	writer_member_object(w, KEY_CONDITION);
	writer_member_string(w, condition->word, condition->text);
	writer_key(w, KEY_OUTCOME);
	if (answer->answered)
		writer_bool(w, answer->yes);
	else
		writer_null(w);
	writer_object_end(w);
}

/* Writes the id of an event of the recorded call. */
static void
write_recorded(struct writer *w, const char *key, const struct recalled *r, const char *id)
{
	if (r->run_id[0] == '\0') {
		writer_member_string(w, key, id);
		return;
	}
	writer_member_object(w, key);
	writer_member_string(w, KEY_RUN_ID, r->run_id);
	writer_member_string(w, KEY_EVENT_ID, id);
	writer_object_end(w);
}

void
step_write_timeout(const struct step *s, struct writer *w)
{
	if (s->options.timeout_ms > 0)
		writer_member_integer(w, KEY_TIMEOUT_MS, s->options.timeout_ms);
}

static void
write_started(const struct step_call *call, bool with_input, struct writer *w)
{
	static const char *const modes[] = { NULL, "try", "allow-failure" };
	const struct step *s = call->step;
	const struct work *work = s->definition.work;
	const struct data *input = &call->item->data;
	const struct span completed = span_of(buffer_string(&call->completed_by), call->completed_by.len);
	const struct recalled *r = &call->verdict.recalled;

	writer_object(w);
	writer_member_string(w, KEY_NAME, s->options.name);
	writer_member_string(w, KEY_KIND, s->definition.kind);
	writer_member_string(w, KEY_CALL, call->id);
	writer_member_integer(w, KEY_ATTEMPT, s->place.run->attempt);

	/* The inputs of the call. */
	writer_member_string(w, KEY_INPUT_SHA256, call->input_sha256);
	if (with_input) {
		writer_key(w, KEY_INPUT);
		data_write(input, w);
	}
	if (input->no_newline)
		writer_member_bool(w, KEY_NO_NEWLINE, true);
	for (struct span_walk member = span_walk(completed); completed.len > 0 && span_next(&member);)
		writer_raw_member(w, member.key, member.value);
	writer_member_string(w, KEY_DEFINITION_SHA256, s->definition.sha256);
	writer_member_buffer(w, KEY_FILES, &s->definition.files);
	marks_write(&s->place.marks, w);
	writer_member_string(w, KEY_EFFECTS, effects_name(s->options.effects));
	if (s->options.idempotent)
		writer_member_bool(w, KEY_IDEMPOTENT, true);

	/* What it does. */
	if (work->record_work != NULL)
		work->record_work(call, w);
	else
		step_write_timeout(s, w);

	/* When and how. */
	step_record_write_condition(w, &s->options.when, &call->when);
	if (s->options.gate.count > 0) {
		writer_member_array(w, KEY_REQUIRE);
		for (size_t i = 0; i < s->options.gate.count; i++)
			writer_string(w, s->options.gate.required[i]);
		writer_array_end(w);
	}
	if (work->record_place != NULL)
		work->record_place(call, w);
	if (call->verdict.recalls && !step_replays(s) && !r->beside)
		write_recorded(w, KEY_CLAIMS, r, r->started.id);
	if (r->repeated || (r->changed && call->verdict.says == VERDICT_DO))
		writer_member_bool(w, KEY_MADE_AGAIN, true);
	writer_member_string(w, KEY_MODE, s->options.rescue ? "rescue" : modes[s->options.failure]);
	if (s->place.try_number > 0)
		writer_member_integer(w, KEY_TRY, s->place.try_number);
	writer_member_string(w, KEY_TOOL_CALL, s->place.tool_call);
	if (call->task != NULL) {
		writer_member_object(w, KEY_PENDING);
		writer_member_string(w, KEY_TASK, call->task);
		writer_member_string(w, KEY_FORM, output_forms[s->options.output.form]);
		writer_object_end(w);
	}
	writer_object_end(w);
}

int
step_record_start(const struct step_call *call, struct error *err)
{
	struct step *s = call->step;
	/* The input to be decided about is in the event that says what is decided. */
	bool with_input = s->definition.work->decides || !input_is_result(call);
	struct buffer payload = BUFFER_INIT;
	struct binaries binaries = BINARIES_INIT;
	struct event e = { .type = EVENT_STEP_STARTED, .event_id = call->started,
		.parent_event_id = call->parent, .path = s->place.path, .iteration = call->index };
	struct writer w;
	int result;

	writer_begin(&w, &payload);
	write_started(call, with_input, &w);
	e.payload = span_of(payload.data, payload.len);
	e.links = span_of(call->causes->links.data, call->causes->links.len);
	if (with_input)
		binaries_add(&binaries, &call->item->data, memory_text("/payload/input"));
	e.raws = binaries.list;
	e.raw_count = binaries.count;
	result = transcript_append(&s->place.run->transcript, &e, err);
	if (result == 0 && call->end.skipped == NULL && effects_outside(s->options.effects))
		result = transcript_sync(&s->place.run->transcript, err);
	buffer_free(&payload);
	binaries_free(&binaries);
	return result;
}

/* A result that is in this file already is not repeated; a result in another run's file is, so
 * that this record does not depend on that. */
static bool
holds_result(const struct step_call *call)
{
	const struct step_end *end = &call->end;

	return end->error.code == ERROR_NONE && end->skipped == NULL && !end->passes_item &&
	    (!end->reused || call->verdict.recalled.run_id[0] != '\0');
}

static void
write_completed(const struct step_call *call, const struct results *results, struct writer *w)
{
	const struct step *s = call->step;
	const struct step_end *end = &call->end;
	const struct recalled *r = &call->verdict.recalled;
	bool failed = end->error.code != ERROR_NONE;

	writer_object(w);
	writer_member_string(w, KEY_NAME, s->options.name);
	writer_member_string(w, KEY_KIND, s->definition.kind);
	writer_member_string(w, KEY_CALL, call->id);
	writer_member_string(w, KEY_AGENT, end->agent);

	/* The outcome of the work. */
	if (failed)
		call_write_error(w, KEY_ERROR, &end->error);
	else if (holds_result(call) && end->passes)
		step_write_lines(call, w);
	else if (holds_result(call))
		results_write(results, w);
	if (end->passes)
		writer_member_integer(w, KEY_COUNT, (int64_t)(end->passed_count + end->gone_count));
	else if (results->several && !failed && end->skipped == NULL)
		writer_member_integer(w, KEY_PARTS, (int64_t)end->result_count);
	if (end->winner >= 0)
		writer_member_integer(w, KEY_WINNER, end->winner);
	step_record_write_condition(w, &s->definition.until, &end->until);
	if (s->definition.work->record_end != NULL)
		s->definition.work->record_end(call, w);

	/* How it went. */
	writer_member_integer(w, KEY_DURATION_MS, end->duration_ms);
	if (end->exit_code >= 0)
		writer_member_integer(w, KEY_EXIT_CODE, end->exit_code);
	far_write(w, &end->far);
	if (end->retries.len > 0) {
		writer_member_array(w, KEY_RETRIES);
		writer_raw(w, end->retries.data, end->retries.len);
		writer_array_end(w);
	}
	if (end->errors_bytes > 0) {
		writer_key(w, KEY_STDERR);
		writer_bytes(w, end->errors.data, end->errors.len);
		writer_member_integer(w, KEY_STDERR_BYTES, end->errors_bytes);
	}
	changed_write(&end->changed, w);

	writer_member_string(w, KEY_SKIPPED, end->skipped);
	if (end->error.code == ERROR_WAITING && call->verdict.recalled.compared[0] != '\0')
		writer_member_string(w, KEY_COMPARED_WITH, call->verdict.recalled.compared);
	if (s->options.fail_fast && failed && end->error.code != ERROR_WAITING && end->error.code != ERROR_CANCELLED)
		writer_member_bool(w, KEY_FAIL_FAST, true);
	if (end->reused)
		write_recorded(w, KEY_REUSED_FROM, r, recalled_result(r)->id);
	if (end->reused && r->outdated)
		writer_member_bool(w, KEY_PROGRAM_CHANGED, true);
	writer_member_buffer(w, KEY_APPROVAL, &end->approval);
	if (end->seal.public_key[0] != '\0')
		seal_write(w, &end->seal);
	writer_object_end(w);
}

/* A call that was recorded as waiting gets another end only if nobody has decided meanwhile; a
 * call that hands its work over begins to wait only if there is no result yet. Both are checked
 * under the transcript's lock. */
struct deciding {
	const struct step_call *call;
	const struct recall *recall;
	struct recalled *waits;
	struct event_place *early;
	bool overtaken;            /* by a decision, or another deadline */
};

/* Of transcript_append_deciding(). */
static int
check_early(void *context, struct event *e, struct error *err)
{
	struct deciding *d = context;
	int found = decision_find_early(d->call->step->place.run->transcript.path, d->call->record_from,
	    d->call->started, d->call->number, d->early, err);

	(void)e;
	d->overtaken = found == 1;
	return found == 0 ? 0 : -1;
}

/* Of transcript_append_deciding(). */
static int
check_attended(void *context, struct event *e, struct error *err)
{
	struct deciding *d = context;
	struct attended_wait wait = d->call->wait;
	int found = decision_find(d->call->step->place.run->transcript.path, &wait, d->early, err);

	(void)e;
	d->overtaken = found == 1;
	return found == 0 ? 0 : -1;
}

/* Of transcript_append_deciding(). */
static int
check_waits(void *context, struct event *e, struct error *err)
{
	struct deciding *d = context;
	char before[ID_SIZE];
	int decided;

	(void)e;
	memcpy(before, d->waits->completed.id, sizeof before);
	decided = d->recall->decided_since(d->recall->history, d->waits, err);
	d->overtaken = decided == 1 || strcmp(before, d->waits->completed.id) != 0;
	return decided == 0 && !d->overtaken ? 0 : -1;
}

int
step_record_end(const struct step_call *call, struct recalled *waits, struct event_place *early,
    struct event *completed, struct error *err)
{
	const struct step_end *end = &call->end;
	const struct results results = { end->results, end->result_count, step_several_results(call) };
	struct transcript *t = &call->step->place.run->transcript;
	struct deciding deciding = { .call = call, .recall = call->step->place.recall, .waits = waits,
		.early = early };
	bool attends = step_attends(call);
	bool begins_to_wait = waits == NULL && call->number > 0 && end->error.code == ERROR_WAITING &&
	    !step_replays(call->step);
	struct buffer payload = BUFFER_INIT;
	struct binaries binaries = BINARIES_INIT;
	struct writer w;
	int result;

	writer_begin(&w, &payload);
	if (attends)
		step_write_wait(call, &w);
	else
		write_completed(call, &results, &w);
	if (holds_result(call) && !end->passes)
		binaries_add_results(&binaries, &results);
	*completed = (struct event){ .type = attends ? EVENT_STEP_WAITING : EVENT_STEP_COMPLETED,
		.parent_event_id = attends ? call->started : call->events.last,
		.event_id = call->ended[0] != '\0' ? call->ended : NULL,
		.path = call->step->place.path, .iteration = call->index,
		.payload = span_of(payload.data, payload.len),
		.links = span_of(call->events.links.data, call->events.links.len),
		.raws = binaries.list, .raw_count = binaries.count,
		.seal = end->seal.public_key[0] != '\0' ? &end->seal : NULL };
	result = waits != NULL ? transcript_append_deciding(t, completed, check_waits, &deciding, err) :
	    call->wait.event[0] != '\0' ? transcript_append_deciding(t, completed, check_attended, &deciding, err) :
	    begins_to_wait ? transcript_append_deciding(t, completed, check_early, &deciding, err) :
	    transcript_append(t, completed, err);
	if (result == 0)
		result = transcript_sync(t, err);
	buffer_free(&payload);
	binaries_free(&binaries);
	return deciding.overtaken ? 1 : result;
}
