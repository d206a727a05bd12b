/*
 * Loading what a step does: its agents and their prompt, or the tool of an operation.
 * All that can be wrong with definitions is said here, before any input is read.
 */
#ifndef AWF_STEP_STEP_LOAD_H
#define AWF_STEP_STEP_LOAD_H

#include "agent/team.h"
#include "base/buffer.h"
#include "base/error.h"
#include "step/step.h"

/* What the step is made of, as its user named it; NULL: not given. */
struct step_source {
	struct team_source team;
	const char *prompt;            /* text, or @FILE */
	char **attach;                 /* files; ends with NULL */
	const char *tool;              /* of an operation */
	const char *kind;              /* instead of command, agent … */
};

/* What was loaded; the step points into it. */
struct step_loaded {
	struct team team;
	struct tool operation;
	struct buffer prompt;
	struct attachments attachments;
};

/* Fills the step's kind, team and prompt, or operation, and its definition's digest.
 * ERROR_DEFINITION, ERROR_USAGE; step_unload() is called either way. */
int step_load(struct step *step, const struct step_source *source,
    struct step_loaded *loaded, struct error *err);
/* Names the files that the step is made of, for its record, which keeps them. The step is
 * in its run. */
int step_name_files(struct step *step, const struct step_source *source, struct error *err);
void step_unload(struct step *step, struct step_loaded *loaded);

#endif
