/*
 * awf-run is a process of its own, which tells the run's id in a file (--id-file). What
 * ends this program ends it first.
 */
#include "inspect/verify_from.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "inspect/from.h"
#include "proc/libexec.h"
#include "proc/process.h"
#include "proc/wait.h"
#include "run/supervise.h"

#define RUNNER "awf-run"
#define LOOK_MS 1000 /* where the system does not tell when a process ends */

/* awf-run, what this adds, the words, NULL; in memory of its own. */
static char **
make_argv(char *program, char *id_option, char *const *words)
{
	static char snapshot[] = "--snapshot";
	size_t count = 0;
	char **argv;

	while (words[count] != NULL)
		count++;
	argv = memory_zero(count + 4, sizeof *argv);
	argv[0] = program;
	argv[1] = snapshot;
	argv[2] = id_option;
	memcpy(argv + 3, words, count * sizeof *argv);
	return argv;
}

/* A signal that would end this process is passed on: awf-run has to end the workflow first.
 * The last such signal; 0: none. */
static int
wait_for(pid_t pid, int *wait_status)
{
	int ended = wait_descriptor(pid), number = 0;

	while (waitpid(pid, wait_status, WNOHANG) == 0) {
		int now = signals_wait(ended, LOOK_MS);

		if (now == 0)
			continue;
		kill(pid, number = now);
		signals_drop();
	}
	if (ended >= 0)
		close(ended);
	if (number == 0)
		signals_let_go();
	return number;
}

static int
run(char *const *argv, int *signal_number, struct error *err)
{
	const struct process_spec spec = { .argv = argv, .in = PROCESS_INHERIT, .out = PROCESS_NULL,
		.err = PROCESS_INHERIT, .inherit = true };
	struct process process;
	int wait_status = 0;
	char text[64];

	signals_hold();
	if (process_start(&process, &spec, NULL, err) != 0) {
		signals_let_go();
		err->code = ERROR_SYSTEM;
		return -1;
	}
	*signal_number = wait_for(process.pid, &wait_status);
	if (wait_status == 0)
		return 0;
	return error_set(err, ERROR_DIVERGENCE, NULL, "%s",
	    process_status_text(wait_status, text, sizeof text));
}

/* What awf-run wrote; false: it made no run. */
static bool
read_id(const char *path, char run_id[ID_SIZE])
{
	struct buffer text = BUFFER_INIT;
	bool is = file_load(path, ID_SIZE, &text, NULL) == 0 && text.len == ID_SIZE &&
	    id_valid(text.data, ID_SIZE - 1);

	if (is)
		memcpy(run_id, text.data, ID_SIZE - 1);
	run_id[is ? ID_SIZE - 1 : 0] = '\0';
	buffer_free(&text);
	return is;
}

static int
make_run(const char *file, const char *id_file, char *const *words, char run_id[ID_SIZE],
    int *signal_number, struct error *err)
{
	char *program = libexec_sibling(RUNNER), *option = memory_format("--id-file=%s", id_file);
	char **argv = make_argv(program, option, words);
	struct error ended = ERROR_INIT;
	int failed = run(argv, signal_number, &ended);

	if (failed != 0 && ended.code != ERROR_DIVERGENCE)
		*err = ended;
	else if (!read_id(id_file, run_id))
		failed = error_set(err, ERROR_USAGE, file, "no run was made on these answers%s%s",
		    failed != 0 ? ": " RUNNER " ended with " : "", failed != 0 ? ended.message : "");
	else if (failed != 0)
		error_set(err, ERROR_DIVERGENCE, file, "the run on these answers (%s) is no "
		    "success: %s", run_id, ended.message);
	free(argv);
	free(option);
	free(program);
	return failed;
}

int
from_make_run(const char *file, char *const *words, char run_id[ID_SIZE], struct error *err)
{
	const char *directory = getenv("TMPDIR");
	char *id_file = path_join(directory != NULL && *directory == '/' ? directory : "/tmp",
	    "awf-verify.XXXXXX");
	int fd, failed, signal_number = 0;

	if (from_answers(file, err) != 0) {
		free(id_file);
		return -1;
	}
	fd = mkstemp(id_file);
	if (fd < 0) {
		failed = error_errno(err, ERROR_SYSTEM, id_file, "unable to make the file");
	} else {
		close(fd);
		failed = make_run(file, id_file, words, run_id, &signal_number, err);
		unlink(id_file);
	}
	free(id_file);
	if (signal_number != 0)
		signals_die(signal_number);
	return failed;
}
