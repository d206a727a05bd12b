/*
 * Each look reads /proc/PID/stat of all processes and goes up from each to its ancestors. A look is
 * not a snapshot: a process that forks meanwhile may be missed. So signals are sent in look after
 * look, until two looks in a row find nothing. Without /proc, children are found by calling
 * waitid(2), which does not reap them, for every pid from this process's own to that of a child
 * made for the purpose.
 */
#include "proc/descendants.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifndef AWF_PORTABLE
#include <sys/syscall.h>
#endif

#include "base/clock.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/patience.h"
#include "io/file.h"
#include "io/polling.h"
#include "proc/process.h"
#include "system/self.h"

enum {
	LOOK_AGAIN_MIN = 2, /* ms */
	KILLS_LEAST = 5,    /* how often SIGKILL is sent at least before it counts as useless */
	LOOK_AGAIN_MAX = 50
};

/* The names by which all others know a process that goes a way of its own. No program has one of them. */
#define DETACHED_NAME "awf-detached"
#define HELPER_NAME "awf-helper"

struct entry {
	pid_t pid, parent;
	bool dead, stopped, detached;
};

/* All processes, by ascending pid. */
struct table {
	struct entry *entries;
	size_t count, capacity;
};

void
descendants_adopt(void)
{
	self_adopt();
}

static struct {
	pid_t *pids;
	size_t count;
} kept;

static bool unsparing;

void
descendants_spare_none(void)
{
	unsparing = true;
}

static int hurry;

void
descendants_hurry(int less)
{
	hurry = less;
}

void
descendants_keep(pid_t child)
{
	INVARIANT(child > 0);
	kept.pids = memory_array(kept.pids, kept.count + 1, sizeof *kept.pids);
	kept.pids[kept.count++] = child;
}

void
descendants_release(pid_t child)
{
	for (size_t i = 0; i < kept.count; i++)
		if (kept.pids[i] == child)
			kept.pids[i--] = kept.pids[--kept.count];
	INVARIANT(!descendants_kept(child));
	if (kept.count > 0)
		return;
	free(kept.pids);
	kept.pids = NULL;
}

bool
descendants_kept(pid_t child)
{
	for (size_t i = 0; i < kept.count; i++)
		if (kept.pids[i] == child)
			return true;
	return false;
}

void
descendants_detach(void)
{
	self_name(DETACHED_NAME);
	setsid();
}

bool
descendants_help(pid_t guardian)
{
	static const int others[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
		sigaction(others[i], &ignore, NULL);
	self_name(HELPER_NAME);
	self_die_with_parent(SIGKILL);
	return getppid() == guardian;
}

static bool
is_detached(const struct process_stat *s)
{
	return !unsparing &&
	    (strcmp(s->name, DETACHED_NAME) == 0 || strcmp(s->name, HELPER_NAME) == 0);
}

bool
descendants_detached(pid_t pid)
{
	struct process_stat s;

	return process_stat(pid, &s) && is_detached(&s);
}

/* ---- without /proc ---- */

#ifndef AWF_PORTABLE
#define PID_LIMIT 4194304 /* no kernel has more */
#define WAIT_ANY_KIND __WALL /* that child sends no SIGCHLD */
#else
#define PID_LIMIT 99999 /* of macOS and the BSDs */
#define WAIT_ANY_KIND 0
#endif

/* The most recently assigned pid: that of a child that exits at once. */
static pid_t
pid_now(void)
{
#ifndef AWF_PORTABLE
	pid_t pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
#else
	pid_t pid = fork();
#endif

	if (pid == 0)
		_exit(0);
	if (pid > 0) {
		while (waitpid(pid, NULL, WAIT_ANY_KIND) == -1 && errno == EINTR)
			;
		return pid;
	}
	return PID_LIMIT;
}

/* The first child of this process from first to last, 0 if there is none; *ended: whether it is
 * dead. Other processes are not found, since waitid() fails for them. */
static pid_t
find_child(pid_t first, pid_t last, bool *ended)
{
	for (pid_t pid = first; pid <= last; pid++) {
		siginfo_t info = { .si_pid = 0 };

		if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
			continue;
		*ended = info.si_pid == pid;
		return pid;
	}
	return 0;
}

/* All children of this process were made after it, but pids may have started again from the
 * beginning. */
pid_t
descendants_next_child(struct children *c, bool *ended)
{
	pid_t self = getpid(), found;

	if (c->last == 0) {
		c->last = pid_now();
		c->next = self + 1;
		c->wrapped = c->last < self;
	}
	if (c->wrapped) {
		found = find_child(c->next, PID_LIMIT, ended);
		c->next = found + 1;
		if (found != 0)
			return found;
		c->wrapped = false;
	}
	found = find_child(c->next, c->last, ended);
	c->next = found == 0 ? c->last + 1 : found + 1;
	return found;
}

bool
pids_have(const pid_t *list, pid_t pid)
{
	for (; list != NULL && *list != 0; list++)
		if (*list == pid)
			return true;
	return false;
}

/* As descendants_visit(), for children only: when a child is gone, its children become this
 * process's. A child that leads a process group gets the signal for the whole group. */
static size_t
visit_children(int signal_number, const pid_t *spare, bool reap)
{
	struct children children = { 0, 0, false };
	size_t count = 0;
	bool ended;
	pid_t pid;

	while ((pid = descendants_next_child(&children, &ended)) != 0) {
		if (pids_have(spare, pid) || descendants_kept(pid))
			continue;
		if (ended) {
			if (reap)
				waitpid(pid, NULL, WNOHANG);
			continue;
		}
		count++;
		if (signal_number == 0)
			continue;
		kill(getpgid(pid) == pid ? -pid : pid, signal_number);
		if (signal_number != SIGKILL)
			kill(pid, SIGCONT);
	}
	return count;
}

void
descendants_pass_on(int signal_number)
{
	if (!process_all_are_listed())
		visit_children(signal_number, NULL, false);
}

/* ---- all processes ---- */

static int
by_pid(const void *a, const void *b)
{
	pid_t left = ((const struct entry *)a)->pid, right = ((const struct entry *)b)->pid;

	return (left > right) - (left < right);
}

static void
table_load(struct table *t)
{
	DIR *proc = process_all_are_listed() ? opendir("/proc") : NULL;
	struct dirent *found;

	*t = (struct table){ NULL, 0, 0 };
	if (proc == NULL)
		return;
	while ((found = readdir(proc)) != NULL) {
		pid_t pid = (pid_t)strtol(found->d_name, NULL, 10);
		struct process_stat s;

		if (pid <= 0 || !process_stat(pid, &s))
			continue;
		if (t->count == t->capacity) {
			t->capacity = t->capacity == 0 ? 256 : t->capacity * 2;
			t->entries = memory_array(t->entries, t->capacity, sizeof *t->entries);
		}
		t->entries[t->count++] = (struct entry){ pid, s.parent, s.state == 'Z' || s.state == 'X',
		    s.state == 'T', is_detached(&s) };
	}
	closedir(proc);
	if (t->count > 0)
		qsort(t->entries, t->count, sizeof *t->entries, by_pid);
}

/* By ascending pid, as bsearch() needs it. */
static bool
table_holds(const struct table *t)
{
	for (size_t i = 1; i < t->count; i++)
		if (t->entries[i - 1].pid > t->entries[i].pid)
			return false;
	return t->count <= t->capacity;
}

/* Goes up from e; the number of steps is limited, because the table may contain a circle if a
 * pid was reused while it was read. */
static bool
descendants_descends_from(const struct table *t, const struct entry *e, pid_t ancestor,
    const pid_t *spare)
{
	for (size_t steps = 0; e != NULL && steps < t->count; steps++) {
		const struct entry parent = { .pid = e->parent };

		if (e->detached || pids_have(spare, e->pid) || descendants_kept(e->pid))
			return false;
		if (e->parent == ancestor)
			return true;
		e = bsearch(&parent, t->entries, t->count, sizeof *t->entries, by_pid);
	}
	return false;
}

/* Signals (0: none) the living descendants and returns their number; with reap,
 * dead children of this process among them are waited for. */
static size_t
descendants_visit(pid_t ancestor, int signal_number, const pid_t *spare, bool reap)
{
	struct table t;
	size_t count = 0;

	table_load(&t);
	INVARIANT(table_holds(&t));
	if (t.count == 0)
		return ancestor == getpid() ? visit_children(signal_number, spare, reap) : 0;
	/* Stop all before killing any, so that none sees another die and reacts: after pids have
	 * wrapped around they do not tell parents from children. */
	for (size_t i = 0; signal_number == SIGKILL && i < t.count; i++)
		if (!t.entries[i].dead && descendants_descends_from(&t, &t.entries[i], ancestor,
		    spare))
			kill(t.entries[i].pid, SIGSTOP);
	for (size_t i = 0; i < t.count; i++) {
		const struct entry *e = &t.entries[i];

		if (!descendants_descends_from(&t, e, ancestor, spare))
			continue;
		if (e->dead) {
			if (reap && e->parent == getpid())
				waitpid(e->pid, NULL, WNOHANG);
			continue;
		}
		count++;
		if (signal_number == 0)
			continue;
		kill(e->pid, signal_number);
		if (e->stopped && signal_number != SIGKILL)
			kill(e->pid, SIGCONT);
	}
	free(t.entries);
	return count;
}

bool
descendants_are(const pid_t *children)
{
	char path[64], text[1024], *at = text, *end;
	ssize_t len;
	int fd;

	/* The kernel's list has a child until this process waits for it: none is missed while
	 * others end. */
	if (!process_all_are_listed())
		return false;
	snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd == -1 ? -1 : read(fd, text, sizeof text - 1);
	file_close(&fd);
	if (len < 0 || len == sizeof text - 1)
		return false;
	text[len] = '\0';
	for (long pid; (pid = strtol(at, &end, 10)) != 0; at = end)
		if (!pids_have(children, (pid_t)pid))
			return false;
	return true;
}

size_t
descendants_signal(pid_t ancestor, int signal_number, const pid_t *spare)
{
	return descendants_visit(ancestor, signal_number, spare, false);
}

int
descendants_end(pid_t ancestor, int signal_number, const pid_t *spare)
{
	int64_t began = clock_monotonic(), killed = 0, elapsed;
	int sent = 0, kills = 0, pause = LOOK_AGAIN_MIN, quiet = 0, number;

	/* Even if this process was stopped meanwhile, or looks slowly, everything is killed
	 * often enough before it gives up. */
	while (kills < KILLS_LEAST || clock_monotonic() - killed < GRACE_MS) {
		elapsed = clock_monotonic() - began;
		/* The first signal once, SIGTERM once, then SIGKILL again and again, as dying
		 * processes may have forked. */
		number = 0;
		if (signal_number == SIGKILL || elapsed >= GRACE_MS - hurry)
			number = sent = SIGKILL;
		else if (sent == 0)
			number = sent = signal_number;
		else if (sent != SIGTERM && elapsed >= TERMINATE_MS)
			number = sent = SIGTERM;
		if (number == SIGKILL && kills++ == 0)
			killed = began + elapsed;
		if (descendants_visit(ancestor, number, spare, true) != 0) {
			quiet = 0;
			poll_one(-1, 0, clock_monotonic() + pause);
			if (pause < LOOK_AGAIN_MAX)
				pause *= 2;
		} else if (++quiet == 2) {
			/* One look can miss a child whose parent died during it. */
			return 0;
		}
	}
	return 1;
}
