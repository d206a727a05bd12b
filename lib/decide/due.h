/*
 * What a run that waits waits for, and whether it has come: a decision, a result, or a time. Such a
 * run is due.
 */
#ifndef AWF_DECIDE_DUE_H
#define AWF_DECIDE_DUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "storage/storage.h"

struct due {
	bool waits;          /* the run has ended as one that waits, or was killed while it did
	                        nothing else */
	bool by_itself;      /* it may be resumed automatically (awf-run --auto-resume) */
	bool came;           /* (waits) something that it waits for has come, and was not used yet */
	bool ready;          /* the same, and no attempt that has begun since has ended: a further one
	                        would go on */
	int64_t next;        /* (waits) the next time that is to come, µs since 1970; 0: none */
	int64_t attempt;     /* the last one */
	bool ended;          /* it has an end */
};

/* Reads a run, with the child runs that it waits for. own: this process has the run's lock. */
int due_read(struct due *d, const struct storage *s, const char *run_id, bool own, struct error *err);
/* Tells the resumer that something was decided about a call of this run: this run and those around it may be
 * due. */
void due_tell(const struct storage *s, const char *run_id);

#endif
