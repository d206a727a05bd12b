/*
 * --terminal: ends the run with success or failure, whatever else has happened. No work is done, so
 * nothing is reused from a recorded call: an item without a line of this run becomes the result,
 * others are passed on.
 */
#include <string.h>

#include "base/text.h"
#include "step_call/step_call.h"
#include "step_kinds/kinds.h"
#include "transcript/event_keys.h"

#define REASON_SIZE ((size_t)1000)

static bool
terminal_asked(const struct step_options *o)
{
	return o->terminal != NULL;
}

static void
terminal_define(const struct step *s, struct writer *w)
{
	writer_string(w, s->options.terminal);
}

static int
terminal_describe(struct step *s, const struct item *item, struct buffer *out, struct error *err)
{
	struct writer w = step_describe_begin(out);

	(void)err;
	writer_member_string(&w, "terminal", s->options.terminal);
	step_describe_end(&w, item);
	return 0;
}

static void
terminal_label(const struct step *s, struct buffer *out)
{
	buffer_format(out, "--terminal %s", s->options.terminal);
}

static int
terminal_run(struct step_call *call, int repeats, struct error *err)
{
	const struct item *item = call->item;
	struct data data = { BUFFER_INIT, false, false };

	(void)repeats;
	(void)err;
	call->end.passes_item = item_error(item).at != NULL || (item->line.len > 0 && !item->foreign);
	if (!call->end.passes_item) {
		data_copy(&data, &item->data);
		step_add_result(&call->end, &data);
	}
	return 0;
}

/* Writes the outcome of the run and, for people, the reason: the data. */
static void
terminal_record_end(const struct step_call *call, struct writer *w)
{
	struct span data = span_of(call->item->data.json.data, call->item->data.json.len);
	struct buffer reason = BUFFER_INIT;

	if (call->end.error.code != ERROR_NONE || call->end.skipped != NULL)
		return;
	writer_member_string(w, KEY_OUTCOME, call->step->options.terminal);
	if (span_type(data) != '0')
		span_plain(data, &reason);
	writer_key(w, KEY_REASON);
	writer_bytes(w, buffer_string(&reason), utf8_whole(buffer_string(&reason),
	    reason.len < REASON_SIZE ? reason.len : REASON_SIZE));
	buffer_free(&reason);
}

const struct work work_terminal = {
	.kind = "terminal",
	.asked = terminal_asked,
	.define = terminal_define,
	.describe = terminal_describe,
	.label = terminal_label,
	.run = terminal_run,
	.record_end = terminal_record_end,
};
