/*
 * A run that is being ended: awf-run has begun to cancel it, or its time is over. From
 * then on no step of it begins, nor of the runs inside of it: a process that is started by
 * one that got the signal, in a trap or by a shell that ignores it, would run until it is
 * killed.
 *
 * Likewise a call of which the subprocess is being ended: its time is over, or it is a branch that
 * is not needed any more. That is over when nothing is left of it, as the call may be
 * tried again.
 *
 * The mark is made before the first signal is sent. So whoever looks and does not find it
 * is there when the signals go round, and gets his.
 */
#ifndef AWF_PROC_ENDING_H
#define AWF_PROC_ENDING_H

#define ENDING_DEPTH 16 /* runs inside of one at top level; storage/lineage.h refuses more */

void ending_begin(const char *run_directory);
void ending_begin_call(const char *run_directory, const char *call);
void ending_over(const char *run_directory, const char *call);
/* What is being ended, for messages: the run, one that it is inside of, or a call around this
 * process ($AWF_CALL); NULL: nothing. */
const char *ending_begun(const char *run_directory);
/* The run of the directory is inside of the other one, which ends it when it is ended. */
void ending_inside(const char *run_directory, const char *outer_id);

#endif
