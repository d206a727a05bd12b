/*
 * Who has cancelled a run: a file in its directory, which says so before the signal comes. A
 * signal without it came from a system that goes down, a terminal, cron: `awf-run --continue`
 * goes on with such a run, but not with one that somebody has cancelled.
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
