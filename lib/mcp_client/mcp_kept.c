/*
 * A variable in the worker's environment describes the process. It is passed to the guardian in an
 * anonymous memory file. The name of the worker's slot is a digest of the whole environment with
 * that variable: keys may be in either. Files named in the command line are represented by their
 * digest if users other than root can write to them, otherwise by their size, times and the like.
 */
#include "mcp_client/mcp_kept.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/patience.h"
#include "definitions/pins.h"
#include "io/file.h"
#include "isolate/sandbox.h"
#include "json/scan.h"
#include "json/writer.h"
#include "proc/libexec.h"
#include "proc/orphans.h"
#include "start/pool.h"
#include "storage/run.h"

#define PROGRAM "awf-mcp-keep"
#define VARIABLE "AWF_MCP_KEPT"

bool
mcp_kept(const struct mcp_server *s)
{
	return s->definition.keep && s->run != NULL && s->run->lock_fd == -1;
}

/* The absolute path of a directory; NULL: the current one. Returns NULL if that does not exist any
 * more. */
static char *
mcp_kept_absolute_path(const char *directory)
{
	char here[PATH_MAX];

	if (directory != NULL && *directory == '/')
		return memory_text(directory);
	if (getcwd(here, sizeof here) == NULL)
		return NULL;
	return directory == NULL ? memory_text(here) : path_join(here, directory);
}

static void
mcp_kept_describe_server(const struct mcp_server *s, const struct mcp_process *process,
    const char *directory, struct buffer *text)
{
	struct pins pins = { NULL, 0 };
	struct buffer files = BUFFER_INIT;
	struct writer w;

	pins_add_command(&pins, process->command);
	pins_read(&pins);
	pins_describe(&pins, &files);
	pins_free(&pins);
	writer_begin(&w, text);
	writer_object(&w);
	writer_member_string(&w, "name", s->definition.name);
	writer_member_array(&w, "argv");
	for (char *const *word = process->argv; *word != NULL; word++)
		writer_string(&w, *word);
	writer_array_end(&w);
	writer_member_bool(&w, "enclosed", process->enclosed);
	writer_member_string(&w, "directory", directory);
	writer_member_string(&w, "first", process->first);
	writer_member_string(&w, "files", buffer_string(&files));
	writer_object_end(&w);
	buffer_free(&files);
}

static int
compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The server's environment, with the variable that describes it. Variables that differ between
 * steps or shells are left out, and the list is sorted, because shells change its order. */
static void
make_environment(const struct mcp_server *s, const struct mcp_process *process,
    const char *directory, struct environment *e)
{
	static const char *const of_steps[] = { "AWF_PATH", "SHLVL", "OLDPWD", "_" };
	struct buffer text = BUFFER_INIT;
	char *mark = memory_format("mcp-%s", s->definition.name);

	environment_copy(e, process->environment);
	for (size_t i = 0; i < sizeof of_steps / sizeof *of_steps; i++)
		environment_unset(e, of_steps[i]);
	environment_set(e, "PWD", directory);
	environment_set(e, ORPHANS_MARK, mark);
	mcp_kept_describe_server(s, process, directory, &text);
	environment_set(e, VARIABLE, buffer_string(&text));
	qsort(e->list, e->count, sizeof *e->list, compare_texts);
	buffer_free(&text);
	free(mark);
}

/* Waits for the worker's hello, and for the ids that this client may use. 1; 0: they do not arrive;
 * -1: interrupted. */
static int
listen_to(struct mcp_server *s, int64_t deadline, const struct interrupts *interrupts,
    struct error *err)
{
	enum peer_event event = PEER_SERVED;
	bool heard = false;
	struct span line;
	int taken = 0;

	while (event == PEER_SERVED) {
		while ((taken = peer_line(&s->peer, &line)) == 1) {
			if (heard)
				return span_integer(span_member(line, "from"), &s->next_id) ? 1 : 0;
			heard = line.len == sizeof POOL_HELLO - 1 && memcmp(line.at, POOL_HELLO, line.len) == 0;
			if (!heard)
				return 0;
		}
		event = taken == -1 ? PEER_GONE : peer_wait(&s->peer, deadline, interrupts, err);
	}
	return event == PEER_INTERRUPTED ? -1 : 0;
}

int
mcp_kept_connect(struct mcp_server *s, const struct mcp_process *process,
    const struct interrupts *interrupts, struct error *err)
{
	char *list = libexec_path(), *program = path_search(list, PROGRAM);
	char *directory = mcp_kept_absolute_path(process->directory);
	struct environment environment = { NULL, 0, 0 };
	struct pool_spec spec = { .run_directory = s->run->directory, .key = s->run->key,
	    .program = program };
	int status = 0;

	/* The worker fills in its own pid (mcp_kept_read()). */
	if (process->enclosed)
		sandbox_end_with(process->argv, 0);
	if (program != NULL && directory != NULL)
		make_environment(s, process, directory, &environment);
	spec.environment = environment.list;

	/* If the worker is dead or stopped, connect to a new one, once. */
	for (int i = 0; i < 2 && status == 0 && environment.list != NULL; i++) {
		if (!pool_connect_shared(&s->worker, &spec))
			break;
		if (peer_connect(&s->peer, s->worker.fd) == -1) {
			pool_release(&s->worker);
			break;
		}
		status = listen_to(s, clock_monotonic() + (s->worker.starts ? WORKER_START_MS :
		    WORKER_HELLO_MS), interrupts, err);
		if (status != 1) {
			peer_end(&s->peer);
			pool_abandon(&s->worker, s->run->directory);
		}
	}
	pool_share(&s->worker);
	s->worker_status = -1;
	s->first_id = status == 1 ? s->next_id : 0;
	if (process->enclosed)
		sandbox_end_with(process->argv, getpid());
	environment_free(&environment);
	free(directory);
	free(program);
	free(list);
	return status;
}

bool
mcp_kept_read(struct mcp_kept_process *p)
{
	const char *said = getenv(VARIABLE);
	struct span text = span_of(said, said == NULL ? 0 : strlen(said));
	size_t bad;

	*p = (struct mcp_kept_process){ .argv = NULL };
	if (said == NULL || scan_check(text.at, text.len, &bad) != NULL)
		return false;
	for (struct span_walk word = span_walk(span_member(text, "argv")); span_next(&word);) {
		char *one = span_text(word.value);

		if (one == NULL)
			return false;
		list_take(&p->argv, one);
	}
	p->directory = span_text(span_member(text, "directory"));
	p->first = span_text(span_member(text, "first"));
	if (p->argv == NULL || p->directory == NULL)
		return false;
	if (span_true(span_member(text, "enclosed")))
		sandbox_end_with(p->argv, getpid());
	unsetenv(VARIABLE);
	return true;
}

void
mcp_kept_free(struct mcp_kept_process *p)
{
	list_free(p->argv);
	free(p->directory);
	free(p->first);
}
