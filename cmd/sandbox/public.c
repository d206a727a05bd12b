/*
 * The mount needs a user namespace that maps the owners of its files. A process is made to hold
 * that namespace: it executes nothing, and ends when the namespace was opened.
 *
 * The search is one pass over the tree that examines each entry once. A directory becomes one rule
 * if all files below it are readable by everybody; otherwise each readable part becomes a rule, and
 * its names may be listed unless a directory below it is closed, whose names would be visible too.
 * So a few closed files cost a few more rules. Whether all files are readable is known only at the
 * end of a directory, so the names of readable entries are kept until then. Symbolic links are
 * visible to all: their targets are examined where they are.
 */
#define _GNU_SOURCE /* clone(), getdents64(), O_PATH, d_type */
#include "sandbox/public.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "isolate/keeper.h"
#include "isolate/mounts.h"
#include "sandbox/resolve.h"

enum {
	DEPTH = 64,           /* deeper directories count as closed */
	ENTRIES_SIZE = 16384, /* bytes of a directory that are read at once */
	LEFT_OPEN = 256
};

/* ---- the mount ---- */

#define NOBODY "0 65534 1\n" /* files of root get this owner, all others the overflow user */
enum { WAITING_STACK = 4096 };

/* It is killed at the latest when its parent dies. */
static int
wait_for_the_end(void *parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == *(const pid_t *)parent)
		while (pause() == -1)
			;
	return 0;
}

static int
write_map(pid_t pid, const char *name)
{
	char *path = memory_format("/proc/%ld/%s", (long)pid, name);
	int failed = setting_write(path, NOBODY);

	free(path);
	return failed;
}

/* Makes a user namespace in which files of root belong to nobody who runs here. -1 with errno. */
static int
nobodys_namespace(void)
{
	alignas(16) char stack[WAITING_STACK]; /* shared with this process (CLONE_VM), so the child
	                                          must end first */
	pid_t parent = getpid();
	const pid_t pid = clone(wait_for_the_end, stack + sizeof stack,
	    CLONE_VM | CLONE_NEWUSER | SIGCHLD, &parent);
	char *path;
	int fd = -1, reason;

	if (pid < 0)
		return -1;
	path = memory_format("/proc/%ld/ns/user", (long)pid);
	if (write_map(pid, "uid_map") == 0 && write_map(pid, "gid_map") == 0)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	reason = errno;
	free(path);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	errno = reason;
	return fd;
}

int
public_tree(const char *directory)
{
	struct mount_attributes seen = { .set = MOUNTS_IDMAP | MOUNTS_READ_ONLY | MOUNTS_NOSUID };
	int at = resolve_exact(directory), tree, failed, reason, names;

	if (at == -1)
		return -1;
	tree = mounts_clone(at);
	close(at);
	if (tree == -1)
		return -1;
	names = nobodys_namespace();
	seen.user_namespace = (uint64_t)names;
	failed = names == -1 ? -1 : mounts_set(tree, "", AT_EMPTY_PATH | MOUNTS_RECURSIVE, &seen);
	reason = errno;
	if (names != -1)
		close(names);
	if (failed != 0)
		close(tree);
	errno = reason;
	return failed != 0 ? -1 : tree;
}

/* ---- the search ---- */

struct walk {
	struct landlock *rules;
	const char *top;      /* for errors */
	struct buffer names;  /* readable names in the enclosing directories, each with a NUL */
	int depth;
	int left_open;        /* descriptors below this are left for the exit of the process to
	                         close, when nobody waits for it */
	struct error *err;
};

/* What was seen of an entry; for a directory, the minimum of its entries. SIGHT_PARTS: a closed
 * file, or a directory with one; SIGHT_SHUT: a closed directory, or a directory with one. For both,
 * rules for the readable parts were added already. */
enum sight { SIGHT_FAILED = -1, SIGHT_SHUT, SIGHT_PARTS, SIGHT_OPEN };

static bool
is_open(mode_t mode)
{
	const mode_t wanted = S_ISDIR(mode) ? S_IROTH | S_IXOTH : S_IROTH;

	return (~mode & wanted) == 0;
}

/* Adds rules for the readable entries of a directory: the names from `at` on. */
static int
allow_parts(struct walk *w, int directory, bool list, size_t at)
{
	int failed = list ? landlock_allow(w->rules, directory, PLACE_LIST, w->top, w->err) : 0;

	for (; failed == 0 && at < w->names.len; at += strlen(w->names.data + at) + 1) {
		int fd = openat(directory, w->names.data + at, O_PATH | O_NOFOLLOW | O_CLOEXEC);

		if (fd == -1) /* it was removed meanwhile */
			continue;
		failed = landlock_allow(w->rules, fd, PLACE_READ, w->top, w->err);
		close(fd);
	}
	return failed;
}

static enum sight public_examine_directory(struct walk *w, int directory);

static enum sight
public_examine_entry(struct walk *w, int directory, const struct dirent64 *entry)
{
	enum sight sight = SIGHT_SHUT;
	struct stat st;
	int fd;

	/* Some file systems do not report the type of an entry. */
	if (entry->d_type != DT_DIR) {
		if (fstatat(directory, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			return SIGHT_SHUT;
		if (!S_ISDIR(st.st_mode))
			return S_ISLNK(st.st_mode) || is_open(st.st_mode) ? SIGHT_OPEN : SIGHT_PARTS;
	}
	fd = w->depth == DEPTH ? -1 :
	    openat(directory, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return SIGHT_SHUT;
	if (fstat(fd, &st) == 0 && is_open(st.st_mode)) {
		w->depth++;
		sight = public_examine_directory(w, fd);
		w->depth--;
	}
	if (fd >= w->left_open)
		close(fd);
	return sight;
}

/* Examines all entries of an open directory. */
static enum sight
public_examine_directory(struct walk *w, int directory)
{
	alignas(struct dirent64) char entries[ENTRIES_SIZE];
	const size_t before = w->names.len;
	enum sight whole = SIGHT_OPEN;
	ssize_t got;

	while ((got = syscall(SYS_getdents64, directory, entries, sizeof entries)) > 0)
		for (const char *at = entries; at < entries + got;) {
			const struct dirent64 *entry = (const void *)at;
			const char *name = entry->d_name;
			enum sight sight;

			at += entry->d_reclen;
			/* Skip links, which most entries are. */
			if (entry->d_type == DT_LNK || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
				continue;
			sight = public_examine_entry(w, directory, entry);
			if (sight == SIGHT_FAILED)
				return SIGHT_FAILED;
			if (sight == SIGHT_OPEN)
				buffer_append(&w->names, name, strlen(name) + 1);
			if (sight < whole)
				whole = sight;
		}
	if (got < 0) /* there may be more entries */
		whole = SIGHT_SHUT;
	if (whole != SIGHT_OPEN && allow_parts(w, directory, whole == SIGHT_PARTS, before) == -1)
		whole = SIGHT_FAILED;
	w->names.len = before;
	return whole;
}

/* ERROR_BLOCKED. */
static int
public_allow_tree(struct landlock *rules, const char *directory, struct error *err)
{
	struct walk w = { .rules = rules, .top = directory, .names = BUFFER_INIT, .err = err };
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), failed = 0;
	enum sight sight = SIGHT_SHUT;
	struct rlimit files;
	struct stat st;

	if (fd == -1)
		return 0;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur / 2 > LEFT_OPEN)
		w.left_open = LEFT_OPEN;
	if (fstat(fd, &st) == 0 && is_open(st.st_mode))
		sight = public_examine_directory(&w, fd);
	if (sight == SIGHT_FAILED ||
	    (sight == SIGHT_OPEN && landlock_allow(rules, fd, PLACE_READ, directory, err) == -1))
		failed = -1;
	close(fd);
	buffer_free(&w.names);
	return failed;
}

int
public_begin(struct public_look *l, struct landlock *rules, const char *directory,
    struct error *err)
{
	struct keeper_report end = { .what = KEEPER_ENDED, .error = ERROR_INIT };
	const pid_t parent = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return error_errno(err, ERROR_BLOCKED, NULL, "unable to make a pipe");
	l->pid = fork();
	if (l->pid == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
			_exit(EXIT_FAILURE);
		if (public_allow_tree(rules, directory, &end.error) == -1)
			end.what = KEEPER_REFUSED;
		keeper_tell(ends[1], &end);
	}
	close(ends[1]);
	if (l->pid < 0) {
		l->pid = 0;
		close(ends[0]);
		return error_errno(err, ERROR_BLOCKED, NULL, "unable to make a process");
	}
	l->report = ends[0];
	return 0;
}

int
public_wait(const struct public_look *l, struct error *err)
{
	struct keeper_report end;

	if (l->report == -1)
		return 0;
	if (!keeper_hear(l->report, &end))
		return error_set(err, ERROR_BLOCKED, NULL, "who looked for what is public was killed");
	if (end.what == KEEPER_REFUSED)
		*err = end.error;
	return end.what == KEEPER_REFUSED ? -1 : 0;
}

void
public_reap(struct public_look *l)
{
	if (l->pid != 0 && waitpid(l->pid, NULL, WNOHANG) == l->pid)
		l->pid = 0;
}

void
public_end(struct public_look *l)
{
	if (l->pid != 0) {
		kill(l->pid, SIGKILL); /* if nobody waited for it */
		waitpid(l->pid, NULL, 0);
	}
	if (l->report != -1)
		close(l->report);
	*l = (struct public_look)PUBLIC_LOOK_INIT;
}
