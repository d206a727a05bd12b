/*
 * A table says what each policy does. The queue is locked while other runs are examined and while
 * it is changed, but not while this run waits. Each run waits, by a pidfd, only for the process of
 * the run directly before it, so that the end of a run wakes one other.
 */
#include "run/overlap.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/patience.h"
#include "proc/wait.h"
#include "run_resume/survivors.h"
#include "start/supervise.h"
#include "storage/run.h"

enum { LOOK_OFTEN_MS = 50 }; /* time between looks if the system does not report the end of a
                                process */

/* What a run does if other runs of its name are alive. */
static const struct policy {
	const char *name;
	bool looks;      /* it examines other runs */
	bool cancels;    /* it cancels other runs, running and waiting ones */
	size_t room;     /* most runs that may wait, including this one */
} policies[] = {
	{ "allow-all", false, false, 0 },
	{ "skip", true, false, 0 },
	{ "buffer-one", true, false, 1 },
	{ "buffer-all", true, false, SIZE_MAX },
	{ "cancel-other", true, true, SIZE_MAX },
};

const char *const overlap_policies[] = { "allow-all", "skip", "buffer-one", "buffer-all",
	"cancel-other", NULL };

static const struct policy *
policy_named(const char *name)
{
	for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++)
		if (strcmp(policies[i].name, name) == 0)
			return &policies[i];
	return &policies[0];
}

/* Reads the queue: all live runs of the name, except the runs that this run is inside of. */
static int
overlap_read_queue(struct overlap *o, struct error *err)
{
	const char *outer = getenv("AWF_RUN_ID");
	struct queue *q = &o->queue;
	size_t count = 0;

	if (queue_look(q, err) != 0 || queue_look_at_runs(q, err) != 0)
		return -1;
	for (size_t i = 0; i < q->count; i++) {
		const char *run_id = q->others[i].run_id;
		bool around = outer != NULL && strcmp(outer, run_id) == 0;

		for (size_t j = 0; j < o->around.count && !around; j++)
			around = strcmp(o->around.runs[j].run_id, run_id) == 0;
		if (!around)
			q->others[count++] = q->others[i];
	}
	q->count = count;
	return 0;
}

/* Joins the queue, which is locked. 1: done; 0: the policy does not let this run wait. */
static int
find_place(struct overlap *o, const struct overlap_spec *spec, struct error *err)
{
	const struct policy *policy = policy_named(spec->policy);
	struct queue *q = &o->queue;
	size_t waiting = 0;

	if (overlap_read_queue(o, err) != 0)
		return -1;
	for (size_t i = 0; i < q->count; i++)
		waiting += q->others[i].state == QUEUE_WAITING;
	/* If no run is running, the first waiting one is about to run: do not count it. */
	if (waiting == q->count && waiting > 0)
		waiting--;
	if (q->count > 0 && waiting >= policy->room) {
		memcpy(o->by, q->others[0].run_id, sizeof o->by);
		return 0;
	}
	if (queue_draw(q, q->count > 0 ? QUEUE_WAITING : QUEUE_RUNNING, spec->run_id, spec->policy,
	    err) != 0)
		return -1;
	/* A moment ago each of these held the lock of its run, so its pid was not reused. */
	for (size_t i = 0; policy->cancels && i < q->count; i++)
		if (q->others[i].pid > 0 && q->others[i].state != QUEUE_ENDING)
			kill(q->others[i].pid, SIGTERM);
	return 1;
}

/* Finds a later run in the queue that cancels those before it (cancel-other). */
static bool
find_successor(struct overlap *o)
{
	const struct queue *q = &o->queue;

	o->by[0] = '\0';
	for (size_t i = 0; i < q->count; i++)
		if (q->others[i].number > q->number && q->others[i].state == QUEUE_WAITING &&
		    policy_named(q->others[i].policy)->cancels)
			memcpy(o->by, q->others[i].run_id, sizeof o->by);
	return o->by[0] != '\0';
}

/* Waits for the end of the run directly before this one, until no earlier one is left. The queue is
 * locked when this is called and when it returns. */
static int
wait_in_line(struct overlap *o, const struct overlap_spec *spec, struct error *err)
{
	struct queue *q = &o->queue;
	char last[ID_SIZE], variable[sizeof "AWF_RUN_ID=" + ID_SIZE];
	struct survivor first;

	memcpy(last, q->gone, sizeof last);
	for (;;) {
		const struct queue_entry *before = NULL;
		int fd, number;

		for (size_t i = 0; i < q->count && q->others[i].number < q->number; i++)
			before = &q->others[i];
		if (before == NULL)
			break;
		INVARIANT(before->number < q->number && strcmp(before->run_id, o->run_id) != 0);
		fd = before->pid > 0 ? wait_descriptor(before->pid) : -1;
		memcpy(last, before->run_id, sizeof last);
		queue_unlock(q);
		number = signals_wait(fd, fd >= 0 ? OVERLAP_LOOK_MS : LOOK_OFTEN_MS);
		if (fd >= 0)
			close(fd);
		if (queue_lock(q, err) != 0)
			return -1;
		if (number == 0) {
			if (overlap_read_queue(o, err) != 0)
				return -1;
			continue;
		}
		/* Was SIGTERM sent by a run that takes the place of this one, or to end this
		 * process? */
		if (number == SIGTERM && queue_look(q, err) == 0 && find_successor(o))
			return OVERLAP_SKIPPED;
		return error_set(err, ERROR_CANCELLED, spec->name,
		    "cancelled by signal %d (%s) while it waited for its turn", number,
		    strsignal(number));
	}

	/* If the previous run's process was killed, its guardian may still be ending the workflow:
	 * wait for that. */
	INVARIANT(q->lock != -1 && q->ticket != -1);
	snprintf(variable, sizeof variable, "AWF_RUN_ID=%s", last);
	if (*last != '\0')
		survivors_find(variable, SURVIVORS_MS, &first);
	return queue_sign(q, QUEUE_RUNNING, spec->run_id, err);
}

int
overlap_take(struct overlap *o, const struct overlap_spec *spec, struct error *err)
{
	bool looks = policy_named(spec->policy)->looks;
	char *directory;
	int got;

	*o = (struct overlap)OVERLAP_INIT;
	memcpy(o->run_id, spec->run_id, sizeof o->run_id);
	if ((looks ? storage_prepare : storage_locate)(&o->storage, err) != 0)
		return -1;
	queue_open(&o->queue, &o->storage, spec->name);
	if (!looks)
		return 0;
	queue_tell(&o->queue, spec->told, run_in_environment());
	/* If this run is inside of another, that one counts as well, even if it is a run of a
	 * single step, which has no lineage. */
	if (run_in_environment()) {
		directory = storage_run_directory(&o->storage, getenv("AWF_RUN_ID"));
		got = lineage_read(&o->around, directory, err);
		free(directory);
		if (got != 0)
			return -1;
	}
	if (queue_lock(&o->queue, err) != 0)
		return -1;
	got = find_place(o, spec, err);
	if (got == 1)
		got = wait_in_line(o, spec, err);
	else if (got == 0)
		got = OVERLAP_SKIPPED;
	queue_unlock(&o->queue);
	return got;
}

static void
overlap_sign_ticket(struct overlap *o, enum queue_state state)
{
	struct error none;

	if (o->queue.ticket < 0 || queue_lock(&o->queue, &none) != 0)
		return;
	queue_sign(&o->queue, state, o->run_id, &none);
	queue_unlock(&o->queue);
}

void
overlap_begun(struct overlap *o, const char *run_id)
{
	if (strcmp(o->run_id, run_id) == 0)
		return;
	memcpy(o->run_id, run_id, sizeof o->run_id);
	overlap_sign_ticket(o, QUEUE_RUNNING);
}

void
overlap_ended(struct overlap *o)
{
	overlap_sign_ticket(o, QUEUE_ENDING);
}

bool
overlap_taken(const struct overlap *o)
{
	return o->queue.name != NULL;
}

bool
overlap_successor(struct overlap *o, char successor[ID_SIZE])
{
	struct queue *q = &o->queue;
	struct error none;
	bool found;

	if (access(q->directory, F_OK) != 0 || queue_lock(q, &none) != 0)
		return false;
	found = queue_look(q, &none) == 0 && find_successor(o);
	queue_unlock(q);
	if (found)
		memcpy(successor, o->by, sizeof o->by);
	return found;
}

void
overlap_leave(struct overlap *o)
{
	if (overlap_taken(o))
		queue_close(&o->queue);
	storage_close(&o->storage);
}
