/*
 * What awf-run prints on stderr at the end of a run: after success nothing, unless stderr is a
 * terminal; otherwise a block.
 *
 *   awf-run: nightly: step fetch:0:2 ("3") failed: sh: exit status 4
 *     | connecting to db1
 *     | could not reach database
 *   awf-run: nightly: failed after 12.4s, $0.031; to go on from there: awf-run --resume 56e42a39
 *
 * The lines in the middle are the last ones of the failed step's stderr, from the transcript: with
 * many items at once the originals stand far above, mixed with those of others. Failures that steps
 * counted instead of printing them (model/told_failures.h) are reported with the first, or before
 * it. For a run that waits, the block says how to decide, and who may.
 *
 * Within a call of another run the message is recorded and compared by a replay: so it has no data,
 * time or stderr, and no command to resume, which is that of the outer run.
 */
#ifndef AWF_RUN_REPORT_H
#define AWF_RUN_REPORT_H

#include "run/job.h"

/* cost: of the run, in nano-dollars, or a constant of model/cost.h. Call it before the run is
 * finished, as it reads the run's transcript. */
void report_end(struct job *j, int64_t cost);
/* Whether the report has the cost. */
bool report_tells_cost(const struct job *j);
/* Whether another run takes the place of this one (--overlap cancel-other); sets its id. */
bool report_successor(struct job *j, char id[ID_SIZE]);

#endif
