/*
 * Events that wait for their cause: a sender may send an effect before its cause. Such an event is
 * kept in memory until the cause is recorded; it is not acknowledged before it is recorded itself.
 * The caller decides how long it waits.
 */
#ifndef AWF_INGEST_AWAITED_H
#define AWF_INGEST_AWAITED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"
#include "base/map.h"
#include "json/scan.h"

struct awaited_event {
	char *object;            /* JSON, minified */
	size_t len;
	int64_t line, number;    /* its place in the input */
	char run_id[ID_SIZE];
	char id[ID_SIZE];        /* its id in the run */
	char cause[ID_SIZE];     /* the id of its cause */
	int64_t since;           /* clock_monotonic() */
	bool over;               /* it waits no more */
	size_t next;             /* 1 + index of the one before it that waited for the same cause; 0:
	                            there is none */
};

struct awaited {
	struct awaited_event *list;
	size_t count, room;      /* in the order in which they came */
	size_t first;            /* index of the first that still waits */
	size_t waiting;          /* how many wait */
	size_t bytes;            /* of those that wait */
	bool settling;           /* the list is in use */
	struct map causes;       /* from run and cause to 1 + index of the last event that waits for it */
};

void awaited_add(struct awaited *a, const struct awaited_event *event);
/* Takes an event that waits for a cause in a run; it belongs to the caller, who frees its object.
 * False: none does. */
bool awaited_take(struct awaited *a, const char *run_id, const char *cause,
    struct awaited_event *event);
/* Ends the waiting of the events that have waited since this time (clock_monotonic()), and passes each
 * to `end`, which frees its object and may call awaited_take(): first those whose cause does not wait
 * itself, in the order in which they came; then those that wait for each other, by their ids. */
void awaited_settle(struct awaited *a, int64_t before,
    void (*end)(void *context, const struct awaited_event *event), void *context);
/* Since when the first one waits; 0: none does. */
int64_t awaited_since(const struct awaited *a);
void awaited_copy(struct awaited *to, const struct awaited *from);
void awaited_free(struct awaited *a);

#endif
