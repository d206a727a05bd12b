/*
 * A recording while it is read: what history_read.c, which walks the lines, and the
 * files that take them in share. history_calls.c takes the two lines of calls,
 * history_tools.c what stands in between.
 */
#ifndef AWF_RUN_HISTORY_READING_H
#define AWF_RUN_HISTORY_READING_H

#include "run/history_parts.h"
#include "transcript/event.h"

/* What is looked for in payloads, in one walk over each. */
enum member {
	CALL, INPUT, INPUT_SHA256, DEFINITION_SHA256, EFFECTS, IDEMPOTENT, TOOL, CLAIMS, RESULT,
	FAILURE, SKIPPED, REUSED_FROM, EXIT_CODE, CALL_ID, FIDELITY, STATUS, STRATEGY, PARTIAL,
	APPROVAL, PHASE, LOOP, MODE, CONDITION, RETRY, TRY, COUNT, BLOCKS, MEMBERS
};

/* A line while it is read. */
struct reading {
	struct event_view view;
	struct span members[MEMBERS]; /* of the payload; null is as good as absent */
	struct place place;
	char id[ID_SIZE];
};

/* An event id, or that of an object which names an event of another run; "" for
 * anything else. */
void reading_reference(struct span value, char id[ID_SIZE]);
/* The call of the event that is named so, or NO_CALL. */
size_t reading_find(const struct recording *rec, struct span reference);

/* When all is read: a claim that did not get to its end, and was to reuse what it took over,
 * hides nothing. */
void recording_settle_claims(struct recording *rec);

/* history_caught.c: what a call with --rescue was given; what one without, or the end of one
 * that failed by its work, or a child run that failed, had instead of lines; and when all is
 * read: which failures the run went on from. */
void recording_take_rescue(struct recording *rec, size_t rescue, const struct event_view *view);
void recording_take_missed(struct recording *rec, const struct event_view *view);
void recording_take_child_missed(struct recording *rec, size_t call);
void recording_settle_caught(struct recording *rec);

/* history_nested.c: takes in what the child run of a call read; what one read, or one that it
 * was made in, NULL if that is not known; and frees all of it. */
void recording_read_child(struct recording *rec, size_t call);
const struct recorded_reads *recording_reads(const struct recording *rec, const char *run_id);
void recording_free_reads(struct recording *rec);
/* At the end of a source: leaves out those of its child runs that have not ended. */
void recording_leave_out_children(struct recording *rec, size_t first_call);

void recording_take_started(struct recording *rec, const struct reading *at);
void recording_take_completed(struct recording *rec, const struct reading *at);
/* history_decided.c: a decision about a call that waits; an end that waits. Whether the
 * line is that. And what a call inherits of one that it goes on with. */
bool recording_take_decision(struct recording *rec, const struct reading *at);
bool recording_take_wait(struct recorded_call *c, const struct reading *at);
void recording_inherit(struct recording *rec, struct recorded_call *c);
/* A message or a tool event: of its parent's call, or of who has taken that over. */
void recording_take_inner(struct recording *rec, const struct reading *at);
/* A phase of an agent begins or ends: what is in it is of the agent's call. */
void recording_take_phase(struct recording *rec, const struct reading *at);

#endif
