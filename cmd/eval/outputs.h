/*
 * What the child runs of an evaluation have printed, as the evaluation's own record has it: what a child run prints goes
 * to its parent.
 */
#ifndef AWF_EVAL_OUTPUTS_H
#define AWF_EVAL_OUTPUTS_H

#include "base/error.h"
#include "base/map.h"
#include "storage/storage.h"

struct eval_outputs {
	struct map by_run;       /* id of the child run → index in values */
	char **values;           /* JSON (eval/verdict.h); a list */
};

/* Reads them from the transcript of a run. Call eval_outputs_free() whatever the result. */
int eval_outputs_read(struct eval_outputs *o, const struct storage *storage, const char *run_id, struct error *err);
/* What a child run has printed; NULL: that is not known, or it was no text. */
const char *eval_outputs_of(const struct eval_outputs *o, const char *run);
void eval_outputs_free(struct eval_outputs *o);

#endif
