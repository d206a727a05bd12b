/*
 * Resume: what stands between a run that died, failed or waits and its next attempt;
 * and what a fork has in common with that.
 *
 * A recorded run tells how it was started: what it ran, where, with which inputs, and
 * what it was forked from. It may be gone on from if its owner is gone, no process of
 * its last attempt lives, its record is whole and unmasked, and every effect that may or
 * may not have happened was decided about.
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
	struct storage storage;       /* that it is in */
	char *path, *blobs;           /* of the transcript */
	struct workflow recorded;     /* what it ran */
	char *script;                 /* where the file of that was; NULL: not recorded */
	char *directory;              /* where its last attempt was started */
	char *stored;                 /* the storage that this recorded into; NULL: an older version's */
	struct {
		char *workspace;              /* of --workspace; NULL */
		bool snapshot;                /* of which a copy was kept */
		bool no_input;                /* its stdin was /dev/null */
		char **inputs;                /* KEY=VALUE */
		char *allow_tools;            /* its ceiling, limits/ceiling.h; NULL */
		enum tools_policy tools_policy;
		char **ignored;               /* variables that no call depends on */
		char **variables;             /* names that were recorded of the environment */
	} settings;                   /* that it was started with */
	char status[16];              /* of its last attempt; "" if that has no end */
	bool reader_gone;             /* it ended as nobody read its output any more */
	bool interrupted;             /* that was ended from outside (run.completed) */
	bool excused;                 /* history_spec.excused */
	char *programs_in;            /* the directory in which programs of the workspace are looked for;
	                                 NULL: directory */
	char *moved_from;             /* where directory was; NULL: there */
	struct history_source *others; /* what it was forked from, oldest first; room for one more */
	size_t other_count;
	char forked_from[ID_SIZE];    /* the last of them, "" */
	char *forked_at;              /* the PATH that it left out; NULL */
	char *traceparent;            /* of the first attempt; NULL */
	struct run_cause cause;       /* of a child: what started it */
	char *prefix, *steps;         /* of history_spec; NULL */
	const char *indexes_in;       /* directory for those of the runs inside, while they are built; NULL */
	struct {
		struct definition_files files; /* that its record names */
		struct file_names file_names; /* of steps in these */
		char **texts;                 /* that its attempts ran (-c), NULL: none */
		const char *text;             /* what it runs now; NULL: not known, */
		const struct file_names *around; /* but these may have it; NULL */
		struct history_names names;   /* history_spec.names */
	} words;                      /* of the workflow */
	struct history_reading *reading; /* its recorded calls; NULL: not read */
	struct history_summary history;
};

/* The script is not where it was: how it can be brought back is added to *err, if it is
 * recorded. */
void resume_tell_script(const struct resume *r, struct error *err);
/* Finds a run by its RUN argument and reads how it was started. ERROR_USAGE: there is
 * no such run, or it is masked. resume_free() either way. */
int resume_find(struct resume *r, const struct storage *s, const char *run, struct error *err);

/* Refuses a run that lives. ERROR_SYSTEM. */
int resume_check_ended(const struct resume *r, const struct storage *s, struct error *err);
/* And one of which a process lives. Once more when the run was taken over: another
 * resume may have come and died in between. */
int resume_check_dead(const struct resume *r, struct error *err);
/* What is to become of the run. */
struct resume_plan {
	bool forks;                   /* a fork of it; else its next attempt */
	const char *at;               /* that the fork leaves out; NULL: nothing */
	struct history_answers answers;
};

/* Checks the whole record, and reads on the way what resume_build() needs of it, and files.
 * What a crash left at its end is moved away if `repaired` is given, which is told; everything
 * else is ERROR_SCHEMA, and nothing is touched. What the plan points at is to live as long. */
int resume_check_record(struct resume *r, const struct resume_plan *plan,
    void (*repaired)(const char *text), struct error *err);

/* Makes the history (with the doubts of its child runs) in the run directory (NULL: none is
 * made); fills history, with what has changed of the programs that are recorded, there and in child
 * runs. 1: every doubt is decided; 0: not. The record is read once more only if
 * it has changed since. */
int resume_build(struct resume *r, const struct resume_plan *plan, const char *run_directory,
    struct error *err);
void resume_free(struct resume *r);

#endif
