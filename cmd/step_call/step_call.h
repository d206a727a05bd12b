/*
 * One call of a step while it is made. step_call.c tells it in order, as one function: read
 * the item, ask recall for a verdict, record the start, do the work or take what stands for
 * it, record the end, make the lines.
 *
 * Three things are known of a call:
 *   - what it is: its place, its input, and what that came of. Until its start is recorded
 *     this is completed, and in a replay takes the recorded ids; then it stands.
 *   - what recall says of it: the verdict, which step_recall() fills, changing nothing else.
 *   - what came of it: its end. Whoever makes the call fills it, and whatever fails on the way
 *     is its error.
 *
 * Recorders (step_record.c) and makers of lines (step_output.c) change none of them.
 *
 * step_call.c needs all of the files below, and each of these of the others only what stands
 * before it here. What is done is the step's kind of work (work.h), which uses them too: that of a
 * group is made of calls.
 */
#ifndef AWF_STEP_CALL_STEP_CALL_H
#define AWF_STEP_CALL_STEP_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "decide/decision.h"
#include "history/recall.h"
#include "json/writer.h"
#include "model/waiting.h"
#include "step_call/step.h"
#include "transcript/call.h"
#include "transcript/seal.h"
#include "workspace/changed.h"
#include "workspace/far.h"

/* Of a condition. */
struct condition_answer {
	bool asked, answered, yes;
};

struct call_verdict {
	enum {
		VERDICT_DO,        /* its work is to be done; what was recorded inside is taken there */
		VERDICT_TAKE,      /* the recorded end is its own */
		VERDICT_WAIT,      /* (resume) its result is waited for still */
		VERDICT_SKIP,      /* the user has said so */
		VERDICT_DIVERGE    /* it is not as recorded, and is not made so: error */
	} says;
	struct error error;
	bool recalls;              /* a recorded call is this one: */
	struct recalled recalled;
	char ended_at[CLOCK_TEXT_SIZE]; /* (replay) what step.completed has; "" */
	bool reuses;               /* (take, skip) its end is linked to, and not repeated */
	bool decided;              /* (take) somebody has decided, from outside: payload.approval */
	bool beyond;               /* (diverge) the recording was ended before this call */
};

/* What came of a call. The output is results, which the call has made, or items that pass:
 * lines that steps in its body have made, which go out as they came. An item that passes
 * without a line of its own gets one of this call. */
struct step_end {
	struct data *results;
	size_t result_count;
	bool passes;               /* the output is lines instead: */
	struct item *passed;
	size_t passed_count;
	size_t gone_count;         /* of a recorded end that is taken: passed, and not recorded */

	struct error error;
	const char *skipped;       /* why the work was not done; NULL */
	bool told;                 /* the error is what a line of the output told of */
	bool reused;               /* a recorded end is linked to, and its result not repeated */
	bool overruled;            /* by a decision that was recorded meanwhile */
	bool killed;               /* a signal ended the command, or the operation's tool */
	bool begun_elsewhere;      /* it has begun at a far end */
	bool passes_item;          /* there is no result: the item is the output */
	struct condition_answer until;
	int64_t winner;            /* the branch of an `any` group that won; -1 */
	struct error lost;         /* why a branch of a group that succeeded failed; ERROR_NONE */

	int exit_code;             /* of a command; -1 */
	struct far_end far;        /* of a command that ran elsewhere */
	struct buffer retries;     /* elements of a JSON array */
	struct buffer errors;      /* tail of stderr */
	int64_t errors_bytes;
	struct changed changed;    /* files, by a command */
	int64_t tool_calls;
	char *agent;               /* that ended it, if it is not the step's first; NULL */
	int64_t duration_ms;
	struct buffer approval;    /* payload.approval: of what waits, or was decided; "": none */
	struct seal_key seal;      /* that signs a decision made here; else without a public key */
};

struct step_call {
	/* What it is. */
	struct step *step;
	const struct item *item;
	int64_t index;
	char *id;                  /* NAME:OCCURRENCE:ITEM chain */
	char started[ID_SIZE];     /* event id of step.started */
	char ended[ID_SIZE];       /* of step.completed, if it is not a new one; "" */
	char parent[ID_SIZE];
	const struct causes *causes;
	struct causes own;         /* these, if they are the item's alone */
	char input_sha256[DIGEST_SIZE];
	struct buffer completed_by; /* what completes the input, as the start records it: members of a
	                               JSON object, or empty */
	struct buffer attached;    /* the item's attachments, with their digests; empty: as it came */
	struct condition_answer when;
	int64_t begun;             /* monotonic ms */
	int64_t record_from;       /* where in the transcript what is made in it comes */
	char *task;                /* --pending: how the work is known, in all tries; NULL */
	int64_t number;            /* of the try, from 1 */
	int tried;                 /* how many of this attempt failed before it */

	struct call_verdict verdict;
	struct step_end end;
	void *state;               /* of its kind of work, from prepare() to close() (work.h); NULL */
	struct call events;        /* through which those of its work are appended */
};

/* Whether the result is an array, of what came of -O. */
static inline bool
step_several_results(const struct step_call *call)
{
	return call->step->options.output != OUTPUT_TEXT;
}

/* Whether its error is more than the step lets pass (--allow-failure): what waits has not
 * failed. */
static inline bool
step_fails(const struct step_call *call)
{
	return call->step->options.failure != FAILURE_ALLOWED || !error_of_work(call->end.error.code);
}

/* step_output.c: results, and lines that a body has printed (step_work.c). */

/* Takes over what data holds. */
void step_add_result(struct step_end *end, struct data *data);
void step_forget_results(struct step_end *end);
/* --into: the result becomes a member of the item's data, whose other members stay; data that
 * is no object moves to input. More than one result is an error. */
void step_put_into(struct step_call *call);
/* Takes an item over as output. Of a line that no step of this run has made only the data
 * counts. */
void step_pass(struct step_call *call, struct item *item);
/* Takes over the items of all lines of a text, which is emptied. 1: they are no state lines,
 * and none is taken; -1: what is wrong with them, those before it are taken. */
int step_pass_lines(struct step_call *call, struct buffer *lines, enum input_form form,
    struct error *why);
/* Takes a body's stdout. False: it begins with no state line, so it is a result as that
 * of any command. What is wrong with it, or what its first error line says, is the
 * call's error then. The makers of its lines are causes of the call's end. */
bool step_take_lines(struct step_call *call, const struct buffer *output);
/* Forgets them, and what they led to: before the body is tried again, or as it was cut off. */
void step_drop_lines(struct step_call *call);
/* payload.result, as lines without tokens; and from the recorded end, false if it has none. */
void step_write_lines(const struct step_call *call, struct writer *w);
bool step_recall_lines(struct step_call *call, struct span payload);

/* Lines for stdout. completed is the end that was recorded. */

/* The results, or what passes. completed NULL: state lines before the end, which --until and --accept
 * read. */
void step_put_results(const struct step_call *call, const struct event *completed,
    struct buffer *out);
/* What a body gave before it failed, and the error line. */
void step_put_failure(const struct step_call *call, const struct event *completed,
    struct buffer *out);
/* The item goes on: as it came if this run's state line it was, else as a line of
 * this call's. */
void step_put_item(const struct step_call *call, const struct event *completed,
    struct buffer *out);
/* The state line that a command (-e), a condition or a body reads; an item without one gets
 * a line that names this call's step.started. Without failures, as conditions and bodies
 * read it, that of an item that failed has no error. */
void step_state_line(const struct step_call *call, bool failures, struct buffer *out);

/* step_wait.c: a call that ends waiting for somebody. */

/* From here on: for whom, in which form (output_forms) the result is to come, how long (0: no limit). */
void step_wait(struct step_call *call, enum waiting_for what, const char *form,
    int64_t timeout_ms);
/* --pending: names the work for those who do it, for the call and for its next try. */
void step_name_task(struct step_call *call);
void step_name_try(struct step_call *call);
/* The result of this try, which came before its command has ended as pending, is that of the call. */
int step_take_early(struct step_call *call, struct event_place early, struct error *err);
/* The recorded call waits for its result: on, or no more. */
void step_wait_on(struct step_call *call);
/* What was decided: payload.approval as it stands in the recorded end; and as it is now. */
void step_take_approval(struct step_call *call);
void step_note_decision(struct step_call *call, const struct decision *d);

/* step_recall.c */

/* Asks for the recorded call that this is, and what stands of it. What will not be done needs
 * none, but for the ids that a replay takes from it. -1: the machine failed. */
int step_recall(const struct step_call *call, struct call_verdict *verdict, struct error *err);
/* What stands of the recorded call, whose end may be another by now. */
void step_judge(const struct step *s, struct call_verdict *verdict);
/* The rules for kinds of work (judge in work.h). In a resume all are alike: what has succeeded stands. In a
 * replay what was skipped, or done in another run, is settled, and else
 *   _again       it is done again;
 *   _decision    the recorded end stands;
 *   _command     false: the record has settled it, as it waits, or its effects lie outside; true: it is
 *                done again, unless the kind changes v->says. */
void step_judge_again(const struct step *s, struct call_verdict *v);
void step_judge_decision(const struct step *s, struct call_verdict *v);
bool step_judge_command(const struct step *s, struct call_verdict *v);
/* Whether something around the recorded call ended it; *error is what it ended with. */
bool step_ended_by_circumstance(const struct step *s, const struct recalled *r, struct error *error);
/* Takes the recorded end over. */
void step_take_end(struct step_call *call);
/* In a replay, takes over what is recorded of the tries that failed: how many there are, which are made
 * again, as they may have left something that the last one needs. */
int step_take_tries(struct step_call *call);

/* step_record.c: the two events around the work, durable as step.h promises. */

int step_record_start(const struct step_call *call, struct error *err);
/* waits: the recorded call, if that waits; *completed is filled. 1: somebody has decided about
 * it since, or set another deadline, which it has now; or has given the result of work that this try
 * has handed on, which stands at *early; and nothing is recorded. -1: the machine failed. */
int step_record_end(const struct step_call *call, struct recalled *waits, struct event_place *early,
    struct event *completed, struct error *err);

/* step_inside.c: what nothing tells but the record of what was made in the call, and the
 * run's directory. */

/* Whether something inside of the call has changed the world outside, or may have, so that
 * to make it again would do that twice: a step or a tool with effects that succeeded, or was
 * cut off, and is not idempotent. what gets its name then. What cannot be read may have. */
bool step_has_changed(const struct step_call *call, struct buffer *what);
/* A step in what was run that died has cut something off: that is the call's error. */
void step_look_for_dead(struct step_call *call);
/* A command failed, and a call that it made waits: a shell, make or xargs may have turned the status
 * of that into another. The call waits, too. */
void step_look_for_waiting(struct step_call *call);
/* A failure of the work while the run, or a call around this one, is being ended, or after
 * who keeps the run has died, becomes one of that: undisturbed it might not have failed. */
void step_note_ending(struct step_call *call);

/* step_work.c */

/* Does the work. -1: the machine failed. */
int step_work(struct step_call *call, struct error *err);
/* For work that is done in tries: tries until it succeeds or may not be tried again; the first
 * `repeats` that fail are those of a recording. -1: the machine failed. */
int step_try(struct step_call *call, int (*try)(struct step_call *, void *, struct error *),
    void *context, int repeats, struct error *err);
/* Conditions: asks, or takes the recorded answer. -1: the machine failed. */
/* --when, or --while of a round: sets what is skipped. */
int step_ask_when(struct step_call *call, struct error *err);
/* --until, before the round ends. */
int step_ask_until(struct step_call *call, struct error *err);

/* step_record.c: the time limit of a try, where there is one. */
void step_write_timeout(const struct step *s, struct writer *w);

/* step_output.c: metadata.attachments of the item, for lines that stand for it. */
struct span step_attachments(const struct step_call *call);
/* Those that the item came with; .at NULL: none, or it is of another run. */
struct span step_listed_attachments(const struct item *item);

#endif
