/*
 * Whether a child run is given what it was given when it was recorded: the same bytes, or
 * state lines with the same data, whose ids, times and tokens each attempt makes anew.
 */
#ifndef AWF_RUN_RESUME_SAME_INPUT_H
#define AWF_RUN_RESUME_SAME_INPUT_H

#include <stdbool.h>

#include "base/error.h"
#include "json/scan.h"
#include "storage/storage.h"

/* What a child run is given on stdin, beside what was kept for a recorded one, as far as it has come. */
enum input_fit {
	INPUT_OTHER = -1,
	INPUT_UNKNOWN, /* nothing has come, or nothing of it can be compared */
	INPUT_SAME     /* neither has what the other has not, or what has come is how the other begins */
};
/* Nothing is taken from input: of a pipe or socket the first 64 KiB are looked at where they lie. input: -1
 * for nothing; directory: one to write to; wait_ms: for the first bytes, and for as many as were kept. */
enum input_fit input_compare_begin(const struct storage *s, const char *run_id, const char *directory,
    int input, int wait_ms);

/* s: where the recorded input lies; directory: one to write to.
 * recorded: what the end of its call says of its stdin; absent if that was not kept.
 * *input: what it is given now, -1 for nothing. A pipe is read to its end, and *input is a
 * file then that holds what was read. What was kept in part alone is never the same.
 * ERROR_SYSTEM; ERROR_CANCELLED by a signal that is held. */
int same_input(const struct storage *s, const char *run_id, const char *directory,
    struct span recorded, int *input, bool *same, struct error *err);

#endif
