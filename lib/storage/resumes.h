/*
 * Runs that may be resumed automatically: each has a file from the start of its first attempt until it has
 * ended for good.
 *
 *    resumes/<run-id>     empty, or one line of JSON: how often resuming the run has failed
 *
 * Whoever decides about a call of the run, and the end of an attempt that waits, empties the file,
 * which tells the resumer (awf-worker --resumer), and makes it forget the failures. Both are done under
 * the lock of the file, so that no failure is counted to those before a decision.
 */
#ifndef AWF_STORAGE_RESUMES_H
#define AWF_STORAGE_RESUMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "storage/storage.h"

/* Failures to resume a run; none: .count 0. */
#define RESUME_FAILURES_MOST 1000 /* further ones are not counted */
struct resume_failures {
	long long count;
	int64_t next;        /* when it is tried again, µs since 1970; 0: not any more */
	char *message;       /* of the last one, to be freed by the caller; NULL */
};

/* The directory of these files, to be freed by the caller; it may not exist. */
char *resumes_directory(const struct storage *s);
int resumes_add(const struct storage *s, const char *run_id, struct error *err);
void resumes_remove(const struct storage *s, const char *run_id);
/* Empties the file. Does nothing if the run may not be resumed automatically. */
void resumes_tell(const struct storage *s, const char *run_id);
/* Reads the failures. A missing or damaged file has none. */
void resumes_read_failures(const struct storage *s, const char *run_id, struct resume_failures *f);
/* Adds one with this message; next() says when it is tried again after so many. *f is set in any case. */
int resumes_add_failure(const struct storage *s, const char *run_id, const char *message,
    int64_t (*next)(long long count), struct resume_failures *f, struct error *err);

/* Whether a resumer works for the storage. */
bool resumes_are_served(const struct storage *s);
/* The lock of the storage's resumer: a descriptor, or -1 with errno, EWOULDBLOCK if another process has
 * it. The directory must exist. */
int resumes_take_lock(const struct storage *s);
/* Starts a resumer (awf-worker --resumer) that ends with this process: *parent is the descriptor that
 * it watches. -1: *err. */
int resumes_start_resumer(const struct storage *s, int *parent, struct error *err);

#endif
