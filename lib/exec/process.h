/*
 * Starting programs. A child gets exactly the descriptors asked for, default
 * signal dispositions and an empty signal mask; it is started with vfork
 * semantics, so that a large parent costs nothing.
 */
#ifndef AWF_EXEC_PROCESS_H
#define AWF_EXEC_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

enum { PROCESS_INHERIT = -1, PROCESS_NULL = -2, PROCESS_PIPE = -3 };

struct process_spec {
	char *const *argv;
	char *const *environment;  /* NULL: this process's */
	const char *directory;     /* NULL: this one */
	int in, out, err;          /* a descriptor, or PROCESS_… */
	bool group;                /* a process group of its own */
};
struct process {
	pid_t pid;
	int in, out, err;          /* our ends of pipes, non-blocking, CLOEXEC; -1 */
	const char *name;
};

/* argv[0] with a slash is a path, else it is looked up in PATH. ERROR_EXIT_STATUS
 * with errno kept when it cannot be run: *exit_code (may be NULL) is 127 for "not
 * found", 126 for anything else. */
int process_start(struct process *p, const struct process_spec *spec, int *exit_code,
    struct error *err);
/* Exit code as shells count it (128 + signal). */
int process_exit_code(int wait_status);
/* "exit status 3", "killed by signal 9 (Killed)"; returns buf. */
const char *process_status_text(int wait_status, char *buf, size_t size);

#endif
