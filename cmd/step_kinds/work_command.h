/*
 * Running a command, for all kinds of work that do so: in tries, with the item on stdin. What a
 * kind does in addition (run it elsewhere, record its requests to models) is done before and
 * after each try.
 */
#ifndef AWF_STEP_KINDS_WORK_COMMAND_H
#define AWF_STEP_KINDS_WORK_COMMAND_H

#include <stdbool.h>

#include "base/error.h"
#include "json/writer.h"
#include "proc/subprocess.h"
#include "step_call/step_call.h"
#include "step_call/step_files.h"

struct command_try {
	struct step_call *call;
	struct subprocess process;
	bool sandboxed;
	char **passed;               /* variables that are passed into its sandbox; a list */
};

/* What is done before and after each try. */
struct command_hooks {
	void *context;
	/* Before the command is started; if this sets an error in try->process, it is not
	 * started. */
	void (*prepare)(void *context, struct command_try *try);
	/* After it has ended, before its output is used. */
	void (*ended)(void *context, struct command_try *try);
	/* After the outcome is the call's end. Returns result (-1: a system error), or another
	 * value. */
	int (*settle)(void *context, struct command_try *try, int result, struct error *err);
};

/* Runs the command (options.command) of a call, in tries; hooks NULL: none. repeats: as in
 * step_try(). -1: a system error. */
int command_run(struct step_call *call, const struct command_hooks *hooks, int repeats,
    struct error *err);

/* Functions for the rows of kinds that run a command. */
int command_load(struct step *s, struct error *err);
void command_define(const struct step *s, struct writer *w);
void command_files(const struct step *s, struct step_files *f);
int command_describe(struct step *s, const struct item *item, struct buffer *out, struct error *err);
void command_label(const struct step *s, struct buffer *out);
void command_judge(const struct step *s, struct call_verdict *v);
void command_record_work(const struct step_call *call, struct writer *w);
void command_record_place(const struct step_call *call, struct writer *w);

#endif
