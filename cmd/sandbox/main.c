/*
 * awf-sandbox: runs a command that can change the workspace and read what programs need, and
 * nothing else of the machine. Its exit status is that of the command; 77 if the sandbox could not
 * be made, or if the command was ended because it exceeded a limit.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/list.h"
#include "base/options.h"
#include "io/terminal.h"
#include "isolate/sandbox.h"
#include "json/writer.h"
#include "proc/frame.h"
#include "proc/message.h"
#include "proc/process.h"
#include "program.h"
#include "sandbox/run.h"
#include "sandbox/settings.h"
#include "storage/run.h"
#include "workspace/sandbox_environment.h"

#define PROGRAM "awf-sandbox"

/* A variable that was removed may be why the command failed. If another AWF program started this
 * one, it prints the hint itself. */
static void
sandbox_print_hint(const struct settings *s, char *const *left)
{
	struct buffer line = BUFFER_INIT;
	char *run = run_environment_directory();

	if (!s->quiet && s->parent == 0 && getenv(FRAME_MARKER) == NULL &&
	    sandbox_environment_hint(left, run, NULL, 0, false, &line))
		message_print(PROGRAM, "%s", buffer_string(&line));
	buffer_free(&line);
	free(run);
}

static int
sandbox_run_or_check(const struct settings *s)
{
	struct sandbox_parts parts;
	struct error err = ERROR_INIT;
	char text[sizeof err.place + sizeof err.message + 4];
	struct buffer line = BUFFER_INIT;
	struct writer w;
	sigset_t set;
	char **left = NULL;
	int status = sandbox_run(s, &parts, &left, &err);

	if (s->check) {
		/* One line: whether a sandbox is possible, and with which parts, as far as that was
		 * determined. */
		writer_begin(&w, &line);
		writer_object(&w);
		writer_member_bool(&w, "ready", status == 0);
		if (parts.known) {
			writer_member_integer(&w, "landlock", parts.landlock);
			writer_member_bool(&w, "namespaces", parts.namespaces);
			writer_member_bool(&w, "seccomp", parts.seccomp);
		}
		if (status != 0)
			writer_member_string(&w, "message", error_text(&err, text, sizeof text));
		writer_object_end(&w);
		terminal_print_json(buffer_string(&line), line.len);
		buffer_free(&line);
		list_free(left);
		return program_end(PROGRAM, status == 0 ? STATUS_OK : SANDBOX_REFUSED);
	}
	if (status > 0 && WIFEXITED(status) && WEXITSTATUS(status) < PROCESS_CANNOT_RUN)
		sandbox_print_hint(s, left);
	list_free(left);
	if (status == -1) {
		program_fail(PROGRAM, &err);
		return SANDBOX_REFUSED;
	}

	/* Exit as the command did, or die by the same signal. */
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

int
main(int argc, char **argv)
{
	struct error err = ERROR_INIT;
	struct settings settings;
	int id, status;

	program_begin();
	id = settings_parse(&settings, argc, argv, &err);
	switch (id) {
	case OPTION_HELP:
	case OPTION_HELP_ALL:
		options_help(stdout, sandbox_usage, sandbox_options, id);
		status = program_end(PROGRAM, STATUS_OK);
		break;
	case OPTION_VERSION:
		status = program_end(PROGRAM, program_version(PROGRAM));
		break;
	case -1:
		status = program_fail(PROGRAM, &err);
		break;
	default:
		status = sandbox_run_or_check(&settings);
	}
	settings_free(&settings);
	return status;
}
