/*
 * The input of a run: what its workflow reads on stdin, kept as inputs/<run-id>, with .part at the
 * end of the name until its end was seen.
 *
 * A regular file is passed through, and copied from its offset before the start. A pipe or socket
 * is relayed, at most a page ahead of the reader: the next bytes are read only when it has taken
 * what is there. A terminal or another device is passed through and not kept.
 *
 * What a child run gets from a pipe is relayed too where it is not kept. The relay is in the
 * child's roster (storage/roster.h), so that its steps know whether who wrote that in the parent
 * has died.
 *
 * A further attempt gets the stored input. If that is incomplete, it is passed first, and stdin is
 * read when the workflow needs more: stdin must begin with the stored bytes, which are not passed
 * twice, and the rest is stored, too.
 */
#ifndef AWF_START_INPUT_H
#define AWF_START_INPUT_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "storage/roster.h"
#include "storage/storage.h"

#define INPUT_POLLS 2

struct input {
	int stream;      /* what the workflow gets as stdin */
	bool kept;
	bool complete;   /* its end was seen */
	int64_t bytes;   /* kept so far */

	/* For input.c alone. */
	struct digest digest;
	char *path, *part;
	bool sync;
	bool named;      /* the end of its name is off */
	int file;        /* .part, or what was kept of an earlier attempt; -1 */
	int nothing;     /* /dev/null, -1 */
	int64_t known;   /* bytes kept by earlier attempts */
	int64_t given;   /* of these, to the workflow */
	int64_t compared; /* of these, with what source says */
	int source;      /* what is relayed, -1: nothing (more) */
	int sink;        /* our end of the workflow's pipe, -1 */
	bool taken;      /* the workflow has taken all that was given */
	const struct roster *parent; /* where this process is one; NULL: it is in no run */
	struct roster relay; /* in the roster of the run; used if there is a parent */
};

/* Takes source (stdin). sync: what is kept is on disk when its name says so.
 * ERROR_SYSTEM if it cannot be read, or kept. */
int input_open(struct input *in, const struct storage *s, const char *run_id, int source,
    bool sync, struct error *err);
/* The same for a further attempt; source -1: what was kept is all there is.
 * ERROR_INVALID_INPUT if source does not begin with what was kept, at once for a file,
 * else from input_step(). */
int input_reopen(struct input *in, const struct storage *s, const char *run_id, int source,
    bool sync, struct error *err);
/* For a further attempt of a child run, whose input is its parent's: what was kept of an
 * earlier one is forgotten. source -1: there is none. */
int input_renew(struct input *in, const struct storage *s, const char *run_id, int source,
    bool sync, struct error *err);
/* What was kept for one run is kept for another too: a fork. */
int input_copy(const struct storage *s, const char *from, const char *to, struct error *err);
/* Passes source on and keeps nothing. */
void input_pass(struct input *in, int source);
/* The source is the parent's: the steps of the run in the directory are to know how it ended.
 * parent stays the caller's. */
int input_nest(struct input *in, const struct roster *parent, const char *run_directory,
    struct error *err);
/* The workflow has its end of the pipe: closes ours of it. */
void input_started(struct input *in);

/* Relaying: fill fds, poll them with others, step. Returns how many there are; 0
 * when nothing is left to relay. -1: the storage failed (ERROR_SYSTEM). */
nfds_t input_poll(const struct input *in, struct pollfd fds[INPUT_POLLS]);
int input_step(struct input *in, const struct pollfd fds[INPUT_POLLS], struct error *err);

/* Ends the relay; fills sha256 if it was kept. */
int input_finish(struct input *in, char sha256[DIGEST_SIZE], struct error *err);
void input_close(struct input *in);

#endif
