/* Figures of many runs, as awf-tail --stats has them: GET /api/stats, /api/stats/calls. */
#ifndef AWF_SERVE_STATS_H
#define AWF_SERVE_STATS_H

#include "serve/request.h"

/* Of each workflow, step, tool or model. */
void answer_stats(struct request *r);
/* The calls behind one of these. */
void answer_stats_calls(struct request *r);

#endif
