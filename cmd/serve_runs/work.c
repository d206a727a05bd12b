/*
 * After fork(2) the child has only one thread, whatever the other threads of this process were
 * doing: it must not use anything that another thread may have locked, except the memory allocator,
 * which works after fork(2).
 *
 * An answer is small enough for one write(2) to the pipe. The process is waited for when its end of
 * the pipe is closed, which is the last thing that it does.
 */
#define _GNU_SOURCE /* pipe2() */
#include "serve_runs/work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/file.h"
#include "serve_runs/log.h"
#include "system/descriptor.h"

#define ANSWER_FD 3

struct work {
	struct works *all;
	struct work *next, *previous;
	void (*function)(void *context, void *answer);
	void (*done)(void *context, const void *answer); /* NULL: nobody waits for the answer */
	void *context;
	pid_t pid;                   /* 0: not begun */
	struct loop_source pipe;
	struct loop_task task;       /* starts its child, or those that wait after one has ended */
	size_t size, len;            /* of the answer, and how much of it has arrived */
	char answer[WORK_ANSWER];
};

void
works_open(struct works *all, struct loop *loop)
{
	*all = (struct works){ .loop = loop };
}

static void
work_remove(struct work *w)
{
	struct works *all = w->all;

	*(w->previous != NULL ? &w->previous->next : &all->first) = w->next;
	*(w->next != NULL ? &w->next->previous : &all->last) = w->previous;
	if (w->pid != 0) {
		all->begun--;
		loop_remove(all->loop, &w->pipe);
		file_close(&w->pipe.fd);
	}
	loop_leave(all->loop, &w->task);
	free(w);
}

void
works_close(struct works *all)
{
	for (struct work *w = all->first, *next; w != NULL; w = next) {
		next = w->next;
		work_remove(w);
	}
}

void
work_abandon(struct work *w)
{
	if (w->pid == 0)
		work_remove(w);
	else
		w->done = NULL;
}

/* Starts the child of the first work that waits. */
static void
begin_next(struct works *all)
{
	for (struct work *w = all->first; w != NULL && all->begun < WORK_MOST; w = w->next)
		if (w->pid == 0) {
			loop_enter(all->loop, &w->task);
			return;
		}
}

static void
work_deliver_answer(struct work *w)
{
	struct works *all = w->all;

	if (w->done != NULL)
		w->done(w->context, w->len == w->size ? w->answer : NULL);
	work_remove(w);
	begin_next(all);
}

static void
pipe_ready(struct loop_source *source, uint32_t events)
{
	struct work *w = (struct work *)(void *)((char *)source - offsetof(struct work, pipe));
	ssize_t got;
	int status;

	(void)events;
	while ((got = read(source->fd, w->answer + w->len, w->size - w->len)) != 0) {
		if (got < 0 && errno == EAGAIN)
			return;
		if (got < 0 && errno != EINTR)
			break;
		w->len += got > 0 ? (size_t)got : 0;
	}
	while (waitpid(w->pid, &status, 0) == -1 && errno == EINTR)
		continue;
	work_deliver_answer(w);
}

/* In the child: the signals that stop the server stay blocked. */
static _Noreturn void
do_work(int fd, const struct work *w)
{
	void *answer = memory_zero(1, w->size);

	if (dup2(fd, ANSWER_FD) == -1)
		_exit(1);
	descriptor_close_from(ANSWER_FD + 1);
	fcntl(ANSWER_FD, F_SETFD, FD_CLOEXEC);
	w->function(w->context, answer);
	_exit(file_write(ANSWER_FD, answer, w->size) == 0 ? 0 : 1);
}

static void
work_fork(struct loop_task *task)
{
	struct work *w = (struct work *)(void *)((char *)task - offsetof(struct work, task));
	struct error err = ERROR_INIT;
	int ends[2] = { -1, -1 };

	loop_leave(w->all->loop, task);
	if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
		error_errno(&err, ERROR_SYSTEM, NULL, "unable to make a pipe");
	} else {
		w->pipe = (struct loop_source){ .fd = ends[0], .ready = pipe_ready };
		if (loop_add(w->all->loop, &w->pipe, EPOLLIN, &err) == 0) {
			w->pid = fork();
			if (w->pid == 0)
				do_work(ends[1], w);
			if (w->pid == -1) {
				error_errno(&err, ERROR_SYSTEM, NULL, "unable to start a process");
				loop_remove(w->all->loop, &w->pipe);
				w->pid = 0;
			}
		}
	}
	file_close(&ends[1]);
	if (w->pid == 0) {
		file_close(&ends[0]);
		log_warn(&err);
		work_deliver_answer(w);
		return;
	}
	w->all->begun++;
	begin_next(w->all);
}

struct work *
work_start(struct works *all, void (*function)(void *context, void *answer), void *context,
    size_t size, void (*done)(void *context, const void *answer))
{
	struct work *w = memory_zero(1, sizeof *w);

	*w = (struct work){ .all = all, .previous = all->last, .function = function, .done = done,
		.context = context, .size = size, .task.step = work_fork };
	*(all->last != NULL ? &all->last->next : &all->first) = w;
	all->last = w;
	begin_next(all);
	return w;
}
