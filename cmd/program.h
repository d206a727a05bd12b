/*
 * What every program does the same way: say what went wrong in one line, print
 * its version, and never leave stdout half-written.
 */
#ifndef AWF_PROGRAM_H
#define AWF_PROGRAM_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/version.h"

/* Prints "PROGRAM: PLACE: MESSAGE" and returns the exit status of the error. */
static inline int
program_fail(const char *program, const struct error *err)
{
	char text[sizeof err->place + sizeof err->message + 4];

	fprintf(stderr, "%s: %s\n", program, error_text(err, text, sizeof text));
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
	fprintf(stderr, "%s: stdout: unable to write: %s\n", program, strerror(errno));
	return STATUS_SYSTEM;
}

#endif
