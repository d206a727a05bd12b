/*
 * A run that is being ended: awf-run has begun to cancel it, or its time is over. From
 * then on no step of it begins, nor of the runs inside of it: a process that is started by
 * one that got the signal, in a trap or by a shell that ignores it, would run until it is
 * killed.
 *
 * The mark is made before the first signal is sent. So whoever looks and does not find it
 * is there when the signals go round, and gets his.
 */
#ifndef AWF_RECORD_ENDING_H
#define AWF_RECORD_ENDING_H

#include <stdbool.h>

void ending_begin(const char *run_directory);
/* Whether the run, or one that it is inside of, is being ended. */
bool ending_begun(const char *run_directory);
/* The run of the directory is inside of the other one, which ends it when it is ended. */
void ending_inside(const char *run_directory, const char *outer_id);

#endif
