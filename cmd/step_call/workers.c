/*
 * Frames are sent through a socket pair to each worker: a length, then the bytes. Answers wait in a
 * ring of slots, by the number of the job, until it is their turn. A worker closes its copies of
 * the other workers' sockets, so that closing the parent's end gives a worker the end of its input,
 * and it exits.
 */
#include "step_call/workers.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/patience.h"
#include "io/file.h"
#include "io/polling.h"
#include "proc/descendants.h"
#include "system/descriptor.h"
#include "system/self.h"

#define WAITS UINT64_MAX /* in place of a frame's length: the job waits */
#define NAME "awf-step-job"  /* the name of a worker in ps(1) */

static int told = -1; /* in a worker: its end of the socket */

const struct open_files workers_files = { .each = 1, .beside = 32 };

void
workers_open(struct workers *w, size_t count,
    void (*work)(void *, const struct buffer *, struct buffer *), void (*end)(void *),
    void *context)
{
	memset(w, 0, sizeof *w);
	w->work = work;
	w->end = end;
	w->context = context;
	w->count = count;
	w->list = memory_zero(count, sizeof *w->list);
	for (size_t i = 0; i < count; i++)
		w->list[i].fd = -1;
	w->window_size = count * WORKERS_AHEAD;
	w->window = memory_zero(w->window_size, sizeof *w->window);

	/* A worker's own children have the former limit. */
	open_files_raise(&workers_files, count, &w->descriptors);
}

void
workers_reserve(struct workers *w, size_t jobs)
{
	if (jobs <= w->window_size)
		return;
	INVARIANT(w->next_job == 0);
	free(w->window);
	w->window_size = jobs;
	w->window = memory_zero(w->window_size, sizeof *w->window);
}

void
workers_allow_waits(struct workers *w, size_t waits)
{
	size_t most = open_files_most(&workers_files);

	INVARIANT(w->next_job == 0 && w->waits == 0);
	if (waits > most - w->count)
		waits = most - w->count;
	w->list = memory_array(w->list, w->count + waits, sizeof *w->list);
	for (size_t i = w->count; i < w->count + waits; i++)
		w->list[i] = (struct worker){ .fd = -1 };
	w->waits = waits;
	workers_reserve(w, (w->count + waits) * WORKERS_AHEAD);
	open_files_raise(&workers_files, w->count + waits, NULL);
}

void
workers_tell_wait(void)
{
	const uint64_t waits = WAITS;

	if (told != -1)
		(void)!file_write(told, &waits, sizeof waits);
}

static size_t
count_waiting(const struct workers *w)
{
	size_t waiting = 0;

	for (size_t i = 0; i < w->count + w->waits; i++)
		waiting += w->list[i].waits;
	return waiting;
}

bool
workers_may_wait(const struct workers *w)
{
	return count_waiting(w) < w->waits;
}

int64_t
workers_pending(const struct workers *w)
{
	return w->next_job - w->next_answer;
}

static struct worker *
free_worker(const struct workers *w)
{
	struct worker *found = NULL;
	size_t active = 0;

	for (size_t i = 0; i < w->count + w->waits; i++) {
		struct worker *worker = &w->list[i];

		active += worker->busy && !worker->waits;
		/* One that has been started, rather than a new one. */
		if (!worker->busy && (found == NULL || (found->fd == -1 && worker->fd != -1)))
			found = worker;
	}
	return active < w->count ? found : NULL;
}

bool
workers_ready(const struct workers *w)
{
	return workers_pending(w) < (int64_t)w->window_size && free_worker(w) != NULL;
}

/* A frame is its length, then its bytes. */
static int
send_frame(int fd, const struct buffer *bytes)
{
	uint64_t len = bytes->len;

	if (file_write(fd, &len, sizeof len) == -1)
		return -1;
	return file_write(fd, buffer_string(bytes), bytes->len);
}

/* 1: a frame; 2: the job waits; 0: the end; -1: broken. */
static int
receive_frame(int fd, struct buffer *bytes)
{
	uint64_t len;
	size_t got = 0, want = sizeof len;
	ssize_t n;
	char *at = (char *)&len;

	buffer_clear(bytes);
	while (got < want) {
		n = read(fd, at + got, want - got);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 && got == 0 && at == (char *)&len ? 0 : -1;
		got += (size_t)n;
		if (got == want && at == (char *)&len) {
			if (len == WAITS)
				return 2;
			at = buffer_reserve(bytes, (size_t)len + 1);
			want = (size_t)len;
			got = 0;
		}
	}
	bytes->len = want;
	bytes->data[want] = '\0';
	return 1;
}

/* The worker does one job after the other, and leaves with _exit(), so that no buffer of the
 * parent is flushed. */
static int
start_worker(struct workers *w, struct worker *worker, struct error *err)
{
	struct buffer job = BUFFER_INIT, answer = BUFFER_INIT;
	int pair[2], status = 0;

	if (descriptor_socket_pair(AF_UNIX, SOCK_STREAM, pair) == -1)
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to start a worker");
	worker->pid = fork();
	if (worker->pid == -1) {
		close(pair[0]);
		close(pair[1]);
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to start a worker");
	}
	if (worker->pid > 0) {
		close(pair[1]);
		worker->fd = pair[0];
		return 0;
	}

	for (size_t i = 0; i < w->count + w->waits; i++)
		if (w->list[i].fd != -1)
			close(w->list[i].fd);
	close(pair[0]);
	told = pair[1];
	self_name(NAME);
	/* Processes that its bodies leave behind must be its own, to be ended. */
	descendants_adopt();
	setrlimit(RLIMIT_NOFILE, &w->descriptors);
	while (status == 0 && receive_frame(pair[1], &job) == 1) {
		buffer_clear(&answer);
		w->work(w->context, &job, &answer);
		if (send_frame(pair[1], &answer) == -1)
			status = 1;
	}
	if (w->end != NULL)
		w->end(w->context);
	_exit(status);
}

/* Each busy worker has a job of its own whose answer has not come; no more answers of the window
 * are ready than pending. */
static bool
workers_hold(const struct workers *w)
{
	for (size_t i = 0; i < w->count + w->waits; i++) {
		const struct worker *worker = &w->list[i];

		if (!worker->busy && worker->waits)
			return false;
		if (!worker->busy)
			continue;
		if (worker->fd == -1 || worker->job < w->next_answer || worker->job >= w->next_job ||
		    w->window[worker->job % (int64_t)w->window_size].ready)
			return false;
		for (size_t n = 0; n < i; n++)
			if (w->list[n].busy && w->list[n].job == worker->job)
				return false;
	}
	return w->next_answer <= w->next_job && workers_pending(w) <= (int64_t)w->window_size;
}

int
workers_job(struct workers *w, const struct buffer *job, struct error *err)
{
	struct worker *worker = free_worker(w);

	INVARIANT(workers_ready(w) && workers_hold(w));
	if (worker->fd == -1 && start_worker(w, worker, err) == -1)
		return -1;
	if (send_frame(worker->fd, job) == -1)
		return error_errno(err, ERROR_SYSTEM, NULL, "a worker is gone");
	worker->busy = true;
	worker->job = w->next_job++;
	INVARIANT(workers_hold(w));
	return 0;
}

int
workers_answer(struct workers *w, struct buffer *answer)
{
	struct answered *oldest = &w->window[w->next_answer % (int64_t)w->window_size];

	INVARIANT(workers_hold(w));
	if (workers_pending(w) == 0 || !oldest->ready)
		return 0;
	buffer_free(answer);
	*answer = oldest->bytes;
	memset(oldest, 0, sizeof *oldest);
	w->next_answer++;
	return 1;
}

int64_t
workers_notice(struct workers *w, const struct buffer **answer)
{
	for (int64_t job = w->next_answer; job < w->next_job; job++) {
		struct answered *slot = &w->window[job % (int64_t)w->window_size];

		if (!slot->ready || slot->noticed)
			continue;
		slot->noticed = true;
		*answer = &slot->bytes;
		return job;
	}
	return -1;
}

int
workers_wait(struct workers *w, int also_fd, struct error *err)
{
	const size_t count = w->count + w->waits;
	struct pollfd *polls = memory_zero(count + 1, sizeof *polls);
	int result = 0, got;

	for (size_t i = 0; i < count; i++)
		polls[i] = (struct pollfd){ w->list[i].busy ? w->list[i].fd : -1, POLLIN, 0 };
	polls[count] = (struct pollfd){ also_fd, POLLIN, 0 };
	if (poll_until(polls, count + 1, clock_monotonic() + WORKERS_LOOK_MS) == -1)
		result = error_errno(err, ERROR_SYSTEM, NULL, "unable to poll");
	for (size_t i = 0; i < count && result == 0; i++) {
		struct worker *worker = &w->list[i];
		struct answered *slot = &w->window[worker->job % (int64_t)w->window_size];

		if (polls[i].revents == 0)
			continue;
		INVARIANT(worker->busy && !slot->ready && slot->bytes.len == 0);
		got = receive_frame(worker->fd, &slot->bytes);
		if (got == 2) {
			worker->waits = true;
			continue;
		}
		if (got != 1)
			result = error_set(err, ERROR_SYSTEM, NULL, "process %ld, one of those that make the "
			    "calls (" NAME "), died amid one", (long)worker->pid);
		slot->ready = result == 0;
		worker->busy = result != 0;
		worker->waits = false;
	}
	if (result == 0 && polls[count].revents != 0)
		result = 1;
	free(polls);
	return result;
}

void
workers_signal(const struct workers *w, int signal_number)
{
	for (size_t i = 0; i < w->count + w->waits; i++)
		if (w->list[i].fd != -1)
			kill(w->list[i].pid, signal_number);
}

void
workers_close(struct workers *w)
{
	for (size_t i = 0; i < w->count + w->waits; i++)
		if (w->list[i].fd != -1)
			close(w->list[i].fd);
	for (size_t i = 0; i < w->count + w->waits; i++)
		if (w->list[i].fd != -1)
			while (waitpid(w->list[i].pid, NULL, 0) == -1 && errno == EINTR)
				;
	for (size_t i = 0; i < w->window_size; i++)
		buffer_free(&w->window[i].bytes);
	setrlimit(RLIMIT_NOFILE, &w->descriptors);
	free(w->list);
	free(w->window);
	memset(w, 0, sizeof *w);
}
