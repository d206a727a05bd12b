/*
 * Three processes: this one, outside, which waits; the keeper, which sets up the sandbox and then
 * supervises it, and whose end ends everything; and the command. For root without suitable mounts,
 * a fourth process searches for files that every user may read while the sandbox is set up, and
 * adds them to the Landlock rules.
 *
 * With namespaces the keeper is the first process of a PID namespace, and the kernel ends all
 * others in it when the keeper ends. Without them, orphans become children of the keeper, or of
 * this process if somebody kills the keeper, and each of the two ends them when the other has gone.
 *
 * What the code relies on:
 *  - The command is executed last: when everything is set up and its process is confined.
 *  - If namespaces are not available, nothing has run yet, and the keeper is started again.
 *  - The keeper and this process block all signals, so no signal is lost or kills them. If
 *    the parent dies, this process ends the keeper, and then records that all have ended.
 */
#define _GNU_SOURCE
#include "sandbox/run.h"

#ifndef AWF_PORTABLE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "io/copytree.h"
#include "io/file.h"
#include "isolate/capabilities.h"
#include "isolate/keeper.h"
#include "isolate/landlock.h"
#include "isolate/limits.h"
#include "isolate/loopback.h"
#include "isolate/mounts.h"
#include "isolate/sandbox.h"
#include "isolate/seccomp.h"
#include "isolate/userns.h"
#include "proc/descendants.h"
#include "proc/environment.h"
#include "proc/message.h"
#include "proc/passing.h"
#include "proc/process.h"
#include "proc/project_files.h"
#include "sandbox/account.h"
#include "sandbox/grounds.h"
#include "sandbox/examine.h"
#include "sandbox/overlap.h"
#include "sandbox/public.h"
#include "sandbox/repositories.h"
#include "sandbox/resolve.h"
#include "sandbox/terminals.h"
#include "sandbox/view.h"
#include "storage/run.h"
#include "system/descriptor.h"
#include "system/file_status.h"
#include "workspace/sandbox_environment.h"
#include "workspace/sandboxed_times.h"
#include "workspace/unreviewed.h"

#define PROGRAM "awf-sandbox"
#define PARENT_GONE SIGUSR1 /* sent when the parent of the keeper or of this process dies */
#define KEEPER_NICE (-10)

extern char **environ;

struct command {
	const struct settings *settings;
	struct places *places;
	int landlock;            /* version */
	struct landlock rules;
	struct public_look look; /* process that adds to the rules meanwhile */
	bool seccomp;
	bool namespaces;
	char why[256];           /* why namespaces are not available */
	struct view view;
	struct watch watch;
	struct environment environment; /* the command's */
	struct environment variables;   /* set for the command, and not for this program */
	sigset_t mask;           /* signal mask of the caller */
	struct unreviewed_call made;
	struct sandboxed_time time;  /* when the command may have changed the workspace */
	struct repositories repositories; /* state before the command */
	struct overlap overlap;  /* with other sandboxed programs */
	char **held;             /* paths that mounts keep read-only; a list */
	struct file_status *held_as; /* what they named */
	pid_t successor;         /* process that settles the repositories if this one is
	                            killed; 0: none */
	int successor_input;
	int report;
	pid_t outside, keeper;
};

/* ---- what this system lacks ---- */

/* Checks that each part of the sandbox is in place, or that the user accepts what is missing. */
static int
check_missing(const struct command *c, struct error *err)
{
	const bool landlock = c->landlock > LANDLOCK_NONE, scope = c->landlock >= LANDLOCK_SCOPE;
	/* What is not ensured, and which part would ensure it. */
	const struct { bool missing; const char *what; } all[] = {
		{ !landlock, "Landlock (files elsewhere can be read)" },
		{ !c->namespaces && c->landlock < LANDLOCK_TRUNCATE,
		    "namespaces or Landlock of Linux 6.2 (files elsewhere can be changed)" },
		{ !c->seccomp, "seccomp (sockets and the kernel can be reached)" },
		{ !c->namespaces && !c->seccomp,
		    "namespaces (modes and owners of files elsewhere can be changed)" },
		{ !c->namespaces && !scope,
		    "namespaces or Landlock of Linux 6.12 (processes outside can be signalled)" },
	};
	struct buffer missing = BUFFER_INIT;
	int failed = 0;

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i].missing)
			buffer_format(&missing, "%s%s", missing.len > 0 ? ", " : "", all[i].what);
	if (missing.len > 0 && !c->namespaces)
		buffer_format(&missing, "; namespaces: %s", c->why);
	if (missing.len > 0 && c->settings->lacking == SANDBOX_REQUIRES)
		failed = error_set(err, ERROR_BLOCKED, NULL, "this system lacks %s "
		    "(--sandbox-mode prefer goes on without, --sandbox none with no sandbox at all)",
		    missing.data);
	else if (missing.len > 0 && !c->settings->quiet)
		message_print(PROGRAM, "this system lacks %s", missing.data);
	buffer_free(&missing);
	if (failed == 0 && !c->namespaces && c->settings->loopback > 0)
		failed = error_set(err, ERROR_BLOCKED, NULL, "this system has no namespaces, in which a "
		    "program without network could reach model APIs alone (%s): --network allows it all",
		    c->why);
	if (failed == 0 && !c->namespaces && c->places->hidden != NULL && *c->places->hidden != NULL)
		failed = error_set(err, ERROR_BLOCKED, *c->places->hidden,
		    "would be seen in the sandbox, and this system has no namespaces to hide it (%s)",
		    c->why);
	return failed;
}

/* ---- the command's process ---- */

/* Reopens a terminal on stdout or stderr write-only: a terminal is opened for both directions, and
 * keystrokes are only for a program that has it as stdin. */
static int
write_only(int fd, struct error *err)
{
	char path[32];
	int again;

	if (!isatty(fd) || (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR)
		return 0;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	again = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (again == -1 || dup2(again, fd) == -1)
		return error_errno(err, ERROR_BLOCKED, fd == STDOUT_FILENO ? "stdout" : "stderr",
		    "is a terminal, and cannot be opened for writing alone (end in: | cat)");
	close(again);
	return 0;
}

/* Confines this process: after the last lines nothing can be undone. */
static int
sandbox_confine_process(struct command *c, struct error *err)
{
	static const char *const homes[] = { "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
		"XDG_CACHE_HOME", "XDG_RUNTIME_DIR" };
	const struct settings *s = c->settings;
	const struct places *p = c->places;
	struct environment *e = &c->environment;
	struct stat st;
	char *home;
	int null, failed = 0;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != c->keeper)
		return error_errno(err, ERROR_BLOCKED, NULL, "unable to die with its keeper");
	setsid();
	home = path_join(p->temporary, "home");
	if (mkdir(home, 0700) != 0) {
		error_errno(err, ERROR_BLOCKED, home, "unable to make it");
		free(home);
		return -1;
	}
	for (size_t i = 0; i < c->variables.count; i++) {
		char *name = memory_copy(c->variables.list[i], strcspn(c->variables.list[i], "="));

		environment_set(e, name, c->variables.list[i] + strlen(name) + 1);
		free(name);
	}
	environment_set(e, "HOME", home);
	environment_set(e, "TMPDIR", p->temporary);
	environment_set(e, "AWF_SANDBOX", sandbox_mode_name(s->read_only ?
	    SANDBOX_READ_ONLY : SANDBOX_WORKSPACE));
	for (size_t i = 0; i < sizeof homes / sizeof *homes; i++)
		environment_unset(e, homes[i]);
	free(home);

	if (chdir(p->start) != 0)
		return error_errno(err, ERROR_BLOCKED, p->start, "unable to start in it");
	/* An open directory would be a way out of the sandbox. */
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && null >= 0; fd++)
		if (fstat(fd, &st) != 0 || S_ISDIR(st.st_mode))
			dup2(null, fd);
	if (write_only(STDOUT_FILENO, err) == -1 || write_only(STDERR_FILENO, err) == -1)
		return -1;
	if (limits_set(&s->limits, c->namespaces, err) == -1)
		return -1;

	if (c->landlock > LANDLOCK_NONE) {
		for (size_t i = 0; failed == 0 && i < p->count; i++) {
			const struct place *place = &p->list[i];
			int fd;

			if (place->access == PLACE_PUBLIC && c->look.report != -1)
				continue; /* the search process adds the readable ones */
			fd = place->fd != -1 ? place->fd : resolve_exact(place->path);
			if (fd == -1) /* the path was replaced or removed meanwhile */
				continue;
			failed = landlock_allow(&c->rules, fd, place->access, place->path, err);
			if (fd != place->fd)
				close(fd);
		}
		if (failed != 0 || public_wait(&c->look, err) == -1 ||
		    landlock_enforce(&c->rules, err) == -1)
			return -1;
	}
	descriptor_close_from(STDERR_FILENO + 1); /* places were open until here */
	return c->seccomp ? seccomp_enforce(s->network || s->loopback > 0, !c->namespaces, err) : 0;
}

static _Noreturn void
be_command(struct command *c)
{
	char *const *argv = c->settings->command;
	struct error err = ERROR_INIT;
	char text[sizeof err.place + sizeof err.message + 4];

	if (sandbox_confine_process(c, &err) == -1) {
		message_print(PROGRAM, "%s", error_text(&err, text, sizeof text));
		_exit(SANDBOX_REFUSED);
	}
	signal(SIGXFSZ, SIG_DFL);
	sigprocmask(SIG_SETMASK, &c->mask, NULL);
	if (c->settings->check)
		_exit(EXIT_SUCCESS);
	environ = c->environment.list; /* the program is looked up in its PATH */
	execvp(argv[0], argv);
	message_print(PROGRAM, "%s: unable to run: %s", argv[0], strerror(errno));
	_exit(errno == ENOENT ? PROCESS_NOT_FOUND : PROCESS_CANNOT_RUN);
}

/* ---- the keeper ---- */

static void
add_keepers(sigset_t *set)
{
	sigemptyset(set);
	passing_add(set);
	sigaddset(set, PARENT_GONE);
}

/* Ends all that the command left running, and removes the private directory. With namespaces the
 * kernel does both. */
static int
end_rest(const struct command *c, struct error *err)
{
	if (c->namespaces)
		return 0;
	if (!(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD))
		descendants_end(getpid(), SIGKILL, (pid_t[]){ c->successor, 0 });
	return copytree_remove(c->places->temporary, err);
}

/* Starts the command, waits for it while passing on signals, and reports how it ended. */
static _Noreturn void
sandbox_supervise_command(struct command *c)
{
	static const struct capabilities none;
	struct keeper_report end = { .what = KEEPER_ENDED, .error = ERROR_INIT };
	struct error *why = &end.error, late = ERROR_INIT; /* why it must end early */
	int64_t next, now;
	const char *spent;
	sigset_t set;
	pid_t pid, ended;

	if (check_missing(c, why) == -1)
		keeper_refuse(c->report, why);
	watch_begin(&c->watch, c->settings->read_only ? NULL : c->places->workspace,
	    c->namespaces ? NULL : c->places->temporary);
	/* Neither this process nor the command needs capabilities from here on, nor can get any. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || capabilities_keep(&none) != 0) {
		error_errno(why, ERROR_BLOCKED, NULL, "unable to give up capabilities");
		keeper_refuse(c->report, why);
	}
	c->keeper = getpid();
	pid = fork();
	if (pid == 0)
		be_command(c);
	if (pid < 0) {
		error_errno(why, ERROR_BLOCKED, NULL, "unable to start a process");
		keeper_refuse(c->report, why);
	}
	/* Its memory must not be readable either. */
	if (prctl(PR_SET_DUMPABLE, 0) != 0)
		error_errno(why, ERROR_BLOCKED, NULL, "unable to keep its memory from being read");

	/* Limits are checked at fixed times, however many signals arrive, and once more
	 * at the end. */
	next = clock_monotonic() + LIMITS_LOOK_MS;
	add_keepers(&set);
	while ((ended = waitpid(-1, &end.wait_status, WNOHANG)) != pid && why->code == ERROR_NONE) {
		struct timespec rest;
		int number;

		now = clock_monotonic();
		if (now >= next) {
			next = now + LIMITS_LOOK_MS;
			if ((spent = watch_look(&c->watch)) != NULL)
				error_set(why, ERROR_BLOCKED, NULL, "%s", spent);
			continue;
		}
		if (ended != 0) /* more children may have ended */
			continue;
		rest.tv_sec = (time_t)((next - now) / 1000);
		rest.tv_nsec = (long)((next - now) % 1000) * 1000000L;
		number = sigtimedwait(&set, NULL, &rest);
		if (number == PARENT_GONE)
			error_set(why, ERROR_BLOCKED, NULL, "its parent is gone");
		else if (number > 0 && number != SIGCHLD)
			kill(pid, number);
	}
	if (why->code == ERROR_NONE && (spent = watch_last_look(&c->watch)) != NULL)
		error_set(why, ERROR_BLOCKED, NULL, "%s", spent);
	if (why->code != ERROR_NONE)
		end.what = KEEPER_REFUSED;
	end_rest(c, &late); /* the process outside does it again and reports errors, if it
	                       still lives */
	keeper_tell(c->report, &end);
}

/* The keeper in new namespaces. */
static void
keep_apart(void *context)
{
	struct command *c = context;
	struct keeper_report no = { .what = KEEPER_NO_NAMESPACES, .error = ERROR_INIT };

	setsid();
	if (c->settings->loopback > 0 && loopback_lend((int)c->settings->loopback, &no.error) == -1)
		keeper_refuse(c->report, &no.error);
	if (view_make(&c->view, c->places, &no.error) == -1) {
		if (no.error.code == ERROR_BLOCKED)
			no.what = KEEPER_REFUSED;
		keeper_tell(c->report, &no);
	}
	c->places->temporary = memory_text(view_temporary(c->places));
	c->watch.processes = !c->view.counted;
	c->watch.apart = true;
	sandbox_supervise_command(c);
}

/* ---- this process ---- */

/* Runs a keeper and waits for it, passing on signals. -1: r->error. */
static int
run_keeper(struct command *c, struct keeper_report *r)
{
	const unsigned long flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC |
	    (c->settings->network ? 0 : CLONE_NEWNET);
	int ends[2], number, failed = 0;
	bool gone = false;
	sigset_t set;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return error_errno(&r->error, ERROR_BLOCKED, NULL, "unable to make a pipe");
	c->report = ends[1];
	pid = c->namespaces ? userns_fork(flags, keep_apart, c, NULL) : fork();
	if (pid == 0) { /* without namespaces */
		setsid();
		if (prctl(PR_SET_PDEATHSIG, PARENT_GONE) != 0 || getppid() != c->outside)
			_exit(EXIT_FAILURE);
		descendants_adopt();
		/* With higher priority it is scheduled even if there are too many processes. */
		if (nice(KEEPER_NICE) == -1)
			errno = 0; /* not every user may raise it */
		c->watch.processes = true;
		sandbox_supervise_command(c);
	}
	if (pid < 0) {
		r->what = KEEPER_NO_NAMESPACES;
		failed = error_errno(&r->error, ERROR_BLOCKED, NULL, "unable to make a process");
	}
	close(ends[1]);
	add_keepers(&set);
	while (pid > 0 && waitpid(pid, NULL, WNOHANG) != pid) {
		public_reap(&c->look);
		number = sigwaitinfo(&set, NULL);
		gone = gone || number == PARENT_GONE;
		if (number > 0 && number != SIGCHLD)
			kill(pid, number == PARENT_GONE ? SIGKILL : number);
	}
	if (pid > 0 && !keeper_hear(ends[0], r))
		failed = error_set(&r->error, ERROR_BLOCKED, NULL, "the process of AWF that holds its sandbox was killed");
	else if (r->what == KEEPER_REFUSED)
		failed = -1;
	if (gone) {
		r->what = KEEPER_KILLED;
		failed = error_set(&r->error, ERROR_BLOCKED, NULL, "its parent is gone");
	}
	close(ends[0]);
	return c->namespaces && r->what == KEEPER_NO_NAMESPACES ? 0 : failed;
}

/* Makes it in a directory in which no sandboxed program can give its name to something else. */
static int
make_temporary(struct places *p, struct error *err)
{
	const char *parent = getenv("TMPDIR");
	struct resolved r = { -1, NULL, false, false };

	if (parent == NULL || *parent != '/' || resolve_path(&r, parent, p->workspace_fd) == -1 ||
	    r.strayed || path_within(r.path, p->workspace) || grounds_have(r.path))
		parent = "/tmp";
	else
		parent = r.path;
	p->temporary = path_join(parent, "awf-sandbox.XXXXXX");
	if (mkdtemp(p->temporary) == NULL) {
		error_errno(err, ERROR_BLOCKED, parent, "unable to make a directory in it");
		free(p->temporary);
		p->temporary = NULL;
	}
	resolved_free(&r);
	if (p->temporary == NULL)
		return -1;
	places_add(p, p->temporary, PLACE_WRITE);
	return 0;
}

/* Records paths of the workspace that AWF uses and that the command can make or change all
 * the same. Without namespaces it could change all of them; what existed before is not
 * recorded then. */
static int
note_makeable(struct command *c, struct error *err)
{
	const struct places *p = c->places;
	char **names = NULL;
	int failed;

	examine_begin();
	for (char **kept = p->kept; kept != NULL && *kept != NULL; kept++) {
		const char *name = *kept + strlen(p->workspace) + 1;
		int fd = resolve_exact(*kept);

		if (fd == -1)
			examine_note_error(AT_FDCWD, *kept);
		if (places_taken_up(name) &&
		    (fd == -1 || (!c->namespaces && unreviewed_noted(p->workspace, name))))
			list_add(&names, name);
		if (fd != -1)
			close(fd);
	}
	failed = examine_check(err);
	if (failed == 0)
		failed = unreviewed_begin(&c->made, p->workspace, names, err);
	if (failed == 0)
		failed = sandboxed_time_begin(&c->time, p->workspace, err);
	list_free(names);
	return failed;
}

/* ---- repositories ---- */

enum { LINES_TOLD = 5 };

/* Finds the paths that mounts keep read-only: those that exist and are not links. */
static int
find_held(struct command *c, struct error *err)
{
	examine_begin();
	for (char **kept = c->places->kept; kept != NULL && *kept != NULL; kept++) {
		int fd = resolve_exact(*kept);

		if (fd == -1) {
			examine_note_error(AT_FDCWD, *kept);
			continue;
		}
		c->held_as = memory_array(c->held_as, list_count(c->held) + 1, sizeof *c->held_as);
		if (file_status_read(fd, "", true, &c->held_as[list_count(c->held)]) == 0)
			list_add(&c->held, *kept);
		else
			examine_note_error(AT_FDCWD, *kept);
		close(fd);
	}
	return examine_check(err);
}

/* Whether a path still names what it named. If the file system has no birth time, a change counts
 * as another file. */
static bool
held_is_same(const char *path, const struct file_status *was)
{
	struct file_status is;

	return file_status_read(AT_FDCWD, path, false, &is) == 0 &&
	    is.inode == was->inode && is.device_major == was->device_major && is.device_minor == was->device_minor &&
	    (is.born && was->born ?
	    is.birth.tv_sec == was->birth.tv_sec && is.birth.tv_nsec == was->birth.tv_nsec :
	    is.changed.tv_sec == was->changed.tv_sec && is.changed.tv_nsec == was->changed.tv_nsec);
}

/* The paths that mounts have kept until now. A mount is on the file, not on the name: if somebody
 * outside gave the name to another file, the command could write to it. */
static char **
still_held(const struct command *c)
{
	char **held = NULL;

	for (size_t i = 0; c->namespaces && c->held != NULL && c->held[i] != NULL; i++)
		if (held_is_same(c->held[i], &c->held_as[i]))
			list_add(&held, c->held[i]);
	return held;
}

/* Whether a path of the workspace is among the files that the user's git executes, which are kept
 * as a whole. */
static bool
is_used(const struct repositories *r, const char *workspace, const char *path)
{
	char *whole = path_join(workspace, path);
	bool is = false;

	for (char **used = r->used_there; !is && used != NULL && *used != NULL; used++)
		is = path_within(whole, *used);
	free(whole);
	return is;
}

/* Called before the mounts are made. */
static int
find_repositories(struct command *c, struct error *err)
{
	struct places *p = c->places;
	struct repositories *r = &c->repositories;
	sigset_t stops, mask;
	char *home;
	int failed = account_home(&home, err);

	/* Others wait meanwhile, so this process must not be stopped. */
	sigemptyset(&stops);
	sigaddset(&stops, SIGTSTP);
	sigaddset(&stops, SIGTTIN);
	sigaddset(&stops, SIGTTOU);
	sigprocmask(SIG_BLOCK, &stops, &mask);
	if (failed == 0)
		failed = overlap_begin(&c->overlap, err);
	if (failed == 0)
		failed = repositories_find(r, p->workspace_fd, p->workspace, home, err);
	if (failed == 0)
		failed = overlap_join(&c->overlap, r, err);
	overlap_unlock(&c->overlap);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	free(home);
	if (failed != 0)
		return -1;
	repositories_copy(r);
	for (size_t i = 0; i < r->count; i++)
		if (!r->items[i].plain && !is_used(r, p->workspace, r->items[i].path))
			places_keep(p, r->items[i].path);
	for (char **unknown = r->unknown; unknown != NULL && *unknown != NULL; unknown++)
		places_keep(p, *unknown);
	for (char **used = r->used_there; used != NULL && *used != NULL; used++)
		places_keep(p, *used);
	return find_held(c, err);
}

/* A repository that cannot be judged must be kept by a mount, or the command is not run. */
static int
check_unknown(const struct command *c, struct error *err)
{
	for (char **unknown = c->repositories.unknown; unknown != NULL && *unknown != NULL; unknown++) {
		char *path = path_join(c->places->workspace, *unknown);
		const bool held = c->namespaces && list_has(c->held, path), opened = list_has(c->places->opened, path);

		free(path);
		if (!held && !opened)
			return error_set(err, ERROR_BLOCKED, **unknown == '\0' ? c->places->workspace : *unknown,
			    "a repository with an extension of git that is not known here: %s keep it as it is",
			    c->namespaces ? "as the workspace, nothing can" : "without namespaces, nothing can");
	}
	return 0;
}

static char **
settle_repositories(struct command *c)
{
	char **held, **lines;

	if (c->repositories.root == NULL)
		return NULL;
	overlap_lock(&c->overlap);
	held = still_held(c);
	lines = repositories_settle(&c->repositories, held, c->places->opened);
	list_free(held);
	overlap_unlock(&c->overlap);
	return lines;
}

enum { SUCCESSOR_INPUT = 3, SUCCESSOR_WORKSPACE, SUCCESSOR_RECORD, SUCCESSOR_FILES };
enum { SUCCESSOR_LOOKS = 3, SUCCESSOR_PAUSE_MS = 100 };
enum { SAY_DONE = 'd', SAY_NO_NAMESPACES = 'n' };

/* The successor settles the repositories if the pipe closes without SAY_DONE: then the process
 * outside and the keeper were killed, and all their processes with them or about to die. So it
 * settles several times. */
static _Noreturn void
be_successor(struct command *c, int input)
{
	const struct timespec pause = { 0, SUCCESSOR_PAUSE_MS * 1000000L };
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int workspace, record;
	ssize_t got;
	char said;

	descendants_detach();
	repositories_forget_copies(&c->repositories);
	/* These may have one of the numbers. */
	input = fcntl(input, F_DUPFD_CLOEXEC, SUCCESSOR_FILES);
	workspace = fcntl(c->repositories.workspace, F_DUPFD_CLOEXEC, SUCCESSOR_FILES);
	record = fcntl(c->overlap.fd, F_DUPFD_CLOEXEC, SUCCESSOR_FILES);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	if (dup2(input, SUCCESSOR_INPUT) == -1 || dup2(workspace, SUCCESSOR_WORKSPACE) == -1)
		_exit(EXIT_FAILURE); /* it could not receive messages, or might get others */
	/* It stays locked until all is settled. */
	c->overlap.fd = record == -1 ? -1 : dup2(record, SUCCESSOR_RECORD);
	descriptor_close_from(SUCCESSOR_FILES);
	c->repositories.workspace = SUCCESSOR_WORKSPACE;
	while ((got = read(SUCCESSOR_INPUT, &said, 1)) != 0) {
		if ((got == -1 && errno != EINTR) || (got == 1 && said == SAY_DONE))
			_exit(EXIT_SUCCESS);
		if (got == 1)
			c->namespaces = false;
	}
	for (int i = 0; i < SUCCESSOR_LOOKS; i++) {
		list_free(settle_repositories(c));
		nanosleep(&pause, NULL);
	}
	overlap_end(&c->overlap);
	_exit(EXIT_SUCCESS);
}

/* If it cannot be started, nothing changes unless this process is killed. */
static void
start_successor(struct command *c)
{
	int ends[2];

	if (c->repositories.root == NULL || pipe2(ends, O_CLOEXEC) != 0)
		return;
	c->successor = fork();
	if (c->successor == 0) {
		close(ends[1]);
		be_successor(c, ends[0]);
	}
	close(ends[0]);
	c->successor_input = ends[1];
	if (c->successor < 0) {
		c->successor = 0;
		close(ends[1]);
	}
}

static void
sandbox_signal_successor(const struct command *c, char said)
{
	if (c->successor != 0)
		file_write(c->successor_input, &said, 1);
}

/* Called when no process of the sandbox is left. */
static void
end_repositories(struct command *c)
{
	char **lines = settle_repositories(c);
	size_t count = list_count(lines);

	for (size_t i = 0; i < count && i < LINES_TOLD; i++)
		message_print(PROGRAM, "%s", lines[i]);
	if (count > LINES_TOLD)
		message_print(PROGRAM, "and %zu more like it", count - LINES_TOLD);
	list_free(lines);
	overlap_end(&c->overlap);
	sandbox_signal_successor(c, SAY_DONE);
	if (c->successor != 0) {
		close(c->successor_input);
		waitpid(c->successor, NULL, 0);
		c->successor = 0;
	}
}

/* Ends the records of what was made and when, if they were begun. An earlier error is not
 * overwritten. */
static int
note_made(struct command *c, struct keeper_report *r, int failed)
{
	struct error late = ERROR_INIT;

	int made = unreviewed_end(&c->made, &late);

	if (sandboxed_time_end(&c->time, &late) == -1)
		made = -1;
	if (made == -1 && failed == 0)
		r->error = late;
	return failed == 0 ? made : failed;
}

/* Tells of files that the command has made and from which agent CLIs take commands. No step reads
 * them before the user has (unreviewed.h), but who starts such a CLI by hand is not asked by it. */
static void
tell_settings(const struct command *c)
{
	const struct places *p = c->places;
	size_t told = 0;

	for (char **kept = p->kept; kept != NULL && *kept != NULL && told < LINES_TOLD; kept++) {
		const char *name = *kept + strlen(p->workspace) + 1;
		int fd = list_has(c->held, *kept) || list_has(p->opened, *kept) || !project_files_has(name) ? -1 : resolve_exact(*kept);

		if (fd != -1) {
			message_print(PROGRAM, "%s: was made here: programs that are started here, such as agent CLIs, may run what "
			    "it says: read it first", name);
			told++;
		}
		file_close(&fd);
	}
}

/* For root without a suitable mount: starts the search for readable files of the configuration,
 * for Landlock. */
static int
sandbox_begin_public_search(struct command *c, struct error *err)
{
	file_close(&c->view.configuration);
	return c->landlock == LANDLOCK_NONE || geteuid() != 0 || c->look.report != -1 ? 0 :
	    public_begin(&c->look, &c->rules, places_configuration, err);
}

/* Runs the command with namespaces if they are available, otherwise without; in that case this
 * process ends what a killed keeper left. */
static int
sandbox_run_command(struct command *c, struct keeper_report *r)
{
	struct error late = ERROR_INIT;
	int failed;

	if (c->namespaces) {
		failed = check_unknown(c, &r->error);
		if (failed == 0)
			failed = note_makeable(c, &r->error);
		if (failed == 0)
			failed = run_keeper(c, r);
		if (failed != 0 || r->what != KEEPER_NO_NAMESPACES)
			return failed;
		/* Nothing has run. */
		if (note_made(c, r, 0) != 0)
			return -1;
		snprintf(c->why, sizeof c->why, "%.*s", (int)sizeof c->why - 1, r->error.message);
	}
	c->namespaces = false;
	sandbox_signal_successor(c, SAY_NO_NAMESPACES);
	r->error = (struct error)ERROR_INIT;
	if (check_unknown(c, &r->error) == -1 || sandbox_begin_public_search(c, &r->error) == -1 ||
	    note_makeable(c, &r->error) == -1 ||
	    make_temporary(c->places, &r->error) == -1)
		return -1;
	failed = run_keeper(c, r);
	public_end(&c->look); /* otherwise it would be ended as a leftover */
	if (end_rest(c, &late) == -1 && failed == 0) {
		r->error = late;
		failed = -1;
	}
	return failed;
}

/* Begins the Landlock rules before the places are found, as the search process adds to
 * them meanwhile. */
static int
begin_rules(struct command *c, struct error *err)
{
	c->namespaces = (c->settings->without & PART_NAMESPACES) == 0;
	if ((c->settings->without & PART_LANDLOCK) == 0)
		c->landlock = landlock_version();
	if (c->landlock != LANDLOCK_NONE &&
	    landlock_begin(&c->rules, c->landlock,
	    c->settings->network || c->settings->loopback > 0, err) == -1)
		return -1;
	if (geteuid() == 0 && c->namespaces)
		c->view.configuration = public_tree(places_configuration);
	return c->view.configuration != -1 ? 0 : sandbox_begin_public_search(c, err);
}

/* Called with all signals blocked. */
static int
run_blocked(struct command *c, struct error *err)
{
	const struct settings *s = c->settings;
	struct keeper_report r = { .what = KEEPER_KILLED, .error = ERROR_INIT };
	struct terminal_state terminals[TERMINALS];
	sigset_t all;
	int failed;

	c->seccomp = (s->without & PART_SECCOMP) == 0 && seccomp_available();
	c->namespaces = c->namespaces && view_temporary(c->places) != NULL;
	snprintf(c->why, sizeof c->why, "not used");
	/* This process ends if its parent dies. */
	if (signal(PARENT_GONE, SIG_DFL) == SIG_ERR || prctl(PR_SET_PDEATHSIG, PARENT_GONE) != 0)
		return error_errno(err, ERROR_BLOCKED, NULL, "unable to die with its parent");
	if (s->parent != 0 && getppid() != s->parent)
		return error_set(err, ERROR_BLOCKED, NULL, "its parent is gone");
	c->outside = getpid();
	limits_volunteer();
	descendants_adopt();
	descendants_spare_none();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &c->mask);
	start_successor(c);
	terminals_save(terminals);
	failed = sandbox_run_command(c, &r);
	terminals_restore(terminals);
	/* Renaming changes the workspace, so it must be within the recorded time. */
	end_repositories(c);
	failed = note_made(c, &r, failed);
	tell_settings(c);
	sigprocmask(SIG_SETMASK, &c->mask, NULL);
	if (failed != 0)
		*err = r.error;
	return failed != 0 ? -1 : r.wait_status;
}

/* Called before the storage, which has the run's start, is hidden. */
static int
find_environment(struct command *c, char ***left, struct error *err)
{
	char *run = run_environment_directory();
	int failed;

	environment_begin(&c->environment);
	sandbox_take_variables(&c->environment, &c->variables);
	failed = sandbox_environment_close(&c->environment, run, c->settings->passed, left, err);
	if (failed != 0)
		err->code = ERROR_BLOCKED;
	free(run);
	return failed;
}

int
sandbox_run(const struct settings *s, struct sandbox_parts *parts, char ***left,
    struct error *err)
{
	struct places places;
	struct command c = { .settings = s, .places = &places, .report = -1,
		.look = PUBLIC_LOOK_INIT, .repositories = { .ballast = -1 }, .overlap = OVERLAP_INIT, .made = { NULL, -1 }, .time = { NULL, -1 },
		.view = { .temporary = s->temporary, .processes = s->limits.processes,
		    .configuration = -1 },
		.watch = { .limits = &s->limits } };
	int status = find_environment(&c, left, err) == -1 ? -1 : begin_rules(&c, err);

	*parts = (struct sandbox_parts){ .known = false };
	if (status == -1) {
		environment_free(&c.environment);
		environment_free(&c.variables);
		return -1;
	}
	parts->known = places_find(&places, s, err) == 0;
	status = parts->known ? 0 : -1;
	if (status == 0 && !s->read_only && !s->check)
		status = find_repositories(&c, err);
	if (status == 0)
		status = run_blocked(&c, err);
	parts->landlock = c.landlock;
	parts->namespaces = c.namespaces;
	parts->seccomp = c.seccomp;
	public_end(&c.look);
	file_close(&c.view.configuration);
	overlap_end(&c.overlap);
	repositories_free(&c.repositories);
	list_free(c.held);
	free(c.held_as);
	places_free(&places);
	environment_free(&c.environment);
	environment_free(&c.variables);
	return status;
}

#else

int
sandbox_run(const struct settings *s, struct sandbox_parts *parts, char ***left, struct error *err)
{
	(void)s;
	*parts = (struct sandbox_parts){ .known = false };
	*left = NULL;
	return error_set(err, ERROR_BLOCKED, NULL, "there is no sandbox: this AWF was built without what only Linux "
	    "has (make PORTABLE=1)");
}

#endif
