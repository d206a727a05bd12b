/*
 * The output of a run: what its workflow writes on stdout, kept: of a child for the record of
 * its parent, else in a blob of the run, which run.completed names by `stdout`.
 *
 * A regular file is the workflow's own, and is copied from where it was when the workflow
 * began. A terminal or another device, and what stderr goes to as well, is the workflow's own,
 * and not kept. What goes to a pipe or socket, or is a child's, is relayed to this process's
 * stdout as it comes:
 *
 *   - It flows: nothing waits for the end of the workflow, and the workflow waits when
 *     nobody takes what it wrote.
 *   - Who stops reading is noticed at once, not with the next write: the workflow finds
 *     nobody reading then, as if it wrote there itself.
 *   - On a pipe that others write to as well, whole lines go out under the lock that
 *     awf-step writes under, so that state lines never splice. What is no whole line
 *     yet goes out as it comes, unless it begins like a state line.
 *   - Nothing here waits: the descriptor is polled by the caller, and its flags, which
 *     others share, are left alone.
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

/* What is kept in a blob. */
struct printed {
	bool kept;
	bool relayed;          /* by the output that it is given to */
	int64_t bytes;

	/* For output.c alone. */
	int spool;             /* -1: there is none */
	char *path;            /* of it */
	struct digest digest;
	off_t start;           /* of a file */
};
#define PRINTED_INIT { .spool = -1 }

/* Looks at stdout; directory: of the run. */
int printed_begin(struct printed *p, const char *directory, struct error *err);
/* The workflow has ended: fills sha256, if it is kept. */
int printed_finish(struct printed *p, const struct transcript *t, char sha256[DIGEST_SIZE],
    struct error *err);
void printed_close(struct printed *p);

#define OUTPUT_POLLS 2

struct output {
	int stream;            /* what the workflow gets as stdout; -1 once it has it */
	struct printed *printed; /* keeps it instead; NULL */
	struct buffer kept;    /* all of it */
	bool overflow;         /* but that was too much, and kept is empty */
	int64_t bytes;         /* that were written */
	bool closed;           /* nobody reads any more */

	/* For output.c alone. */
	int source;            /* our end, -1: nothing more comes */
	int sink;
	bool lockable, locked;
	bool passing;          /* what is pending is part of a line that goes out as it comes */
	struct buffer pending;
	size_t ready, sent;    /* of pending: may go out now, has gone out */
};

/* sink: this process's stdout. */
int output_open(struct output *o, int sink, struct error *err);
/* The workflow has its end: closes ours of it. */
void output_started(struct output *o);

/* Relaying: fill fds, poll them with others until *deadline (which is put earlier if need
 * be; 0: none), step. -1: writing failed, and not because nobody reads. */
nfds_t output_poll(const struct output *o, struct pollfd fds[OUTPUT_POLLS], int64_t *deadline);
int output_step(struct output *o, const struct pollfd *fds, nfds_t count, struct error *err);
/* The workflow and all it started have ended: what is in the pipe is taken. From then on
 * output_busy() tells whether something is still to be written. */
int output_ended(struct output *o, struct error *err);
bool output_busy(const struct output *o);
void output_close(struct output *o);

#endif
