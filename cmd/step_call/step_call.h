/*
 * One call of a step while it is made. step_call.c has its phases in order, in one function: read
 * the item, look up the recorded call, record the start, do the work or take the recorded end,
 * record the end, output the lines.
 *
 * A call has three parts:
 *  - what it is: its place, its input, and its ids. Until its start is recorded this is
 *    completed, and in a replay takes the recorded ids; then it does not change.
 *  - the verdict: what is recorded of it. Only step_recall() sets it, and it changes nothing else.
 *  - its end. The function that makes the call sets it, and any failure is its error.
 *
 * Functions that record (step_record.c) and that output lines (step_output.c) change none of them.
 *
 * step_call.c uses all of the files below, and each of these uses only those that precede it here.
 * The work itself depends on the step's kind of work (work.h), which uses these files too: a group
 * makes calls.
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
		VERDICT_DO,        /* do the work; calls inside take what was recorded of them */
		VERDICT_TAKE,      /* use the recorded end */
		VERDICT_WAIT,      /* (resume) its result is waited for still */
		VERDICT_SKIP,      /* the user has decided to skip it */
		VERDICT_DIVERGE    /* it is not as recorded, and is not made so: error */
	} says;
	struct error error;
	bool recalls;              /* there is a recorded call: */
	struct recalled recalled;
	char ended_at[CLOCK_TEXT_SIZE]; /* (replay) time in step.completed; "" */
	bool reuses;               /* (take, skip) its end is linked to, and not repeated */
	bool decided;              /* (take) a person has decided about it: payload.approval */
	bool beyond;               /* (diverge) the recording was ended before this call */
};

/* How a call ended. Its output is either results made by the call, or items that pass: lines made
 * by steps in its body, which are output unchanged. An item that passes without its own line gets
 * one of this call. */
struct step_end {
	struct data *results;
	size_t result_count;
	bool passes;               /* the output is lines instead: */
	struct item *passed;
	size_t passed_count;
	size_t gone_count;         /* of a recorded end that is used: items that passed, and were
	                              not recorded */

	struct error error;
	const char *skipped;       /* why the work was not done; NULL */
	bool told;                 /* the error comes from a line of the output */
	bool reused;               /* a recorded end is linked to, and its result not repeated */
	bool overruled;            /* replaced by a decision that was recorded meanwhile */
	bool killed;               /* a signal ended the command, or the operation's tool */
	bool begun_elsewhere;      /* it has begun at a far end */
	bool passes_item;          /* there is no result: the item is the output */
	struct condition_answer until;
	int64_t winner;            /* the branch of an `any` group that won; -1 */
	struct error lost;         /* why a branch of a group that succeeded has
	                              failed; ERROR_NONE */

	int exit_code;             /* of a command; -1 */
	struct far_end far;        /* of a command on another machine */
	struct buffer retries;     /* elements of a JSON array */
	struct buffer errors;      /* tail of stderr */
	int64_t errors_bytes;
	struct changed changed;    /* files, by a command */
	int64_t tool_calls;
	char *agent;               /* that ended it, if it is not the step's first; NULL */
	int64_t duration_ms;
	struct buffer approval;    /* payload.approval of a call that waits, or was decided
	                              about; "": none */
	struct seal_key seal;      /* signs a decision made here; otherwise without a public key */
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
	struct buffer completed_by; /* additions to the input, as recorded in the start: members of
	                               a JSON object, or empty */
	struct buffer attached;    /* the item's attachments, with their digests; empty: as it came */
	struct condition_answer when;
	int64_t begun;             /* monotonic ms */
	int64_t record_from;       /* position in the transcript from which events inside
	                              of it follow */
	char *task;                /* --pending: how the work is known, in all tries; NULL */
	int64_t number;            /* of the current try, from 1 */
	int tried;                 /* how many of this attempt failed before it */
	bool attended;             /* its process waits, or has waited, with it, or does not as who was
	                              asked at the terminal has not answered: */
	struct attended_wait wait; /* .event "": it does not, or not any more */

	struct call_verdict verdict;
	struct step_end end;
	void *state;               /* of its kind of work, from prepare() to close() (work.h); NULL */
	struct call events;        /* to append events of its work */
};

/* Whether the result is an array, because of -O. */
static inline bool
step_several_results(const struct step_call *call)
{
	return call->step->options.output.form != OUTPUT_TEXT;
}

/* Whether its error exceeds what the step tolerates (--allow-failure); a call that waits has
 * not failed. */
static inline bool
step_fails(const struct step_call *call)
{
	return call->step->options.failure != FAILURE_ALLOWED || !error_of_work(call->end.error.code);
}

/* step_output.c: results, and lines that a body has printed (step_work.c). */

/* Takes over the contents of data. */
void step_add_result(struct step_end *end, struct data *data);
void step_forget_results(struct step_end *end);
/* --into: the result becomes a member of the item's data, whose other members stay; data that
 * is no object moves to input. More than one result is an error. */
void step_put_into(struct step_call *call);
/* Takes an item over as output. Of a line that no step of this run has made only the data
 * counts. */
void step_pass(struct step_call *call, struct item *item);
/* Moves all lines of a text into passed items; the text is cleared. 1: they are not state lines,
 * and none is taken; -1: *why, the lines before the invalid one are taken. */
int step_pass_lines(struct step_call *call, struct buffer *lines, enum input_form form,
    struct error *why);
/* Handles a body's stdout. False: it does not begin with a state line, so it is a result like that
 * of any command. If it is invalid, or has an error line, that is the call's error. The makers of
 * its lines become causes of the call's end. */
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
/* What a body output before it failed, and the error line. */
void step_put_failure(const struct step_call *call, const struct event *completed,
    struct buffer *out);
/* Passes the item on: unchanged if it came as a state line of this run, otherwise as a line
 * of this call. */
void step_put_item(const struct step_call *call, const struct event *completed,
    struct buffer *out);
/* The state line that a command (-e), a condition or a body reads; an item without one gets
 * a line that names this call's step.started. Without failures, as conditions and bodies
 * read it, that of an item that failed has no error. */
void step_state_line(const struct step_call *call, bool failures, struct buffer *out);

/* step_wait.c: a call that ends waiting for a person or program. */

/* From here on: for whom, in which form (output_forms) the result is to come, how long (0: no limit). */
void step_wait(struct step_call *call, enum waiting_for what, const char *form,
    int64_t timeout_ms);
/* --sleep: from here on until that time (µs since 1970); and it has come: the item is the result. */
void step_wait_until(struct step_call *call, int64_t due);
void step_wake(struct step_call *call);
/* Its time is over: it fails with timeout. */
void step_end_wait(struct step_call *call, int64_t deadline);
/* --pending: sets the name of the work for those who do it: of the call, and of its next try. */
void step_name_task(struct step_call *call);
void step_name_try(struct step_call *call);
/* The result of this try, which came before its command has ended as pending, is that of the call. */
int step_take_early(struct step_call *call, struct event_place early, struct error *err);
/* The recorded call waits for its result: on, or no more. */
void step_wait_on(struct step_call *call);
/* payload.approval: as in the recorded end; and with a new decision. */
void step_take_approval(struct step_call *call);
void step_note_decision(struct step_call *call, const struct decision *d);

/* step_attend.c: a call whose process waits with it. */

/* Whether the call has to wait, and its process waits with it. */
bool step_attends(const struct step_call *call);
/* The payload of step.waiting. */
void step_write_wait(const struct step_call *call, struct writer *w);
/* Reads the transcript from the event `began` on until somebody decides about the call, the call's own time is
 * over, or the time of awf-run --wait is. The call's end is then the decision, a timeout, or that the call
 * waits. -1: an error of the machine. */
int step_attend(struct step_call *call, const struct event *began, struct error *err);

/* step_recall.c */

/* Looks up the recorded call, and decides what is valid of it. Without work to do nothing is
 * needed, except ids for a replay. -1: an error of the machine. */
int step_recall(const struct step_call *call, struct call_verdict *verdict, struct error *err);
/* Decides what is valid of the recorded call, whose end may have changed. */
void step_judge(const struct step *s, struct call_verdict *verdict);
/* Rules for kinds of work (judge in work.h). In a resume they are all alike: what has succeeded is
 * valid. In a replay, a call that was skipped, or done in another run, is settled; otherwise:
 * _again: it is done again; _decision: the recorded end is used; _command: false: the record has
 * settled it, as it waits, or its effects are outside; true: it is done again, unless the kind
 * changes v->says. */
void step_judge_again(const struct step *s, struct call_verdict *v);
void step_judge_decision(const struct step *s, struct call_verdict *v);
bool step_judge_command(const struct step *s, struct call_verdict *v);
/* Whether something around the recorded call ended it; *error is what it ended with. */
bool step_ended_by_circumstance(const struct step *s, const struct recalled *r, struct error *error);
/* Takes the recorded end over. */
void step_take_end(struct step_call *call);
/* In a replay, takes over how many tries have failed: they are made again, as they may have left
 * something that the last one needs. */
int step_take_tries(struct step_call *call);

/* step_record.c: the two events around the work, durable as step.h promises. */

int step_record_start(const struct step_call *call, struct error *err);
/* waits: the recorded call, if that waits; *completed is filled. 1: nothing is recorded, because a
 * person has decided about it since, or set another deadline, which is taken over; or has given the
 * result of the work that this try handed on, which is at *early. -1: an error of the machine. */
int step_record_end(const struct step_call *call, struct recalled *waits, struct event_place *early,
    struct event *completed, struct error *err);

/* step_inside.c: what can only be found in the record of events inside of the call, and in the
 * run's directory. */

/* Whether something inside of the call has, or may have, changed the outside, so that repeating the
 * call would do that twice: a step or a tool with effects that succeeded, or was interrupted, and
 * is not idempotent. Sets what to its name. Records that cannot be read count as such. */
bool step_has_changed(const struct step_call *call, struct buffer *what);
/* A step in what was run that died has cut something off: that is the call's error. */
void step_look_for_dead(struct step_call *call);
/* A command failed, and a call that it made waits, or a step in that has died: a shell, make or xargs may have
 * turned the status of that into another. The call waits, too, or counts as one in which a step died. */
void step_look_for_unfinished(struct step_call *call);
/* If the run or an enclosing call is being ended, or the owner of the run has died, a failure of
 * the work is replaced by that error: otherwise it might not have failed. */
void step_note_ending(struct step_call *call);

/* step_work.c */

/* Does the work. -1: the machine failed. */
int step_work(struct step_call *call, struct error *err);
/* For work done in tries: repeats it until it succeeds or must not be tried again; the first
 * `repeats` tries that fail are those of a recording. -1: an error of the machine. */
int step_try(struct step_call *call, int (*try)(struct step_call *, void *, struct error *),
    void *context, int repeats, struct error *err);
/* Conditions: asks, or takes the recorded answer. -1: the machine failed. */
/* --when, or --while of an iteration: sets what is skipped. */
int step_ask_when(struct step_call *call, struct error *err);
/* --until, before the round ends. */
int step_ask_until(struct step_call *call, struct error *err);

/* step_record.c: the time limit of a try, if there is one. */
void step_write_timeout(const struct step *s, struct writer *w);

/* step_output.c: metadata.attachments of the item, for lines made in its place. */
struct span step_attachments(const struct step_call *call);
/* Those that the item came with; .at NULL: none, or it is of another run. */
struct span step_listed_attachments(const struct item *item);

#endif
