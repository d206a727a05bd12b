/*
 * A source: the recording of a run that is to be run again, and where that which goes
 * with it lies. It reads the transcript once; of several attempts the last is what a
 * replay makes again, and what source tells of.
 *
 * A recording lies in a storage: the user's, or one that `awf-replay --export` made.
 * That has more, awf-replay(1):
 *
 *     workflow/manifest.json  tells an export, and what is in it
 *     workflow/files/…   the files that steps are made of, below their absolute paths
 *     workflow/config/   the same of the user's configuration
 */
#ifndef AWF_REPLAY_RUN_SOURCE_H
#define AWF_REPLAY_RUN_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/id.h"
#include "json/scan.h"
#include "rerun/child_runs.h"
#include "storage/storage.h"
#include "transcript/definition_file.h"

#define SOURCE_WORKFLOW "workflow"
#define SOURCE_MANIFEST SOURCE_WORKFLOW "/manifest.json"
#define SOURCE_FILES SOURCE_WORKFLOW "/files"
#define SOURCE_CONFIG SOURCE_WORKFLOW "/config"

struct source {
	struct storage storage;     /* that it lies in; root NULL: a file by itself */
	bool own;                   /* it lies in the storage that the user has */
	char run_id[ID_SIZE];
	char *transcript, *blobs;
	char *input;                /* what its stdin was; NULL: none was kept */
	char *snapshot;             /* of the workspace, its own or of a run around it; NULL */
	char *files, *config;       /* of an export; NULL: it is none, it has none */

	/* Of the last attempt. */
	int attempt;
	char started[ID_SIZE];      /* event id of run.started */
	char completed[ID_SIZE];    /* of run.completed; "": the attempt has no end */
	char status[16];            /* that it says; "" */
	struct buffer line;         /* run.started, its blobs put back */
	struct span payload, parent; /* in line: its payload, and the run that it was started in */
	char *name, *kind;
	char **argv;                /* these end with NULL */
	char *workspace;            /* where it was started */
	char *directory;            /* of the workflow */
	char workflow_sha256[DIGEST_SIZE]; /* "": no script */
	char *script;               /* its path, as run.started names it; NULL: it does not */
	bool contained;             /* the recording has the files of the run and its steps */

	/* Of all attempts. */
	struct definition_files definitions; /* that the run and its steps are made of; as the
	                               last attempt had them first */
	char **providers;           /* as PROVIDER_RECORDED has them; those unknown are the
	                               last attempt's; NULL: none */
	struct buffer endpoints;    /* members of PROVIDER_RECORDED_ENDPOINTS, commas between */
	struct child_runs children;
};

/* argument: RUN as in storage_resolve(), or a directory: a storage, whose latest run
 * is meant. ERROR_USAGE if there is none such, it is alive, was masked, or cannot be run
 * again for another reason; ERROR_SYSTEM if it or its input cannot be read;
 * ERROR_SCHEMA if it is no transcript. s is for source_close() in all cases. */
int source_open(struct source *s, const struct storage *storage, const char *argument,
    struct error *err);
/* Likewise of a child, whose transcript lies beside its parent's. ERROR_USAGE also if it has no
 * transcript. */
int source_open_child(struct source *s, const struct source *parent, const char *run_id,
    struct error *err);
/* Where a recorded path leads: into the snapshot, the export, or as it stands. In
 * memory of its own. */
char *source_file(const struct source *s, const char *path);
/* Where the export has a recorded path, if it has: never by a link out of it. NULL
 * otherwise; in memory of its own. */
char *source_exported(const struct source *s, const char *path);
/* The file of the workflow: the word of argv whose file has its digest, as a recorded
 * absolute path, in memory of its own; NULL if there is none (any more). */
char *source_script(const struct source *s);
/* Whether that is so although the workflow was a script. */
bool source_script_lost(const struct source *s);
/* From now on nothing of the files that the recording has is used: they are today's. */
void source_forget_files(struct source *s);
/* Whether what a replay finds at the path of a file is another one than was recorded, or
 * nothing, and the recording has it. */
bool source_file_differs(const struct source *s, const struct definition_file *file);
/* Writes the bytes of such a file to path, making the directories above it. */
int source_restore(const struct source *s, const struct definition_file *file, const char *path,
    struct error *err);
void source_close(struct source *s);

#endif
