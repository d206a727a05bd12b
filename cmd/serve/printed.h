/* Answers that other programs print: what awf-diff --json says of two runs, and awf-eval --report of one. */
#ifndef AWF_SERVE_PRINTED_H
#define AWF_SERVE_PRINTED_H

#include "serve/request.h"

/* What differs between two runs. */
void answer_compare(struct request *r);
/* What came of each trial of an evaluation; 404 if the run is none. */
void answer_evaluation(struct request *r);

#endif
