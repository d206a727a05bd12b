/*
 * What AWF's own tools have in common: they read their arguments, a JSON object, on stdin,
 * and answer with one JSON string, lest a text that looks like JSON is taken for it; a line
 * end at its end is left out. A tool
 * that fails says why in one line on stderr; status 77 says that it was the sandbox that
 * refused what it was to do.
 */
#ifndef AWF_TOOL_BUILTIN_H
#define AWF_TOOL_BUILTIN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

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

/* Turns *err into ERROR_BLOCKED if what has just failed with errno on this path looks like
 * the sandbox's doing. -1. */
int builtin_refused(const char *path, bool writing, struct error *err);
/* Refuses what lies outside of the workspace, in a sandbox: the places outside that can be
 * written are gone with it. */
int builtin_within(const char *path, struct error *err);
/* The error of errno on this path; ERROR_BLOCKED likewise. -1. */
int builtin_errno(const char *path, bool writing, struct error *err);

/* Opens a regular file for reading. -1. */
int builtin_open(const char *path, struct error *err);
/* The same, and reads all of it. */
int builtin_load(const char *path, size_t limit, struct buffer *bytes, struct error *err);
/* Whether bytes are those of a file that is no text: NUL among the first of them. */
bool builtin_binary(const char *bytes, size_t len);

#endif
