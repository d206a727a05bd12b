/*
 * Each line is made of one spec, filled from the call. A line that is read before the call
 * has ended names the start instead, and has no time or number of an end, though a replay
 * knows them.
 */
#include "step/step_call.h"

#include <stdlib.h>
#include <string.h>

#include "json/writer.h"
#include "transcript/event_keys.h"

static int64_t
step_index(const struct item *item)
{
	struct span metadata = span_of(buffer_string(&item->metadata), item->metadata.len);
	long long index;

	if (metadata.len == 0 || item->foreign ||
	    !span_integer(span_member(metadata, "step_index"), &index) || index < 0)
		return 0;
	return index + 1;
}

/* completed NULL: for lines that are read before the call has ended, although a replay knows
 * when it did: they name its start. */
static void
spec_begin(const struct step_call *call, const struct event *completed, struct state_spec *spec)
{
	const struct step *s = call->step;
	const struct step_end *end = &call->end;
	const struct recalled_event *recorded = &call->verdict.recalled.completed;
	long long number;

	memset(spec, 0, sizeof *spec);
	spec->run_id = s->run->id;
	spec->event_id = completed != NULL ? completed->id : call->started;
	spec->call = call->id;
	spec->path = s->path;
	spec->iteration = call->index;
	spec->agent_name = end->agent != NULL ? end->agent :
	    s->agent != NULL ? s->agent->name : s->name;
	spec->step_index = step_index(call->item);
	spec->tool_calls_count = end->tool_calls;
	spec->attempt = s->run->attempt;
	spec->part = -1;
	if (completed == NULL)
		return;
	spec->seq = completed->seq;
	spec->timestamp = completed->timestamp;
	spec->execution_time_ms = end->duration_ms;
	if (!step_replays(s) || !call->verdict.recalls || recorded->line.len == 0)
		return;
	spec->seq = recorded->view.seq;
	spec->timestamp = call->verdict.ended_at;
	if (span_integer(span_member(recorded->view.payload, KEY_DURATION_MS), &number))
		spec->execution_time_ms = number;
}

static void
put_state(const struct step_call *call, const struct data *data, const struct state_spec *spec,
    struct buffer *out)
{
	struct state_spec full = *spec;
	char *previous = call->item->foreign ? NULL : item_metadata(call->item, "agent_name");

	full.previous_agent = previous;
	if (call->step->raw)
		data_raw(data, out);
	else
		state_write(&full, data, out);
	free(previous);
}

void
step_put_item(const struct step_call *call, const struct event *completed, struct buffer *out)
{
	const struct item *item = call->item;
	/* A --rescue that the user says is done has made the failure good. */
	bool good = item_error(item).at == NULL || (call->step->rescue && call->end.skipped != NULL &&
	    strcmp(call->end.skipped, "by_user") == 0);
	struct state_spec spec;

	if (!good && call->step->raw)
		return;
	if (item->line.len > 0 && !item->foreign && !call->step->raw &&
	    (!good || item_error(item).at == NULL)) {
		buffer_append(out, item->line.data, item->line.len);
		buffer_byte(out, '\n');
		return;
	}
	spec_begin(call, completed, &spec);
	if (!good)
		spec.error = item_error(item);
	spec.attachments = step_attachments(call);
	spec.skipped = call->end.skipped;
	put_state(call, &item->data, &spec, out);
}

/* As they came; one that has no line of its own gets one of this call. */
static void
put_passed(const struct step_call *call, struct state_spec *spec, struct buffer *out)
{
	for (size_t i = 0; i < call->end.passed_count; i++) {
		const struct item *item = &call->end.passed[i];

		spec->part = (long)i;
		if (item->line.len == 0) {
			put_state(call, &item->data, spec, out);
		} else if (call->step->raw) {
			data_raw(&item->data, out);
		} else {
			buffer_append(out, item->line.data, item->line.len);
			buffer_byte(out, '\n');
		}
	}
}

void
step_put_results(const struct step_call *call, const struct event *completed, struct buffer *out)
{
	const struct step *s = call->step;
	struct state_spec spec;

	spec_begin(call, completed, &spec);
	if (completed != NULL)
		spec.key = s->run->key;
	/* What was approved, or has got a further member, is still the item. */
	if (completed != NULL && (s->approve || s->into != NULL))
		spec.attachments = step_attachments(call);
	put_passed(call, &spec, out);
	for (size_t i = 0; i < call->end.result_count; i++) {
		if (s->output != OUTPUT_TEXT)
			spec.part = (long)i;
		put_state(call, &call->end.results[i], &spec, out);
	}
}

void
step_put_failure(const struct step_call *call, const struct event *completed, struct buffer *out)
{
	const struct step *s = call->step;
	struct data nothing = { BUFFER_INIT, false, false };
	struct buffer json = BUFFER_INIT;
	struct state_spec passed, spec;
	struct writer w;
	struct span error;

	if (s->failure == FAILURE_TRY)
		return;
	spec_begin(call, completed, &spec);
	passed = spec;
	passed.key = s->run->key;
	put_passed(call, &passed, out);

	writer_begin(&w, &json);
	writer_object(&w);
	call_write_error(&w, "error", &call->end.error);
	writer_object_end(&w);
	error = span_member(span_of(json.data, json.len), "error");
	if (!step_fails(call)) {
		spec.failure = error;
		data_null(&nothing);
		put_state(call, &nothing, &spec, out);
	} else if (!s->raw) {
		spec.error = error;
		spec.attachments = step_attachments(call);
		put_state(call, &call->item->data, &spec, out);
	}
	data_free(&nothing);
	buffer_free(&json);
}

static void
put_line(const struct step_call *call, bool as_it_came, struct buffer *out)
{
	struct state_spec spec;

	if (as_it_came) {
		buffer_append(out, call->item->line.data, call->item->line.len);
		buffer_byte(out, '\n');
		return;
	}
	spec_begin(call, NULL, &spec);
	state_write(&spec, &call->item->data, out);
}

void
step_state_line(const struct step_call *call, struct buffer *out)
{
	put_line(call, call->item->line.len > 0, out);
}

void
step_body_line(const struct step_call *call, struct buffer *out)
{
	put_line(call, call->item->line.len > 0 && item_error(call->item).at == NULL, out);
}
