/*
 * What AWF's own tools have in common: they read their arguments, a JSON object, on stdin,
 * and answer with one JSON string, lest a text that looks like JSON is taken for it; a line
 * end at its end is left out. A tool that fails says why in one line on stderr; status 77 says
 * that it was the sandbox that refused what it was to do.
 */
#ifndef AWF_TOOL_BUILTIN_H
#define AWF_TOOL_BUILTIN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "proc/interrupts.h"

struct builtin {
	const json_t *arguments;
	struct buffer answer;
	bool json;             /* the answer is JSON already */
	int status;            /* what it ends with though it did not fail */
};

/* main() of the tool NAME, as models know it. work: 0, or -1 with *err; what it had answered
 * by then is printed all the same. */
int builtin_main(const char *name, int (*work)(struct builtin *b, struct error *err),
    int argc, char **argv);

/* A text, which may hold NUL. */
struct words {
	const char *text;
	size_t len;
};

/* An argument that a tool takes, and where its value goes. One that is missing leaves the value
 * as it is, and is no error unless it is required. */
struct argument {
	const char *name;               /* NULL ends a list */
	void *value;
	enum {
		ARGUMENT_TEXT,              /* struct words */
		ARGUMENT_NAME,              /* const char *: not empty, and without NUL */
		ARGUMENT_NUMBER,            /* long long: from min to max */
		ARGUMENT_FLAG,              /* bool */
		ARGUMENT_WORD               /* int: which of the words */
	} kind;
	bool required;
	long long min, max;
	const char *const *words;       /* end with NULL */
};
int builtin_arguments(const struct builtin *b, const struct argument *list, struct error *err);

/* Appends a remark of the tool's own on a line of its own: [remark]. */
void builtin_remark(struct builtin *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The error of errno on this path; ERROR_BLOCKED if that looks like the sandbox's doing. -1. */
int builtin_errno(const char *path, bool writing, struct error *err);

/* Opens a regular file for reading. -1. */
int builtin_open(const char *path, struct error *err);
/* The same, and reads all of it. */
int builtin_load(const char *path, size_t limit, struct buffer *bytes, struct error *err);
/* Whether bytes are those of a file that is no text: NUL among the first of them. */
bool builtin_binary(const char *bytes, size_t len);

/* From now on these signals (ends with 0) end waits by what is returned, and not the tool, which
 * is the parent of what is orphaned below it. */
const struct interrupts *builtin_catch(const int *signals);

/*
 * Files that tools write: a file appears whole or not at all, its directories are made, and
 * the permissions of one that was there stay. A file that its user may not write is not
 * replaced, though its directory would allow it.
 */

/* Whether there is a regular file; -1 if there is something else, a file that may not be
 * written, or, in a sandbox, a place outside of the workspace: those outside that can be
 * written are gone with it. */
int change_check(const char *path, bool *exists, struct error *err);
int change_write(const char *path, const char *bytes, size_t len, struct error *err);
/* What came of it: "created PATH (7 bytes)". */
void change_tell(const char *path, bool existed, size_t len, struct buffer *answer);

#endif
