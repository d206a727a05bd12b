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

/* Whether the run is to be resumed now. */
static bool
waking_is_due(struct waking *k, const struct storage *s)
{
	char *path = storage_transcript(s, k->run_id);
	const bool timed = k->next != 0 && clock_wall() >= k->next;
	struct stat status;
	struct error ignored;
	struct due due;
	bool is = false;

	k->there = true;
	if (stat(path, &status) == 0 && (status.st_size != k->size || (timed && !k->woken))) {
		k->woken = k->woken && status.st_size == k->size;
		if (due_read(&due, s, k->run_id, false, &ignored) == 0) {
			k->size = status.st_size;
			k->next = due.next;
			is = due.waits && due.ready && !k->woken;
		}
		k->woken |= is;
	}
	free(path);
	return is;
}

int
waker_look(struct waker *w, const struct spool *spool, const struct storage *s, struct error *err)
{
	struct waiting_job *jobs;
	size_t count;
	int failed = waiting_jobs(spool, &jobs, &count, err);

	for (size_t i = 0; i < w->count; i++)
		w->list[i].there = false;
	for (size_t i = 0; failed == 0 && i < count; i++)
		if (waking_is_due(waking_find(w, jobs[i].run_id), s) && job_wake(spool, jobs[i].name, err) == -1)
			failed = -1;
	waiting_jobs_free(jobs, count);
	return failed == 0 ? (int)count : -1;
}

void
waker_free(struct waker *w)
{
	free(w->list);
	*w = (struct waker){ NULL, 0 };
}
