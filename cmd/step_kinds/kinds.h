/* The table of the kinds of work (step_call/work.h); each is in a file here. */
#ifndef AWF_STEP_KINDS_KINDS_H
#define AWF_STEP_KINDS_KINDS_H

#include "base/error.h"
#include "step_call/step.h"
#include "step_call/step_options.h"
#include "step_call/work.h"

/* The rows. */
#define WORK_DECLARE(name) extern const struct work work_##name;
WORKS(WORK_DECLARE)
#undef WORK_DECLARE

/* The row for the kind of work that the options ask for. */
const struct work *work_find(const struct step_options *o);
/* Finds the kind of work by the options, loads the definition, and computes its digest.
 * ERROR_DEFINITION, ERROR_USAGE; step_unload() must be called in both cases. */
int step_load(struct step *s, struct error *err);

/* Options for agents, also for those in steps inside this one (work_agent.c): --trust and
 * --known-end, called when they are read. ERROR_USAGE. */
int work_read_trust(const char *digests, struct error *err);
int work_read_known_end(const char *text, struct error *err);
/* The default model: *model, allocated, or NULL if there is none, and *place, where it is
 * configured. -1: the config cannot be read. */
int work_default_model(char **model, const char **place, struct error *err);

#endif
