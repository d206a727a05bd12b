/*
 * The signal goes to the process that has the run's lock: awf-run, or awf-step if that is a run by
 * itself. For a queued run, it goes to the process that waits. The owner is looked up again after a
 * descriptor was opened for the process, so that the signal cannot reach another process that got
 * the same pid meanwhile. Before it is sent, the name of who cancels is written into a file in the
 * run's directory.
 */
#include "decide/cancel.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/patience.h"
#include "io/file.h"
#include "io/polling.h"
#include "model/cancelled.h"
#include "model/summary.h"
#include "proc/wait.h"
#include "storage/origin.h"
#include "storage/queue.h"

enum { LOOK_OFTEN_MS = 50 }; /* time between looks if the system does not report the end of a
                                process */
#define PREFIX_LEAST 4 /* shortest prefix of an id, as for storage_resolve() */

/* Finds the queued runs whose ids begin with prefix: returns how many there are, and sets the id
 * and the process of one. */
static size_t
find_queued(const struct storage *s, const char *prefix, char run_id[ID_SIZE], pid_t *pid)
{
	struct queued *list = NULL;
	size_t count = 0, found = 0;
	struct error none;

	if (strlen(prefix) < PREFIX_LEAST || queued_list(s, &list, &count, &none) != 0)
		return 0;
	for (size_t i = 0; i < count; i++) {
		if (strncmp(list[i].run_id, prefix, strlen(prefix)) != 0)
			continue;
		memmove(run_id, list[i].run_id, ID_SIZE);
		*pid = list[i].pid;
		found++;
	}
	queued_free(list, count);
	return found;
}

/* Finds the process of a run. False if the run is neither alive nor queued. */
static bool
find_owner(const struct storage *s, const char *run_id, pid_t *pid)
{
	char same[ID_SIZE];

	return storage_run_owner(s, run_id, pid) || find_queued(s, run_id, same, pid) == 1;
}

/* Finds the run that a name stands for; a run without a transcript is found by its id. */
static int
cancel_find_run(const struct storage *s, const char *run, char run_id[ID_SIZE], struct error *err)
{
	char queued[ID_SIZE];
	struct run_ref ref;
	struct error unknown;
	size_t waiting;
	pid_t pid;
	int failed = 0;

	if (id_valid(run, strlen(run)) && storage_run_owner(s, run, NULL)) {
		memcpy(run_id, run, ID_SIZE);
		return 0;
	}
	waiting = find_queued(s, run, queued, &pid);
	if (storage_resolve(s, run, &ref, &unknown) != 0) {
		memcpy(run_id, queued, ID_SIZE);
		if (waiting == 0)
			*err = unknown;
		return waiting == 1 ? 0 : waiting == 0 ? -1 : error_set(err, ERROR_USAGE, run,
		    "several runs wait for their turn whose ids begin so");
	}
	if (!ref.in_storage)
		failed = error_set(err, ERROR_USAGE, ref.path, "is not a transcript of the storage %s",
		    s->root);
	else if (waiting > 0 && (waiting > 1 || strcmp(queued, ref.run_id) != 0))
		failed = error_set(err, ERROR_USAGE, run,
		    "a run that waits for its turn begins so too: give more of the id");
	else
		failed = origin_check_own(s, ref.run_id, err);
	memcpy(run_id, ref.run_id, ID_SIZE);
	run_ref_free(&ref);
	return failed;
}

static int
not_alive(const struct storage *s, const char *run_id, struct error *err)
{
	char *path = storage_transcript(s, run_id);
	struct summary summary;
	struct error unreadable;

	if (summary_read_ends(&summary, path, &unreadable) == 0) {
		error_set(err, ERROR_BLOCKED, run_id, "is not running: it has ended as '%s'",
		    summary.status);
		summary_free(&summary);
	} else {
		error_set(err, ERROR_BLOCKED, run_id, "is not running any more");
	}
	free(path);
	return -1;
}

/* Records who cancels the run, sends SIGTERM, and waits for the end. */
static int
cancel_end_run(const struct storage *s, const char *run_id, const char *by, pid_t pid, int fd,
    struct error *err)
{
	char *directory = storage_run_directory(s, run_id);
	char *path = storage_transcript(s, run_id);
	int64_t end = clock_monotonic() + CANCEL_MS, now;
	bool begun = storage_run_owner(s, run_id, NULL);
	struct summary summary;
	struct error none;
	int failed = -1;
	pid_t owner;

	cancelled_note(directory, by);
	/* By a pidfd; by the pid on systems without pidfds. */
#ifndef AWF_PORTABLE
	if (fd >= 0)
		failed = (int)syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0);
	else
#endif
		failed = kill(pid, SIGTERM);
	if (failed != 0)
		error_errno(err, ERROR_SYSTEM, run_id, "unable to signal process %ld", (long)pid);
	while (failed == 0 && find_owner(s, run_id, &owner) && owner == pid) {
		now = clock_monotonic();
		if (now >= end) /* the process may ignore the signal */
			failed = error_set(err, ERROR_SYSTEM, run_id,
			    "process %ld does not end after SIGTERM", (long)pid);
		else
			poll_one(fd, POLLIN,
			    fd >= 0 || end < now + LOOK_OFTEN_MS ? end : now + LOOK_OFTEN_MS);
	}

	/* If the run was alive, its transcript tells how it has ended; if it has none, assume that
	 * it was cancelled. */
	if (failed != 0) {
		cancelled_forget(directory);
	} else if (begun && summary_read_ends(&summary, path, &none) == 0) {
		if (strcmp(summary.status, "cancelled") != 0)
			failed = error_set(err, ERROR_BLOCKED, run_id,
			    "was not cancelled: it has ended as '%s'", summary.status);
		summary_free(&summary);
	}
	free(path);
	free(directory);
	return failed;
}

int
cancel_run(const struct storage *s, const char *run, const char *by, struct error *err)
{
	pid_t pid = 0, still = 0;
	char run_id[ID_SIZE];
	int fd, failed;

	if (cancel_find_run(s, run, run_id, err) != 0)
		return -1;
	if (!find_owner(s, run_id, &pid))
		return not_alive(s, run_id, err);
	if (pid == 0)
		return error_set(err, ERROR_SYSTEM, run_id,
		    "the process that has it cannot be seen from here");
	fd = wait_descriptor(pid);
	failed = find_owner(s, run_id, &still) && still == pid ?
	    cancel_end_run(s, run_id, by, pid, fd, err) : not_alive(s, run_id, err);
	file_close(&fd);
	return failed;
}
