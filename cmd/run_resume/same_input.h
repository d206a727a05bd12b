/*
 * Whether a child run gets the input that was recorded: the same bytes, or state lines with the
 * same data (their ids, times and tokens differ in each attempt).
 */
#ifndef AWF_RUN_RESUME_SAME_INPUT_H
#define AWF_RUN_RESUME_SAME_INPUT_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "json/scan.h"
#include "storage/storage.h"

/* How a child's stdin, as far as it has arrived, compares with the recorded input. */
enum input_fit {
	INPUT_OTHER = -1,
	INPUT_UNKNOWN, /* nothing has arrived, or it cannot be compared */
	INPUT_SAME     /* equal, or what has arrived is how the recorded input begins */
};
/* Compares without consuming input: the first 64 KiB in a pipe or socket are only peeked at.
 * input: -1 for none; directory: for temporary files; recorded: the member stdin of the call's end,
 * which is used if the input was not kept; wait_ms: time to wait for as many bytes as were recorded. */
enum input_fit input_compare_begin(const struct storage *s, const char *run_id, const char *directory,
    struct span recorded, int input, int wait_ms);

/* s: the storage with the recorded input; directory: for temporary files. recorded: the member
 * stdin of the call's end; absent if stdin was not recorded. *input: stdin now, -1 for none. A pipe
 * is read to its end, and *input becomes a file with its bytes. An incompletely recorded input is
 * never the same; of one that was not kept the digest is compared. ERROR_SYSTEM; ERROR_CANCELLED if a signal is held. */
int same_input(const struct storage *s, const char *run_id, const char *directory,
    struct span recorded, int *input, bool *same, struct error *err);

/* What a call's end says of its input. */
struct input_digests {
	char sha256[DIGEST_SIZE], data_sha256[DIGEST_SIZE]; /* "": it is not known; state_digest(), or "" */
	int64_t bytes;
};
/* Reads all of the input; *input becomes a file if it is a pipe. Errors as of same_input(). */
int input_digest(const char *directory, int *input, struct input_digests *digests, struct error *err);
/* The same without consuming or awaiting anything: false if the input has not ended yet, or is long. begin: how it
 * begins, at most so many bytes; it may be known though false is returned. */
bool input_peek(int input, struct input_digests *digests, struct buffer *begin, size_t most);

#endif
