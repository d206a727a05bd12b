/*
 * Work that would hold up the loop: what waits for locks, for the disk, for other processes, or
 * reads all of a transcript. It is done by a process of its own, a copy of this one (fork(2)),
 * whose answer comes through a pipe; the loop goes on meanwhile. At most WORK_MOST are done at a
 * time, in the order in which they came.
 *
 * What the code relies on:
 *   - The copy has no descriptor of this process's but the standard ones and its pipe.
 *   - Once begun, it is done, or not, whether this process lives to hear of it.
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
/* What was begun goes on by itself. */
void works_close(struct works *all);

/* Begins it, now or when it is its turn: function is called over there, with the context as it is
 * then, and fills in an answer of size bytes. done is called here when it has ended; answer NULL:
 * it has died before, or could not be begun. */
struct work *work_start(struct works *all, void (*function)(void *context, void *answer),
    void *context, size_t size, void (*done)(void *context, const void *answer));
/* done will not be called. What was begun goes on, else it is not done. */
void work_abandon(struct work *w);

#endif
