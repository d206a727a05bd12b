/*
 * Isolation: runs a function in a child process that cannot change or reach anything outside, so
 * that a recorded workflow can be run again safely.
 *
 * What holds inside:
 *   - All is read-only, except the workspace, which shows a directory (a snapshot, or itself) and
 *     forgets every change at the end; private empty /tmp, /var/tmp, /dev/shm, /run, /home, /root
 *     and HOME; and the directories that the caller names as writable. Directories and regular
 *     files named as visible are seen at their own paths even where they lie below one of these.
 *     Of two places of one path the later holds: visible, private, workspace, writable.
 *   - No file system of the host is seen itself but what is writable: all others stand behind
 *     overlays, whose sockets and pipes are not those of the host. One that takes no overlay is
 *     not seen: an empty directory stands in its place.
 *   - The network is a loopback interface of its own. Processes, IPC and the host name are its
 *     own; /proc shows them, /dev has what every program expects. User and group ids are those
 *     outside.
 *   - stdin is /dev/null; stdout and stderr are the caller's; no other descriptor is open. (A file
 *     on stdin could be opened for writing through /proc: what the workflow is to read is opened
 *     inside.) It is a session without a terminal.
 *   - What the caller's process holds in memory, its environment too, is not seen by the programs
 *     that the function executes.
 *   - All capabilities are gone, in a second user namespace: no mount is undone, no namespace
 *     entered from there. no_new_privs is set.
 *   - When the function returns, or either of the two processes above it dies, by SIGKILL too, all
 *     that it started dies.
 *
 * What the function does not find: the caller's umask is kept, to be changed there; a directory of
 * the workspace that was there before cannot be renamed by rename() (EXDEV; mv copies it).
 *
 * AF_VSOCK, which no namespace of Linux holds back, is not held back here.
 *
 * There is no part of it to do without. Linux 5.11 has what it needs, if it lets the user make
 * user namespaces.
 */
#ifndef AWF_ISOLATE_ISOLATE_H
#define AWF_ISOLATE_ISOLATE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* The directories that are private and empty, besides HOME and /dev/shm; ends with NULL. */
extern const char *const isolate_private[];

/* What is seen at another path than its own: a directory, or a file below a private
 * one. */
struct isolate_shown {
	const char *at, *source;     /* absolute; at need not exist */
	bool itself;                 /* of a file: a symbolic link at its path is none of it then; else
	                                it is shown where that leads */
};

struct isolate_spec {
	const char *workspace;       /* absolute; it need not exist if source is given */
	const char *source;          /* what is shown there; NULL: the workspace itself */
	const char *scratch;         /* existing directory on disk below which the changes
	                                are kept, and removed at the end; NULL, or where an
	                                overlay cannot write there: memory */
	const char *const *visible;  /* absolute; ends with NULL; may be NULL. What does not
	                                exist is passed over */
	const char *const *writable; /* likewise, but these exist */
	const struct isolate_shown *shown; /* visible too; ends with at NULL; may be NULL */
	const struct isolate_shown *files; /* regular files that are seen at their paths, outside
	                                of the workspace, whatever is there; ends with at NULL;
	                                may be NULL */
	const char *directory;       /* to start in; NULL: the workspace */
	const char *host_name;       /* NULL: the machine's */
	pid_t first_pid;             /* of the function's process, above 1; 0: 2 */
};

struct isolate_end {
	int wait_status;   /* of the function's process: what it returned is its exit status */
	int signal_number; /* the last that was passed on to it; 0: none */
};

/* Runs inside(context) isolated and waits for its end, passing on SIGHUP, SIGINT,
 * SIGQUIT and SIGTERM. The process should have one thread. -1: ERROR_SYSTEM, which
 * names the part that the system refused, or says that this process keeps no ends of its
 * children (it ignores SIGCHLD, or has set SA_NOCLDWAIT), so that nobody could wait; nothing of
 * inside has run. */
int isolate_run(const struct isolate_spec *spec, int (*inside)(void *context), void *context,
    struct isolate_end *end, struct error *err);

#endif
