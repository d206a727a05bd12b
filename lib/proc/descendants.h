/*
 * Finds, signals and ends all descendants of a process, including setsid() children, through
 * /proc. If the caller is a child subreaper, orphaned processes stay its descendants.
 *
 * Without /proc, a process finds only its own children. A tree is then ended from its root, as
 * orphans become children of the subreaper: a signal takes longer to reach the leaves, and
 * detached processes are not recognized.
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
/* Exempts a child of this process and its descendants: until it is released, none of these
 * functions treats them as descendants or orphans, so they are not ended with the others. */
void descendants_keep(pid_t child);
void descendants_release(pid_t child);
bool descendants_kept(pid_t child);
/* Detaches this process and its future children: it gets a session of its own, and no process
 * treats it as a descendant in these functions any more. */
void descendants_detach(void);
/* Makes this process a guardian's helper (proc/guardian.h): none of these functions treats it as a
 * descendant, signals that end others do not reach it, and it is killed with its guardian. Returns
 * false if the guardian has already died. */
bool descendants_help(pid_t guardian);
/* Whether a process has called one of the two functions above. */
bool descendants_detached(pid_t pid);
/* From now on this process ignores that descendants were detached, because they are not
 * trusted. */
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
/* Reduces the time that this process gives its descendants to end, in ms, so that it can still
 * record the end if it is being ended itself at the same time. */
void descendants_hurry(int less);
/* Signal, SIGTERM after one second if it was another, SIGKILL 5 s after the
 * first, until none is left; those of them that are children of this process are
 * reaped. Then 0; 1 if some could not be killed within another 5 s. */
int descendants_end(pid_t ancestor, int signal_number, const pid_t *spare);

#endif
