#include "agent/working.h"

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
	spec->agent_name = s->agent != NULL ? s->agent->name : s->name;
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

/* The item goes on: as it came if this run's state line it was, else as a line of
 * this call's. */
void
working_pass_item(const struct working *work, struct buffer *out)
{
	const struct item *item = work->item;
	struct state_spec spec;

	if (item_error(item).at != NULL && work->step->raw)
		return;
	if (item->line.len > 0 && !item->foreign && !work->step->raw) {
		buffer_append(out, item->line.data, item->line.len);
		buffer_byte(out, '\n');
		return;
	}
	spec_begin(work, &spec);
	spec.error = item_error(item);
	spec.skipped = work->skipped;
	put_state(work, &item->data, &spec, out);
}

void
working_put_results(const struct working *work, struct buffer *out)
{
	struct state_spec spec;
	size_t i;

	spec_begin(work, &spec);
	spec.key = work->step->run->key;
	for (i = 0; i < work->result_count; i++) {
		if (work->step->output != OUTPUT_TEXT)
			spec.part = (long)i;
		put_state(work, &work->results[i], &spec, out);
	}
}

void
working_put_failure(const struct working *work, struct buffer *out)
{
	struct buffer json = BUFFER_INIT;
	struct data nothing = { BUFFER_INIT, false, false };
	struct state_spec spec;
	struct writer w;
	struct span error;

	if (work->step->failure == FAILURE_TRY ||
	    (work->step->raw && work->step->failure != FAILURE_ALLOWED))
		return;
	writer_begin(&w, &json);
	writer_object(&w);
	working_write_error(&w, "error", &work->error);
	writer_object_end(&w);
	error = span_member(span_of(json.data, json.len), "error");
	spec_begin(work, &spec);
	if (work->step->failure == FAILURE_ALLOWED) {
		spec.failure = error;
		data_null(&nothing);
		put_state(work, &nothing, &spec, out);
	} else {
		spec.error = error;
		put_state(work, &work->item->data, &spec, out);
	}
	data_free(&nothing);
	buffer_free(&json);
}

/* The state line that conditions and -e read; an item without one gets a line that
 * names this call's step.started. */
void
working_state_line(const struct working *work, struct buffer *out)
{
	struct state_spec spec;

	if (work->item->line.len > 0) {
		buffer_append(out, work->item->line.data, work->item->line.len);
		buffer_byte(out, '\n');
		return;
	}
	spec_begin(work, &spec);
	spec.event_id = work->started;
	spec.timestamp = NULL;
	/* The call has not ended, although a replay knows when it did. */
	spec.seq = 0;
	spec.execution_time_ms = 0;
	state_write(&spec, &work->item->data, out);
}
