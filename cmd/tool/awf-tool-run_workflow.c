/*
 * awf-tool-run_workflow: a tool that starts a workflow as a child run and tells what came
 * of it. What it may start lies in the directory of the workflow that it is used in, or
 * below. awf-run does the rest: inside of a run it makes a child, and goes on with one
 * that a run which is resumed had started.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/tool.h"
#include "base/file.h"
#include "base/id.h"
#include "base/installation.h"
#include "base/memory.h"
#include "builtin.h"
#include "json/writer.h"
#include "proc/descendants.h"
#include "proc/subprocess.h"

extern char **environ;

struct request {
	const char *workflow;
	struct words goal; /* text NULL: no input */
	bool wait;
};

/* What was started. */
struct started {
	char *id_file;               /* where awf-run tells the run's id */
	struct buffer id;            /* "" if there is no run */
	struct subprocess process;
};

static volatile int signal_number;

static void
note_signal(int number)
{
	signal_number = number;
}

/* The file of a workflow, with its links followed; NULL if there is none. In memory of its
 * own. */
static char *
resolve(const char *directory, const char *name, const char *extension)
{
	char *joined = *name == '/' ? memory_text(name) : path_join(directory, name);
	char *path = memory_format("%s%s", joined, extension), *found = realpath(path, NULL);

	free(joined);
	free(path);
	if (found == NULL || !path_is_directory(found))
		return found;
	free(found);
	return NULL;
}

/* Whether a file is as it was when the step that has this tool began: what was written since
 * may be of a sandboxed program, and would run outside of any sandbox. */
static bool
is_older(const char *path)
{
	const char *loaded = getenv(TOOL_LOADED);
	long long seconds;
	long nanoseconds;
	struct stat st;

	if (loaded == NULL || sscanf(loaded, "%lld.%ld", &seconds, &nanoseconds) != 2)
		return true;
	return stat(path, &st) == 0 && (st.st_ctim.tv_sec < seconds ||
	    (st.st_ctim.tv_sec == seconds && st.st_ctim.tv_nsec <= nanoseconds));
}

static char *
find_workflow(const char *name, struct error *err)
{
	const char *given = getenv("AWF_WORKFLOW_DIR");
	char *directory = realpath(given != NULL ? given : ".", NULL), *found;

	if (directory == NULL) {
		error_errno(err, ERROR_SYSTEM, given, "unable to look there");
		return NULL;
	}
	found = resolve(directory, name, "");
	if (found == NULL)
		found = resolve(directory, name, ".awf");
	if (found == NULL)
		error_set(err, ERROR_INVALID_INPUT, name, "no such workflow in %s", directory);
	else if (!path_within(found, directory)) {
		error_set(err, ERROR_INVALID_INPUT, name,
		    "a workflow must lie in %s, or below: this is %s", directory, found);
		free(found);
		found = NULL;
	} else if (!is_older(found)) {
		error_set(err, ERROR_BLOCKED, name, "was written since the step began, perhaps by a "
		    "sandboxed program: it is started by none of its agents");
		free(found);
		found = NULL;
	}
	free(directory);
	return found;
}

/* The one of the same installation, else that of PATH. */
static char *
find_awf_run(void)
{
	char *program = installation_program(), *directory, *path;

	if (program == NULL)
		return memory_text("awf-run");
	directory = path_directory(program);
	path = path_join(directory, "../../bin/awf-run");
	free(directory);
	free(program);
	if (access(path, X_OK) == 0)
		return path;
	free(path);
	return memory_text("awf-run");
}

static int
make_id_file(struct started *s, struct error *err)
{
	const char *directory = getenv("TMPDIR");
	int fd;

	s->id_file = memory_format("%s/awf-run-id.XXXXXX",
	    directory != NULL && *directory == '/' ? directory : "/tmp");
	fd = mkstemp(s->id_file);
	if (fd < 0)
		return error_errno(err, ERROR_SYSTEM, s->id_file, "unable to make");
	close(fd);
	return 0;
}

/* The id is in the file; of a run that is detached, on stdout. */
static int
take_id(struct started *s, bool waited, struct error *err)
{
	if (waited && file_load(s->id_file, ID_SIZE, &s->id, err) != 0)
		return -1;
	if (!waited && s->process.error.code == ERROR_NONE)
		buffer_append(&s->id, buffer_string(&s->process.output), s->process.output.len);
	while (s->id.len > 0 && s->id.data[s->id.len - 1] == '\n')
		s->id.data[--s->id.len] = '\0';
	return 0;
}

/* Runs awf-run to its end, which does not wait for the run's if it is detached. */
static int
start(struct started *s, const struct request *r, const char *workflow, struct error *err)
{
	const struct interrupts interrupts = { .signal_number = &signal_number, .downstream = -1 };
	char *program = find_awf_run();
	struct buffer input = BUFFER_INIT;
	const char *argv[8] = { program, "--detach" };
	size_t count = 2;
	int failed;

	if (r->wait) {
		argv[1] = "--id-file";
		argv[count++] = s->id_file;
	}
	if (r->goal.text == NULL)
		argv[count++] = "-n";
	else {
		buffer_append(&input, r->goal.text, r->goal.len);
		buffer_byte(&input, '\n');
	}
	argv[count++] = "--";
	argv[count] = workflow;
	s->process = (struct subprocess){ .argv = (char *const *)(uintptr_t)argv, .environment = environ,
	    .input = input.data, .input_len = input.len };
	failed = subprocesses_run(&s->process, 1, &interrupts, err);
	if (failed == 0)
		failed = take_id(s, r->wait, err);
	buffer_free(&input);
	free(program);
	return failed;
}

static const char *
status_of(int exit_code)
{
	switch (exit_code) {
	case STATUS_OK: return "success";
	case STATUS_WAITING: return "waiting";
	case 124: return "timeout";
	default: return exit_code > 128 ? "cancelled" : "failed";
	}
}

static void
tell(const struct started *s, bool waited, struct builtin *b)
{
	const struct buffer *output = &s->process.output;
	size_t len = output->len;
	struct writer w;

	b->json = true;
	writer_begin(&w, &b->answer);
	writer_object(&w);
	writer_member_string(&w, "run_id", s->id.data);
	writer_member_string(&w, "status", waited ? status_of(s->process.exit_code) : "running");
	if (waited) {
		writer_member_integer(&w, "exit_code", s->process.exit_code);
		writer_key(&w, "output");
		writer_bytes(&w, buffer_string(output),
		    len > 0 && output->data[len - 1] == '\n' ? len - 1 : len);
	}
	writer_object_end(&w);
}

/* A child that failed is a result; that there is none is a failure, of which awf-run has
 * told. */
static int
report(const struct started *s, bool waited, struct builtin *b, struct error *err)
{
	if (s->process.error.code != ERROR_NONE && s->process.error.code != ERROR_EXIT_STATUS) {
		*err = s->process.error;
		return -1;
	}
	if (s->id.len == 0)
		return error_set(err, ERROR_EXIT_STATUS, NULL, "no run was started");
	tell(s, waited, b);
	return 0;
}

static int
run(const struct request *r, struct builtin *b, struct error *err)
{
	struct started s = { .id = BUFFER_INIT };
	char *workflow = find_workflow(r->workflow, err);
	int failed = workflow == NULL ? -1 : make_id_file(&s, err);

	if (failed == 0) {
		failed = start(&s, r, workflow, err);
		unlink(s.id_file);
	}
	if (failed == 0)
		failed = report(&s, r->wait, b, err);
	subprocess_free(&s.process);
	buffer_free(&s.id);
	free(s.id_file);
	free(workflow);
	return failed;
}

static void
handle_signals(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof action);
	action.sa_handler = note_signal;
	sigemptyset(&action.sa_mask);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	action.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &action, NULL);
	descendants_adopt();
}

static int
run_workflow(struct builtin *b, struct error *err)
{
	struct request request = { .wait = true };
	const struct argument arguments[] = {
		{ "workflow", &request.workflow, ARGUMENT_NAME, .required = true },
		{ "goal", &request.goal, ARGUMENT_TEXT, .required = false },
		{ "wait", &request.wait, ARGUMENT_FLAG, .required = false },
		{ .name = NULL }
	};

	handle_signals();
	return builtin_arguments(b, arguments, err) == 0 ? run(&request, b, err) : -1;
}

int
main(int argc, char **argv)
{
	return builtin_main("run_workflow", run_workflow, argc, argv);
}
