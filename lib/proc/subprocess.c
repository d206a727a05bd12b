/*
 * One poll loop serves all subprocesses. The states of a subprocess are: running, told to end,
 * killed, ended. Its own end moves it to the last state, an error or a deadline to the next one.
 * Its stderr is read only as fast as this process's stderr accepts it at once, so a slow reader
 * delays no deadline. If only one runs, orphans are recognized by their age; if several run, each
 * has a mark in its environment, since all orphans become children of this process.
 *
 * For a command on another machine the subprocess is the launcher. Its stdout carries frames, which
 * lib/proc/via.c parses; until the far end has answered, the deadline is that of the launch. To end
 * it, a message is sent to the far end, which gets as much time as the command would get here, and
 * twice that to report the end. After the far end has reported the end, nothing waits for processes
 * that hold the launcher's stderr open, such as a shared connection.
 */
#include "proc/subprocess.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "io/file.h"
#include "io/polling.h"
#include "io/terminal.h"
#include "proc/descendants.h"
#include "proc/ending.h"
#include "proc/last_words.h"
#include "proc/wait.h"
#include "system/self.h"

enum {
	READ_SIZE = 64 << 10, /* as much as a pipe holds */
	LINE_MOST = 4096,     /* of a line of AWF's own programs */
	LOOK_AGAIN = 10  /* ms between checks of what no descriptor reports */
};

/* The descriptors that are polled for each subprocess. Element 0 of fds is used by
 * interrupts_wait(); then come SLOTS elements for each subprocess. */
enum { SLOT_OUT, SLOT_ERR, SLOT_IN, SLOT_BESIDE = SUBPROCESS_FDS, SLOTS = SLOT_BESIDE + PEER_FDS };

extern char **environ;

struct subprocesses {
	struct subprocess *list;
	size_t count;
	const struct interrupts *interrupts; /* NULL once all are being ended */
	struct pollfd *fds;
	pid_t *spare; /* children of this process that are no orphans; ends with 0 */
};

static const char *
name_of(const struct subprocess *s)
{
	return s->name != NULL ? s->name : s->via != NULL ? s->via->argv[0] : s->argv[0];
}

/* Whether the command on the other machine has ended, and awf-exec there has said so; the launcher
 * here may still run. */
static bool
ended_elsewhere(const struct subprocess *s)
{
	return s->via != NULL && s->via->state == VIA_ENDED;
}

/* A mark that distinguishes the orphans of a subprocess from those of others, to be freed by the
 * caller; NULL if it runs alone. Marks of nested subprocesses are paths, so that the outer one
 * finds them all. */
static char *
orphans_mark(const struct subprocesses *all, const struct subprocess *s)
{
	const char *outer = getenv(ORPHANS_MARK);
	size_t number = (size_t)(s - all->list);

	if (all->count == 1)
		return NULL;
	return outer == NULL ? memory_format("%zu", number) :
	    memory_format("%s/%zu", outer, number);
}

/* Starts the launcher of a command that runs on another machine, with pipes to it. The launcher is
 * shell text; if it consists of plain words, of which the first is a program, it is started without
 * a shell. */
static int
subprocess_start_launcher(struct subprocess *s, struct process_spec spec)
{
	char *text = via_command(s->via), **words = list_words(text), *shell[4];
	int result = -1;

	spec.in = PROCESS_PIPE;
	spec.session = true;
	spec.group = false;
	if (words != NULL) {
		spec.argv = words;
		result = process_start(&s->state.process, &spec, NULL, &s->error);
	}
	if (result == -1) {
		s->error = (struct error)ERROR_INIT;
		process_shell(shell, text);
		spec.argv = shell;
		result = process_start(&s->state.process, &spec, &s->exit_code, &s->error);
	}
	if (result == 0) {
		via_begin(s->via, s->state.process.in, s->state.process.out, s->input, s->input_len);
		s->state.process.in = -1;
	}
	list_free(words);
	free(text);
	return result;
}

/* Starts a subprocess. If that fails, it has ended, and s->error says why. */
static void
subprocess_start(const struct subprocesses *all, struct subprocess *s)
{
	static const char name[] = ORPHANS_MARK "=";
	char *const *environment = s->environment == NULL ? environ : s->environment;
	char *mark = orphans_mark(all, s), **marked = NULL;
	struct process_spec spec = {
		.argv = s->argv, .environment = s->environment,
		.directory = s->directory, .in = s->input_len == 0 ? PROCESS_NULL : PROCESS_INPUT,
		.input = s->input, .input_len = s->input_len,
		.out = PROCESS_PIPE, .err = PROCESS_PIPE, .group = SELF_NEEDS_GROUPS, .inherit = s->inherit
	};
	int64_t limit = s->via != NULL ? s->via->launch_ms : s->timeout_ms;
	size_t count = 0;

	/* The environment, with the mark in place of another. */
	if (mark != NULL) {
		while (environment[count] != NULL)
			count++;
		spec.environment = marked = memory_array(NULL, count + 2, sizeof *marked);
		marked[0] = memory_format("%s%s", name, mark);
		count = 1;
		for (; *environment != NULL; environment++)
			if (strncmp(*environment, name, sizeof name - 1) != 0)
				marked[count++] = *environment;
		marked[count] = NULL;
	}

	s->output = s->errors = s->state.passing = s->state.cut = s->state.line = (struct buffer)BUFFER_INIT;
	s->state.within_line = s->shows.in_frame = false;
	s->errors_bytes = s->duration_ms = 0;
	s->wait_status = s->exit_code = s->state.exit_fd = -1;
	s->error = (struct error)ERROR_INIT;
	s->state.orphans = (struct orphans){ NULL, 0, NULL, 0 };
	s->state.started = clock_monotonic();
	s->state.deadline = limit == 0 ? 0 : s->state.started + limit;
	s->state.look_at = s->told_as != NULL && s->via == NULL ? s->state.started + OUTPUT_HELD_TOLD_MS : 0;
	s->state.stage = SUBPROCESS_RUNNING;
	if ((s->via != NULL ? subprocess_start_launcher(s, spec) :
	    process_start(&s->state.process, &spec, &s->exit_code, &s->error)) == -1) {
		s->wait_status = s->exit_code << 8;
		s->state.stage = SUBPROCESS_ENDED;
	}
	if (marked != NULL)
		free(marked[0]);
	free(marked);
	free(mark);
}

/* Begins to end a running subprocess early; why becomes its error. */
static void
begin_end(const struct subprocesses *all, struct subprocess *s, const struct error *why)
{
	char *mark;

	if (s->state.stage != SUBPROCESS_RUNNING)
		return;
	INVARIANT(s->state.orphans.signalled == NULL && s->state.orphans.mark == NULL);
	mark = orphans_mark(all, s);
	s->error = *why;
	s->state.stage = SUBPROCESS_TERMINATED;
	s->state.deadline = clock_monotonic() + GRACE_MS;
	if (s->call != NULL)
		ending_begin_call(s->run_directory, s->call);
	orphans_begin(&s->state.orphans, s->state.process.pid, mark);
	if (s->via != NULL && via_cancel(s->via))
		s->state.deadline += GRACE_MS;
	else
		tree_signal(s->state.process.pid, SIGTERM);
	free(mark);
}

static void
begin_end_of_all(struct subprocesses *all, const struct error *why)
{
	for (size_t i = 0; i < all->count; i++)
		begin_end(all, &all->list[i], why);
	all->interrupts = NULL;
}

static void keep_errors(struct subprocess *s, const char *piece, size_t len);
static void subprocess_show(const struct subprocess *s, const char *piece, size_t len);

/* Reads frames that awf-exec has sent from the other machine. Returns whether any arrived. */
static bool
collect_frames(const struct subprocesses *all, struct subprocess *s)
{
	struct via *via = s->via;
	bool launched = via->state == VIA_LAUNCHED;
	struct buffer errors = BUFFER_INIT;
	const size_t before = s->output.len;
	int received = via_receive(via, &s->output, &errors);

	if (received == -1)
		file_close(&s->state.process.out);
	if (s->output.len > before)
		subprocess_show(s, s->output.data + before, s->output.len - before);
	subprocess_show(s, buffer_string(&errors), errors.len);
	keep_errors(s, buffer_string(&errors), errors.len);
	buffer_free(&errors);
	if (launched && via->state == VIA_CONNECTED && s->state.stage == SUBPROCESS_RUNNING)
		s->state.deadline = s->timeout_ms == 0 ? 0 : clock_monotonic() + s->timeout_ms;
	if (via->state == VIA_FAILED)
		begin_end(all, s, &via->error);
	if (via->state == VIA_ENDED)
		s->state.deadline = clock_monotonic() + FAR_LEAVE_MS;
	if (via->state == VIA_ENDED || via->state == VIA_FAILED) {
		/* Ignore anything else that it sends. */
		via_hang_up(via);
		file_close(&s->state.process.out);
	}
	return received == 1;
}

/* Reads once from its stdout. Returns whether something came, and more may follow. */
static bool
collect_output(const struct subprocesses *all, struct subprocess *s)
{
	size_t limit = s->output_limit == 0 ? SUBPROCESS_OUTPUT_LIMIT : s->output_limit;
	static char piece[READ_SIZE]; /* too large for a small stack */
	char size[32];
	bool came = true;
	struct error why;
	ssize_t n;

	if (s->via != NULL) {
		came = collect_frames(all, s);
	} else {
		n = read(s->state.process.out, piece, sizeof piece);
		if (n <= 0) {
			if (n == 0 || (errno != EAGAIN && errno != EINTR))
				file_close(&s->state.process.out);
			return false;
		}
		buffer_append(&s->output, piece, (size_t)n);
		subprocess_show(s, piece, (size_t)n);
	}
	if (s->output.len > limit) {
		s->output.len = limit;
		error_set(&why, ERROR_EXIT_STATUS, name_of(s), "ended because its output is larger than %s%s",
		    size_text((int64_t)limit, size, sizeof size), s->output_limit != 0 ? "" :
		    ", which is held until it ends: write what is larger to a file");
		begin_end(all, s, &why);
		came = false;
	}
	if (s->output.data != NULL)
		s->output.data[s->output.len] = '\0';
	return came;
}

/* Passes stderr through as far as this process's stderr accepts it at once: a stopped terminal or a
 * slow reader must not delay deadlines and other subprocesses. */
static void
pass_errors(struct subprocess *s)
{
	size_t passed = 0;
	ssize_t n = 0;
	short ready = 0;

	/* POLLOUT promises room for PIPE_BUF bytes in a pipe. */
	while (passed < s->state.passing.len && n != -1 &&
	    (ready = poll_now(STDERR_FILENO, POLLOUT)) != 0) {
		size_t left = s->state.passing.len - passed;

		n = (ready & POLLOUT) == 0 ? -1 :
		    write(STDERR_FILENO, s->state.passing.data + passed,
		    left < PIPE_BUF ? left : PIPE_BUF);
		passed += n > 0 ? (size_t)n : 0;
	}
	if (n == -1 && ((ready & POLLOUT) == 0 || (errno != EAGAIN && errno != EINTR))) {
		s->quiet = true; /* nobody is there to read it */
		passed = s->state.passing.len;
	}
	buffer_drop(&s->state.passing, passed);
}

/* Queues a piece of its stderr for the stderr of this process. */
static void
add_passing(struct subprocess *s, const char *piece, size_t len)
{
	static int shown = -1; /* whether stderr is a terminal; does not change */

	if (shown == -1)
		shown = terminal_is(STDERR_FILENO);
	if (shown == 1)
		terminal_piece(&s->state.passing, &s->state.cut, piece, len);
	else
		buffer_append(&s->state.passing, piece, len);
}

/* Whether a line begins with the name of awf-step or awf-run, or may do so once it is complete. */
static bool
may_be_ours(const struct buffer *line)
{
	static const char *const begins[] = { "awf-step: ", "awf-run: " };

	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
		const size_t len = strlen(begins[i]);

		if (memcmp(line->data, begins[i], line->len < len ? line->len : len) == 0)
			return true;
	}
	return false;
}

/* Passes stderr through, except lines that passes() decides about, which are held until they
 * are complete. */
static void
filter_passing(struct subprocess *s, const char *piece, size_t len)
{
	while (len > 0) {
		const char *end = memchr(piece, '\n', len);
		const size_t part = end != NULL ? (size_t)(end - piece) + 1 : len;

		if (s->state.within_line) {
			add_passing(s, piece, part);
		} else {
			buffer_append(&s->state.line, piece, part);
			if (!may_be_ours(&s->state.line) || s->state.line.len > (size_t)LINE_MOST)
				s->state.within_line = true;
			else if (end == NULL)
				return;
			INVARIANT(memchr(s->state.line.data, '\n', s->state.line.len - 1) == NULL);
			if (s->state.within_line || s->passes(s->passes_context, s->state.line.data, s->state.line.len))
				add_passing(s, s->state.line.data, s->state.line.len);
			buffer_clear(&s->state.line);
		}
		s->state.within_line = end == NULL;
		piece += part;
		len -= part;
	}
}

static void
subprocess_show(const struct subprocess *s, const char *piece, size_t len)
{
	if (s->shows.add != NULL && len > 0)
		s->shows.add(s->shows.context, piece, len);
}

/* Takes a piece of stderr that may have frames in it. */
static void
subprocess_add_errors(struct subprocess *s, const char *piece, size_t len)
{
	while (s->shows.framed && len > 0) {
		const char *end = memchr(piece, '\0', len);
		const size_t part = end != NULL ? (size_t)(end - piece) : len;

		if (s->shows.in_frame)
			subprocess_show(s, piece, part);
		else
			keep_errors(s, piece, part);
		if (end == NULL)
			return;
		s->shows.in_frame = !s->shows.in_frame;
		piece += part + 1;
		len -= part + 1;
	}
	subprocess_show(s, piece, len);
	keep_errors(s, piece, len);
}

/* Keeps a piece of its stderr, and copies it to the stderr of this process. */
static void
keep_errors(struct subprocess *s, const char *piece, size_t len)
{
	if (len == 0)
		return;
	if (!s->quiet && s->passes != NULL)
		filter_passing(s, piece, len);
	else if (!s->quiet)
		add_passing(s, piece, len);
	s->errors_bytes += (int64_t)len;
	buffer_append(&s->errors, piece, len);
	if (s->errors.len > SUBPROCESS_STDERR_TAIL + READ_SIZE)
		buffer_drop(&s->errors, s->errors.len - SUBPROCESS_STDERR_TAIL);
	INVARIANT(s->errors.len <= SUBPROCESS_STDERR_TAIL + READ_SIZE);
	INVARIANT((int64_t)s->errors.len <= s->errors_bytes);
	pass_errors(s);
}

static void
collect_errors(struct subprocess *s)
{
	static char piece[READ_SIZE];
	ssize_t n = read(s->state.process.err, piece, sizeof piece);

	if (n > 0)
		subprocess_add_errors(s, piece, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		file_close(&s->state.process.err);
}

/* Sets wait_status and error to those of the command on the other machine; until then they are the
 * launcher's. */
static void
subprocess_set_far_end(struct subprocess *s)
{
	struct via *via = s->via;
	const struct frame_end *end = &via->end;

	via_conclude(via, s->wait_status);
	via_hang_up(via);
	s->wait_status = -1;
	if (via->state == VIA_ENDED)
		s->wait_status = end->signal_number != 0 ? end->signal_number : end->exit_code << 8;
	if (s->error.code == ERROR_NONE)
		s->error = via->state == VIA_ENDED ? end->error : via->error;
	if (via->state == VIA_FAILED && s->error.place[0] == '\0')
		snprintf(s->error.place, sizeof s->error.place, "%s", name_of(s));
}

/* Whether the last line of stderr usually says why a command has failed in this way. */
static bool
says_why(enum error_code code)
{
	return code == ERROR_EXIT_STATUS || code == ERROR_TIMEOUT || code == ERROR_LOST ||
	    code == ERROR_CANNOT_LAUNCH;
}

/* What must be true after the end: no descriptor is open, no buffer is left, and if the exit code is
 * not 0 there is an error. */
static bool
subprocess_has_ended(const struct subprocess *s)
{
	return s->state.stage == SUBPROCESS_ENDED && s->state.process.out == -1 && s->state.process.err == -1 &&
	    s->state.exit_fd == -1 && s->state.passing.data == NULL && s->state.cut.data == NULL &&
	    s->state.line.data == NULL &&
	    s->errors.len <= SUBPROCESS_STDERR_TAIL && (int64_t)s->errors.len <= s->errors_bytes &&
	    (s->error.code != ERROR_NONE || s->exit_code == 0);
}

/* Called once none of its processes is left: closes its descriptors and sets its result. */
static void
subprocess_finish(struct subprocess *s)
{
	size_t drop = s->errors.len > SUBPROCESS_STDERR_TAIL ?
	    s->errors.len - SUBPROCESS_STDERR_TAIL : 0;
	char text[64];

	file_close(&s->state.process.out);
	file_close(&s->state.process.err);
	file_close(&s->state.exit_fd);
	if (s->state.line.len > 0)
		add_passing(s, s->state.line.data, s->state.line.len);
	buffer_free(&s->state.line);
	if (s->state.cut.len > 0)
		terminal_piece(&s->state.passing, &s->state.cut, "", 0);
	pass_errors(s);
	buffer_free(&s->state.passing);
	buffer_free(&s->state.cut);
	orphans_free(&s->state.orphans);

	/* Of stderr its tail is kept, from the beginning of a character on. */
	if ((int64_t)(s->errors.len - drop) < s->errors_bytes)
		for (int i = 0; i < 3 && drop < s->errors.len &&
		    ((unsigned char)s->errors.data[drop] & 0xC0) == 0x80; i++)
			drop++;
	buffer_drop(&s->errors, drop);
	if (s->errors.data != NULL)
		s->errors.data[s->errors.len] = '\0';

	if (s->call != NULL && s->state.stage != SUBPROCESS_RUNNING)
		ending_over(s->run_directory, s->call);
	s->state.stage = SUBPROCESS_ENDED;
	s->duration_ms = clock_monotonic() - s->state.started;
	if (s->via != NULL)
		subprocess_set_far_end(s);
	if (s->wait_status != -1)
		s->exit_code = process_exit_code(s->wait_status);
	if (s->exit_code != 0 && s->error.code == ERROR_NONE)
		error_set(&s->error, ERROR_EXIT_STATUS, name_of(s), "%s",
		    process_status_text(s->wait_status, text, sizeof text));
	if (says_why(s->error.code))
		last_words_add(&s->error, buffer_string(&s->errors), s->errors.len);
	INVARIANT(subprocess_has_ended(s));
}

/* Whether the process itself has ended, and been waited for. */
static bool
subprocess_reap(struct subprocess *s)
{
	pid_t ended = s->state.process.pid > 0 ? waitpid(s->state.process.pid, &s->wait_status, WNOHANG) : 0;

	if (ended == -1 && s->error.code == ERROR_NONE)
		error_errno(&s->error, ERROR_SYSTEM, name_of(s), "unable to wait for its end");
	if (ended != 0)
		s->state.process.pid = 0;
	return s->state.process.pid == 0;
}

/* Makes sure that a subprocess that is being ended, and all its processes, are gone. Then reads
 * what they left in the pipes: other processes may still hold these open. */
static void
subprocess_end_remaining(const struct subprocesses *all, struct subprocess *s)
{
	int signal_number = s->state.stage == SUBPROCESS_KILLED ? SIGKILL : SIGTERM;

	if (!subprocess_reap(s)) {
		if (s->state.stage == SUBPROCESS_KILLED)
			tree_signal(s->state.process.pid, SIGKILL);
		return;
	}
	if (orphans_end(&s->state.orphans, signal_number, all->spare))
		return;
	while (s->state.process.out != -1 && collect_output(all, s))
		;
	if (s->state.process.err != -1)
		collect_errors(s);
	subprocess_finish(s);
}

/* If the process has ended, but another one holds its output open, says on stderr, once, which one:
 * usually something that it started in the background, which may run for ever. */
static void
subprocess_report_output_holder(const struct subprocesses *all, struct subprocess *s)
{
	struct children children = { 0, 0, false };
	siginfo_t info = { .si_pid = 0 };
	struct process_stat process;
	pid_t holder;
	bool ended;

	if (waitid(P_PID, (id_t)s->state.process.pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
	    info.si_pid == 0) {
		s->state.look_at = clock_monotonic() + OUTPUT_HELD_TOLD_MS;
		return;
	}
	s->state.look_at = 0;
	while ((holder = descendants_next_child(&children, &ended)) != 0)
		if (!ended && !pids_have(all->spare, holder) && !descendants_kept(holder))
			break;
	if (s->quiet)
		return;
	buffer_format(&s->state.passing, "%s: %s has ended, but ", s->told_as, name_of(s));
	if (holder != 0 && process_stat(holder, &process)) {
		text_line(process.name);
		buffer_format(&s->state.passing, "%s (process %ld), which it started,", process.name, (long)holder);
	} else {
		buffer_text(&s->state.passing, "a process that it started");
	}
	buffer_text(&s->state.passing, " holds its output open: waiting for that to end\n");
	pass_errors(s);
}

/* Serves one subprocess after a poll: first reads and writes what is ready, then does what is due at
 * this time. */
static void
subprocess_serve_round(const struct subprocesses *all, struct subprocess *s,
    const struct pollfd fds[SUBPROCESS_FDS])
{
	struct error why;
	char text[32];

	if (fds[SLOT_IN].revents != 0)
		via_send(s->via);
	if (fds[SLOT_OUT].revents == POLLHUP && s->via == NULL)
		file_close(&s->state.process.out);
	else if (fds[SLOT_OUT].revents != 0 && s->state.process.out != -1)
		collect_output(all, s);
	if (fds[SLOT_ERR].revents != 0 && s->state.passing.len != 0)
		pass_errors(s);
	else if (fds[SLOT_ERR].revents == POLLHUP)
		file_close(&s->state.process.err);
	else if (fds[SLOT_ERR].revents != 0)
		collect_errors(s);

	if (s->state.stage != SUBPROCESS_RUNNING) {
		subprocess_end_remaining(all, s);
	} else if (s->state.process.out == -1 && (s->state.process.err == -1 || ended_elsewhere(s)) &&
	    s->state.passing.len == 0) {
		/* One that ends by itself has closed its pipes, then it can be waited for. */
		if (subprocess_reap(s)) {
			if (s->state.process.err != -1)
				collect_errors(s);
			subprocess_finish(s);
		} else if (s->state.exit_fd == -1) {
			s->state.exit_fd = wait_descriptor(s->state.process.pid);
		}
	}

	if (s->state.stage == SUBPROCESS_RUNNING && s->state.look_at != 0 && s->state.process.pid > 0 &&
	    (s->state.process.out != -1 || s->state.process.err != -1) && clock_monotonic() >= s->state.look_at)
		subprocess_report_output_holder(all, s);
	if (s->state.stage != SUBPROCESS_ENDED && s->via != NULL) {
		via_tick(s->via);
		if (s->via->state == VIA_FAILED)
			begin_end(all, s, &s->via->error);
	}
	if (s->state.stage == SUBPROCESS_ENDED || s->state.deadline == 0 ||
	    clock_monotonic() < s->state.deadline)
		return;
	if (s->state.stage == SUBPROCESS_RUNNING && ended_elsewhere(s)) {
		begin_end(all, s, &(struct error)ERROR_INIT); /* the launcher, which does not leave */
	} else if (s->state.stage == SUBPROCESS_RUNNING && s->via != NULL && s->via->state == VIA_LAUNCHED) {
		error_set(&why, ERROR_LOST, name_of(s), "the command was not started: awf-exec "
		    "has not answered within %s",
		    duration_text(s->via->launch_ms, text, sizeof text));
		begin_end(all, s, &why);
	} else if (s->state.stage == SUBPROCESS_RUNNING) {
		error_set(&why, ERROR_TIMEOUT, name_of(s), "timed out after %s",
		    duration_text(s->timeout_ms, text, sizeof text));
		begin_end(all, s, &why);
	} else if (s->state.stage == SUBPROCESS_TERMINATED) {
		s->state.stage = SUBPROCESS_KILLED;
		s->state.deadline = clock_monotonic() + GRACE_MS;
	} else {
		error_set(&s->error, ERROR_SYSTEM, name_of(s), "cannot be killed");
		s->wait_status = SIGKILL;
		subprocess_finish(s);
	}
}

/* Sets all->fds, and *deadline: when a check is due without a ready descriptor; 0: none. Returns
 * whether any subprocess still runs. */
static bool
set_polls(const struct subprocesses *all, int64_t *deadline)
{
	bool running = false;

	*deadline = 0;
	for (size_t i = 0; i < all->count; i++) {
		const struct subprocess *s = &all->list[i];
		struct pollfd *fds = all->fds + 1 + i * SLOTS;
		int out = s->state.process.out, errors = s->state.process.err;
		int64_t due = s->state.deadline, soon = clock_monotonic() + LOOK_AGAIN;

		for (int slot = 0; slot < SLOTS; slot++)
			fds[slot] = (struct pollfd){ -1, 0, 0 };
		if (s->state.stage == SUBPROCESS_ENDED)
			continue;
		if (s->beside != NULL) {
			int64_t beside_due = s->due(s->context);

			peer_poll(s->beside, fds + SLOT_BESIDE);
			if (beside_due != 0 && (due == 0 || beside_due < due))
				due = beside_due;
		}
		if (s->shows.due != NULL) {
			int64_t shows_due = s->shows.due(s->shows.context);

			if (shows_due != 0 && (due == 0 || shows_due < due))
				due = shows_due;
		}
		if (s->state.stage == SUBPROCESS_RUNNING && s->state.look_at != 0 && (out != -1 || errors != -1) &&
		    (due == 0 || s->state.look_at < due))
			due = s->state.look_at;
		running = true;
		fds[SLOT_OUT] = (struct pollfd){ out == -1 ? s->state.exit_fd : out, POLLIN, 0 };
		fds[SLOT_ERR] = (struct pollfd){ errors, POLLIN, 0 };
		/* Read no more until this process's stderr has accepted the rest. */
		if (s->state.passing.len != 0)
			fds[SLOT_ERR] = (struct pollfd){ STDERR_FILENO, POLLOUT, 0 };
		if (s->via != NULL) {
			int64_t tick = via_due(s->via);

			fds[SLOT_IN] = (struct pollfd){ via_unsent(s->via), POLLOUT, 0 };
			if (tick != 0 && (due == 0 || due > tick))
				due = tick;
		}
		if ((s->state.stage != SUBPROCESS_RUNNING ||
		    (out == -1 && (errors == -1 || ended_elsewhere(s)) && s->state.exit_fd == -1)) &&
		    (due == 0 || due > soon))
			due = soon;
		if (due != 0 && (*deadline == 0 || due < *deadline))
			*deadline = due;
	}
	return running;
}

/* Handles messages of the peer that is served at the same time. */
static int
serve_beside(const struct subprocess *s, const struct pollfd *fds, struct error *err)
{
	bool ready = false;

	for (int i = 0; i < PEER_FDS; i++)
		ready = ready || fds[i].revents != 0;
	return ready ? s->heard(s->context, peer_serve(s->beside, fds) == -1, err) : 0;
}

int
subprocesses_run(struct subprocess *list, size_t count, const struct interrupts *interrupts,
    struct error *err)
{
	struct subprocesses all = { list, count, interrupts, NULL, NULL };
	size_t spared = 0;
	int64_t deadline;
	struct error why;
	int status = 0;

	all.fds = memory_array(NULL, count * SLOTS + 1, sizeof *all.fds);
	all.spare = memory_zero(count + 1, sizeof *all.spare);
	for (size_t i = 0; i < count; i++) {
		subprocess_start(&all, &list[i]);
		if (list[i].state.stage != SUBPROCESS_ENDED)
			all.spare[spared++] = list[i].state.process.pid;
	}
	/* When the machine fails, all end. */
	for (size_t i = 0; i < count && status == 0; i++)
		if (list[i].error.code == ERROR_SYSTEM) {
			*err = list[i].error;
			status = -1;
			begin_end_of_all(&all, err);
		}
	while (set_polls(&all, &deadline)) {
		if (interrupts_wait(all.interrupts, all.fds, count * SLOTS + 1, deadline, &why) == -1) {
			if (why.code == ERROR_SYSTEM) {
				*err = why;
				status = -1;
			}
			begin_end_of_all(&all, &why);
		}
		for (size_t i = 0; i < count; i++) {
			const struct pollfd *fds = all.fds + 1 + i * SLOTS;

			if (list[i].state.stage == SUBPROCESS_ENDED)
				continue;
			if (list[i].beside != NULL && serve_beside(&list[i], fds + SLOT_BESIDE, &why) == -1) {
				*err = why;
				status = -1;
				begin_end_of_all(&all, &why);
			}
			subprocess_serve_round(&all, &list[i], fds);
		}
	}
	for (size_t i = 0; i < count; i++)
		INVARIANT(list[i].state.stage == SUBPROCESS_ENDED);
	free(all.fds);
	free(all.spare);
	return status;
}

/* ---- one beside other work ---- */

void
subprocess_begin(struct subprocess *s)
{
	const struct subprocesses all = { s, 1, NULL, NULL, NULL };

	subprocess_start(&all, s);
}

bool
subprocess_poll(struct subprocess *s, struct pollfd fds[SUBPROCESS_FDS], int64_t *deadline)
{
	struct pollfd polled[1 + SLOTS];
	const struct subprocesses all = { s, 1, NULL, polled, NULL };
	const bool runs = set_polls(&all, deadline);

	INVARIANT(s->beside == NULL);
	memcpy(fds, polled + 1, SUBPROCESS_FDS * sizeof *fds);
	return runs;
}

void
subprocess_serve(struct subprocess *s, const struct pollfd fds[SUBPROCESS_FDS])
{
	pid_t spare[2] = { s->state.process.pid, 0 };
	const struct subprocesses all = { s, 1, NULL, NULL, spare };

	if (s->state.stage != SUBPROCESS_ENDED)
		subprocess_serve_round(&all, s, fds);
}

void
subprocess_cancel(struct subprocess *s, const struct error *why)
{
	const struct subprocesses all = { s, 1, NULL, NULL, NULL };

	begin_end(&all, s, why);
}

void
subprocess_hide(struct subprocess *s, const char *secret)
{
	text_hide(s->errors.data, s->errors.len, secret);
	if ((int64_t)s->errors.len < s->errors_bytes)
		text_hide_rest(s->errors.data, s->errors.len, secret);
	text_hide(s->error.message, strlen(s->error.message), secret);
}

void
subprocess_free(struct subprocess *s)
{
	buffer_free(&s->output);
	buffer_free(&s->errors);
}
