/*
 * Subprocesses: programs that do the work of a call (a command, a tool). A subprocess gets its
 * complete input on stdin when it starts; its stdout is collected; its stderr is passed through,
 * and the end of it kept. It ends by itself, by its deadline, or because it is cancelled. Several
 * can run at once in one poll loop. A process with which lines are exchanged is a peer
 * (proc/peer.h), and can be served at the same time.
 *
 * It is no error if it does not read all of its input. It has ended when its process has ended and
 * stdout and stderr are closed. Ending it early means SIGTERM to it and all its descendants, and
 * SIGKILL five seconds later; it has ended when none of them is left. The program ignores SIGPIPE
 * and has called descendants_adopt().
 */
#ifndef AWF_PROC_SUBPROCESS_H
#define AWF_PROC_SUBPROCESS_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"
#include "proc/interrupts.h"
#include "proc/orphans.h"
#include "proc/peer.h"
#include "proc/process.h"
#include "proc/via.h"

#define SUBPROCESS_OUTPUT_LIMIT ((size_t)256 << 20)
#define SUBPROCESS_STDERR_TAIL ((size_t)64 << 10)

struct subprocess {
	/* Set by the caller. */
	char *const *argv;          /* NULL: what via says */
	const char *name;           /* in errors; NULL: argv[0] */
	char *const *environment;
	const char *directory;      /* NULL: this one */
	const char *input;          /* on stdin */
	size_t input_len;
	int64_t timeout_ms;         /* 0: none */
	size_t output_limit;        /* more bytes of stdout end it with exit_status;
	                               0: SUBPROCESS_OUTPUT_LIMIT */
	const char *told_as;        /* "PROGRAM: CALL", the beginning of a line on stderr that says
	                               what holds its output open after its end; NULL: none */
	bool quiet;                 /* stderr is kept but not passed through */
	bool inherit;               /* gets descriptors above 2 (struct process_spec) */
	bool within_line;           /* used by subprocesses_run(): the last line that was passed
	                               through is incomplete */
	const char *run_directory;  /* with call: while it is being ended nothing that is inside */
	const char *call;           /* of this call begins (proc/ending.h); NULL */
	/* A peer that is served while it runs; NULL: none. heard() is called when lines may
	 * have arrived, or when the peer has closed its stdout (gone); -1: an error of the
	 * machine. due() does what is due, and returns when it must be called again (monotonic
	 * ms; 0: never). */
	struct peer *beside;
	int (*heard)(void *context, bool gone, struct error *err);
	int64_t (*due)(void *context);
	void *context;
	/* Whether a line that one of our programs in it has written on stderr ("awf-step: …", with its
	 * LF) is passed through; NULL: all are. */
	bool (*passes)(const void *context, const char *line, size_t len);
	const void *passes_context;
	struct via *via;            /* it runs elsewhere: input, output, errors, its end and time are
	                               those there, environment is the launcher's; NULL: it runs here */

	/* Filled by subprocesses_run(). */
	struct buffer output;
	struct buffer errors;       /* the last SUBPROCESS_STDERR_TAIL bytes of stderr */
	int64_t errors_bytes;       /* all of stderr */
	int wait_status;            /* -1: unknown, as is the exit code then */
	int exit_code;              /* as shells count */
	int64_t duration_ms;
	struct error error;         /* ERROR_NONE: exited 0; else exit_status (its message ends with
	                               the last words of stderr, proc/last_words.h), timeout,
	                               cancelled, downstream_closed, system; via: interrupted, lost,
	                               cannot_launch too */
	/* For subprocesses_run() alone. */
	struct {
		enum {
			SUBPROCESS_ENDED, SUBPROCESS_RUNNING, SUBPROCESS_TERMINATED, SUBPROCESS_KILLED
		} stage;
		int exit_fd;                /* pidfd, opened if the pipes close first; -1 */
		struct process process;
		struct orphans orphans;
		struct buffer passing;      /* stderr not yet passed through */
		struct buffer cut;          /* bytes that may begin a character, for a terminal */
		struct buffer line;         /* of it: the beginning of a line, asked about when it is whole */
		int64_t started, deadline;
		int64_t look_at;            /* when to look whether it has ended with its output held open;
		                               0: never (again) */
	} state;                      /* for subprocesses_run() alone */
};

/* Runs them all to their end. -1 only if the machine fails (poll, fork); what
 * became of each is in its error. */
int subprocesses_run(struct subprocess *list, size_t count, const struct interrupts *interrupts,
    struct error *err);
void subprocess_free(struct subprocess *s);

/* One beside other work, for which the caller polls; what is served beside it (peer) is not. */
#define SUBPROCESS_FDS 3
void subprocess_begin(struct subprocess *s);
/* Sets what to poll, and *deadline: when to call subprocess_serve() even if nothing is ready (monotonic
 * ms; 0: never). False: it has ended, and the members are filled. */
bool subprocess_poll(struct subprocess *s, struct pollfd fds[SUBPROCESS_FDS], int64_t *deadline);
void subprocess_serve(struct subprocess *s, const struct pollfd fds[SUBPROCESS_FDS]);
/* Ends it early, because of why: it ends in one of the next calls of subprocess_serve(). */
void subprocess_cancel(struct subprocess *s, const struct error *why);

/* Masks a secret (NULL: none) in its stderr, whose beginning may have been cut off, and
 * in its error. */
void subprocess_hide(struct subprocess *s, const char *secret);

#endif
