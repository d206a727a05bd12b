/*
 * The id of the run is chosen before awf-run starts, so it can be looked up in the storage whether
 * the run has begun. Its stdout is an unnamed file: awf-run stores what a workflow has written to a
 * file, in a blob of the run (start/output.h).
 */
#include "serve_start/start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/patience.h"
#include "io/file.h"
#include "io/polling.h"
#include "model/waiting.h"
#include "proc/environment.h"
#include "proc/libexec.h"
#include "proc/process.h"
#include "proc/wait.h"
#include "storage/queue.h"
#include "transcript/reader.h"
#include "workspace/workflow_file.h"

#define LOOK_MS 10               /* between checks whether the run exists */
#define SETTLE_MS 1000           /* how long a run of another process with the same id
                                    is waited for */

/* ---- whether the run has begun ---- */

enum started
start_look(const struct storage *s, const char *run_id)
{
	char *transcript = storage_transcript(s, run_id);
	bool begun = transcript_begun(transcript) || storage_run_owner(s, run_id, NULL);
	struct queued *list = NULL;
	enum started found = begun ? START_BEGUN : START_FAILED;
	size_t count = 0;

	free(transcript);
	if (!begun && queued_list(s, &list, &count, NULL) == 0) {
		for (size_t i = 0; i < count; i++)
			if (strcmp(list[i].run_id, run_id) == 0)
				found = START_QUEUED;
		queued_free(list, count);
	}
	return found;
}

static int64_t
start_size(const struct start_spec *spec)
{
	char *transcript = storage_transcript(spec->storage, spec->run_id);
	struct stat status;
	int64_t size = stat(transcript, &status) == 0 ? status.st_size : 0;

	free(transcript);
	return size;
}

/* Of a run that is resumed, whose transcript had this size before: whether its further attempt has begun. */
static enum started
start_look_again(const struct start_spec *spec, int64_t size)
{
	return !spec->resumes ? start_look(spec->storage, spec->run_id) :
	    start_size(spec) > size ? START_BEGUN : START_FAILED;
}

/* awf-run has ended. If another process was starting a run with the same id, that run may appear a
 * moment later: wait for it. */
static enum started
start_judge_exit(const struct start_spec *spec, int status, int64_t size, struct error *err)
{
	char *directory = storage_run_directory(spec->storage, spec->run_id), text[64];
	int64_t until = clock_monotonic() + SETTLE_MS;
	enum started found = start_look_again(spec, size);

	while (found == START_FAILED && !spec->resumes && access(directory, F_OK) == 0 && clock_monotonic() < until) {
		poll_one(-1, 0, clock_monotonic() + LOOK_MS);
		found = start_look(spec->storage, spec->run_id);
	}
	free(directory);
	if (found == START_FAILED && !spec->resumes && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return START_SKIPPED;
	if (found == START_FAILED)
		error_set(err, ERROR_SYSTEM, spec->file, "awf-run has started no run: %s",
		    process_status_text(status, text, sizeof text));
	return found;
}

static enum started
wait_for(const struct start_spec *spec, pid_t pid, int64_t size, struct error *err)
{
	int64_t until = clock_monotonic() + HOOK_START_MS, now;
	int fd = wait_descriptor(pid), status;
	enum started found = START_FAILED;

	while ((now = clock_monotonic()) < until) {
		if (waitpid(pid, &status, WNOHANG) == pid) {
			file_close(&fd);
			return start_judge_exit(spec, status, size, err);
		}
		found = start_look_again(spec, size);
		if (found != START_FAILED)
			break;
		poll_one(fd, POLLIN, now + LOOK_MS);
	}
	file_close(&fd);
	return found == START_FAILED ? START_BEGUN : found;
}

/* Opens the file for the run's stdout; -1 with *err. */
static int
start_open_output(const struct storage *storage, struct error *err)
{
	char *directory = path_join(storage->root, "serve");
	int fd = -1;

	if (storage_make_directory(directory, true, err) == 0 &&
	    (fd = file_open_unnamed(directory)) == -1)
		error_errno(err, ERROR_SYSTEM, directory, "unable to make a file there");
	free(directory);
	return fd;
}

enum started
start_workflow(const struct start_spec *spec, struct error *err)
{
	char *path = path_join(spec->directory, spec->file), *program = libexec_sibling("awf-run");
	char **argv = NULL;
	struct environment environment;
	struct process process;
	enum started result = START_FAILED;
	struct process_spec start = { .directory = spec->directory, .in = PROCESS_INPUT,
		.input = spec->stdin.at, .input_len = spec->stdin.len, .err = PROCESS_INHERIT };
	const bool other = spec->resumes || spec->forks;
	const int64_t size = start_size(spec);

	if (spec->input != 0)
		start.in = spec->input > 0 ? spec->input : PROCESS_NULL;
	workflow_file_environment(&environment);
	environment_set(&environment, "AWF_STORAGE", spec->storage->root);
	list_add(&argv, program);
	/* Options of the workflow file itself are read later, and override these. */
	list_add(&argv, "--wait=" ATTENDED_USUALLY);
	if (!spec->resumes) {
		list_add(&argv, "--auto-resume");
		list_add(&argv, "--id");
		list_add(&argv, spec->run_id);
	}
	for (char *const *option = spec->options; option != NULL && *option != NULL; option++)
		list_add(&argv, *option);
	for (char *const *input = spec->inputs; input != NULL && *input != NULL; input++) {
		list_add(&argv, "--input");
		list_add(&argv, *input);
	}
	if (workflow_file_check(path, err) == 0 &&
	    (other || workflow_file_options(path, &argv, &environment, err) == 0) &&
	    (start.out = start_open_output(spec->storage, err)) != -1) {
		if (!other) {
			list_add(&argv, "--");
			list_add(&argv, path);
		}
		start.argv = argv;
		start.environment = environment.list;
		/* The run gets a session of its own: a signal to the server's process group must
		 * not reach it. */
		setsid();
		if (process_start(&process, &start, NULL, err) == 0)
			result = wait_for(spec, process.pid, size, err);
		file_close(&start.out);
	}
	environment_free(&environment);
	list_free(argv);
	free(program);
	free(path);
	return result;
}
