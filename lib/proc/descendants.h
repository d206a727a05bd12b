/*
 * All descendants of a process, a setsid() child too, found through /proc. With
 * the caller as child subreaper, orphans of what it runs stay its descendants.
 *
 * Where /proc is not mounted a process finds its own children alone, and those of others
 * not at all: a tree is ended from its root, as whose parent has gone becomes the
 * subreaper's child. It takes a signal longer to get to the leaves, and nobody is known to
 * go a way of its own.
 */
#ifndef AWF_PROC_DESCENDANTS_H
#define AWF_PROC_DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Whether a list that ends with 0 (NULL: an empty one) has the process. */
bool pids_have(const pid_t *list, pid_t pid);
/* Becomes the parent of orphaned descendants (PR_SET_CHILD_SUBREAPER). */
void descendants_adopt(void);
/* Children of this process that live on whatever becomes of the others, with all that
 * they start: they count as descendants for none of these functions, nor as orphans,
 * until they are released. */
void descendants_keep(pid_t child);
void descendants_release(pid_t child);
bool descendants_kept(pid_t child);
/* This process goes a way of its own from now on, with all that it starts: in a session
 * of its own, and a descendant for none of these functions, whoever calls them. */
void descendants_detach(void);
/* This process is a guardian's helper (proc/guardian.h): a descendant for none of these
 * functions either, deaf to what ends others, and killed with its guardian. False: that has
 * gone already. */
bool descendants_help(pid_t guardian);
/* Whether a process has done one or the other. */
bool descendants_detached(pid_t pid);
/* For the rest of this process nobody goes a way of its own: its descendants are not to
 * be trusted. */
void descendants_spare_none(void);
/* Sends a signal to every descendant of ancestor (not to itself, nor to those in
 * spare, which ends with 0 and may be NULL, nor to theirs); descendants that are
 * stopped get SIGCONT too. Signal 0 only counts. Returns how many living ones there
 * were. */
size_t descendants_signal(pid_t ancestor, int signal_number, const pid_t *spare);
/* Whether this process, which has one thread, has no children but these (ends with 0), and so no
 * other descendants than theirs. Where the kernel does not tell it is false. */
bool descendants_are(const pid_t *children);
/* The children of this process one by one, asked of the kernel without /proc; 0 after the
 * last. *ended: it is dead, and not waited for. c is all 0 at the first. */
struct children {
	pid_t next, last;
	bool wrapped;
};
pid_t descendants_next_child(struct children *c, bool *ended);
/* Sends a signal that this process got to its children, where whoever sent it could not
 * find them. */
void descendants_pass_on(int signal_number);
/* This process gives its descendants so much less time to end, in ms: whoever ends it and
 * them at once is to leave it time to say so. */
void descendants_hurry(int less);
/* Signal, SIGTERM after one second if it was another, SIGKILL 5 s after the
 * first, until none is left; those of them that are children of this process are
 * reaped. Then 0; 1 if some could not be killed within another 5 s. */
int descendants_end(pid_t ancestor, int signal_number, const pid_t *spare);

#endif
