/*
 * The target of a request: the segments of its URL's path, and its parameters, decoded once and
 * strictly. A segment may contain any text that %-escapes can express, including a slash, but no
 * NUL or other control characters: it is compared with names, and never used as a part of a path.
 */
#ifndef AWF_SERVE_RUNS_TARGET_H
#define AWF_SERVE_RUNS_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "httpd/refusal.h"
#include "json/scan.h"

#define TARGET_SEGMENTS 8
#define TARGET_PARAMETERS 16

struct target {
	char *text;              /* the decoded text; all other pointers point into it */
	const char *segments[TARGET_SEGMENTS];
	size_t segment_count;    /* 0: the root */
	struct { const char *name, *value; } parameters[TARGET_PARAMETERS];
	size_t parameter_count;
};

/* Parses the target of a request line, in origin form. Returns NULL, or why it is invalid;
 * target_free() is called in both cases. */
const struct refusal *target_read(struct target *t, struct span raw);
/* The value of a parameter; NULL if it is not given. */
const char *target_parameter(const struct target *t, const char *name);
/* Reads a parameter that is a whole number from 0 to most; *value is unchanged if it is absent.
 * False: it is not such a number. */
bool target_number(const struct target *t, const char *name, int64_t most, int64_t *value);
/* The first parameter whose name is not in words, a list of names each followed by a space; NULL if
 * there is none. */
const char *target_unknown(const struct target *t, const char *words);
void target_free(struct target *t);

#endif
