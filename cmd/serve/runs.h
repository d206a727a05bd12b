/*
 * What is told of runs: lists, one run, its events.
 */
#ifndef AWF_SERVE_RUNS_H
#define AWF_SERVE_RUNS_H

#include "base/id.h"
#include "serve/request.h"

void answer_runs(struct request *r);
void answer_run(struct request *r);
void answer_events(struct request *r);
void answer_event(struct request *r);
void answer_event_stream(struct request *r);

/* The run that a segment names: its id, a prefix of it, @, @NAME. False if it was refused: there
 * is none, several, or its workflow is not for the token. */
bool request_run(struct request *r, const char *name, char run_id[ID_SIZE]);

#endif
