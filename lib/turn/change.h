/*
 * Changes to a turn: reads and checks the output of an agent's before_turn program, awf-agent(5).
 * They apply to the next turn only: the conversation is not changed, and the program runs again
 * before the following turn.
 */
#ifndef AWF_TURN_CHANGE_H
#define AWF_TURN_CHANGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/scan.h"
#include "turn/control.h"

struct change {
	struct buffer text;       /* the answer, minified; empty: nothing changes */
	/* Of it; their `at` is NULL where it does not say. */
	struct span model, messages;
	struct span result;       /* ends the call, as its result */
	struct span failure;      /* ends it, failed: a text */
	bool narrows;             /* only offer may be called */
	struct offer offer;
	json_t *params;           /* all parameters; NULL: those of the agent */
};

/* Reads the output of a program; only white space means no change. offer and params are those of
 * the turn without the change. -1: ERROR_BLOCKED for a tool that is not offered, otherwise
 * ERROR_SCHEMA. change_free() is called in both cases. */
int change_read(struct change *c, const char *bytes, size_t len, const struct offer *offer,
    const json_t *params, struct error *err);
void change_free(struct change *c);

#endif
