/*
 * What awf-mask-patterns looks for: the patterns of a file, and where they match in
 * bytes. A fixed string is looked for in the other forms too in which texts carry it:
 * escaped as in JSON, and in base64.
 */
#ifndef AWF_MASK_PATTERNS_H
#define AWF_MASK_PATTERNS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

#define PATTERNS_MASK "[masked]"
#define PATTERNS_BASE64_MIN ((size_t)8) /* bytes of a string that is looked for in base64 */
#define PATTERNS_PART_MIN ((size_t)4)   /* bytes of a string that was cut */

struct fixed {
	char *bytes;
	size_t len;
	bool base64;  /* a part of base64: the characters beside it hold bits of it too */
	bool whole;   /* as it stands in the file */
};

struct patterns {
	struct fixed *fixed;
	size_t fixed_count;
	regex_t *expressions;
	size_t expression_count;
	struct buffer cover; /* of the bytes looked at last: whether each is to be masked */
};

/* Where a text may have been cut. */
enum cut { CUT_NOWHERE, CUT_BEGIN, CUT_END };

/* ERROR_SYSTEM, ERROR_USAGE with FILE:LINE: nothing in it, or no expression. No
 * message holds a pattern. */
int patterns_load(struct patterns *p, const char *path, struct error *err);
/* Appends the bytes with what matches masked. Whether anything was. */
bool patterns_mask(struct patterns *p, const char *bytes, size_t len, enum cut cut,
    struct buffer *out);
/* Whether a fixed string, as it stands in the file, is in the bytes. */
bool patterns_found(const struct patterns *p, const char *bytes, size_t len);
void patterns_free(struct patterns *p);

#endif
