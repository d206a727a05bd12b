/*
 * The kernel lists the children of this process (/proc/PID/task/PID/children); without that list,
 * pids are tried. A child counts as an orphan only if it started late enough: the start time
 * survives a setsid() and a change of parent. A tree is stopped at its root before it is signalled,
 * so that it does not fork meanwhile.
 */
#include "proc/orphans.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "proc/descendants.h"
#include "proc/process.h"
#include "system/self.h"

/* When a process began; 0 if it is gone. */
static int64_t
process_began(pid_t pid)
{
	struct process_stat s;

	return process_stat(pid, &s) ? s.birth : 0;
}

/* Whether its environment has NAME=mark, or NAME=mark/… of a mark inside it. */
static bool
process_marked(pid_t pid, const char *mark)
{
	static const char name[] = ORPHANS_MARK "=";
	struct buffer text = BUFFER_INIT;
	size_t len = strlen(mark);
	bool found = false;

	if (process_read(pid, "environ", &text))
		for (const char *at = buffer_string(&text), *end = at + text.len;
		    at < end && !found; at += strlen(at) + 1)
			found = strncmp(at, name, sizeof name - 1) == 0 &&
			    strncmp(at + sizeof name - 1, mark, len) == 0 &&
			    (at[sizeof name - 1 + len] == '\0' ||
			    at[sizeof name - 1 + len] == '/');
	buffer_free(&text);
	return found;
}

void
tree_signal(pid_t root, int signal_number)
{
	INVARIANT(root > 0 && root != getpid());
	/* Without subreapers what it has started is known by its group. */
	if (SELF_NEEDS_GROUPS && getpgid(root) == root)
		root = -root;
	kill(root, SIGSTOP);
	if (root > 0)
		descendants_signal(root, signal_number, NULL);
	kill(root, signal_number);
	kill(root, SIGCONT);
}

void
orphans_begin(struct orphans *o, pid_t pid, const char *mark)
{
	*o = (struct orphans){ mark == NULL ? NULL : memory_text(mark), process_began(pid),
	    NULL, 0 };
}

bool
orphans_end(struct orphans *o, int signal_number, const pid_t *spare)
{
	struct children children = { 0, 0, false };
	struct buffer list = BUFFER_INIT;
	char name[48], *at;
	bool alive = false, listed, ended;
	pid_t pid;

	snprintf(name, sizeof name, "task/%ld/children", (long)getpid());
	listed = process_read(getpid(), name, &list);
	at = listed ? (char *)(uintptr_t)buffer_string(&list) : NULL;
	while ((pid = listed ? (pid_t)strtol(at, &at, 10) :
	    descendants_next_child(&children, &ended)) != 0) {
		size_t i = 0;

		/* A process that is not spared is an orphan if it lives, began late enough, and
		 * has the mark. */
		if (pids_have(spare, pid) || descendants_kept(pid) || descendants_detached(pid) ||
		    waitpid(pid, NULL, WNOHANG) != 0 || process_began(pid) < o->since ||
		    (o->mark != NULL && !process_marked(pid, o->mark)))
			continue;
		alive = true;
		while (i < o->signalled_count && o->signalled[i] != pid)
			i++;
		if (i == o->signalled_count) {
			o->signalled = memory_array(o->signalled, o->signalled_count + 1, sizeof *o->signalled);
			o->signalled[o->signalled_count++] = pid;
		} else if (signal_number != SIGKILL) {
			continue;
		}
		tree_signal(pid, signal_number);
	}
	buffer_free(&list);
	return alive;
}

void
orphans_free(struct orphans *o)
{
	free(o->mark);
	free(o->signalled);
	*o = (struct orphans){ NULL, 0, NULL, 0 };
}
