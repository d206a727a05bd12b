/*
 * What awf-run prints on stderr at the end of a run: after success nothing, unless stderr is a
 * terminal; otherwise a block.
 *
 *   awf-run: nightly: step fetch:0:2 ("3") failed: sh: exit status 4
 *     | connecting to db1
 *     | could not reach database
 *   awf-run: nightly: failed after 12.4s, $0.031; to go on from there: awf-run --resume 56e42a39
 *
 * The lines in the middle are the last ones of the failed step's stderr, from the transcript: if
 * many items are worked on at the same time, the original lines are far above, mixed with others.
 * Failures that steps counted instead of printing them (model/told_failures.h) are reported with
 * the first one, or before it. For a run that waits, the block says how to decide, and who may.
 *
 * Inside of another run, the message is recorded there and compared by a replay. So it contains no
 * data, time or stderr; and no command to resume, since the outer run is what is resumed.
 */
#ifndef AWF_RUN_REPORT_H
#define AWF_RUN_REPORT_H

#include "run/job.h"

/* Prints the report. cost: of the run, in nano-dollars, or a constant of model/cost.h. Call it
 * before the run's directory is removed, as it reads the transcript. */
void report_end(struct job *j, int64_t cost);
/* Whether the report shows the cost. */
bool report_tells_cost(const struct job *j);
/* Whether another run takes the place of this one (--overlap cancel-other); sets its id. */
bool report_successor(struct job *j, char id[ID_SIZE]);

#endif
