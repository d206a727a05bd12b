/*
 * The commands that awf-run executes when a run has ended and its end is recorded: --on-complete,
 * --on-failure, and that of the user's config, notify. They do not change the run's result.
 */
#ifndef AWF_RUN_NOTICE_H
#define AWF_RUN_NOTICE_H

#include "base/buffer.h"
#include "base/error.h"
#include "run/settings.h"
#include "start/conclusion.h"
#include "storage/run.h"

/* Whether one of these commands may be executed. */
bool notice_wanted(const struct settings *s);
/* Writes the summary of a run as JSON on one line; cost as in model/cost.h. */
void notice_write(struct buffer *out, const struct run *run, const struct conclusion *e,
    const struct outcome *outcome, int64_t cost);
/* Executes the command for this kind of end, if there is one, with the summary on stdin; out is its
 * stdout (a descriptor or PROCESS_…). Processes that it leaves behind are ended. Returns -1 with
 * *err (place: the option), which the caller prints as a warning. */
int notice_send(const struct settings *s, const struct conclusion *e,
    const struct buffer *summary, int out, char *const *environment, struct error *err);

/* What the user's config says: notify, notify_on. */
struct notify {
	char *command;        /* NULL: none */
	bool failed, success, waiting; /* which ends it is told */
};
/* -1: the config is wrong, and nobody is told. notify_free() is called either way. */
int notify_read(struct notify *n, struct error *err);
/* Whether it is told of an end with this status. */
bool notify_wants(const struct notify *n, const char *status);
/* Executes the command with the summary on stdin and stderr as its stdout. -1 as notice_send(). */
int notify_send(const struct notify *n, const struct buffer *summary, char *const *environment,
    struct error *err);
void notify_free(struct notify *n);

#endif
