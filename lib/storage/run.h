/*
 * A run from the view of its programs: its ids and paths, its directory with the lock and the key,
 * its transcript. awf-run creates one; an awf-step inside opens it, found in the environment; an
 * awf-step without one creates a run of its own. The directory runs/<id>/ may be removed when the
 * run has ended; only the transcript is the record.
 *
 *    runs/<id>/lock   held by the owner while the run lives (storage/run_lock.h)
 *    runs/<id>/key    32 random bytes, for the tokens of state lines
 *    runs/<id>/mask   of a masked run: the mark of its filter (redaction_mark()). The
 *                     command itself may contain what it masks, so it is only in the
 *                     environment, and is checked against this mark
 *    runs/<id>/start  state at the start of the attempt (storage/call_marks.h)
 *    runs/<id>/lineage the runs around it (storage/lineage.h)
 *    runs/<id>/roster/
 *    runs/<id>/failures failures that its steps have printed (model/told_failures.h)
 *    runs/<id>/live/ what models are writing (view/live.h)
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
	int64_t attempt_from;         /* offset in the transcript at which it begins */
	int64_t started_wall;         /* µs */
	int64_t started_monotonic;    /* ms */
	unsigned char key[DIGEST_BYTES];
	char traceparent[TRACEPARENT_SIZE]; /* for processes of the run that are in no call */
	bool traced;                  /* it is part of a trace that began outside */
	char redaction_mark[DIGEST_SIZE]; /* the mark of its filter; "": it is not masked */
	int lock_fd;                  /* -1 unless this process owns the run */
	bool keep_transcript;         /* otherwise it is in the run directory and
	                                 removed with that */
	bool audited;                 /* the audit file has an entry for it */
	void (*warn)(const struct error *err);
};

/* What started a child run: its step.call_workflow.started. */
struct run_cause {
	char run_id[ID_SIZE], event_id[ID_SIZE]; /* "" for a run at top level */
};
/* Reads it from a run.started. */
void run_cause_read(struct run_cause *cause, const struct event_view *started);

/* The members of run.started; texts may be NULL, spans absent. */
struct run_spec {
	const char *id;               /* NULL: a new one */
	const char *name;
	const char *kind;             /* "workflow", or "step" for a run of one step */
	char *const *argv;
	struct span inputs;           /* JSON object of --input values */
	char *const *ignored;         /* variables that no call depends on: names, or beginnings with a
	                                 star; ends with NULL; may be NULL */
	char *const *environment;     /* names recorded besides PATH LANG LC_* TZ;
	                                 ends with NULL; may be NULL */
	const char *directory;        /* of the workflow, absolute */
	const char *workflow_sha256;
	const char *script;           /* the file of the workflow, absolute; NULL: none */
	/* Other files of the workspace that it is run by, or sources; absolute; end with NULL; may
	 * be NULL. */
	char *const *programs, *const *sourced;
	struct redaction *redaction;  /* --mask; NULL: none */
	const char *forked_from;      /* run id */
	const char *forked_at;        /* the PATH left out of it */
	const char *traceparent;      /* of the first attempt, if this one is started
	                                 outside of a trace */
	const char *workspace;        /* of --workspace, absolute; NULL: the current directory */
	const struct run_cause *cause; /* NULL: it is no child */
	const struct lineage *lineage; /* NULL: it starts none */
	const char *inside_of;        /* id of the run whose end ends this one; NULL */
	bool snapshot;                /* the storage has a snapshot of the workspace */
	bool no_input;                /* stdin of the workflow is /dev/null */
	bool keep_transcript;         /* false: --no-transcript */
	bool compared;                /* its calls are compared with those of a run around it that goes on */
	bool latest;                  /* becomes `latest` (top-level live runs) */
	void (*repaired)(const char *text);
	void (*warn)(const struct error *err); /* audit file, latest */
};

/* Creates directory, lock, key and transcript, and appends run.started. If that fails,
 * nothing is left. */
int run_create(struct run *r, const struct run_spec *spec, struct error *err);

/* A further attempt at a run whose owner is gone. run_reopen() makes the run this
 * process's: the lock is held, the run directory is empty but for it, the transcript is
 * open; ERROR_SYSTEM if another process has it. Then either run_restart() makes a key
 * and records the attempt (-1: let it go), or run_let_go() leaves the run as it was. */
int run_reopen(struct run *r, const char *id, struct error *err);
int run_restart(struct run *r, int attempt, const struct run_spec *spec, struct error *err);
void run_let_go(struct run *r);

/* A run that is made once more from its recording (awf-replay, awf-verify --determinism). */
struct run_recorded {
	const char *root;             /* of its own storage, absolute; created if needed */
	const char *id;
	const char *source;           /* of the storage with the recording; NULL: none */
	const char *started;          /* event id of run.started */
	const char *name;
	int attempt;
	struct span payload;          /* of run.started */
	struct run_cause cause;
	const struct lineage *lineage;
	unsigned char key[DIGEST_BYTES];
};
/* Like run_create(), in a storage of its own, with the given ids and run.started; without entries
 * in the audit file and `latest`. */
int run_recreate(struct run *r, const struct run_recorded *recorded, struct error *err);

/* Sets the variables by which steps find the run; directory: of the workflow. */
void run_set_environment(const struct run *r, struct environment *e, const char *directory);
/* The workspace of the run's attempt, absolute, to be freed by the caller; NULL: unknown. */
char *run_workspace(const struct run *r);
/* Names the file to which steps add what they would do (awf-run --dry-run). */
#define DRY_RUN_FILE "AWF_DRY_RUN"
/* Whether the environment names a run (AWF_RUN_ID is set). */
bool run_in_environment(void);
/* Enters the run of AWF_RUN_ID, AWF_TRANSCRIPT, AWF_STORAGE, AWF_PARENT. Fails
 * with "run has ended" (ERROR_SYSTEM) if its lock is free. */
int run_enter(struct run *r, struct error *err);
/* Gives a run that was entered its filter, if it is masked; until then nothing can be
 * appended to it. ERROR_SYSTEM if it is another run's filter; NULL: none is known. */
int run_redact(struct run *r, struct redaction *redaction, struct error *err);
/* Its directory, in memory of its own; NULL if it names none. It need not be there. */
char *run_environment_directory(void);
/* Whether the run that the environment names is masked; is one that run_recreate() made. */
bool run_environment_masked(void);
bool run_environment_recreated(void);
/* The storage of its recording, to be freed by the caller; NULL if that is in none, or the run was
 * not made by run_recreate(). */
char *run_source(const struct run *r);

struct run_end {
	const char *event_id;         /* NULL: a new one */
	const char *status;           /* success failed cancelled timeout waiting */
	int exit_code;
	const struct error *error;    /* code ERROR_NONE or NULL: null */
	const char *stdin_sha256;     /* NULL: stdin was not kept */
	int64_t stdin_bytes;
	const char *stdout_sha256;    /* NULL: stdout was not kept */
	int64_t stdout_bytes;
	struct span usage;            /* JSON object, absent: none */
	bool interrupted;             /* something outside ended it, that did not mean its work */
	const struct seal_key *seal;  /* signs it; NULL: no seal */
};
/* Appends run.completed, syncs it, writes the audit line, drops the directory. The
 * latter two even if the former fail. */
int run_finish(struct run *r, const struct run_end *end, struct error *err);
/* Writes the value of the member error: null if there is none. */
void run_write_error(struct writer *w, const struct error *error);
void run_close(struct run *r);

#endif
