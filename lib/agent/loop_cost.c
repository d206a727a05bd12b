/*
 * A turn costs what the model that answered does, or, where it has no price, the one asked. A
 * recorded answer counts for the call, and is not entered for the run a second time.
 */
#include <stdlib.h>

#include "agent/loop.h"
#include "base/count.h"
#include "base/memory.h"

/* The model of this turn. */
static char *
asked_model(const struct loop *l)
{
	char *changed = span_text(l->change.model);

	return changed != NULL ? changed : memory_text(loop_model(l));
}

int
loop_check_cost(const struct loop *l, struct error *err)
{
	const struct turns *t = l->turns;
	char *model;
	int result;

	if (t->budget == NULL)
		return 0;
	model = asked_model(l);
	result = budget_check(t->budget, l->cost, t->member->agent.name, loop_provider_name(l),
	    model, err);
	free(model);
	return result;
}

int
loop_add_cost(struct loop *l, bool recorded, struct error *err)
{
	const struct turns *t = l->turns;
	char *asked, *answered;
	int64_t cost;

	if (t->budget == NULL)
		return 0;
	asked = asked_model(l);
	answered = span_text(l->answer.model);
	cost = budget_cost(t->budget, loop_provider_name(l), asked, answered, l->answer.usage);
	free(asked);
	free(answered);
	l->cost = count_add(l->cost, cost);
	return recorded ? 0 : budget_enter(t->budget, cost, err);
}
