/*
 * Who has cancelled a run: the file "cancelled" in the run's directory, which has that name in it
 * and is written before the signal is sent. A signal without this file came from a shutdown of the
 * system, a terminal or cron: `awf-run --continue` resumes such a run, but not one that a user has
 * cancelled.
 */
#ifndef AWF_MODEL_CANCELLED_H
#define AWF_MODEL_CANCELLED_H

/* Writes the name. Errors are ignored: then only the signal tells that the run was cancelled. */
void cancelled_note(const char *run_directory, const char *by);
/* Removes the file, if no signal was sent after all. */
void cancelled_forget(const char *run_directory);
/* The name, allocated; NULL: nobody has cancelled the run. */
char *cancelled_by(const char *run_directory);

#endif
