/*
 * Gates: which items awf-step --require accepts. An item is accepted if one of the required calls
 * has made it in this run and attempt, and its data is unchanged: the token in its state line
 * proves both (token.h).
 */
#ifndef AWF_STEP_CALL_GATE_H
#define AWF_STEP_CALL_GATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/digest.h"
#include "base/error.h"
#include "storage/state.h"

struct gate {
	const char **required;      /* step paths and calls */
	size_t count;               /* 0: everything passes */
	const char *run_id;
	int attempt;
	const unsigned char *key;   /* of the run */
};

/* Adds a step path or a call; ERROR_USAGE if it is neither. text stays the caller's. */
int gate_require(struct gate *g, const char *text, struct error *err);
/* The index of the required path or call that made the item; -1 with ERROR_BLOCKED. */
int gate_pass(const struct gate *g, const struct item *item, struct error *why);
/* Whether the item's token proves that the call it names has made its data. */
bool gate_vouched(const struct gate *g, const struct item *item);
/* Makes that token, for a line that goes out again; false if the item names no call. */
bool gate_vouch(const struct gate *g, const struct item *item, char token[DIGEST_SIZE]);
void gate_free(struct gate *g);

#endif
