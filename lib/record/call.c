#include "record/call.h"

#include <string.h>

#include "json/writer.h"

/* The links collected as a JSON array, .at NULL without any; then there are none. */
static struct span
call_links(struct call *c, struct buffer *array)
{
	if (c->links.len == 0)
		return span_of(NULL, 0);
	buffer_byte(array, '[');
	buffer_append(array, c->links.data, c->links.len);
	buffer_byte(array, ']');
	buffer_clear(&c->links);
	return span_of(array->data, array->len);
}

int
call_event(struct call *c, enum event_type type, const char *parent,
    const struct buffer *payload, char id[ID_SIZE], struct error *err)
{
	struct buffer links = BUFFER_INIT;
	struct event e = { .type = type, .path = c->path, .iteration = c->iteration };

	e.parent_event_id = parent != NULL ? parent : c->last[0] != '\0' ? c->last : NULL;
	if (payload != NULL && payload->len > 0)
		e.payload = span_of(payload->data, payload->len);
	if (parent == NULL)
		e.links = call_links(c, &links);
	int result = transcript_append(c->transcript, &e, err);
	buffer_free(&links);
	if (result == -1)
		return -1;
	if (id != NULL)
		memcpy(id, e.id, ID_SIZE);
	if (parent == NULL)
		memcpy(c->last, e.id, ID_SIZE);
	return 0;
}

void
call_follow(struct call *c, const char *const *ids, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (i == 0) {
			memcpy(c->last, ids[i], ID_SIZE);
			continue;
		}
		if (c->links.len > 0)
			buffer_byte(&c->links, ',');
		json_quote(&c->links, ids[i], ID_SIZE - 1);
	}
}

int
call_sync(struct call *c, struct error *err)
{
	return transcript_sync(c->transcript, err);
}
