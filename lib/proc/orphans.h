/*
 * Orphans: processes whose parent, inside a subprocess or a peer, has ended, so that they became
 * children of this process (descendants_adopt()). They are ended together with the subprocess. A
 * child of this process counts as its orphan if it is not the subprocess itself, is not spared,
 * and began later; if several subprocesses run at once, a mark in the environment shows to which
 * one an orphan belongs.
 */
#ifndef AWF_PROC_ORPHANS_H
#define AWF_PROC_ORPHANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ORPHANS_MARK "AWF_BODY"

struct orphans {
	char *mark;               /* value of ORPHANS_MARK; NULL: one runs alone */
	int64_t since;            /* when it began (struct process_stat) */
	pid_t *signalled;
	size_t signalled_count;
};

/* Signals a process and all its descendants. The process is stopped meanwhile, so that a shell does
 * not start its next command because this one was killed. */
void tree_signal(pid_t root, int signal_number);

/* pid must not have been waited for yet. */
void orphans_begin(struct orphans *o, pid_t pid, const char *mark);
/* Sends the signal to orphans and their descendants, SIGTERM only once to each, and reaps
 * dead ones. Returns whether some live. spare: children of this process that are not orphans;
 * ends with 0. */
bool orphans_end(struct orphans *o, int signal_number, const pid_t *spare);
void orphans_free(struct orphans *o);

#endif
