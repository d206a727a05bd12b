/*
 * What came of a call that was made in a worker (cmd/step/workers.h), on its way back.
 */
#ifndef AWF_STEP_ANSWER_H
#define AWF_STEP_ANSWER_H

#include "base/buffer.h"
#include "base/error.h"
#include "step/step.h"

/* Appends the result of a call that was made, or why it failed; NULL: it did not. */
void answer_pack(struct buffer *answer, const struct step_result *result,
    const struct error *broken);
/* Takes the result out of a whole answer; -1: the call failed, with *err. result is as
 * step_result_clear() leaves it, or zeroed. */
int answer_unpack(const struct buffer *answer, struct step_result *result, struct error *err);
/* What the call in a whole answer failed with; ERROR_NONE: it succeeded. */
enum error_code answer_code(const struct buffer *answer);

#endif
