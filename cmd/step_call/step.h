/*
 * A step: what one awf-step process does for each item of its input. A call turns
 * an item into lines for stdout and events in the transcript:
 *
 *     step.started → the work's own events → step.completed → state line
 *
 * Whatever fails in the work is the call's result, recorded and passed on as an
 * error line; step_call() itself fails only when the record cannot be kept.
 *
 * What the code relies on:
 *   - step.started is on disk before an effect begins, step.completed before its
 *     state line is written by anybody.
 *   - A state line is passed on as it came unless this step made or changed it.
 *   - All that can be wrong with definitions is said before any input is read (work.h).
 */
#ifndef AWF_STEP_CALL_STEP_H
#define AWF_STEP_CALL_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "history/recall.h"
#include "json/writer.h"
#include "proc/environment.h"
#include "proc/subprocess.h"
#include "step_call/step_options.h"
#include "storage/call_marks.h"
#include "storage/run.h"
#include "storage/state.h"

struct work;

/* What the step is: the result of reading its options and the files that they name. */
struct step_definition {
	const struct work *work;     /* what it does (work.h) */
	void *state;                 /* of that, as it was loaded; NULL */
	const char *kind;            /* as recorded: that of the work, or --kind */
	const char *agent_name;      /* name in its lines; NULL: the agent's own */
	bool follows_calls;          /* its input is complete once calls before it have ended */
	struct condition until;      /* of an iteration: evaluated before it ends */
	char sha256[DIGEST_SIZE];    /* of all that makes its result */
	struct buffer files;         /* that it is made of: JSON, absolute paths */
};

/* Where it runs. */
struct step_place {
	struct run *run;
	const struct recall *recall; /* recorded calls; NULL: none */
	char *workspace;             /* of the run, absolute; NULL */
	struct call_marks marks;     /* marks of its calls: what they depend on besides input
	                                and definition */
	const char *path;            /* this step's dotted path */
	char *process;               /* "ENCLOSING/NAME:OCCURRENCE" */
	const char *enclosing;       /* $AWF_CALL; "" */
	const char *parent;          /* event that calls follow which no other led to: $AWF_PARENT */
	const char *root;            /* the recorded enclosing call that was claimed
	                                (recall_root()) */
	const char *tool_call;       /* call_tool_around(); NULL */
	int64_t try_number;          /* of the enclosing call: how many tries failed before */
	bool outermost;              /* its process is in no call: a person reads its output */
	bool member;                 /* it is an iteration or branch of the enclosing call */
	int64_t compared;            /* for the next call: recall_query.compared, or STEP_CUT_OFF */
	int64_t far_gone;            /* when nothing runs at a far end any more that an earlier attempt
	                                has left there (monotonic ms) */
	int reader;                  /* in a replay: the output whose reader may close it;
	                                otherwise 0 */
	bool shown;                  /* --dry-run on a terminal */
	bool unattended;             /* the process does not wait with the next call, if that waits */
	void (*waits)(void);         /* called when the process begins to wait with a call; NULL */
	const volatile bool *ended_by_failure; /* a worker that runs is to end for that, as another
	                                call has failed; NULL: none ends it */
	struct environment environment; /* of processes */
	struct buffer inputs;        /* {"k": "v"} of AWF_INPUT_* */
	const struct keys *keys;
	struct interrupts interrupts;
};

struct step {
	struct step_options options;
	struct step_definition definition;
	struct step_place place;
};

/* Text in place of a step whose definition could not be loaded. */
#define STEP_DEFINITION_WRONG "nothing, as its definition is wrong"

/* step_files.c */

/* Lists the files of the step, and those in the workspace that its commands execute, for its
 * record, and stores them. The step has entered its run. */
int step_name_files(struct step *step, struct error *err);

/* step.c */

/* Computes definition.sha256 of the step. */
void step_define(struct step *s);
/* Ends processes that run for it. */
void step_stop(struct step *s);
/* Frees what was loaded. */
void step_unload(struct step *s);
/* Writes what would be asked or run for an item as one JSON line (--dry-run): call the two
 * functions before and after its members. */
struct writer step_describe_begin(struct buffer *out);
void step_describe_end(struct writer *w, const struct item *item);
/* Begins the cost limits of its calls, if the step or the run has any; b->limits tells. */
struct budget;
int step_begin_budget(struct step *s, struct budget *b, struct error *err);
/* Whether the run is a replay. */
bool step_replays(const struct step *s);
/* Whether the process may come to wait with calls of this step (step_attend.c). */
bool step_may_attend(const struct step *s);
/* place.compared: its input broke off before it was known which recorded call it is. */
#define STEP_CUT_OFF INT64_C(-2)
/* The query of a call to the history, except for input and definition. */
struct recall_query step_query(const struct step *s, int64_t index);
/* What a call follows. */
struct causes {
	char parent[ID_SIZE];        /* the first that was made in the same enclosing call; "" */
	struct buffer links;         /* all others: elements of a JSON array */
};
/* Adds an event of a call ("": unknown) to the causes of a call of this step. */
void causes_add(struct causes *c, const struct step *s, const char *run_id, const char *event_id,
    const char *call);
/* The same for events named in an item's metadata, if any. */
void causes_add_item(struct causes *c, const struct step *s, const struct item *item);
void causes_free(struct causes *c);
/* Appends what a call is named by for people, as awf-tail does: a, a[1] ("x"), a[2] ("y"); but
 * within a call without the data. */
void step_label(const struct step *s, const struct item *item, int64_t index,
    struct buffer *out);

/* How a call ended, and its output. */
struct step_result {
	int status;                  /* exit status because of it: 0, 1, 3 or 75 */
	bool stop;                   /* no further calls: downstream closed, cancelled */
	bool closed;                 /* downstream closed */
	bool gone;                   /* it had when the replayed call was recorded */
	bool skipped;                /* the work was not done */
	bool until;                  /* --until holds */
	bool told;                   /* the error comes from a line of the body's output */
	struct error error;          /* that it failed with */
	char ended[ID_SIZE];         /* event id of step.completed */
	struct buffer out;           /* whole lines */
	bool asks;                   /* the user is asked whether the call is a recorded one */
	char report[2048];           /* one line for stderr, "" if there is nothing to say */
	size_t report_message;       /* offset of the message, after the name of the item */
};
void step_result_clear(struct step_result *result);
/* Whether the call failed, by its own work: with --fail-fast it is the last that begins. */
bool step_result_failed(const struct step_result *result);
/* Whether it was ended as another one had failed (--fail-fast), in this run or as recorded. */
bool step_result_ended_by_failure(const struct step_result *result);
/* The error of such a call. */
void step_end_by_failure(struct error *err);

/* A result on its way back from a worker (workers.h), which made the call. */

/* Appends it, or why the call failed; NULL: it did not. */
void step_result_pack(struct buffer *answer, const struct step_result *result,
    const struct error *broken);
/* Takes it out of a whole answer; -1: the call failed, with *err. result is as
 * step_result_clear() leaves it, or zeroed. */
int step_result_unpack(const struct buffer *answer, struct step_result *result,
    struct error *err);
/* The error code of the call in a complete answer; ERROR_NONE: it succeeded. */
enum error_code step_result_code(const struct buffer *answer);
/* The result in a whole answer, without its lines. false: the call failed to be made. */
bool step_result_peek(const struct buffer *answer, struct step_result *result);

/* step_call.c */

/* Makes one call for an item. causes: those of all joined items (-s), item->metadata is then the
 * first's; NULL: the item's own. refused: the gate does not accept the item, so the call fails with
 * this error without doing its work; NULL. */
int step_call(struct step *s, const struct item *item, const struct causes *causes,
    const struct error *refused, int64_t index, struct step_result *result,
    struct error *err);
/* Records that the input itself failed (no_input, upstream_incomplete,
 * invalid_input) as a call that did not run. */
int step_fail(struct step *s, const struct item *item, const struct error *why, int64_t index,
    struct step_result *result, struct error *err);
/* Before a call is made: whether it has a record, or needs none, and the digest of its input; "" if
 * it is not compared. Records nothing. */
bool step_expects(struct step *s, const struct item *item, int64_t index,
    char input_sha256[DIGEST_SIZE]);

#endif
