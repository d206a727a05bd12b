/*
 * The chain of a transcript: each line ends in the BLAKE2b-256 of the line before
 * it. Checked apart from everything else, as it needs nothing but the bytes, and
 * as long to hash as all other checks take: a thread of its own can do it.
 */
#ifndef AWF_TRANSCRIPT_CHAIN_H
#define AWF_TRANSCRIPT_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"

struct chain {
	char digest[DIGEST_SIZE]; /* of the last line */
	int64_t line;             /* its number, 0 at the start */
	int64_t start, before;    /* bytes where it and the line before it begin */
	bool broken;              /* the last line's prev is not what it should be */
};

void chain_begin(struct chain *c);
/* Goes on with whole lines that begin at byte `at` of the file; stops at the first
 * that does not fit. */
void chain_check(struct chain *c, const char *lines, size_t len, int64_t at);

#endif
