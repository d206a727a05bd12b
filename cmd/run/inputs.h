/*
 * The named inputs of a run: KEY=VALUE texts (a list as argv is, base/list.h), which
 * awf-run --input takes, run.started records as an object, and its steps find in their
 * environment as AWF_INPUT_KEY.
 */
#ifndef AWF_RUN_INPUTS_H
#define AWF_RUN_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "proc/environment.h"

/* Adds an input; ERROR_USAGE at --input if it is none, or is there already. */
int inputs_add(char ***inputs, const char *text, struct error *err);
/* Adds those of the others whose keys are not there. */
void inputs_complete(char ***inputs, char *const *others);
/* Appends the object. */
void inputs_write(char *const *inputs, struct buffer *json);
/* Sets them; those of a run around this one are not ours. */
void inputs_export(char *const *inputs, struct environment *e);

#endif
