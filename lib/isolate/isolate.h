/*
 * Isolation: runs a function in a child process that cannot change or reach anything outside, so
 * that a recorded workflow can be run again safely.
 *
 * What holds inside:
 *
 *  - Everything is read-only, except: the workspace, which shows a directory (a snapshot, or
 *    itself) and discards all changes at the end; private empty /tmp, /var/tmp, /dev/shm, /run,
 *    /home, /root and HOME; and the directories that the caller makes writable. Visible
 *    directories and regular files are seen at their own paths even below one of these. If a path
 *    has several roles, the last of these holds: visible, private, workspace, writable.
 *  - No file system of the host is seen directly except the writable directories: all others are
 *    behind overlays, so their sockets and pipes do not reach the host. A file system that
 *    cannot be in an overlay is replaced by an empty directory.
 *  - The network is only a loopback interface. Processes, IPC and the host name are separate;
 *    /proc shows the processes inside, /dev has what programs expect. User and group ids are
 *    those outside.
 *  - stdin is /dev/null; stdout and stderr are the caller's; no other descriptor is open. (A file
 *    on stdin could be opened for writing through /proc: open the workflow's input inside.) It
 *    is a session without a terminal.
 *  - Programs executed by the function cannot see the caller's memory, including its environment.
 *  - All capabilities are dropped, in a second user namespace: mounts cannot be undone, and
 *    namespaces cannot be entered. no_new_privs is set.
 *  - When the function returns, or one of the two processes above it dies, even by SIGKILL, all
 *    processes that it started die.
 *
 * Limits: the caller's umask is kept, and may be changed inside; a directory that was in the
 * workspace before cannot be renamed by rename() (EXDEV; mv copies it). AF_VSOCK is not restricted,
 * as no namespace of Linux covers it.
 *
 * Every part is required. Linux 5.11 is enough, if it lets the user make user namespaces.
 */
#ifndef AWF_ISOLATE_ISOLATE_H
#define AWF_ISOLATE_ISOLATE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* Directories that are private and empty, besides HOME and /dev/shm; ends with NULL. */
extern const char *const isolate_private[];

/* Something that is shown at another path: a directory, or a file below a private directory. */
struct isolate_shown {
	const char *at, *source;     /* absolute; at need not exist */
	bool itself;                 /* for a file: if `at` is a symbolic link, replace the link
	                                itself, not its target */
};

struct isolate_spec {
	const char *workspace;       /* absolute; need not exist if source is given */
	const char *source;          /* directory that is shown as the workspace; NULL: the
	                                workspace itself */
	const char *scratch;         /* existing directory on disk, in which changes are stored
	                                until the end; NULL: they are kept in memory, also if an
	                                overlay cannot use the directory */
	const char *const *visible;  /* absolute; ends with NULL; may be NULL. Missing paths
	                                are skipped */
	const char *const *writable; /* the same, but these must exist */
	const struct isolate_shown *shown; /* further visible directories and files; ends with at
	                                      NULL; may be NULL */
	const struct isolate_shown *files; /* regular files that are shown in place of other files
	                                      outside of the workspace; ends with at NULL; may be
	                                      NULL */
	const char *directory;       /* working directory at the start; NULL: the workspace */
	const char *host_name;       /* NULL: the machine's own */
	pid_t first_pid;             /* pid of the process that calls the function, above 1; 0: 2 */
};

struct isolate_end {
	int wait_status;   /* of the process that called the function; its exit status is what the
	                      function returned */
	int signal_number; /* last signal passed on to it; 0: none */
};

/* Runs inside(context) isolated and waits for its end, passing on SIGHUP, SIGINT, SIGQUIT and
 * SIGTERM. The process should have one thread. -1 (ERROR_SYSTEM): inside was not run; the message
 * names the part that the system refused, or says that this process cannot wait for children (it
 * ignores SIGCHLD, or has set SA_NOCLDWAIT). */
int isolate_run(const struct isolate_spec *spec, int (*inside)(void *context), void *context,
    struct isolate_end *end, struct error *err);

#endif
