/*
 * If an answer tells its own cost, that is used. Otherwise the price is looked up by the model name
 * that the API returned, then by the name that was requested. An answer that broke off costs what
 * its usage says; without usage it has no cost.
 *
 * In a run that consists of events of other programs, each that tells usage is an answer of the model
 * that it names, whatever its type. In any other run what a program says costs nothing. Sums saturate at the largest number.
 */
#include "model/cost.h"

#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "transcript/event_keys.h"

#define KIND_SENT "record" /* of a run that awf-record has made */

int
cost_begin(struct cost *c, struct error *err)
{
	*c = (struct cost){ .total = 0 };
	return prices_load(&c->prices, err);
}

int64_t
cost_take(struct cost *c, const struct placed *placed)
{
	const struct event_view *event = placed->event;
	const struct model_call *call = placed->call;
	const char *provider = NULL, *model = NULL;
	const struct price *price = NULL;
	static const char *const names[] = { KEY_PARTIAL, KEY_MODEL, KEY_USAGE };
	struct span partial_model_usage[3];
	char *answered, *asked = NULL;
	int64_t cost;

	if (event->type == EVENT_RUN_STARTED)
		c->sent = span_is(span_member(event->payload, KEY_KIND), KIND_SENT);
	if (event->type != EVENT_MESSAGE_ASSISTANT && (event->type != EVENT_TYPES || !c->sent))
		return COST_NONE;
	span_members(event->payload, names, 3, partial_model_usage);
	if (event->type == EVENT_TYPES && event_is_foreign(event->told, event->payload) &&
	    partial_model_usage[2].at == NULL)
		span_members(span_member(event->payload, KEY_DATA), names, 3, partial_model_usage);
	if (event->type == EVENT_TYPES && (span_type(partial_model_usage[2]) != 'o' ||
	    !event_is_foreign(event->told, event->payload)))
		return COST_NONE;
	if (span_true(partial_model_usage[0]) && partial_model_usage[2].at == NULL)
		return COST_NONE;
	cost = price_told(partial_model_usage[2]);
	if (cost >= 0) {
		c->total = count_add(c->total, cost);
		return cost;
	}
	/* A summary may be another agent's, which the call is not. */
	if (span_true(partial_model_usage[0]) && span_true(span_member(event->payload, KEY_COMPACT)))
		asked = span_text(span_member(event->payload, KEY_PROVIDER));
	if (asked != NULL) {
		provider = asked;
	} else if (call != NULL && call->step->fallback_provider != NULL) {
		provider = call->step->fallback_provider;
		model = call->step->fallback_model;
	} else if (call != NULL) {
		provider = call->step->provider;
		model = call->step->model;
	}
	if (asked == NULL && (provider == NULL || model == NULL))
		provider = model = NULL;
	cost = COST_UNKNOWN;
	answered = span_text(partial_model_usage[1]);
	if (answered != NULL)
		price = prices_find(&c->prices, provider, answered);
	if (price == NULL && model != NULL)
		price = prices_find(&c->prices, provider, model);
	if (price != NULL) {
		cost = price_cost(price, partial_model_usage[2]);
		c->total = count_add(c->total, cost);
	} else if (c->unknown == NULL) {
		c->unknown = memory_format("%s%s%s", provider != NULL ? provider : "",
		    provider != NULL ? "/" : "", model != NULL ? model : answered != NULL ? answered : "");
	}
	free(answered);
	free(asked);
	INVARIANT(c->total >= 0 && (cost >= 0 || (cost == COST_UNKNOWN && c->unknown != NULL)));
	return cost;
}

static int
cost_watch_event(void *context, const struct placed *placed, struct error *err)
{
	(void)err;
	cost_take(context, placed);
	return 0;
}

int
cost_read(struct cost *c, const char *path, struct error *err)
{
	struct model m;
	int failed;

	model_begin(&m, MODEL_EVENTS);
	m.watch = cost_watch_event;
	m.context = c;
	failed = model_read_file(&m, path, err);
	model_free(&m);
	return failed;
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
	free(c->unknown);
	c->unknown = NULL;
	c->total = 0;
}

void
cost_free(struct cost *c)
{
	cost_restart(c);
	prices_free(&c->prices);
}
