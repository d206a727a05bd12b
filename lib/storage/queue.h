/*
 * The queue of a workflow's name: the awf-run processes that run it or wait for their turn, in the
 * order in which they came. cmd/run/overlap decides which of them may run.
 *
 *     queues/<SHA-256 of the name>/lock       F_WRLCK held only while the queue is examined
 *                                             or changed
 *     queues/<SHA-256 of the name>/<NUMBER>   a ticket: "STATE RUN-ID POLICY JSON\n"; the
 *                                             JSON is for lists: name, child. F_WRLCK held by its
 *                                             process while that lives
 *
 * What the code relies on, and keeps:
 *   - A ticket is created and locked while `lock` is held. So a ticket that is not locked while
 *     `lock` is held belongs to a process that has ended in some way, and is removed by the
 *     process that finds it. Tickets left by a crash or a power failure therefore never block
 *     others.
 *   - A new number is higher than all existing ones, so numbers are the order of arrival, and the
 *     lowest has its turn. Processes do not queue for a lock, so the order in which the kernel
 *     wakes them does not matter.
 *   - The last process removes the directory. So after locking `lock` a process checks that the
 *     file still has that name, and starts again if not.
 *   - Runs that were started without a ticket are known by the locks of their run directories
 *     (storage/run_lock.h) and the names in their transcripts.
 */
#ifndef AWF_STORAGE_QUEUE_H
#define AWF_STORAGE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "storage/storage.h"

enum queue_state {
	QUEUE_WAITING,
	QUEUE_RUNNING,
	QUEUE_ENDING    /* its run has ended, but its process has not */
};

struct queue_entry {
	long long number;     /* number of its ticket; 0: it has none */
	pid_t pid;            /* 0: not known */
	enum queue_state state;
	char run_id[ID_SIZE];
	char policy[16];      /* "" without a ticket */
};

struct queue {
	const struct storage *storage;
	char *name;           /* name of the workflow */
	char *directory;
	int lock;             /* -1: not locked */
	int ticket;           /* -1: this process has no ticket */
	long long number;     /* number of the ticket */
	char run_id[ID_SIZE]; /* run in the ticket */
	char policy[16];
	char *told;           /* JSON of the ticket */
	struct queue_entry *others; /* as last examined: first those without a ticket, then by
	                               number */
	size_t count;
	long long last;       /* highest number among them */
	char gone[ID_SIZE];   /* run whose process has died and left its ticket; "": none */
};

/* The storage must exist, and outlive the queue. */
void queue_open(struct queue *q, const struct storage *s, const char *name);
/* Sets what lists show of the ticket that this process will draw; name NULL: nothing. */
void queue_tell(struct queue *q, const char *name, bool child);
/* Locks the queue, before it is examined or changed; waits at most 30 s. ERROR_SYSTEM. */
int queue_lock(struct queue *q, struct error *err);
void queue_unlock(struct queue *q);

/* The queue must be locked for these functions. ERROR_SYSTEM. */
int queue_look(struct queue *q, struct error *err); /* sets others to the processes with tickets */
int queue_look_at_runs(struct queue *q, struct error *err); /* adds those without a ticket */
int queue_draw(struct queue *q, enum queue_state state, const char *run_id, const char *policy,
    struct error *err);
int queue_sign(struct queue *q, enum queue_state state, const char *run_id, struct error *err);

/* Gives up the ticket, if this process has one, and frees everything. */
void queue_close(struct queue *q);

/* A queued run. */
struct queued {
	char run_id[ID_SIZE];
	char *name;           /* name of the workflow; "": not shown */
	bool child;
	int64_t came;         /* µs since 1970 */
	pid_t pid;            /* the process that waits; 0: not known */
};
/* Lists the waiting processes in all queues of a storage, the last one to arrive first. Nothing is
 * locked or removed, so arrivals and departures meanwhile may be missed. ERROR_SYSTEM. */
int queued_list(const struct storage *s, struct queued **list, size_t *count, struct error *err);
void queued_free(struct queued *list, size_t count);
/* Finds the process that waits in a queue with this run, or whose turn has come and which has not
 * ended yet. It begins an attempt of the run, or has begun it. The caller frees run->name. */
bool queued_find(const struct storage *s, const char *run_id, struct queued *run);

#endif
