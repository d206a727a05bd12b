/*
 * Which answers of a recording were given in this run. Each step has a provider of its
 * own, or several, yet the answers of a list are given once each, in their order: what
 * was given stands in runs/<run-id>/given, a line "KEY NUMBER" each, KEY being a digest.
 * It is coordination, not record. Outside of a run each provider counts for itself.
 */
#ifndef AWF_PROVIDER_GIVEN_H
#define AWF_PROVIDER_GIVEN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/map.h"

struct given {
	int fd;          /* -1: outside of a run */
	off_t position;  /* in the file: what was read */
	struct map seen;
};

int given_open(struct given *g, struct error *err);
/* Nobody else gives anything until given_unlock(). Takes in what others gave. */
int given_lock(struct given *g, struct error *err);
bool given_has(const struct given *g, const char key[DIGEST_SIZE], size_t number);
int given_add(struct given *g, const char key[DIGEST_SIZE], size_t number, struct error *err);
void given_unlock(struct given *g);
void given_close(struct given *g);

#endif
