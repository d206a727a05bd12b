/* A transcript is read when it has grown, and when a time has come; otherwise its size is enough. */
#include "worker/waker.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/memory.h"
#include "decide/due.h"

static struct waking *
waking_find(struct waker *w, const char *run_id)
{
	for (size_t i = 0; i < w->count; i++)
		if (strcmp(w->list[i].run_id, run_id) == 0)
			return &w->list[i];
	w->list = memory_array(w->list, w->count + 1, sizeof *w->list);
	w->list[w->count] = (struct waking){ .size = -1 };
	memcpy(w->list[w->count].run_id, run_id, ID_SIZE);
	return &w->list[w->count++];
}

/* The size of the transcript; -1: there is none. */
static int64_t
waking_size(const struct waking *k, const struct storage *s)
{
	char *path = storage_transcript(s, k->run_id);
	struct stat status;
	const int64_t size = stat(path, &status) == 0 ? status.st_size : -1;

	free(path);
	return size;
}

/* Whether the run is to be resumed now. */
static bool
waking_is_due(struct waking *k, const struct storage *s)
{
	const int64_t size = waking_size(k, s);
	const bool timed = k->next != 0 && clock_wall() >= k->next;
	struct error ignored;
	struct due due;

	k->there = true;
	if (size != -1 && (size != k->size || (timed && !k->due))) {
		k->woken = k->woken && size == k->size;
		if (due_read(&due, s, k->run_id, false, &ignored) == 0) {
			k->size = size;
			k->next = due.next;
			k->due = due.waits && due.ready;
		}
	}
	return size != -1 && k->due && !k->woken;
}

/* Forgets jobs that do not wait any more, but for those that were moved and are not resumed yet: they may
 * come back. */
static void
waker_forget_gone(struct waker *w, const struct storage *s)
{
	for (size_t i = 0; i < w->count;) {
		const struct waking *k = &w->list[i];

		if (k->there || (k->woken && waking_size(k, s) == k->size))
			i++;
		else
			w->list[i] = w->list[--w->count];
	}
}

int
waker_look(struct waker *w, const struct spool *spool, const struct storage *s, struct error *err)
{
	struct waiting_job *jobs;
	size_t count;
	int failed = waiting_jobs(spool, &jobs, &count, err);

	for (size_t i = 0; i < w->count; i++)
		w->list[i].there = failed != 0;
	for (size_t i = 0; failed == 0 && i < count; i++) {
		struct waking *k = waking_find(w, jobs[i].run_id);
		int moved = waking_is_due(k, s) ? job_wake(spool, jobs[i].name, err) : 0;

		k->woken |= moved == 1;
		if (moved == -1)
			failed = -1;
	}
	if (failed == 0)
		waker_forget_gone(w, s);
	waiting_jobs_free(jobs, count);
	return failed == 0 ? (int)count : -1;
}

void
waker_free(struct waker *w)
{
	free(w->list);
	*w = (struct waker){ NULL, 0 };
}
