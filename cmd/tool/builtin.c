/*
 * Arguments are parsed with jansson and answers written quoted. A sandbox refuses with any file
 * system's errno, and a hidden path simply does not exist: so the path is resolved, following
 * links, up to the nearest existing directory. A path outside of the workspace, or a write where
 * everything is read-only, is reported as blocked; anything else is an ordinary failure.
 *
 * A file is replaced by writing a new file beside it and renaming that (io/file.h). For this only
 * the directory's permission matters, so the file's own permission is checked with access(2) first.
 */
#include "builtin.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../program.h"
#include "base/memory.h"
#include "base/options.h"
#include "definitions/tool.h"
#include "io/file.h"
#include "io/terminal.h"
#include "isolate/sandbox.h"
#include "json/value.h"
#include "json/writer.h"
#include "proc/descendants.h"

#define ARGUMENTS_LIMIT ((size_t)64 << 20)
#define BINARY_SAMPLE ((size_t)8 << 10)

static const struct option_spec none[] = { { OPTION_END, 0, NULL, NULL, NULL } };

static int
builtin_set_argument_error(const char *name, const char *expected, struct error *err)
{
	return error_set(err, ERROR_INVALID_INPUT, NULL, "the argument '%s' must be %s", name,
	    expected);
}

static int
builtin_set_argument(const struct argument *a, const json_t *given, struct error *err)
{
	struct words text = { json_string_value(given), json_string_length(given) };
	double number = json_number_value(given);
	char range[64];

	switch (a->kind) {
	case ARGUMENT_TEXT:
		if (!json_is_string(given))
			return builtin_set_argument_error(a->name, "a text", err);
		*(struct words *)a->value = text;
		return 0;
	case ARGUMENT_NUMBER:
		snprintf(range, sizeof range, "a whole number from %lld to %lld", a->min, a->max);
		/* 10.0 is one too. */
		if (!json_is_number(given) || number < (double)a->min || number > (double)a->max ||
		    number != (double)(long long)number)
			return builtin_set_argument_error(a->name, range, err);
		*(long long *)a->value = (long long)number;
		return 0;
	case ARGUMENT_FLAG:
		if (!json_is_boolean(given))
			return builtin_set_argument_error(a->name, "true or false", err);
		*(bool *)a->value = json_is_true(given);
		return 0;
	case ARGUMENT_NAME:
	case ARGUMENT_WORD:
		break;
	}
	if (!json_is_string(given))
		return builtin_set_argument_error(a->name, "a text", err);
	if (text.len == 0 || strlen(text.text) != text.len)
		return builtin_set_argument_error(a->name,
		    "a text that is not empty and has no NUL in it", err);
	if (a->kind == ARGUMENT_NAME) {
		*(const char **)a->value = text.text;
		return 0;
	}
	for (int i = 0; a->words[i] != NULL; i++)
		if (strcmp(a->words[i], text.text) == 0) {
			*(int *)a->value = i;
			return 0;
		}
	return error_set(err, ERROR_INVALID_INPUT, NULL, "the argument '%s' cannot be '%s'", a->name,
	    text.text);
}

int
builtin_arguments(const struct builtin *b, const struct argument *list, struct error *err)
{
	const json_t *given;

	for (const struct argument *a = list; a->name != NULL; a++)
		if (a->required && json_object_get(b->arguments, a->name) == NULL)
			return error_set(err, ERROR_INVALID_INPUT, NULL, "the argument '%s' is missing", a->name);
	for (const struct argument *a = list; a->name != NULL; a++) {
		given = json_object_get(b->arguments, a->name);
		if (given != NULL && builtin_set_argument(a, given, err) != 0)
			return -1;
	}
	return 0;
}

void
builtin_remark(struct builtin *b, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (b->answer.len > 0 && b->answer.data[b->answer.len - 1] != '\n')
		buffer_byte(&b->answer, '\n');
	buffer_format(&b->answer, "[%s]", text);
}

/* The path with links resolved, or that of its nearest existing parent directory. To be freed by
 * the caller. */
static char *
builtin_nearest_real_path(const char *path)
{
	char target[PATH_MAX], *at = memory_text(path), *found;

	for (int steps = 0; (found = realpath(at, NULL)) == NULL && steps < PATH_MAX; steps++) {
		/* The path does not exist: continue with the target of a link, or with its
		 * parent directory. */
		ssize_t len = readlink(at, target, sizeof target - 1);
		char *next = path_directory(at);

		if (len > 0) {
			char *directory = next;

			target[len] = '\0';
			next = *target == '/' ? memory_text(target) : path_join(directory, target);
			free(directory);
		}
		free(at);
		at = next;
	}
	free(at);
	return found != NULL ? found : memory_text("/");
}

static bool
builtin_is_outside_workspace(const char *path)
{
	char *found = builtin_nearest_real_path(path), *workspace = builtin_nearest_real_path(".");
	bool within = path_within(found, workspace);

	free(found);
	free(workspace);
	return !within;
}

static int
builtin_set_blocked_error(const char *path, const char *what, struct error *err)
{
	bool stay = builtin_is_outside_workspace(path);

	return error_set(err, ERROR_BLOCKED, path, "the sandbox (%s) does not allow to %s this%s",
	    getenv("AWF_SANDBOX"), what, stay ? ": stay in the working directory" : "");
}

/* Turns *err into ERROR_BLOCKED if what has just failed with errno on this path looks like
 * the sandbox's doing. -1. */
static int
builtin_explain_refusal(const char *path, bool writing, struct error *err)
{
	const char *sandbox = getenv("AWF_SANDBOX");
	int error = errno;
	bool denied = error == EACCES || error == EPERM || error == EROFS;

	if (sandbox == NULL || (!denied && error != ENOENT))
		return -1;
	if (denied && ((writing && strcmp(sandbox, "read-only") == 0) ||
	    builtin_is_outside_workspace(path)))
		builtin_set_blocked_error(path, writing ? "write" : "read", err);
	else if (!denied && builtin_is_outside_workspace(path))
		builtin_set_blocked_error(path, "see", err);
	errno = error;
	return -1;
}

int
builtin_errno(const char *path, bool writing, struct error *err)
{
	error_errno(err, ERROR_SYSTEM, path, writing ? "unable to write" : "unable to read");
	return builtin_explain_refusal(path, writing, err);
}

static int
builtin_set_irregular_error(const char *path, mode_t mode, struct error *err)
{
	return error_set(err, ERROR_INVALID_INPUT, path, S_ISDIR(mode) ? "this is a directory" :
	    "this is no regular file");
}

int
builtin_open(const char *path, struct error *err)
{
	const char *results = getenv(TOOL_RESULTS);
	/* The rest of a result that was too long for the model (turn/result_cut.h). The workspace has none:
	 * a file of such a name there is another tool's, which wants it to be taken for one. */
	char *kept = results != NULL && strchr(path, '/') == NULL &&
	    strncmp(path, TOOL_RESULT_NAME, strlen(TOOL_RESULT_NAME)) == 0 ? path_join(results, path) : NULL;
	/* A pipe without a writer must not be waited for. */
	int fd = open(kept != NULL ? kept : path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat status;

	free(kept);
	if (fd == -1)
		return builtin_errno(path, false, err);
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		return fd;
	close(fd);
	return builtin_set_irregular_error(path, status.st_mode, err);
}

int
builtin_load(const char *path, size_t limit, struct buffer *bytes, struct error *err)
{
	int fd = builtin_open(path, err), failed;

	if (fd == -1)
		return -1;
	failed = file_read(fd, bytes, limit);
	if (failed != 0 && errno == EFBIG)
		error_set(err, ERROR_INVALID_INPUT, path, "the file is larger than %zu MiB",
		    limit >> 20);
	else if (failed != 0)
		builtin_errno(path, false, err);
	close(fd);
	return failed;
}

bool
builtin_binary(const char *bytes, size_t len)
{
	return len > 0 && memchr(bytes, '\0', len < BINARY_SAMPLE ? len : BINARY_SAMPLE) != NULL;
}

/* ---- files that tools write ---- */

int
change_check(const char *path, bool *exists, struct error *err)
{
	struct stat status;

	if (getenv("AWF_SANDBOX") != NULL && builtin_is_outside_workspace(path))
		return builtin_set_blocked_error(path, "write", err);
	*exists = stat(path, &status) == 0;
	if (!*exists)
		return errno == ENOENT ? 0 : builtin_errno(path, true, err);
	if (!S_ISREG(status.st_mode))
		return builtin_set_irregular_error(path, status.st_mode, err);
	return access(path, W_OK) == 0 ? 0 : builtin_errno(path, true, err);
}

int
change_write(const char *path, const char *bytes, size_t len, struct error *err)
{
	char *directory = path_directory(path);
	struct replacement r;
	int failed = directory_make(directory, 0777, err);

	free(directory);
	if (failed == 0)
		failed = replacement_open(&r, path, 0666, err);
	if (failed == 0 && file_write(r.fd, bytes, len) == 0) {
		failed = replacement_commit(&r, false, err);
	} else if (failed == 0) {
		failed = error_errno(err, ERROR_SYSTEM, path, "unable to write");
		replacement_abandon(&r);
	}
	return failed == 0 ? 0 : builtin_explain_refusal(path, true, err);
}

void
change_tell(const char *path, bool existed, size_t len, struct buffer *answer)
{
	buffer_format(answer, "%s %s (%zu byte%s)", existed ? "overwrote" : "created", path, len,
	    len == 1 ? "" : "s");
}

/* ---- the program ---- */

const struct interrupts *
builtin_catch(const int *signals)
{
	descendants_adopt();
	return interrupts_catch(signals);
}

static int
builtin_run_tool(const char *name, int (*work)(struct builtin *b, struct error *err))
{
	struct error err = ERROR_INIT;
	struct buffer text = BUFFER_INIT, json = BUFFER_INIT;
	struct builtin b = { .arguments = NULL };
	json_t *arguments = NULL;
	size_t len;
	int failed = -1;

	if (file_read(STDIN_FILENO, &text, ARGUMENTS_LIMIT) != 0)
		error_errno(&err, ERROR_SYSTEM, "stdin", "unable to read");
	else
		arguments = value_parse(buffer_string(&text), text.len, "stdin",
		    ERROR_INVALID_INPUT, &err);
	buffer_free(&text);
	b.arguments = arguments;
	if (arguments != NULL)
		failed = json_is_object(arguments) ? work(&b, &err) : error_set(&err,
		    ERROR_INVALID_INPUT, "stdin", "the arguments are no JSON object");

	len = b.answer.len;
	if (failed == 0 || len > 0) {
		if (b.json)
			buffer_append(&json, b.answer.data, len);
		else
			json_quote(&json, b.answer.data,
			    len > 0 && b.answer.data[len - 1] == '\n' ? len - 1 : len);
		terminal_print_json(json.data, json.len);
		buffer_free(&json);
	}
	if (failed != 0)
		b.status = program_fail(name, &err);
	if (failed != 0 && err.code == ERROR_BLOCKED)
		b.status = SANDBOX_REFUSED;
	buffer_free(&b.answer);
	json_decref(arguments);
	return program_end(name, b.status);
}

int
builtin_main(const char *name, int (*work)(struct builtin *b, struct error *err), int argc,
    char **argv)
{
	char program[64], usage[96];
	struct error err = ERROR_INIT;
	struct options o;

	program_begin();
	snprintf(program, sizeof program, "awf-tool-%s", name);
	options_begin(&o, none, argc, argv);
	switch (options_next(&o, &err)) {
	case OPTION_HELP:
		snprintf(usage, sizeof usage, "%s <arguments >result", program);
		options_help(stdout, usage, none, OPTION_HELP);
		return program_end(program, STATUS_OK);
	case OPTION_VERSION:
		return program_end(program, program_version(program));
	case OPTION_END:
		return builtin_run_tool(name, work);
	case OPTION_WORD:
		error_set(&err, ERROR_USAGE, o.value, "there are no arguments but those on stdin");
	}
	return program_fail(program, &err);
}
