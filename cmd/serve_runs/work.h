/*
 * Work that would block the loop: it waits for locks, for the disk or for other processes, or reads
 * a whole transcript. It is done in a child process, a copy of this one (fork(2)), which sends its
 * result through a pipe. At most WORK_MOST children run at a time; work is started in the order in
 * which it came.
 *
 * What the code relies on:
 *   - The child has no descriptors of this process except the standard ones and its pipe.
 *   - Work that was started goes on if this process ends.
 */
#ifndef AWF_SERVE_RUNS_WORK_H
#define AWF_SERVE_RUNS_WORK_H

#include <stddef.h>

#include "base/error.h"
#include "httpd/loop.h"

#define WORK_MOST 16               /* children at the same time */
#define WORK_ANSWER ((size_t)4096) /* largest answer in bytes */

struct work;

struct works {
	struct loop *loop;
	struct work *first, *last;   /* in the order in which they were added */
	size_t begun;
};

void works_open(struct works *all, struct loop *loop);
/* Work that was started continues. */
void works_close(struct works *all);

/* Calls function in a child process, now or as soon as a child may be started. It gets the context
 * as it is then, and fills in an answer of size bytes. When the child has ended, done is called in
 * this process with the answer; with NULL if the child died before, or could not be started. */
struct work *work_start(struct works *all, void (*function)(void *context, void *answer),
    void *context, size_t size, void (*done)(void *context, const void *answer));
/* Forgets the work: done will not be called. If its child has not been started, it never is. */
void work_abandon(struct work *w);

#endif
