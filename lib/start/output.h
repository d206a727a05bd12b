/*
 * The output of a run: what its workflow writes to stdout, stored: for a child in its parent's
 * transcript, otherwise in a blob of the run that run.completed names (`stdout`).
 *
 * If stdout is a regular file, the workflow writes to it directly, and what it wrote is copied
 * afterwards. A terminal, or a file that is also stderr, is written to directly and not stored. If
 * stdout is a pipe, a socket or another device such as /dev/null, or the run is a child, output is
 * relayed to this process's stdout:
 *
 *   - It is relayed at once; and if the reader is slow, the workflow has to wait.
 *   - If the reader closes the pipe, that is noticed at once, not with the next write: the workflow
 *     then gets EPIPE, as if it wrote to the pipe directly.
 *   - On a pipe with several writers whole lines are written with the lock that awf-step uses,
 *     so that state lines are not mixed. A partial line is written at once, unless it begins
 *     like a state line.
 *   - Nothing here waits: the caller polls the descriptor, whose flags are shared with others and
 *     therefore not changed.
 */
#ifndef AWF_START_OUTPUT_H
#define AWF_START_OUTPUT_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "transcript/transcript.h"

/* Output that is stored in a blob. */
struct printed {
	bool kept;
	bool relayed;          /* by the struct output that it is given to */
	int64_t bytes;

	/* Used by output.c only. */
	int spool;             /* -1: none */
	char *path;            /* of the spool */
	struct digest digest;
	off_t start;           /* offset in a regular file */
};
#define PRINTED_INIT { .spool = -1 }

/* Examines stdout; directory: of the run. */
int printed_begin(struct printed *p, const char *directory, struct error *err);
/* Called when the workflow has ended: sets sha256 if the output was stored. */
int printed_finish(struct printed *p, const struct transcript *t, char sha256[DIGEST_SIZE],
    struct error *err);
void printed_close(struct printed *p);

#define OUTPUT_POLLS 2

struct output {
	int stream;            /* stdout for the workflow; -1 once it was started */
	struct printed *printed; /* stores the output, instead of kept; NULL */
	struct buffer kept;    /* the whole output */
	bool overflow;         /* it was too large, and kept is empty */
	int64_t bytes;         /* written so far */
	bool closed;           /* the reader has closed it */

	/* Used by output.c only. */
	int source;            /* read end of the pipe; -1: no more output */
	int sink;
	bool lockable, locked;
	bool passing;          /* pending is part of a line that is written at once */
	struct buffer pending;
	size_t ready, sent;    /* bytes of pending that may be written, that were written */
};

/* sink: this process's stdout. */
int output_open(struct output *o, int sink, struct error *err);
/* The workflow has been started: closes this process's copy of its end of the pipe. */
void output_started(struct output *o);

/* To relay: fill fds, poll them with others until *deadline (0: none), which may be set earlier,
 * call output_step(). -1: writing failed for another reason than a closed pipe. */
nfds_t output_poll(const struct output *o, struct pollfd fds[OUTPUT_POLLS], int64_t *deadline);
int output_step(struct output *o, const struct pollfd *fds, nfds_t count, struct error *err);
/* The workflow and all its processes have ended: reads the rest of the pipe. After that
 * output_busy() tells whether something remains to be written. */
int output_ended(struct output *o, struct error *err);
bool output_busy(const struct output *o);
void output_close(struct output *o);

#endif
