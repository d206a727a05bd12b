/*
 * What somebody decides about a call that waits: awf-ctl approve, deny, complete, heartbeat.
 */
#ifndef AWF_CTL_DECIDE_H
#define AWF_CTL_DECIDE_H

#include <stdbool.h>

#include "base/error.h"
#include "decide/decision.h"

struct decide_spec {
	enum decision_verdict verdict;
	const char *path;        /* of the call, or the token of its task */
	const char *run;         /* RUN; NULL: that of the token, else @ */
	const char *reason;      /* NULL */
	const char *seal_file;   /* NULL: the user's */
	bool seal;               /* it has to be signed */
	bool edit;               /* of an approval: stdin replaces the data; else it is not read */
	bool no_input;           /* of a completion: its result is null, stdin is not read */
};

/* Records the decision. -1 with *err; ERROR_BLOCKED: the call waits no more. */
int decide_waiting_call(const struct decide_spec *spec, struct error *err);

#endif
