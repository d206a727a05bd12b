/*
 * Two variables make the provider of every step the one that plays. awf-run is executed then, or
 * is a process of its own, which tells the run's id in a file (--id-file) and is ended first by
 * what ends this program.
 */
#include "rerun/from.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/memory.h"
#include "io/file.h"
#include "proc/interrupts.h"
#include "proc/libexec.h"
#include "proc/process.h"
#include "proc/wait.h"
#include "rerun/agentloom_file.h"
#include "start/supervise.h"

#define RUNNER "awf-run"
#define LOOK_MS 1000 /* where the system does not tell when a process ends */

/* From now on whatever this process starts gets the answers of its agents from the file.
 * ERROR_USAGE if it cannot be answered from. */
static int
from_set_answers_file(const char *file, struct error *err)
{
	struct agentloom_file recording;
	bool is;
	int failed = agentloom_file_is(file, &is, err);

	/* What is wrong with it is said once, before anything runs. */
	if (failed == 0 && is) {
		failed = agentloom_file_load(&recording, file, err);
		agentloom_file_free(&recording);
	}
	if (failed == 0) {
		/* Steps may run in other directories, so they get the whole path. */
		char *path = realpath(file, NULL);

		if (path == NULL || setenv("AWF_REPLAY", path, 1) != 0 ||
		    setenv("AWF_PROVIDER", "replay", 1) != 0)
			failed = error_errno(err, ERROR_SYSTEM, file, "unable to find its path");
		free(path);
	}
	if (failed != 0)
		err->code = ERROR_USAGE;
	return failed != 0 ? -1 : 0;
}

int
from_run(const char *file, char *const *words, struct error *err)
{
	char *path, **argv = NULL;

	if (from_set_answers_file(file, err) != 0)
		return -1;
	path = libexec_sibling(RUNNER);
	list_add(&argv, RUNNER);
	for (; *words != NULL; words++)
		list_add(&argv, *words);
	execvp(path, argv);
	error_errno(err, ERROR_SYSTEM, path, "unable to run");
	list_free(argv);
	free(path);
	return -1;
}

/* A signal that would end this process is passed on: awf-run has to end the workflow first.
 * The last such signal is told, 0: none. */
static int
from_run_awf_run(char *const *argv, int *signal_number, struct error *err)
{
	const struct process_spec spec = { .argv = argv, .in = PROCESS_INHERIT, .out = PROCESS_NULL,
		.err = PROCESS_INHERIT, .inherit = true };
	struct process process;
	int wait_status = 0, ended;
	char text[64];

	signals_hold();
	if (process_start(&process, &spec, NULL, err) != 0) {
		signals_let_go();
		err->code = ERROR_SYSTEM;
		return -1;
	}
	ended = wait_descriptor(process.pid);
	while (waitpid(process.pid, &wait_status, WNOHANG) == 0) {
		int now = signals_wait(ended, LOOK_MS);

		if (now == 0)
			continue;
		kill(process.pid, *signal_number = now);
		signals_drop();
	}
	file_close(&ended);
	if (*signal_number == 0)
		signals_let_go();
	if (wait_status == 0)
		return 0;
	return error_set(err, ERROR_DIVERGENCE, NULL, "%s",
	    process_status_text(wait_status, text, sizeof text));
}

static int
make_run(const char *file, const char *id_file, char *const *words, char run_id[ID_SIZE],
    int *signal_number, struct error *err)
{
	struct buffer id = BUFFER_INIT;
	char **argv = NULL;
	struct error ended = ERROR_INIT;
	int failed;

	list_take(&argv, libexec_sibling(RUNNER));
	list_add(&argv, "--snapshot");
	list_take(&argv, memory_format("--id-file=%s", id_file));
	for (; *words != NULL; words++)
		list_add(&argv, *words);
	failed = from_run_awf_run(argv, signal_number, &ended);
	list_free(argv);

	run_id[0] = '\0';
	if (file_load(id_file, ID_SIZE, &id, NULL) == 0 && id.len == ID_SIZE &&
	    id_valid(id.data, ID_SIZE - 1)) {
		memcpy(run_id, id.data, ID_SIZE - 1);
		run_id[ID_SIZE - 1] = '\0';
	}
	buffer_free(&id);
	if (failed != 0 && ended.code != ERROR_DIVERGENCE)
		*err = ended;
	else if (run_id[0] == '\0')
		failed = error_set(err, ERROR_USAGE, file, "no run was made on these answers%s%s",
		    failed != 0 ? ": " RUNNER " ended with " : "", failed != 0 ? ended.message : "");
	else if (failed != 0)
		error_set(err, ERROR_DIVERGENCE, file, "the run on these answers (%s) is no "
		    "success: %s", run_id, ended.message);
	return failed;
}

int
from_make_run(const char *file, char *const *words, char run_id[ID_SIZE], struct error *err)
{
	const char *directory = getenv("TMPDIR");
	char *id_file;
	int fd, failed, signal_number = 0;

	if (from_set_answers_file(file, err) != 0)
		return -1;
	id_file = path_join(directory != NULL && *directory == '/' ? directory : "/tmp",
	    "awf-verify.XXXXXX");
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
