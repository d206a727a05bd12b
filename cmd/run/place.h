/*
 * Where awf-run makes a run: at top level, or as a child inside of another run, whose transcript
 * records the child as a call (cmd/run_resume/child.h).
 */
#ifndef AWF_RUN_PLACE_H
#define AWF_RUN_PLACE_H

#include <stdbool.h>

#include "base/error.h"
#include "run_resume/child.h"
#include "run_resume/nested.h"
#include "run_resume/workflow.h"
#include "start/conclusion.h"
#include "start/input.h"
#include "start/output.h"
#include "storage/lineage.h"
#include "storage/redactor.h"

struct place {
	char id[ID_SIZE];          /* of the new run; may be given by the user at top level */
	char completed[ID_SIZE];   /* event id of its run.completed */
	struct lineage lineage;
	struct run_cause cause;    /* of a child */
	bool nested_in;            /* it is one, and its call is this process's: */
	bool asked;                /* it has asked whether it is a recorded one, and recorded that */
	bool waits;                /* a call in it does, whatever else came of it */
	bool unchanged;            /* it waits, keeps no transcript, and nothing in it has changed anything */
	struct child child;
	struct nested nested;      /* what it takes over */
	char *around;              /* the run directory of a parent that goes on; NULL */
	char *left_call, *left_path; /* the call in it, the path of its step, */
	char *left_directory;      /* and where it was made, once place_leave() */
	struct redactor redactor;   /* of its parent */
	struct output output;
};

#define PLACE_INIT { .output = { .stream = -1, .source = -1 } }

/* The run to be made there. */
struct place_spec {
	const char *name;          /* of the run */
	const char *id;            /* for the new run; NULL: make one */
	const struct workflow *workflow;
	const char *script;        /* absolute path; NULL: none */
	struct span inputs;
	int64_t timeout_ms;
	const char *workspace;     /* working directory; NULL: the current one */
	bool detached;
	bool tried;                  /* --try */
	bool no_input;             /* the run must not read stdin */
	bool unrecorded;           /* nothing is recorded */
};

/* Finds the place from the environment; endless nesting is refused (ERROR_USAGE). nested.way says
 * whether the child was recorded before. Call place_free() whatever the result. */
int place_find(struct place *p, const struct place_spec *spec, struct error *err);

/* The place of an existing run: it goes on where this process is, without becoming a child. */
int place_resumed(struct place *p, const char *run_id, const struct workflow *workflow,
    struct error *err);

/* Records the call in the parent; nothing at top level. */
int place_begin(struct place *p, const struct place_spec *spec, struct error *err);
/* Outputs the recorded result of a child as this call's result. Returns the exit status, or -1. */
int place_replay(struct place *p, const struct place_spec *spec, struct error *err);
int place_reuse(struct place *p, const struct place_spec *spec, struct error *err);
/* The child is detached: its call ends, with the child's id as result, and the child's process no
 * longer belongs to the parent. */
int place_detached(struct place *p, struct error *err);
void place_leave(struct place *p);
int place_failed(struct place *p, const struct error *why, struct error *err);
int place_end(struct place *p, const struct conclusion *e, const struct input *input,
    const char *stdin_sha256, struct error *err);

/* It waits for a person and starts nothing; so its parent waits too. */
void place_waits(struct place *p);
/* It ends without an end in its parent's transcript: because it waits, or because of an error of
 * the machine, which is then reported by a way that needs no disk space. */
void place_unrecorded(struct place *p, const struct error *why);

/* No run will be made, and the parent must not take the call for dead. */
void place_skipped(struct place *p);

/* Lets calls of the run be compared with what its parent did, if the parent is resumed. */
int place_set_around(const struct place *p, const char *run_directory, struct error *err);
/* Sets up the input that comes from the parent, before the workflow runs. */
int place_nest_input(const struct place *p, struct input *in, const char *run_directory,
    struct error *err);
/* Sets *output to where the workflow's stdout goes; NULL: this process's stdout. -1 with *err. */
int place_open_output(struct place *p, struct printed *printed, struct output **output,
    struct error *err);
void place_free(struct place *p);

#endif
