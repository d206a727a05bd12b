/*
 * What programs watch the server by: GET /healthz says whether it can do its work, GET /metrics
 * what there is, in the text format of Prometheus (its exposition formats, version 0.0.4).
 */
#ifndef AWF_SERVE_METRICS_H
#define AWF_SERVE_METRICS_H

#include "serve/request.h"

void answer_health(struct request *r);
void answer_metrics(struct request *r);

#endif
