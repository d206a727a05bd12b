/*
 * A keeper is the process that sets up namespaces, starts a program in them, and waits for it. It
 * reports the end through a pipe to the process outside; if nothing arrives, the keeper was
 * killed.
 */
#ifndef AWF_ISOLATE_KEEPER_H
#define AWF_ISOLATE_KEEPER_H

#include <stdbool.h>

#include "base/error.h"

/* Smaller than PIPE_BUF, so it is written completely or not at all. */
struct keeper_report {
	enum {
		KEEPER_KILLED,
		KEEPER_NO_NAMESPACES, /* nothing was run; error says why */
		KEEPER_REFUSED,       /* nothing was run; error says what the system refused, and
		                         why */
		KEEPER_ENDED          /* the program has ended, with wait_status */
	} what;
	int wait_status;
	struct error error;
};

/* Send a report and exit. */
_Noreturn void keeper_tell(int fd, const struct keeper_report *r);
_Noreturn void keeper_refuse(int fd, const struct error *err);
/* Waits for the report. Returns false if there is none. */
bool keeper_hear(int fd, struct keeper_report *r);

#endif
