/*
 * The model traffic of a command (awf-step --models): a proxy of its own stands between it and the
 * APIs for as long as its call lasts (awf-models-proxy(1)). What the proxy tells is recorded here:
 * a generation as a message of the user and one of the assistant, anything else as a call of a
 * tool, each with what was asked and answered, byte for byte.
 *
 *   - What was answered is recorded, and on disk, before the command has the end of it.
 *   - A resume answers what is recorded from there, and goes on with the API; a replay has the
 *     record alone, and what it lacks is a divergence.
 *   - Events hang on the start of the call, each answer on its request, and the end of the call on
 *     all of them, in the order of the requests: so causes do not depend on timing.
 */
#ifndef AWF_STEP_MODELS_H
#define AWF_STEP_MODELS_H

#include <stdbool.h>

#include "base/error.h"
#include "proc/subprocess.h"
#include "step/step_call.h"

struct models;

/* Starts the proxy for a command's call, and sets the command's environment. NULL: *err, and the
 * machine failed. */
struct models *models_begin(struct step_call *call, struct error *err);
/* Has it served beside the command, whose stderr is to tell nothing of its token. */
void models_attach(struct models *m, struct subprocess *process);
void models_hide(const struct models *m, struct subprocess *process);
/* The command has ended: waits for what it has left under way. What the traffic came to may be
 * what the call fails with. -1: the machine failed. */
int models_settle(struct models *m, struct error *error, struct error *err);
/* Ends the proxy, and has the call's end follow the answers. */
void models_end(struct models *m);

/* In a replay, records once more what the traffic of a call was that is not made again. */
int models_repeat(struct step_call *call, struct error *err);

#endif
