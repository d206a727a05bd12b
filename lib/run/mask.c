/*
 * A shell as a line peer (proc/peer.h). What comes beside the one answer, before or behind it,
 * ends the filter. Whose child it is is told by a pid, so that a process made by fork() sees
 * that it has none yet.
 */
#include "run/mask.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "proc/libexec.h"

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
	m->masking.pass = pass;
	m->masking.end = end;
	m->masking.context = m;
	m->masking.program = m->program;
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
	struct process_spec spec = { .argv = argv, .directory = m->directory,
		.err = PROCESS_INHERIT, .group = true };
	int started;

	process_shell(argv, text);
	if (m->environment.list == NULL)
		environment_begin(&m->environment);
	set_path(&m->environment);
	spec.environment = m->environment.list;
	m->filter.end_ms = MASK_END_MS;
	m->filter.ends_unheard = m->filter.ignores_signals = true;
	started = peer_start(&m->filter, &spec, err);
	free(text);
	if (started == 0)
		m->owner = getpid();
	else if (err != NULL)
		err->code = ERROR_SYSTEM; /* the command is not at fault, the step is not */
	return started;
}

/* What a parent started is the parent's: a child made by fork() lets go of it. */
static void
end(void *context)
{
	struct mask *m = context;

	if (m->owner == getpid())
		peer_end(&m->filter);
	else
		peer_forget(&m->filter);
	m->owner = 0;
	peer_free(&m->filter);
}

/* One exchange. */

/* Nothing passes any more. */
static int
give_up(struct mask *m, const char *why)
{
	m->filter.end_ms = 0;
	end(m);
	return error_set(&m->broken, ERROR_SYSTEM, MASKING_PLACE,
	    "the filter %s: nothing is written unmasked, so this ends", why);
}

static int
ended(struct mask *m)
{
	char how[64], why[128];

	process_status_text(peer_end(&m->filter), how, sizeof how);
	snprintf(why, sizeof why, "ended (%s) instead of answering", how);
	return give_up(m, why);
}

/* Until the whole line is sent and a whole line is there; what comes beside that one, before
 * or behind it, answers nothing. A filter that reads no more is seen by its end. */
static int
exchange(struct mask *m, struct span line, struct buffer *answer)
{
	static const char several[] = "answered more than one line for an event";
	int64_t patience = MASK_ANSWER_MS + (int64_t)(line.len >> 20) * MASK_ANSWER_MIB_MS;
	int64_t deadline = clock_monotonic() + patience;
	struct peer *filter = &m->filter;
	int answered = 0;
	struct error err;
	struct span said;
	char why[64];

	if (peer_receive(filter) == -1)
		return ended(m);
	if (peer_untaken(filter) > 0)
		return give_up(m, several);
	buffer_append(&filter->outgoing, line.at, line.len);
	buffer_byte(&filter->outgoing, '\n');
	if (peer_send(filter) == -1)
		return ended(m);
	while (answered == 0 || peer_unsent(filter) > 0) {
		switch (peer_wait(filter, deadline, NULL, &err)) {
		case PEER_SERVED:
			break;
		case PEER_GONE:
			return ended(m);
		case PEER_LATE:
			snprintf(why, sizeof why, "did not answer within %lld s", (long long)patience / 1000);
			return give_up(m, why);
		case PEER_INTERRUPTED:
			return give_up(m, "cannot be waited for");
		}
		if (filter->process.in == -1)
			return ended(m);
		if (answered == 0 && (answered = peer_line(filter, &said)) == 1)
			buffer_append(answer, said.at, said.len);
		if (answered == -1)
			return give_up(m, "answered a line above 256 MiB");
	}
	return peer_untaken(filter) == 0 ? 0 : give_up(m, several);
}

static int
pass(void *context, struct span line, struct buffer *answer, struct error *err)
{
	struct mask *m = context;

	if (m->broken.code == ERROR_NONE && m->owner != getpid()) {
		end(m);
		if (start(m, err) == -1)
			return -1;
	}
	if (m->broken.code == ERROR_NONE && exchange(m, line, answer) == 0)
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
