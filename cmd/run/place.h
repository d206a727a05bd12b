/*
 * Where awf-run makes a run: at top level, or as a child inside of another run, in whose
 * record it is a call then (cmd/run_resume/child.h).
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
	char id[ID_SIZE];          /* of the new run; may be given at top level */
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

/* What is to be run there. */
struct place_spec {
	const char *name;          /* of the run */
	const char *id;            /* that it is to have; NULL: a new one */
	const struct workflow *workflow;
	const char *script;        /* its script, absolute; NULL */
	struct span inputs;
	int64_t timeout_ms;
	const char *workspace;     /* where it starts; NULL: the current directory */
	bool detached;
	bool tried;                  /* --try */
	bool no_input;             /* stdin is not for it */
	bool unrecorded;           /* nothing is kept of it */
};

/* Finds out, by the environment; what would nest for ever is refused (ERROR_USAGE). A
 * child may have been recorded (nested.way). place_free() whatever the result. */
int place_find(struct place *p, const struct place_spec *spec, struct error *err);

/* That of a run which exists: it goes on where this process is, and is nobody's child
 * because of that. */
int place_resumed(struct place *p, const char *run_id, const struct workflow *workflow,
    struct error *err);

/* What a parent is told; nothing at top level. */
int place_begin(struct place *p, const struct place_spec *spec, struct error *err);
/* The recorded result of a child is its result. The exit status; -1. */
int place_replay(struct place *p, const struct place_spec *spec, struct error *err);
int place_reuse(struct place *p, const struct place_spec *spec, struct error *err);
/* The child goes its own way: its call is over, with its id for a result. The process
 * that the child is in then is no part of its parent's. */
int place_detached(struct place *p, struct error *err);
void place_leave(struct place *p);
int place_failed(struct place *p, const struct error *why, struct error *err);
int place_end(struct place *p, const struct conclusion *e, const struct input *input,
    const char *stdin_sha256, struct error *err);

/* It has asked a person, and begins nothing: its parent waits, too. */
void place_waits(struct place *p);
/* It ends without any end in its parent: what the machine did to it is told where that needs
 * no room on a disk; or it waits. */
void place_unrecorded(struct place *p, const struct error *why);

/* There is to be no run: a parent need not think that it died. */
void place_skipped(struct place *p);

/* Lets the calls of the run be compared with what its parent did, if that goes on. */
int place_set_around(const struct place *p, const char *run_directory, struct error *err);
/* What comes from the parent, before the workflow runs in this directory of its run. */
int place_nest_input(const struct place *p, struct input *in, const char *run_directory,
    struct error *err);
/* Where the workflow's stdout goes; NULL: it is this process's. -1 with *err. */
int place_open_output(struct place *p, struct printed *printed, struct output **output,
    struct error *err);
void place_free(struct place *p);

#endif
