/*
 * The #! line is split as env -S splits it; but quotes and variables are refused.
 */
#include "workspace/workflow_file.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "workspace/sandboxed_times.h"

#define LINE_LIMIT 4096          /* longest #! line */
#define SPACE " \t\r"

/* ---- the #! line ---- */

bool
workflow_file_is(const char *path)
{
	struct stat status;

	return *path_base(path) != '.' && stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
	    (text_ends(path, WORKFLOW_SUFFIX) || access(path, X_OK) == 0);
}

int
workflow_file_check(const char *path, struct error *err)
{
	return sandboxed_times_have_file(path) ? error_set(err, ERROR_BLOCKED, path, "a sandboxed program may have written it, and it "
	    "would run in no sandbox: read it, then touch it") : 0;
}

bool
workflow_file_found(const char *word, struct error *err)
{
	char *program = NULL;
	bool found = access(word, F_OK) == 0;

	if (found && path_is_directory(word)) {
		error_set(err, ERROR_USAGE, word, "is a directory");
		return false;
	}
	if (found)
		return true;
	if (strchr(word, '/') == NULL && getenv("PATH") != NULL)
		program = path_search(getenv("PATH"), word);
	found = program != NULL;
	free(program);
	if (!found)
		error_set(err, ERROR_USAGE, word, strchr(word, '/') != NULL ? "no such file" :
		    "no such file in the current directory, and no such program in PATH");
	return found;
}

int
workflow_file_options(const char *path, char ***options, struct environment *environment,
    struct error *err)
{
	char line[LINE_LIMIT + 1] = "", *at, *word;
	int fd = open(path, O_RDONLY | O_CLOEXEC), failed = 0;
	ssize_t got = fd != -1 ? read(fd, line, LINE_LIMIT) : -1;
	bool own = false, all = false;

	file_close(&fd);
	if (got < 0)
		return error_errno(err, ERROR_SYSTEM, path, "unable to read");
	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, "#!", 2) != 0 || strstr(line, "awf-run") == NULL)
		return 0;
	if (strpbrk(line, "'\"\\$") != NULL)
		return error_set(err, ERROR_DEFINITION, path,
		    "is started by programs without quotes, \\ or $ in the #! line");
	for (word = strtok_r(line + 2, SPACE, &at); word != NULL && !all && failed == 0;
	    word = strtok_r(NULL, SPACE, &at)) {
		char *equals = strchr(word, '=');

		if (own && strcmp(word, "--") == 0) {
			all = true;
		} else if (own) {
			list_add(options, word);
		} else if (strcmp(path_base(word), "awf-run") == 0) {
			own = true;
		} else if (equals != NULL && *word != '-') {
			*equals = '\0';
			environment_set(environment, word, equals + 1);
		} else if (strcmp(path_base(word), "env") != 0 && strcmp(word, "-S") != 0) {
			failed = error_set(err, ERROR_DEFINITION, path,
			    "nobody but a shell knows what %s is in the #! line", word);
		}
	}
	return failed;
}

/* ---- its environment ---- */

void
workflow_file_environment(struct environment *e)
{
	static const char *const names[] = { "AWF_RUN_ID", "AWF_TRANSCRIPT", "AWF_PARENT", "AWF_CALL",
		"AWF_PATH", "AWF_WORKFLOW_DIR", "AWF_WORKFLOW_FILE", "AWF_CLAIMED", "AWF_TASK",
		"AWF_TASK_TOKEN", "AWF_TRY", "AWF_TOOL_CALL", "JOURNAL_STREAM", "NOTIFY_SOCKET", "INVOCATION_ID", "SYSTEMD_EXEC_PID", "MAINPID",
		"MANAGERPID", "WATCHDOG_PID", "WATCHDOG_USEC", NULL };
	static const char *const begins[] = { "AWF_INPUT_", "LISTEN_", NULL };

	environment_begin(e);
	for (size_t i = 0; names[i] != NULL; i++)
		environment_unset(e, names[i]);
	for (size_t i = 0; i < e->count;) {
		size_t at = 0;

		while (begins[at] != NULL && strncmp(e->list[i], begins[at], strlen(begins[at])) != 0)
			at++;
		if (begins[at] == NULL) {
			i++;
		} else {
			char *name = memory_copy(e->list[i], strcspn(e->list[i], "="));

			environment_unset(e, name);
			free(name);
		}
	}
}
