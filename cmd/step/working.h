/*
 * One call of a step while it is made: what cmd/step/step.c and the files beside
 * it share. step_attach.c and step_continue.c complete its input, step_record.c appends its
 * events, step_work.c does the work, step_recall.c takes it from a recorded call,
 * step_lines.c makes what goes to stdout.
 */
#ifndef AWF_STEP_WORKING_H
#define AWF_STEP_WORKING_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/attachment.h"
#include "agent/changed.h"
#include "agent/continuation.h"
#include "json/writer.h"
#include "run/recall.h"
#include "step/step.h"
#include "transcript/call.h"
#include "transcript/seal.h"

struct working {
	struct step *step;
	const struct item *item;
	const struct error *refused; /* why the gate does not take it; NULL */
	int64_t index;
	char *id;                  /* NAME:OCCURRENCE:ITEM chain */
	struct call call;
	int64_t begun;             /* monotonic ms */
	int64_t record_from;       /* where in the transcript what is made in it comes */
	struct buffer links;       /* inside of a JSON array */
	struct recalled recalled;
	struct attachments attachments; /* of the step and of the item */
	struct buffer attached;         /* the item's list, with their digests; empty: as it came */
	struct continuation continued;  /* of an agent that goes on */
	char started[ID_SIZE];     /* event id of step.started */
	char input_sha256[DIGEST_SIZE];
	char ended[ID_SIZE];       /* of step.completed, if it is not a new one; "" */
	char parent[ID_SIZE];
	bool input_is_result;      /* input is the result of parent */
	struct verdict { bool asked, answered, yes; } when, until;
	bool recalls;              /* a recorded call is taken over */
	bool reused;               /* its result is this call's */
	bool taken;                /* so is its end, in a replay too */
	bool beyond;               /* a replay: not made, for nobody read it any more, or the
	                              recording was ended before it */
	/* What came of it. */
	struct data *results;
	size_t result_count;
	bool passes;               /* the output is lines instead: */
	struct item *passed;       /* without a line of its own, it gets one of this call */
	size_t passed_count;
	struct error error;
	bool told;                 /* the error is what a line of the output told of */
	const char *skipped;       /* why the work was not done; NULL */
	int64_t winner;            /* the branch of an `any` group that won; -1 */
	struct error lost;         /* why a branch of a group that succeeded failed; ERROR_NONE */
	int exit_code;             /* of a command; -1 */
	bool killed;               /* a signal ended the command, or the operation's tool */
	struct buffer retries;     /* inside of a JSON array */
	struct buffer errors;      /* tail of stderr */
	int64_t errors_bytes;
	struct changed changed;    /* files, by a command */
	int64_t tool_calls;
	char *agent;               /* that ended it, if it is not the step's first; NULL */
	int64_t duration_ms;
	char recorded_end[CLOCK_TEXT_SIZE]; /* in a replay: timestamp of step.completed; "" */
	/* Of a call that waits, or was decided about. */
	struct seal_key seal;      /* that signs a decision made here; else without a public key */
	bool overtaken;            /* a decision was recorded meanwhile: to be taken */
	bool outdone;              /* it was */
	struct buffer approval;    /* payload.approval of step.completed; "": none */
	/* step.completed */
	struct event completed;
};

/* step_record.c: parent and links from the causes of the input; then the two events
 * around the work. Both are durable as step.h promises. */
void working_find_causes(struct working *work, const struct buffer *causes);
int working_append_started(struct working *work, struct error *err);
int working_append_completed(struct working *work, struct error *err);

/* The words of a command in a row, for people. */
void working_command_text(char *const *argv, struct buffer *out);

/* Whether the result is an array, of what came of -O. */
bool working_several_results(const struct working *work);

/* step_attach.c: the attachments of the call, which are part of its input; what is wrong
 * with them is its error. */
void working_attach(struct working *work);
/* Those whose files have gone, from the recorded call. -1: work->error. */
int working_restore_attachments(struct working *work);
/* metadata.attachments of the item, for lines that stand for it. */
struct span working_attached(const struct working *work);

/* step_continue.c: finds the conversation that the agent goes on with; which that is, is
 * part of the input. What is wrong with it is the call's error. */
void working_continue(struct working *work);

/* step_recall.c: looks for the recorded call that this is; takes its ids in a replay.
 * What forbids going on is in error. -1: the machine failed. */
int working_recall(struct working *work, struct error *err);
bool working_replays(const struct working *work);
/* Takes the answer of a condition from the recorded call: --when from its start, --until
 * from its end. False if it is to be asked. */
bool working_recorded_answer(struct working *work, const struct condition *condition,
    struct verdict *answer);
/* In a replay: whether the recorded call ended while --when was asked; its end is this
 * one's then. */
bool working_cut_off_asking(struct working *work);
/* A replay asks again; another answer than the recorded one is the call's error. */
void working_compare_answer(struct working *work, const struct condition *condition,
    const struct verdict *answer);
/* Whether what was recorded stands instead of the work: it is taken then. */
bool working_stands(struct working *work);
/* In a replay: what was told of retries of the recorded call, again. An agent's come when
 * their turn does. */
int working_repeat_retries(struct working *work, struct error *err);
/* In a replay, what is recorded of the tries that failed. */
void working_take_tries(struct working *work);
/* How many of them are made again, if they fail again: those of a command, as they may have
 * left something that the last one needs. Those of a tool: turns_repeat_tries(). */
int working_repeated_tries(const struct working *work);
/* What a replay's state line says of when it was made: as the recorded one did. */
void working_recorded_spec(const struct working *work, struct state_spec *spec);
/* claims of step.started; reused_from of step.completed. */
void working_write_claim(const struct working *work, struct writer *w);
void working_write_reuse(const struct working *work, struct writer *w);

/* step_work.c: does the work, fills results or error. -1: the machine failed. */
int working_run(struct working *work, struct error *err);
/* A failure of the work while the run, or a call around this one, is being ended, or after
 * who keeps the run has died, becomes one of that: undisturbed it might not have failed. */
void working_end_around(struct working *work);
/* --terminal: an item without a line of this run becomes the result, others pass. */
void working_end_run(struct working *work);
/* Whether there is no result, as the item is the output. */
bool working_passes_item(const struct working *work);
/* Takes over what data holds. */
void working_add_result(struct working *work, struct data *data);
/* What a try made of them before it failed is none of the next one's. */
void working_forget_results(struct working *work);
/* Asks a condition about a state line; sets the answer, or the call's error. */
int working_ask(struct working *work, const struct condition *condition,
    const struct buffer *line, struct verdict *answer, struct error *err);

/* data.KEY = result, of --into; the rest stays, data that is no object moves to input. */
void working_merge_into(struct working *work);

/* step_approve.c: asks whoever sits at the terminal, else lets the call wait. -1: the
 * machine failed. */
int working_approve(struct working *work, struct error *err);
/* A command has ended as pending, and printed this until then. */
void working_pend(struct working *work);
/* The recorded call waits for its result: on, or no more. */
void working_wait_on(struct working *work);
/* What was decided: payload.approval as it stands in the recorded end. */
void working_take_approval(struct working *work);
/* Of transcript_append_deciding(): refuses the end if a decision was recorded since the
 * history was made, or another deadline; overtaken is set then. context is the working. */
int working_check_waits(void *context, struct event *e, struct error *err);
/* That decision, instead of what the call came to itself. */
void working_take_decision(struct working *work);

/* Whether its error is more than the step lets pass (--allow-failure): what waits has not
 * failed. */
bool working_fails(const struct working *work);

/* step_lines.c: lines for stdout, after step.completed was appended. */
void working_put_results(const struct working *work, struct buffer *out);
/* What a body gave before it failed, and the error line. */
void working_put_failure(const struct working *work, struct buffer *out);
/* The item goes on: as it came if this run's state line it was, else as a line of
 * this call's. */
void working_pass_item(const struct working *work, struct buffer *out);
/* The state line that conditions and -e read; an item without one gets a line that
 * names this call's step.started. Of an item that failed, a body reads no error. */
void working_state_line(const struct working *work, struct buffer *out);
void working_body_line(const struct working *work, struct buffer *out);
/* The lines of the result before the call has ended. */
void working_result_lines(const struct working *work, struct buffer *out);

/* step_passed.c: output that is lines already (group.h). */

/* Takes a body's stdout. False: it begins with no state line, so it is a result as that
 * of any command. What is wrong with it, or what its first error line says, is the
 * call's error then. The makers of its lines are causes of the call's end. */
bool working_take_passed(struct working *work, const struct buffer *output);
/* Takes over an item as output. */
void working_pass(struct working *work, struct item *item);
/* The items alone; and with them what they led to, before the body is tried again. */
void working_forget_passed(struct working *work);
void working_drop_passed(struct working *work);
/* result, as lines without tokens; and from the recorded end, false if it has none. */
void working_write_passed(const struct working *work, struct writer *w);
bool working_recall_passed(struct working *work, struct span payload);

#endif
