/*
 * The patterns of a file for awf-mask-patterns, and where they match in a text. A fixed string is
 * also found escaped as in JSON, and in base64.
 */
#ifndef AWF_MASK_PATTERNS_H
#define AWF_MASK_PATTERNS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

#define PATTERNS_MASK "[masked]"
#define PATTERNS_BASE64_MIN ((size_t)8) /* minimum length of a string to search for in base64 */
#define PATTERNS_PART_MIN ((size_t)4)   /* minimum length of a truncated string */

struct fixed {
	char *bytes;
	size_t len;
	bool base64;  /* a part of base64: the neighbouring characters contain bits of it too */
	bool whole;   /* as in the file */
};

struct patterns {
	struct fixed *fixed;
	size_t fixed_count;
	regex_t *expressions;
	size_t expression_count;
	struct buffer cover; /* for each byte of the last text: whether it is masked */
};

/* Where a text may have been truncated. */
enum cut { CUT_NOWHERE, CUT_BEGIN, CUT_END };

/* ERROR_SYSTEM; ERROR_USAGE with FILE:LINE: an empty string, or an invalid expression. Error
 * messages never contain a pattern. */
int patterns_load(struct patterns *p, const char *path, struct error *err);
/* Appends the bytes with all matches masked. Returns whether there were any. */
bool patterns_mask(struct patterns *p, const char *bytes, size_t len, enum cut cut,
    struct buffer *out);
/* Whether the bytes contain a fixed string as it is in the file. */
bool patterns_found(const struct patterns *p, const char *bytes, size_t len);
void patterns_free(struct patterns *p);

#endif
