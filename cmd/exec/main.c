/*
 * awf-exec: the far end of a launcher (ssh, srun, docker exec …): runs one command for an awf-step
 * on another machine, and reports its output and end to it.
 *
 * What the code relies on:
 *   - stdin and stdout carry frames (proc/frame.h) and nothing else; the command has pipes.
 *   - Nothing is started before awf-step has named this process's hello, and the complete
 *     input has arrived.
 *   - The command runs under a guardian: however this program ends, no process of the
 *     command remains.
 *   - The command lives only as long as the connection: when stdin ends, or is silent for longer
 *     than the request says, the command is ended.
 *   - The end is reported when no process of the command is left and all its output was sent.
 *   - Received files are in a directory made for the call, which is removed afterwards, by the
 *     guardian if this program is killed while the command runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/patience.h"
#include "base/text.h"
#include "io/copytree.h"
#include "io/file.h"
#include "io/polling.h"
#include "isolate/sandbox.h"
#include "json/scan.h"
#include "proc/descendants.h"
#include "proc/environment.h"
#include "proc/frame.h"
#include "proc/frame_files.h"
#include "proc/guardian.h"
#include "proc/interrupts.h"
#include "proc/libexec.h"
#include "proc/peer.h"
#include "program.h"
#include "storage/call_marks.h"
#include "system/descriptor.h"

#define PROGRAM "awf-exec"
#define QUEUE_LIMIT ((size_t)1 << 20)    /* unsent bytes above which no more output is read from
                                            the command */
#define INPUT_LIMIT ((size_t)512 << 20)  /* a line of input can be 256 MiB, and its JSON longer */
#define LOOK_AGAIN 20                    /* ms between checks of what no descriptor reports */

extern char **environ;

/* Variables that give the number of copies of a program started together. */
static const char *const task_counts[] = { "SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", NULL };

static const struct option_spec options_table[] = {
	{ OPTION_END, 0, NULL, NULL, NULL },
};

/* The connection to awf-step. */
struct head {
	struct peer peer;
	struct frame_key key;
	struct frame_request request;
	struct frame_hello hello;
	int64_t heard, said;
	int64_t silent_ms;             /* how long awf-step may be silent; 0: without limit */
	bool gone;                     /* it has closed one of the pipes, or was silent
	                                  for too long */
};

struct command {
	char **argv;
	struct environment environment;
	struct buffer input;
	struct files_in files;
	char *directory;               /* made for the command, with two directories in it; NULL */
	struct guardian guardian;
	int out, errors;               /* read ends of its pipes; -1 */
	struct digest output_digest, errors_digest;
	enum { COMMAND_RUNS, COMMAND_TERMINATED, COMMAND_KILLED } stage;
	int64_t deadline;              /* for the current stage of ending it */
	struct frame_end end;
};

static const struct interrupts *interrupts; /* of signals */

/* ---- the connection ---- */

/* The pipes are made non-blocking; their flags are restored at the end, as the process that started
 * this program may use them too. */
static int flags_before[2];

static void
restore_pipes(void)
{
	for (int fd = STDIN_FILENO; fd <= STDOUT_FILENO; fd++)
		fcntl(fd, F_SETFL, flags_before[fd]);
}

static int
connect_head(struct head *h, struct error *err)
{
	h->peer.process = (struct process){ .pid = PEER_CONNECTED, .in = STDOUT_FILENO,
		.out = STDIN_FILENO, .err = -1 };
	h->peer.incoming.fd = STDIN_FILENO;
	h->heard = h->said = clock_monotonic();
	if (isatty(STDIN_FILENO) || isatty(STDOUT_FILENO))
		return error_set(err, ERROR_USAGE, NULL, "there is a terminal in between: the "
		    "launcher must not create one (no ssh -t, no docker exec -t); this program "
		    "is started by awf-step --via");
	for (int fd = STDIN_FILENO; fd <= STDOUT_FILENO; fd++) {
		flags_before[fd] = fcntl(fd, F_GETFL);
		if (flags_before[fd] == -1 || fcntl(fd, F_SETFL, flags_before[fd] | O_NONBLOCK) == -1)
			return error_errno(err, ERROR_SYSTEM, fd == STDIN_FILENO ? "stdin" : "stdout",
			    "unable to use it without waiting");
	}
	atexit(restore_pipes);
	return 0;
}

static void
exec_send_frames(struct head *h)
{
	h->said = clock_monotonic();
	if (!h->gone && peer_send(&h->peer) == -1)
		h->gone = true;
}

/* Serves the connection and waits for count more descriptors, at most until deadline (0: none). -1:
 * a signal arrived, or an error of the machine. */
static int
exec_serve_peer_until(struct head *h, struct pollfd *more, size_t count, int64_t deadline,
    struct error *err)
{
	enum { FIRST = 1 + PEER_FDS, MORE = 3 };
	struct pollfd fds[FIRST + MORE];
	int64_t due = h->silent_ms == 0 ? 0 : h->heard + h->silent_ms;
	int result;

	/* Anything sent is a sign of life, so a ping is needed only after silence. */
	if (h->silent_ms != 0 && h->said + h->request.ping_ms < due)
		due = h->said + h->request.ping_ms;
	if (due == 0 || h->gone || (deadline != 0 && deadline < due))
		due = deadline;
	peer_poll(&h->peer, fds + 1);
	if (h->gone)
		fds[1 + PEER_IN].fd = fds[1 + PEER_OUT].fd = -1;
	for (size_t i = 0; i < count; i++)
		fds[FIRST + i] = more[i];
	result = interrupts_wait(interrupts, fds, FIRST + count, due, err);
	for (size_t i = 0; i < count; i++)
		more[i].revents = fds[FIRST + i].revents;
	if (fds[1 + PEER_IN].revents != 0)
		exec_send_frames(h);
	if (fds[1 + PEER_OUT].revents != 0 && !h->gone) {
		h->gone = peer_receive(&h->peer) == -1;
		if (!h->gone)
			h->heard = clock_monotonic();
	}
	if (h->silent_ms != 0 && clock_monotonic() >= h->heard + h->silent_ms)
		h->gone = true;
	if (h->silent_ms != 0 && !h->gone && clock_monotonic() >= h->said + h->request.ping_ms) {
		if (peer_unsent(&h->peer) == 0)
			frame_word(&h->peer.outgoing, "ping");
		exec_send_frames(h);
	}
	return result;
}

/* Sends all frames, unless the connection is closed. At this point there is nothing left for a
 * signal to end. */
static void
exec_flush_frames(struct head *h)
{
	struct error err;

	exec_send_frames(h);
	while (!h->gone && peer_unsent(&h->peer) > 0) {
		if (exec_serve_peer_until(h, NULL, 0, 0, &err) == 0)
			continue;
		if (err.code == ERROR_SYSTEM)
			return;
		*interrupts->signal_number = 0;
	}
}

/* ---- the request ---- */

/* Waits for a line: 1; 0: the connection is closed; -1: *err. */
static int
exec_next_line(struct head *h, int64_t deadline, struct span *line, struct error *err)
{
	for (;;) {
		int taken = peer_line(&h->peer, line);

		if (taken == 1)
			return 1;
		if (taken == -1)
			return error_set(err, ERROR_INVALID_INPUT, NULL, "a line is longer than 256 MiB");
		if (h->gone)
			return 0;
		if (exec_serve_peer_until(h, NULL, 0, deadline, err) == -1)
			return -1;
		if (deadline != 0 && clock_monotonic() >= deadline && !h->gone)
			return error_set(err, ERROR_NO_INPUT, "stdin", "no request arrived "
			    "within %d s",
			    FAR_REQUEST_MS / 1000);
	}
}

/* Makes the command's environment: that of this process, without variables of a run, which this
 * machine does not have; and what the request sets. */
static void
make_environment(struct environment *e, char *const *given, bool sandboxed)
{
	static const char own[] = "AWF_";
	struct buffer names = BUFFER_INIT;

	environment_begin(e);
	for (char **variable = environ; *variable != NULL; variable++) {
		size_t len = strcspn(*variable, "=");
		char *name = memory_copy(*variable, len);

		if (strncmp(name, own, sizeof own - 1) == 0 || strcmp(name, "TRACEPARENT") == 0)
			environment_unset(e, name);
		free(name);
	}
	environment_set(e, FRAME_MARKER, "1");
	/* A sandboxed command gets only the variables of the request
	 * (workspace/sandbox_environment.h). */
	for (char *const *variable = given; sandboxed && variable != NULL && *variable != NULL; variable++)
		buffer_format(&names, "%.*s ", (int)strcspn(*variable, "="), *variable);
	if (sandboxed)
		environment_set(e, MARKS_OWN, buffer_string(&names));
	buffer_free(&names);
	for (; given != NULL && *given != NULL; given++) {
		size_t len = strcspn(*given, "=");
		char *name = memory_copy(*given, len);

		if ((*given)[len] == '=')
			environment_set(e, name, *given + len + 1);
		free(name);
	}
}

/* Makes a directory for the command to work in, and beside it one for its files. */
static int
make_directory(struct command *c, struct error *err)
{
	const char *temporary = environment_text("TMPDIR");
	char *path = memory_format("%s/" PROGRAM "-XXXXXX", temporary != NULL ? temporary : "/tmp");
	int files = -1;

	/* An absolute path, as it is removed from another working directory. */
	if (mkdtemp(path) != NULL)
		c->directory = realpath(path, NULL);
	if (c->directory == NULL)
		error_errno(err, ERROR_SYSTEM, path, "unable to make a directory for the files");
	free(path);
	if (c->directory == NULL)
		return -1;
	if (chdir(c->directory) == 0 && mkdir("files", 0700) == 0 && mkdir("work", 0777) == 0)
		files = open("files", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (files == -1 || chdir("work") == -1) {
		file_close(&files);
		return error_errno(err, ERROR_SYSTEM, c->directory, "unable to make a directory for the files");
	}
	files_in_begin(&c->files, files, NULL);
	return 0;
}

/* Checks whether the command can be started, as far as that is known before. */
static int
exec_prepare_command(struct command *c, const struct frame_request *r, struct error *err)
{
	char **argv = list_copy(r->argv), *list, *program;

	make_environment(&c->environment, r->environment, r->sandbox != NULL);
	for (const char *const *name = task_counts; *name != NULL; name++) {
		const char *count = environment_text(*name);

		if (count != NULL && strtol(count, NULL, 10) > 1) {
			list_free(argv);
			return error_set(err, ERROR_USAGE, NULL, "the launcher has started %s of this program (%s): "
			    "it is to start one (srun -n1)", count, *name);
		}
	}
	if (r->own) {
		list = libexec_path();
		program = path_search(list, argv[0]);
		free(list);
		if (program == NULL) {
			error_set(err, ERROR_DEFINITION, argv[0], "this machine has no such AWF "
			    "program");
			list_free(argv);
			return -1;
		}
		free(argv[0]);
		argv[0] = program;
	}
	c->argv = argv;
	if (r->sandbox != NULL) {
		c->argv = sandbox_argv_of(r->sandbox, argv);
		list_free(argv);
		if (c->argv == NULL)
			return error_set(err, ERROR_DEFINITION, NULL, "no sandbox can be made here: there is no "
			    "awf-sandbox");
	}
	if (r->apart)
		return make_directory(c, err);
	/* With a shared file system the directory has the same path here; otherwise the launcher
	 * chooses one. */
	if (r->directory != NULL)
		(void)!chdir(r->directory);
	return 0;
}

/* Puts the received files where the command finds them. */
static int
place_files(struct command *c, struct error *err)
{
	int here = c->directory == NULL ? -1 : open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int placed = here == -1 ? 0 : files_in_place(&c->files, here, err);

	file_close(&here);
	return placed;
}

/* Receives the input until awf-step says to start: 1; 0: it must not start; -1: *err. */
static int
await_go(struct head *h, struct command *c, struct error *err)
{
	char sha256[DIGEST_SIZE], files_sha256[DIGEST_SIZE];
	struct frame_go go;
	struct span line;
	size_t bad;
	int result;

	while ((result = exec_next_line(h, 0, &line, err)) == 1) {
		struct span json = frame_open(line, &h->key);

		if (json.at != NULL && frame_read_go(json, &go)) {
			if (strcmp(go.id, h->hello.id) != 0)
				return 0; /* another copy may start */
			digest_sha256(buffer_string(&c->input), c->input.len, sha256);
			digest_end(&c->files.digest, files_sha256);
			if (strcmp(sha256, go.input_sha256) != 0 || strcmp(files_sha256, go.files_sha256) != 0)
				return error_set(err, ERROR_INVALID_INPUT, NULL, "the input was damaged on the way");
			return place_files(c, err) == -1 ? -1 : 1;
		}
		if (scan_check(line.at, line.len, &bad) != NULL)
			return error_set(err, ERROR_INVALID_INPUT, NULL, "the data from the "
			    "other end is damaged");
		if (files_in_take(&c->files, line, err) == -1)
			return -1;
		if (frame_is(line, "input") && frame_take_bytes(line, &c->input) == -1)
			return error_set(err, ERROR_INVALID_INPUT, NULL, "the data from the "
			    "other end is damaged");
		if (frame_is(line, "cancel"))
			return 0;
		if (c->input.len > INPUT_LIMIT)
			return error_set(err, ERROR_INVALID_INPUT, NULL, "the input is too large");
	}
	return result;
}

/* ---- the command ---- */

/* Returns false, and sets c->end, if the command cannot be started. */
static bool
exec_start_command(struct command *c)
{
	int out[2] = { -1, -1 }, errors[2] = { -1, -1 };
	struct process_spec spec = { .argv = c->argv, .environment = c->environment.list,
		.in = c->input.len == 0 ? PROCESS_NULL : PROCESS_INPUT, .input = c->input.data,
		.input_len = c->input.len };
	const struct guardian_duties duties = { .directory = c->directory };
	struct error *error = &c->end.error;
	bool started = false;

	c->end.exit_code = PROCESS_CANNOT_RUN;
	if (descriptor_pipe(out) != 0 || descriptor_pipe(errors) != 0 ||
	    fcntl(out[0], F_SETFL, O_NONBLOCK) != 0 || fcntl(errors[0], F_SETFL, O_NONBLOCK) != 0) {
		error_errno(error, ERROR_EXIT_STATUS, c->argv[0], "unable to make a pipe");
	} else {
		spec.out = out[1];
		spec.err = errors[1];
		started = guardian_start(&c->guardian, &spec, &duties, &c->end.exit_code, error) == 0;
	}
	file_close(&out[1]);
	file_close(&errors[1]);
	if (!started) {
		file_close(&out[0]);
		file_close(&errors[0]);
	}
	if (error->code == ERROR_SYSTEM) /* the command could not be started here; nothing is wrong
	                                    with awf-step's machine */
		error->code = ERROR_EXIT_STATUS;
	c->out = out[0];
	c->errors = errors[0];
	return started;
}

/* Begins to end the command; why NULL: it has ended, but not all of its processes. */
static void
begin_end(struct command *c, const struct error *why, int64_t grace_ms)
{
	if (c->stage != COMMAND_RUNS)
		return;
	if (why != NULL)
		c->end.error = *why;
	c->stage = COMMAND_TERMINATED;
	c->deadline = clock_monotonic() + grace_ms;
	descendants_signal(getpid(), SIGTERM, (pid_t[]){ c->guardian.pid, 0 });
	descendants_signal(c->guardian.pid, SIGTERM, NULL);
}

/* Describes the signal that ended a wait. */
static void
name_signal(struct error *why)
{
	if (why->code == ERROR_CANCELLED)
		error_set(why, ERROR_INTERRUPTED, NULL, "ended on the far machine by signal %d "
		    "(%s)",
		    *interrupts->signal_number, strsignal(*interrupts->signal_number));
	*interrupts->signal_number = 0;
}

/* A signal sent to a whole job may end the command before it reaches this program: wait for it. */
static void
await_signal(struct head *h, struct command *c)
{
	const int64_t until = clock_monotonic() + FAR_SIGNAL_MS;
	struct error why;

	while (!h->gone && clock_monotonic() < until)
		if (exec_serve_peer_until(h, NULL, 0, until, &why) == -1) {
			name_signal(&why);
			c->end.error = why;
			return;
		}
}

/* Sends output from one of the pipes. Returns whether there was any. */
static bool
exec_forward_pipe(struct head *h, int *fd, const char *type, struct digest *digest)
{
	static char piece[FRAME_BYTES]; /* too large for a small stack */
	ssize_t n = *fd == -1 ? 0 : read(*fd, piece, sizeof piece);

	if (n > 0) {
		digest_add(digest, piece, (size_t)n);
		frame_bytes(&h->peer.outgoing, type, piece, (size_t)n);
		exec_send_frames(h);
		return true;
	}
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		file_close(fd);
	return false;
}

/* Reads messages from awf-step while the command runs. */
static void
exec_read_cancellations(struct head *h, struct command *c)
{
	struct error why;
	struct span line;
	size_t bad;

	while (peer_line(&h->peer, &line) == 1) {
		if (scan_check(line.at, line.len, &bad) != NULL || !frame_is(line, "cancel"))
			continue;
		error_set(&why, ERROR_CANCELLED, NULL, "cancelled");
		begin_end(c, &why, h->request.grace_ms);
	}
}

/* Reads the guardian's report; returns true when no process of the command is left. */
static bool
exec_read_guardian(struct command *c, short revents)
{
	struct guardian *g = &c->guardian;

	if (revents != 0 && g->state != GUARDIAN_ALONE && g->state != GUARDIAN_LOST)
		guardian_read(g);
	if (g->state == GUARDIAN_LOST) {
		/* The guardian's processes are this process's children now. */
		descendants_end(getpid(), SIGKILL, NULL);
		if (c->end.error.code == ERROR_NONE)
			error_set(&c->end.error, ERROR_INTERRUPTED, NULL, "the process of AWF that watches over the command was killed");
		g->wait_status = SIGKILL;
	}
	return g->state == GUARDIAN_ALONE || g->state == GUARDIAN_LOST;
}

/* How much time the command has to end after the connection was lost. awf-step elsewhere waits no
 * longer than until it considers the connection silent, and lost_ms more. */
static int64_t
grace_without(const struct head *h)
{
	const int64_t left = h->heard + h->silent_ms + h->request.lost_ms - clock_monotonic();

	return left > h->request.grace_ms ? h->request.grace_ms : left > h->request.lost_ms ? left :
	    h->request.lost_ms;
}

/* Waits for the command's end, and sets c->end. */
static void
exec_run_command(struct head *h, struct command *c)
{
	int64_t left_until = 0; /* deadline for its remaining processes to end by themselves, as for
	                           the guardian */
	struct error why;
	bool over = false;

	while (!over) {
		bool full = peer_unsent(&h->peer) > QUEUE_LIMIT, ended = c->guardian.state == GUARDIAN_ENDED;
		bool left = ended && c->out == -1 && c->errors == -1; /* without open pipes */
		struct pollfd fds[] = { { full ? -1 : c->out, POLLIN, 0 }, { full ? -1 : c->errors, POLLIN, 0 },
			{ c->guardian.report, POLLIN, 0 } };
		int64_t deadline = c->stage == COMMAND_RUNS ? 0 : clock_monotonic() + LOOK_AGAIN;

		if (left && left_until == 0)
			left_until = clock_monotonic() + LOOK_AGAIN;
		if (left && c->stage == COMMAND_RUNS)
			deadline = left_until;
		if (exec_serve_peer_until(h, fds, 3, deadline, &why) == -1) {
			name_signal(&why);
			begin_end(c, &why, h->request.grace_ms);
		}
		if (fds[0].revents != 0)
			exec_forward_pipe(h, &c->out, "output", &c->output_digest);
		if (fds[1].revents != 0)
			exec_forward_pipe(h, &c->errors, "errors", &c->errors_digest);
		exec_read_cancellations(h, c);
		if (h->gone && c->stage == COMMAND_RUNS) {
			error_set(&why, ERROR_LOST, NULL, "nobody is at the other end");
			begin_end(c, &why, grace_without(h));
		}
		over = exec_read_guardian(c, fds[2].revents);
		if (left && !over && clock_monotonic() >= left_until)
			begin_end(c, NULL, h->request.lost_ms);
		if (c->stage != COMMAND_RUNS && !over && clock_monotonic() >= c->deadline) {
			c->stage = COMMAND_KILLED;
			descendants_signal(c->guardian.pid, SIGKILL, NULL);
		}
	}
	/* Everything in the pipes is the command's output. */
	while (exec_forward_pipe(h, &c->out, "output", &c->output_digest) && !h->gone)
		exec_flush_frames(h);
	while (exec_forward_pipe(h, &c->errors, "errors", &c->errors_digest) && !h->gone)
		exec_flush_frames(h);
	file_close(&c->out);
	file_close(&c->errors);
	guardian_close(&c->guardian);
	c->end.exit_code = process_exit_code(c->guardian.wait_status);
	if (WIFSIGNALED(c->guardian.wait_status))
		c->end.signal_number = WTERMSIG(c->guardian.wait_status);
	if (c->end.exit_code > 128 && c->end.error.code == ERROR_NONE)
		await_signal(h, c);
}

/* Sends the files made by a command that succeeded. */
static void
send_files(struct head *h, struct command *c)
{
	struct files_out files;
	struct error *error = &c->end.error;
	char *const *patterns = error->code == ERROR_NONE && c->end.exit_code == 0 ? h->request.fetch : NULL;
	int more = files_out_begin(&files, patterns, error);

	while (more != -1 && (more = files_out_next(&files, &h->peer.outgoing, error)) == 1)
		if (peer_unsent(&h->peer) > QUEUE_LIMIT)
			exec_flush_frames(h);
	if (more == -1)
		error->code = ERROR_EXIT_STATUS;
	digest_end(&files.digest, c->end.files_sha256);
	files_out_free(&files);
}

static int64_t
exec_timeval_ms(const struct timeval *t)
{
	return (int64_t)t->tv_sec * 1000 + t->tv_usec / 1000;
}

static void
exec_send_end(struct head *h, struct command *c)
{
	struct rusage used;

	if (getrusage(RUSAGE_CHILDREN, &used) == 0) {
		c->end.user_ms = exec_timeval_ms(&used.ru_utime);
		c->end.system_ms = exec_timeval_ms(&used.ru_stime);
		c->end.max_rss_kib = (int64_t)used.ru_maxrss;
	}
	digest_end(&c->output_digest, c->end.output_sha256);
	digest_end(&c->errors_digest, c->end.errors_sha256);
	send_files(h, c);
	frame_write_end(&h->peer.outgoing, &c->end, &h->key);
	exec_flush_frames(h);
}

/* ---- all of it ---- */

/* Refuses the request: to awf-step, or on stderr if the connection is not established. Anything
 * before the frame in the line is ignored by awf-step. */
static int
exec_refuse_request(struct head *h, struct error *why)
{
	const int signal_number = *interrupts->signal_number;

	name_signal(why);
	if (h->key.hex[0] == '\0') {
		int status = program_fail(PROGRAM, why);

		return why->code == ERROR_INTERRUPTED ? 128 + signal_number : status;
	}
	if (h->hello.id[0] == '\0')
		buffer_byte(&h->peer.outgoing, '\n');
	frame_write_refused(&h->peer.outgoing, why, &h->key);
	exec_flush_frames(h);
	return STATUS_WORK;
}

static int
exec_serve_request(struct head *h, struct command *c)
{
	struct error err = ERROR_INIT;
	struct span line;
	int result;

	result = exec_next_line(h, clock_monotonic() + FAR_REQUEST_MS, &line, &err);
	if (result == 0)
		error_set(&err, ERROR_NO_INPUT, "stdin", "no request on stdin: this program is "
		    "started by awf-step --via");
	if (result == 1)
		result = frame_read_request(line, &h->request, &h->key, &err) == 0;
	if (result != 1 || exec_prepare_command(c, &h->request, &err) == -1)
		return exec_refuse_request(h, &err);

	id_new(h->hello.id);
	if (gethostname(h->hello.host, sizeof h->hello.host - 1) == -1)
		h->hello.host[0] = '\0';
	buffer_byte(&h->peer.outgoing, '\n');
	frame_write_hello(&h->peer.outgoing, &h->hello, &h->key);
	h->silent_ms = h->request.silent_ms;
	h->heard = clock_monotonic();
	exec_send_frames(h);
	result = await_go(h, c, &err);
	if (result != 1)
		return result == 0 ? STATUS_OK : exec_refuse_request(h, &err);
	if (exec_start_command(c))
		exec_run_command(h, c);
	exec_send_end(h, c);
	return STATUS_OK;
}

int
main(int argc, char **argv)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, 0 };
	struct head head;
	struct command command;
	struct error err = ERROR_INIT;
	struct options o;
	int id, status;

	program_begin();
	options_begin(&o, options_table, argc, argv);
	id = options_next(&o, &err);
	if (id == OPTION_HELP) {
		options_help(stdout, "awf-exec [options]\n\nStarted by awf-step --via LAUNCHER, as LAUNCHER awf-exec: see awf-launchers(7)\n", options_table, id);
		return program_end(PROGRAM, STATUS_OK);
	}
	if (id == OPTION_VERSION)
		return program_end(PROGRAM, program_version(PROGRAM));
	if (id == OPTION_WORD)
		error_set(&err, ERROR_USAGE, o.value, "no arguments are accepted: the request "
		    "comes on stdin");
	if (id != OPTION_END)
		return program_fail(PROGRAM, &err);

	memset(&head, 0, sizeof head);
	memset(&command, 0, sizeof command);
	command.out = command.errors = -1;
	files_in_begin(&command.files, -1, NULL);
	digest_begin(&command.output_digest);
	digest_begin(&command.errors_digest);
	interrupts = interrupts_catch(ends);
	signal(SIGPIPE, SIG_IGN);
	if (connect_head(&head, &err) == -1) {
		program_fail(PROGRAM, &err);
		status = STATUS_WORK;
	} else {
		status = exec_serve_request(&head, &command);
	}
	files_in_free(&command.files);
	if (command.directory != NULL && chdir("/") == 0)
		copytree_remove(command.directory, &err);
	free(command.directory);
	peer_free(&head.peer);
	frame_request_free(&head.request);
	list_free(command.argv);
	environment_free(&command.environment);
	buffer_free(&command.input);
	return status;
}
