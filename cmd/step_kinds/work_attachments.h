/*
 * The attachments of a call, of agents, which ask with them, and of groups, whose bodies pass them on:
 * those of the step, and those that stand in the item's state line. They are a part of the input.
 */
#ifndef AWF_STEP_KINDS_WORK_ATTACHMENTS_H
#define AWF_STEP_KINDS_WORK_ATTACHMENTS_H

#include "formats/attachment.h"
#include "step_call/step_call.h"

/* Reads them into a, which is empty, own (NULL: none) before those of the item. What is wrong with
 * them is the call's error. */
void work_attachments_read(struct step_call *call, const struct attachments *own,
    struct attachments *a);

#endif
