/*
 * The model of a run: the contents of its transcript as a tree of calls, which grows with the file.
 * It is fed line by line, from the first line on, for running and ended runs alike. All code that
 * needs information about a run gets it from the model: the call of an event (projections, the call
 * tree), what failed (model/outcome.h), what the run did and used.
 *
 * Its users rely on these rules:
 *   - Feeding the beginning and then the rest gives the same model as feeding the whole.
 *   - It depends neither on the clock nor on which processes are alive; callers add that.
 *   - It only collects what was recorded. Whether a failure counts is computed on request.
 *   - Of payloads it keeps only what identifies calls and determines their outcome; for texts that
 *     are only displayed it keeps their positions in the file.
 *   - A call keeps its address and its number until it is forgotten.
 *   - An event whose cause is not known belongs to no call.
 *   - Of a foreign event (transcript/event.h) it keeps only the call and the times.
 *
 * How much it keeps depends on its level:
 *   - MODEL_LIVE: open calls, the calls that enclose them, and what waits; messages and tools are
 *     ignored.
 *   - MODEL_OPEN: what still matters of the last attempt, which is the calls that are open, failed
 *     or wait, and the calls that enclose them; and what has waited in any attempt. Memory is used
 *     for these alone.
 *   - MODEL_INSIDE: also which call a message or tool belongs to, while that call is open.
 *   - MODEL_EVENTS: every call, some 180 bytes each, and the call of every event, some 40 bytes
 *     each.
 *
 * A model of level MODEL_EVENTS may be fed the transcripts of several runs, one after another: to
 * find out what became of a run that was forked from another (history/recording.h), feed the
 * original first.
 */
#ifndef AWF_MODEL_MODEL_H
#define AWF_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/id.h"
#include "base/map.h"
#include "model/call_index.h"
#include "model/event_index.h"
#include "model/waiting.h"
#include "storage/traceparent.h"
#include "transcript/event.h"
#include "transcript/reader.h"

enum model_level { MODEL_LIVE, MODEL_OPEN, MODEL_INSIDE, MODEL_EVENTS };

/* The state of a call, from its end. */
enum call_state {
	CALL_OPEN,
	CALL_SUCCEEDED,
	CALL_FAILED,
	CALL_SKIPPED,
	CALL_CLOSED,   /* the reader of its output closed it: neither a success nor a failure */
	CALL_WAITING
};

/* The step of a call and who works on it. Many calls have equal ones, so each is kept once. A
 * missing text is NULL, unless a comment says otherwise. */
struct model_step {
	const char *name, *kind, *path; /* missing: "" */
	const char *tool;
	const char *agent, *provider, *model; /* that work on the call, or ended it */
	const char *fallback_provider, *fallback_model; /* that answered instead of provider and
	                                                   model */
};

struct model_calls {
	struct model_call **list;
	size_t count;
};

/* Members that only few calls have. */
struct model_rare {
	const char *child_run_id;     /* "" if it has no child run */
	const char *event_id;         /* of its start, if that is not a UUID; else NULL */
	int64_t try_number;           /* the try of the enclosing call in which it was made; 0: the
	                                 first */
	int64_t tries;                /* its own earlier tries, which failed, according to its end */
	struct model_calls given;     /* of a --rescue call: the calls whose failures were its input */
	struct model_calls given_to;  /* the reverse: the --rescue calls that had its failure as
	                                 input */
};

/* What identifies the work of a call, to recognize calls that look like other tries of it:
 * enclosing call, name, input and item. */
struct model_work {
	struct uuid key;              /* a digest of these */
	struct model_call *before;    /* the previous call with this key that is open or failed */
	char *repeated_by;            /* the id of the first call that succeeded after it; NULL: none */
};

/* A call of a step, of a workflow or of a phase of an agent, in one attempt. A run may have
 * millions of calls, so members that only few calls have are in `rare`. */
struct model_call {
	/* The tree. An enclosing call began before the calls inside it. */
	struct model_call *around;    /* the enclosing call; NULL: none but the run, or it is not
	                                 known (any more) */
	struct model_call *first_inside, *last_inside; /* the calls inside it, linked by `beside` in
	                                                  the order in which they began */
	struct model_call *beside;
	struct model_call *next;      /* the next of all calls, in the order in which they began */
	struct model_call **before;   /* before_count calls whose results were its input; only
	                                 MODEL_EVENTS */

	const struct model_step *step;
	const struct model_rare *rare; /* never NULL */
	struct model_work *work;      /* while it is open, or failed and kept; else NULL */
	int64_t iteration;
	int64_t started;              /* µs since 1970 */
	struct event_place begin, end; /* the lines of its start and end */
	struct uuid start;            /* event_key() of its start */
	uint32_t number;              /* position among all calls of the run, counted from 0 */
	uint32_t before_count;

	/* Its result. */
	enum call_state state : 4;
	enum waiting_for asks : 4;    /* of CALL_WAITING, and of CALL_OPEN: its process waits, too */
	enum error_code code : 8;     /* of CALL_FAILED, CALL_CLOSED and CALL_WAITING */

	/* What decides whether its failure counts. */
	bool tried : 1;               /* --try: neither its failure nor a missing end fails the run */
	bool allowed : 1;             /* --allow-failure */
	bool race : 1, lenient : 1;   /* a group of which one branch must succeed (--strategy any),
	                                 or whose branches may fail (--strategy best-effort) */
	bool by_tool : 1;             /* a tool made it: its result or failure is part of the tool's
	                                 result */
	bool caught : 1;              /* a --rescue call that handled its failure succeeded */
	bool decided : 1;             /* it waited, and was decided about since */
	bool reused : 1;              /* its result comes from an earlier attempt */
	bool behind : 1;              /* it was skipped because a call that its input was to come
	                                 from waits */
	bool left : 1;                /* it was ended because the reader of an enclosing call's
	                                 output closed it */

	char id[];                    /* the chain NAME:OCCURRENCE:ITEM; "": the start has no id, so
	                                 no end can refer to it */
};

enum model_usage {
	MODEL_INPUT_TOKENS, MODEL_OUTPUT_TOKENS, MODEL_CACHE_READ_TOKENS, MODEL_CACHE_WRITE_TOKENS,
	MODEL_REASONING_TOKENS, MODEL_USAGE_KEYS
};
extern const char *const model_usage_keys[MODEL_USAGE_KEYS]; /* "input_tokens" … */

/* What the last terminal call decided about the run (awf-step --terminal). */
enum run_decision { RUN_UNDECIDED, RUN_SUCCEEDS, RUN_FAILS };

struct placed;

struct model {
	enum model_level level;
	char run_id[ID_SIZE];         /* "" before the first event */
	char parent_run_id[ID_SIZE];  /* "" if it has no parent run */
	char *name;                   /* of the workflow; NULL before run.started */
	struct traceparent trace;     /* the trace context in which the last attempt was started;
	                                 span_id "": none, it is the root of a trace of its own */

	/* About the last attempt. */
	int64_t attempt;              /* its number, 0 before run.started */
	bool ended;                   /* whether run.completed was read */
	int64_t started, last;        /* µs since 1970; `last`: of its last event that is not a
	                                 decision */
	int64_t begun;                /* calls that have begun, of those with an id */
	int64_t usage[MODEL_USAGE_KEYS]; /* tokens, summed */
	bool used[MODEL_USAGE_KEYS];  /* whether any answer had that count */
	enum run_decision decision;
	char *reason;                 /* the reason for the decision; NULL: none */
	struct model_call *first_of_attempt; /* the first of its calls that is kept; NULL: none */

	struct waitings waits;        /* of all attempts */
	struct model_call *first, *final; /* the first and last of all calls that are kept */
	size_t count;                 /* calls so far, including forgotten ones */
	int64_t damaged;              /* lines that are not valid events */
	int64_t position;             /* in its file, of the next line to be read; may be set */

	/* Called for each event that is read, with its call; NULL: nothing is called. Any value but
	 * 0 ends the reading, -1 with *err. Set after model_begin(). */
	int (*watch)(void *context, const struct placed *placed, struct error *err);
	void *context;

	/* Private. */
	struct {
		struct event_index events;    /* below MODEL_EVENTS: starts of calls, ends that may
		                                 matter, and for MODEL_INSIDE messages and tools of
		                                 calls that are open */
		struct call_index calls;      /* of the last attempt */
		struct event_index works;     /* also of the last attempt: the last call of each work */
		struct event_index tools;     /* tool.call events, until no tool call is open */
		int64_t open_tools;
		struct map text_places;       /* names, kinds and the like: equal texts are kept once */
		char **texts;
		size_t text_count;
	} index;                      /* by which lines are placed */
	struct map step_places;       /* steps: equal ones are kept once */
	struct model_step **steps;
	size_t step_count;
	struct arena memory;          /* of MODEL_EVENTS: memory for its calls */
};

/* An event, and what the model knows about it. */
struct placed {
	const struct event_view *event;
	struct event_place place;
	struct span line;             /* the line that was passed to model_line(); else .at is NULL */
	const struct model *run;
	struct model_call *call;      /* NULL: it belongs to none, or to one that is forgotten */
	const struct model_step *step; /* of the call, even if that is forgotten; NULL: no call */
	uint32_t number;              /* of the call, even if that is forgotten */
	enum event_type cause;        /* the type of its parent event, for a message or tool event;
	                                 EVENT_TYPES: unknown */
	int64_t wall;                 /* µs since 1970; 0: it has no valid timestamp */
	int64_t started;              /* when the attempt, call, tool call or turn began that this
	                                 event ends; else wall */
};

void model_begin(struct model *m, enum model_level level);
/* Adds the next event, whose line is at this place, and finds its call. *placed is valid as long as
 * the event is. Below MODEL_INSIDE, messages and tools have no call. */
void model_take(struct model *m, const struct event_view *event, struct event_place place,
    struct placed *placed);
/* Adds the next line. False, and *placed is not set, if the model ignores the line: it is not an
 * event or, for MODEL_LIVE, it is a message or tool event. */
bool model_line(struct model *m, const char *line, size_t len, struct event_place place,
    struct event_view *event, struct placed *placed);
/* Adds all complete lines from the reader's position on. -1 with *err if they cannot be read; the
 * value of `watch` if that ended the reading. */
int model_read(struct model *m, struct reader *r, struct error *err);
/* The same for a file: from its first line on, or the lines added since the last call. */
int model_read_file(struct model *m, const char *path, struct error *err);
/* Passes the lines of a file, from an offset on, to `take`, for callers that check them before they
 * feed a model. Stops and returns the value of `take` if that is not 0; 0 after the last complete
 * line; -1 with *err. */
typedef int model_take_line(void *context, const char *line, size_t len, int64_t offset,
    struct error *err);
int model_lines(const char *path, int64_t from, model_take_line *take, void *context,
    struct error *err);
/* The call of the last attempt with this id, NULL if it is not kept. */
struct model_call *model_find(const struct model *m, const char *id, size_t len);
/* The call that an event belongs to; NULL if unknown. event_id is the id or, for an event of
 * another run that was fed before, an object that contains it. */
struct model_call *model_call_of(const struct model *m, struct span event_id);
/* The id of the event that started the call; "" if it had none. Returns out. */
char *model_call_event_id(const struct model_call *call, char out[ID_SIZE]);
/* Frees the indexes after the last line: calls and events are no longer found by their ids; the
 * calls remain. */
void model_settle(struct model *m);
/* Whether the event hands the call over to another agent. */
bool placed_handoff(const struct placed *placed);
/* The time of an event in µs since 1970, 0 if it has no valid timestamp. */
int64_t event_wall(const struct event_view *event);
void model_free(struct model *m);

#endif
