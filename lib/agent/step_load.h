/*
 * Loading what a step does: the agent file, its model, prompt and tools, or the tool
 * of an operation. All that can be wrong with definitions is said here, before any
 * input is read.
 */
#ifndef AWF_AGENT_STEP_LOAD_H
#define AWF_AGENT_STEP_LOAD_H

#include <stdint.h>

#include "agent/agent.h"
#include "agent/step.h"
#include "base/buffer.h"
#include "base/error.h"

/* What the step is made of, as its user named it; NULL: not given. */
struct step_source {
	const char *agent_file, *model;
	const char *prompt;            /* text, or @FILE */
	const char *tool;              /* of an operation */
	char **allow_tools;            /* instead of the agent's; ends with NULL */
	const char *kind;              /* instead of command, agent, operation */
	int64_t max_turns, max_tokens_total; /* -1: as the agent says */
};

/* What was loaded; the step points into it. */
struct step_loaded {
	struct agent agent;
	struct buffer prompt;
};

/* Fills the step's kind, agent, prompt and tools, and its definition's digest.
 * ERROR_DEFINITION, ERROR_USAGE; step_unload() is called either way. */
int step_load(struct step *step, const struct step_source *source,
    struct step_loaded *loaded, struct error *err);
/* Names the files that the step is made of, for its record. */
void step_name_files(struct step *step, const struct step_source *source);
void step_unload(struct step *step, struct step_loaded *loaded);

#endif
