/*
 * epoll(7). Timers are kept in lists, one for each duration, so that setting one takes constant
 * time however many there are: thousands of clients have the same few limits.
 */
#include "httpd/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "io/file.h"

#define READY_MOST 256

int
loop_open(struct loop *l, struct error *err)
{
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	l->now = clock_monotonic();
	return l->epoll != -1 ? 0 :
	    error_errno(err, ERROR_SYSTEM, NULL, "unable to make an epoll descriptor");
}

int
loop_add(struct loop *l, struct loop_source *source, uint32_t events, struct error *err)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	return epoll_ctl(l->epoll, EPOLL_CTL_ADD, source->fd, &event) == 0 ? 0 :
	    error_errno(err, ERROR_SYSTEM, NULL, "unable to watch a descriptor");
}

void
loop_remove(struct loop *l, const struct loop_source *source)
{
	epoll_ctl(l->epoll, EPOLL_CTL_DEL, source->fd, NULL);
	for (size_t i = 0; i < l->event_count; i++)
		if (l->events[i].data.ptr == source)
			l->events[i].data.ptr = NULL;
}

static struct loop_timers *
timers_of(struct loop *l, int64_t after)
{
	for (size_t i = 0; i < l->timer_lists; i++)
		if (l->timers[i].after == after)
			return &l->timers[i];
	return NULL;
}

void
loop_set(struct loop *l, struct loop_timer *timer, int64_t after)
{
	struct loop_timers *list;

	loop_unset(l, timer);
	list = timers_of(l, after);
	if (list == NULL) {
		l->timers = memory_array(l->timers, l->timer_lists + 1, sizeof *l->timers);
		list = &l->timers[l->timer_lists++];
		*list = (struct loop_timers){ .after = after };
	}
	INVARIANT(list->last == NULL || (list->last->next == NULL && list->last->at <= l->now + after));
	timer->at = l->now + after;
	timer->next = NULL;
	timer->previous = list->last;
	*(list->last != NULL ? &list->last->next : &list->first) = timer;
	list->last = timer;
}

void
loop_unset(struct loop *l, struct loop_timer *timer)
{
	if (timer->at == 0)
		return;
	for (size_t i = 0; i < l->timer_lists; i++) {
		if (l->timers[i].first == timer)
			l->timers[i].first = timer->next;
		if (l->timers[i].last == timer)
			l->timers[i].last = timer->previous;
	}
	INVARIANT(timer->previous == NULL || timer->previous->next == timer);
	INVARIANT(timer->next == NULL || timer->next->previous == timer);
	if (timer->previous != NULL)
		timer->previous->next = timer->next;
	if (timer->next != NULL)
		timer->next->previous = timer->previous;
	timer->previous = timer->next = NULL;
	timer->at = 0;
}

void
loop_enter(struct loop *l, struct loop_task *task)
{
	if (task->entered)
		return;
	task->entered = true;
	task->next = NULL;
	task->previous = l->last;
	*(l->last != NULL ? &l->last->next : &l->first) = task;
	l->last = task;
	l->tasks++;
	INVARIANT((l->tasks == 1) == (l->first == task));
}

void
loop_leave(struct loop *l, struct loop_task *task)
{
	if (!task->entered)
		return;
	INVARIANT((task->previous != NULL ? task->previous->next : l->first) == task);
	INVARIANT((task->next != NULL ? task->next->previous : l->last) == task && l->tasks > 0);
	*(task->previous != NULL ? &task->previous->next : &l->first) = task->next;
	*(task->next != NULL ? &task->next->previous : &l->last) = task->previous;
	task->previous = task->next = NULL;
	task->entered = false;
	l->tasks--;
}

/* ms until the first timer, at most `most`; -1: for ever. */
static int64_t
time_left(const struct loop *l, int64_t most)
{
	for (size_t i = 0; i < l->timer_lists; i++) {
		const struct loop_timer *first = l->timers[i].first;
		int64_t left = first == NULL ? -1 : first->at > l->now ? first->at - l->now : 0;

		if (left != -1 && (most == -1 || left < most))
			most = left;
	}
	return most;
}

static void
run_timers(struct loop *l)
{
	for (size_t i = 0; i < l->timer_lists; i++) {
		struct loop_timer *timer;

		while ((timer = l->timers[i].first) != NULL && timer->at <= l->now) {
			loop_unset(l, timer);
			timer->due(timer);
		}
	}
}

/* Runs one piece of each task that is in the list now; tasks that these enter wait for the next
 * round. */
static void
run_tasks(struct loop *l)
{
	for (size_t count = l->tasks; count > 0 && l->first != NULL; count--) {
		struct loop_task *task = l->first;

		/* It moves to the end of the list, unless step() removes it. */
		loop_leave(l, task);
		loop_enter(l, task);
		task->step(task);
	}
}

int64_t
loop_wait(struct loop *l, int64_t most)
{
	l->now = clock_monotonic();
	return l->first != NULL ? 0 : time_left(l, most);
}

int
loop_round(struct loop *l, int64_t most, struct error *err)
{
	struct epoll_event events[READY_MOST];
	int64_t left = loop_wait(l, most);
	int count;

	count = epoll_wait(l->epoll, events, READY_MOST, left > INT32_MAX ? INT32_MAX : (int)left);
	if (count == -1 && errno != EINTR)
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to wait");
	l->now = clock_monotonic();
	l->events = events;
	l->event_count = count > 0 ? (size_t)count : 0;
	for (size_t i = 0; i < l->event_count; i++) {
		struct loop_source *source = events[i].data.ptr;

		events[i].data.ptr = NULL;
		if (source != NULL)
			source->ready(source, events[i].events);
	}
	l->event_count = 0;
	run_timers(l);
	run_tasks(l);
	return 0;
}

void
loop_close(struct loop *l)
{
	file_close(&l->epoll);
	free(l->timers);
	l->timers = NULL;
	l->timer_lists = 0;
}
