/*
 * Runs the work of each function of the public library, so that whatever happens there ends
 * only this call:
 *   - fatal_exit() (no memory, no random numbers) returns here. Resources of the work are lost
 *     then; the transcript that it used must be marked (transcript_forget()).
 *   - SIGXFSZ does not reach the program.
 *   - Errors are passed to the caller.
 */
#ifndef AWF_SHARED_GUARD_H
#define AWF_SHARED_GUARD_H

#include <awf/transcript.h>

#include <stdbool.h>

#include "base/error.h"

/* Returns AWF_OK, or another code with *found set. */
typedef enum awf_code guarded_work(void *context, struct error *found);

/* Does the work; fills *err, which may be NULL. */
enum awf_code guard_run(guarded_work *work, void *context, struct awf_error *err);

/* The code for an error of the library, if nothing better is known. */
enum awf_code code_of(const struct error *found);
/* Sets *found; returns code. */
enum awf_code guard_set_error(struct error *found, enum awf_code code, const char *place,
    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Whether there is no such file: why it was not possible to open it. */
bool is_missing(const char *path);
/* A path that holds whatever directory the program goes to; NULL with *found. */
char *absolute_path(const char *path, struct error *found);

#endif
