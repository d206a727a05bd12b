/*
 * The attachments of a call of an agent, which includes them in its request, or of a group, which
 * passes them on to its bodies: those of the step, and those in the item's state line. They are a
 * part of the input.
 */
#ifndef AWF_STEP_KINDS_WORK_ATTACHMENTS_H
#define AWF_STEP_KINDS_WORK_ATTACHMENTS_H

#include "formats/attachment.h"
#include "step_call/step_call.h"

/* Reads them into a, which must be empty: first those of the step, `own` (NULL: none), then those
 * of the item. An error is that of the call. */
void work_attachments_read(struct step_call *call, const struct attachments *own,
    struct attachments *a);

#endif
