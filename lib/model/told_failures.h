/*
 * The failures that the steps of a run have printed, counted by kind (base/folded_messages.h)
 * across all processes of the run. If xargs or a loop starts 30 steps that fail alike, the first
 * three print the failure, and the owner of the run prints how many more there were.
 *
 *     runs/<id>/failures   a line for each kind: COUNT TEXT
 *
 * A step counts under a lock on the file, which is opened only to report a failure. If the file
 * cannot be used, each failure is printed.
 */
#ifndef AWF_MODEL_TOLD_FAILURES_H
#define AWF_MODEL_TOLD_FAILURES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Counts a failure by its text: one line without the parts that differ by item. Returns whether the
 * failure is to be printed. */
bool told_failures_add(const char *run_directory, const char *text);
/* Calls `each` for every kind with failures that were not printed, in the order in which the kinds
 * appeared: its text, and how many were not printed. Text NULL: failures of too many other
 * kinds. */
void told_failures_read(const char *run_directory,
    void (*each)(void *context, const char *text, size_t more), void *context);
/* Appends the message for one of these: "TEXT … and 27 more like it". */
void told_failures_line(struct buffer *out, const char *text, size_t more);

#endif
