/*
 * One execution of awf-run: what it is to do, what it acquires, what came of it.
 * prepare.c finds out what is to be run (a new run, a further attempt, a fork), create.c
 * makes the run when its turn has come, run/main.c runs it and tells its end.
 */
#ifndef AWF_RUN_JOB_H
#define AWF_RUN_JOB_H

#include "base/buffer.h"
#include "proc/environment.h"
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
	char *script;              /* of the workflow, absolute; NULL: it has none */
	char **programs, **sourced; /* other files of the workspace that its words run; lists */
	bool forks;                /* the run is a fork of that of resume */
	struct overlap overlap;
	struct run run;
	struct input input;
	struct printed printed;
	bool input_open;           /* before the start: of a further attempt */
	struct environment environment;
	struct supervision supervision;
	struct terminal terminal;
	struct outcome outcome;
	struct conclusion conclusion;
	struct buffer summary;     /* JSON, for --on-complete and --on-failure */
	struct seal_key seal;
	struct redactor redactor;
	struct resume resume;
};

/* The run is to be started; else what prepares it says how to exit. */
enum { GO = -2 };

/* prepare.c: the name of what is run; and one line on stderr. */
const char *job_name(const struct job *j);
void job_warn(const struct error *err);
void job_repaired(const char *text);
/* effects.c: one for each effect that may have happened. STATUS_WAITING. */
int job_ask(const struct resume *r);
/* Tells of history_unclaimed(), a line for each of the first. */
void job_tell_unclaimed(const struct history_summary *s);

/* All up to the run's start. GO, or the status to exit with; -1. */
int job_prepare(struct job *j, struct error *err);
/* Tells the id of the run, or of the one that is taken over in its place, to whoever wants it (--print-id,
 * --id-file). */
int job_tell_id(const struct job *j, const char *id, struct error *err);
/* The directory that the workflow is started in, absolute, in memory of its own. */
char *job_workspace(const struct job *j);
/* This process's environment, but for API keys: they are for providers alone. */
int job_keyless(struct environment *e, struct error *err);

/* create.c: a new run, or the child that goes on in its place. GO, the status to exit
 * with, or -1, as the two below. */
int job_create(struct job *j, struct error *err);
/* When it is this run's turn; STATUS_OK: it is not to be. */
int job_take_turn(struct job *j, struct error *err);
/* A further attempt at the run that is in our hands. */
int job_attempt(struct job *j, struct error *err);
/* What the workflow reads, and what its steps find of the run it is a fork of. */
int job_open_input(struct job *j, struct error *err);
int job_build_fork(struct job *j, struct error *err);

#endif
