/*
 * What every program does the same way: read a command line of options alone, say what went wrong in one line, print
 * its version, never leave stdout half-written, never take a file of its own for a standard
 * stream, and hear of the end of every child, whatever started it.
 */
#ifndef AWF_PROGRAM_H
#define AWF_PROGRAM_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/options.h"
#include "base/version.h"
#include "proc/message.h"

/* Fills closed descriptors 0, 1 and 2, so that no file of ours becomes one: stdin is
 * empty then, writing to stdout is the failure that it would be, stderr is lost.
 * SIGCHLD is not ignored, whatever the parent does: the kernel would throw away how children
 * end, and waitpid() would find none. No signal is blocked: one that is to end the program would
 * never arrive. Signals that are ignored to be so, as by nohup, stay ignored.
 * A file that would grow beyond the limit (ulimit -f) is an error that is told, and no end of the program:
 * what it starts gets the signal again. */
static inline void
program_begin(void)
{
	static const int modes[] = { O_RDONLY, O_RDONLY, O_WRONLY };
	sigset_t none;
	int fd;

	signal(SIGCHLD, SIG_DFL);
	signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) == -1)
			open("/dev/null", modes[fd]);
}

/* For a filter, which whoever has started it ends by closing its stdin: no signal does, as from a
 * terminal, or from who ends a service, it comes to both. */
static inline void
program_ends_with_stdin(void)
{
	static const int ignored[] = { SIGPIPE, SIGTERM, SIGINT, SIGQUIT, SIGHUP };

	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
}

/* Prints "PROGRAM: PLACE: MESSAGE", with stars for API keys (one may be an argument), and
 * returns the exit status of the error. */
static inline int
program_fail(const char *program, const struct error *err)
{
	char text[sizeof err->place + sizeof err->message + 4];

	message_print(program, "%s", error_text(err, text, sizeof text));
	return error_status(err->code);
}

/* Prints "PROGRAM VERSION" and returns 0. */
static inline int
program_version(const char *program)
{
	printf("%s %s\n", program, AWF_VERSION);
	return STATUS_OK;
}

/* Flushes stdout; a full disk or a closed pipe is a failure, not a silence. */
static inline int
program_end(const char *program, int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	message_print(program, "stdout: unable to write: %s", strerror(errno));
	return STATUS_SYSTEM;
}

/* Reads the options of a program that takes no arguments, after options_begin() and options_bind(). version:
 * its name for --version. false: the program ends with *status; help or version were printed, or what is
 * wrong. */
static inline bool
program_read_options(const char *program, const char *version, const char *usage, struct options *o,
    int *status)
{
	struct error err = ERROR_INIT;
	int id = options_next(o, &err);

	if (id == OPTION_END)
		return true;
	if (id == OPTION_HELP) {
		options_help(stdout, usage, o->table, id);
		*status = program_end(program, STATUS_OK);
	} else if (id == OPTION_VERSION) {
		*status = program_end(program, program_version(version));
	} else {
		if (id == OPTION_WORD)
			error_set(&err, ERROR_USAGE, o->value, "unexpected argument");
		*status = program_fail(program, &err);
	}
	return false;
}

#endif
