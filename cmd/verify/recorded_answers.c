/*
 * Executes `awf-replay --from`, which becomes awf-run and writes the run's id to a file
 * (--id-file). A signal that ends this program ends awf-run first.
 */
#include "verify/recorded_answers.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/memory.h"
#include "io/file.h"
#include "proc/interrupts.h"
#include "proc/libexec.h"
#include "proc/process.h"
#include "verify/children.h"

/* Passes on a signal that would end this process, as awf-run has to end the workflow first.
 * *signal_number: the last one; 0: none. */
static int
recorded_answers_run(char *const *argv, int *signal_number, struct error *err)
{
	struct held_signals held;
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC), end = 0;
	char text[64];
	pid_t pid;

	if (nowhere < 0)
		return error_errno(err, ERROR_SYSTEM, "/dev/null", "unable to open");
	children_hold_signals(&held);
	pid = children_start(argv, nowhere, STDERR_FILENO, SIGTERM, &held, err);
	close(nowhere);
	if (pid > 0)
		*signal_number = children_wait(&pid, &end, 1, &held);
	children_let_go(&held);
	if (pid < 0)
		return -1;
	if (end == 0)
		return 0;
	return error_set(err, ERROR_DIVERGENCE, NULL, "%s", process_status_text(end, text, sizeof text));
}

static int
make_run(const char *file, const char *id_file, char *const *words, char run_id[ID_SIZE],
    int *signal_number, struct error *err)
{
	struct buffer id = BUFFER_INIT;
	char **argv = NULL;
	struct error ended = ERROR_INIT;
	int failed;

	list_take(&argv, libexec_sibling("awf-replay"));
	list_add(&argv, "--from");
	list_add(&argv, file);
	list_add(&argv, "--snapshot");
	list_take(&argv, memory_format("--id-file=%s", id_file));
	for (; *words != NULL; words++)
		list_add(&argv, *words);
	failed = recorded_answers_run(argv, signal_number, &ended);
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
		    failed != 0 ? ": " : "", failed != 0 ? ended.message : "");
	else if (failed != 0)
		error_set(err, ERROR_DIVERGENCE, file, "the run on these answers (%s) is no "
		    "success: %s", run_id, ended.message);
	return failed;
}

int
recorded_answers_make_run(const char *file, char *const *words, char run_id[ID_SIZE], struct error *err)
{
	const char *directory = getenv("TMPDIR");
	char *id_file;
	int fd, failed, signal_number = 0;

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
