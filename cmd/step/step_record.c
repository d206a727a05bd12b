/*
 * The payloads of the two events, member by member. Input that is the result of the parent is
 * not written again: a digest shows that it is. The start is synced only before effects
 * outside, the end always.
 */
#include "step/working.h"

#include <stdlib.h>
#include <string.h>

#include "agent/sandboxing.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "json/writer.h"
#include "run/results.h"

#define REASON_SIZE ((size_t)1000) /* of an error's message */

/* Whether a call was made directly in the enclosing call. */
static bool
call_is_sibling(const char *call, size_t len, const char *enclosing)
{
	size_t prefix = len;

	while (prefix > 0 && call[prefix] != '/')
		prefix--;
	return prefix == strlen(enclosing) && memcmp(call, enclosing, prefix) == 0;
}

static void
add_link(struct working *w, const char *run_id, const char *event_id)
{
	if (w->links.len > 0)
		buffer_byte(&w->links, ',');
	if (run_id == NULL)
		buffer_format(&w->links, "\"%.36s\"", event_id);
	else
		buffer_format(&w->links, "{\"run_id\":\"%.36s\",\"event_id\":\"%.36s\"}", run_id,
		    event_id);
}

/* The parent is the first cause made in the same enclosing call, else the
 * enclosing event; every other cause is a link. */
void
working_find_causes(struct working *w, const struct buffer *causes)
{
	const struct step *s = w->step;
	const char *at = buffer_string(causes), *end;
	const char *event_id, *call;

	for (; *at != '\0'; at = end + 1) {
		end = strchr(at, '\n');
		event_id = at + ID_SIZE;
		call = event_id + ID_SIZE;
		if (memcmp(event_id, s->parent, ID_SIZE - 1) == 0)
			continue; /* it is the parent, unless a call in between is */
		if (memcmp(at, s->run->id, ID_SIZE - 1) != 0)
			add_link(w, at, event_id);
		else if (w->parent[0] == '\0' &&
		    call_is_sibling(call, (size_t)(end - call), s->enclosing))
			memcpy(w->parent, event_id, ID_SIZE - 1);
		else
			add_link(w, NULL, event_id);
	}
	if (w->parent[0] == '\0')
		memcpy(w->parent, s->parent, ID_SIZE);
}

/* Whether the item's data is, byte for byte, the result of the parent event, so
 * that step.started need not repeat it. A call that failed or was skipped has none, nor
 * has the start of the one around this; one of several parts is not all of it. */
static bool
input_is_result(const struct working *w)
{
	static const char *const others[] = { "part", "error", "failure", "skipped" };
	struct span metadata = span_of(buffer_string(&w->item->metadata), w->item->metadata.len);
	char sha256[DIGEST_SIZE];

	if (metadata.len == 0 || w->item->foreign || strcmp(w->parent, w->step->parent) == 0 ||
	    !span_is(span_member(metadata, "event_id"), w->parent))
		return false;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (span_member(metadata, others[i]).at != NULL)
			return false;
	digest_sha256(w->item->data.json.data, w->item->data.json.len, sha256);
	return span_is(span_member(metadata, "sha256"), sha256);
}

void
working_command_text(char *const *argv, struct buffer *out)
{
	for (; *argv != NULL; argv++)
		buffer_format(out, "%s%s", out->len > 0 ? " " : "", *argv);
}

static const char *
step_mode(const struct step *s)
{
	static const char *const modes[] = { NULL, "try", "allow-failure" };

	return s->rescue ? "rescue" : modes[s->failure];
}

static void
write_agent(struct writer *w, const struct agent *agent)
{
	writer_member_string(w, "agent", agent->name);
	writer_member_string(w, "provider", agent->provider);
	writer_member_string(w, "model", agent->model);
}

static void
write_gate(struct writer *w, const struct gate *gate)
{
	if (gate->count == 0)
		return;
	writer_key(w, "require");
	writer_array(w);
	for (size_t i = 0; i < gate->count; i++)
		writer_string(w, gate->required[i]);
	writer_array_end(w);
}

static void
write_input(const struct working *work, struct writer *w)
{
	const struct data *input = &work->item->data;

	writer_member_string(w, "input_sha256", work->input_sha256);
	if (!work->input_is_result) {
		writer_key(w, "input");
		data_write(input, w);
	}
	if (input->no_newline)
		writer_member_bool(w, "no_newline", true);
	attachments_write(&work->attachments, w);
}

static void
write_answer(struct writer *w, const struct condition *condition, const struct verdict *answer)
{
	if (!answer->asked)
		return;
	writer_key(w, "condition");
	writer_object(w);
	writer_member_string(w, condition->word, condition->text);
	writer_key(w, "outcome");
	if (answer->answered)
		writer_bool(w, answer->yes);
	else
		writer_null(w);
	writer_object_end(w);
}

static void
write_loop(const struct step *s, struct writer *w)
{
	writer_key(w, "loop");
	writer_object(w);
	writer_member_string(w, "while", s->proceed.text);
	writer_member_string(w, "until", s->until.text);
	writer_member_integer(w, "max", s->max_rounds);
	writer_object_end(w);
}

static void
write_started(const struct working *work, struct writer *w)
{
	const struct step *s = work->step;

	writer_object(w);
	writer_member_string(w, "name", s->name);
	writer_member_string(w, "kind", s->kind);
	writer_member_string(w, "call", work->id);
	writer_member_integer(w, "attempt", s->run->attempt);
	write_input(work, w);
	writer_member_string(w, "definition_sha256", s->definition_sha256);
	writer_member_buffer(w, "files", &s->files);
	writer_member_string(w, "effects", effects_name(s->effects));
	if (s->idempotent)
		writer_member_bool(w, "idempotent", true);
	if (s->group == GROUP_PARALLEL)
		call_write_branches(w, s->command);
	else if (s->command != NULL)
		call_write_command(w, s->command);
	if (s->agent != NULL)
		write_agent(w, s->agent);
	if (s->operation != NULL)
		writer_member_string(w, "tool", s->operation->name);
	if (s->group == GROUP_LOOP)
		write_loop(s, w);
	else if (s->group == GROUP_PARALLEL)
		writer_member_string(w, "strategy", step_strategies[s->strategy]);
	else if (s->timeout_ms > 0)
		writer_member_integer(w, "timeout_ms", s->timeout_ms);
	write_answer(w, &s->when, &work->when);
	write_gate(w, &s->gate);
	if (s->command != NULL)
		sandboxing_write(&s->sandbox, w);
	working_write_claim(work, w);
	writer_member_string(w, "mode", step_mode(s));
	if (s->try_number > 0)
		writer_member_integer(w, "try", s->try_number);
	writer_object_end(w);
}

/* What stands inside of a JSON array as all of it, in out; nothing stays nothing. */
static struct span
as_array(const struct buffer *inside, struct buffer *out)
{
	if (inside->len == 0)
		return span_of(NULL, 0);
	buffer_format(out, "[%s]", inside->data);
	return span_of(out->data, out->len);
}

int
working_append_started(struct working *work, struct error *err)
{
	struct step *s = work->step;
	struct buffer payload = BUFFER_INIT, links = BUFFER_INIT;
	struct binaries binaries = BINARIES_INIT;
	struct event e = { .type = EVENT_STEP_STARTED, .event_id = work->started,
		.parent_event_id = work->parent, .path = s->path, .iteration = work->index };
	struct writer w;
	int result;

	/* What is to be decided about stands where the decision is made. */
	work->input_is_result = !s->approve && input_is_result(work);
	writer_begin(&w, &payload);
	write_started(work, &w);
	e.payload = span_of(payload.data, payload.len);
	e.links = as_array(&work->links, &links);
	if (!work->input_is_result)
		binaries_add(&binaries, &work->item->data, memory_text("/payload/input"));
	e.raws = binaries.list;
	e.raw_count = binaries.count;
	result = transcript_append(&s->run->transcript, &e, err);
	if (result == 0 && work->skipped == NULL && effects_outside(s->effects))
		result = transcript_sync(&s->run->transcript, err);
	memcpy(work->call.last, work->started, ID_SIZE);
	work->record_from = s->run->transcript.size;
	buffer_free(&payload);
	buffer_free(&links);
	binaries_free(&binaries);
	return result;
}

bool
working_several_results(const struct working *work)
{
	return work->step->output != OUTPUT_TEXT && work->step->command != NULL;
}

static struct results
working_results(const struct working *work)
{
	return (struct results){ work->results, work->result_count, working_several_results(work) };
}

/* A result that is in the file already is not repeated; one that is in another run's
 * is, lest this record depends on that. */
static bool
holds_result(const struct working *work)
{
	return work->error.code == ERROR_NONE && work->skipped == NULL &&
	    !working_passes_item(work) && (!work->reused || work->recalled.run_id[0] != '\0');
}

/* What the run comes to, and for people why: the data. */
static void
write_outcome(const struct working *work, struct writer *w)
{
	struct span data = span_of(work->item->data.json.data, work->item->data.json.len);
	struct buffer reason = BUFFER_INIT;

	writer_member_string(w, "outcome", work->step->terminal);
	if (span_type(data) == 's')
		span_decode(data, &reason);
	else if (span_type(data) != '0')
		buffer_append(&reason, data.at, data.len);
	writer_key(w, "reason");
	writer_bytes(w, buffer_string(&reason), utf8_whole(buffer_string(&reason),
	    reason.len < REASON_SIZE ? reason.len : REASON_SIZE));
	buffer_free(&reason);
}

/* What came of the work. */
static void
write_result(const struct working *work, struct writer *w)
{
	const struct step *s = work->step;
	const struct results results = working_results(work);

	if (work->error.code != ERROR_NONE)
		call_write_error(w, "error", &work->error);
	else if (holds_result(work) && work->passes)
		working_write_passed(work, w);
	else if (holds_result(work))
		results_write(&results, w);
	if (work->passes)
		writer_member_integer(w, "count", (int64_t)work->passed_count);
	else if (working_several_results(work) && work->error.code == ERROR_NONE &&
	    work->skipped == NULL)
		writer_member_integer(w, "parts", (int64_t)work->result_count);
	if (work->winner >= 0)
		writer_member_integer(w, "winner", work->winner);
	write_answer(w, &s->until, &work->until);
	if (s->terminal != NULL && work->skipped == NULL && work->error.code == ERROR_NONE)
		write_outcome(work, w);
}

/* How the work went. */
static void
write_course(const struct working *work, struct writer *w)
{
	writer_member_integer(w, "duration_ms", work->duration_ms);
	if (work->exit_code >= 0)
		writer_member_integer(w, "exit_code", work->exit_code);
	if (work->retries.len > 0) {
		writer_key(w, "retries");
		writer_array(w);
		writer_raw(w, work->retries.data, work->retries.len);
		writer_array_end(w);
	}
	if (work->errors_bytes > 0) {
		writer_key(w, "stderr");
		writer_bytes(w, work->errors.data, work->errors.len);
		writer_member_integer(w, "stderr_bytes", work->errors_bytes);
	}
	changed_write(&work->changed, w);
}

static void
write_completed(const struct working *work, struct writer *w)
{
	writer_object(w);
	writer_member_string(w, "name", work->step->name);
	writer_member_string(w, "kind", work->step->kind);
	writer_member_string(w, "call", work->id);
	writer_member_string(w, "agent", work->agent);
	write_result(work, w);
	write_course(work, w);
	writer_member_string(w, "skipped", work->skipped);
	working_write_reuse(work, w);
	writer_member_buffer(w, "approval", &work->approval);
	if (work->seal.public_key[0] != '\0')
		seal_write(w, &work->seal);
	writer_object_end(w);
}

/* A call that was recorded as waiting has another end only if nobody decided since. */
static int
append_end(struct working *work, struct event *e, struct error *err)
{
	struct transcript *t = &work->step->run->transcript;
	bool waits = work->recalls && work->recalled.end == RECALL_WAITING && !working_replays(work);
	int result = waits ? transcript_append_deciding(t, e, working_check_waits, work, err) :
	    transcript_append(t, e, err);

	return result == 0 ? transcript_sync(t, err) : -1;
}

/* The end, if nobody has decided meanwhile: work->overtaken. */
static int
append_completed(struct working *work, struct error *err)
{
	struct buffer payload = BUFFER_INIT, links = BUFFER_INIT;
	struct binaries binaries = BINARIES_INIT;
	const struct results results = working_results(work);
	struct event *e = &work->completed;
	struct writer w;
	int result;

	work->duration_ms = clock_monotonic() - work->begun;
	writer_begin(&w, &payload);
	write_completed(work, &w);
	if (holds_result(work) && !work->passes)
		binaries_add_results(&binaries, &results);
	*e = (struct event){ .type = EVENT_STEP_COMPLETED, .parent_event_id = work->call.last,
		.event_id = work->ended[0] != '\0' ? work->ended : NULL,
		.path = work->step->path, .iteration = work->index,
		.payload = span_of(payload.data, payload.len),
		.links = as_array(&work->call.links, &links),
		.raws = binaries.list, .raw_count = binaries.count,
		.seal = work->seal.public_key[0] != '\0' ? &work->seal : NULL };
	result = append_end(work, e, err);
	buffer_free(&payload);
	buffer_free(&links);
	binaries_free(&binaries);
	return result;
}

int
working_append_completed(struct working *work, struct error *err)
{
	int result;

	while ((result = append_completed(work, err)) == -1 && work->overtaken)
		working_take_decision(work);
	return result;
}
