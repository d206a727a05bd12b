/*
 * A run as its programs see it: its ids and paths, its directory with the lock and the key, its
 * transcript. awf-run creates a run; an awf-step inside of it opens the run that the environment
 * names; an awf-step outside of a run creates one of its own. The directory runs/<id>/ may be
 * removed when the run has ended; only the transcript is the record.
 *
 *    runs/<id>/lock   held by the owner while the run lives (storage/run_lock.h)
 *    runs/<id>/key    32 random bytes, for the tokens of state lines
 *    runs/<id>/mask   of a masked run: a digest of its filter (redaction_mark()). The
 *                     command itself may contain secrets, so it is only in the
 *                     environment, and is checked against this digest
 *    runs/<id>/start  state at the start of the attempt (storage/call_marks.h)
 *    runs/<id>/lineage the runs around it (storage/lineage.h)
 *    runs/<id>/roster/
 *    runs/<id>/failures failures that its steps have printed (model/told_failures.h)
 *    runs/<id>/live/ what models are writing (view/live.h)
 *    runs/<id>/held/ when calls may be sent, if a server has refused some (providers/held.h)
 */
#ifndef AWF_STORAGE_RUN_H
#define AWF_STORAGE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/writer.h"
#include "proc/environment.h"
#include "storage/lineage.h"
#include "storage/storage.h"
#include "storage/traceparent.h"
#include "transcript/event.h"
#include "transcript/transcript.h"

struct run {
	struct storage storage;
	char id[ID_SIZE];
	int attempt;                  /* 1, 2, … */
	char *name;                   /* of the workflow; NULL after run_enter() */
	char *directory;              /* runs/<id> */
	struct transcript transcript;
	char started[ID_SIZE];        /* event id of this attempt's run.started;
	                                 after run_enter(): $AWF_PARENT */
	int64_t attempt_from;         /* offset in the transcript at which the attempt begins */
	int64_t started_wall;         /* µs */
	int64_t started_monotonic;    /* ms */
	unsigned char key[DIGEST_BYTES];
	char traceparent[TRACEPARENT_SIZE]; /* for processes of the run outside of calls */
	bool traced;                  /* it belongs to a trace that was begun outside */
	char redaction_mark[DIGEST_SIZE]; /* digest of its filter; "": it is not masked */
	int lock_fd;                  /* -1 if another process owns the run */
	bool keep_transcript;         /* false: it is in the run directory, and is removed with
	                                 that */
	bool audited;                 /* the audit file has a line about its start */
	void (*warn)(const struct error *err);
};

/* What has started a child run: a step.call_workflow.started of its parent. */
struct run_cause {
	char run_id[ID_SIZE], event_id[ID_SIZE]; /* "" for a run at top level */
};
/* Reads the cause from a run.started. */
void run_cause_read(struct run_cause *cause, const struct event_view *started);

/* The members of run.started; texts may be NULL, spans absent. */
/* Whether a run goes on by itself, and the options of the attempt that then hold again. */
struct run_going_on {
	bool by_itself;                       /* it may be resumed without anybody's doing */
	const char *max_cost;                 /* dollars; NULL: no limit */
	const char *on_complete, *on_failure; /* commands for the shell; NULL */
	int64_t timeout_ms;                   /* 0: no limit */
};

struct run_spec {
	const char *id;               /* NULL: a new one is made */
	const char *name;
	const char *kind;             /* "workflow", or "step" for a run of one step */
	const char *vocabulary;       /* of the events of which it consists; NULL: of no other program */
	char *const *argv;
	struct span inputs;           /* JSON object of --input values */
	struct {
		char *const *ignored, *const *changed;
	} marks;                      /* of start_spec */
	char *const *environment;     /* variables to be recorded besides PATH LANG LC_* TZ; ends
	                                 with NULL; may be NULL */
	const char *directory;        /* directory of the workflow, absolute */
	const char *workflow_sha256;
	const char *script;           /* file of the workflow, absolute; NULL: none */
	/* Other files in the workspace that the command line executes, or sources; absolute; end
	 * with NULL; may be NULL. */
	char *const *programs, *const *sourced;
	struct redaction *redaction;  /* --mask; NULL: none */
	const char *forked_from;      /* id of the forked run */
	const char *forked_at;        /* the PATH given with --at */
	const char *traceparent;      /* of the first attempt; used if this one is started outside
	                                 of a trace */
	const char *workspace;        /* directory of --workspace, absolute; NULL: the current
	                                 one */
	const struct run_cause *cause; /* NULL: the run is no child */
	const struct lineage *lineage; /* NULL: the run cannot start others */
	const char *inside_of;        /* id of the run that ends this one when it ends; NULL */
	bool snapshot;                /* the storage has a snapshot of the workspace */
	bool no_input;                /* stdin of the workflow is /dev/null */
	struct run_going_on going_on;
	bool keep_transcript;         /* false: --no-transcript */
	bool compared;                /* its calls are compared with those of an outer run that was
	                                 resumed */
	bool latest;                  /* make it `latest`: a run at top level, and no replay */
	void (*repaired)(const char *text);
	void (*warn)(const struct error *err); /* for errors with the audit file or `latest` */
};

/* Creates directory, lock, key and transcript, and appends run.started. If that fails,
 * nothing is left. */
int run_create(struct run *r, const struct run_spec *spec, struct error *err);

/* A further attempt of a run whose owner has ended. run_reopen() makes this process the owner: it
 * holds the lock, the run directory is empty except for the lock, and the transcript is open;
 * ERROR_SYSTEM if another process is the owner. Then call either run_restart(), which makes a key
 * and records the attempt (after -1, call run_let_go()), or run_let_go(), which leaves the run as
 * it was. */
int run_reopen(struct run *r, const char *id, struct error *err);
int run_restart(struct run *r, int attempt, const struct run_spec *spec, struct error *err);
void run_let_go(struct run *r);

/* A run that is a replay of a recording (awf-replay, awf-verify --determinism). */
struct run_recorded {
	const char *root;             /* storage for the replay, absolute; created if needed */
	const char *id;
	const char *source;           /* storage that contains the recording; NULL: none */
	const char *started;          /* event id for run.started */
	const char *name;
	int attempt;
	struct span payload;          /* payload of run.started */
	struct run_cause cause;
	const struct lineage *lineage;
	unsigned char key[DIGEST_BYTES];
};
/* Like run_create(), but in another storage, with given ids and a given run.started, and without
 * changes in the audit file and of `latest`. */
int run_recreate(struct run *r, const struct run_recorded *recorded, struct error *err);

/* Sets the variables in which steps find the run; directory: of the workflow. */
void run_set_environment(const struct run *r, struct environment *e, const char *directory);
/* The workspace of the run's attempt, absolute, to be freed by the caller; NULL: unknown. */
char *run_workspace(const struct run *r);
/* The variable with the file to which steps append what they would do (awf-run --dry-run). */
#define DRY_RUN_FILE "AWF_DRY_RUN"
/* Whether the environment names a run (AWF_RUN_ID is set). */
bool run_in_environment(void);
/* Enters the run that AWF_RUN_ID, AWF_TRANSCRIPT, AWF_STORAGE and AWF_PARENT name. Fails with "run
 * has ended" (ERROR_SYSTEM) if nobody holds its lock. */
int run_enter(struct run *r, struct error *err);
/* Sets the filter of a run that was entered; if the run is masked, nothing can be appended before.
 * redaction NULL: the process knows no filter. ERROR_SYSTEM if the filter is another one than the
 * run's. */
int run_redact(struct run *r, struct redaction *redaction, struct error *err);
/* The run directory that the environment names, to be freed by the caller; NULL if it names none.
 * It may not exist. */
char *run_environment_directory(void);
/* Whether the run in the environment is masked; whether run_recreate() has made it. */
bool run_environment_masked(void);
bool run_environment_recreated(void);
/* The storage that contains the recording of a replay, to be freed by the caller; NULL if the
 * recording is in no storage, or the run is no replay. */
char *run_source(const struct run *r);

struct run_end {
	const char *event_id;         /* NULL: a new one is made */
	const char *status;           /* success failed cancelled timeout waiting */
	int exit_code;
	const struct error *error;    /* code ERROR_NONE or NULL: null */
	const char *stdin_sha256;     /* NULL: stdin was not kept */
	int64_t stdin_bytes;
	const char *stdout_sha256;    /* NULL: stdout was not kept */
	int64_t stdout_bytes;
	struct span usage;            /* JSON object, absent: none */
	bool interrupted;             /* ended from outside, without the intention to end its work
	                                 (reboot, batch system) */
	const struct seal_key *seal;  /* key of the seal; NULL: none */
};
/* Appends run.completed and syncs it, writes the audit line, and removes the run directory; the
 * last two even if the first fails. */
int run_finish(struct run *r, const struct run_end *end, struct error *err);
/* Writes the member error: null if there was none. */
void run_write_error(struct writer *w, const struct error *error);
void run_close(struct run *r);

#endif
