/*
 * What awf-run says at the end of a run, on stderr: nothing after success, unless that is a
 * terminal; else a block.
 *
 *     awf-run: nightly: step fetch:0:2 ("3") failed: sh: exit status 4
 *       | connecting to db1
 *       | could not reach database
 *     awf-run: nightly: failed after 12.4s, $0.031; to go on from there: awf-run --resume 56e42a39
 *
 * The lines in the middle are the last that the step has written on stderr, as recorded: with
 * many items at once they stand far above, among those of others. Failures that its steps have
 * counted instead of printing them (model/told_failures.h) are told with the first, or before it.
 * Of a run that waits the block
 * says how it is decided about, and who may.
 *
 * Within a call of another run what is told is recorded, and compared by a replay: no data, time
 * or stderr is told there, and no way on, which is that of the run around.
 */
#ifndef AWF_RUN_REPORT_H
#define AWF_RUN_REPORT_H

#include "run/job.h"

/* cost: of the run, in nano-dollars, or one of those of model/cost.h. To be called before the run
 * is finished, whose record it reads. */
void report_end(struct job *j, int64_t cost);
/* Whether that tells the cost. */
bool report_tells_cost(const struct job *j);
/* The run that takes the place of this one, if one does (--overlap cancel-other); its id. */
bool report_successor(struct job *j, char id[ID_SIZE]);

#endif
