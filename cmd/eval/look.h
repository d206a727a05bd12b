/*
 * What the records of runs say: how long a workflow took, what it cost, why it failed. A case asks
 * for it by a step with the effects read, so that the answer is part of the evaluation's own record, from which it
 * can be replayed.
 *
 * A fork in which every result was taken over has done nothing itself. What is said of it is said of the run in which
 * these results were made: so a check reads the same of it as it did then, and what a judge has answered to that can
 * be taken over, too.
 */
#ifndef AWF_EVAL_LOOK_H
#define AWF_EVAL_LOOK_H

#include <stdint.h>

#include "base/error.h"
#include "json/writer.h"

#define EVAL_LOOK_WORD "--look"
#define EVAL_LOOK_STEP "figures"

/* Reads {"run": ID} from stdin. Prints {"run", "ms", "cost_usd", "paid_usd", "failed", "error"}, of which what is not known is left out. run:
 * the one in which the results were made. cost_usd: had nothing been taken over. STATUS_OK; -1: *err. */
int eval_look_run(struct error *err);

/* Writes a member in dollars; nothing if the amount in nano-dollars is not known. */
void eval_write_dollars(struct writer *w, const char *key, int64_t nano);

#endif
