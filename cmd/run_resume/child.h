/*
 * A child: a run that was started inside of another one, its parent. In the parent it is a call
 * like that of a step, which outcome, roster and displays treat as any other:
 *
 *    parent   step.call_workflow.started (child_run_id)
 *    child        run.started (parent_run_id; links: the line above)
 *                 … its steps …
 *                 run.completed
 *    parent   step.call_workflow.completed (links: the line above)
 *
 * What the code relies on, and keeps:
 *  - The parent's line is on disk before anything of the child is made, so an existing child
 *    is always in its parent's transcript.
 *  - The call is in the parent's roster while it lives: the parent waits for it, and readers
 *    of its output notice if it dies.
 *  - Processes inside of the child belong to the child only: their environment has no call
 *    and no path of the parent.
 *  - Endless nesting of runs is refused before anything is made (storage/lineage.h).
 */
#ifndef AWF_RUN_RESUME_CHILD_H
#define AWF_RUN_RESUME_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/id.h"
#include "json/scan.h"
#include "run_resume/same_input.h"
#include "storage/call_marks.h"
#include "storage/lineage.h"
#include "storage/roster.h"
#include "storage/run.h"
#include "storage/state.h"

struct child {
	struct run parent;           /* opened as one of its processes */
	struct call_marks marks;     /* of the call */
	struct lineage lineage;      /* ends with the child */
	struct roster roster;        /* of the parent run */
	char *name, *path, *call;    /* of the call */
	bool tried;                  /* its failure does not fail the parent (--try) */
	char run_id[ID_SIZE];        /* the child's */
	char *enclosing;             /* the call that it is inside of; "" at top level */
	char definition_sha256[DIGEST_SIZE];
	char *command;            /* command line, to display and to compare */
	bool text;                /* it runs a text (-c), not a file */
	char next_started[ID_SIZE], next_completed[ID_SIZE]; /* event ids to use; "":
	                                                        make new ones */
	struct run_cause cause;      /* step.call_workflow.started, once it is written */
	int64_t begun;               /* monotonic ms */
};

/* Opens the parent, which is the run in the environment. The call is named after the child's
 * workflow (brief.awf: brief). script: of the child, NULL if it has none. tried: its failure does
 * not fail the parent. ERROR_USAGE for a cycle, or if nested too deeply. Call child_leave()
 * whatever the result. */
int child_enter(struct child *c, const char *run_name, const char *script, bool tried,
    struct error *err);

/* What the child runs; spans and texts may be absent. */
struct child_start {
	char *const *argv;
	struct span inputs;
	const char *workflow_sha256;
	const char *script;          /* absolute path; NULL: none */
	int64_t timeout_ms;
	bool detached;
	bool no_transcript;          /* nobody can read afterwards what it did, */
	const struct input_digests *given; /* so its input is recorded, if it is there already; NULL */
};
/* Sets the digest by which the call is looked up in the parent's history. Its input is always
 * CHILD_INPUT, since the real input arrives while the child runs. The text of the script is not
 * part of the digest: if it was edited, the child is resumed all the same, and its steps compare
 * themselves. */
#define CHILD_INPUT "null"
void child_define(struct child *c, const struct child_start *start);

/* An event of an earlier attempt, or of the run that the parent was forked from. */
struct child_recorded {
	const char *run_id;          /* "": the parent itself */
	const char *event_id;        /* NULL: none */
};
/* claims: the recorded call that this one continues. */
int child_started(struct child *c, const struct child_start *start,
    const struct child_recorded *claims, struct error *err);

struct child_end {
	const struct data *result;   /* its stdout; NULL: not known */
	const struct error *error;   /* why it failed; code ERROR_NONE: it did not */
	int exit_code;               /* -1: it was not run */
	const char *compared_with;   /* start of the recorded call that a person is asked to compare
	                                it with; NULL */
	const char *completed;       /* event id of its run.completed; NULL: none (yet) */
	const char *stdin_sha256;    /* NULL: stdin was not recorded */
	const char *stdin_data_sha256; /* state_digest() of it; NULL */
	int64_t stdin_bytes, stdout_bytes;
	struct child_recorded reused_from; /* the result is recorded there */
};
int child_completed(struct child *c, const struct child_end *end, struct error *err);

/* The call has ended, but its end cannot be recorded. */
void child_fail(struct child *c, const struct error *why);

/* Leaves the parent. If the end was recorded, it is in the roster. */
void child_leave(struct child *c);

#endif
