/*
 * --keep: at the end of a run those of the same name go that ended before a time. To find them all
 * runs that are stored have to be looked at. Where these are many, that is not done again after
 * each run, but once in a hundredth of the age, so that what is to go may stay that much longer.
 *
 * What was done is known by a mark, a file of the name (kept/<sha256> in the storage): what ended
 * before its mtime has gone, and its ctime is when that was found.
 */
#ifndef AWF_RUN_KEEP_H
#define AWF_RUN_KEEP_H

#include "base/error.h"

struct keep_spec {
	const char *age;     /* or a time, as it was asked for */
	const char *name;    /* of the workflow */
	const char *run_id;  /* which stays */
	void (*warn)(const struct error *warning);
};

/* As prune_runs(). */
int keep_prune(const struct keep_spec *spec, struct error *err);

#endif
