/*
 * Work that would block the loop: it waits for locks, for the disk or for other processes, or reads
 * a whole transcript. It is done in a child process, a copy of this one (fork(2)), which sends its
 * result through a pipe. At most WORK_MOST children run at a time; work is started in the order in
 * which it came.
 *
 * What the code relies on:
 *   - The child has no descriptors of this process except the standard ones and its pipe.
 *   - Work that was started is not affected by the end of this process.
 */
#ifndef AWF_SERVE_RUNS_WORK_H
#define AWF_SERVE_RUNS_WORK_H

#include <stddef.h>

#include "base/error.h"
#include "httpd/loop.h"

#define WORK_MOST 16               /* at a time */
#define WORK_ANSWER ((size_t)4096) /* bytes of an answer, at most */

struct work;

struct works {
	struct loop *loop;
	struct work *first, *last;   /* in the order in which they came */
	size_t begun;
};

void works_open(struct works *all, struct loop *loop);
/* Work that was started continues. */
void works_close(struct works *all);

/* Begins it, now or when it is its turn: function is called over there, with the context as it is
 * then, and fills in an answer of size bytes. done is called here when it has ended; answer NULL:
 * it has died before, or could not be begun. */
struct work *work_start(struct works *all, void (*function)(void *context, void *answer),
    void *context, size_t size, void (*done)(void *context, const void *answer));
/* done will not be called. Work that was started continues; otherwise it is never started. */
void work_abandon(struct work *w);

#endif
