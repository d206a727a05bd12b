/*
 * The workflow of a run: which program executes what the user named. A name with a slash, or of a
 * readable file, is a script, executed by the interpreter in its #! line, or by the shell if it has
 * none or names awf-run. A binary is executed itself. Anything else is looked up in PATH. Inside of
 * a run a relative path that does not exist is taken relative to the directory of the outer
 * workflow, as for agents.
 */
#ifndef AWF_RUN_RESUME_WORKFLOW_H
#define AWF_RUN_RESUME_WORKFLOW_H

#include <stdbool.h>

#include "base/digest.h"
#include "base/error.h"

struct workflow {
	char **argv;              /* what is started; ends with NULL */
	int script;               /* index of the script in argv; -1: none */
	char *name;               /* base name; "pipeline" for a pipeline */
	char *directory;          /* absolute: of the script, otherwise the current one */
	char sha256[DIGEST_SIZE]; /* of the script or the pipeline; "": it is a program */
	char **ignored;           /* variables that no call depends on: words of its first lines "#
	                             awf: ignore-env: NAME..."; NULL-terminated; NULL: none */
	char **kept;              /* variables that are recorded and kept by resumes: "# awf: env:
	                             NAME..."; likewise */
	bool by_itself;           /* "# awf: resume: auto": it may be resumed without anybody's doing */
	char **doubts;            /* warnings of lines "# awf: WORD:" that mean nothing; likewise */
	bool elsewhere;           /* it was not found in the outer workflow's directory either */
};

/* words: the name and its arguments, NULL-terminated, at least one. around: directory of the outer
 * workflow; NULL: none. */
int workflow_find(struct workflow *w, char *const *words, const char *shell, const char *around,
    struct error *err);
/* `shell -c pipeline`; words are its $1, $2, … */
int workflow_pipeline(struct workflow *w, const char *pipeline, char *const *words,
    const char *shell, struct error *err);
/* Makes relative paths of the script and its interpreter in argv absolute: for a workflow that is
 * started in another directory. */
int workflow_pin(struct workflow *w, struct error *err);
/* Finds the workflow of a recorded run as it is now; its script may have changed. recorded:
 * argv, directory, sha256 and name, which stay the caller's. ERROR_USAGE if the script no
 * longer exists. */
int workflow_again(struct workflow *w, const struct workflow *recorded, struct error *err);
/* Prints the doubts. */
void workflow_warn(const struct workflow *w);
void workflow_free(struct workflow *w);

#endif
