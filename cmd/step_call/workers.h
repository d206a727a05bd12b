/*
 * Workers: N processes, forked without exec, that each do one job at a time.
 * Jobs and answers are bytes; answers come back in the order of the jobs, however
 * long each takes. A worker lives for many jobs, so what it opens (a provider) is
 * opened once.
 *
 * A job may wait for somebody, and its worker with it (workers_tell_wait()): it
 * does not count among the jobs that are done at a time, and another worker does
 * the next one.
 *
 * At most WORKERS_AHEAD jobs per worker are begun before the answer of the oldest
 * has been taken, so memory stays bounded when one job is slow; more only if the
 * caller has room for them (workers_reserve()).
 */
#ifndef AWF_STEP_CALL_WORKERS_H
#define AWF_STEP_CALL_WORKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"
#include "io/open_files.h"

#define WORKERS_AHEAD 4

struct worker {
	pid_t pid;
	int fd;                 /* socket to it; -1: not started */
	bool busy, waits;       /* waits: (busy) for somebody, as it has told */
	int64_t job;            /* number of the job it does */
};

struct answered {
	bool ready, noticed;
	struct buffer bytes;
};

struct workers {
	/* Does one job in a worker; whatever it fails with goes into the answer. */
	void (*work)(void *context, const struct buffer *job, struct buffer *answer);
	/* Called in a worker when there are no more jobs; may be NULL. */
	void (*end)(void *context);
	void *context;
	struct worker *list;    /* count + waits of them */
	size_t count;           /* jobs at a time that do not wait */
	size_t waits;           /* jobs that may wait with their workers at a time */
	struct answered *window; /* answers not yet taken, a ring */
	size_t window_size;
	int64_t next_job;        /* number of the next job */
	int64_t next_answer;     /* number of the oldest job not yet taken */
	struct rlimit descriptors; /* as they were limited before */
};

/* What they cost this process. */
extern const struct open_files workers_files;
/* count is at most open_files_most() of these; the soft limit is raised where it is lower. */
void workers_open(struct workers *w, size_t count,
    void (*work)(void *, const struct buffer *, struct buffer *), void (*end)(void *),
    void *context);
/* Before the first job: the answers of so many are kept if need be. */
void workers_reserve(struct workers *w, size_t jobs);
/* Before the first job: so many jobs may wait with their workers; fewer if the limit of open files
 * does not allow it. */
void workers_allow_waits(struct workers *w, size_t waits);
/* In a worker: its job waits for somebody from here on. */
void workers_tell_wait(void);
/* Whether the next job may wait with its worker. */
bool workers_may_wait(const struct workers *w);
/* Whether workers_job() would be taken at once. */
bool workers_ready(const struct workers *w);
/* Gives a job to a free worker, starting one if need be. workers_ready() must
 * hold. ERROR_SYSTEM if none can be started. */
int workers_job(struct workers *w, const struct buffer *job, struct error *err);
/* 1: the answer of the oldest job; 0: it is not there yet, or there is no job. */
int workers_answer(struct workers *w, struct buffer *answer);
/* The number of a job, counted from 0, whose answer has come in and neither been noticed
 * nor taken; -1: none. The answer stays until it is taken in its turn. */
int64_t workers_notice(struct workers *w, const struct buffer **answer);
/* Jobs whose answers have not been taken. */
int64_t workers_pending(const struct workers *w);
/* Waits until an answer came in, also_fd (-1: none) is readable, or a signal came.
 * Returns whether also_fd is readable (or at its end). ERROR_SYSTEM (-1) if a
 * worker died. */
int workers_wait(struct workers *w, int also_fd, struct error *err);
/* Sends a signal to every worker. */
void workers_signal(const struct workers *w, int signal_number);
/* Lets the workers end and waits for them. */
void workers_close(struct workers *w);

#endif
