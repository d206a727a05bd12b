/*
 * Each line is made of one spec, filled from the call. A line that is read before the call
 * has ended names the start instead, and has no time or number of an end, though a replay
 * knows them.
 */
#include "step/working.h"

#include <stdlib.h>
#include <string.h>

#include "json/writer.h"

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

static void
spec_begin(const struct working *work, struct state_spec *spec)
{
	const struct step *s = work->step;

	memset(spec, 0, sizeof *spec);
	spec->run_id = s->run->id;
	spec->event_id = work->completed.id;
	spec->seq = work->completed.seq;
	spec->timestamp = work->completed.timestamp;
	spec->execution_time_ms = work->duration_ms;
	spec->call = work->id;
	spec->path = s->path;
	spec->iteration = work->index;
	spec->agent_name = work->agent != NULL ? work->agent :
	    s->agent != NULL ? s->agent->name : s->name;
	spec->step_index = step_index(work->item);
	spec->tool_calls_count = work->tool_calls;
	spec->attempt = s->run->attempt;
	spec->part = -1;
	working_recorded_spec(work, spec);
}

static void
put_state(const struct working *work, const struct data *data, const struct state_spec *spec,
    struct buffer *out)
{
	struct state_spec full = *spec;
	char *previous = work->item->foreign ? NULL : item_metadata(work->item, "agent_name");

	full.previous_agent = previous;
	if (work->step->raw)
		data_raw(data, out);
	else
		state_write(&full, data, out);
	free(previous);
}

void
working_pass_item(const struct working *work, struct buffer *out)
{
	const struct item *item = work->item;
	/* A --rescue that the user says is done has made the failure good. */
	bool good = item_error(item).at == NULL || (work->step->rescue && work->skipped != NULL &&
	    strcmp(work->skipped, "by_user") == 0);
	struct state_spec spec;

	if (!good && work->step->raw)
		return;
	if (item->line.len > 0 && !item->foreign && !work->step->raw &&
	    (!good || item_error(item).at == NULL)) {
		buffer_append(out, item->line.data, item->line.len);
		buffer_byte(out, '\n');
		return;
	}
	spec_begin(work, &spec);
	if (!good)
		spec.error = item_error(item);
	spec.attachments = working_attached(work);
	spec.skipped = work->skipped;
	put_state(work, &item->data, &spec, out);
}

/* As it came; one that has no line of its own gets one of this call. */
static void
put_passed(const struct working *work, const struct item *item, const struct state_spec *spec,
    struct buffer *out)
{
	if (item->line.len == 0) {
		put_state(work, &item->data, spec, out);
	} else if (work->step->raw) {
		data_raw(&item->data, out);
	} else {
		buffer_append(out, item->line.data, item->line.len);
		buffer_byte(out, '\n');
	}
}

static void
put_lines(const struct working *work, struct state_spec *spec, struct buffer *out)
{
	for (size_t i = 0; i < work->passed_count; i++) {
		spec->part = (long)i;
		put_passed(work, &work->passed[i], spec, out);
	}
}

static void
put_results(const struct working *work, struct state_spec *spec, struct buffer *out)
{
	put_lines(work, spec, out);
	for (size_t i = 0; i < work->result_count; i++) {
		if (work->step->output != OUTPUT_TEXT)
			spec->part = (long)i;
		put_state(work, &work->results[i], spec, out);
	}
}

void
working_put_results(const struct working *work, struct buffer *out)
{
	struct state_spec spec;

	spec_begin(work, &spec);
	spec.key = work->step->run->key;
	/* What was approved, or has got a further member, is still the item. */
	if (work->step->approve || work->step->into != NULL)
		spec.attachments = working_attached(work);
	put_results(work, &spec, out);
}

bool
working_fails(const struct working *work)
{
	return work->step->failure != FAILURE_ALLOWED || !error_of_work(work->error.code);
}

static void
put_error(const struct working *work, struct span error, struct buffer *out)
{
	struct data nothing = { BUFFER_INIT, false, false };
	struct state_spec spec;

	spec_begin(work, &spec);
	if (!working_fails(work)) {
		spec.failure = error;
		data_null(&nothing);
		put_state(work, &nothing, &spec, out);
	} else if (!work->step->raw) {
		spec.error = error;
		spec.attachments = working_attached(work);
		put_state(work, &work->item->data, &spec, out);
	}
	data_free(&nothing);
}

void
working_put_failure(const struct working *work, struct buffer *out)
{
	struct buffer json = BUFFER_INIT;
	struct state_spec spec;
	struct writer w;

	if (work->step->failure == FAILURE_TRY)
		return;
	spec_begin(work, &spec);
	spec.key = work->step->run->key;
	put_lines(work, &spec, out);
	writer_begin(&w, &json);
	writer_object(&w);
	call_write_error(&w, "error", &work->error);
	writer_object_end(&w);
	put_error(work, span_member(span_of(json.data, json.len), "error"), out);
	buffer_free(&json);
}

/* For lines that are read before the call has ended, although a replay knows when it
 * did: they name its start. */
static void
spec_begin_early(const struct working *work, struct state_spec *spec)
{
	spec_begin(work, spec);
	spec->event_id = work->started;
	spec->timestamp = NULL;
	spec->seq = 0;
	spec->execution_time_ms = 0;
}

static void
put_line(const struct working *work, bool as_it_came, struct buffer *out)
{
	struct state_spec spec;

	if (as_it_came) {
		buffer_append(out, work->item->line.data, work->item->line.len);
		buffer_byte(out, '\n');
		return;
	}
	spec_begin_early(work, &spec);
	state_write(&spec, &work->item->data, out);
}

void
working_state_line(const struct working *work, struct buffer *out)
{
	put_line(work, work->item->line.len > 0, out);
}

void
working_body_line(const struct working *work, struct buffer *out)
{
	put_line(work, work->item->line.len > 0 && item_error(work->item).at == NULL, out);
}

void
working_result_lines(const struct working *work, struct buffer *out)
{
	struct state_spec spec;

	spec_begin_early(work, &spec);
	put_results(work, &spec, out);
}
