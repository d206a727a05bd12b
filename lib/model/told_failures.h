/*
 * The failures that the steps of a run have printed, counted by kind (base/folded_messages.h)
 * over all of its processes: of 30 that xargs or a loop has started the first three print, and
 * the owner of the run says how many more there were.
 *
 *     runs/<id>/failures   a line for each kind: COUNT TEXT
 *
 * A step appends and counts under a lock on the file; only who reports a failure opens it. Where
 * it cannot be kept, each failure is printed.
 */
#ifndef AWF_MODEL_TOLD_FAILURES_H
#define AWF_MODEL_TOLD_FAILURES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Counts a failure that is told as text, one line without what is of this item alone. Whether it
 * is to be printed. */
bool told_failures_add(const char *run_directory, const char *text);
/* Calls each for every kind of which some were not printed, in the order in which they came: the
 * text, and how many were not. Text NULL: those of too many other kinds. */
void told_failures_read(const char *run_directory,
    void (*each)(void *context, const char *text, size_t more), void *context);
/* Appends what is said of one of these: "TEXT … and 27 more like it". */
void told_failures_line(struct buffer *out, const char *text, size_t more);

#endif
