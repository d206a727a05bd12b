/*
 * --keep: when a run ends, removes earlier runs of the same name that ended before a time. Finding
 * them means looking at every stored run. If there are many, it is done at most once in 1/100 of
 * the age, so runs may be kept that much longer. A mark file for each name (kept/<sha256> in the
 * storage) records the last search: runs that ended before its mtime are removed, and its ctime is
 * the time of the search.
 */
#ifndef AWF_RUN_KEEP_H
#define AWF_RUN_KEEP_H

#include "base/error.h"

struct keep_spec {
	const char *age;     /* an age, or a time, as given by the user */
	const char *name;    /* name of the workflow */
	const char *run_id;  /* this run, which is not removed */
	void (*warn)(const struct error *warning);
};

/* Returns as prune_runs() does. */
int keep_prune(const struct keep_spec *spec, struct error *err);

#endif
