/*
 * The filter process of awf-run --mask: a shell command that masks secrets in events.
 * transcript/redaction.h describes its input and output.
 *
 * What the code relies on, and keeps:
 *   - Each process that appends to the transcript has a filter of its own, started with its first
 *     event; a child made by fork() starts another.
 *   - After each line that is sent to the filter, its answer is read before anything else is done.
 *     A filter that exits, is late or writes more is killed, and every later event of the process
 *     fails: nothing is written unmasked.
 *   - The filter survives the signals that cancel a run, so that the ends of cancelled calls can
 *     still be masked: it ignores them, has a process group of its own, and is not ended with the
 *     other descendants. It ends at the end of its input.
 *   - Its command is in the environment of the run's processes, never in the storage. The run's
 *     directory has a digest of it (storage/run.h).
 */
#ifndef AWF_STORAGE_REDACTOR_H
#define AWF_STORAGE_REDACTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"
#include "proc/environment.h"
#include "proc/peer.h"
#include "storage/run.h"
#include "transcript/redaction.h"

#define REDACTOR_COMMAND "AWF_MASK"
#define REDACTOR_DIRECTORY "AWF_MASK_DIR"

struct redactor {
	struct redaction redaction;  /* for run_create(), after which it is used by the run */
	char *command;           /* NULL: no filter */
	char *directory;         /* directory in which it runs: that in which awf-run was started */
	char *program;           /* directory, LF, command: distinguishes this filter from others */
	struct environment environment;
	struct peer filter;
	pid_t owner;             /* pid of the process that started it; 0: not started */
	struct error broken;     /* why every further event fails; ERROR_NONE: the filter works */
};

/* Sets the filter of a new run: command, otherwise $AWF_MASK (NULL or "": none). If its first
 * word is NAME and AWF's own directory has awf-mask-NAME, that is used. Inside of a masked
 * run the filter of that run is used, and no other. ERROR_USAGE, ERROR_SYSTEM; free r
 * whatever the result. */
int redactor_open(struct redactor *r, const char *command, struct error *err);
/* Sets the filter of a run that was entered by run_enter(), if the run is masked. */
int redactor_join(struct redactor *r, struct run *run, struct error *err);
/* Sets the environment of the filter, instead of that of this process. */
void redactor_environment(struct redactor *r, const struct environment *e);
/* Sets the variables in which processes of the run find the filter's command. */
void redactor_export(const struct redactor *r, struct environment *e);
/* The filter for run_spec; NULL: none. */
struct redaction *redactor_redaction(struct redactor *r);
void redactor_free(struct redactor *r);

#endif
