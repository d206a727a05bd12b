/* The sum of the tokens of a conversation's answers, as reported by providers in `usage`. */
#ifndef AWF_TURN_USAGE_H
#define AWF_TURN_USAGE_H

#include <stdint.h>

#include "json/scan.h"
#include "json/writer.h"

enum { USAGE_INPUT, USAGE_OUTPUT, USAGE_CACHE_READ, USAGE_CACHE_WRITE, USAGE_REASONING,
	USAGE_KEYS };

struct usage {
	int64_t tokens[USAGE_KEYS]; /* -1: no answer told */
};

void usage_begin(struct usage *u);
/* Adds the usage of an answer; told may be absent. */
void usage_add(struct usage *u, struct span told);
/* Input and output. */
int64_t usage_total(const struct usage *u);
/* Writes the known numbers as an object. */
void usage_write(const struct usage *u, struct writer *w);

#endif
