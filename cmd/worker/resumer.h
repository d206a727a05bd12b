/*
 * The resumer of a storage (awf-worker --resumer): goes on with the runs that allow that without
 * anybody's doing (storage/resumes.h), when something has come for which they wait (decide/due.h).
 * It starts awf-run --auto-resume --resume, which checks everything again with the run's lock held.
 *
 * What the code relies on, and keeps:
 *   - One resumer works for a storage; others wait until its lock is free.
 *   - It keeps nothing in memory that another one could not read again: failures are in the file of
 *     the run. After three a run is left to a person, until something else is decided about it.
 */
#ifndef AWF_WORKER_RESUMER_H
#define AWF_WORKER_RESUMER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "proc/interrupts.h"
#include "storage/storage.h"

struct resumer_spec {
	const struct storage *storage;
	size_t most;             /* runs at a time */
	bool once;               /* end when nothing is due */
	int parent;              /* end when the other end of this descriptor is closed; -1: none */
	const struct interrupts *interrupts;
	/* One line for each run that was resumed: its id, and its status now, or why not. */
	void (*told)(const char *run_id, const char *status);
	void (*warn)(const struct error *err);
};
/* Works until a signal comes, or nothing is due (once). -1: the storage cannot be read. */
int resumer_run(const struct resumer_spec *spec, struct error *err);

#endif
