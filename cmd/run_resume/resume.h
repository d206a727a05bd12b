/*
 * Resume: reads a recorded run and decides whether a run that died, failed or waits may have a
 * further attempt; a fork uses the same checks.
 *
 * The transcript says how the run was started: what it ran, where, with which inputs, and what it
 * was forked from. It may be resumed if its owner has died, no process of its last attempt lives,
 * its transcript is complete and unmasked, and every effect in doubt was decided.
 */
#ifndef AWF_RUN_RESUME_RESUME_H
#define AWF_RUN_RESUME_RESUME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/id.h"
#include "history/history.h"
#include "limits/ceiling.h"
#include "run_resume/file_names.h"
#include "run_resume/workflow.h"
#include "storage/run.h"
#include "storage/storage.h"
#include "transcript/definition_file.h"

struct resume {
	char run_id[ID_SIZE];
	struct storage storage;       /* that the run is in */
	char *path, *blobs;           /* of the transcript */
	struct workflow recorded;     /* what it ran */
	char *script;                 /* recorded path of the script; NULL: not recorded */
	char *directory;              /* working directory of its last attempt */
	char *stored;                 /* the storage of that attempt; NULL: recorded by an
	                                 older version */
	struct {
		char *workspace;              /* of --workspace; NULL */
		bool snapshot;                /* a copy of the workspace was kept */
		bool no_input;                /* its stdin was /dev/null */
		char **inputs;                /* KEY=VALUE */
		char *allow_tools;            /* limit of its tools (limits/ceiling.h); NULL */
		enum tools_policy tools_policy;
		char **ignored;               /* variables that no call depends on */
		char **variables;             /* environment variables that are recorded (--env) */
		char **values;                /* and their values: NAME=VALUE */
		char *start;                  /* of marks_read_start() */
		char *max_cost, *on_complete, *on_failure; /* of the latest attempt (struct run_going_on), by */
		long long timeout_ms;         /* unattended_check(); NULL and 0: none */
	} settings;                   /* settings that it was started with */
	char status[16];              /* of its last attempt; "" if that did not end */
	bool reader_gone;             /* it ended because the reader of its output
	                                 closed the pipe */
	bool interrupted;             /* it was ended from outside (run.completed) */
	bool by_itself;               /* it may be resumed without anybody's doing */
	bool excused;                 /* history_spec.excused */
	char *programs_in;            /* where programs of the workspace are looked for; NULL:
	                                 in directory */
	char *moved_from;             /* earlier value of directory; NULL: it has not moved */
	struct history_source *others; /* the runs it was forked from, oldest first; room
	                                  for one more */
	size_t other_count;
	char forked_from[ID_SIZE];    /* the last of these, or "" */
	char **earlier;               /* NAME=VALUE: inputs and variables of --env of those of these runs
	                                 from which it was forked without --at */
	char *forked_at;              /* path of the step at which it was forked; NULL */
	char *traceparent;            /* of the first attempt; NULL */
	struct run_cause cause;       /* of a child: what started it */
	char *prefix, *steps;         /* of history_spec; NULL */
	const char *indexes_in;       /* directory for those of the runs inside, while they are built; NULL */
	struct {
		struct definition_files files; /* named in its record */
		struct file_names file_names; /* step names in these files */
		char **texts;                 /* texts that its attempts ran (-c); NULL: none */
		const char *text;             /* the text that it runs now; NULL: not known, */
		const struct file_names *around; /* but it may be in these files; NULL */
		struct history_names names;   /* history_spec.names */
	} words;                      /* about the workflow's definition */
	struct history_reading *reading; /* its recorded calls; NULL: not read */
	struct history_summary history;
};

/* The script is missing: if it was recorded, adds to *err how to restore it. */
void resume_tell_script(const struct resume *r, struct error *err);
/* Finds the run that RUN names, and reads how it was started. ERROR_USAGE: there is no such run, or
 * it is masked. Call resume_free() whatever the result. */
int resume_find(struct resume *r, const struct storage *s, const char *run, struct error *err);

/* Refuses a run whose owner lives. ERROR_SYSTEM. */
int resume_check_ended(const struct resume *r, const struct storage *s, struct error *err);
/* Refuses a run of which a process lives. Call it again with the run's lock: another resume may
 * have started and died in between. */
int resume_check_dead(const struct resume *r, struct error *err);
/* What to do with the run. */
struct resume_plan {
	bool forks;                   /* fork it; otherwise start a further attempt */
	const char *at;               /* step to fork at; NULL: none */
	struct history_answers answers;
};

/* Verifies the whole transcript, and reads from it what resume_build() needs. If `repaired` is
 * given, what a crash left at the end is moved away, and `repaired` is called with a message; other
 * damage is ERROR_SCHEMA, and nothing is changed. What plan points at must live as long as r. */
int resume_check_record(struct resume *r, const struct resume_plan *plan,
    void (*repaired)(const char *text), struct error *err);

/* Builds the history, including effects in doubt of child runs and changed programs, in `history`,
 * and writes its index to the run directory (NULL: does not write it). Returns 1 if all effects in
 * doubt are decided, 0 if not. The transcript is read again only if it has changed since. */
int resume_build(struct resume *r, const struct resume_plan *plan, const char *run_directory,
    struct error *err);
/* The names of inputs (AWF_INPUT_KEY) and of variables of --env that a run which the new one, or the
 * further attempt, is forked from without --at had with other values. inputs: KEY=VALUE; a list
 * (base/list.h), or NULL. */
char **resume_changed_variables(const struct resume *r, const struct resume_plan *plan,
    char *const *inputs);
void resume_free(struct resume *r);

#endif
