/*
 * Linkage: checks references from one transcript to others in the same directory. A missing
 * transcript is not a fault, since runs may be moved or deleted separately.
 */
#ifndef AWF_TRANSCRIPT_LINKAGE_H
#define AWF_TRANSCRIPT_LINKAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"
#include "json/scan.h"

enum linkage_kind {
	LINKAGE_EVENT,  /* the other run has this event */
	LINKAGE_CHILD,  /* the other run names this one as its parent */
	LINKAGE_PARENT  /* the other run has a line that names this one as its child */
};

struct linkage_claim {
	enum linkage_kind kind;
	char run_id[ID_SIZE];   /* the other run */
	char event_id[ID_SIZE]; /* for LINKAGE_EVENT, else "" */
	int64_t line, byte;     /* line and byte of this transcript that make the claim */
	bool found;
};

struct linkage {
	struct linkage_claim *claims;
	size_t count, capacity;
};

/* Adds a claim. The ids are JSON strings that were checked before; event_id may be absent. */
void linkage_claim(struct linkage *l, enum linkage_kind kind, struct span run_id,
    struct span event_id, int64_t line, int64_t byte);

/* Reads each transcript in directory about which there are claims, once. *wrong is the first claim
 * that is not true, or NULL. -1: a transcript could not be read. */
int linkage_check(struct linkage *l, const char *directory, const char *run_id,
    const struct linkage_claim **wrong, struct error *err);
void linkage_free(struct linkage *l);

#endif
