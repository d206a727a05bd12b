#include "run/cost.h"

#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/memory.h"
#include "transcript/reader.h"

int
cost_begin(struct cost *c, struct error *err)
{
	*c = (struct cost){ .asked = MAP_INIT };
	return prices_load(&c->prices, err);
}

static size_t
add_model(struct cost *c, struct span provider, struct span model)
{
	c->models = memory_array(c->models, c->model_count + 1, sizeof *c->models);
	c->models[c->model_count] = (struct cost_model){ span_text(provider), span_text(model) };
	return c->model_count++;
}

/* Who is asked after this event: whom it names, or who was asked before it. */
static const size_t *
follow(struct cost *c, const struct event_view *event)
{
	struct span provider = span_member(event->payload, "provider");
	struct span model = span_member(event->payload, "model");
	char id[ID_SIZE], cause[ID_SIZE];
	const size_t *before = NULL;
	size_t number = 0;

	if (!event_copy_id(event->event_id, id))
		return NULL;
	if (span_type(provider) == 's' && span_type(model) == 's')
		number = 1 + add_model(c, provider, model);
	else if (event_copy_id(event->parent_event_id, cause) &&
	    (before = map_get(&c->asked, cause, ID_SIZE - 1)) != NULL)
		number = *before;
	if (number == 0)
		return NULL;
	map_put(&c->asked, id, ID_SIZE - 1, number);
	return map_get(&c->asked, id, ID_SIZE - 1);
}

/* By the name that the API gave; by the one that it was asked by. */
static const struct price *
find_price(const struct cost *c, const struct cost_model *asked, const char *answered)
{
	const char *provider = asked == NULL ? NULL : asked->provider;
	const struct price *price = NULL;

	if (answered != NULL)
		price = prices_find(&c->prices, provider, answered);
	if (price == NULL && asked != NULL && asked->model != NULL)
		price = prices_find(&c->prices, provider, asked->model);
	return price;
}

int64_t
cost_take(struct cost *c, const struct event_view *event)
{
	const size_t *number = follow(c, event);
	const struct cost_model *asked = number == NULL ? NULL : &c->models[*number - 1];
	const struct price *price;
	char *answered;
	int64_t cost = COST_UNKNOWN;

	if (event->type != EVENT_MESSAGE_ASSISTANT || span_true(span_member(event->payload, "partial")))
		return COST_NONE;
	answered = span_text(span_member(event->payload, "model"));
	price = find_price(c, asked, answered);
	if (price != NULL) {
		cost = price_cost(price, span_member(event->payload, "usage"));
		c->total = count_add(c->total, cost);
	} else if (c->unknown == NULL) {
		c->unknown = memory_format("%s%s%s", asked == NULL ? "" : asked->provider,
		    asked == NULL ? "" : "/", asked != NULL && asked->model != NULL ? asked->model :
		    answered != NULL ? answered : "");
	}
	free(answered);
	return cost;
}

int
cost_read(struct cost *c, const char *path, struct error *err)
{
	struct event_view event;
	struct reader r;
	const char *line;
	size_t len;
	int got;

	if (reader_open(&r, path, err) != 0)
		return -1;
	while ((got = reader_next(&r, &line, &len, err)) == 1)
		if (event_view(line, len, &event) == 0)
			cost_take(c, &event);
	reader_close(&r);
	return got;
}

int64_t
cost_sum(const struct cost *c)
{
	return c->unknown != NULL ? COST_UNKNOWN : c->total;
}

void
cost_write(struct writer *w, int64_t cost)
{
	char dollars[MONEY_SIZE];

	if (cost < 0)
		return;
	money_number(cost, dollars);
	writer_key(w, "cost");
	writer_raw(w, dollars, strlen(dollars));
}

void
cost_restart(struct cost *c)
{
	for (size_t i = 0; i < c->model_count; i++) {
		free(c->models[i].provider);
		free(c->models[i].model);
	}
	free(c->models);
	free(c->unknown);
	map_free(&c->asked);
	*c = (struct cost){ .prices = c->prices, .asked = MAP_INIT };
}

void
cost_free(struct cost *c)
{
	cost_restart(c);
	prices_free(&c->prices);
}
