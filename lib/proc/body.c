/*
 * One poll loop serves all bodies. A body runs, is told to end, is killed, has ended: what it
 * does itself moves it to the last of these, an error or a deadline to the next. Its stderr
 * is read only as fast as ours takes it at once, so that a slow reader holds up no deadline.
 * Orphans are told by their age where one body runs; where several do, each has a mark in its
 * environment, as their orphans all become children of this process.
 */
#include "proc/body.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/polling.h"
#include "base/terminal.h"
#include "base/text.h"
#include "proc/ending.h"
#include "proc/wait.h"

enum {
	OUTPUT_LIMIT = 256 << 20,
	READ_SIZE = 256 << 10,
	LOOK_AGAIN = 10  /* ms between looks at what no descriptor tells */
};

/* Each body's place among the descriptors polled; the first is the interrupts'. */
enum { SLOT_OUT, SLOT_ERR, SLOTS };

extern char **environ;

struct bodies {
	struct body *list;
	size_t count;
	const struct interrupts *interrupts; /* NULL once all are being ended */
	struct pollfd *fds;
	pid_t *spare; /* children of this process that are no orphans; ends with 0 */
};

static const char *
body_name(const struct body *b)
{
	return b->name != NULL ? b->name : b->argv[0];
}

/* What tells b's orphans from those of bodies that run beside it, in memory of its
 * own; NULL if it runs alone. Marks of bodies inside bodies are paths, so that the
 * outer one finds them all. */
static char *
body_mark(const struct bodies *all, const struct body *b)
{
	const char *outer = getenv(ORPHANS_MARK);
	size_t number = (size_t)(b - all->list);

	if (all->count == 1)
		return NULL;
	return outer == NULL ? memory_format("%zu", number) :
	    memory_format("%s/%zu", outer, number);
}

/* The environment, with the mark in place of another. The array is the caller's to
 * free, and its first entry. */
static char **
marked_environment(char *const *environment, const char *mark)
{
	static const char name[] = ORPHANS_MARK "=";
	size_t count = 0;
	char **marked;

	while (environment[count] != NULL)
		count++;
	marked = memory_array(NULL, count + 2, sizeof *marked);
	marked[0] = memory_format("%s%s", name, mark);
	count = 1;
	for (; *environment != NULL; environment++)
		if (strncmp(*environment, name, sizeof name - 1) != 0)
			marked[count++] = *environment;
	marked[count] = NULL;
	return marked;
}

/* Starts the process. Fills b->error if it cannot be run. */
static int
body_spawn(struct body *b, char *const *environment)
{
	const struct process_spec spec = {
		.argv = b->argv, .environment = environment, .directory = b->directory,
		.in = b->input_len == 0 ? PROCESS_NULL : PROCESS_INPUT,
		.input = b->input, .input_len = b->input_len,
		.out = PROCESS_PIPE, .err = PROCESS_PIPE, .inherit = b->inherit
	};

	if (process_start(&b->process, &spec, &b->exit_code, &b->error) == 0)
		return 0;
	b->wait_status = b->exit_code << 8;
	return -1;
}

static void
body_begin(struct body *b)
{
	b->output = b->errors = b->passing = b->cut = (struct buffer)BUFFER_INIT;
	b->errors_bytes = b->duration_ms = 0;
	b->wait_status = b->exit_code = b->exit_fd = -1;
	b->error = (struct error)ERROR_INIT;
	b->orphans = (struct orphans){ NULL, 0, NULL, 0 };
	b->started = clock_monotonic();
	b->deadline = b->timeout_ms == 0 ? 0 : b->started + b->timeout_ms;
}

static void
body_start(const struct bodies *all, struct body *b)
{
	char *mark = body_mark(all, b), **marked = NULL;

	body_begin(b);
	if (mark != NULL)
		marked = marked_environment(b->environment == NULL ? environ : b->environment,
		    mark);
	b->stage = body_spawn(b, mark == NULL ? b->environment : marked) == 0 ?
	    BODY_RUNNING : BODY_ENDED;
	if (marked != NULL)
		free(marked[0]);
	free(marked);
	free(mark);
}

/* Begins to end a body before its time, because of why. */
static void
body_end(const struct bodies *all, struct body *b, const struct error *why)
{
	char *mark;

	if (b->stage != BODY_RUNNING)
		return;
	mark = body_mark(all, b);
	b->error = *why;
	b->stage = BODY_TERMINATED;
	b->deadline = clock_monotonic() + GRACE_MS;
	if (b->call != NULL)
		ending_begin_call(b->run_directory, b->call);
	orphans_begin(&b->orphans, b->process.pid, mark);
	tree_signal(b->process.pid, SIGTERM);
	free(mark);
}

static void
bodies_end(struct bodies *all, const struct error *why)
{
	for (size_t i = 0; i < all->count; i++)
		body_end(all, &all->list[i], why);
	all->interrupts = NULL;
}

static void
body_collect(const struct bodies *all, struct body *b)
{
	size_t limit = b->output_limit == 0 ? (size_t)OUTPUT_LIMIT : b->output_limit;
	ssize_t n = read(b->process.out, buffer_reserve(&b->output, READ_SIZE), READ_SIZE);
	struct error why;

	if (n <= 0) {
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			file_close(&b->process.out);
		return;
	}
	b->output.len += (size_t)n;
	if (b->output.len > limit) {
		b->output.len = limit;
		error_set(&why, ERROR_EXIT_STATUS, body_name(b),
		    "ended because its output is larger than %zu bytes", limit);
		body_end(all, b, &why);
	}
	b->output.data[b->output.len] = '\0';
}

/* Passes stderr through as far as ours takes it at once: a terminal that is held,
 * or a slow reader, must not hold up deadlines and other bodies. */
static void
body_pass(struct body *b)
{
	size_t passed = 0;
	ssize_t n = 0;
	short ready = 0;

	/* POLLOUT promises room for PIPE_BUF bytes in a pipe. */
	while (passed < b->passing.len && n != -1 &&
	    (ready = poll_now(STDERR_FILENO, POLLOUT)) != 0) {
		size_t left = b->passing.len - passed;

		n = (ready & POLLOUT) == 0 ? -1 :
		    write(STDERR_FILENO, b->passing.data + passed,
		    left < PIPE_BUF ? left : PIPE_BUF);
		passed += n > 0 ? (size_t)n : 0;
	}
	if (n == -1 && ((ready & POLLOUT) == 0 || (errno != EAGAIN && errno != EINTR))) {
		b->quiet = true; /* nobody is there to read it */
		passed = b->passing.len;
	}
	buffer_drop(&b->passing, passed);
}

/* Whether our stderr is a terminal, which never changes. */
static bool
errors_shown(void)
{
	static int shown = -1;

	if (shown == -1)
		shown = terminal_is(STDERR_FILENO);
	return shown == 1;
}

static void
body_collect_errors(struct body *b)
{
	char *at = buffer_reserve(&b->errors, READ_SIZE);
	ssize_t n = read(b->process.err, at, READ_SIZE);

	if (n <= 0) {
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			file_close(&b->process.err);
		return;
	}
	if (!b->quiet && errors_shown())
		terminal_piece(&b->passing, &b->cut, at, (size_t)n);
	else if (!b->quiet)
		buffer_append(&b->passing, at, (size_t)n);
	b->errors_bytes += n;
	b->errors.len += (size_t)n;
	if (b->errors.len > BODY_STDERR_TAIL + READ_SIZE)
		buffer_drop(&b->errors, b->errors.len - BODY_STDERR_TAIL);
	body_pass(b);
}

/* Cuts what was kept of stderr to its tail, at the beginning of a character. */
static void
body_cut_errors(struct body *b)
{
	size_t drop = b->errors.len > BODY_STDERR_TAIL ? b->errors.len - BODY_STDERR_TAIL : 0;

	if ((int64_t)(b->errors.len - drop) < b->errors_bytes)
		for (int i = 0; i < 3 && drop < b->errors.len &&
		    ((unsigned char)b->errors.data[drop] & 0xC0) == 0x80; i++)
			drop++;
	buffer_drop(&b->errors, drop);
	if (b->errors.data != NULL)
		b->errors.data[b->errors.len] = '\0';
}

/* What came of it; nothing of it is open or runs any more. */
static void
body_finish(struct body *b)
{
	char text[64];

	file_close(&b->process.out);
	file_close(&b->process.err);
	file_close(&b->exit_fd);
	if (b->cut.len > 0)
		terminal_piece(&b->passing, &b->cut, "", 0);
	body_pass(b);
	buffer_free(&b->passing);
	buffer_free(&b->cut);
	orphans_free(&b->orphans);
	body_cut_errors(b);
	if (b->call != NULL && b->stage != BODY_RUNNING)
		ending_over(b->run_directory, b->call);
	b->stage = BODY_ENDED;
	b->duration_ms = clock_monotonic() - b->started;
	if (b->wait_status != -1)
		b->exit_code = process_exit_code(b->wait_status);
	if (b->exit_code != 0 && b->error.code == ERROR_NONE)
		error_set(&b->error, ERROR_EXIT_STATUS, body_name(b), "%s",
		    process_status_text(b->wait_status, text, sizeof text));
}

static bool
body_reap(struct body *b)
{
	pid_t ended = b->process.pid > 0 ? waitpid(b->process.pid, &b->wait_status, WNOHANG) : 0;

	if (ended == -1 && b->error.code == ERROR_NONE)
		error_errno(&b->error, ERROR_SYSTEM, body_name(b), "unable to wait for its end");
	if (ended != 0)
		b->process.pid = 0;
	return b->process.pid == 0;
}

/* Reads what a body that is being ended left in its pipes; what holds them open
 * now is none of its processes. */
static void
body_drain(const struct bodies *all, struct body *b)
{
	size_t before;

	do {
		before = b->output.len;
		if (b->process.out != -1)
			body_collect(all, b);
	} while (b->output.len != before);
	if (b->process.err != -1)
		body_collect_errors(b);
}

/* Whether a body that is being ended is gone; sees to it otherwise. */
static void
body_pursue(const struct bodies *all, struct body *b)
{
	int signal_number = b->stage == BODY_KILLED ? SIGKILL : SIGTERM;

	if (!body_reap(b)) {
		if (b->stage == BODY_KILLED)
			tree_signal(b->process.pid, SIGKILL);
		return;
	}
	if (orphans_end(&b->orphans, signal_number, all->spare))
		return;
	body_drain(all, b);
	body_finish(b);
}

/* A body that ends by itself has closed its pipes, then it can be waited for. */
static void
body_look(struct body *b)
{
	if (b->process.out != -1 || b->process.err != -1 || b->passing.len != 0)
		return;
	if (body_reap(b))
		body_finish(b);
	else if (b->exit_fd == -1)
		b->exit_fd = wait_descriptor(b->process.pid);
}

static void
body_expire(const struct bodies *all, struct body *b)
{
	struct error why;
	char text[32];

	if (b->stage == BODY_RUNNING) {
		error_set(&why, ERROR_TIMEOUT, body_name(b), "timed out after %s",
		    duration_text(b->timeout_ms, text, sizeof text));
		body_end(all, b, &why);
	} else if (b->stage == BODY_TERMINATED) {
		b->stage = BODY_KILLED;
		b->deadline = clock_monotonic() + GRACE_MS;
	} else {
		error_set(&b->error, ERROR_SYSTEM, body_name(b), "cannot be killed");
		b->wait_status = SIGKILL;
		body_finish(b);
	}
}

static void
body_poll(const struct body *b, struct pollfd fds[SLOTS])
{
	int out = b->process.out, errors = b->process.err;

	fds[SLOT_OUT] = (struct pollfd){ out == -1 ? b->exit_fd : out, POLLIN, 0 };
	fds[SLOT_ERR] = (struct pollfd){ errors, POLLIN, 0 };
	/* No more is read than our own stderr takes. */
	if (b->passing.len != 0)
		fds[SLOT_ERR] = (struct pollfd){ STDERR_FILENO, POLLOUT, 0 };
}

/* Does what the descriptors allow, then what time demands. */
static void
body_serve(const struct bodies *all, struct body *b, const struct pollfd fds[SLOTS])
{
	if (fds[SLOT_OUT].revents == POLLHUP)
		file_close(&b->process.out);
	else if (fds[SLOT_OUT].revents != 0 && b->process.out != -1)
		body_collect(all, b);
	if (fds[SLOT_ERR].revents != 0 && b->passing.len != 0)
		body_pass(b);
	else if (fds[SLOT_ERR].revents == POLLHUP)
		file_close(&b->process.err);
	else if (fds[SLOT_ERR].revents != 0)
		body_collect_errors(b);
	if (b->stage == BODY_RUNNING)
		body_look(b);
	else
		body_pursue(all, b);
	if (b->stage != BODY_ENDED && b->deadline != 0 && clock_monotonic() >= b->deadline)
		body_expire(all, b);
}

/* When it needs a look though no descriptor tells; 0: never. */
static int64_t
body_due(const struct body *b)
{
	int64_t soon = clock_monotonic() + LOOK_AGAIN;

	if (b->stage == BODY_RUNNING && (b->process.out != -1 || b->process.err != -1 ||
	    b->exit_fd != -1))
		return b->deadline;
	return b->deadline == 0 || b->deadline > soon ? soon : b->deadline;
}

/* Fills all->fds, and *deadline of the wait for them. Whether any body still runs. */
static bool
bodies_poll(const struct bodies *all, int64_t *deadline)
{
	bool running = false;
	int64_t due;

	*deadline = 0;
	for (size_t i = 0; i < all->count; i++) {
		struct pollfd *fds = all->fds + 1 + i * SLOTS;

		for (int slot = 0; slot < SLOTS; slot++)
			fds[slot] = (struct pollfd){ -1, 0, 0 };
		if (all->list[i].stage == BODY_ENDED)
			continue;
		running = true;
		body_poll(&all->list[i], fds);
		due = body_due(&all->list[i]);
		if (due != 0 && (*deadline == 0 || due < *deadline))
			*deadline = due;
	}
	return running;
}

/* -1: the machine failed; all have ended then, too. */
static int
bodies_serve(struct bodies *all, struct error *err)
{
	struct error why;
	int64_t deadline;
	int status = 0;

	while (bodies_poll(all, &deadline)) {
		if (interrupts_wait(all->interrupts, all->fds, all->count * SLOTS + 1, deadline,
		    &why) == -1) {
			if (why.code == ERROR_SYSTEM) {
				*err = why;
				status = -1;
			}
			bodies_end(all, &why);
		}
		for (size_t i = 0; i < all->count; i++)
			if (all->list[i].stage != BODY_ENDED)
				body_serve(all, &all->list[i], all->fds + 1 + i * SLOTS);
	}
	return status;
}

/* Lists the children of this process that are no orphans. */
static void
bodies_spare(struct bodies *all)
{
	size_t count = 0;

	all->spare = memory_zero(all->count + 1, sizeof *all->spare);
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].stage != BODY_ENDED)
			all->spare[count++] = all->list[i].process.pid;
}

int
bodies_run(struct body *bodies, size_t count, const struct interrupts *interrupts,
    struct error *err)
{
	struct bodies all = { bodies, count, interrupts, NULL, NULL };
	int status = 0;

	all.fds = memory_array(NULL, count * SLOTS + 1, sizeof *all.fds);
	for (size_t i = 0; i < count; i++)
		body_start(&all, &bodies[i]);
	bodies_spare(&all);
	for (size_t i = 0; i < count && status == 0; i++)
		if (bodies[i].error.code == ERROR_SYSTEM) {
			*err = bodies[i].error;
			status = -1;
			bodies_end(&all, err);
		}
	if (bodies_serve(&all, err) == -1)
		status = -1;
	free(all.fds);
	free(all.spare);
	return status;
}

void
body_hide(struct body *b, const char *secret)
{
	text_hide(b->errors.data, b->errors.len, secret);
	if ((int64_t)b->errors.len < b->errors_bytes)
		text_hide_rest(b->errors.data, b->errors.len, secret);
	text_hide(b->error.message, strlen(b->error.message), secret);
}

void
body_free(struct body *b)
{
	buffer_free(&b->output);
	buffer_free(&b->errors);
}
