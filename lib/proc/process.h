/*
 * Starting programs. A child gets the three descriptors of the spec and no others, unless it is to
 * inherit them; an empty signal mask; and default signal actions, except that SIGHUP, SIGINT and
 * SIGQUIT stay ignored if this process was started so (nohup, `&` in a script). It is started with
 * vfork semantics (posix_spawn), so that a large parent does not slow it down. An executable file
 * that is not a program is run by /bin/sh, as execvp() does.
 */
#ifndef AWF_PROC_PROCESS_H
#define AWF_PROC_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"

/* PROCESS_INPUT, only for in: the input is complete before the program starts, so it does
 * not depend on this process's life. It is a pipe if that has enough room, otherwise an
 * unnamed file. */
enum { PROCESS_INHERIT = -1, PROCESS_NULL = -2, PROCESS_PIPE = -3, PROCESS_INPUT = -4 };
enum { PROCESS_CANNOT_RUN = 126, PROCESS_NOT_FOUND = 127 };

struct process_spec {
	char *const *argv;
	char *const *environment;  /* NULL: this process's */
	const char *directory;     /* NULL: this one */
	bool elsewhere;            /* it was looked for in the workflow's directory, too */
	int in, out, err;          /* a descriptor, or PROCESS_… */
	const char *input;         /* of PROCESS_INPUT */
	size_t input_len;
	bool group;                /* in a new process group */
	bool session;              /* in a new session without a terminal */
	int terminal;              /* put it into the foreground of this terminal; 0: none */
	bool inherit;              /* descriptors above 2 that are not CLOEXEC too:
	                              what the user's shell handed down, <(…) */
};
struct process {
	pid_t pid;
	int in, out, err;          /* this process's ends of pipes, non-blocking, CLOEXEC; -1 */
	const char *name;
};

/* argv[0] with a slash is a path; otherwise it is looked up in the PATH of the child's environment.
 * If it cannot be executed: ERROR_EXIT_STATUS with errno, and *exit_code (may be NULL) is 127 for
 * "not found", 126 for anything else. If there are no pipes or processes left: ERROR_SYSTEM
 * (*exit_code 126). */
int process_start(struct process *p, const struct process_spec *spec, int *exit_code,
    struct error *err);
/* Makes argv the shell that runs a text, which stays the caller's. */
void process_shell(char *argv[4], const char *text);
/* Exit code as shells count it (128 + signal). */
int process_exit_code(int wait_status);
/* "exit status 3", "killed by signal 9 (Killed)"; returns buf. */
const char *process_status_text(int wait_status, char *buf, size_t size);
/* Whether /proc tells about all processes, as on Linux. */
bool process_all_are_listed(void);
/* Appends all of /proc/PID/NAME. False: it is gone, or not ours to look at. */
bool process_read(pid_t pid, const char *name, struct buffer *text);
/* A process, as described in /proc/PID/stat. */
struct process_stat {
	char name[64];
	char state;                /* 'Z' and 'X' dead, 'T' stopped; proc(5) */
	pid_t parent;
	int64_t birth;             /* when it began, in ticks since the machine's start */
};
/* False if it is gone, or /proc does not say. */
bool process_stat(pid_t pid, struct process_stat *s);
/* When a process began, in ticks since the machine's start, which tells it from another
 * that got its pid; 0 if /proc does not say, -1 if it is gone, be it reaped or not. */
int64_t process_birth(pid_t pid);

#endif
