/*
 * Work that would hold up the loop: what waits for locks, for the disk, for the end of a run, or
 * reads all of a transcript. It is done by a process of its own, a copy of this one (fork(2)),
 * whose answer comes through a pipe; the loop goes on meanwhile.
 *
 * What the code relies on:
 *   - The copy has no descriptor of this process's but the standard ones and its pipe.
 *   - What it does is done, or not, whether this process lives to hear of it.
 */
#ifndef AWF_SERVE_WORK_H
#define AWF_SERVE_WORK_H

#include <stddef.h>

#include "base/error.h"
#include "serve/loop.h"

#define WORK_MOST 32             /* at a time */
#define WORK_ANSWER ((size_t)4096) /* bytes of an answer, at most */

struct work;

struct works {
	struct loop *loop;
	struct work *first;
	size_t count;
};

void works_open(struct works *all, struct loop *loop);
/* What is being done goes on by itself. */
void works_close(struct works *all);

/* Starts it: function is called over there, with the context as it is now, and fills in an answer
 * of size bytes. done is called here when it has ended; answer NULL: it has died before. NULL
 * with *err, ERROR_BLOCKED if there are too many already. */
struct work *work_start(struct works *all, void (*function)(void *context, void *answer),
    void *context, size_t size, void (*done)(void *context, const void *answer),
    struct error *err);
/* done will not be called; the work goes on. */
void work_abandon(struct work *w);

#endif
