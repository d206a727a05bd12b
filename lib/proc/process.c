/*
 * Everything is prepared in the parent: the program is searched for in the child's PATH, and
 * descriptors are moved above 2, so that no dup2() in the child overwrites one that is still
 * needed. The input is complete before the child starts, in a pipe if it fits or in a file without
 * a name, so nobody has to feed it. What was missing (the program, its interpreter, the directory)
 * is found out after the failure, as posix_spawn() only returns an errno.
 */
#define _GNU_SOURCE /* POSIX_SPAWN_SETSID, in system/spawn.h */
#include "proc/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "io/file.h"
#include "system/descriptor.h"
#include "system/spawn.h"

extern char **environ;

#ifndef AWF_PORTABLE
#define PROCESS_FILES true  /* as proc(5) of Linux has them */
#else
#define PROCESS_FILES false
#endif
#define BIRTH_FIELD 22 /* in /proc/PID/stat, as proc(5) counts; the name is field 2 */
#define FILE_LIMIT ((size_t)16 << 20) /* bytes read of a file in /proc; an environment can have 2 MiB */
#define PIPE_ROOM ((size_t)65536)
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

/* One of the child's standard streams during the setup. */
struct stream {
	int target;   /* 0, 1, 2 */
	int source;   /* descriptor for the child; PROCESS_INHERIT or PROCESS_NULL */
	int ours;     /* this process's end of a pipe; -1 */
	bool close;   /* close source in this process */
};

/* The file of this name in the PATH of the environment, allocated; NULL with errno ENOENT, or
 * EACCES if a file exists that cannot be executed. */
static char *
find_program(const char *name, char *const *environment)
{
	const char *list = DEFAULT_PATH;
	int reason = ENOENT;

	if (strchr(name, '/') != NULL)
		return memory_text(name);
	for (; *environment != NULL; environment++)
		if (strncmp(*environment, "PATH=", 5) == 0) {
			list = *environment + 5;
			break;
		}
	while (*name != '\0') {
		size_t len = strcspn(list, ":");
		/* As in path_search(): an empty element does not mean the current directory. */
		char *path = len == 0 ? NULL : memory_format("%.*s/%s", (int)len, list, name);
		struct stat status;

		if (path != NULL && stat(path, &status) == 0) {
			if (S_ISREG(status.st_mode) && access(path, X_OK) == 0)
				return path;
			reason = EACCES;
		} else if (path != NULL && errno == EACCES) {
			reason = EACCES;
		}
		free(path);
		if (list[len] == '\0')
			break;
		list += len + 1;
	}
	errno = reason;
	return NULL;
}

/* Moves a descriptor above 0, 1 and 2. -1 with errno. */
static int
process_move_fd_above_stderr(int fd)
{
	int lifted;

	if (fd > STDERR_FILENO || fd < 0)
		return fd;
	lifted = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	return lifted;
}

static int
open_pipe(struct stream *s)
{
	int ends[2], child, parent;

	if (descriptor_pipe(ends) != 0)
		return -1;
	child = process_move_fd_above_stderr(ends[s->target == STDIN_FILENO ? 0 : 1]);
	parent = process_move_fd_above_stderr(ends[s->target == STDIN_FILENO ? 1 : 0]);
	if (child >= 0 && parent >= 0 && fcntl(parent, F_SETFL, O_NONBLOCK) == 0) {
		s->source = child;
		s->ours = parent;
		s->close = true;
		return 0;
	}
	if (child >= 0)
		close(child);
	if (parent >= 0)
		close(parent);
	return -1;
}

/* The whole input, with no process at its other end: in a pipe if it fits, else in a file. -1
 * with errno. */
static int
open_input(struct stream *s, const char *input, size_t len)
{
	int ends[2], fd = -1, reason;

	if (len <= PIPE_ROOM && descriptor_pipe(ends) == 0) {
		bool filled = fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0 &&
		    write(ends[1], input, len) == (ssize_t)len;

		close(ends[1]);
		if (filled)
			fd = ends[0];
		else
			close(ends[0]);
	}
	if (fd == -1) {
		fd = descriptor_unnamed("input");
		if (fd >= 0 && (file_write(fd, input, len) != 0 || lseek(fd, 0, SEEK_SET) != 0)) {
			reason = errno;
			close(fd);
			errno = reason;
			return -1;
		}
	}
	s->source = process_move_fd_above_stderr(fd);
	s->close = s->source >= 0;
	return s->source >= 0 ? 0 : -1;
}

static void
stream_close(struct stream *s, bool ours_too)
{
	if (s->close)
		close(s->source);
	if (ours_too && s->ours >= 0)
		close(s->ours);
}

static int
streams_open(struct stream streams[3], const struct process_spec *spec)
{
	const int wanted[3] = { spec->in, spec->out, spec->err };

	for (int i = 0; i < 3; i++) {
		struct stream *s = &streams[i];
		int status = 0;

		*s = (struct stream){ i, wanted[i], -1, false };
		if (wanted[i] == PROCESS_INPUT) {
			status = open_input(s, spec->input, spec->input_len);
		} else if (wanted[i] == PROCESS_PIPE) {
			status = open_pipe(s);
		} else if (wanted[i] >= 0 && wanted[i] <= STDERR_FILENO && wanted[i] != i) {
			/* A descriptor below 3 that is moved could be overwritten by another
			 * one. */
			s->source = fcntl(wanted[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
			s->close = s->source >= 0;
			status = s->source >= 0 ? 0 : -1;
		}
		if (status == 0)
			continue;
		for (int reason = errno; i > 0; errno = reason)
			stream_close(&streams[--i], true);
		return -1;
	}
	return 0;
}

/* No dup2() in the child overwrites a descriptor that a later one needs. */
static bool
streams_hold(const struct stream streams[3])
{
	for (int i = 0; i < 3; i++)
		if (streams[i].source >= 0 && streams[i].source <= STDERR_FILENO && streams[i].source != i)
			return false;
	return true;
}

/* posix_spawn() of path; if it is not a program, of /bin/sh with it. */
static int
process_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
    const posix_spawnattr_t *attributes, const struct process_spec *spec)
{
	char *const *environment = spec->environment != NULL ? spec->environment : environ;
	int failure = posix_spawn(pid, path, actions, attributes, spec->argv, environment);
	const char **argv;
	size_t count = 0;

	if (failure != ENOEXEC)
		return failure;
	while (spec->argv[count] != NULL)
		count++;
	argv = memory_zero(count + 2, sizeof *argv);
	argv[0] = "sh";
	argv[1] = path;
	for (size_t i = 1; i < count; i++)
		argv[i + 1] = spec->argv[i];
	failure = posix_spawn(pid, "/bin/sh", actions, attributes, (char *const *)argv, environment);
	free(argv);
	return failure;
}

/* 0 or the reason. */
static int
spawn_with(pid_t *pid, const char *path, const struct stream streams[3],
    const struct process_spec *spec)
{
	static const int kept[] = { SIGHUP, SIGINT, SIGQUIT };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF, failure;
	sigset_t none, defaults;

	failure = posix_spawn_file_actions_init(&actions);
	if (failure != 0)
		return failure;
	for (int i = 0; i < 3 && failure == 0; i++) {
		if (streams[i].source == PROCESS_NULL)
			failure = posix_spawn_file_actions_addopen(&actions, i, "/dev/null",
			    i == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
		else if (streams[i].source >= 0)
			failure = posix_spawn_file_actions_adddup2(&actions, streams[i].source, i);
	}
	if (failure == 0 && spec->directory != NULL)
		failure = spawn_directory(&actions, spec->directory);
	if (failure == 0 && spec->terminal > 0)
		failure = spawn_foreground(&actions, spec->terminal);
	if (failure == 0 && !spec->inherit)
		failure = spawn_close_from(&actions, STDERR_FILENO + 1);

	/* All signals are set back to their default in the child, except those that were ignored
	 * when this process started. */
	sigemptyset(&none);
	sigfillset(&defaults);
	for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
		struct sigaction old;

		if (sigaction(kept[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN)
			sigdelset(&defaults, kept[i]);
	}
	if (spec->group)
		flags |= POSIX_SPAWN_SETPGROUP;
	if (spec->session)
		flags |= SPAWN_SESSION;
	if (failure == 0)
		failure = posix_spawnattr_init(&attributes);
	if (failure == 0) {
		posix_spawnattr_setsigmask(&attributes, &none);
		posix_spawnattr_setsigdefault(&attributes, &defaults);
		posix_spawnattr_setpgroup(&attributes, 0);
		failure = posix_spawnattr_setflags(&attributes, (short)flags);
		if (failure == 0)
			failure = process_spawn(pid, path, &actions, &attributes, spec);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&actions);
	return failure;
}

/* Whether the first line of a script ends with CR LF, as on Windows. */
static bool
names_carriage_return(const char *path)
{
	char line[256];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t len = fd == -1 ? -1 : read(fd, line, sizeof line);
	const char *end = len <= 0 ? NULL : memchr(line, '\n', (size_t)len);

	file_close(&fd);
	return end != NULL && end > line && end[-1] == '\r';
}

/* Says where the program was searched for, without names, which would differ in a replay. path:
 * the file that should have run; NULL: PATH has none. */
static void
process_set_missing_error(const struct process_spec *spec, const char *path, struct error *err)
{
	const char *name = spec->argv[0], *directory = spec->directory, *where = "";
	char *whole = path == NULL ? NULL : *path == '/' || directory == NULL ? memory_text(path) :
	    path_join(directory, path);
	/* If the file exists, the interpreter that it names does not. */
	bool there = whole != NULL && access(whole, F_OK) == 0;

	if (there) {
		error_set(err, ERROR_EXIT_STATUS, name, !names_carriage_return(whole) ?
		    "the interpreter that it names (#!) is not there" :
		    "the interpreter that it names (#!) is not there: the lines end as on Windows (CRLF)");
		free(whole);
		return;
	}
	free(whole);
	if (*name != '\0' && name[strlen(name) - 1] == '\r') {
		/* Remove the carriage return, which would be invisible in the message. */
		char *word = memory_copy(name, strlen(name) - 1);

		error_set(err, ERROR_EXIT_STATUS, word, "command not found: a carriage return follows it, as "
		    "where lines end as on Windows (CRLF)");
		free(word);
		return;
	}
	if (path == NULL && spec->argv[1] == NULL && strpbrk(name, " \t\n") != NULL) {
		error_set(err, ERROR_EXIT_STATUS, name, "command not found: its words are quoted "
		    "together (a line for the shell is run by sh -c, or awf-run -c)");
		return;
	}
	if (path == NULL && *name != '\0' && strchr(name, '/') == NULL && directory == NULL &&
	    access(name, F_OK) == 0) {
		error_set(err, ERROR_EXIT_STATUS, name, "command not found: the file of this directory is "
		    "./%s", name);
		return;
	}
	if (path == NULL && strchr(name, '.') != NULL && strchr(name, '/') == NULL && !spec->elsewhere) {
		error_set(err, ERROR_EXIT_STATUS, name, "no such file here, and no such command in $PATH");
		return;
	}
	if (path != NULL && *path != '/')
		where = directory != NULL ? " in the directory that it starts in" : " in the current directory";
	error_set(err, ERROR_EXIT_STATUS, name, "%s%s%s", path == NULL ? "command not found" :
	    "no such file", where, !spec->elsewhere ? "" :
	    path == NULL ? ", and no such file in the workflow's directory" :
	    ", nor in the workflow's");
}

/* Why a file may not be run, if that can be found out. */
static bool
process_set_unrunnable_error(const struct process_spec *spec, const char *path, int reason,
    struct error *err)
{
	const char *name = spec->argv[0];
	char *whole = path == NULL || *path == '/' || spec->directory == NULL ?
	    memory_text(path != NULL ? path : name) : path_join(spec->directory, path);
	struct stat status;
	bool told = reason == EACCES && stat(whole, &status) == 0;

	if (told && S_ISDIR(status.st_mode))
		error_set(err, ERROR_EXIT_STATUS, name, "unable to run: it is a directory");
	else if (told && S_ISREG(status.st_mode) && (status.st_mode & 0111) == 0)
		error_set(err, ERROR_EXIT_STATUS, name, "unable to run: no x permission (chmod +x makes it "
		    "a program)");
	else
		told = false;
	free(whole);
	return told;
}

static int
start_failed(const struct process_spec *spec, const char *path, int reason, int *exit_code,
    struct error *err)
{
	const char *directory = spec->directory;
	struct stat status;
	int code = PROCESS_CANNOT_RUN;

	/* The reason may be the directory, not the program. */
	if (directory != NULL && (stat(directory, &status) != 0 || !S_ISDIR(status.st_mode) ||
	    access(directory, X_OK) != 0)) {
		errno = reason;
		error_errno(err, ERROR_EXIT_STATUS, directory, "unable to change to this directory");
	} else if (reason == ENOENT) {
		code = PROCESS_NOT_FOUND;
		process_set_missing_error(spec, path, err);
	} else {
		enum error_code class = reason == EAGAIN || reason == ENOMEM || reason == EMFILE ||
		    reason == ENFILE ? ERROR_SYSTEM : ERROR_EXIT_STATUS;

		if (!process_set_unrunnable_error(spec, path, reason, err)) {
			errno = reason;
			error_errno(err, class, spec->argv[0], "unable to run");
		}
	}
	if (exit_code != NULL)
		*exit_code = code;
	errno = reason;
	return -1;
}

int
process_start(struct process *p, const struct process_spec *spec, int *exit_code,
    struct error *err)
{
	struct stream streams[3];
	int failure;
	char *path;

	INVARIANT(spec->argv[0] != NULL && !(spec->group && spec->session));
	*p = (struct process){ -1, -1, -1, -1, spec->argv[0] };
	path = find_program(spec->argv[0], spec->environment != NULL ? spec->environment : environ);
	if (path == NULL)
		return start_failed(spec, NULL, errno, exit_code, err);
	failure = streams_open(streams, spec) == 0 ? 0 : errno;
	if (failure == 0) {
		INVARIANT(streams_hold(streams));
		failure = spawn_with(&p->pid, path, streams, spec);
		for (int i = 0; i < 3; i++)
			stream_close(&streams[i], failure != 0);
	}
	if (failure != 0) {
		p->pid = -1;
		start_failed(spec, path, failure, exit_code, err);
		free(path);
		errno = failure;
		return -1;
	}
	free(path);
	if (spec->terminal > 0)
		spawn_foreground_after(spec->terminal, p->pid);
	p->in = streams[STDIN_FILENO].ours;
	p->out = streams[STDOUT_FILENO].ours;
	p->err = streams[STDERR_FILENO].ours;
	return 0;
}

void
process_shell(char *argv[4], const char *text)
{
	static char shell[] = "/bin/sh", option[] = "-c";

	argv[0] = shell;
	argv[1] = option;
	argv[2] = (char *)(uintptr_t)text;
	argv[3] = NULL;
}

bool
process_all_are_listed(void)
{
#ifndef AWF_PORTABLE
	return access("/proc/self/stat", F_OK) == 0;
#else
	return false;
#endif
}

bool
process_read(pid_t pid, const char *name, struct buffer *text)
{
	char *path = memory_format("/proc/%ld/%s", (long)pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool whole = PROCESS_FILES && fd >= 0 && file_read(fd, text, FILE_LIMIT) == 0;

	free(path);
	file_close(&fd);
	return whole;
}

bool
process_stat(pid_t pid, struct process_stat *s)
{
	char path[32], text[512], *name, *at;
	ssize_t got;
	int fd;

	snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
	fd = PROCESS_FILES ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return false;
	got = read(fd, text, sizeof text - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	/* "PID (NAME) STATE PPID …", where NAME may contain anything. */
	name = strchr(text, '(');
	at = strrchr(text, ')');
	if (name == NULL || at == NULL || at[1] != ' ' || at[2] == '\0')
		return false;
	*at = '\0';
	snprintf(s->name, sizeof s->name, "%s", name + 1);
	s->state = at[2];
	s->parent = (pid_t)strtol(at + 3, NULL, 10);
	for (int field = 2; field < BIRTH_FIELD && at != NULL; field++)
		at = strchr(at + 1, ' ');
	s->birth = at != NULL ? strtoll(at, NULL, 10) : 0;
	return true;
}

int64_t
process_birth(pid_t pid)
{
	struct process_stat s;

	if (kill(pid, 0) != 0 && errno == ESRCH)
		return -1;
	if (!process_stat(pid, &s))
		return 0;
	return s.state == 'Z' || s.state == 'X' ? -1 : s.birth;
}
