/*
 * fatal_exit() jumps out with longjmp(): it is called deep inside code that programs share, which
 * does not handle it. No stack frame in between is the caller's, because the library calls no
 * callbacks.
 */
#include "shared/guard.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fatal.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"

static _Thread_local jmp_buf *way_out;
static _Thread_local const char *why;

/* Replaces that of programs, base/fatal.c. */
void
fatal_exit(const char *what)
{
	if (way_out == NULL)
		abort(); /* not from within guard_run(): never */
	why = what;
	longjmp(*way_out, 1);
}

static enum awf_code
work_or_fatal(guarded_work *work, void *context, struct error *found)
{
	jmp_buf here;

	INVARIANT(way_out == NULL); /* a function of the interface calls no other */
	way_out = &here;
	if (setjmp(here) == 0) {
		enum awf_code code = work(context, found);
		way_out = NULL;
		return code;
	}
	way_out = NULL;
	return guard_set_error(found, AWF_MEMORY, NULL, "%s", why);
}

enum awf_code
guard_run(guarded_work *work, void *context, struct awf_error *err)
{
	struct error found = ERROR_INIT;
	sigset_t limit, blocked, pending_before, pending;
	enum awf_code code;
	int number;

	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &limit, &blocked);
	sigpending(&pending_before);

	code = work_or_fatal(work, context, &found);

	/* Remove the signal that came meanwhile. */
	if (sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1 &&
	    sigismember(&pending_before, SIGXFSZ) == 0)
		sigwait(&limit, &number);
	pthread_sigmask(SIG_SETMASK, &blocked, NULL);

	if (err != NULL) {
		err->code = code;
		err->message[0] = '\0';
		if (code != AWF_OK)
			error_text(&found, err->message, sizeof err->message);
	}
	return code;
}

enum awf_code
code_of(const struct error *found)
{
	switch (found->code) {
	case ERROR_USAGE:
	case ERROR_INVALID_INPUT:
		return AWF_INVALID;
	case ERROR_SCHEMA:
		return AWF_FORMAT;
	default:
		return AWF_SYSTEM;
	}
}

enum awf_code
guard_set_error(struct error *found, enum awf_code code, const char *place, const char *format, ...)
{
	char text[sizeof found->message];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	error_set(found, ERROR_USAGE, place, "%s", text);
	return code;
}

bool
is_missing(const char *path)
{
	return access(path, F_OK) == -1 && errno == ENOENT;
}

char *
absolute_path(const char *path, struct error *found)
{
	char here[PATH_MAX];

	if (path[0] == '/')
		return memory_text(path);
	if (getcwd(here, sizeof here) != NULL)
		return path_join(here, path);
	error_errno(found, ERROR_SYSTEM, NULL, "unable to find the current directory");
	return NULL;
}
