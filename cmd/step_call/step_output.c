/*
 * What a call outputs: the results that it has made, or the lines that a body has printed.
 *
 * A body's output is parsed as state lines if it begins like one. Lines made by steps of this run
 * are passed on as they came; of other lines, only the data is passed on, as output of this call.
 * In the record a token is replaced by whether it was valid, because the next attempt has another
 * key for tokens.
 *
 * Each line for stdout is built from one spec that is filled from the call. A line that is read
 * before the call has ended names the start event instead, and has no time or number of an end,
 * though a replay knows them.
 */
#include "step_call/step_call.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "step_call/work.h"
#include "transcript/event_keys.h"

/* ---- results ---- */

void
step_add_result(struct step_end *end, struct data *data)
{
	end->results = memory_array(end->results, end->result_count + 1, sizeof *end->results);
	end->results[end->result_count++] = *data;
}

void
step_forget_results(struct step_end *end)
{
	for (size_t i = 0; i < end->result_count; i++)
		data_free(&end->results[i]);
	free(end->results);
	end->results = NULL;
	end->result_count = 0;
}

/* Only the lines: their effect on the call stays. */
static void
forget_passed(struct step_end *end)
{
	for (size_t i = 0; i < end->passed_count; i++)
		item_free(&end->passed[i]);
	free(end->passed);
	end->passed = NULL;
	end->passed_count = 0;
	end->passes = false;
}

void
step_put_into(struct step_call *call)
{
	const char *key = call->step->options.output.into;
	struct step_end *end = &call->end;
	struct span data = span_of(call->item->data.json.data, call->item->data.json.len);
	struct data merged = { BUFFER_INIT, false, false };
	struct writer w;

	if (end->passes) {
		/* The data of the single line that arrived. */
		size_t count = end->passed_count;

		if (end->error.code == ERROR_NONE && count == 1) {
			step_add_result(end, &end->passed[0].data);
			memset(&end->passed[0].data, 0, sizeof end->passed[0].data);
		} else if (end->error.code == ERROR_NONE) {
			error_set(&end->error, ERROR_INVALID_INPUT, "--into",
			    "takes one result, and %zu came", count);
		}
		forget_passed(end);
	}
	if (end->error.code != ERROR_NONE)
		return;
	writer_begin(&w, &merged.json);
	writer_object(&w);
	if (span_type(data) == 'o') {
		for (struct span_walk member = span_walk(data); span_next(&member);)
			if (!span_is(member.key, key))
				writer_raw_member(&w, member.key, member.value);
	} else {
		writer_member_span(&w, "input", data);
	}
	writer_key_quoted(&w, key, strlen(key));
	writer_raw(&w, end->results[0].json.data, end->results[0].json.len);
	writer_object_end(&w);
	data_free(&end->results[0]);
	end->results[0] = merged;
}

/* ---- lines that are passed on ---- */

void
step_pass(struct step_call *call, struct item *item)
{
	struct step_end *end = &call->end;
	struct span metadata = span_of(item->metadata.data, item->metadata.len);

	/* A line that names the call's start was made for the body to read, and came back. */
	if (item_error(item).at == NULL && (item->metadata.len == 0 || item->foreign ||
	    span_is(span_member(metadata, "event_id"), call->started))) {
		buffer_free(&item->line);
		buffer_free(&item->metadata);
	}
	end->passed = memory_array(end->passed, end->passed_count + 1, sizeof *end->passed);
	end->passed[end->passed_count++] = *item;
	memset(item, 0, sizeof *item);
	end->passes = true;
}

int
step_pass_lines(struct step_call *call, struct buffer *lines, enum input_form form,
    struct error *why)
{
	struct state_reader r;
	struct item item;
	int got;

	memset(&item, 0, sizeof item);
	state_reader_begin(&r, -1, form, call->step->place.run->id);
	state_reader_give(&r, lines);
	while ((got = state_reader_next(&r, &item, why)) == 1 && r.form == INPUT_STATE)
		step_pass(call, &item);
	item_free(&item);
	state_reader_free(&r);
	return got == -1 ? -1 : r.form != INPUT_STATE;
}

void
step_drop_lines(struct step_call *call)
{
	forget_passed(&call->end);
	call->end.told = false;
	buffer_clear(&call->events.links);
}

bool
step_take_lines(struct step_call *call, const struct buffer *output)
{
	struct step_end *end = &call->end;
	struct error *error = &end->error;
	struct error why = ERROR_INIT;
	struct buffer bytes = BUFFER_INIT;
	struct map seen = MAP_INIT;
	size_t kept = 0;
	int wrong;

	/* If it is not an object it is not a state line: text is not copied to find that out. */
	if (span_type(span_trim(span_of(buffer_string(output), output->len))) != 'o')
		return false;
	buffer_append(&bytes, output->data, output->len);
	wrong = step_pass_lines(call, &bytes, INPUT_AUTO, &why);
	if (wrong == 1)
		return false;
	if (error->code != ERROR_NONE && error->code != ERROR_EXIT_STATUS) {
		step_drop_lines(call); /* it was cut off somewhere */
		return true;
	}

	/* The events that the lines name become causes of the call's end, each once. The first
	 * line that reports a failure says why the call failed; lines with failures are not
	 * output. */
	for (size_t i = 0; i < end->passed_count; i++) {
		struct item *item = &end->passed[i];
		struct span told = item_error(item);
		char *id = item->foreign ? NULL : item_metadata(item, "event_id");

		if (id != NULL && map_get(&seen, id, strlen(id)) == NULL) {
			map_put(&seen, id, strlen(id), i);
			call_add_link(&call->events, id);
		}
		free(id);
		if (told.at == NULL) {
			end->passed[kept++] = *item;
			continue;
		}
		if (!end->told)
			state_error(told, error);
		end->told = true;
		item_free(item);
	}
	end->passed_count = kept;
	map_free(&seen);
	if (wrong == -1 && error->code == ERROR_NONE)
		error_set(error, ERROR_INVALID_INPUT, "stdout", "%s", why.message);
	return true;
}

/* The metadata of a line, unchanged except for the token: in the record, whether there is a
 * valid one; in a line that goes out again, a token of this attempt if there was a valid one. */
static void
write_metadata(struct writer *w, const struct gate *gate, const struct item *item, bool recorded)
{
	char token[DIGEST_SIZE];

	writer_member_object(w, "metadata");
	for (struct span_walk member = span_walk(span_of(item->metadata.data, item->metadata.len));
	    span_next(&member);) {
		if (!span_is(member.key, "token"))
			writer_raw_member(w, member.key, member.value);
		else if (!recorded && gate_vouched(gate, item))
			writer_member_bool(w, "token", true);
		else if (recorded && span_true(member.value) && gate_vouch(gate, item, token))
			writer_member_string(w, "token", token);
	}
	writer_object_end(w);
}

void
step_write_lines(const struct step_call *call, struct writer *w)
{
	writer_member_array(w, KEY_RESULT);
	for (size_t i = 0; i < call->end.passed_count; i++) {
		const struct item *item = &call->end.passed[i];

		writer_object(w);
		writer_member_buffer(w, "data", &item->data.json);
		if (item->line.len > 0) {
			write_metadata(w, &call->step->options.gate, item, false);
		} else {
			/* For the digest of a line of the group's own: the parts that its data
			 * consists of. */
			writer_member_object(w, "metadata");
			if (item->data.no_newline)
				writer_member_bool(w, "no_newline", true);
			if (item->data.base64)
				writer_member_string(w, "encoding", "base64");
			writer_object_end(w);
		}
		writer_object_end(w);
	}
	writer_array_end(w);
}

bool
step_recall_lines(struct step_call *call, struct span payload)
{
	const char *run_id = call->step->place.run->id;

	if (span_member(payload, KEY_COUNT).at == NULL)
		return false;
	call->end.passes = true;
	for (struct span_walk element = span_walk(span_member(payload, KEY_RESULT));
	    span_next(&element);) {
		struct buffer line = BUFFER_INIT;
		struct item item;
		struct writer w;

		memset(&item, 0, sizeof item);
		item_take_state(&item, element.value, run_id);
		buffer_clear(&item.line);
		/* A line of the run from which this one was forked counts as this call's own. */
		if (!item.foreign) {
			writer_begin(&w, &line);
			writer_object(&w);
			writer_member_buffer(&w, "data", &item.data.json);
			write_metadata(&w, &call->step->options.gate, &item, true);
			writer_object_end(&w);
			item_take_state(&item, span_of(line.data, line.len), run_id);
		}
		step_pass(call, &item);
		buffer_free(&line);
	}
	return true;
}

/* ---- lines for stdout ---- */

/* completed NULL: for lines that are read before the call has ended, even if a replay knows
 * when: they name its start. */
static void
spec_begin(const struct step_call *call, const struct event *completed, struct state_spec *spec)
{
	const struct step *s = call->step;
	const struct step_end *end = &call->end;
	const struct item *item = call->item;
	const struct recalled_event *recorded = &call->verdict.recalled.completed;
	long long number;

	memset(spec, 0, sizeof *spec);
	spec->run_id = s->place.run->id;
	spec->event_id = completed != NULL ? completed->id : call->started;
	spec->call = call->id;
	spec->path = s->place.path;
	spec->iteration = call->index;
	spec->agent_name = end->agent != NULL ? end->agent :
	    s->definition.agent_name != NULL ? s->definition.agent_name : s->options.name;
	if (item->metadata.len > 0 && !item->foreign && span_integer(span_member(
	    span_of(item->metadata.data, item->metadata.len), "step_index"), &number) && number >= 0)
		spec->step_index = number + 1;
	spec->tool_calls_count = end->tool_calls;
	spec->attempt = s->place.run->attempt;
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
    bool raw, struct buffer *out)
{
	struct state_spec full = *spec;
	char *previous = call->item->foreign ? NULL : item_metadata(call->item, "agent_name");

	full.previous_agent = previous;
	if (raw)
		data_raw(data, out);
	else
		state_write(&full, data, out);
	free(previous);
}

static void
put_as_it_came(const struct item *item, struct buffer *out)
{
	buffer_append(out, item->line.data, item->line.len);
	buffer_byte(out, '\n');
}

/* The lines that are passed on; one that has no line of its own gets one of this call. */
static void
put_passed(const struct step_call *call, struct state_spec *spec, bool raw, struct buffer *out)
{
	for (size_t i = 0; i < call->end.passed_count; i++) {
		const struct item *item = &call->end.passed[i];

		spec->part = (long)i;
		if (item->line.len == 0)
			put_state(call, &item->data, spec, raw, out);
		else if (raw)
			data_raw(&item->data, out);
		else
			put_as_it_came(item, out);
	}
}

struct span
step_listed_attachments(const struct item *item)
{
	if (item->foreign || item->metadata.len == 0)
		return SPAN_NONE;
	return span_member(span_of(item->metadata.data, item->metadata.len), "attachments");
}

struct span
step_attachments(const struct step_call *call)
{
	return call->attached.len > 0 ? span_of(call->attached.data, call->attached.len) :
	    step_listed_attachments(call->item);
}

void
step_put_results(const struct step_call *call, const struct event *completed, struct buffer *out)
{
	const struct step *s = call->step;
	struct state_spec spec;
	bool raw = s->options.output.raw && completed != NULL;

	spec_begin(call, completed, &spec);
	if (completed != NULL)
		spec.key = s->place.run->key;
	/* An item that was approved, or got a further member, is still the same item. */
	if (completed != NULL && (s->definition.work->decides || s->options.output.into != NULL))
		spec.attachments = step_attachments(call);
	put_passed(call, &spec, raw, out);
	for (size_t i = 0; i < call->end.result_count; i++) {
		if (s->options.output.form != OUTPUT_TEXT)
			spec.part = (long)i;
		put_state(call, &call->end.results[i], &spec, raw, out);
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

	if (s->options.failure == FAILURE_TRY)
		return;
	spec_begin(call, completed, &spec);
	passed = spec;
	passed.key = s->place.run->key;
	put_passed(call, &passed, s->options.output.raw, out);

	writer_begin(&w, &json);
	writer_object(&w);
	call_write_error(&w, "error", &call->end.error);
	writer_object_end(&w);
	error = span_member(span_of(json.data, json.len), "error");
	if (!step_fails(call)) {
		spec.failure = error;
		data_null(&nothing);
		put_state(call, &nothing, &spec, s->options.output.raw, out);
	} else if (!s->options.output.raw) {
		spec.error = error;
		spec.attachments = step_attachments(call);
		put_state(call, &call->item->data, &spec, false, out);
	}
	data_free(&nothing);
	buffer_free(&json);
}

void
step_put_item(const struct step_call *call, const struct event *completed, struct buffer *out)
{
	const struct step *s = call->step;
	const struct item *item = call->item;
	bool failed = item_error(item).at != NULL;
	/* A --rescue that the user has declared done has made the failure good. */
	bool good = !failed || (s->options.rescue && call->end.skipped != NULL &&
	    strcmp(call->end.skipped, "by_user") == 0);
	struct state_spec spec;

	if (!good && s->options.output.raw)
		return;
	if (item->line.len > 0 && !item->foreign && !s->options.output.raw && (!good || !failed)) {
		put_as_it_came(item, out);
		return;
	}
	spec_begin(call, completed, &spec);
	if (!good)
		spec.error = item_error(item);
	spec.attachments = step_attachments(call);
	spec.skipped = call->end.skipped;
	put_state(call, &item->data, &spec, s->options.output.raw, out);
}

void
step_state_line(const struct step_call *call, bool failures, struct buffer *out)
{
	const struct item *item = call->item;
	struct state_spec spec;

	if (item->line.len > 0 && (failures || item_error(item).at == NULL)) {
		put_as_it_came(item, out);
		return;
	}
	spec_begin(call, NULL, &spec);
	state_write(&spec, &item->data, out);
}
