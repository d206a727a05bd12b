/*
 * The past of a run: what its earlier events decide about the lines of the next one. An agent's call
 * has begun once something has happened in it; a model is asked for its next turn when the last tool
 * that it wanted has answered; and events of other programs for which a vocabulary has no word are
 * counted.
 */
#ifndef AWF_PROJECTION_PROJECTION_PAST_H
#define AWF_PROJECTION_PROJECTION_PAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "model/model.h"

struct past_call;

struct projection_past {
	struct map numbers;          /* the number of an agent's call: its index in the list */
	struct past_call *calls;
	size_t count, room;
	int64_t dropped;             /* events without a line so far */
};

/* What an event begins. */
struct projection_news {
	bool agent_begins;           /* an agent's call: this is the first event in it */
	bool agent_begun;            /* that, or it had begun before */
	bool turn_begins;            /* a turn, unless an earlier event has begun it */
	int64_t turn;                /* its number, if a tool's answer begins it */
};

/* Adds the next event. past NULL: nothing is known about earlier ones. */
void past_take(struct projection_past *past, const struct placed *at, struct projection_news *news);
void past_free(struct projection_past *past);

#endif
