/*
 * A line peer: a child that reads lines on its stdin and writes lines on its stdout, such as a
 * provider, an MCP server or a filter. It may write before it has read everything: lines to it are
 * queued and sent while its lines are received, so that neither side blocks on a full pipe. Its
 * silence (PEER_LATE) is distinguished from its end (PEER_GONE).
 *
 * It is not ended together with other processes, but only by its owner (descendants_keep()), in
 * steps: its stdin is closed, and it has time to exit by itself; then it and all its descendants
 * get SIGTERM, and SIGKILL five seconds later. The program must ignore SIGPIPE.
 */
#ifndef AWF_PROC_PEER_H
#define AWF_PROC_PEER_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/line_input.h"
#include "json/scan.h"
#include "proc/interrupts.h"
#include "proc/process.h"

enum { PEER_CONNECTED = -1 };
/* The polled descriptors of a peer. */
enum { PEER_IN, PEER_OUT, PEER_ERR, PEER_FDS };

struct peer {
	/* Set by the owner, whose they stay; all may be 0. */
	int64_t end_ms;              /* time to end by itself after its stdin was closed */
	bool ends_unheard;           /* close its stdout then, too: it may be writing what nobody
	                                reads any more */
	bool ignores_signals;        /* SIGKILL comes at once */
	char *mark;                  /* its orphans are known by it (proc/orphans.h) and ended
	                                with it; NULL: they are left */
	char **secrets;              /* hidden in errors; ends with NULL */

	/* For the owner to look at. */
	struct process process;      /* pid 0: not running; PEER_CONNECTED: not a child of
	                                this process */
	struct buffer outgoing;      /* append to it whole lines, then call peer_send() */
	struct buffer errors;        /* the last that it wrote on stderr, if that is a pipe */

	/* For peer.c alone. */
	struct line_input incoming;
	size_t sent;                 /* of outgoing */
	int64_t hung_up;             /* when its stdin was closed; 0: it is open */
};

/* Starts it; stdin and stdout are pipes whatever the spec says. Errors as process_start(). */
int peer_start(struct peer *p, const struct process_spec *spec, struct error *err);
/* Uses a process that runs already and is not to be ended, behind a connected non-blocking socket,
 * which stays the caller's. -1 with errno. */
int peer_connect(struct peer *p, int fd);

/* Writes as much of what is outgoing as it takes at once. -1: it reads no more, and its stdin
 * was closed. */
int peer_send(struct peer *p);
size_t peer_unsent(const struct peer *p);
/* Reads once from its stdout. 1; 0: nothing now; -1: it has closed its stdout. */
int peer_receive(struct peer *p);
/* The next line that it has said, without its LF, valid until more is received or it is ended:
 * 1; 0: none is whole; -1: it is above 256 MiB. */
int peer_line(struct peer *p, struct span *line);
/* Number of bytes received that were not returned as lines. */
size_t peer_untaken(const struct peer *p);
/* Reads its stderr as far as available; and adds bytes that count as its stderr. At least the last
 * 8 KiB are kept. */
void peer_read_errors(struct peer *p);
void peer_keep_errors(struct peer *p, const char *bytes, size_t len);

/* Polling peers beside others: fill fds, poll them, serve. -1: it has closed its stdout. */
void peer_poll(const struct peer *p, struct pollfd fds[PEER_FDS]);
int peer_serve(struct peer *p, const struct pollfd fds[PEER_FDS]);
/* Waits for one once, then serves it. */
enum peer_event {
	PEER_SERVED,      /* lines may have arrived, and some of outgoing may have been written */
	PEER_GONE,        /* it has closed its stdout: peer_end() tells how it ended */
	PEER_LATE,        /* the deadline (clock_monotonic(); 0: none) is over */
	PEER_INTERRUPTED  /* interrupted, or an error of the machine: err */
};
enum peer_event peer_wait(struct peer *p, int64_t deadline, const struct interrupts *interrupts,
    struct error *err);

/* Ends it in two steps, so that several can end at the same time; the second includes the first.
 * Returns the wait status; -1 if that is unavailable, or it is not a child. Outgoing and incoming
 * bytes are dropped, errors are kept. It can be started again. */
void peer_hang_up(struct peer *p);
int peer_end(struct peer *p);
/* Closes its pipes and forgets it: of a process made by fork(), whose parent's it is. */
void peer_forget(struct peer *p);
/* For one that has ended or was forgotten. */
void peer_free(struct peer *p);

#endif
