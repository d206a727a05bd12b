/*
 * A loop: what is ready, what time it is, and what is left to do. Everything that awf-serve waits
 * for is a source of this; nothing else in it blocks. A program that waits for other things, too,
 * watches the loop's own descriptor among them, and gives it a round of no time when that is ready.
 *
 * A task is work that would take long, in pieces of a few milliseconds each: as long as there is
 * one, the loop gives each a piece, between looks at what is ready.
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

/* One time at which something is to be done; a member of what it is about. */
struct loop_timer {
	void (*due)(struct loop_timer *timer);
	int64_t at;                     /* clock_monotonic(); 0: it is not set */
	struct loop_timer *previous, *next;
};

struct loop_task {
	/* Does a piece; leaves the loop when all is done. */
	void (*step)(struct loop_task *task);
	struct loop_task *previous, *next;
	bool entered;
};

struct loop {
	int epoll;                      /* ready to be read while something is ready */
	/* Timers in lists by how long they were set for: each list is in the order of its times. */
	struct loop_timers {
		int64_t after;
		struct loop_timer *first, *last;
	} *timers;
	size_t timer_lists;
	struct loop_task *first, *last;
	size_t tasks;
	int64_t now;                    /* clock_monotonic() of this round */
	struct epoll_event *events;     /* of this round, those not looked at yet */
	size_t event_count;
};

/* *l is all zeros. */
int loop_open(struct loop *l, struct error *err);
/* Watches a descriptor for these events of epoll(7); the source stays the caller's. */
int loop_add(struct loop *l, struct loop_source *source, uint32_t events, struct error *err);
/* From then on the source is not told of anything, nor what was ready in this round. */
void loop_remove(struct loop *l, const struct loop_source *source);
/* Sets a timer, anew if it was set; after: ms, one of few values. */
void loop_set(struct loop *l, struct loop_timer *timer, int64_t after);
void loop_unset(struct loop *l, struct loop_timer *timer);
void loop_enter(struct loop *l, struct loop_task *task);
void loop_leave(struct loop *l, struct loop_task *task);
/* One round: waits until something is to be done, at most most ms (-1: no limit), and does it. */
int loop_round(struct loop *l, int64_t most, struct error *err);
/* How many ms a program that waits itself may do so before the next round, at most most. */
int64_t loop_wait(struct loop *l, int64_t most);
void loop_close(struct loop *l);

#endif
