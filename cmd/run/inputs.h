/*
 * Named inputs of a run (awf-run --input KEY=VALUE), kept as a NULL-terminated list of texts
 * (base/list.h). run.started records them as an object; steps find them in their environment as
 * AWF_INPUT_KEY.
 */
#ifndef AWF_RUN_INPUTS_H
#define AWF_RUN_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "proc/environment.h"

/* Adds an input. ERROR_USAGE with the place --input if the text is not KEY=VALUE or the
 * key exists. */
int inputs_add(char ***inputs, const char *text, struct error *err);
/* Adds those inputs of others whose keys are not in the list yet. */
void inputs_complete(char ***inputs, char *const *others);
/* Appends the inputs as a JSON object. */
void inputs_write(char *const *inputs, struct buffer *json);
/* Sets the variables AWF_INPUT_…, and removes those of an outer run. */
void inputs_export(char *const *inputs, struct environment *e);

#endif
