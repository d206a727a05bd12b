/*
 * Shared by AWF's own tools: they read their arguments, a JSON object, from stdin, and answer with
 * one JSON string, so that a text that looks like JSON is not taken for it; a final newline is
 * removed. A tool that fails prints the reason as one line to stderr; status 77 means that the
 * sandbox refused the operation.
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
	int status;            /* exit status although it did not fail */
};

/* The main() of the tool NAME, as models know it. work: 0, or -1 with *err; the answer so far is
 * printed in any case. */
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
		ARGUMENT_WORD               /* int: index of the word */
	} kind;
	bool required;
	long long min, max;
	const char *const *words;       /* end with NULL */
};
int builtin_arguments(const struct builtin *b, const struct argument *list, struct error *err);

/* Appends a remark of the tool on its own line: [remark]. */
void builtin_remark(struct builtin *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The error of errno on this path; ERROR_BLOCKED if that looks like the sandbox's doing. -1. */
int builtin_errno(const char *path, bool writing, struct error *err);

/* Opens a regular file for reading. -1. */
int builtin_open(const char *path, struct error *err);
/* The same, and reads all of it. */
int builtin_load(const char *path, size_t limit, struct buffer *bytes, struct error *err);
/* Whether bytes are the beginning of a file that is not text: they contain NUL. */
bool builtin_binary(const char *bytes, size_t len);

/* From now on these signals (the list ends with 0) end waits on the returned object, and not the
 * tool, which is the parent of orphaned processes below it. */
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
