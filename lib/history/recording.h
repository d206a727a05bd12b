/*
 * A recording: the calls of a run, and of the runs from which it was forked, as input for building
 * a history: what each call was, its outcome, which call claimed which, and which effects are in
 * doubt.
 *
 * The model of the run (model/model.h) reads all sources, one after another, and determines the
 * calls, which call encloses which, and to which call an event belongs. This file adds what only a
 * history needs. It differs from the model in the end of a call: an end that waited is replaced by
 * the decision, and one that reused a result by that result; a call that did nothing has no end;
 * and a failure may be valid, be caught, or have to be repeated.
 *
 *  recording_read.c     reading the sources, and what is determined at the end
 *  recording_fork.c     what a fork leaves out
 *  recording_caught.c   failures after which the run continued
 *  recording_programs.c files that commands executed, and results of other versions of them
 *  recording.c          how calls are identified, calls that the user names and wants made again, and
 *                       effects: which happened, which may have
 */
#ifndef AWF_HISTORY_RECORDING_H
#define AWF_HISTORY_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/id.h"
#include "base/map.h"
#include "history/history.h"
#include "model/model.h"

#define NO_CALL UINT32_MAX
#define NO_TOOL UINT32_MAX
#define NO_USE UINT32_MAX
#define NO_EVENT UINT32_MAX

/* A line in one of the sources. len 0: none. */
struct place {
	int64_t offset;
	uint32_t len;    /* without its LF */
	uint32_t source;
};

/* Identifies a call. */
struct recorded_key {
	size_t start, directory, variables; /* recorded_marks, in the recording's marks */
	size_t compared;             /* the root of the call that it asked about; "" */
	uint32_t use;                /* of the tool that made it; NO_USE */
	uint64_t input, definition;  /* the beginnings of their digests, */
	unsigned char guard[DIGEST_BYTES]; /* and of both */
};

/* The calls that it has to do with, by number. */
struct recorded_links {
	uint32_t enclosing;          /* NO_CALL at top level */
	uint32_t claims, claimed_by; /* neighbours in the chain */
	uint32_t root;               /* its first */
	uint32_t input_from;         /* the call whose result is its input; NO_CALL: it
	                                has its own */
	uint32_t result_from;        /* the call whose result it reused; NO_CALL: its own */
	uint32_t left_by, reopened_by; /* the last fork that left it out, or something in it: 1 for
	                                that from the first source; 0: none did */
};

/* Data of the whole chain, stored at its root. */
struct recorded_chain {
	uint32_t last_tool;
	uint32_t winner;             /* the first branch that succeeded */
	uint32_t changed_inside;     /* a call in it that changed something, or may have, and is not
	                                to do so twice; NO_CALL */
	bool began_inside : 1;       /* one in it began to change something */
	bool child_inside : 1;       /* a child run was made in it */
	bool doubt_inside : 1;       /* nobody knows whether an effect in it happened */
	bool redone : 1;             /* it, or a call in it, is to be made again */
};

/* How it failed, or was cut off. */
struct recorded_failure {
	const char *cut;             /* why it counts as cut off; NULL */
	uint32_t first;              /* whose failure it took over, or itself */
	bool of_work : 1;            /* its failure is the result of its work */
	bool closed : 1;             /* it ended because the reader of its output closed the pipe */
	bool lost_lines : 1;         /* it failed, and lines that it printed are not in its end */

	/* Kept at the first. */
	bool caught : 1;             /* the run continued because of the failure */
	bool missed : 1;             /* of a branch: something after it failed because of that */
};

/* What kind of call it is. */
struct recorded_kind {
	bool child : 1;              /* it is a child run; otherwise a step's call */
	bool effects : 1, idempotent : 1; /* the call itself: it has effects */
	bool operation : 1;          /* its effects are those of its tool's calls */
	bool members : 1;            /* a loop or a parallel group: rounds or branches are in it */
	bool member : 1;             /* a round or a branch: known by its position alone */
	bool encloses : 1;           /* others were made in it */
	bool runs_command : 1;       /* calls inside of it are made by a command */
};

/* Its outcome, and whether that is valid. */
struct recorded_status {
	enum recall_end state : 4;
	bool attended : 1;           /* it waits, and its process with it: it has no end yet */
	bool waited : 1;             /* its attempt's end (call->end) did: a decision is `end` */
	bool idle : 1;               /* it never began its work */
	bool by_user : 1;            /* it was skipped by the user's decision */
	bool reopened : 1;           /* something in it is left out: its end does not count */
	bool decided : 1;            /* its end is a decision, or reuses one */
	bool made_again : 1;         /* by the user's decision: it does not continue
	                                what it claimed */
	bool outdated : 1;           /* its result is valid, and was made by other versions
	                                of programs */
	bool repeated : 1;           /* it is to be made again because of that */
	bool asked : 1;              /* it did nothing, but asked whether it is a recorded one: */
	bool early_failed : 1;       /* `early` is a failure */
};

/* One call in one attempt. Where it took over an earlier one, both are calls here,
 * and form a chain; its last stands for it. Calls, tools and events are named by their numbers. */
struct recorded_call {
	const struct model_call *call; /* what it is */
	struct place end;
	struct place early;          /* the result of its try, which came before that ended; length 0 */
	struct recorded_key key;
	struct recorded_failure failure;
	int64_t last_try;            /* of its own in which calls were made */
	struct recorded_links links;
	struct recorded_chain chain;
	uint32_t source, attempt;    /* that it is of; attempts are counted over all sources */
	uint32_t programs;           /* those that it executed, a number from 1; 0: none */
	uint32_t last_event;         /* of the messages and tool events in between; NO_EVENT */
	struct recorded_kind kind;
	struct recorded_status status;
};

/* A message or tool event: of which there are many. Its source is found by its number. */
struct recorded_event {
	int64_t offset;
	uint32_t len;
	uint32_t before;             /* the one of its call that was read before it, or NO_EVENT */
};

/* A tool's call that has effects, or may have. */
struct recorded_tool {
	uint32_t call;
	uint32_t before;             /* the one before it in the chain, or NO_TOOL */
	char id[ID_SIZE];            /* of its event */
	char cause[ID_SIZE];
	char *call_id, *name;
	uint32_t number;             /* among the calls of this name in the chain, from 1; that of the one
	                                which it repeats */
	struct place place;
	const char *cut;             /* why its end is not known; NULL: it is */
	bool idempotent;
	bool blocked;                /* it was not allowed to run */
	bool repeated;               /* by a later attempt: that one counts */
	bool answered;               /* the model was told what came of it, and went on */
};

/* A call of an agent's tool, in all attempts, that has made calls of steps or child runs. */
struct recorded_use {
	size_t id;                   /* payload.tool_call of these, in the recording's marks */
	bool ended;                  /* what came of it is known: it is not called again */
};

/* A transcript as it was when the index was made. */
struct index_source {
	int64_t size;                /* of the transcript, when the index was made */
	uint64_t device, inode;
	uint64_t path, blobs;        /* in text */
	char run_id[ID_SIZE];
	char tail[DIGEST_SIZE];      /* the prev of the last line up to there */
	bool foreign;                /* another run's */
};

/* Events of the run around it, and of others, that a child run's steps had items of. */
struct recorded_reads {
	uint32_t call;               /* the last that is that child run */
	struct uuid *events;         /* their keys */
	size_t count;
};

struct recording {
	const struct history_spec *spec;
	struct model model;
	struct recorded_call *calls; /* in the order of their starts */
	uint32_t call_count, call_capacity;
	uint32_t *by_number;         /* of the model's calls: that of ours; of a phase, the call that
	                                it is part of; NO_CALL */
	size_t number_capacity;
	struct recorded_event *events;
	uint32_t event_count, event_capacity;
	struct {
		struct recorded_tool *tools;
		uint32_t tool_count, tool_capacity;
		struct map tool_by_event;    /* tool.call → tool */
		struct recorded_use *uses;
		uint32_t use_count;
		struct map use_by_id, use_by_event; /* payload.tool_call, tool.call → use */
	} tool_uses;                       /* of tools */
	struct {
		bool branch_failed;          /* of a best-effort group */
		bool asked;                  /* a call has asked whether it is a recorded one */
		char **taken;                /* history_summary.taken */
	} seen;
	struct recorded_reads *reads; /* of child runs: those in what a fork is made from, and those
	                                that failed behind a branch that did */
	size_t read_count;
	struct map reads_by_run;     /* id of such a run, or of one in it → reads */
	char *workspace;             /* of the attempt that is being read; NULL */
	struct recorded_program *programs; /* recording_programs.c */
	uint32_t program_count;
	struct recorded_programs *program_lists;
	uint32_t program_list_count;
	struct map programs_by_text; /* → number of the list, from 1 */
	bool programs_checked;
	struct map calls_by_id;      /* id → how many calls that count have it, in a resume */
	uint32_t *redo_before, *skip_before; /* recording_named_before() of the answers, in a resume */
	struct buffer marks;         /* texts, each with its NUL; the first is empty */
	struct {
		size_t start;                /* of the attempt that is being read */
		struct index_source *sources;
		uint32_t *first_events;      /* of each source, so far: its events begin here */
		uint32_t attempt;            /* that is being read, over all sources */
		uint32_t source;             /* that is being read */
		int64_t lines;               /* read of it */
		uint32_t first_of_source;    /* its calls begin here */
		int own_attempts;
	} now;                        /* what is being read */
	char status[16];             /* of the last attempt; "": it has no end */
	bool reader_gone;            /* which came as nobody read its output any more */
};

/* ---- recording_read.c ---- */

/* Reads all sources but the last, whose lines are then given one after another, offset being a
 * line's first byte in its file. ERROR_SCHEMA at FILE:LINE for what is no transcript. The spec is
 * to live as long. recording_close() either way. */
int recording_begin(struct recording *rec, const struct history_spec *spec, struct error *err);
int recording_take(struct recording *rec, const char *line, size_t len, int64_t offset,
    struct error *err);
/* Takes all lines of the last one from its file. */
int recording_read_source(struct recording *rec, struct error *err);
/* When all is read: settles what is known then alone. */
void recording_end(struct recording *rec);
struct place recording_event_place(const struct recording *rec, uint32_t event);
void recording_close(struct recording *rec);

/* The sources in one row: the others, then the run's own. */
size_t history_source_count(const struct history_spec *spec);
const struct history_source *history_source(const struct history_spec *spec, size_t index);
/* The digest that a whole line ends in. -1 if the line is too short for one. */
int history_tail(const char *line, size_t len, char tail[DIGEST_SIZE]);

/* The call of an event (event_key()), and whether that began it (start may be NULL); NO_CALL if
 * it is not known. */
uint32_t recording_find_call(const struct recording *rec, struct uuid id, bool *start);
/* The last of a call's chain. */
uint32_t recording_latest(const struct recording *rec, uint32_t call);
/* Whether the call is one that others are compared with. */
bool recording_counts(const struct recording *rec, uint32_t call);
/* Whether a call went on with what the one that it took over had done. One with another
 * input or definition began anew, and so did one of another run, and one that the user wanted
 * made again. */
bool recorded_call_went_on(const struct recorded_call *c, const struct recorded_call *earlier);

/* ---- recording_fork.c, while the record is read ---- */

/* Takes in what the child run of a call read. */
void recording_read_child(struct recording *rec, uint32_t call);
/* What that run, or one that it was made in, has read; NULL if that is not known. */
const struct recorded_reads *recording_reads(const struct recording *rec, const char *run_id);
void recording_free_reads(struct recording *rec);
/* A call begins, or that of a child run ends: leaves it out if a fork does. */
void recording_leave_out(struct recording *rec, uint32_t call, const struct event_view *view);
void recording_leave_out_child(struct recording *rec, uint32_t call);
/* At the end of a source: leaves out those of its child runs that have not ended. */
void recording_leave_out_children(struct recording *rec, uint32_t first_call);

/* ---- recording_caught.c ---- */

/* While the record is read: what a call without --rescue, or the end of one that failed by its
 * work, or a child run that failed, had instead of lines. */
void recording_take_missed(struct recording *rec, const struct event_view *view);
void recording_take_child_missed(struct recording *rec, uint32_t call);
/* When all is read: which failures the run went on from; then, which claims hide nothing, as
 * they did not get to their end and were to reuse what they took over. */
void recording_settle_caught(struct recording *rec);
/* Whether the call failed, and who takes it over fails as it did: the failure was allowed, or
 * caught, and all that the call did is known. Effects in it are not looked at. */
bool recording_failure_stands(const struct recording *rec, uint32_t call);
/* Whether it stands for --try alone: for a call that is not tried any more it does not. */
bool recording_only_tried(const struct recording *rec, uint32_t call);
/* Of the call of a child run: whether that stands for what failed at its top. */
bool recording_child_excused(const struct recording *rec, uint32_t call);

/* ---- recording_programs.c ---- */

/* What an attempt's run.started says of its workspace. */
void recording_take_workspace(struct recording *rec, struct span payload);
/* The files that a call names. */
void recording_take_programs(struct recording *rec, struct recorded_call *c, struct span files);
/* When all is settled, once: what is outdated, as the programs of the workspace are now, which is
 * that directory; with history_answers.redo_changed, it is to be repeated. */
void recording_check_programs(struct recording *rec, const char *directory);
/* The call is to be made again, and what it is in gives way to that: recording_note_effects() is
 * to follow. */
void recording_repeat(struct recording *rec, uint32_t call);
/* Adds those that have changed, after that. */
void recording_changed_programs(const struct recording *rec, struct history_summary *summary);
void recording_free_programs(struct recording *rec);

/* ---- recording.c ---- */

/* What calls are sorted, and looked up, by. item: that of one which is known by its position
 * alone, or ANY_ITEM. */
#define ANY_ITEM INT64_C(-1)
void index_key(const char *root, const char *name, int64_t item,
    unsigned char key[DIGEST_BYTES]);
/* The beginning of a digest; 0: there is none. */
uint64_t index_digest(const char *sha256);
void index_guard(const char *input_sha256, const char *definition_sha256,
    unsigned char guard[DIGEST_BYTES]);
/* What a call of this name is listed as that a fork leaves out. */
#define LEFT_OUT_SIZE 17
void index_left_out(const char *name, const unsigned char guard[DIGEST_BYTES], char text[LEFT_OUT_SIZE]);
/* A number for the names in a chain of calls: those of one step have the same. */
uint64_t index_step(const char *chain);
/* Whether a file of the run has the name and the command of a call in a line, which began an effect: its
 * own call may come yet (history_names.edited). */
bool recording_named(const struct recording *rec, uint32_t call);

/* Whether the PATH (a step's, or one call) names the call. */
bool path_names(const char *path, const struct model_call *call);
/* What was decided about the call. */
enum recall_decision recording_decision(const struct recording *rec, uint32_t call);
/* What was decided about those calls of its tools that have a name of their own for it: lines as
 * recalled.tool_answers has them. Whether that is all that is in doubt of it. */
bool recording_tool_answers(const struct recording *rec, uint32_t call, struct buffer *out);
/* For each PATH of one call that has another name by now, as the workflow went on when it was asked about:
 * the last of the chain that had that name last; else NO_CALL. An array of its own; NULL: there are no PATHs. */
uint32_t *recording_named_before(const struct recording *rec, char *const *paths);
/* Whether it is a child run that was asked about, and goes on since: --skip has said that it is the
 * same one, and may say so again. */
bool recording_child_answered(const struct recording *rec, uint32_t call);
/* Whether the user wants all calls of its step taken as done (--skip STEP). */
bool recording_step_skipped(const struct recording *rec, uint32_t call);
/* Whether the user wants this call taken as done (--skip CALL), perhaps beside those of its step. */
bool recording_skipped_itself(const struct recording *rec, uint32_t call);
/* Whether --skip names the call twice: one that is compared with it is left out, too. */
bool recording_skipped_twice(const struct recording *rec, uint32_t call);
/* Whether --redo names a call that its condition left out, or that failed or did not end, for which no other
 * call has asked: it is to be made again, even if what it is in has succeeded. */
bool recording_redone(const struct recording *rec, uint32_t call);
/* The call around it because of which it cannot be made again all the same, and why; NO_CALL: there is none. */
enum kept_by {
	KEPT_BY_TOOL,   /* a tool of it has made the call, and the tool's result is known */
	KEPT_BY_EFFECT, /* it has succeeded, and has effects of its own */
	KEPT_BY_RACE    /* it is a group of which one branch was to succeed, and has */
};
uint32_t recording_kept_by(const struct recording *rec, uint32_t call, enum kept_by *why);
/* Marks the groups and child runs around the call to be run again; the other calls inside them use their recorded
 * results. */
void recording_reopen_around(struct recording *rec, uint32_t call);
/* The same for all that are to be made again, after recording_settle_caught(). */
void recording_reopen_redone(struct recording *rec);
/* Says that the call cannot be made again, and why. */
void recording_refuse_kept(const struct recording *rec, uint32_t call, uint32_t by, enum kept_by why,
    struct error *err);
/* Says which PATHs name what they can be said of, and why others do not: they may be in child runs. Refuses
 * contradictions. */
int recording_check_paths(const struct recording *rec, struct history_summary *summary,
    struct error *err);

/* Whether the call has an effect of which nobody knows whether it happened, and which
 * may happen again. */
bool recording_doubtful(const struct recording *rec, uint32_t call);
/* Whether such effects are of the call's tools alone: to decide about these is not to decide about all
 * that it did. */
bool recording_tools_doubtful(const struct recording *rec, uint32_t call);
/* Whether the call has one of its own, wherever it was made. */
bool recording_own_doubt(const struct recording *rec, uint32_t call);
/* Whether the call, or one made in it, began to change something, in any attempt. */
bool recording_began(const struct recording *rec, uint32_t call);
/* Whether its own work, not that of calls in it, has changed something, or may have, and is not to
 * do so twice; of a child run nobody knows here. */
bool recording_changed(const struct recording *rec, uint32_t call);
/* Whether the tool that has made the call has ended: its result stands, and nothing in it is made again. */
bool recording_used_up(const struct recording *rec, uint32_t call);
/* Whether nothing of this attempt has taken the call over, which an earlier one made and which has
 * changed something: the call itself, or one in it. */
bool recording_unclaimed(const struct recording *rec, uint32_t call);
/* Whether all that is known of its effects is that the call was begun. */
bool recording_only_begun(const struct recording *rec, uint32_t call);
/* Tells the calls around those that began to change something, or have; and, of a resume,
 * around those in doubt. */
void recording_note_effects(struct recording *rec);
/* What the user names a call by, in memory of its own: its id, and behind @ its attempt where calls
 * that count have the same id in several. */
char *recording_call_label(const struct recording *rec, uint32_t call);
/* Of a child run: history_child.names. */
char *recording_child_names(const struct recording *rec, uint32_t call);
/* What a call depended on besides its input and definition. */
struct recorded_marks recording_marks(const struct recording *rec, const struct recorded_call *c);
/* Whether no file of the run names the step of a call any more that has changed something
 * (history_names.dropped). */
bool recording_dropped(const struct recording *rec, uint32_t call, bool lately);
/* Adds all that is in doubt, and what history_names say was dropped lately. */
int recording_doubts(const struct recording *rec, struct history_summary *summary,
    struct error *err);
/* Adds the unclaimed calls (recording_unclaimed()), except those that calls of other runs have taken over:
 * taken() says so for the offset of a call's start. */
int recording_list_unclaimed(const struct recording *rec, bool (*taken)(void *, int64_t), void *context,
    struct history_summary *summary, struct error *err);

#endif
