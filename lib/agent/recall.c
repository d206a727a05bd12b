#include "agent/recall.h"

#include <stdlib.h>
#include <string.h>

const struct recalled_event *
recalled_result(const struct recalled *r)
{
	return r->original.line.len > 0 ? &r->original : &r->completed;
}

static void
event_free(struct recalled_event *e)
{
	buffer_free(&e->line);
	buffer_free(&e->refs);
}

void
recalled_free(struct recalled *r)
{
	event_free(&r->started);
	event_free(&r->completed);
	event_free(&r->original);
	for (size_t i = 0; i < r->event_count; i++)
		event_free(&r->events[i]);
	free(r->events);
	memset(r, 0, sizeof *r);
}
