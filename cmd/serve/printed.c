/*
 * A child process (serve_runs/work.h) executes a program, which writes into a file that is then the answer
 * (serve_runs/scratch.h). What the program may take is limited: time, the size of what it prints, and how many
 * run at once.
 */
#include "serve/printed.h"

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
#include "serve_runs/scratch.h"
#include "serve_runs/work.h"
#include "transcript/blob.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/reader.h"

#define PRINT_MS 30000
#define PRINT_BYTES (32 << 20)
#define PRINT_ERRORS ((size_t)64 << 10)
#define PRINT_AT_ONCE 4
#define COMPARER "awf-diff"
#define COMPARE_TROUBLE 2     /* exit status of awf-diff */
#define EVALUATOR "awf-eval"
#define EVALUATOR_CASES "--cases"
#define EVALUATE_TROUBLE 2    /* of awf-eval: also if some trials have errors, or have not ended */

enum print_result { PRINT_DONE, PRINT_FAILED, PRINT_TOO_LONG, PRINT_TOO_LARGE, PRINT_NO_EVALUATION };

struct print_outcome {
	enum print_result result;
	struct error err;        /* of PRINT_FAILED */
};

/* What a program prints. It belongs to its work while that goes on, even if the request has gone. */
struct printed {
	struct request *request; /* NULL: nobody waits for it any more */
	struct server *server;
	char run_ids[2][ID_SIZE];
	bool compares;           /* two runs; otherwise it reports on the first */
	bool alone;              /* the client may not read every run: only these are looked into */
	struct scratch file;     /* that the program writes to */
	struct work *work;       /* NULL: it is done */
	bool died;
	struct print_outcome outcome;
};

/* ---- in the child process ---- */

/* Whether the run's command line is that of an evaluation (cmd/eval/main.c). -1: *err. */
static int
evaluation_is(const struct storage *s, const char *run_id, struct error *err)
{
	char *path = storage_transcript(s, run_id), *blobs = storage_blobs(s, run_id);
	struct buffer whole = BUFFER_INIT;
	struct event_view event;
	struct reader reader;
	const char *line;
	size_t len;
	int is = reader_open(&reader, path, err);

	if (is == 0) {
		is = reader_next(&reader, &line, &len, err);
		if (is == 1 && blob_inline(blobs, line, len, &whole, err) != 0)
			is = -1;
		reader_close(&reader);
	}
	if (is == 1 && event_view(whole.data, whole.len, &event) == 0) {
		struct span_walk word = span_walk(span_member(event.payload, KEY_ARGV));
		char *program = span_next(&word) ? span_text(word.value) : NULL;

		is = program != NULL && strcmp(path_base(program), EVALUATOR) == 0 && span_next(&word) &&
		    span_is(word.value, EVALUATOR_CASES);
		free(program);
	} else if (is == 1) {
		is = 0;
	}
	buffer_free(&whole);
	free(blobs);
	free(path);
	return is;
}

static char **
printed_words(const struct printed *p)
{
	char **argv = NULL;

	list_take(&argv, libexec_sibling(p->compares ? COMPARER : EVALUATOR));
	if (p->compares) {
		list_add(&argv, "--json");
		if (p->alone)
			list_add(&argv, "--no-children");
	} else {
		list_add(&argv, "--report");
		list_add(&argv, "--output=json");
	}
	for (int i = 0; i < (p->compares ? 2 : 1); i++)
		list_take(&argv, storage_transcript(&p->server->storage, p->run_ids[i]));
	return argv;
}

/* out: the file that it writes to. */
static void
printed_wait(const struct printed *p, struct process *process, int out, struct print_outcome *o)
{
	struct buffer errors = BUFFER_INIT;
	struct stat written;
	int status;

	if (!wait_child(process->pid, PRINT_MS, &status)) {
		wait_killed(process->pid, &status);
		o->result = PRINT_TOO_LONG;
	} else if (fstat(out, &written) == 0 && written.st_size >= PRINT_BYTES) {
		o->result = PRINT_TOO_LARGE;
	} else {
		const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

		file_read(process->err, &errors, PRINT_ERRORS);
		if (code >= 0 && (code < (p->compares ? COMPARE_TROUBLE : EVALUATE_TROUBLE) ||
		    (!p->compares && code == EVALUATE_TROUBLE && errors.len == 0))) {
			o->result = PRINT_DONE;
		} else {
			error_set(&o->err, ERROR_SYSTEM, NULL, p->compares ? "the runs cannot be compared" :
			    "the evaluation cannot be reported on");
			last_words_add(&o->err, buffer_string(&errors), errors.len);
		}
	}
	buffer_free(&errors);
}

static void
printed_run_in_worker(void *context, void *answer)
{
	const struct printed *p = context;
	const struct rlimit size = { PRINT_BYTES, PRINT_BYTES }, no_core = { 0, 0 };
	struct print_outcome *o = answer;
	struct process process;
	struct process_spec spec = { .in = PROCESS_NULL, .err = PROCESS_PIPE };
	char **argv;
	int is = 1;

	o->result = PRINT_FAILED;
	spec.out = scratch_take(&p->file, &o->err);
	if (spec.out == -1)
		return;
	if (!p->compares)
		is = evaluation_is(&p->server->storage, p->run_ids[0], &o->err);
	if (is == 0)
		o->result = PRINT_NO_EVALUATION;
	if (is == 1) {
		argv = printed_words(p);
		spec.argv = argv;
		/* Blobs and input of a run are beside its transcript, with --db too. */
		setenv("AWF_STORAGE", p->server->storage.root, 1);
		setrlimit(RLIMIT_FSIZE, &size);
		setrlimit(RLIMIT_CORE, &no_core);
		if (process_start(&process, &spec, NULL, &o->err) == 0)
			printed_wait(p, &process, spec.out, o);
		list_free(argv);
	}
	file_close(&spec.out);
}

/* ---- in the server's process ---- */

static void
printed_free(struct printed *p)
{
	scratch_close(&p->file);
	free(p);
}

/* The request is being freed. */
static void
printed_leave(void *state)
{
	struct printed *p = state;

	p->request = NULL;
	if (p->work == NULL)
		printed_free(p);
}

static void
printed_store_outcome(void *context, const void *answer)
{
	struct printed *p = context;

	p->work = NULL;
	p->server->printing--;
	p->died = answer == NULL;
	if (answer != NULL)
		memcpy(&p->outcome, answer, sizeof p->outcome);
	if (p->request == NULL)
		printed_free(p);
	else
		request_wake(p->request);
}

static void
printed_answer(struct request *r, struct printed *p)
{
	const char *program = p->compares ? COMPARER : EVALUATOR " --report";
	struct stat status = { .st_size = 0 };

	if (p->died || (p->outcome.result == PRINT_DONE && fstat(p->file.fd, &status) != 0)) {
		request_error(r, 500, "internal", "the process that was to execute %s has died", program);
	} else if (p->outcome.result == PRINT_FAILED) {
		request_fail(r, &p->outcome.err);
	} else if (p->outcome.result == PRINT_NO_EVALUATION) {
		request_error(r, 404, "not_found", "the run is no evaluation");
	} else if (p->outcome.result == PRINT_TOO_LONG) {
		request_error(r, 503, "unavailable", "it takes too long here: use %s", program);
	} else if (p->outcome.result == PRINT_TOO_LARGE) {
		request_error(r, 413, "too_large", "the answer is too large for a server: use %s", program);
	} else {
		const int fd = p->file.fd;

		p->file.fd = -1;
		request_file(r, p->compares ? "application/x-ndjson" : "application/json", fd, 0, status.st_size, NULL);
	}
}

/* Has a program print of these runs; compares: of both. */
static void
printed_start(struct request *r, char run_ids[2][ID_SIZE], bool compares)
{
	struct printed *p;
	struct error err;

	if (r->server->printing >= PRINT_AT_ONCE) {
		request_error(r, 503, "unavailable", "others have asked for comparisons or reports: try again");
		return;
	}
	p = memory_zero(1, sizeof *p);
	p->request = r;
	p->server = r->server;
	p->file.fd = -1;
	p->compares = compares;
	p->alone = !token_reads(r->token) || (r->token != NULL && r->token->names.count > 0);
	memcpy(p->run_ids, run_ids, sizeof p->run_ids);
	r->state = p;
	r->free_state = printed_leave;
	if (scratch_open(&p->file, &r->server->home, &err) != 0) {
		request_fail(r, &err);
		return;
	}
	r->server->printing++;
	p->work = work_start(&r->server->works, printed_run_in_worker, p, sizeof p->outcome, printed_store_outcome);
	request_wait(r);
}

void
answer_compare(struct request *r)
{
	static const char *const names[2] = { "a", "b" };
	char run_ids[2][ID_SIZE];

	if (r->state != NULL) {
		printed_answer(r, r->state);
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
	printed_start(r, run_ids, true);
}

void
answer_evaluation(struct request *r)
{
	char run_ids[2][ID_SIZE] = { "", "" };

	if (r->state != NULL)
		printed_answer(r, r->state);
	else if (request_run(r, request_segment(r, 0), run_ids[0]))
		printed_start(r, run_ids, false);
}
