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

#include "base/id.h"
#include "base/memory.h"
#include "builtin.h"
#include "definitions/tool.h"
#include "io/file.h"
#include "io/installation.h"
#include "json/writer.h"
#include "proc/subprocess.h"
#include "workspace/workflow_file.h"

extern char **environ;

/* What is to be started, and what was. */
struct child {
	const char *name;            /* of the workflow */
	struct words goal;           /* text NULL: no input */
	bool wait;
	char *id_file;               /* where awf-run tells the run's id */
	struct buffer id;            /* "" if there is no run */
	struct subprocess process;
};

/* The file of a workflow, with its links followed; NULL if there is none. In memory of its
 * own. */
static char *
run_workflow_find_file(const char *directory, const char *name, const char *extension)
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

static char *
find_workflow(const char *name, struct error *err)
{
	const char *given = getenv("AWF_WORKFLOW_DIR");
	const char *loaded = getenv(TOOL_LOADED);
	char *directory = realpath(given != NULL ? given : ".", NULL), *found;
	long long seconds;
	long nanoseconds;
	struct stat st;
	bool refused = true;

	if (directory == NULL) {
		error_errno(err, ERROR_SYSTEM, given, "unable to look there");
		return NULL;
	}
	found = run_workflow_find_file(directory, name, "");
	if (found == NULL)
		found = run_workflow_find_file(directory, name, WORKFLOW_SUFFIX);
	if (found == NULL)
		error_set(err, ERROR_INVALID_INPUT, name, "no such workflow in %s", directory);
	else if (!path_within(found, directory))
		error_set(err, ERROR_INVALID_INPUT, name,
		    "a workflow must lie in %s, or below: this is %s", directory, found);
	else if (!workflow_file_is(found))
		error_set(err, ERROR_INVALID_INPUT, name, "is no workflow: those are files that end in "
		    WORKFLOW_SUFFIX " or may be run");
	/* What was written since the step that has this tool began may be of a sandboxed program,
	 * and would run outside of any sandbox. */
	else if (loaded != NULL && sscanf(loaded, "%lld.%ld", &seconds, &nanoseconds) == 2 &&
	    (stat(found, &st) != 0 || st.st_ctim.tv_sec > seconds ||
	    (st.st_ctim.tv_sec == seconds && st.st_ctim.tv_nsec > nanoseconds)))
		error_set(err, ERROR_BLOCKED, name, "was written since the step began, perhaps by a "
		    "sandboxed program: it is started by none of its agents");
	else
		refused = workflow_file_check(found, err) != 0;
	free(directory);
	if (!refused)
		return found;
	free(found);
	return NULL;
}

/* The one of the same installation, else that of PATH. */
static char *
find_awf_run(void)
{
	char *directory = installation_programs(), *path;

	if (directory == NULL)
		return memory_text("awf-run");
	path = path_join(directory, "awf-run");
	free(directory);
	if (access(path, X_OK) == 0)
		return path;
	free(path);
	return memory_text("awf-run");
}

/* Runs awf-run to its end, which does not wait for the run's if it is detached. */
static int
run_workflow_run_child(struct child *c, const char *workflow, const struct interrupts *interrupts,
    struct error *err)
{
	const char *directory = getenv("TMPDIR");
	char *program;
	struct buffer input = BUFFER_INIT;
	const char *argv[8] = { NULL, "--detach" };
	size_t count = 2;
	int fd, failed;

	c->id_file = memory_format("%s/awf-run-id.XXXXXX",
	    directory != NULL && *directory == '/' ? directory : "/tmp");
	fd = mkstemp(c->id_file);
	if (fd < 0)
		return error_errno(err, ERROR_SYSTEM, c->id_file, "unable to make");
	close(fd);

	argv[0] = program = find_awf_run();
	if (c->wait) {
		argv[1] = "--id-file";
		argv[count++] = c->id_file;
	}
	if (c->goal.text == NULL) {
		argv[count++] = "-n";
	} else {
		buffer_append(&input, c->goal.text, c->goal.len);
		buffer_byte(&input, '\n');
	}
	argv[count++] = "--";
	argv[count] = workflow;
	c->process = (struct subprocess){ .argv = (char *const *)(uintptr_t)argv, .environment = environ,
	    .input = input.data, .input_len = input.len };
	failed = subprocesses_run(&c->process, 1, interrupts, err);
	/* The id is in the file; of a run that is detached, on stdout. */
	if (failed == 0 && c->wait)
		failed = file_load(c->id_file, ID_SIZE, &c->id, err);
	else if (failed == 0 && c->process.error.code == ERROR_NONE)
		buffer_append(&c->id, buffer_string(&c->process.output), c->process.output.len);
	while (c->id.len > 0 && c->id.data[c->id.len - 1] == '\n')
		c->id.data[--c->id.len] = '\0';
	unlink(c->id_file);
	buffer_free(&input);
	free(program);
	return failed;
}

/* A child that failed is a result; that there is none is a failure, of which awf-run has
 * told. */
static int
run_workflow_report_child(const struct child *c, struct builtin *b, struct error *err)
{
	const struct subprocess *process = &c->process;
	const struct buffer *output = &process->output;
	const int code = process->exit_code;
	size_t len = output->len;
	struct writer w;

	if (process->error.code != ERROR_NONE && process->error.code != ERROR_EXIT_STATUS) {
		*err = process->error;
		return -1;
	}
	if (c->id.len == 0)
		return error_set(err, ERROR_EXIT_STATUS, NULL, "no run was started");
	b->json = true;
	writer_begin(&w, &b->answer);
	writer_object(&w);
	writer_member_string(&w, "run_id", c->id.data);
	if (c->wait) {
		writer_member_string(&w, "status", code == STATUS_OK ? "success" :
		    code == STATUS_WAITING ? "waiting" : code == 124 ? "timeout" :
		    code > 128 ? "cancelled" : "failed");
		writer_member_integer(&w, "exit_code", code);
		writer_key(&w, "output");
		writer_bytes(&w, buffer_string(output),
		    len > 0 && output->data[len - 1] == '\n' ? len - 1 : len);
	} else {
		writer_member_string(&w, "status", "running");
	}
	writer_object_end(&w);
	return 0;
}

static int
run_workflow(struct builtin *b, struct error *err)
{
	static const int signals[] = { SIGTERM, SIGINT, 0 };
	const struct interrupts *interrupts = builtin_catch(signals);
	struct child c = { .wait = true };
	const struct argument arguments[] = {
		{ "workflow", &c.name, ARGUMENT_NAME, .required = true },
		{ "goal", &c.goal, ARGUMENT_TEXT, .required = false },
		{ "wait", &c.wait, ARGUMENT_FLAG, .required = false },
		{ .name = NULL }
	};
	char *workflow;
	int failed;

	signal(SIGPIPE, SIG_IGN);
	if (builtin_arguments(b, arguments, err) != 0)
		return -1;
	workflow = find_workflow(c.name, err);
	failed = workflow == NULL ? -1 : run_workflow_run_child(&c, workflow, interrupts, err);
	if (failed == 0)
		failed = run_workflow_report_child(&c, b, err);
	subprocess_free(&c.process);
	buffer_free(&c.id);
	free(c.id_file);
	free(workflow);
	return failed;
}

int
main(int argc, char **argv)
{
	return builtin_main("run_workflow", run_workflow, argc, argv);
}
