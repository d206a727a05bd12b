/* A call that ended as waiting, because a person must first confirm which recorded run it is, has
 * not started its child run: the child is removed from the list again. */
#include "rerun/child_runs.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "transcript/event_keys.h"

static void
child_runs_add(struct child_runs *c, struct span run_id)
{
	char child[ID_SIZE];

	if (!event_copy_id(run_id, child) || map_get(&c->known, child, strlen(child)) != NULL)
		return;
	map_put(&c->known, child, strlen(child), 0);
	c->ids = memory_array(c->ids, c->count + 1, sizeof *c->ids);
	memcpy(c->ids[c->count++], child, ID_SIZE);
}

static void
child_runs_forget_asking(struct child_runs *c, const struct event_view *event)
{
	size_t i = c->count;

	if (!span_is(span_path(event->payload, KEY_ERROR, KEY_CODE, NULL), error_name(ERROR_WAITING)) ||
	    span_member(event->payload, KEY_EXIT_CODE).at != NULL)
		return;
	while (i > 0 && !span_is(event->child_run_id, c->ids[i - 1]))
		i--;
	if (i > 0)
		memmove(c->ids[i - 1], c->ids[i], (--c->count - (i - 1)) * ID_SIZE);
}

void
child_runs_note(struct child_runs *c, const struct event_view *event)
{
	if (event_type_starts_call(event->type))
		child_runs_add(c, event->child_run_id);
	if (event->type == EVENT_CALL_WORKFLOW_COMPLETED)
		child_runs_forget_asking(c, event);
}

void
child_runs_free(struct child_runs *c)
{
	free(c->ids);
	map_free(&c->known);
	*c = (struct child_runs)CHILD_RUNS_INIT;
}
