/*
 * The rows of an event's type are gone through in the order of the table, and each makes its
 * lines: what all lines of the projection have, with what the row adds.
 */
#include "inspect/projection_write.h"

#include <string.h>

#include "base/digest.h"
#include "inspect/excerpt.h"
#include "transcript/event_keys.h"
#include "transcript/filter.h"

static void
write_line(const struct projection *projection, const struct projection_line *line,
    struct buffer *out)
{
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	projection->line(&w, line);
	writer_member_integer(&w, "source_seq", line->at->event->seq);
	writer_object_end(&w);
	buffer_byte(out, '\n');
}

void
projection_write(const struct projection *projection, bool tools, const struct placed *at,
    int64_t *number, struct buffer *out)
{
	for (const struct projection_row *row = projection->rows; row->type; row++) {
		size_t count;

		if (row->event != at->event->type || (row->tools && !tools))
			continue;
		count = row->count ? row->count(at) : 1;
		for (size_t i = 0; i < count; i++) {
			const struct projection_line line = { at, row, (*number)++, i };

			write_line(projection, &line, out);
		}
	}
}

size_t
placed_failed(const struct placed *at)
{
	return strcmp(placed_outcome(at), "failed") == 0;
}

size_t
placed_by_agent(const struct placed *at)
{
	return at->call && (at->call->agent || at->call->provider || at->call->model);
}

size_t
placed_whole(const struct placed *at)
{
	return !span_true(span_member(at->event->payload, KEY_PARTIAL));
}

size_t
placed_blocked(const struct placed *at)
{
	return placed_failed(at) && span_is(span_path(at->event->payload, KEY_ERROR, KEY_CODE, NULL),
	    error_name(ERROR_BLOCKED));
}

const char *
call_actor(const struct model_call *call)
{
	return call->agent ? call->agent : call->name;
}

const char *
placed_actor(const struct placed *at)
{
	if (at->call)
		return call_actor(at->call);
	return at->run->name ? at->run->name : "";
}

const char *
placed_status(const struct placed *at)
{
	static const char *const statuses[] = { "success", "failed", "cancelled", "timeout",
		"waiting" };

	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
		if (span_is(span_member(at->event->payload, KEY_STATUS), statuses[i]))
			return statuses[i];
	return "";
}

size_t
run_succeeded(const struct placed *at)
{
	return strcmp(placed_status(at), "success") == 0;
}

size_t
run_waits(const struct placed *at)
{
	return strcmp(placed_status(at), "waiting") == 0;
}

size_t
run_failed(const struct placed *at)
{
	return !run_succeeded(at) && !run_waits(at);
}

const char *
placed_outcome(const struct placed *at)
{
	struct span payload = at->event->payload, error = span_member(payload, KEY_ERROR);

	if (member_set(span_member(payload, KEY_SKIPPED)))
		return "skipped";
	if (!member_set(error))
		return "success";
	return span_is(span_member(error, "code"), error_name(ERROR_WAITING)) ? "waiting" : "failed";
}

void
placed_copy(struct writer *w, const char *key, const struct placed *at, const char *member)
{
	struct span value = span_member(at->event->payload, member);

	if (span_type(value) != '0')
		writer_member_span(w, key, value);
}

void
placed_error(struct writer *w, const struct placed *at)
{
	struct span error = span_member(at->event->payload, KEY_ERROR);
	struct event_view inside = { .payload = error };

	if (span_type(error) != 'o')
		return;
	writer_key(w, "error");
	writer_object(w);
	writer_member_span(w, "code", span_member(error, "code"));
	excerpt_member(w, "message", &inside, "message");
	writer_object_end(w);
}

int64_t
placed_duration(const struct placed *at)
{
	long long duration;

	if (span_integer(span_member(at->event->payload, KEY_DURATION_MS), &duration))
		return duration;
	return (at->wall - at->started) / 1000;
}

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
