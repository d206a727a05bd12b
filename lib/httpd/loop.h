/*
 * An event loop: descriptors that are ready, timers, and tasks. Everything that awf-serve waits for
 * is a source of its loop; nothing else in it blocks. A program that also waits for other things
 * polls the loop's own descriptor, and runs a round without waiting when that is ready.
 *
 * A task is work that would take long, done in pieces of a few milliseconds: while there are tasks,
 * each does one piece per round, before the ready descriptors are handled again.
 */
#ifndef AWF_HTTPD_LOOP_H
#define AWF_HTTPD_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct epoll_event;

struct loop_source {
	int fd;
	/* events: of epoll(7). */
	void (*ready)(struct loop_source *source, uint32_t events);
};

/* A timer, which is a member of the object that it belongs to. */
struct loop_timer {
	void (*due)(struct loop_timer *timer);
	int64_t at;                     /* clock_monotonic(); 0: it is not set */
	struct loop_timer *previous, *next;
};

struct loop_task {
	/* Does a piece of work; leaves the loop when everything is done. */
	void (*step)(struct loop_task *task);
	struct loop_task *previous, *next;
	bool entered;
};

struct loop {
	int epoll;                      /* readable while something is ready */
	/* Timers in lists by their duration: each list is in the order of its times. */
	struct loop_timers {
		int64_t after;
		struct loop_timer *first, *last;
	} *timers;
	size_t timer_lists;
	struct loop_task *first, *last;
	size_t tasks;
	int64_t now;                    /* clock_monotonic() of this round */
	struct epoll_event *events;     /* events of this round that are not handled yet */
	size_t event_count;
};

/* *l is all zeros. */
int loop_open(struct loop *l, struct error *err);
/* Watches a descriptor for these events of epoll(7); the source belongs to the caller. */
int loop_add(struct loop *l, struct loop_source *source, uint32_t events, struct error *err);
/* From then on the source gets no more events, not even those of this round. */
void loop_remove(struct loop *l, const struct loop_source *source);
/* Sets a timer, also if it was set before; after: ms, one of few values. */
void loop_set(struct loop *l, struct loop_timer *timer, int64_t after);
void loop_unset(struct loop *l, struct loop_timer *timer);
void loop_enter(struct loop *l, struct loop_task *task);
void loop_leave(struct loop *l, struct loop_task *task);
/* One round: waits until there is something to do, at most `most` ms (-1: no limit), and does
 * it. */
int loop_round(struct loop *l, int64_t most, struct error *err);
/* How many ms a program that waits itself may do so before the next round, at most `most`. */
int64_t loop_wait(struct loop *l, int64_t most);
void loop_close(struct loop *l);

#endif
