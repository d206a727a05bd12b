#include "inspect/projection.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "base/text.h"
#include "inspect/excerpt.h"
#include "run/follow.h"
#include "transcript/blob.h"
#include "transcript/filter.h"
#include "transcript/reader.h"

static const struct projection *const projections[] = {
	&projection_interagent,
	&projection_agent_event,
	&projection_daemon_event,
	&projection_runtime,
	&projection_otlp,
	&projection_agentloom,
};
#define PROJECTIONS (sizeof projections / sizeof *projections)

const char *const *
projection_names(void)
{
	static const char *names[PROJECTIONS + 1];

	for (size_t i = 0; i < PROJECTIONS; i++)
		names[i] = projections[i]->name;
	return names;
}

const struct projection *
projection_find(const char *name, const char *option, struct error *err)
{
	const char *near = text_suggest(name, projection_names());

	for (size_t i = 0; i < PROJECTIONS; i++)
		if (strcmp(projections[i]->name, name) == 0)
			return projections[i];
	if (near)
		error_set(err, ERROR_USAGE, option, "no such vocabulary '%s' (did you mean '%s'?)",
		    name, near);
	else
		error_set(err, ERROR_USAGE, option, "no such vocabulary '%s' (see awf-projections(7))",
		    name);
	return NULL;
}

bool
projection_has_tools(const struct projection *projection)
{
	for (const struct projection_row *row = projection->rows; row->type; row++)
		if (row->tools)
			return true;
	return false;
}

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

static void
write_rows(const struct projection *projection, bool tools, const struct placed *at,
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

void
projection_lines(const struct projection *projection, const struct placed *at,
    int64_t *number, struct buffer *out)
{
	write_rows(projection, false, at, number, out);
}

static bool
is_message(const struct event_view *event)
{
	return event->type == EVENT_MESSAGE_USER || event->type == EVENT_MESSAGE_ASSISTANT;
}

/* The payload of a message with its blobs; whole holds it. */
static int
put_back(const struct projected_run *run, const char *line, size_t len, struct buffer *whole,
    struct span *payload, struct error *err)
{
	char *blobs = transcript_blobs(run->path, run->model.run_id);
	struct event_view view;
	int result = blob_inline(blobs, line, len, whole, err);

	if (result == 0 && event_view(whole->data, whole->len, &view) == 0)
		*payload = view.payload;
	free(blobs);
	return result;
}

static int
take_into_document(struct projector *p, struct projected_run *run, const struct placed *at,
    const char *line, size_t len, struct error *err)
{
	const struct projection_document *document = p->projection->document;
	struct span payload = at->event->payload;
	struct buffer whole = BUFFER_INIT;
	int result = 0;

	if (p->state == NULL)
		p->state = memory_zero(1, document->size);
	if (at->event->refs.at && is_message(at->event))
		result = put_back(run, line, len, &whole, &payload, err);
	if (result == 0)
		document->take(p->state, at, payload, &run->next);
	buffer_free(&whole);
	return result;
}

void
projector_document(const struct projector *p, struct buffer *out)
{
	if (p->state)
		p->projection->document->write(p->state, out);
}

static int
take_line(struct projector *p, struct projected_run *run, const char *line, size_t len,
    struct buffer *out, struct error *err)
{
	struct event_view event;
	struct placed at;
	size_t bad;

	if (!event_line_whole(line, len, NULL) || scan_within(line, len, SCAN_LINE_DEPTH, &bad) ||
	    event_view(line, len, &event) != 0) {
		run->position += (int64_t)len + 1;
		return 0;
	}
	model_take(&run->model, &event, (struct event_place){ run->position, (uint32_t)len }, &at);
	run->position += (int64_t)len + 1;
	if (p->projection->document)
		return take_into_document(p, run, &at, line, len, err);
	write_rows(p->projection, p->tools, &at, &run->next, out);
	return 0;
}

/* Takes in the lines before start, which are not shown. */
static int
catch_up(struct projector *p, struct projected_run *run, int64_t start, struct error *err)
{
	struct buffer unseen = BUFFER_INIT;
	struct reader reader;
	const char *line;
	size_t len;
	int got = 1;

	if (run->position >= start)
		return 0;
	if (reader_open(&reader, run->path, err) != 0)
		return -1;
	reader_seek(&reader, run->position);
	while (run->position < start && (got = reader_next(&reader, &line, &len, err)) == 1) {
		if (take_line(p, run, line, len, &unseen, err) != 0) {
			got = -1;
			break;
		}
		buffer_clear(&unseen);
	}
	reader_close(&reader);
	buffer_free(&unseen);
	return got < 0 ? -1 : 0;
}

static struct projected_run *
run_of(struct projector *p, const char *path)
{
	for (size_t i = 0; i < p->count; i++)
		if (strcmp(p->runs[i].path, path) == 0)
			return &p->runs[i];
	p->runs = memory_array(p->runs, p->count + 1, sizeof *p->runs);
	p->runs[p->count] = (struct projected_run){ .path = memory_text(path),
		.next = p->projection->first };
	model_begin(&p->runs[p->count].model, MODEL_EVENTS);
	return &p->runs[p->count++];
}

int
projector_line(struct projector *p, const char *path, int64_t start, const char *line,
    size_t len, struct buffer *out, struct error *err)
{
	struct projected_run *run = run_of(p, path);

	if (catch_up(p, run, start, err) != 0)
		return -1;
	run->position = start;
	return take_line(p, run, line, len, out, err);
}

void
projector_free(struct projector *p)
{
	for (size_t i = 0; i < p->count; i++) {
		model_free(&p->runs[i].model);
		free(p->runs[i].path);
	}
	free(p->runs);
	if (p->state)
		p->projection->document->free(p->state);
	free(p->state);
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
	return !span_true(span_member(at->event->payload, "partial"));
}

size_t
placed_blocked(const struct placed *at)
{
	return placed_failed(at) && span_is(span_path(at->event->payload, "error", "code", NULL),
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
		if (span_is(span_member(at->event->payload, "status"), statuses[i]))
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
	struct span payload = at->event->payload, error = span_member(payload, "error");

	if (member_set(span_member(payload, "skipped")))
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
	struct span error = span_member(at->event->payload, "error");
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

	if (span_integer(span_member(at->event->payload, "duration_ms"), &duration))
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
