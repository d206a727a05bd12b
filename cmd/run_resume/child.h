/*
 * A child: a run that was started inside of another one, its parent. There it is a call
 * like that of a step, which a step's outcome, roster and displays know already:
 *
 *     parent   step.call_workflow.started (child_run_id)
 *     child        run.started (parent_run_id; links: the line above)
 *                  … its steps …
 *                  run.completed
 *     parent   step.call_workflow.completed (links: the line above)
 *
 * What the code relies on, and keeps:
 *   - The parent's line is on disk before anything of the child is made, so a child that
 *     is there is in its parent's record.
 *   - The call has a place in the parent's roster while it lives: the parent waits for
 *     it, and who reads what it wrote sees it die.
 *   - What runs inside of the child belongs to the child alone: it finds neither a call
 *     nor a path of the parent in its environment.
 *   - What would make runs go on inside of one another for ever is refused before
 *     anything is made (storage/lineage.h).
 */
#ifndef AWF_RUN_RESUME_CHILD_H
#define AWF_RUN_RESUME_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/id.h"
#include "json/scan.h"
#include "storage/call_marks.h"
#include "storage/lineage.h"
#include "storage/roster.h"
#include "storage/run.h"
#include "storage/state.h"

struct child {
	struct run parent;           /* entered */
	struct call_marks marks;     /* of the call */
	struct lineage lineage;      /* with the child at its end */
	struct roster roster;        /* of the parent */
	char *name, *path, *call;    /* of the call */
	bool tried;                  /* its failure is not the parent's */
	char run_id[ID_SIZE];        /* the child's */
	char *enclosing;             /* the call around it, "" at top level */
	char definition_sha256[DIGEST_SIZE];
	char *command;            /* its words, for people and to compare */
	bool text;                /* it runs a text (-c), and no file */
	char next_started[ID_SIZE], next_completed[ID_SIZE]; /* of its events; "": new ones */
	struct run_cause cause;      /* step.call_workflow.started, once it is written */
	int64_t begun;               /* monotonic ms */
};

/* Enters the run of the environment, the parent; the call takes its name from that of the
 * child's workflow (brief.awf: brief). script: of the child, NULL if it has none. tried: it
 * may fail.
 * ERROR_USAGE for a cycle, or too deep. child_leave() whatever the result. */
int child_enter(struct child *c, const char *run_name, const char *script, bool tried,
    struct error *err);

/* What is run; spans and texts may be absent. */
struct child_start {
	char *const *argv;
	struct span inputs;
	const char *workflow_sha256;
	const char *script;          /* absolute; NULL: there is none */
	int64_t timeout_ms;
	bool detached;
	bool no_transcript;          /* nobody can read afterwards what it did */
};
/* What it is looked up by in the history of its parent, with CHILD_INPUT for an input:
 * what a child is given flows while it runs. Not the text of the script: a resume that
 * finds another goes on all the same, and the steps in it compare themselves. */
#define CHILD_INPUT "null"
void child_define(struct child *c, const struct child_start *start);

/* An event of an earlier attempt, or of the run that the parent was forked from. */
struct child_recorded {
	const char *run_id;          /* "": the parent's own */
	const char *event_id;        /* NULL: there is none */
};
/* claims: the call that it takes over. */
int child_started(struct child *c, const struct child_start *start,
    const struct child_recorded *claims, struct error *err);

struct child_end {
	const struct data *result;   /* what it wrote on stdout; NULL: it is not known */
	const struct error *error;   /* why it failed; code ERROR_NONE: it did not */
	int exit_code;               /* -1: it was not run */
	const char *compared_with;   /* it waits as it may be the recorded call with this start; NULL */
	const char *completed;       /* event id of its run.completed; NULL: it has none (yet) */
	const char *stdin_sha256;    /* NULL: stdin was not kept */
	int64_t stdin_bytes, stdout_bytes;
	struct child_recorded reused_from; /* the result stands there */
};
int child_completed(struct child *c, const struct child_end *end, struct error *err);

/* The call has an end of which nothing can be recorded. */
void child_fail(struct child *c, const struct error *why);

/* The call is over: its end is in the roster, unless nothing could be recorded of it. */
void child_leave(struct child *c);

#endif
