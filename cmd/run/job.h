/*
 * A job is one execution of awf-run: its options, its resources, its result. prepare.c decides what
 * is run (a new run, a further attempt, a fork), create.c makes the run when it is its turn, and
 * run/main.c executes it and reports its end.
 */
#ifndef AWF_RUN_JOB_H
#define AWF_RUN_JOB_H

#include "base/buffer.h"
#include "proc/environment.h"
#include "run/notice.h"
#include "run/overlap.h"
#include "run/place.h"
#include "run/settings.h"
#include "run/terminal.h"
#include "run_resume/resume.h"
#include "run_resume/workflow.h"
#include "start/conclusion.h"
#include "start/input.h"
#include "start/supervise.h"
#include "storage/redactor.h"
#include "storage/run.h"
#include "transcript/seal.h"

#define PROGRAM "awf-run"

struct job {
	struct settings settings;
	struct workflow workflow;
	struct buffer inputs;      /* JSON */
	struct place place;
	char *script;              /* absolute path of the workflow's script; NULL: it has none */
	char **changed;               /* run_spec.marks */
	char **programs, **sourced; /* lists of other workspace files that the workflow's command
	                               line executes or sources */
	bool forks;                /* the run is a fork of the run in resume */
	struct overlap overlap;
	struct run run;
	struct input input;
	struct printed printed;
	bool input_open;           /* job_attempt() has already opened input */
	struct environment environment;
	struct supervision supervision;
	struct terminal terminal;
	struct outcome outcome;
	struct conclusion conclusion;
	struct buffer summary;     /* JSON, for --on-complete and --on-failure */
	struct notify notify;      /* what the user's config says; read at the end */
	bool told_before;          /* it waits for what the end of its last attempt was told of */
	struct seal_key seal;
	struct redactor redactor;
	struct resume resume;
};

/* Result of the functions that prepare a run: start it. Any other result is the exit status. */
enum { GO = -2 };

/* job.c: the name of the workflow; printing one-line messages on stderr. */
const char *job_name(const struct job *j);
void job_warn(const struct error *err);
void job_repaired(const char *text);
/* effects.c: prints a line for each effect that may or may not have happened. Returns
 * STATUS_WAITING. */
int job_ask(const struct resume *r);
/* Prints the recorded calls that no call of this run has used; only the first ones get a line
 * each. */
void job_tell_unclaimed(const struct history_summary *s);

/* prepare.c: does everything up to the start of the run. Returns GO, the exit status, or -1. */
int job_prepare(struct job *j, struct error *err);
/* Prints the id of the new run, or of the run that is resumed (--print-id, --id-file). */
int job_tell_id(const struct job *j, const char *id, struct error *err);
/* Absolute path of the directory in which the workflow is started. To be freed by the caller. */
char *job_workspace(const struct job *j);
/* Copies this process's environment without API keys, which only providers may see. */
int job_keyless(struct environment *e, struct error *err);

/* create.c: makes a new run; for a child, this may mean to resume it. All these functions return
 * GO, the exit status, or -1. */
int job_create(struct job *j, struct error *err);
/* Waits until it is this run's turn. STATUS_OK: --overlap does not let it run. */
int job_take_turn(struct job *j, struct error *err);
/* Starts a further attempt of the run, whose lock this process has. */
int job_attempt(struct job *j, struct error *err);
/* Opens the workflow's input. For a fork, stores the history of the forked run where the steps look
 * for it. */
int job_open_input(struct job *j, struct error *err);
int job_build_fork(struct job *j, struct error *err);

#endif
