/*
 * A source: the recording of a run that is to be run again, and the files that belong to it. The
 * transcript is read once; of several attempts the last one is replayed and described here.
 *
 * A recording is in a storage: the user's, or one made by `awf-replay --export`, which also has
 * (awf-replay(1)):
 *
 *    workflow/manifest.json   marks an export, and lists its contents
 *    workflow/files/…         files of the steps, below their absolute paths
 *    workflow/config/         those of the user's configuration
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
	struct storage storage;     /* that contains it; root NULL: a file outside of a storage */
	bool own;                   /* it is in the user's storage */
	char run_id[ID_SIZE];
	char *transcript, *blobs;
	char *input;                /* its stdin; NULL: not recorded */
	char *snapshot;             /* of the workspace, its own or an outer run's; NULL */
	char *files, *config;       /* of an export; NULL: it is not one, or has none */

	/* The last attempt. */
	int attempt;
	char started[ID_SIZE];      /* event id of run.started */
	char completed[ID_SIZE];    /* of run.completed; "": the attempt did not end */
	char status[16];            /* in run.completed; "" */
	struct buffer line;         /* run.started, with its blobs inserted */
	struct span payload, parent; /* in line: its payload, and the run that it was started in */
	char *name, *kind;
	char **argv;                /* NULL-terminated */
	char *workspace;            /* working directory at its start */
	char *directory;            /* of the workflow */
	char workflow_sha256[DIGEST_SIZE]; /* "": no script */
	char *script;               /* as run.started names it; NULL: it does not */
	bool contained;             /* the recording contains the files of the run and its steps */

	/* Of all attempts. */
	struct definition_files definitions; /* that the run and its steps are made of; as the
	                               last attempt had them first */
	char **providers;           /* as PROVIDER_RECORDED has them; those unknown are the
	                               last attempt's; NULL: none */
	struct buffer endpoints;    /* members of PROVIDER_RECORDED_ENDPOINTS, commas between */
	struct child_runs children;
};

/* argument: RUN as for storage_resolve(), or the directory of a storage, whose latest run is used.
 * ERROR_USAGE if there is no such run, it is alive, masked, or cannot be replayed for another
 * reason; ERROR_SYSTEM if it or its input cannot be read; ERROR_SCHEMA if it is not a transcript.
 * Call source_close() in all cases. */
int source_open(struct source *s, const struct storage *storage, const char *argument,
    struct error *err);
/* The same for a child, whose transcript is beside its parent's. ERROR_USAGE also if it has no
 * transcript. */
int source_open_child(struct source *s, const struct source *parent, const char *run_id,
    struct error *err);
/* Maps a recorded path into the snapshot or the export; otherwise returns it unchanged. To be freed
 * by the caller. */
char *source_file(const struct source *s, const char *path);
/* The path in the export of a recorded path, if it is there: never through a link out of the
 * export. Otherwise NULL; to be freed by the caller. */
char *source_exported(const struct source *s, const char *path);
/* The workflow's script: the word of argv whose file has its digest, as a recorded absolute path,
 * to be freed by the caller; NULL if there is none (any more). */
char *source_script(const struct source *s);
/* Whether there is none although the workflow was a script. */
bool source_script_lost(const struct source *s);
/* From now on the recorded files are not used, but the current ones. */
void source_forget_files(struct source *s);
/* Whether the file that a replay finds at the path is missing or differs, and the
 * recording has it. */
bool source_file_differs(const struct source *s, const struct definition_file *file);
/* Writes such a file to path, making the directories above it. */
int source_restore(const struct source *s, const struct definition_file *file, const char *path,
    struct error *err);
void source_close(struct source *s);

#endif
