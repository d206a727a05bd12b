/*
 * The input of a run: what its workflow reads on stdin, kept as inputs/<run-id>,
 * with .part at the end of the name until its end was seen.
 *
 * A regular file is passed through, and copied from its offset before the start.
 * A pipe or socket is relayed, at most a page ahead of the reader: the next bytes
 * are read only when it has taken what is there. A terminal or another device is
 * passed through and not kept.
 */
#ifndef AWF_RECORD_INPUT_H
#define AWF_RECORD_INPUT_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "record/storage.h"

#define INPUT_POLLS 2

struct input {
	int stream;      /* what the workflow gets as stdin */
	bool kept;
	bool complete;   /* its end was seen */
	int64_t bytes;   /* kept so far */

	/* For input.c alone. */
	struct digest digest;
	char *path, *part;
	int file;        /* .part, -1 */
	int source;      /* what is relayed, -1: nothing (more) */
	int sink;        /* our end of the workflow's pipe, -1 */
	bool taken;      /* the workflow has taken all that was given */
};

/* Takes source (stdin). ERROR_SYSTEM if it cannot be read, or kept. */
int input_open(struct input *in, const struct storage *s, const char *run_id, int source,
    struct error *err);
/* Passes source on and keeps nothing. */
void input_pass(struct input *in, int source);
/* The workflow has its end of the pipe: closes ours of it. */
void input_started(struct input *in);

/* Relaying: fill fds, poll them with others, step. Returns how many there are; 0
 * when nothing is left to relay. -1: the storage failed (ERROR_SYSTEM). */
nfds_t input_poll(const struct input *in, struct pollfd fds[INPUT_POLLS]);
int input_step(struct input *in, const struct pollfd fds[INPUT_POLLS], struct error *err);

/* Ends the relay, syncs (if sync) and names what was kept; fills sha256 if it was. */
int input_finish(struct input *in, bool sync, char sha256[DIGEST_SIZE], struct error *err);
void input_close(struct input *in);

#endif
