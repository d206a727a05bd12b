/*
 * The model of a run: the contents of its transcript as a tree of calls, which grows with the
 * file. It is fed line by line, from the first line on, for running and ended runs alike. All code
 * that needs information about a run gets it from the model: the call of an event (projections,
 * the call tree), what failed (model/outcome.h), what the run did and used.
 *
 * Its users rely on these rules:
 *   - Feeding the beginning and then the rest is feeding the whole.
 *   - It depends neither on the clock nor on which processes are alive; callers add that.
 *   - It only collects what was recorded. Whether a failure counts is computed on request.
 *   - Of payloads it keeps only what identifies calls and determines their outcome; for texts that
 *     are only displayed it keeps their positions in the file.
 *   - A call stays where it is in memory, with its number, until it is forgotten.
 *   - An event whose cause is not known belongs to no call.
 *   - Of a foreign event (transcript/event.h) it keeps only the call and the times.
 *
 * How much it keeps is its level. MODEL_LIVE is for the calls that are open, what these are in,
 * and what waits; it takes no notice of messages and tools. MODEL_OPEN is for what still matters
 * of the attempt that is the last so far: calls that are open, failed or wait, and what these are
 * in; and for what has waited in any. Its memory is that of these alone. MODEL_INSIDE knows
 * besides which call a message or tool is of, as long as that is open. MODEL_EVENTS has every
 * call, in some 180 bytes each, and knows of every event which call it is of, in some 40. It may
 * be fed what several runs have recorded, one after another: who asks what came of a run that was
 * forked from another (history/recording.h) feeds it that one first.
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

/* What a call has come to, as its end says. */
enum call_state {
	CALL_OPEN,
	CALL_SUCCEEDED,
	CALL_FAILED,
	CALL_SKIPPED,
	CALL_CLOSED,   /* nobody read its output any more: neither a success nor a failure */
	CALL_WAITING
};

/* What calls are of, and who works on them: many have the same, which is kept once. Texts that
 * are not there are NULL, unless it is said otherwise. */
struct model_step {
	const char *name, *kind, *path; /* "" */
	const char *tool;
	const char *agent, *provider, *model; /* that work on it, or ended it */
	const char *fallback_provider, *fallback_model; /* that answered in place of these last */
};

struct model_calls {
	struct model_call **list;
	size_t count;
};

/* What few calls have. */
struct model_rare {
	const char *child_run_id;     /* "" if it has none */
	const char *event_id;         /* of its start, if that is no UUID; else NULL */
	int64_t try_number;           /* of the call around it, in which it was made; 0: the first */
	int64_t tries;                /* of its own that had failed before, as its end says */
	struct model_calls given;     /* of a --rescue call: those whose failure it was given */
	struct model_calls given_to;  /* the reverse */
};

/* Other tries of the same work, as it looks: same call around it, name, input and item. */
struct model_work {
	struct uuid key;              /* a digest of these */
	struct model_call *before;    /* the one before, of those that are open or failed */
	char *repeated_by;            /* the first that succeeded after it: its id; NULL */
};

/* A call of a step, of a workflow or of a phase of an agent, in one attempt. There is one for each
 * call of a run, of which there may be millions: what few of them have stands in `rare`. */
struct model_call {
	/* The tree. What a call is in began before it. */
	struct model_call *around;    /* NULL: the run, or one that is not known (any more) */
	struct model_call *first_inside, *last_inside; /* calls in it, in their order */
	struct model_call *beside;
	struct model_call *next;      /* in the order of all calls */
	struct model_call **before;   /* before_count, that it was given the results of: MODEL_EVENTS */

	const struct model_step *step;
	const struct model_rare *rare; /* never NULL */
	struct model_work *work;      /* NULL: it is done */
	int64_t iteration;
	int64_t started;              /* µs since 1970 */
	struct event_place begin, end; /* its two lines */
	struct uuid start;            /* event of its start: event_key() */
	uint32_t number;              /* among the calls of the run, from 0 */
	uint32_t before_count;

	/* What it came to. */
	enum call_state state : 4;
	enum waiting_for asks : 4;    /* of CALL_WAITING */
	enum error_code code : 8;     /* of CALL_FAILED, CALL_CLOSED and CALL_WAITING */

	/* How its failure is to be taken. */
	bool tried : 1;               /* --try: neither its failure nor its death is the run's */
	bool allowed : 1;             /* --allow-failure */
	bool race : 1, lenient : 1;   /* a group of which one branch is to succeed (--strategy any), or
	                                 whose branches may fail (--strategy best-effort) */
	bool by_tool : 1;             /* a tool made it: what became of it is the tool's result */
	bool caught : 1;              /* a --rescue call that was given its failure succeeded */
	bool decided : 1;             /* it waited, and somebody has decided since */
	bool reused : 1;              /* what it gave is of an earlier attempt */
	bool behind : 1;              /* it was skipped, as what it would have been given waits */
	bool left : 1;                /* it was ended because nobody read what it was in any more */

	char id[];                    /* the chain NAME:OCCURRENCE:ITEM; "": none, nothing ends it */
};

enum model_usage {
	MODEL_INPUT_TOKENS, MODEL_OUTPUT_TOKENS, MODEL_CACHE_READ_TOKENS, MODEL_CACHE_WRITE_TOKENS,
	MODEL_REASONING_TOKENS, MODEL_USAGE_KEYS
};
extern const char *const model_usage_keys[MODEL_USAGE_KEYS]; /* "input_tokens" … */

/* What the last terminal call said of the run (awf-step --terminal). */
enum run_decision { RUN_UNDECIDED, RUN_SUCCEEDS, RUN_FAILS };

struct placed;

struct model {
	enum model_level level;
	char run_id[ID_SIZE];         /* "" before the first event */
	char parent_run_id[ID_SIZE];  /* "" for a run that is nobody's child */
	char *name;                   /* of the workflow; NULL before run.started */
	struct traceparent trace;     /* what the last attempt was started in; span_id "": in nothing,
	                                 its trace is its own */

	/* Of the last attempt. */
	int64_t attempt;              /* its number, 0 before run.started */
	bool ended;                   /* run.completed has come */
	int64_t started, last;        /* µs since 1970; its last event, decisions apart */
	int64_t begun;                /* how many calls of it have begun, of those with an id */
	int64_t usage[MODEL_USAGE_KEYS]; /* tokens, summed */
	bool used[MODEL_USAGE_KEYS];  /* some answer has told them */
	enum run_decision decision;
	char *reason;                 /* of the decision; NULL */
	struct model_call *first_of_attempt; /* of its calls that are kept; NULL: none */

	struct waitings waits;        /* of all attempts */
	struct model_call *first, *final; /* all calls that are kept, in their order */
	size_t count;                 /* calls so far, forgotten ones too */
	int64_t damaged;              /* lines that were no events */
	int64_t position;             /* in its file, of the next line that is read; may be set */

	/* Who is shown each event while lines are read, in its place; NULL: nobody. Not 0 ends the
	 * reading, -1 with *err. Set after model_begin(). */
	int (*watch)(void *context, const struct placed *placed, struct error *err);
	void *context;

	/* Inside. */
	struct {
		struct event_index events;    /* below MODEL_EVENTS: starts of calls, ends that may matter, and
		                                 of MODEL_INSIDE messages and tools of calls that are open */
		struct call_index calls;      /* of the last attempt */
		struct event_index works;     /* likewise, the last of each work */
		struct event_index tools;     /* tool.calls, until none of them is open */
		int64_t open_tools;
		struct map text_places;       /* names, kinds …: each once */
		char **texts;
		size_t text_count;
	} index;                      /* of what was read */
	struct map step_places;       /* steps: likewise */
	struct model_step **steps;
	size_t step_count;
	struct arena memory;          /* of MODEL_EVENTS: its calls */
};

/* An event in its place. */
struct placed {
	const struct event_view *event;
	struct event_place place;
	struct span line;             /* as model_line() was given it; else .at NULL */
	const struct model *run;
	struct model_call *call;      /* NULL: none, or it is forgotten now */
	const struct model_step *step; /* of the call, forgotten or not; NULL: none */
	uint32_t number;              /* likewise, of the call */
	enum event_type cause;        /* of a message or tool event; EVENT_TYPES: unknown */
	int64_t wall;                 /* µs since 1970; 0: its timestamp is none */
	int64_t started;              /* of what it ends: an attempt, call, tool call or turn; else
	                                 wall */
};

void model_begin(struct model *m, enum model_level level);
/* Takes the next event, whose line is at this place, and says where it stands; *placed is
 * valid as long as the event is. Below MODEL_INSIDE, messages and tools have no call. */
void model_take(struct model *m, const struct event_view *event, struct event_place place,
    struct placed *placed);
/* Takes the next line. False if it says nothing to this model: it is no event, or, of
 * MODEL_LIVE, of a message or tool; *placed is not set then. */
bool model_line(struct model *m, const char *line, size_t len, struct event_place place,
    struct event_view *event, struct placed *placed);
/* Takes the lines from the reader's position on, as far as they are whole. -1 with *err if
 * they cannot be read; what the watch returned if that ended it. */
int model_read(struct model *m, struct reader *r, struct error *err);
/* The same of a file, from its first line on, or of what has come since it was last read. */
int model_read_file(struct model *m, const char *path, struct error *err);
/* The lines of a file from a place on, for who is to judge them before a model takes them. Not 0
 * from take ends it, and is returned; 0 at the end of the whole lines; -1 with *err. */
typedef int model_take_line(void *context, const char *line, size_t len, int64_t offset,
    struct error *err);
int model_lines(const char *path, int64_t from, model_take_line *take, void *context,
    struct error *err);
/* The call of the last attempt with this id, NULL if it is not kept. */
struct model_call *model_find(const struct model *m, const char *id, size_t len);
/* The call that an event is of, as far as it is known. The event is named by its id, or, if it
 * is another run's, by an object that has that too: that run may have been read before. */
struct model_call *model_call_of(const struct model *m, struct span event_id);
/* The id of the event that began it; "" if that had none. Returns out. */
char *model_call_event_id(const struct model_call *call, char out[ID_SIZE]);
/* When all is read: no event or call is found by its id any more; the calls stay. */
void model_settle(struct model *m);
/* Whether it lets another agent go on with the call. */
bool placed_handoff(const struct placed *placed);
/* µs since 1970 of an event, 0 if its timestamp is none. */
int64_t event_wall(const struct event_view *event);
void model_free(struct model *m);

#endif
