/*
 * Tells an agent something while it works: a message of the user that it reads before its next
 * request to its model (storage/mailbox.h). An agent that waits, or whose run was killed, reads it
 * when its run goes on.
 */
#ifndef AWF_DECIDE_TELLING_H
#define AWF_DECIDE_TELLING_H

#include <sys/types.h>

#include "base/error.h"
#include "decide/deciding.h"
#include "json/scan.h"
#include "storage/storage.h"

struct telling {
	const char *run_id, *call; /* the call by its id, or by the path of its step */
	struct span text;          /* bytes */
	const char *by;
	pid_t asker;               /* as for deciding_allowed() */
};

struct telling_outcome {
	char *call;                /* its id, to be freed */
	enum deciding_next next;   /* NEXT_AT_ONCE: it is at work */
	/* Refused, since */
	bool forbidden;            /* the process that asks is part of the run */
	bool unknown;              /* there is no such call */
};

/* ERROR_USAGE: there is no such call, or several; it is no agent's; the run is masked or recorded
 * elsewhere; the text is empty, too long or not UTF-8. ERROR_BLOCKED: the call has ended. */
int telling_send(const struct storage *s, const struct telling *t, struct telling_outcome *o,
    struct error *err);

#endif
