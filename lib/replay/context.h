/*
 * Context: what the events of a run so far tell about the next: the attempt and
 * the call that it belongs to, the call whose result it goes on with, and when
 * that which it ends began. The events have to come from the first on; one whose
 * cause is not known belongs to no call.
 *
 * It keeps every call, and an entry for every event, as any of them may be named
 * as a cause later.
 */
#ifndef AWF_REPLAY_CONTEXT_H
#define AWF_REPLAY_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"
#include "base/map.h"
#include "record/event.h"

/* A call of a step, as its start tells; agent, provider and model are those that work on
 * it, or ended it. Texts that are not there are NULL. */
struct context_call {
	size_t index;                       /* among the calls of the context */
	char event_id[ID_SIZE];             /* of its start */
	char child_run_id[ID_SIZE];         /* "" if it has none */
	char *name, *call, *kind, *agent, *provider, *model, *tool;
	int64_t started;                    /* µs since 1970 */
	const struct context_call *around;  /* the group that it is in; NULL: the run */
	const struct context_call **before; /* calls that it was given the results of */
	size_t before_count;
};

struct context_event;

struct context {
	char run_id[ID_SIZE];
	char parent_run_id[ID_SIZE];        /* "" for a run that is nobody's child */
	char *name;                         /* of the workflow */
	int64_t attempt;
	int64_t started;                    /* the attempt, µs since 1970 */
	struct context_call **calls;
	size_t call_count;
	struct context_event *events;
	size_t event_count;
	struct map by_call, by_event;
};

/* An event in its place. */
struct placed {
	const struct event_view *event;
	const struct context *run;
	const struct context_call *call;    /* NULL: none */
	enum event_type cause;              /* of a message or tool event; EVENT_TYPES: unknown */
	int64_t wall;                       /* µs since 1970 */
	int64_t started;                    /* of what it ends: an attempt, call, tool call or
	                                       turn; else wall */
};

#define CONTEXT_INIT { .run_id = "" }

/* Takes note of the next event, and says where it stands. */
void context_place(struct context *c, const struct event_view *event, struct placed *placed);
/* Whether it lets another agent go on with the call. */
bool placed_handoff(const struct placed *placed);
void context_free(struct context *c);

#endif
