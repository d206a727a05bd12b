/*
 * What steps have made, as the transcript knows: how many state lines each process has
 * printed, by the recorded ends of its calls. A stream that lost some on its way (a link
 * that was cut) ends like any other; who counts what came finds out here.
 *
 * A line that another of these makers has taken as its input, and not only passed on, is
 * not expected any more.
 */
#ifndef AWF_RECORD_MADE_H
#define AWF_RECORD_MADE_H

#include <stddef.h>

#include "base/error.h"

struct maker {
	char *process;       /* "ENCLOSING/NAME:OCCURRENCE" */
	long long came;      /* lines of it that were read */
};

/* Who is expected to have been read whole: those in the list (which is grown by who has
 * one of the paths), all in the call "enclosing" of the last attempt. */
struct made {
	const char *enclosing;
	char *const *paths;  /* dotted, of steps; ends with NULL; may be NULL */
	struct maker *makers;
	size_t count;
};

/* A line of a call in the enclosing one, or in one of its calls, has come; others do not
 * count. */
void made_came(struct made *m, const char *call);
/* 0: all of what they made has come, or was taken by another of them. -1 with
 * ERROR_UPSTREAM_INCOMPLETE, or ERROR_SYSTEM. */
int made_check(struct made *m, const char *transcript, struct error *err);
void made_free(struct made *m);

#endif
