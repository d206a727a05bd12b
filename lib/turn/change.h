/*
 * Changes of a turn: what a before_turn program of an agent answers, awf-agent(5), read
 * and checked. They are for the next turn alone: the conversation stays as it was, and
 * the turn after it is asked for anew.
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
	json_t *params;           /* all of them; NULL: as the agent says */
};

/* Reads what a program answered; white space alone is no change. offer and params are
 * what the turn would have without it. -1: ERROR_BLOCKED for a tool that is not offered,
 * else ERROR_SCHEMA. change_free() is called either way. */
int change_read(struct change *c, const char *bytes, size_t len, const struct offer *offer,
    const json_t *params, struct error *err);
void change_free(struct change *c);

#endif
