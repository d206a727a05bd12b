/*
 * The jobs of a worker that wait: when something has come for which the run of one waits, its job goes
 * back to running/, where a worker resumes the run.
 */
#ifndef AWF_WORKER_WAKER_H
#define AWF_WORKER_WAKER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "storage/storage.h"
#include "worker/job.h"

/* What was found out about a job that waits. */
struct waking {
	char run_id[ID_SIZE];
	int64_t size;            /* of the transcript, when it was read */
	int64_t next;            /* the next time that the run waits for, µs since 1970; 0: none */
	bool due;                /* something that it waits for has come; if its job cannot be moved, as
	                            another of that name runs, that is tried again */
	bool woken;              /* its job was moved: not again until the transcript grows, as its run
	                            could not be resumed */
	bool there;
};

struct waker {
	struct waking *list;
	size_t count;
};

/* Looks at all jobs that wait, and moves those whose runs go on. Returns how many there are; -1:
 * *err. */
int waker_look(struct waker *w, const struct spool *spool, const struct storage *s, struct error *err);
void waker_free(struct waker *w);

#endif
