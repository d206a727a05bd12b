/*
 * An answer is small enough that one write(2) to the pipe takes it whole. The process is waited
 * for when its end of the pipe is closed, which is the last thing that it does.
 */
#define _GNU_SOURCE /* pipe2(), closefrom() */
#include "serve/work.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

#define ANSWER_FD 3

struct work {
	struct works *all;
	struct work *next;
	struct loop_source pipe;
	pid_t pid;
	void (*done)(void *context, const void *answer); /* NULL: nobody waits for it */
	void *context;
	size_t size, len;            /* of the answer, and what has come of it */
	char answer[WORK_ANSWER];
};

void
works_open(struct works *all, struct loop *loop)
{
	*all = (struct works){ .loop = loop };
}

static void
forget(struct work *w)
{
	struct work **link = &w->all->first;

	while (*link != w)
		link = &(*link)->next;
	*link = w->next;
	w->all->count--;
	loop_remove(w->all->loop, &w->pipe);
	file_close(&w->pipe.fd);
	free(w);
}

void
works_close(struct works *all)
{
	while (all->first != NULL)
		forget(all->first);
}

void
work_abandon(struct work *w)
{
	w->done = NULL;
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
	if (w->done != NULL)
		w->done(w->context, w->len == w->size ? w->answer : NULL);
	forget(w);
}

/* In the copy. A signal that ends this process does not end what is being done. */
static _Noreturn void
do_work(int fd, void (*function)(void *context, void *answer), void *context, size_t size)
{
	void *answer = memory_zero(1, size);

	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	if (dup2(fd, ANSWER_FD) == -1)
		_exit(1);
	closefrom(ANSWER_FD + 1);
	fcntl(ANSWER_FD, F_SETFD, FD_CLOEXEC);
	function(context, answer);
	_exit(file_write(ANSWER_FD, answer, size) == 0 ? 0 : 1);
}

struct work *
work_start(struct works *all, void (*function)(void *context, void *answer), void *context,
    size_t size, void (*done)(void *context, const void *answer), struct error *err)
{
	struct work *w;
	int ends[2];

	if (all->count >= WORK_MOST) {
		error_set(err, ERROR_BLOCKED, NULL, "too much is being done: try again later");
		return NULL;
	}
	if (pipe2(ends, O_CLOEXEC) != 0) {
		error_errno(err, ERROR_SYSTEM, NULL, "unable to make a pipe");
		return NULL;
	}
	w = memory_zero(1, sizeof *w);
	*w = (struct work){ .all = all, .pipe = { .fd = ends[0], .ready = pipe_ready },
		.done = done, .context = context, .size = size };
	w->pid = -1;
	if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0 ||
	    loop_add(all->loop, &w->pipe, EPOLLIN, err) != 0 || (w->pid = fork()) == -1) {
		error_errno(err, ERROR_SYSTEM, NULL, "unable to start a process");
		loop_remove(all->loop, &w->pipe);
		file_close(&ends[0]);
		file_close(&ends[1]);
		free(w);
		return NULL;
	}
	if (w->pid == 0)
		do_work(ends[1], function, context, size);
	file_close(&ends[1]);
	w->next = all->first;
	all->first = w;
	all->count++;
	return w;
}
