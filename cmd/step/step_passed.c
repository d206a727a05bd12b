/*
 * A body's output is taken for state lines if it begins like one. Lines that a step of this
 * run made pass as they came; of others only the data does, under this call. In the record a
 * token is replaced by whether it was valid, for the next attempt has another key to make it
 * with.
 */
#include "step/step_call.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "json/writer.h"
#include "transcript/event_keys.h"

/* Whether a step of this run has made the line. One that names the call's start was
 * made for the body to read, and came back. */
static bool
is_of_step(const struct step_call *call, const struct item *item)
{
	struct span metadata = span_of(item->metadata.data, item->metadata.len);

	return item->metadata.len > 0 && !item->foreign &&
	    !span_is(span_member(metadata, "event_id"), call->started);
}

/* An item of the output, which is taken over. Of a line that no step of this run has
 * made only the data counts. */
void
step_pass(struct step_call *call, struct item *item)
{
	if (item_error(item).at == NULL && !is_of_step(call, item)) {
		buffer_free(&item->line);
		buffer_free(&item->metadata);
	}
	step_end_pass(&call->end, item);
}

void
step_drop_lines(struct step_call *call)
{
	step_end_forget_passed(&call->end);
	call->end.told = false;
	buffer_clear(&call->events.links);
}

/* The events that the lines name are causes of the call's end, each once. */
static void
link_makers(struct step_call *call)
{
	struct map seen = MAP_INIT;
	char *id;

	for (size_t i = 0; i < call->end.passed_count; i++) {
		id = call->end.passed[i].foreign ? NULL : item_metadata(&call->end.passed[i], "event_id");
		if (id != NULL && map_get(&seen, id, strlen(id)) == NULL) {
			map_put(&seen, id, strlen(id), i);
			call_add_link(&call->events, id);
		}
		free(id);
	}
	map_free(&seen);
}

/* The first line that tells of a failure tells why the call failed; no such line is
 * output. */
static void
take_failures(struct step_call *call)
{
	size_t kept = 0;

	for (size_t i = 0; i < call->end.passed_count; i++) {
		struct item *item = &call->end.passed[i];
		struct span error = item_error(item);

		if (error.at == NULL) {
			call->end.passed[kept++] = *item;
			continue;
		}
		if (!call->end.told)
			state_error(error, &call->end.error);
		call->end.told = true;
		item_free(item);
	}
	call->end.passed_count = kept;
}

bool
step_take_lines(struct step_call *call, const struct buffer *output)
{
	struct error *error = &call->end.error;
	struct error why = ERROR_INIT;
	struct buffer bytes = BUFFER_INIT;
	struct state_reader r;
	struct item item;
	int got;

	/* No object, no state line: text is not copied to find out. */
	if (span_type(span_trim(span_of(buffer_string(output), output->len))) != 'o')
		return false;
	buffer_append(&bytes, output->data, output->len);
	state_reader_begin(&r, -1, INPUT_AUTO, call->step->run->id);
	state_reader_give(&r, &bytes);
	memset(&item, 0, sizeof item);
	while ((got = state_reader_next(&r, &item, &why)) == 1 && r.form == INPUT_STATE)
		step_pass(call, &item);
	item_free(&item);
	state_reader_free(&r);
	if (r.form != INPUT_STATE && got != -1)
		return false;
	if (error->code != ERROR_NONE && error->code != ERROR_EXIT_STATUS) {
		step_drop_lines(call); /* it was cut off somewhere */
		return true;
	}
	link_makers(call);
	take_failures(call);
	if (got == -1 && error->code == ERROR_NONE)
		error_set(error, ERROR_INVALID_INPUT, "stdout", "%s", why.message);
	return true;
}

/* ---- in the record ---- */

/* The metadata as it is, but the token: whether there was a valid one. */
static void
write_metadata(struct writer *w, const struct gate *gate, const struct item *item)
{
	writer_key(w, "metadata");
	writer_object(w);
	for (struct span_walk member = span_walk(span_of(item->metadata.data, item->metadata.len));
	    span_next(&member);) {
		if (!span_is(member.key, "token"))
			writer_raw_member(w, member.key, member.value);
		else if (gate_vouched(gate, item))
			writer_member_bool(w, "token", true);
	}
	writer_object_end(w);
}

/* Of a line that is to be the group's own, what its data is made of. */
static void
write_own(struct writer *w, const struct data *data)
{
	writer_key(w, "metadata");
	writer_object(w);
	if (data->no_newline)
		writer_member_bool(w, KEY_NO_NEWLINE, true);
	if (data->base64)
		writer_member_string(w, "encoding", "base64");
	writer_object_end(w);
}

void
step_write_lines(const struct step_call *call, struct writer *w)
{
	writer_key(w, "result");
	writer_array(w);
	for (size_t i = 0; i < call->end.passed_count; i++) {
		const struct item *item = &call->end.passed[i];

		writer_object(w);
		writer_member_buffer(w, "data", &item->data.json);
		if (item->line.len > 0)
			write_metadata(w, &call->step->gate, item);
		else
			write_own(w, &item->data);
		writer_object_end(w);
	}
	writer_array_end(w);
}

/* The line as it goes out again: with a token of this attempt if it had a valid one. */
static void
renew_line(const struct gate *gate, const struct item *recorded, struct buffer *line)
{
	struct writer w;
	char token[DIGEST_SIZE];

	writer_begin(&w, line);
	writer_object(&w);
	writer_member_buffer(&w, "data", &recorded->data.json);
	writer_key(&w, "metadata");
	writer_object(&w);
	for (struct span_walk member = span_walk(span_of(recorded->metadata.data,
	    recorded->metadata.len));
	    span_next(&member);) {
		if (!span_is(member.key, "token"))
			writer_raw_member(&w, member.key, member.value);
		else if (span_true(member.value) && gate_vouch(gate, recorded, token))
			writer_member_string(&w, "token", token);
	}
	writer_object_end(&w);
	writer_object_end(&w);
}

/* A line of another run, which this one was forked from, is this call's own. */
static void
recall_line(struct step_call *call, struct span element)
{
	struct buffer line = BUFFER_INIT;
	struct item item;

	memset(&item, 0, sizeof item);
	item_take_state(&item, element, call->step->run->id);
	buffer_clear(&item.line);
	if (!item.foreign)
		renew_line(&call->step->gate, &item, &line);
	if (line.len > 0)
		item_take_state(&item, span_of(line.data, line.len), call->step->run->id);
	step_pass(call, &item);
	buffer_free(&line);
}

bool
step_recall_lines(struct step_call *call, struct span payload)
{
	if (span_member(payload, KEY_COUNT).at == NULL)
		return false;
	call->end.passes = true;
	for (struct span_walk element = span_walk(span_member(payload, KEY_RESULT));
	    span_next(&element);)
		recall_line(call, element.value);
	return true;
}
