/*
 * What awf-run does when a run has ended and its end is recorded: --on-complete and
 * --on-failure are told. Nothing of it changes what the run came to.
 */
#ifndef AWF_RUN_NOTICE_H
#define AWF_RUN_NOTICE_H

#include "base/buffer.h"
#include "base/error.h"
#include "run/settings.h"
#include "start/conclusion.h"
#include "storage/run.h"

/* Whether somebody may want to be told. */
bool notice_wanted(const struct settings *s);
/* The summary of a run, as JSON on one line; cost as in model/cost.h. */
void notice_write(struct buffer *out, const struct run *run, const struct conclusion *e,
    const struct outcome *outcome, int64_t cost);
/* Tells it to the command that wants to know of such an end, if there is one; place is
 * the option. Its stdout is out, a descriptor or PROCESS_…; what it leaves running is
 * ended. Whatever goes wrong with it is for a warning. -1 with *err. */
int notice_send(const struct settings *s, const struct conclusion *e,
    const struct buffer *summary, int out, char *const *environment, struct error *err);

#endif
