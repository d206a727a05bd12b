/*
 * A child process (serve_runs/work.h) executes awf-diff, which writes into a file that is then the answer.
 * The file has a name until the child has opened it, and this process reads it by its own descriptor. What
 * awf-diff may take is limited: time, the size of what it prints, and how many run at once.
 */
#define _GNU_SOURCE /* mkostemp() */
#include "serve/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "io/file.h"
#include "proc/last_words.h"
#include "proc/libexec.h"
#include "proc/process.h"
#include "proc/wait.h"
#include "serve/runs.h"
#include "serve/serve.h"
#include "serve_runs/work.h"

#define COMPARER "awf-diff"
#define COMPARE_MS 30000
#define COMPARE_BYTES (32 << 20)
#define COMPARE_ERRORS ((size_t)64 << 10)
#define COMPARE_AT_ONCE 4
#define COMPARE_TROUBLE 2     /* exit status of awf-diff */

enum compare_result { COMPARE_DONE, COMPARE_FAILED, COMPARE_TOO_LONG, COMPARE_TOO_LARGE };

struct compare_outcome {
	enum compare_result result;
	struct error err;        /* of COMPARE_FAILED */
};

/* A comparison. It belongs to its work while that goes on, even if the request has gone. */
struct comparison {
	struct request *request; /* NULL: nobody waits for it any more */
	struct server *server;
	char *paths[2];          /* of the transcripts */
	bool alone;              /* the client may not read every run: only these two are looked into */
	char *name;              /* of the file that awf-diff writes to */
	int fd;
	struct work *work;       /* NULL: it is done */
	bool died;
	struct compare_outcome outcome;
};

/* ---- in the child process ---- */

/* out: the file that it writes to. */
static void
compare_wait(struct process *process, int out, struct compare_outcome *o)
{
	struct buffer errors = BUFFER_INIT;
	struct stat written;
	int status;

	if (!wait_child(process->pid, COMPARE_MS, &status)) {
		wait_killed(process->pid, &status);
		o->result = COMPARE_TOO_LONG;
	} else if (WIFEXITED(status) && WEXITSTATUS(status) < COMPARE_TROUBLE) {
		o->result = COMPARE_DONE;
	} else if (fstat(out, &written) == 0 && written.st_size >= COMPARE_BYTES) {
		o->result = COMPARE_TOO_LARGE;
	} else {
		file_read(process->err, &errors, COMPARE_ERRORS);
		error_set(&o->err, ERROR_SYSTEM, NULL, "the runs cannot be compared");
		last_words_add(&o->err, buffer_string(&errors), errors.len);
	}
	buffer_free(&errors);
}

static void
compare_run_in_worker(void *context, void *answer)
{
	const struct comparison *c = context;
	const struct rlimit size = { COMPARE_BYTES, COMPARE_BYTES }, no_core = { 0, 0 };
	struct compare_outcome *o = answer;
	struct process process;
	struct process_spec spec = { .in = PROCESS_NULL, .err = PROCESS_PIPE };
	char **argv = NULL;

	o->result = COMPARE_FAILED;
	spec.out = open(c->name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	unlink(c->name);
	if (spec.out == -1) {
		error_errno(&o->err, ERROR_SYSTEM, NULL, "unable to open the file for the comparison");
		return;
	}
	list_take(&argv, libexec_sibling(COMPARER));
	list_add(&argv, "--json");
	if (c->alone)
		list_add(&argv, "--no-children");
	list_add(&argv, c->paths[0]);
	list_add(&argv, c->paths[1]);
	spec.argv = argv;
	setrlimit(RLIMIT_FSIZE, &size);
	setrlimit(RLIMIT_CORE, &no_core);
	if (process_start(&process, &spec, NULL, &o->err) == 0)
		compare_wait(&process, spec.out, o);
	file_close(&spec.out);
	list_free(argv);
}

/* ---- in the server's process ---- */

static void
compare_free(struct comparison *c)
{
	if (c->name != NULL)
		unlink(c->name);
	file_close(&c->fd);
	free(c->paths[0]);
	free(c->paths[1]);
	free(c->name);
	free(c);
}

/* The request is being freed. */
static void
compare_leave(void *state)
{
	struct comparison *c = state;

	c->request = NULL;
	if (c->work == NULL)
		compare_free(c);
}

static void
compare_store_outcome(void *context, const void *answer)
{
	struct comparison *c = context;

	c->work = NULL;
	c->server->comparing--;
	c->died = answer == NULL;
	if (answer != NULL)
		memcpy(&c->outcome, answer, sizeof c->outcome);
	if (c->request == NULL)
		compare_free(c);
	else
		request_wake(c->request);
}

static void
compare_answer(struct request *r, struct comparison *c)
{
	struct stat status = { .st_size = 0 };

	if (c->died || (c->outcome.result == COMPARE_DONE && fstat(c->fd, &status) != 0)) {
		request_error(r, 500, "internal", "the process that was to compare the runs has died");
	} else if (c->outcome.result == COMPARE_FAILED) {
		request_fail(r, &c->outcome.err);
	} else if (c->outcome.result == COMPARE_TOO_LONG) {
		request_error(r, 503, "unavailable", "comparing them takes too long here: use awf-diff");
	} else if (c->outcome.result == COMPARE_TOO_LARGE) {
		request_error(r, 413, "too_large", "too many calls to compare them here: use awf-diff");
	} else {
		const int fd = c->fd;

		c->fd = -1;
		request_file(r, "application/x-ndjson", fd, 0, status.st_size, NULL);
	}
}

/* Makes the file; false: the request was refused. */
static bool
compare_make_file(struct request *r, struct comparison *c)
{
	char *directory = path_join(r->server->home.root, "serve");
	struct error err = ERROR_INIT;

	if (storage_make_directory(directory, false, &err) == 0) {
		c->name = path_join(directory, "compare-XXXXXX");
		c->fd = mkostemp(c->name, O_CLOEXEC);
		if (c->fd == -1)
			error_errno(&err, ERROR_SYSTEM, directory, "unable to make a file there");
	}
	free(directory);
	if (c->fd == -1)
		request_fail(r, &err);
	return c->fd != -1;
}

void
answer_compare(struct request *r)
{
	static const char *const names[2] = { "a", "b" };
	struct comparison *c = r->state;
	char run_ids[2][ID_SIZE];

	if (c != NULL) {
		compare_answer(r, c);
		return;
	}
	for (int i = 0; i < 2; i++) {
		const char *name = request_parameter(r, names[i]);

		if (name == NULL) {
			request_error(r, 400, "invalid_input", "a and b name the runs that are to be compared");
			return;
		}
		if (!request_run(r, name, run_ids[i]))
			return;
	}
	if (r->server->comparing >= COMPARE_AT_ONCE) {
		request_error(r, 503, "unavailable", "others are being compared: try again");
		return;
	}
	c = memory_zero(1, sizeof *c);
	c->request = r;
	c->server = r->server;
	c->fd = -1;
	c->alone = !token_reads(r->token) || (r->token != NULL && r->token->names.count > 0);
	for (int i = 0; i < 2; i++)
		c->paths[i] = storage_transcript(&r->server->storage, run_ids[i]);
	r->state = c;
	r->free_state = compare_leave;
	if (!compare_make_file(r, c))
		return;
	r->server->comparing++;
	c->work = work_start(&r->server->works, compare_run_in_worker, c, sizeof c->outcome, compare_store_outcome);
	request_wait(r);
}
