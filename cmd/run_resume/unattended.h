/*
 * Resuming a run without anybody's doing (awf-run --auto-resume --resume): what awf-worker --resumer
 * does. It has to hold that the run's script or who started it allows that; that something has come
 * for which the run waits; and that what runs is what ran: no recorded file has changed, and the
 * variables that the workflow's text names have the values with which the run was started.
 */
#ifndef AWF_RUN_RESUME_UNATTENDED_H
#define AWF_RUN_RESUME_UNATTENDED_H

#include "base/error.h"
#include "run_resume/resume.h"

/* Gives this process the recorded variables (PATH, LANG, TZ, --env) that the run was started with.
 * ERROR_BLOCKED: the run does not allow to be resumed so. */
int unattended_begin(const struct resume *r, struct error *err);
/* After the run's history was built, with the run's lock held. Reads the options of the latest attempt,
 * which hold again, into the settings. ERROR_WAITING: nothing has come yet;
 * ERROR_BLOCKED: it must not be resumed so, and the message says what to do. */
int unattended_check(struct resume *r, const struct storage *s, struct error *err);

#endif
