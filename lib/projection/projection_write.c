/*
 * Goes through the rows for an event's type in the order of the table; each row writes its lines:
 * the members that all lines of the projection have, then those of the row.
 */
#include "projection/projection_write.h"

#include <string.h>

#include "base/digest.h"
#include "model/excerpt.h"
#include "model/results.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/filter.h"

void
derive_hex(const char *label, const char *id, size_t digits, char *out)
{
	char digest[DIGEST_SIZE];
	struct digest d;

	digest_begin(&d);
	digest_add(&d, label, strlen(label));
	digest_add(&d, ":", 1);
	digest_add(&d, id, strlen(id));
	digest_end(&d, digest);
	memcpy(out, digest, digits);
	out[digits] = '\0';
}

void
derive_hex_of(const char *label, struct span id, size_t digits, char *out)
{
	char text[ID_SIZE] = "";

	span_copy(id, text, sizeof text);
	derive_hex(label, text, digits, out);
}

/* ---- lines ---- */

static bool
row_applies(const struct projection_row *row, bool asked, const struct placed *at,
    const struct projection_news *news)
{
	const unsigned outcomes = WHEN_SUCCESS | WHEN_FAILED | WHEN_SKIPPED | WHEN_WAITING;
	const unsigned ends = WHEN_RUN_SUCCEEDED | WHEN_RUN_WAITS | WHEN_RUN_FAILED;
	unsigned when = row->when;

	if (row->event != at->event->told || ((when & WHEN_ASKED) && !asked) ||
	    ((when & WHEN_WHOLE) && !placed_whole(at)) || ((when & WHEN_CALL) && !at->call) ||
	    ((when & WHEN_AGENT) && !placed_by_agent(at)) ||
	    ((when & WHEN_NO_AGENT) && placed_by_agent(at)) ||
	    ((when & WHEN_DECIDED) && !event_decides(at->event)) ||
	    ((when & WHEN_NOT_DECIDED) && event_decides(at->event)) ||
	    ((when & WHEN_HANDOFF) && !(at->call && placed_handoff(at))) ||
	    ((when & WHEN_NO_HANDOFF) && at->call && placed_handoff(at)) ||
	    ((when & WHEN_AGENT_BEGINS) && !news->agent_begins) ||
	    ((when & WHEN_AGENT_BEGUN) && !news->agent_begun) ||
	    ((when & WHEN_TURN_BEGINS) && !news->turn_begins) ||
	    ((when & outcomes) && !(when & placed_outcome_of(at))))
		return false;
	if ((when & WHEN_BLOCKED) && !(placed_failed(at) && span_is(span_path(at->event->payload,
	    KEY_ERROR, KEY_CODE, NULL), error_name(ERROR_BLOCKED))))
		return false;
	if (when & ends) {
		const char *status = placed_status(at);

		return when & (strcmp(status, "success") == 0 ? WHEN_RUN_SUCCEEDED :
		    strcmp(status, "waiting") == 0 ? WHEN_RUN_WAITS : WHEN_RUN_FAILED);
	}
	return true;
}

void
projection_write(const struct projection *projection, bool asked, const struct placed *at,
    struct projection_past *past, int64_t *number, struct buffer *out)
{
	struct projection_news news;
	bool known = at->event->type != EVENT_TYPES;

	past_take(past, at, &news);
	for (const struct projection_row *row = projection->rows; row->type; row++) {
		size_t count;

		known |= row->event == at->event->told;
		if (!row_applies(row, asked, at, &news))
			continue;
		count = row->count ? row->count(at) : 1;
		for (size_t i = 0; i < count; i++) {
			const struct projection_line line = { at, row, (*number)++, i, &news };
			struct writer w;

			writer_begin(&w, out);
			writer_object(&w);
			projection->line(&w, &line);
			writer_member_integer(&w, "source_seq", at->event->seq);
			if (at->event->type == EVENT_RUN_COMPLETED && !(row->when & WHEN_FAILED) &&
			    past != NULL && past->dropped > 0)
				writer_member_integer(&w, "dropped", past->dropped);
			writer_object_end(&w);
			buffer_byte(out, '\n');
		}
	}
	if (past != NULL && !known)
		past->dropped++;
}

static void
write_error(struct writer *w, const char *key, struct span error)
{
	struct event_view inside = { .payload = error };

	if (span_type(error) != 'o')
		return;
	writer_member_object(w, key);
	writer_member_span(w, "code", span_member(error, KEY_CODE));
	excerpt_member(w, "message", &inside, KEY_MESSAGE);
	writer_object_end(w);
}

void
projection_row_write(struct writer *w, const struct projection_line *line)
{
	const struct placed *at = line->at;
	const struct event_view *event = at->event;
	const struct model_call *call = at->call;

	if (line->row->body)
		line->row->body(w, line);
	for (const struct projection_member *m = line->row->members; m && m->key; m++) {
		const char *key = m->key, *from = m->from, *text = NULL;
		struct span value = SPAN_NONE;
		int64_t size;

		switch (m->what) {
		case PROJECT_PAYLOAD:
			value = span_member(event->payload, from);
			if (span_type(value) == '0')
				value = SPAN_NONE;
			break;
		case PROJECT_PATH:
			value = event->path;
			break;
		case PROJECT_ITERATION:
			writer_member_integer(w, key, event->iteration);
			break;
		case PROJECT_CHILD_RUN:
			value = event->child_run_id;
			break;
		case PROJECT_PARENT_RUN:
			text = at->run->parent_run_id[0] != '\0' ? at->run->parent_run_id : NULL;
			break;
		case PROJECT_CALL_ID:
			text = call ? call->id : NULL;
			break;
		case PROJECT_CALL_KIND:
			text = call ? call->step->kind : NULL;
			break;
		case PROJECT_CALL_AGENT:
			text = call ? call->step->agent : NULL;
			break;
		case PROJECT_CALL_PROVIDER:
			text = call ? call->step->provider : NULL;
			break;
		case PROJECT_CALL_MODEL:
			text = call ? call->step->model : NULL;
			break;
		case PROJECT_ACTOR:
			text = placed_actor(at);
			break;
		case PROJECT_STATUS:
			text = placed_status(at);
			break;
		case PROJECT_OUTCOME:
			text = placed_outcome(at);
			break;
		case PROJECT_DURATION:
			writer_member_integer(w, key, placed_duration(at));
			break;
		case PROJECT_ERROR:
			write_error(w, key, span_member(event->payload, KEY_ERROR));
			break;
		case PROJECT_SIZE:
			size = excerpt_size(event, from ? from : result_member(event->payload));
			if (size >= 0)
				writer_member_integer(w, key, size);
			break;
		case PROJECT_CONTENTS:
			excerpt_contents(w, key, event, from ? from : result_member(event->payload));
			break;
		case PROJECT_MESSAGE:
			excerpt_message(w, key, event);
			break;
		case PROJECT_ARGUMENTS:
			excerpt_arguments(w, key, event);
			break;
		case PROJECT_PRINTED:
			value = span_path(event->payload, KEY_STDOUT, from, NULL);
			break;
		case PROJECT_WORD:
			text = from;
			break;
		}
		writer_member_span(w, key, value);
		writer_member_string(w, key, text);
	}
}
