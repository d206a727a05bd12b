/* awf-ctl approve, deny, complete, heartbeat: decisions about a call that waits. */
#ifndef AWF_CTL_DECIDE_H
#define AWF_CTL_DECIDE_H

#include <stdbool.h>

#include "base/error.h"
#include "decide/decision.h"

struct decide_spec {
	enum decision_verdict verdict;
	const char *path;        /* of the call, or the token of its task */
	const char *run;         /* the run; NULL: that of the token, otherwise @ */
	const char *reason;      /* NULL */
	const char *seal_file;   /* NULL: the user's key */
	bool seal;               /* it must be signed */
	bool edit;               /* approval: stdin replaces the data; otherwise stdin
	                            is not read */
	bool always;             /* approval: of a tool, for all of the run */
	bool no_input;           /* completion: the result is null, and stdin is not read */
};

/* Records the decision. -1 with *err; ERROR_BLOCKED: the call no longer waits. */
/* Sends standard input as a text to the agent of a call (decide/telling.h). */
int decide_tell_call(const struct decide_spec *spec, struct error *err);
int decide_waiting_call(const struct decide_spec *spec, struct error *err);

#endif
