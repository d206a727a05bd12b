/*
 * What a run usually asks: the provider that the last run of its name had for its first request
 * is started with the workflow, as a worker that waits for a step (start/pool.h). To load its
 * libraries takes longer than all else that comes before that request.
 *
 *     providers/NAME → openai          in the storage, a link with no file behind it
 *
 * It is a matter of speed alone: a link that is not there, or says what is not so any more, costs
 * time and is no error. A run that asks nobody leaves none, so that the next one of its name
 * starts nothing in vain. Runs inside of others, further attempts and forks take no part: most of
 * what they do is recorded, or begun by others. Nor do those whose environment says which provider
 * is asked (AWF_PROVIDER), as for runs on recorded answers: it is not the usual one.
 */
#ifndef AWF_RUN_USUAL_H
#define AWF_RUN_USUAL_H

#include "run/job.h"

/* Before the workflow starts, and once the guardian can be asked. */
void usual_start(const struct job *j);
/* When it has ended, while the directory of the run is still there. */
void usual_keep(const struct job *j);

#endif
