/*
 * A group makes calls of a step that is a copy of its own: without what the group sees to,
 * with its call around it. So a round or a branch is a call like any other.
 */
#include "step/group.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void
group_open(struct group *g, struct step_call *call)
{
	const struct step *s = call->step;
	bool recalled = call->verdict.recalls && !call->verdict.recalled.changed;

	g->call = call;
	g->step = *s;
	g->step.group = GROUP_NONE;
	g->step.member = true;
	g->step.compared = 0;
	g->step.reader = 0;
	g->step.enclosing = call->id;
	g->step.try_number = 0;
	g->step.root = recalled ? call->verdict.recalled.root : NULL;
	g->step.parent = call->started;
	g->step.process = memory_format("%s/%s:0", call->id, s->name);
	memset(&g->step.environment, 0, sizeof g->step.environment);
	environment_copy(&g->step.environment, &s->environment);
	/* What the group itself sees to. */
	g->step.into = NULL;
	g->step.gate.count = 0;
	g->step.rescue = g->step.raw = false;
	g->step.failure = FAILURE_TRAVELS;
}

void
group_take_input(struct step_call *call, struct item *item)
{
	struct buffer line = BUFFER_INIT;

	step_body_line(call, &line);
	item_take_state(item, span_of(line.data, line.len), call->step->run->id);
	buffer_free(&line);
}

int
group_call(struct group *g, const struct item *item, const struct buffer *causes,
    int64_t index, struct step_result *result, struct error *err)
{
	step_result_clear(result);
	return step_call(&g->step, item, causes, NULL, index, result, err);
}

void
group_close(struct group *g)
{
	free(g->step.process);
	environment_free(&g->step.environment);
}
