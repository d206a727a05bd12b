/*
 * The workflow of a run: which program executes what the user named. A name with
 * a slash, or of a readable file, is a script, run by the interpreter in its #!
 * line, or by the shell if it has none or names awf-run; a binary runs as it is;
 * anything else is looked up in PATH. Inside of a run a relative name that is not there
 * is taken from the directory of the workflow around it, as agents are.
 */
#ifndef AWF_RUN_RESUME_WORKFLOW_H
#define AWF_RUN_RESUME_WORKFLOW_H

#include <stdbool.h>

#include "base/digest.h"
#include "base/error.h"

struct workflow {
	char **argv;              /* what is started; ends with NULL */
	int script;               /* index in argv of the file that is the script; -1: none */
	char *name;               /* base name; "pipeline" for a pipeline */
	char *directory;          /* absolute, of the script, else the current one */
	char sha256[DIGEST_SIZE]; /* of the script or the pipeline; "": a program */
	char **ignored;           /* variables that no call depends on: the words of its first lines
	                             "# awf: ignore-env: NAME..."; ends with NULL; NULL: none */
	bool elsewhere;           /* it was looked for around, too, and is not there */
};

/* words: the name and its arguments, ends with NULL, at least one. around: the directory of
 * the workflow around it; NULL: none. */
int workflow_find(struct workflow *w, char *const *words, const char *shell, const char *around,
    struct error *err);
/* `shell -c pipeline`; words are its $1, $2, … */
int workflow_pipeline(struct workflow *w, const char *pipeline, char *const *words,
    const char *shell, struct error *err);
/* Makes relative paths in argv, to the script and what runs it, absolute: for a
 * workflow that starts in another directory. */
int workflow_pin(struct workflow *w, struct error *err);
/* The workflow of a recorded run, as it is today: its script may have changed since.
 * recorded has what is known of it: argv, directory, sha256, name (all of it stays the
 * caller's). ERROR_USAGE if there is no such script any more. */
int workflow_again(struct workflow *w, const struct workflow *recorded, struct error *err);
void workflow_free(struct workflow *w);

#endif
