/*
 * The input of a run: what its workflow reads on stdin, stored as inputs/<run-id>, with the suffix
 * .part until its end was seen.
 *
 * A regular file is passed to the workflow, and copied from its offset before the start. A pipe or
 * socket is relayed, at most a page ahead of the reader: more is read only when the workflow has
 * taken what is there. A terminal or another device is passed to the workflow and not stored.
 *
 * Input that a child run gets from a pipe is relayed even if it is not stored. The relay has an
 * entry in the child's roster (storage/roster.h), so that the child's steps know whether the writer
 * in the parent has died.
 *
 * A further attempt gets the stored input. If that is incomplete, it is relayed first, and stdin is
 * read when the workflow needs more: stdin must begin with the stored bytes, which are not relayed
 * twice, and the rest is stored too.
 */
#ifndef AWF_START_INPUT_H
#define AWF_START_INPUT_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "storage/roster.h"
#include "storage/storage.h"

#define INPUT_PART ".part" /* behind the name of a stored input whose end was not seen */
#define INPUT_POLLS 2
#define INPUT_DATA_LIMIT ((int64_t)16 << 20) /* bytes of an input whose data is digested, too */

struct input {
	int stream;      /* what the workflow gets as stdin */
	bool kept;
	bool digested;   /* it is not stored, but input_finish() sets its digest if its end was seen, */
	char data_sha256[DIGEST_SIZE]; /* and state_digest(), if there is one; "" */
	bool complete;   /* its end was seen */
	int64_t bytes;   /* stored, or relayed, so far */

	/* Used by input.c only. */
	struct digest digest;
	struct buffer seen; /* if it is digested, all of it, up to INPUT_DATA_LIMIT bytes */
	char *path, *part;
	bool sync;
	bool named;      /* .part was removed from its name */
	int file;        /* the .part file, or the input stored by an earlier attempt; -1 */
	int nothing;     /* /dev/null, -1 */
	int64_t known;   /* bytes stored by earlier attempts */
	int64_t given;   /* of these, relayed to the workflow */
	int64_t compared; /* of these, compared with source */
	int source;      /* what is relayed; -1: nothing (more) */
	int sink;        /* write end of the workflow's pipe; -1 */
	bool taken;      /* the workflow has read everything relayed so far */
	const struct roster *parent; /* roster of the parent run, if source comes from it; NULL */
	struct roster relay; /* entry in the run's own roster; used if there is a parent */
};

/* Takes over source (stdin). sync: when the file has its final name, its content is on disk.
 * ERROR_SYSTEM if source cannot be read or the input not stored. */
int input_open(struct input *in, const struct storage *s, const char *run_id, int source,
    bool sync, struct error *err);
/* The same for a further attempt; source -1: only the stored input. ERROR_INVALID_INPUT if source
 * does not begin with the stored input: for a file at once, otherwise from input_step(). */
int input_reopen(struct input *in, const struct storage *s, const char *run_id, int source,
    bool sync, struct error *err);
/* For a further attempt of a child run, whose input comes from its parent: drops the stored input.
 * source -1: none. */
int input_renew(struct input *in, const struct storage *s, const char *run_id, int source,
    bool sync, struct error *err);
/* Copies the stored input of one run to another: for a fork. */
int input_copy(const struct storage *s, const char *from, const char *to, struct error *err);
/* Passes source to the workflow and stores nothing. */
void input_pass(struct input *in, int source);
/* The same, for a child run (input_nest()) whose parent records the digest. */
void input_pass_digested(struct input *in, int source);
/* Source comes from the parent: lets the steps of the run in the directory know how it ended.
 * parent stays the caller's. */
int input_nest(struct input *in, const struct roster *parent, const char *run_directory,
    struct error *err);
/* The workflow has been started: closes this process's copy of its end of the pipe. */
void input_started(struct input *in);

/* To relay: fill fds, poll them with others, call input_step(). input_poll() returns how many
 * there are; 0 when nothing is left to relay. input_step() returns -1 if storing failed
 * (ERROR_SYSTEM). */
nfds_t input_poll(const struct input *in, struct pollfd fds[INPUT_POLLS]);
int input_step(struct input *in, const struct pollfd fds[INPUT_POLLS], struct error *err);

/* Ends the relay; sets sha256 if the input was stored, or is digested still. */
int input_finish(struct input *in, char sha256[DIGEST_SIZE], struct error *err);
void input_close(struct input *in);

#endif
