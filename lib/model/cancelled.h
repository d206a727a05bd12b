/*
 * Who has cancelled a run: a file in the run's directory, written before the signal is sent. A
 * signal without this file came from a shutdown of the system, a terminal or cron: `awf-run
 * --continue` resumes such a run, but not one that a user has cancelled.
 */
#ifndef AWF_MODEL_CANCELLED_H
#define AWF_MODEL_CANCELLED_H

/* Where it cannot be written the signal says all. */
void cancelled_note(const char *run_directory, const char *by);
/* No signal came of it. */
void cancelled_forget(const char *run_directory);
/* In memory of its own; NULL: nobody has. */
char *cancelled_by(const char *run_directory);

#endif
