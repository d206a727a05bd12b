/*
 * Monitoring: GET /healthz says whether the server can work; GET /metrics lists figures in the text
 * format of Prometheus (its exposition formats, version 0.0.4).
 */
#ifndef AWF_SERVE_METRICS_H
#define AWF_SERVE_METRICS_H

#include "serve/request.h"

void answer_health(struct request *r);
void answer_metrics(struct request *r);

#endif
