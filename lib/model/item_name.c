/*
 * Names are kept in two halves to limit memory: when the recent half is full it becomes the older
 * half, and the previous older half is forgotten. For a transcript file no names are kept: if the
 * start of a call does not contain its input, the file is searched for the result that was the
 * input.
 */
#include "model/item_name.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "model/results.h"
#include "transcript/event_keys.h"
#include "transcript/filter.h"

#define COLUMNS 40
#define BYTES ((size_t)240) /* enough for combining characters, which take no column */
#define KEPT ((size_t)4096) /* in each half */

void
item_name(struct span data, struct buffer *out)
{
	size_t len = data.len;

	if (data.at == NULL || span_type(data) == '0')
		return;
	if (len > BYTES)
		len = utf8_whole(data.at, BYTES);
	buffer_text(out, " (");
	text_visible(out, data.at, len, COLUMNS);
	if (len < data.len && !text_ends(buffer_string(out), "…"))
		buffer_text(out, "…");
	buffer_byte(out, ')');
}

void
item_name_result(const struct event_view *event, struct buffer *out)
{
	struct span payload = event->payload, value;
	struct buffer text = BUFFER_INIT;
	char *pointer;

	if (member_set(span_member(payload, KEY_ERROR)) || member_set(span_member(payload, KEY_SKIPPED)))
		return;
	pointer = memory_format("/%s", result_member(payload));
	value = pointer_find(payload, pointer);
	free(pointer);
	if (event->type == EVENT_CALL_WORKFLOW_COMPLETED)
		result_lines(value, &text, &value);
	item_name(value, out);
	buffer_free(&text);
}

/* ---- names from a file ---- */

struct result_search {
	char event[ID_SIZE];
	struct buffer *name;
};

static int
find_result(void *context, const struct placed *placed, struct error *err)
{
	const struct result_search *s = context;
	const struct event_view *event = placed->event;

	(void)err;
	if (!event_type_ends_call(event->type) || !span_is(event->event_id, s->event))
		return 0;
	item_name_result(event, s->name);
	return 1;
}

void
item_name_find(const char *path, const struct model_call *c, struct buffer *out)
{
	struct buffer line = BUFFER_INIT;
	struct error ignored = ERROR_INIT;
	struct result_search search = { .name = out };
	struct event_view event;
	struct span input;
	struct model m;

	if (event_load(path, c->begin, &line, &ignored) == 0 &&
	    event_view(line.data, line.len, &event) == 0 && event.type == EVENT_STEP_STARTED) {
		input = span_member(event.payload, KEY_INPUT);
		if (input.at != NULL)
			item_name(input, out);
		else
			span_copy(event.parent_event_id, search.event, sizeof search.event);
	}
	buffer_free(&line);
	if (search.event[0] == '\0')
		return;
	model_begin(&m, MODEL_LIVE);
	m.watch = find_result;
	m.context = &search;
	model_read_file(&m, path, &ignored);
	model_free(&m);
}

/* ---- names that are remembered ---- */

static void
item_names_clear(struct item_names_kept *kept)
{
	for (size_t i = 0; i < kept->count; i++)
		free(kept->texts[i]);
	free(kept->texts);
	map_free(&kept->places);
	*kept = (struct item_names_kept){ .places = MAP_INIT };
}

static const char *
item_names_recall(const struct item_names *names, struct span key)
{
	const struct item_names_kept *halves[] = { &names->recent, &names->before };

	for (size_t i = 0; key.at != NULL && i < sizeof halves / sizeof *halves; i++) {
		const size_t *place = map_get(&halves[i]->places, key.at, key.len);

		if (place != NULL)
			return halves[i]->texts[*place];
	}
	return "";
}

/* The run id and the call id: a call's id is unique only within its run. */
static struct span
call_key(const struct event_view *event, struct buffer *out)
{
	struct span call = span_member(event->payload, KEY_CALL);

	if (call.at == NULL || event->run_id.at == NULL)
		return span_of(NULL, 0);
	buffer_append(out, event->run_id.at, event->run_id.len);
	buffer_append(out, call.at, call.len);
	return span_of(out->data, out->len);
}

bool
item_names_concern(enum event_type type)
{
	return type == EVENT_STEP_STARTED || event_type_ends_call(type);
}

void
item_names_start(const struct item_names *names, const struct event_view *event, struct buffer *out)
{
	const struct span input = span_member(event->payload, KEY_INPUT);

	if (input.at != NULL)
		item_name(input, out);
	else
		buffer_text(out, item_names_recall(names, event->parent_event_id));
}

void
item_names_note(struct item_names *names, const struct event_view *event)
{
	struct buffer text = BUFFER_INIT, name = BUFFER_INIT;
	struct item_names_kept *recent = &names->recent;
	struct span key = SPAN_NONE;

	if (event->type == EVENT_STEP_STARTED && event->iteration > 0) {
		item_names_start(names, event, &name);
		key = call_key(event, &text);
	} else if (event_type_ends_call(event->type)) {
		item_name_result(event, &name);
		key = event->event_id;
	}
	if (name.len > 0 && key.at != NULL) {
		if (recent->count == KEPT) {
			item_names_clear(&names->before);
			names->before = *recent;
			*recent = (struct item_names_kept){ .places = MAP_INIT };
		}
		if (recent->texts == NULL)
			recent->texts = memory_array(NULL, KEPT, sizeof *recent->texts);
		map_put(&recent->places, key.at, key.len, recent->count);
		recent->texts[recent->count++] = memory_text(buffer_string(&name));
	}
	buffer_free(&text);
	buffer_free(&name);
}

const char *
item_names_find(struct item_names *names, const struct event_view *event)
{
	struct buffer text = BUFFER_INIT;
	const char *name = item_names_recall(names, call_key(event, &text));

	buffer_free(&text);
	return name;
}

void
item_names_free(struct item_names *names)
{
	item_names_clear(&names->recent);
	item_names_clear(&names->before);
}
