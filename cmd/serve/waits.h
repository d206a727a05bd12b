/* What waits for a person, of all runs: GET /api/waits. */
#ifndef AWF_SERVE_WAITS_H
#define AWF_SERVE_WAITS_H

#include "serve/request.h"

void answer_waits(struct request *r);

#endif
