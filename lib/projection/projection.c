/*
 * Every line of a transcript is passed to the model of its run, even if it is not shown: the
 * numbers of projected lines, and what they say about earlier events, must not depend on what is
 * shown. So the lines before the first shown line are read first, unless they have been read
 * before.
 */
#include "projection/projection.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "model/follow.h"
#include "transcript/blob.h"
#include "transcript/reader.h"

/* In the same order as projection_names(). */
static const struct projection *const projections[] = {
	&projection_interagent,
	&projection_agent_event,
	&projection_daemon_event,
	&projection_langgraph,
	&projection_runtime,
	&projection_otlp,
	&projection_agentloom,
};
#define PROJECTIONS (sizeof projections / sizeof *projections)

const struct projection *
projection_find(const char *name, const char *option, struct error *err)
{
	const int i = projection_index(name, option, err);

	INVARIANT(i < (int)PROJECTIONS && (i < 0 || strcmp(projections[i]->name, name) == 0));
	return i < 0 ? NULL : projections[i];
}

bool
projection_has_tools(const struct projection *projection)
{
	for (const struct projection_row *row = projection->rows; row->type; row++)
		if (row->when & WHEN_ASKED)
			return true;
	return false;
}

void
projector_document(const struct projector *p, struct buffer *out)
{
	if (p->state)
		p->projection->document->write(p->state, out);
}

/* Puts the values of blobs back into an event; *whole holds the text. */
static int
projector_inline_blobs(const struct projected_run *run, const char *line, size_t len,
    const struct event_view *event, struct buffer *whole, struct event_view *view, struct error *err)
{
	char *blobs;
	int failed;

	*view = *event;
	if (event->refs.at == NULL)
		return 0;
	blobs = transcript_blobs(run->path, run->model.run_id);
	failed = blob_inline(blobs, line, len, whole, err);
	if (failed == 0 && event_view(whole->data, whole->len, view) != 0)
		*view = *event;
	free(blobs);
	return failed;
}

/* Writes an event of another program that came in the vocabulary of the projection. */
static int
projector_write_foreign(struct projected_run *run, const char *line, size_t len,
    const struct event_view *event, struct buffer *out, struct error *err)
{
	struct buffer whole = BUFFER_INIT;
	struct event_view view;
	int failed = projector_inline_blobs(run, line, len, event, &whole, &view, err);

	if (failed == 0) {
		foreign_write_line(&run->sender, view.payload, out);
		run->next++;
	}
	buffer_free(&whole);
	return failed;
}

static int
projector_project_line(struct projector *p, struct projected_run *run, const char *line, size_t len,
    struct buffer *out, struct error *err)
{
	const struct projection_document *document = p->projection->document;
	const struct event_place place = { run->position, (uint32_t)len };
	struct buffer whole = BUFFER_INIT;
	struct event_view event, view;
	struct placed at;
	int failed = 0;

	run->position += (int64_t)len + 1;
	if (!event_view_whole(line, len, &event))
		return 0;
	model_take(&run->model, &event, place, &at);
	if (!document) {
		if (foreign_is_line(p->projection, &event))
			return projector_write_foreign(run, line, len, &event, out, err);
		if (!foreign_hides(&run->sender, p->projection, &at, run->past.dropped))
			projection_write(p->projection, p->tools, &at, &run->past, &run->next, out);
		return 0;
	}
	/* A document needs whole messages. */
	view = event;
	if (event.type == EVENT_MESSAGE_USER || event.type == EVENT_MESSAGE_ASSISTANT)
		failed = projector_inline_blobs(run, line, len, &event, &whole, &view, err);
	if (p->state == NULL)
		p->state = memory_zero(1, document->size);
	if (failed == 0)
		document->take(p->state, &at, view.payload, &run->next);
	buffer_free(&whole);
	return failed;
}

/* Reads the lines before `start`, which are not shown. model_read_file() cannot be used: it also
 * accepts an incomplete line, and reads to the end of the file. */
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
		if (projector_project_line(p, run, line, len, &unseen, err) != 0) {
			got = -1;
			break;
		}
		buffer_clear(&unseen);
	}
	reader_close(&reader);
	buffer_free(&unseen);
	return got < 0 ? -1 : 0;
}

int
projector_line(struct projector *p, const char *path, int64_t start, const char *line,
    size_t len, struct buffer *out, struct error *err)
{
	struct projected_run *run = NULL;

	for (size_t i = 0; run == NULL && i < p->count; i++)
		if (strcmp(p->runs[i]->path, path) == 0)
			run = p->runs[i];
	if (run == NULL) {
		run = memory_zero(1, sizeof *run);
		run->path = memory_text(path);
		run->next = p->projection->first;
		model_begin(&run->model, MODEL_EVENTS);
		p->runs = memory_array(p->runs, p->count + 1, sizeof *p->runs);
		p->runs[p->count++] = run;
	}
	if (catch_up(p, run, start, err) != 0)
		return -1;
	run->position = start;
	return projector_project_line(p, run, line, len, out, err);
}

static void
free_run(struct projected_run *run)
{
	model_free(&run->model);
	past_free(&run->past);
	free(run->path);
	free(run);
}

void
projector_forget(struct projector *p, const char *path)
{
	for (size_t i = 0; i < p->count; i++)
		if (strcmp(p->runs[i]->path, path) == 0) {
			free_run(p->runs[i]);
			p->runs[i] = p->runs[--p->count];
		}
}

void
projector_free(struct projector *p)
{
	for (size_t i = 0; i < p->count; i++)
		free_run(p->runs[i]);
	free(p->runs);
	if (p->state)
		p->projection->document->free(p->state);
	free(p->state);
}
