/*
 * Recall: the parts of a recorded call that a new call uses. They come from the history of a run
 * (lib/history/history.h); most runs have no history, and then there is no struct recall.
 *
 *   - A resumed or forked run continues from the recorded calls: results, answers of models and
 *     results of tools are used again, and are neither repeated nor recorded again.
 *   - A replay produces its recording once more: the same events with the same ids. Work that
 *     depends only on its input and the workspace is done again, work that reads or changes
 *     anything outside is taken from the recording, and any difference from the recording is a
 *     divergence.
 */
#ifndef AWF_HISTORY_RECALL_H
#define AWF_HISTORY_RECALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/id.h"
#include "base/map.h"
#include "json/scan.h"
#include "storage/call_marks.h"
#include "transcript/event.h"

enum recall_mode { RECALL_RESUME, RECALL_REPLAY };

/* How the recorded call ended. Skipped ones are told by their word (payload.skipped). One
 * that waits does so by payload.approval (model/waiting.h). */
enum recall_end { RECALL_OPEN, RECALL_SUCCEEDED, RECALL_FAILED, RECALL_SKIPPED, RECALL_WAITING };

/* The user's decision about an effect that may or may not have happened. */
enum recall_decision { RECALL_UNDECIDED, RECALL_REDO, RECALL_SKIP };

/* A recorded line with the contents of its blobs: binary values are base64 strings, whose
 * pointers are in refs. The line is empty if there is no such event. */
struct recalled_event {
	struct buffer line;
	struct buffer refs;          /* the line's `refs`, JSON; may be empty */
	struct event_view view;      /* spans into line */
	char id[ID_SIZE];
	int64_t turn;                /* that it is the answer of, if it is a whole one; else -1 */
	bool emitted;                /* an agent reports it for a tool of its own */
	bool partial;                /* of an answer that was cut off */
	bool retry;                  /* it records a failed try that was followed by another, or a
	                                wait before one */
	bool used;                   /* by the turn loop: taken, so not to be taken again */
	size_t sibling;              /* the next event with the same cause; event_count
	                                after the last */
};

struct recalled {
	enum recall_mode mode;
	enum recall_end end;
	enum recall_decision decided;    /* where an effect is in doubt, or it is changed */
	bool stands;                 /* it failed, and the run continued after that: now too; for a
	                                child run this applies to failures in it */
	bool encloses;               /* others were made in it, in the attempt that did its work */
	bool child_inside;           /* a child run was made in it */
	bool unknown;                /* (replay) claim() found none, whatever its input */
	bool changed;                /* decided although its input or definition is another:
	                                nothing of it is to be used */
	bool repeated;               /* nor of this, as the user wants it made again */
	bool outdated;               /* its programs are others now */
	bool edited;                 /* it took over one of other words, in some attempt */
	char run_id[ID_SIZE];        /* of the recording, if it is another run's; else "" */
	char root[ID_SIZE];          /* of the first step.started of the call, in whichever
	                                attempt: what the calls inside know it by */
	const char *changed_inside;  /* a call in it that, in any attempt, has changed something
	                                which is not to be done twice, or may have; NULL; the
	                                history's */
	struct recalled_event started;   /* in the latest attempt that made the call */
	struct recalled_event completed; /* likewise; empty if RECALL_OPEN */
	struct recalled_event original;  /* the end that holds the result, if that is an
	                                    earlier one (reused_from); else empty */
	struct recalled_event *events;   /* messages and tool events, causes before effects */
	size_t event_count;
	struct map by_turn;          /* → its answer, the last if the model was asked again */
	struct map by_cause;         /* event id → the first event that it led to */
	bool emitted, partial;       /* one of the events is */
	const char *tool_answers;    /* what was decided about calls of its tools by their own names: lines
	                                "redo EVENT" and "skip EVENT"; NULL; the history's */
	const char *used_before;     /* (replay) recalled_used_before(): ids, each with a newline; the history's */
	char compared[ID_SIZE];      /* (ERROR_WAITING) the root of the record that the user is asked about,
	                                as the call may be that one; "" */
	int fit;                     /* of a child run: query.fits of the record */
	bool lent;                   /* the call has other words than the record, or another place: who has
	                                its words and place may claim it all the same */
	bool shared;                 /* and another call that has it, too; */
	bool beside;                 /* this one claims nothing of it: it is taken as done */
	size_t record;               /* in the history */
	void *elsewhere;             /* or in this one, which is the history's, of a run inside or around; NULL */
};

/* Parses the line, which is set, into the other members; -1: it is not an event. */
int recalled_event_view(struct recalled_event *e);
void recalled_event_free(struct recalled_event *e);
/* Fills in how the events are found, once they are all there: a call has thousands. */
void recalled_index(struct recalled *r);

/* Whether there is a recorded call, and it is replayed. */
bool recalled_replays(const struct recalled *r);
/* Whether a tool's call (call_tool_around()) has made steps or child runs in an earlier
 * attempt than the replayed one, and none in that: since its record does not contain them, the
 * tool is not run. */
bool recalled_used_before(const struct recalled *r, const char *tool_call);
/* The user's decision about a tool's call that is in doubt. */
enum recall_decision recalled_tool_decision(const struct recalled *r, const struct recalled_event *called);
/* The end that holds the result or the error. */
const struct recalled_event *recalled_result(const struct recalled *r);
/* Whether the outcome of the call was decided by a person or completed from outside; such a
 * decision is final. */
bool recalled_decided(const struct recalled *r);
/* Whether the value at a JSON pointer of the line is bytes, in base64. */
bool recalled_binary(const struct recalled_event *e, const char *pointer);
/* The recorded error, if it has one; its code is of those that this version knows. */
bool recalled_error(const struct recalled_event *e, struct error *error);
/* The answer of a turn, the last one if the model was asked again; NULL: none. */
struct recalled_event *recalled_answer(const struct recalled *r, int64_t turn);
/* A tool call as an answer has it. Its id is the model's, which need not be the only
 * one of its kind. */
struct recall_tool {
	const char *cause;           /* event id of the answer; NULL: of an operation */
	const char *name, *call_id;
	struct span input;
};
/* Finds the unused recorded call for this one: the first whose result is valid, otherwise the last,
 * which is made again. For an operation only success is valid. */
struct recalled_event *recalled_tool_call(const struct recalled *r,
    const struct recall_tool *tool);
/* The first event of a type with this cause; NULL: none. */
struct recalled_event *recalled_effect(const struct recalled *r, const char *cause,
    enum event_type type);
struct recalled_event *recalled_tool_result(const struct recalled *r, const char *called);
/* Whether a tool's result says that it was ended early. */
bool recalled_cut_off(const struct recalled_event *result);
/* Whether it is a tool event that an agent CLI reported before this answer. */
bool recalled_led_to(const struct recalled *r, const struct recalled_event *e,
    const struct recalled_event *answer);
/* Whether it is a tool's call that AWF made for an agent CLI before this answer; NULL: until the
 * end of a call without an answer. */
bool recalled_ran_before(const struct recalled *r, const struct recalled_event *e,
    const struct recalled_event *answer);
/* What came of answers that were cut off on the way to an event, causes before effects: the
 * first is *list[0]. The array is the caller's, to be freed. */
size_t recalled_partials(const struct recalled *r, const struct recalled_event *effect,
    struct recalled_event ***list);
/* The first unused event of a retry or a wait with this start of a call as its cause, before the
 * event of number `before`; NULL: none. */
struct recalled_event *recalled_retry(const struct recalled *r, const char *started,
    int64_t before);
#define RECALL_TO_THE_END INT64_MAX
/* Tool calls that were made and not made again. */
int64_t recalled_tool_calls(const struct recalled *r);
/* For people: appends "X, the recorded one Y", the parts of two texts around their first
 * difference. */
void recalled_difference(struct buffer *out, struct span now, struct span recorded);
/* For people: appends the inputs of a child run, an object, as options that give them. */
void recalled_describe_inputs(struct buffer *out, struct span inputs);
void recalled_free(struct recalled *r);

/* A call that starts. */
struct recall_query {
	const char *enclosing;       /* chain of the enclosing call, "" at top level */
	const char *root;            /* recalled.root of the enclosing call; "" at top level,
	                                NULL if that call has no record */
	const char *tool_call;       /* of an agent's tool, in which it is made (call_tool_around()); what is
	                                made in one is no record for another; NULL: in none */
	const char *name;
	const char *path;            /* of the step, as used by the user */
	int64_t item;
	const char *input_sha256, *definition_sha256;
	struct span input;           /* JSON, to tell what changed */
	const char *definition;      /* readable, likewise */
	const struct call_marks *marks; /* what else it depends on; NULL: every record agrees */
	bool tried;                  /* its failure is an outcome for the workflow (--try) */
	bool member;                 /* a round or a branch, which no other can be */
	bool effects;                /* it changes something outside, and is not to do so twice */
	int64_t occurrence;          /* of its process among those of its name */
	int64_t compared;            /* if no record is the same, which one it is compared with: 0:
	                                the nearest one; otherwise set by share_out() */
	/* Of a child run: whether its input, which input_sha256 does not cover, is the recorded
	 * one: > 0; is not: < 0; 0: unknown. given: what the call's end says of that. NULL: not compared. */
	int (*fits)(void *context, const char *child_run_id, struct span given);
	bool given;                  /* it has an input, which is perhaps not to be compared */
	bool child;                  /* it is a child run, */
	bool text;                   /* which runs a text, that may have been edited */
	void *fits_context;
};
#define RECALL_COMPARED_WITH_NONE INT64_C(-1)

/* The root of the enclosing call of this process, as in $AWF_CLAIMED. */
const char *recall_root(const char *enclosing);

/* An item of a stream whose call is still to be made. */
struct recall_item {
	int64_t item;
	const char *input_sha256;    /* of the call's input */
	struct span input;           /* JSON */
};

struct recall {
	enum recall_mode mode;
	bool cut_off;                /* (replay) the recording was ended from outside */
	void *history;
	/* Chooses the recorded call that this one is, and keeps others from choosing it.
	 * 1: *r is filled; 0: there is none, the call is new (r->root: if nothing told which of several
	 * it is, calls made in this one are compared with those in one of them); -1 with *err:
	 *   ERROR_WAITING     (resume) it is recorded with effects, but its input or
	 *                     definition is another now, or several records differ only in
	 *                     what nothing tells apart, and the user has not decided;
	 *   ERROR_DIVERGENCE  (replay) the recording has no such call, or another one;
	 *   ERROR_SYSTEM      the recording cannot be read. */
	int (*claim)(void *history, const struct recall_query *query, struct recalled *r,
	    struct error *err);
	/* Of the calls of a stream, before they are made. left_over: (resume) whether a record
	 * that has changed something, and that such a call is compared with, is neither claimed
	 * nor expected. expect: keeps a record of the same input and definition for this call,
	 * which is to come; false: there is none. share_out: all that is to come is expected, but
	 * for the calls of these count items, in order: says for each which of the records that
	 * are left over it is compared with (query.compared): one that was given the same, then
	 * one whose input has the most words of its own, then the nearest. */
	bool (*left_over)(void *history, const struct recall_query *query);
	bool (*expect)(void *history, const struct recall_query *query);
	void (*share_out)(void *history, const struct recall_query *query,
	    const struct recall_item *items, size_t count, int64_t *compared);
	/* Whether there is a record that the call would claim now, and how that ended; it
	 * stays free. */
	bool (*look)(void *history, const struct recall_query *query, enum recall_end *end);
	/* Whether there is a record of a call with this name, item and place, with any input;
	 * *started is the start of the first free one, to be freed. */
	bool (*peek)(void *history, const struct recall_query *query,
	    struct recalled_event *started);
	/* The call's own step.started is in the transcript: the claim stands. A claim
	 * without it ends with the process. */
	void (*claimed)(void *history, const struct recalled *r);
	/* The same for a call that its condition leaves out: what the recorded one has changed stays
	 * free. */
	void (*left_out)(void *history, const struct recalled *r);
	/* Of a call that waits, asked under the transcript's lock: takes the decision about
	 * it that was recorded since the history was made. 1: r->end is another now; 0: it
	 * waits still, maybe until another deadline; -1: *err. */
	int (*decided_since)(void *history, struct recalled *r, struct error *err);
};

#endif
