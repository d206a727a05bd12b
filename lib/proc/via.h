/*
 * Via: this end of a command that a launcher (ssh, srun, docker exec …) runs on another machine,
 * where the launcher starts awf-exec(1); the two ends exchange frames (proc/frame.h). The launcher
 * itself is a subprocess (proc/subprocess.h), whose output is passed to this module.
 *
 * Output of the launcher before the hello of the far end is dropped, at most 64 KiB. From the hello
 * on every line must be a frame. The command has ended when the far end says so, sealed with the
 * key of the call, and its output is what the far end has sent; the launcher's exit status says
 * nothing about the command. An end that is silent for FAR_SILENT_MS is considered lost.
 */
#ifndef AWF_PROC_VIA_H
#define AWF_PROC_VIA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "proc/frame.h"
#include "proc/frame_files.h"
#include "proc/peer.h"

enum via_state {
	VIA_LAUNCHED, /* nobody has answered yet */
	VIA_CONNECTED, /* the far end has answered */
	VIA_ENDED,    /* it has, and how is known */
	VIA_FAILED    /* the connection cannot be trusted any more: error */
};

struct via {
	/* Set by the caller, whose they stay. Lists end with NULL. */
	const char *launcher;      /* shell text */
	char *const *argv;         /* of the command */
	char *const *environment;  /* NAME=VALUE that it gets there; NULL: nothing */
	char *const *sandbox;      /* options of awf-sandbox(1) there; NULL: no sandbox */
	bool own;                  /* the command is a program of AWF's own, by name */
	char *const *send;         /* patterns of files that are sent, and fetched, to work with them in */
	char *const *fetch;        /* a directory of its own; NULL: none */
	int64_t launch_ms;         /* for the far end to answer; 0: no limit */

	/* What came. */
	enum via_state state;
	bool begun;                /* the command may run, or has run */
	struct frame_hello hello;
	struct frame_end end;      /* after the command's end */
	struct error error;        /* after a failure: lost, or cannot_launch */

	/* For via.c alone. */
	struct peer peer;          /* the launcher's stdin, and its stdout, which is borrowed */
	struct frame_key key;
	const char *input;
	size_t input_len;
	size_t dropped;            /* bytes before the hello */
	struct buffer banner;      /* the beginning of them */
	struct digest output, errors;
	bool sending;              /* files are, before it is told to begin */
	struct files_out sent;
	struct files_in fetched;
	char *kept;                /* the directory where these are until they are placed; NULL */
	int64_t heard, said;       /* when something came, and when something went */
};

/* Finds the files to send, and prepares for those to fetch. -1: *err, do not start the launcher. */
int via_prepare(struct via *v, struct error *err);
/* The shell text that starts the far end, in memory of its own. */
char *via_command(const struct via *v);
/* Speaks to a launcher that has been started, by its stdin, which is taken over, and its stdout,
 * which stays the caller's. input is for the command, and has to stay. */
void via_begin(struct via *v, int in, int out, const char *input, size_t input_len);
/* The launcher's stdin, if there is something to write; otherwise -1. And writes as much as
 * it accepts. */
int via_unsent(const struct via *v);
void via_send(struct via *v);
/* Reads once from its stdout, appends the command's output to output and errors, and messages to
 * errors. 1; 0: nothing has arrived; -1: it is closed. */
int via_receive(struct via *v, struct buffer *output, struct buffer *errors);
/* When time will demand something (clock_monotonic()); 0: never. And does that. */
int64_t via_due(const struct via *v);
void via_tick(struct via *v);
/* Tells the far end to end the command; v->end then has the result. False: there is no far end. */
bool via_cancel(struct via *v);
/* Closes the launcher's stdin. */
void via_hang_up(struct via *v);
/* The launcher has ended: determines the result of the command, unless it is known. */
void via_conclude(struct via *v, int wait_status);
/* Moves fetched files to their places, for a command that has succeeded. */
int via_place(struct via *v, struct error *err);
void via_free(struct via *v);

#endif
