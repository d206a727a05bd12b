/* What differs between two runs: what awf-diff --json prints about their transcripts. */
#ifndef AWF_SERVE_COMPARE_H
#define AWF_SERVE_COMPARE_H

#include "serve/request.h"

void answer_compare(struct request *r);

#endif
