/*
 * The server outlives the step's calls, so its environment does not name them; it has a mark of its
 * own, by which its orphans are found. All keys that it is given are noted at the start, the
 * longest first, because one may contain another, and are hidden in everything that the server
 * writes.
 */
#include "mcp_client/mcp_process.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "definitions/trust.h"
#include "io/file.h"
#include "json/writer.h"
#include "mcp_client/mcp_kept.h"
#include "proc/libexec.h"
#include "proc/orphans.h"
#include "storage/run.h"

#define ERRORS_TOLD 400 /* bytes of stderr that a message quotes */
#define HTTP_PROGRAM "awf-mcp-http"

int
mcp_fault(const struct mcp_server *s, struct error *err, const char *format, ...)
{
	size_t len = s->peer.errors.len, from = len > ERRORS_TOLD ? len - ERRORS_TOLD : 0;
	const char *at = buffer_string(&s->peer.errors) + from, *lf = memchr(at, '\n', len - from);
	struct span said;
	char what[512];
	va_list list;

	/* Quote the end of its stderr, from the beginning of a line if there is one. */
	if (from > 0 && lf != NULL && lf + 1 < at + (len - from)) {
		from += (size_t)(lf + 1 - at);
		at = lf + 1;
	}
	said = span_trim(span_of(at, len - from));
	va_start(list, format);
	vsnprintf(what, sizeof what, format, list);
	va_end(list);
	return error_set(err, ERROR_TOOL, NULL, "the MCP server '%s' %s%s%.*s", s->definition.name,
	    what, said.len > 0 ? "; it said: " : "", (int)said.len, said.at);
}

static char *
mcp_process_expand(struct mcp_server *s, const struct mcp_use *use, const char *text,
    struct error *err)
{
	return mcp_expand(text, s->definition.file, use->keys, &s->peer.secrets, s->definition.place,
	    err);
}

static int
longer_first(const void *a, const void *b)
{
	size_t one = strlen(*(char *const *)a), other = strlen(*(char *const *)b);

	return (one < other) - (one > other);
}

static void
sort_secrets(struct mcp_server *s)
{
	if (s->peer.secrets != NULL)
		qsort(s->peer.secrets, list_count(s->peer.secrets), sizeof *s->peer.secrets, longer_first);
}

/* Sets the variables of the definition; only for the sandbox if the server has one. */
static int
set_variables(struct mcp_server *s, const struct mcp_use *use, struct environment *e,
    struct error *err)
{
	const struct mcp_definition *m = &s->definition;

	/* The program that connects to a URL is AWF's own and does not get the variables. */
	for (size_t i = 0; m->url == NULL && m->variables != NULL && m->variables[i] != NULL; i++) {
		char *value = mcp_process_expand(s, use, m->values[i], err);

		if (value == NULL)
			return -1;
		if (keys_is_secret(use->keys, m->variables[i], value))
			list_add(&s->peer.secrets, value);
		if (s->enclosed)
			sandbox_set_variable(e, m->variables[i], value);
		else
			environment_set(e, m->variables[i], value);
		free(value);
	}
	return 0;
}

/* Makes the environment, without the variables that name a call: the server outlives the step's
 * calls. */
static int
make_environment(struct mcp_server *s, const struct mcp_use *use, struct environment *e,
    struct error *err)
{
	static const char *const of_calls[] = { "AWF_CALL", "AWF_PARENT", "AWF_CLAIMED", "AWF_TASK",
		"AWF_TASK_TOKEN", "AWF_TRY", "AWF_TOOL_CALL", "TRACEPARENT", "TRACESTATE" };
	const struct mcp_definition *m = &s->definition;
	const char *outer = getenv(ORPHANS_MARK);

	if (use->environment == NULL)
		environment_begin(e);
	else
		environment_copy(e, use->environment);
	for (size_t i = 0; i < sizeof of_calls / sizeof *of_calls; i++)
		environment_unset(e, of_calls[i]);
	free(s->peer.mark);
	s->peer.mark = memory_format("%s%smcp-%s", outer == NULL ? "" : outer, outer == NULL ? "" : "/",
	    m->name);
	environment_set(e, ORPHANS_MARK, s->peer.mark);
	if (set_variables(s, use, e, err) != 0)
		return -1;
	/* Notes the keys in the step's environment and in the definition. */
	for (size_t i = 0; i < e->count; i++) {
		const char *equals = strchr(e->list[i], '=');
		char *name = equals == NULL ? NULL :
		    memory_copy(e->list[i], (size_t)(equals - e->list[i]));

		if (name != NULL && keys_is_secret(use->keys, name, equals + 1))
			list_add(&s->peer.secrets, equals + 1);
		free(name);
	}
	sort_secrets(s);
	return 0;
}

/* The sandbox for a program: that of the agent and the step, if they set one. */
static int
decide_sandbox(struct mcp_server *s, const struct mcp_use *use, const char *program,
    struct sandbox *decided, struct error *err)
{
	/* Commands that run packages from a registry. */
	static const char *const fetching[] = { "npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "uvx",
		"uv", "pipx", NULL };
	static const struct sandbox nothing_said;
	const struct sandbox *said[] = { use->sandbox == NULL ? &nothing_said : use->sandbox,
		s->sandbox == NULL ? &nothing_said : s->sandbox, NULL };

	if (sandbox_decide(decided, said, err) == -1)
		return -1;
	s->enclosed = sandbox_holds(decided);
	s->cut_off = s->enclosed && decided->network == SANDBOX_NETWORK_DENIED &&
	    text_index(path_base(program), fetching) != -1;
	return 0;
}

/* Runs the command line in the sandbox, where the program may be read if the command is a path. */
static void
mcp_process_sandbox_command(const struct mcp_server *s, const struct sandbox *decided, char ***argv,
    struct environment *e)
{
	char *readable[2] = { NULL, NULL }, **enclosed;
	const char *program = (*argv)[0];

	if (s->cut_off) {
		/* Without a network it would retry for minutes. Installed packages still run. */
		environment_set(e, "npm_config_offline", "true");
		environment_set(e, "npm_config_fetch_retries", "0");
		environment_set(e, "UV_OFFLINE", "1");
		environment_set(e, "PIP_NO_INDEX", "1");
	}
	readable[0] = strchr(program, '/') == NULL ? NULL : path_directory(program);
	enclosed = sandbox_argv(decided, NULL, readable, NULL, *argv);
	free(readable[0]);
	list_free(*argv);
	*argv = enclosed;
}

/* Writes the first line for the program that speaks HTTP, with the URL and headers, so that no key
 * is in its arguments or environment. */
static int
write_url(struct mcp_server *s, const struct mcp_use *use, struct buffer *line, struct error *err)
{
	const struct mcp_definition *m = &s->definition;
	char *url = mcp_process_expand(s, use, m->url, err);
	struct writer w;
	int status = url == NULL ? -1 : 0;

	if (status == 0 && strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
		status = error_set(err, ERROR_DEFINITION, m->place, "url: expected http://… or https://…");
	writer_begin(&w, line);
	writer_object(&w);
	if (status == 0)
		writer_member_string(&w, "url", url);
	writer_member_bool(&w, "sse", m->sse);
	writer_member_array(&w, "headers");
	for (size_t i = 0; status == 0 && m->headers != NULL && m->headers[i] != NULL; i++) {
		char *value = mcp_process_expand(s, use, m->header_values[i], err), *header;

		if (value == NULL) {
			status = -1;
		} else if (strpbrk(value, "\r\n") != NULL) {
			status = error_set(err, ERROR_DEFINITION, m->place, "headers: %s: has a line break",
			    m->headers[i]);
		} else {
			header = memory_format("%s: %s", m->headers[i], value);
			writer_string(&w, header);
			free(header);
			/* Treat every value as secret: headers are meant for the server only. */
			if (*value != '\0')
				list_add(&s->peer.secrets, value);
		}
		free(value);
	}
	writer_array_end(&w);
	writer_object_end(&w);
	buffer_byte(line, '\n');
	free(url);
	sort_secrets(s);
	return status;
}

/* Starts a process for the server, or connects to the run's. */
static int
mcp_process_start_server(struct mcp_server *s, const struct mcp_use *use,
    const struct mcp_process *process, struct error *err)
{
	const struct process_spec spec = { .argv = process->argv,
	    .environment = process->environment->list, .directory = process->directory,
	    .err = PROCESS_PIPE };
	int status = mcp_kept(s) ? mcp_kept_connect(s, process, use->interrupts, err) : 0;

	if (status != 0)
		return status == 1 ? 0 : -1;
	status = peer_start(&s->peer, &spec, err);
	if (status == 0 && process->first != NULL) {
		buffer_text(&s->peer.outgoing, process->first);
		peer_send(&s->peer);
	}
	return status;
}

/* Starts the program that speaks HTTP with the server. It is AWF's own and runs in no sandbox. */
static int
connect_url(struct mcp_server *s, const struct mcp_use *use, struct error *err)
{
	struct environment environment = { NULL, 0, 0 };
	char *path = libexec_path(), *argv[] = { path_search(path, HTTP_PROGRAM), NULL };
	struct buffer line = BUFFER_INIT;
	struct mcp_process process = { .argv = argv, .command = argv, .environment = &environment };
	int status = make_environment(s, use, &environment, err);

	if (status == 0)
		status = write_url(s, use, &line, err);
	if (status == 0 && argv[0] == NULL)
		status = error_set(err, ERROR_SYSTEM, HTTP_PROGRAM, "not found in %s", path);
	process.first = buffer_string(&line);
	if (status == 0)
		status = mcp_process_start_server(s, use, &process, err);
	buffer_free(&line);
	environment_free(&environment);
	free(argv[0]);
	free(path);
	return status;
}

int
mcp_spawn(struct mcp_server *s, const struct mcp_use *use, struct error *err)
{
	const struct mcp_definition *m = &s->definition;
	struct environment environment = { NULL, 0, 0 };
	struct trust_items items = { NULL, 0 };
	struct sandbox decided;
	char **argv = NULL, **command = NULL, *directory = NULL, *word;
	int status = 0;

	list_free(s->peer.secrets);
	s->peer.secrets = NULL;
	if (m->url != NULL)
		return connect_url(s, use, err);
	for (size_t i = 0, count = 1 + list_count(m->arguments); status == 0 && i < count; i++) {
		word = mcp_process_expand(s, use, i == 0 ? m->command : m->arguments[i - 1], err);
		if (word == NULL)
			status = -1;
		else
			list_take(&command, word);
	}
	argv = list_copy(command);
	INVARIANT(status != 0 || command != NULL);
	if (status == 0)
		status = decide_sandbox(s, use, command[0], &decided, err);
	if (status == 0)
		status = make_environment(s, use, &environment, err);
	if (status == 0 && m->directory != NULL) {
		directory = mcp_process_expand(s, use, m->directory, err);
		status = directory == NULL ? -1 : 0;
	}
	if (status == 0 && s->enclosed) {
		decided.directory = directory;
		mcp_process_sandbox_command(s, &decided, &argv, &environment);
		environment_free(&s->environment);
		environment_copy(&s->environment, &environment);
		s->passed = decided.passed;
	}
	if (status == 0 && !s->enclosed) {
		/* A server that is restarted must be the same program. */
		if (s->pins.list == NULL) {
			pins_add_command(&s->pins, argv);
			pins_read(&s->pins);
		}
		status = pins_check(&s->pins, err);
		if (status == 0 && trust_is_checked_anew())
			trust_add_server(&items, m);
		if (status == 0)
			status = trust_check_anew(&items, err);
	}
	if (status == 0) {
		/* The program that makes the sandbox starts in the current directory, which is its
		 * workspace. */
		const struct mcp_process process = { .argv = argv, .command = command,
		    .environment = &environment, .directory = s->enclosed ? NULL : directory,
		    .enclosed = s->enclosed };
		struct error why = ERROR_INIT;
		char text[sizeof why.place + sizeof why.message];

		status = mcp_process_start_server(s, use, &process, &why);
		if (status == -1 && why.code != ERROR_EXIT_STATUS)
			*err = why;
		else if (status == -1)
			mcp_fault(s, err, "cannot be run: %s", error_text(&why, text, sizeof text));
	}
	free(directory);
	environment_free(&environment);
	list_free(command);
	list_free(argv);
	return status;
}

void
mcp_hide(const struct mcp_server *s, char *bytes, size_t len)
{
	for (char **secret = s->peer.secrets; secret != NULL && *secret != NULL; secret++)
		text_hide(bytes, len, *secret);
}

bool
mcp_says_secret(const struct mcp_server *s, struct span said)
{
	for (char **secret = s->peer.secrets; secret != NULL && *secret != NULL; secret++)
		if (text_has(said.at, said.len, *secret))
			return true;
	return false;
}

int
mcp_end(struct mcp_server *s)
{
	int wait_status;

	if (s->peer.process.pid == 0)
		return -1;
	wait_status = peer_end(&s->peer);
	if (s->worker.fd != -1) {
		wait_status = s->worker_status;
		pool_release(&s->worker);
	}
	s->exit_code = wait_status == -1 ? 0 : process_exit_code(wait_status);
	s->ready = s->listed = s->stale = false;
	s->unread = 0;
	return wait_status;
}

void
mcp_give_up(struct mcp_server *s)
{
	/* The worker ends when its last client disconnects. */
	if (s->worker.fd != -1) {
		peer_hang_up(&s->peer);
		pool_abandon(&s->worker, s->run->directory);
	}
	mcp_end(s);
}
