/*
 * Subprocesses: programs that do the work of a call (a command, a tool). The caller fills a struct
 * subprocess for each, and subprocesses_run() starts them all, and returns when all have ended. A
 * subprocess gets its complete input on stdin; its stdout is collected in memory; its stderr is
 * copied to the stderr of this process, and its last part is kept. It is no error if it does not
 * read all of its input.
 *
 * A subprocess that ends by itself has ended when its process has ended and nobody holds its stdout
 * or stderr open any more. One that is cancelled, or whose time is over, gets SIGTERM, with all its
 * descendants, and SIGKILL five seconds later; it has ended when none of them is left.
 *
 * Before it calls subprocesses_run(), a program must ignore SIGPIPE and call descendants_adopt(). A
 * process with which lines are exchanged while it runs is a peer (proc/peer.h); a subprocess may
 * have one, which the same poll loop then serves.
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

/* Gets what a subprocess prints on stdout and stderr, as it comes. */
struct subprocess_shows {
	void (*add)(void *context, const char *piece, size_t len); /* NULL: nobody gets it */
	int64_t (*due)(void *context); /* does what has to be done at this time, and returns the time at
	                                  which to call it again (clock_monotonic(); 0: never) */
	void *context;
	bool framed;        /* what stands between two NUL bytes on its stderr is for add() alone: a
	                       program prints it so that keeps its output until its end */
	bool in_frame;      /* its stderr is between two NUL bytes now */
};

struct subprocess {
	/* Set by the caller. */
	char *const *argv;          /* the program and its arguments; not used if via is set */
	const char *name;           /* for error messages; NULL: argv[0] */
	char *const *environment;   /* NULL: that of this process */
	const char *directory;      /* where it starts; NULL: in that of this process */
	const char *input;          /* what it reads on stdin */
	size_t input_len;
	int64_t timeout_ms;         /* after this time it is ended; 0: never */
	size_t output_limit;        /* it is ended, with exit_status, when its stdout has more bytes
	                               than this; 0: SUBPROCESS_OUTPUT_LIMIT */
	const char *told_as;        /* "PROGRAM: CALL". If it has ended, but a process that it started
	                               holds its output open, a line on stderr says so, and begins
	                               with this; NULL: no such line */
	bool quiet;                 /* its stderr is kept, but not copied to that of this process */
	bool inherit;               /* it inherits descriptors above 2 (struct process_spec) */
	const char *run_directory;  /* this run and */
	const char *call;           /* this call are marked while the subprocess is being ended, so that
	                               no step starts inside the call (proc/ending.h); NULL: no mark */
	/* A peer that is served while the subprocess runs; NULL: none. heard() is called when lines of
	 * the peer may have arrived, or with gone when the peer has closed its stdout; if it returns -1,
	 * everything is ended with that error. due() does what has to be done at this time, and
	 * returns the time at which to call it again (clock_monotonic(); 0: never). */
	struct peer *beside;
	int (*heard)(void *context, bool gone, struct error *err);
	int64_t (*due)(void *context);
	void *context;              /* of both */
	/* Asked about each line on its stderr that an awf-step or awf-run inside it has written
	 * ("awf-step: …", with its LF): whether it is copied to the stderr of this process. NULL: every
	 * line is. */
	bool (*passes)(const void *context, const char *line, size_t len);
	const void *passes_context;
	struct subprocess_shows shows; /* who gets what it prints, as it comes */
	struct via *via;            /* the command to run on another machine. The process here is then
	                               the launcher, which gets the environment above; input, output,
	                               stderr, exit status and timeout are those of the command.
	                               NULL: the command runs on this machine */

	/* Set by subprocesses_run(). */
	struct buffer output;       /* all of stdout */
	struct buffer errors;       /* the last SUBPROCESS_STDERR_TAIL bytes of stderr */
	int64_t errors_bytes;       /* how many bytes its stderr had in all */
	int wait_status;            /* as waitpid() has it; -1: unknown */
	int exit_code;              /* as in $? of a shell: 128 + N after signal N; -1: unknown */
	int64_t duration_ms;
	struct error error;         /* ERROR_NONE: it exited with 0. Otherwise one of exit_status (the
	                               message ends with the last words of stderr,
	                               proc/last_words.h), timeout, cancelled, downstream_closed and
	                               system; with via also interrupted, lost and cannot_launch */
	struct {
		enum {
			SUBPROCESS_ENDED, SUBPROCESS_RUNNING, SUBPROCESS_TERMINATED, SUBPROCESS_KILLED
		} stage;
		int exit_fd;                /* pidfd, opened if the pipes close first; -1 */
		struct process process;
		struct orphans orphans;
		struct buffer passing;      /* what is still to be copied to the stderr of this process */
		struct buffer cut;          /* the first bytes of a character whose others have not come yet;
		                               a terminal gets whole characters */
		bool within_line;           /* the last line of its stderr that was copied has no LF */
		struct buffer line;         /* the beginning of a line about which passes() will be asked */
		int64_t started, deadline;
		int64_t look_at;            /* when to check whether it has ended while another process holds
		                               its output open; 0: never (again) */
	} state;                      /* used by subprocesses_run() alone */
};

/* Starts all subprocesses of the list, and waits until each has ended. An interrupt ends all of them
 * early. 0: how each one ended is in its error; -1: a system call failed, such as fork() or poll(),
 * and all were ended. */
int subprocesses_run(struct subprocess *list, size_t count, const struct interrupts *interrupts,
    struct error *err);
/* Frees what subprocesses_run() has set. */
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

/* Replaces a secret (NULL: there is none) in the kept stderr and in the error's message. The kept
 * stderr may begin within the secret; that rest of it is replaced, too. */
void subprocess_hide(struct subprocess *s, const char *secret);

#endif
