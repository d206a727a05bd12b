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
/* The same, and it also finds a run that is queued, or begins just now, and has no transcript yet:
 * then *queued is set. */
bool request_run_or_queued(struct request *r, const char *name, char run_id[ID_SIZE], bool *queued);
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
/* Answers with a blob of a run, which may have to be fetched from the database first. */
void request_blob(struct request *r, const char *run_id, const char *sha256);
/* If the request waits for a blob of the database: answers with it. False: it does not. */
bool request_blob_fetched(struct request *r);
/* The standard input of the run. */
void answer_input(struct request *r);

/* results.c */
void answer_output(struct request *r);
/* Reads the parameter wait, in seconds; 0 if it is absent. False: the request was refused. */
bool request_waits(struct request *r, int64_t *seconds);
/* Answers with the output of a run: now, or when it has ended, or after this time. The caller has
 * checked that the client may read it. partial: the output of a run that has failed, too. -1 with
 * *err if the run cannot be opened. */
int request_result(struct request *r, const char *run_id, int64_t seconds, bool partial,
    struct error *err);
/* If the request waits for the end of a run: answers it. False: it does not. */
bool request_result_due(struct request *r);

#endif
