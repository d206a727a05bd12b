/* Searching in what was said, of all runs: GET /api/search. */
#ifndef AWF_SERVE_SEARCH_H
#define AWF_SERVE_SEARCH_H

#include "serve/request.h"

void answer_search(struct request *r);

#endif
