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
	char id[ID_SIZE];          /* id of the new run; at top level the user may have chosen it */
	char completed[ID_SIZE];   /* event id for its run.completed */
	struct lineage lineage;
	struct run_cause cause;    /* for a child */
	bool nested_in;            /* it is a child; this process is its call */
	bool asked;                /* whether it is a recorded child was asked, and the question
	                              recorded */
	bool waits;                /* a call in it waits for a person, even if the run ended
	                              otherwise */
	bool unchanged;            /* the run waits and keeps no transcript, but nothing in it has
	                              changed anything */
	struct child child;
	struct nested nested;      /* the recorded child that it continues or reuses */
	struct input_digests given; /* of a child that keeps no transcript: its input, if that was there at its start */
	char *around;              /* run directory of the parent, if that was resumed; NULL */
	char *left_call, *left_path; /* set by place_leave(): the call in the parent, the path of
	                                its step, */
	char *left_directory;      /* and the directory in which it was made */
	struct redactor redactor;   /* filter of the parent */
	struct output output;
};

#define PLACE_INIT { .output = { .stream = -1, .source = -1 } }

/* The run that is to be made. */
struct place_spec {
	const char *name;          /* name of the run */
	const char *id;            /* for the new run; NULL: make one */
	const struct workflow *workflow;
	const char *script;        /* absolute path; NULL: none */
	struct span inputs;
	int64_t timeout_ms;
	const char *workspace;     /* working directory; NULL: the current one */
	bool detached;
	bool tried;                  /* --try */
	bool no_input;             /* the run does not read stdin */
	bool unrecorded;           /* nothing is recorded */
};

/* Finds out from the environment where the run is made; refuses endless nesting (ERROR_USAGE).
 * nested.way says whether the child was recorded before. Call place_free() whatever the result. */
int place_find(struct place *p, const struct place_spec *spec, struct error *err);

/* Records that the user was asked before the recorded child went on: the call ends as waiting, and nothing was run
 * in it. */
void place_asks(struct place *p, const struct place_spec *spec);

/* For a run that is resumed by itself: it goes on in this process, even if it was a child. */
int place_resumed(struct place *p, const char *run_id, const struct workflow *workflow,
    struct error *err);

/* Records the call in the parent; does nothing at top level. */
int place_begin(struct place *p, const struct place_spec *spec, struct error *err);
/* Outputs the recorded result of a child as the result of this call. Returns the exit status, or
 * -1. */
int place_replay(struct place *p, const struct place_spec *spec, struct error *err);
int place_reuse(struct place *p, const struct place_spec *spec, struct error *err);
/* For a detached child: ends the call with the child's id as result; the child's process does not
 * belong to the parent any more. */
int place_detached(struct place *p, struct error *err);
void place_leave(struct place *p);
int place_failed(struct place *p, const struct error *why, struct error *err);
int place_end(struct place *p, const struct conclusion *e, const struct input *input,
    const char *stdin_sha256, struct error *err);

/* The child waits for a person and starts nothing, so the parent ends as waiting, too. */
void place_waits(struct place *p);
/* The child ends, but no end is recorded in the parent: because it waits, or because of an error of
 * the machine, which is then reported in a way that needs no disk space. */
void place_unrecorded(struct place *p, const struct error *why);

/* No run is made (--overlap): the parent must not think that the call has died. */
void place_skipped(struct place *p);

/* Stores, if the parent was resumed, where calls of the run are to be compared with what the parent
 * did before. */
int place_set_around(const struct place *p, const char *run_directory, struct error *err);
/* Sets up the workflow's input, which comes from the parent. */
int place_nest_input(const struct place *p, struct input *in, const char *run_directory,
    struct error *err);
/* Sets *output to where the workflow's stdout goes; NULL: this process's stdout. -1 with *err. */
int place_open_output(struct place *p, struct printed *printed, struct output **output,
    struct error *err);
void place_free(struct place *p);

#endif
