/*
 * Marks a run that is being ended, because it was cancelled or its time is over. From then on no
 * step of it, or of a run inside it, starts: a process started in a trap, or by a shell that
 * ignores the signal, would otherwise run until it is killed.
 *
 * A call whose subprocess is being ended (its time is over, or it is a branch that is not needed
 * any more) is marked in the same way, until all its processes have ended, as the call may be
 * tried again.
 *
 * The mark is made before the first signal is sent. So a process that does not find the mark
 * exists already when the signals are sent, and gets one.
 */
#ifndef AWF_PROC_ENDING_H
#define AWF_PROC_ENDING_H

#define ENDING_DEPTH 16 /* runs inside of one at top level; storage/lineage.h refuses more */

void ending_begin(const char *run_directory);
void ending_begin_call(const char *run_directory, const char *call);
void ending_over(const char *run_directory, const char *call);
/* What is being ended, for messages: the run, an outer run, or an enclosing call of this process
 * ($AWF_CALL); NULL: nothing. */
const char *ending_begun(const char *run_directory);
/* Records that the run of the directory is inside of an outer run, whose end ends it too. */
void ending_inside(const char *run_directory, const char *outer_id);

#endif
