/*
 * Trace context (W3C Trace Context, level 1), as in the variable TRACEPARENT and in run.started:
 * the trace of an attempt, a call or a tool call, and the enclosing span.
 *
 * A run that is started in a trace is part of it; otherwise it has its own trace, with the run's
 * id. Ids of spans are derived from those of events, so that a program can name the span of its
 * call while it runs, long before spans are made of the transcript.
 */
#ifndef AWF_STORAGE_TRACEPARENT_H
#define AWF_STORAGE_TRACEPARENT_H

#include <stdbool.h>
#include <stdint.h>

#include "proc/environment.h"

#define TRACEPARENT "TRACEPARENT" /* the variable */

#define TRACE_ID_SIZE 33
#define SPAN_ID_SIZE 17
#define TRACEPARENT_SIZE 56

struct traceparent {
	char trace_id[TRACE_ID_SIZE];
	char span_id[SPAN_ID_SIZE];
	unsigned flags;  /* the flags of level 1, among them that the id is random */
};

/* Reads VERSION-TRACE-SPAN-FLAGS; false if text, which may be NULL, is not a valid one. */
bool traceparent_read(const char *text, struct traceparent *t);
/* Writes it, as version 00. Returns out. */
char *traceparent_write(const struct traceparent *t, char out[TRACEPARENT_SIZE]);

/* The id of a run's own trace: the run's id without dashes. Returns out. */
char *trace_id_of_run(const char *run_id, char out[TRACE_ID_SIZE]);
/* The id of the span that an event has begun; and of the span of an attempt. Return out. */
char *span_id_of_event(const char *event_id, char out[SPAN_ID_SIZE]);
char *span_id_of_attempt(const char *run_id, int64_t attempt, char out[SPAN_ID_SIZE]);

/* Writes the trace context for what happens inside of the span of an event, in the trace that the
 * environment e is in; "" if it is in none. Returns out. */
char *traceparent_within(const struct environment *e, const char *event_id,
    char out[TRACEPARENT_SIZE]);
/* Puts the environment into the span of an event. */
void traceparent_enter(struct environment *e, const char *event_id);

#endif
