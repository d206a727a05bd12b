/* Requests about runs: lists, one run, its events. */
#ifndef AWF_SERVE_RUNS_H
#define AWF_SERVE_RUNS_H

#include "base/id.h"
#include "serve/request.h"
#include "serve_runs/feed.h"
#include "serve_runs/overview.h"

/* lists.c */
void answer_runs(struct request *r);
void answer_runs_stream(struct request *r);
/* Tells clients that follow the list that a run has changed; context: a struct server. */
void lists_changed(void *context);

/* runs.c */
void answer_run(struct request *r);
/* Finds the run that a segment of the path names: by its id, a prefix of the id, @, or @NAME.
 * False: the request was refused, because no run or several have the name, or the token gives no
 * access to it. */
bool request_run(struct request *r, const char *name, char run_id[ID_SIZE]);
/* Refuses a request about a run whose transcript cannot be opened. */
void request_unopened(struct request *r, const char *run_id, const struct error *why);
/* Whether the storage can be read. If not, the request is refused with storage_unreadable. */
bool runs_readable(const struct server *s);
extern const struct refusal storage_unreadable;
/* The overview of the run named in the first segment, read to its end; NULL: the request waits for
 * that, or was refused. It becomes the request's state. */
const struct overview *request_overview(struct request *r);

/* outline.c */
void answer_outline(struct request *r);

/* events.c */
void answer_events(struct request *r);
void answer_event(struct request *r);
void answer_event_stream(struct request *r);
/* Sends the feed's streams what has changed in the text in progress. */
void events_live_changed(struct feed *feed);
/* The events in the vocabulary of a workflow runtime, by offset. */
void answer_workflow_events(struct request *r);

/* blobs.c */
void answer_blob(struct request *r);
/* The standard input of the run. */
void answer_input(struct request *r);

#endif
