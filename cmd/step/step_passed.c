/*
 * A body's output is taken for state lines if it begins like one. Lines that a step of this
 * run made pass as they came; of others only the data does, under this call. In the record a
 * token is replaced by whether it was valid, for the next attempt has another key to make it
 * with.
 */
#include "step/working.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "json/writer.h"

/* Whether a step of this run has made the line. One that names the call's start was
 * made for the body to read, and came back. */
static bool
is_of_step(const struct working *work, const struct item *item)
{
	struct span metadata = span_of(item->metadata.data, item->metadata.len);

	return item->metadata.len > 0 && !item->foreign &&
	    !span_is(span_member(metadata, "event_id"), work->started);
}

/* An item of the output, which is taken over. Of a line that no step of this run has
 * made only the data counts. */
void
working_pass(struct working *work, struct item *item)
{
	if (item_error(item).at == NULL && !is_of_step(work, item)) {
		buffer_free(&item->line);
		buffer_free(&item->metadata);
	}
	work->passed = memory_array(work->passed, work->passed_count + 1, sizeof *work->passed);
	work->passed[work->passed_count++] = *item;
	memset(item, 0, sizeof *item);
	work->passes = true;
}

void
working_forget_passed(struct working *work)
{
	for (size_t i = 0; i < work->passed_count; i++)
		item_free(&work->passed[i]);
	free(work->passed);
	work->passed = NULL;
	work->passed_count = 0;
	work->passes = false;
}

void
working_drop_passed(struct working *work)
{
	working_forget_passed(work);
	work->told = false;
	buffer_clear(&work->call.links);
}

/* The events that the lines name are causes of the call's end, each once. */
static void
link_makers(struct working *work)
{
	struct map seen = MAP_INIT;
	char *id;

	for (size_t i = 0; i < work->passed_count; i++) {
		id = work->passed[i].foreign ? NULL : item_metadata(&work->passed[i], "event_id");
		if (id != NULL && map_get(&seen, id, strlen(id)) == NULL) {
			map_put(&seen, id, strlen(id), i);
			call_add_link(&work->call, id);
		}
		free(id);
	}
	map_free(&seen);
}

/* The first line that tells of a failure tells why the call failed; no such line is
 * output. */
static void
take_failures(struct working *work)
{
	size_t kept = 0;

	for (size_t i = 0; i < work->passed_count; i++) {
		struct item *item = &work->passed[i];
		struct span error = item_error(item);

		if (error.at == NULL) {
			work->passed[kept++] = *item;
			continue;
		}
		if (!work->told)
			state_error(error, &work->error);
		work->told = true;
		item_free(item);
	}
	work->passed_count = kept;
}

static int
read_lines(struct working *work, struct state_reader *r, struct error *why)
{
	struct item item;
	int got;

	memset(&item, 0, sizeof item);
	while ((got = state_reader_next(r, &item, why)) == 1 && r->form == INPUT_STATE)
		working_pass(work, &item);
	item_free(&item);
	return got;
}

/* What the body's end and its lines come to. */
static void
judge(struct working *work, int got, const struct error *why)
{
	if (work->error.code != ERROR_NONE && work->error.code != ERROR_EXIT_STATUS) {
		working_drop_passed(work); /* it was cut off somewhere */
		return;
	}
	link_makers(work);
	take_failures(work);
	if (got == -1 && work->error.code == ERROR_NONE)
		error_set(&work->error, ERROR_INVALID_INPUT, "stdout", "%s", why->message);
}

bool
working_take_passed(struct working *work, const struct buffer *output)
{
	struct error why = ERROR_INIT;
	struct buffer bytes = BUFFER_INIT;
	struct state_reader r;
	int got;

	/* No object, no state line: text is not copied to find out. */
	if (span_type(span_trim(span_of(buffer_string(output), output->len))) != 'o')
		return false;
	buffer_append(&bytes, output->data, output->len);
	state_reader_begin(&r, -1, INPUT_AUTO, work->step->run->id);
	state_reader_give(&r, &bytes);
	got = read_lines(work, &r, &why);
	state_reader_free(&r);
	if (r.form != INPUT_STATE && got != -1)
		return false;
	judge(work, got, &why);
	return true;
}

/* ---- in the record ---- */

/* The metadata as it is, but the token: whether there was a valid one. */
static void
write_metadata(struct writer *w, const struct gate *gate, const struct item *item)
{
	struct span_walk walk;
	struct span key, value;

	writer_key(w, "metadata");
	writer_object(w);
	span_walk_begin(&walk, span_of(item->metadata.data, item->metadata.len));
	while (span_walk_next(&walk, &key, &value)) {
		if (!span_is(key, "token"))
			writer_raw_member(w, key, value);
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
		writer_member_bool(w, "no_newline", true);
	if (data->base64)
		writer_member_string(w, "encoding", "base64");
	writer_object_end(w);
}

void
working_write_passed(const struct working *work, struct writer *w)
{
	writer_key(w, "result");
	writer_array(w);
	for (size_t i = 0; i < work->passed_count; i++) {
		const struct item *item = &work->passed[i];

		writer_object(w);
		writer_member_buffer(w, "data", &item->data.json);
		if (item->line.len > 0)
			write_metadata(w, &work->step->gate, item);
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
	struct span_walk walk;
	struct span key, value;
	struct writer w;
	char token[DIGEST_SIZE];

	writer_begin(&w, line);
	writer_object(&w);
	writer_member_buffer(&w, "data", &recorded->data.json);
	writer_key(&w, "metadata");
	writer_object(&w);
	span_walk_begin(&walk, span_of(recorded->metadata.data, recorded->metadata.len));
	while (span_walk_next(&walk, &key, &value)) {
		if (!span_is(key, "token"))
			writer_raw_member(&w, key, value);
		else if (span_true(value) && gate_vouch(gate, recorded, token))
			writer_member_string(&w, "token", token);
	}
	writer_object_end(&w);
	writer_object_end(&w);
}

/* A line of another run, which this one was forked from, is this call's own. */
static void
recall_line(struct working *work, struct span element)
{
	struct buffer line = BUFFER_INIT;
	struct item item;

	memset(&item, 0, sizeof item);
	item_take_state(&item, element, work->step->run->id);
	buffer_clear(&item.line);
	if (!item.foreign)
		renew_line(&work->step->gate, &item, &line);
	if (line.len > 0)
		item_take_state(&item, span_of(line.data, line.len), work->step->run->id);
	working_pass(work, &item);
	buffer_free(&line);
}

bool
working_recall_passed(struct working *work, struct span payload)
{
	struct span_walk walk;
	struct span key, element;

	if (span_member(payload, "count").at == NULL)
		return false;
	work->passes = true;
	span_walk_begin(&walk, span_member(payload, "result"));
	while (span_walk_next(&walk, &key, &element))
		recall_line(work, element);
	return true;
}
