/*
 * A shell with two pipes, written and read in one poll loop: a filter may answer before it
 * has read all, and neither side may wait for a full pipe. What comes beside the one answer,
 * before or behind it, ends the filter. Whose child it is is told by a pid, so that a process
 * made by fork() sees that it has none yet.
 */
#include "run/mask.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/patience.h"
#include "proc/descendants.h"
#include "proc/libexec.h"
#include "proc/orphans.h"
#include "proc/wait.h"

enum { READ_SIZE = 64 << 10 };

/* Ignored signals stay so in all that the shell starts. */
#define SHIELD "trap '' HUP INT QUIT TERM; "
#define PREFIX "awf-mask-"

/* The command. */

/* The command with its first word as the program of AWF's own directory that it names,
 * if it names one. */
static char *
resolve(const char *command)
{
	static const char letters[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	const char *word = command + strspn(command, " \t");
	size_t len = strspn(word, letters);
	char *own = libexec_path();
	char *name = memory_format(PREFIX "%.*s", (int)len, word);
	char *path = len == 0 || strchr(" \t\n", word[len]) == NULL ? NULL : path_search(own, name);
	char *resolved = memory_format("%s%s", path != NULL ? PREFIX : "", word);

	free(path);
	free(name);
	free(own);
	return resolved;
}

static int pass(void *context, struct span line, struct buffer *answer, struct error *err);
static void end(void *context);

/* Takes over both texts. */
static void
begin(struct mask *m, char *command, char *directory)
{
	m->command = command;
	m->directory = directory;
	m->program = memory_format("%s\n%s", directory, command);
	m->process = (struct process){ 0, -1, -1, -1, NULL };
	m->masking.pass = pass;
	m->masking.end = end;
	m->masking.context = m;
	m->masking.program = m->program;
}

static const char *
environment_text(const char *name)
{
	const char *text = getenv(name);

	return text == NULL || *text == '\0' ? NULL : text;
}

/* Without its directory it is not what a run has set, which its mark tells. */
static bool
begin_from_environment(struct mask *m)
{
	const char *command = environment_text(MASK_COMMAND);
	const char *directory = environment_text(MASK_DIRECTORY);

	if (command == NULL)
		return false;
	begin(m, memory_text(command), memory_text(directory != NULL ? directory : ""));
	return true;
}

/* The filter of the run around, if it is the one that the run began with. */
static int
inherit(struct mask *m, const char *command, struct error *err)
{
	struct run around;
	int failed = run_enter(&around, err);

	if (failed == -1)
		return -1;
	failed = mask_join(m, &around, err);
	run_close(&around);
	if (failed == 0 && command != NULL)
		return error_set(err, ERROR_USAGE, MASKING_PLACE,
		    "not inside a run that is masked: its filter masks this one too");
	return failed;
}

/* Where a new run's filter runs; NULL with errno. In memory of its own. */
static char *
find_directory(const char *given)
{
	const char *known = given == NULL ? environment_text(MASK_DIRECTORY) : NULL;
	char here[PATH_MAX];

	if (known != NULL)
		return memory_text(known);
	return getcwd(here, sizeof here) == NULL ? NULL : memory_text(here);
}

int
mask_open(struct mask *m, const char *command, struct error *err)
{
	const char *text = command != NULL ? command : environment_text(MASK_COMMAND);
	char *directory;

	memset(m, 0, sizeof *m);
	if (run_in_environment() && run_environment_masked())
		return inherit(m, command, err);
	if (text == NULL)
		return 0;
	if (text[strspn(text, " \t\n")] == '\0')
		return error_set(err, ERROR_USAGE, MASKING_PLACE, "the command is empty");
	directory = find_directory(command);
	if (directory == NULL)
		return error_errno(err, ERROR_SYSTEM, MASKING_PLACE,
		    "unable to tell the current directory");
	begin(m, resolve(text), directory);
	return 0;
}

int
mask_join(struct mask *m, struct run *run, struct error *err)
{
	memset(m, 0, sizeof *m);
	return run_mask(run, begin_from_environment(m) ? &m->masking : NULL, err);
}

void
mask_environment(struct mask *m, const struct environment *e)
{
	if (m->command == NULL)
		return;
	environment_free(&m->environment);
	environment_copy(&m->environment, e);
}

void
mask_export(const struct mask *m, struct environment *e)
{
	if (m->command == NULL) {
		environment_unset(e, MASK_COMMAND);
		environment_unset(e, MASK_DIRECTORY);
		return;
	}
	environment_set(e, MASK_COMMAND, m->command);
	environment_set(e, MASK_DIRECTORY, m->directory);
}

struct masking *
mask_masking(struct mask *m)
{
	return m->command != NULL ? &m->masking : NULL;
}

/* The process. */

static void
set_path(struct environment *e)
{
	const char *old = environment_get(e, "PATH");
	char *own = libexec_path();
	char *path = memory_format("%s%s%s", own, old != NULL ? ":" : "", old != NULL ? old : "");

	environment_set(e, "PATH", path);
	free(path);
	free(own);
}

static int
start(struct mask *m, struct error *err)
{
	char *text = memory_format(SHIELD "%s", m->command);
	char *argv[4];
	struct process_spec spec = { .argv = argv, .directory = m->directory, .in = PROCESS_PIPE,
		.out = PROCESS_PIPE, .err = PROCESS_INHERIT, .group = true };
	int started;

	process_shell(argv, text);
	if (m->environment.list == NULL)
		environment_begin(&m->environment);
	set_path(&m->environment);
	spec.environment = m->environment.list;
	started = process_start(&m->process, &spec, NULL, err);
	free(text);
	if (started == -1 && err != NULL)
		err->code = ERROR_SYSTEM; /* the command is not at fault, the step is not */
	if (started == -1)
		return -1;
	m->owner = getpid();
	descendants_keep(m->process.pid);
	return 0;
}

static void
close_pipes(struct mask *m)
{
	if (m->process.in != -1)
		close(m->process.in);
	if (m->process.out != -1)
		close(m->process.out);
	m->process.in = m->process.out = -1;
}

/* Waits for the filter, at most so long, then kills it with all that it started. */
static int
reap(struct mask *m, int64_t patience_ms)
{
	int wait_status = 0;

	if (!wait_child(m->process.pid, patience_ms, &wait_status)) {
		tree_signal(m->process.pid, SIGKILL);
		wait_child(m->process.pid, MASK_END_MS, &wait_status);
	}
	descendants_release(m->process.pid);
	m->owner = 0;
	return wait_status;
}

static void
end(void *context)
{
	struct mask *m = context;

	close_pipes(m);
	if (m->owner == getpid())
		reap(m, MASK_END_MS);
	m->owner = 0;
	buffer_free(&m->answers);
}

/* What a parent started is the parent's: a child made by fork() lets go of it. */
static int
own(struct mask *m, struct error *err)
{
	if (m->broken.code != ERROR_NONE) {
		if (err != NULL)
			*err = m->broken;
		return -1;
	}
	if (m->owner == getpid())
		return 0;
	close_pipes(m);
	buffer_clear(&m->answers);
	return start(m, err);
}

/* One exchange. */

struct exchange {
	struct mask *mask;
	struct span line;   /* what is sent, without its LF */
	size_t sent;        /* of it and the LF */
	int64_t deadline;
	int64_t patience;   /* ms */
};

/* Nothing passes any more. */
static int
give_up(struct mask *m, const char *why)
{
	close_pipes(m);
	if (m->owner == getpid())
		reap(m, 0);
	return error_set(&m->broken, ERROR_SYSTEM, MASKING_PLACE,
	    "the filter %s: nothing is written unmasked, so this ends", why);
}

static int
ended(struct mask *m)
{
	char how[64], why[128];

	close_pipes(m);
	process_status_text(reap(m, MASK_END_MS), how, sizeof how);
	snprintf(why, sizeof why, "ended (%s) instead of answering", how);
	return give_up(m, why);
}

/* Writes what the pipe takes. A filter that reads no more is seen by its end. */
static int
send_some(struct exchange *x)
{
	struct mask *m = x->mask;
	static const char feed = '\n';
	const char *at = x->sent < x->line.len ? x->line.at + x->sent : &feed;
	size_t len = x->sent < x->line.len ? x->line.len - x->sent : 1;
	ssize_t n = write(m->process.in, at, len);

	if (n > 0)
		x->sent += (size_t)n;
	else if (n == -1 && errno == EPIPE)
		return ended(m);
	return 0;
}

static int
receive_some(struct exchange *x)
{
	struct buffer *answers = &x->mask->answers;
	ssize_t n = read(x->mask->process.out, buffer_reserve(answers, READ_SIZE), READ_SIZE);

	if (n > 0)
		answers->len += (size_t)n;
	else if (n == 0)
		return ended(x->mask);
	if (answers->len > SCAN_LINE_LIMIT)
		return give_up(x->mask, "answered a line above 256 MiB");
	return 0;
}

static int
wait_some(struct exchange *x)
{
	struct pollfd fds[2] = {
		{ x->sent <= x->line.len ? x->mask->process.in : -1, POLLOUT, 0 },
		{ x->mask->process.out, POLLIN, 0 }
	};
	int64_t left = x->deadline - clock_monotonic();
	char why[64];

	if (left <= 0) {
		snprintf(why, sizeof why, "did not answer within %lld s", (long long)x->patience / 1000);
		return give_up(x->mask, why);
	}
	if (poll(fds, 2, (int)left) <= 0)
		return 0; /* a signal; or the time is over, which is seen above */
	if (fds[1].revents != 0 && receive_some(x) == -1)
		return -1;
	return fds[0].revents != 0 ? send_some(x) : 0;
}

/* What was written before it was asked answers nothing. */
static int
check_quiet(struct mask *m)
{
	struct pollfd fd = { m->process.out, POLLIN, 0 };
	char byte;

	if (m->answers.len == 0 && poll(&fd, 1, 0) <= 0)
		return 0;
	if (m->answers.len == 0 && read(m->process.out, &byte, 1) == 0)
		return ended(m);
	return give_up(m, "answered more than one line for an event");
}

/* Until the whole line is sent and a whole line is there. */
static int
converse(struct exchange *x, size_t *len)
{
	struct buffer *answers = &x->mask->answers;
	size_t searched = 0;
	const char *feed = NULL;

	while (x->sent <= x->line.len || feed == NULL) {
		if (wait_some(x) == -1)
			return -1;
		if (feed == NULL && answers->len > searched)
			feed = memchr(answers->data + searched, '\n', answers->len - searched);
		searched = answers->len;
		if (feed != NULL)
			*len = (size_t)(feed - answers->data);
	}
	return 0;
}

static int
exchange(struct mask *m, struct span line, struct buffer *answer)
{
	struct exchange x = { m, line, 0, 0,
		MASK_ANSWER_MS + (int64_t)(line.len >> 20) * MASK_ANSWER_MIB_MS };
	size_t len = 0;

	x.deadline = clock_monotonic() + x.patience;
	if (check_quiet(m) == -1 || converse(&x, &len) == -1)
		return -1;
	buffer_append(answer, m->answers.data, len);
	buffer_drop(&m->answers, len + 1);
	return m->answers.len == 0 ? 0 : check_quiet(m);
}

static int
pass(void *context, struct span line, struct buffer *answer, struct error *err)
{
	struct mask *m = context;

	if (own(m, err) == -1)
		return -1;
	if (exchange(m, line, answer) == 0)
		return 0;
	if (err != NULL)
		*err = m->broken;
	return -1;
}

void
mask_free(struct mask *m)
{
	if (m->command == NULL)
		return;
	end(m);
	environment_free(&m->environment);
	free(m->command);
	free(m->directory);
	free(m->program);
	m->command = m->directory = m->program = NULL;
}
