/*
 * The server gets no call of the step in its environment, as it outlives them, and a mark of
 * its own by which its orphans are found. Every value that is a key is noted at the start,
 * the longest first, and hidden in whatever it says: one may be part of another.
 */
#include "agent/mcp_process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "proc/descendants.h"
#include "proc/orphans.h"
#include "proc/wait.h"

enum {
	LOOK_AGAIN = 10,           /* ms */
	ERRORS_KEPT = 8 << 10,     /* bytes of stderr */
	READS_AT_ONCE = 64,        /* more than a pipe holds */
	ERRORS_TOLD = 400          /* of them, in a message */
};

/* ---- what is wrong with a server ---- */

/* The end of what it wrote on stderr, from the beginning of a line on if there is one. */
static struct span
last_words(const struct mcp_server *s)
{
	size_t len = s->errors.len, from = len > ERRORS_TOLD ? len - ERRORS_TOLD : 0;
	const char *at = buffer_string(&s->errors) + from, *lf = memchr(at, '\n', len - from);

	if (from > 0 && lf != NULL && lf + 1 < at + (len - from)) {
		from += (size_t)(lf + 1 - at);
		at = lf + 1;
	}
	return span_trim(span_of(at, len - from));
}

int
mcp_fault(const struct mcp_server *s, struct error *err, const char *format, ...)
{
	struct span said = last_words(s);
	char what[512];
	va_list list;

	va_start(list, format);
	vsnprintf(what, sizeof what, format, list);
	va_end(list);
	return error_set(err, ERROR_TOOL, NULL, "the MCP server '%s' %s%s%.*s", s->definition.name,
	    what, said.len > 0 ? "; it said: " : "", (int)said.len, said.at);
}

/* ---- the process ---- */

static char *
expand(struct mcp_server *s, const struct mcp_use *use, const char *text, struct error *err)
{
	return mcp_expand(text, use->keys, &s->secrets, s->definition.place, err);
}

/* Command and arguments, their variables in place. */
static char **
expand_command(struct mcp_server *s, const struct mcp_use *use, struct error *err)
{
	const struct mcp_definition *m = &s->definition;
	char **argv = NULL, *word = expand(s, use, m->command, err);

	for (char **next = m->arguments; word != NULL; next++) {
		list_take(&argv, word);
		if (next == NULL || *next == NULL)
			return argv;
		word = expand(s, use, *next, err);
	}
	list_free(argv);
	return NULL;
}

static int
longer_first(const void *a, const void *b)
{
	size_t one = strlen(*(char *const *)a), other = strlen(*(char *const *)b);

	return (one < other) - (one > other);
}

/* Those that its environment has, be it the step's or the definition's. One may be part
 * of another. */
static void
note_secrets(struct mcp_server *s, const struct mcp_use *use, const struct environment *e)
{
	for (size_t i = 0; i < e->count; i++) {
		const char *equals = strchr(e->list[i], '=');
		char *name = equals == NULL ? NULL :
		    memory_copy(e->list[i], (size_t)(equals - e->list[i]));

		if (name != NULL && keys_is_secret(use->keys, name, equals + 1))
			list_add(&s->secrets, equals + 1);
		free(name);
	}
	if (s->secrets != NULL)
		qsort(s->secrets, list_count(s->secrets), sizeof *s->secrets, longer_first);
}

/* What marks the calls of the step is none of the server's, which outlives them. */
static int
make_environment(struct mcp_server *s, const struct mcp_use *use, struct environment *e,
    struct error *err)
{
	static const char *const of_calls[] = { "AWF_CALL", "AWF_PARENT", "AWF_CLAIMED", "AWF_TASK",
		"AWF_TRY" };
	const struct mcp_definition *m = &s->definition;
	const char *outer = getenv(ORPHANS_MARK);

	if (use->environment == NULL)
		environment_begin(e);
	else
		environment_copy(e, use->environment);
	for (size_t i = 0; i < sizeof of_calls / sizeof *of_calls; i++)
		environment_unset(e, of_calls[i]);
	free(s->mark);
	s->mark = memory_format("%s%smcp-%s", outer == NULL ? "" : outer, outer == NULL ? "" : "/",
	    m->name);
	environment_set(e, ORPHANS_MARK, s->mark);
	for (size_t i = 0; m->variables != NULL && m->variables[i] != NULL; i++) {
		char *value = expand(s, use, m->values[i], err);

		if (value == NULL)
			return -1;
		environment_set(e, m->variables[i], value);
		free(value);
	}
	note_secrets(s, use, e);
	return 0;
}

/* Whether a program runs packages of a registry. */
static bool
fetches(const char *program)
{
	static const char *const names[] = { "npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "uvx", "uv",
		"pipx" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(path_base(program), names[i]) == 0)
			return true;
	return false;
}

/* It would ask a network that is not there again and again, for minutes. What is there
 * already it runs. */
static void
say_offline(struct environment *e)
{
	environment_set(e, "npm_config_offline", "true");
	environment_set(e, "npm_config_fetch_retries", "0");
	environment_set(e, "UV_OFFLINE", "1");
	environment_set(e, "PIP_NO_INDEX", "1");
}

/* The command line in the sandbox that agent and step say, if they say one. A program that
 * is named by its path may be read there. */
static int
enclose(struct mcp_server *s, const struct mcp_use *use, char ***argv, struct error *err)
{
	static const struct sandbox nothing_said;
	const struct sandbox *said[] = { use->sandbox == NULL ? &nothing_said : use->sandbox,
		s->sandbox == NULL ? &nothing_said : s->sandbox, NULL };
	char *readable[2] = { NULL, NULL }, **enclosed;
	struct sandbox decided;

	if (sandbox_decide(&decided, said, err) == -1)
		return -1;
	s->enclosed = sandbox_holds(&decided);
	s->cut_off = s->enclosed && decided.network == SANDBOX_NETWORK_DENIED && fetches((*argv)[0]);
	if (!s->enclosed)
		return 0;
	readable[0] = strchr((*argv)[0], '/') == NULL ? NULL : path_directory((*argv)[0]);
	enclosed = sandbox_argv(&decided, NULL, readable, s->definition.variables, *argv);
	free(readable[0]);
	list_free(*argv);
	*argv = enclosed;
	return 0;
}

/* A server that is started anew is the one that was started. */
static int
pin(struct mcp_server *s, char *const *argv, struct error *err)
{
	if (s->pins.list == NULL)
		pins_add_command(&s->pins, argv);
	return pins_check(&s->pins, err);
}

static int
start(struct mcp_server *s, const struct process_spec *spec, struct error *err)
{
	struct error why = ERROR_INIT;
	char text[sizeof why.place + sizeof why.message];

	if (process_start(&s->process, spec, NULL, &why) == 0) {
		s->process.name = s->definition.name;
		descendants_keep(s->process.pid);
		return 0;
	}
	s->process.pid = 0;
	if (why.code != ERROR_SYSTEM)
		return mcp_fault(s, err, "cannot be run: %s", error_text(&why, text, sizeof text));
	*err = why;
	return -1;
}

int
mcp_spawn(struct mcp_server *s, const struct mcp_use *use, struct error *err)
{
	const struct mcp_definition *m = &s->definition;
	struct environment environment = { NULL, 0, 0 };
	char **argv, *directory = NULL;
	int status;

	list_free(s->secrets);
	s->secrets = NULL;
	argv = expand_command(s, use, err);
	status = argv == NULL ? -1 : make_environment(s, use, &environment, err);

	if (status == 0)
		status = enclose(s, use, &argv, err);
	if (status == 0 && !s->enclosed)
		status = pin(s, argv, err);
	if (status == 0 && s->cut_off)
		say_offline(&environment);
	if (status == 0 && m->directory != NULL) {
		directory = expand(s, use, m->directory, err);
		status = directory == NULL ? -1 : 0;
	}
	if (status == 0) {
		const struct process_spec spec = { .argv = argv, .environment = environment.list,
		    .directory = directory, .in = PROCESS_PIPE, .out = PROCESS_PIPE,
		    .err = PROCESS_PIPE };

		status = start(s, &spec, err);
	}
	free(directory);
	environment_free(&environment);
	list_free(argv);
	return status;
}

static void
drop(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

void
mcp_hide(const struct mcp_server *s, char *bytes, size_t len)
{
	for (char **secret = s->secrets; secret != NULL && *secret != NULL; secret++)
		text_hide(bytes, len, *secret);
}

bool
mcp_says_secret(const struct mcp_server *s, struct span said)
{
	for (char **secret = s->secrets; secret != NULL && *secret != NULL; secret++)
		if (text_has(said.at, said.len, *secret))
			return true;
	return false;
}

/* A secret may come in pieces. */
void
mcp_keep_errors(struct mcp_server *s, const char *bytes, size_t len)
{
	buffer_append(&s->errors, bytes, len);
	if (len > 0)
		mcp_hide(s, s->errors.data, s->errors.len);
	if (s->errors.len > 2 * (size_t)ERRORS_KEPT)
		buffer_drop(&s->errors, s->errors.len - ERRORS_KEPT);
}

void
mcp_read_errors(struct mcp_server *s)
{
	char bytes[4096];
	ssize_t n = 0;

	for (int i = 0; i < READS_AT_ONCE && s->process.err != -1 &&
	    (n = read(s->process.err, bytes, sizeof bytes)) != -1; i++) {
		if (n == 0)
			drop(&s->process.err);
		else
			mcp_keep_errors(s, bytes, (size_t)n);
	}
	if (n == -1 && s->process.err != -1 && errno != EAGAIN && errno != EINTR)
		drop(&s->process.err);
}

void
mcp_hang_up(struct mcp_server *s)
{
	if (s->process.in != -1)
		s->hung_up = clock_monotonic();
	drop(&s->process.in);
}

/* Ends what the server started and left behind. */
static void
end_orphans(struct orphans *o)
{
	int64_t end = clock_monotonic() + GRACE_MS;
	const pid_t none[] = { 0 };
	int number = SIGTERM;

	while (orphans_end(o, number, none) && clock_monotonic() < end + GRACE_MS) {
		if (clock_monotonic() >= end)
			number = SIGKILL;
		poll(NULL, 0, LOOK_AGAIN);
	}
	orphans_free(o);
}

int
mcp_await_end(struct mcp_server *s)
{
	int64_t patience = MCP_END_MS - (clock_monotonic() - s->hung_up);
	struct orphans orphans;
	int wait_status = -1;

	if (s->process.pid == 0)
		return -1;
	orphans_begin(&orphans, s->process.pid, s->mark);
	if (!wait_child(s->process.pid, patience, &wait_status))
		wait_end(s->process.pid, &wait_status);
	descendants_release(s->process.pid);
	end_orphans(&orphans);
	mcp_read_errors(s);
	drop(&s->process.out);
	drop(&s->process.err);
	s->process.pid = 0;
	s->exit_code = wait_status == -1 ? 0 : process_exit_code(wait_status);
	s->hung_up = 0;
	s->ready = s->listed = s->stale = false;
	buffer_clear(&s->incoming);
	buffer_clear(&s->outgoing);
	s->searched = s->unread = 0;
	return wait_status;
}
