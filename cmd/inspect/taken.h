/*
 * The calls of a recording whose ends a replay takes from it: commands whose effects
 * are not repeated, and what ended because of what went on around it (a time limit, a
 * signal). Calls that were made inside of them are not made again, nor is what a tool ran
 * whose result is taken.
 */
#ifndef AWF_INSPECT_TAKEN_H
#define AWF_INSPECT_TAKEN_H

#include <stdbool.h>

#include "base/error.h"
#include "base/map.h"
#include "inspect/canonical.h"

/* Lists them. -1: *err. */
int taken_read(struct map *taken, struct canonical *recording, struct error *err);
/* Whether the call is not made again: one of them encloses it, or a tool ran it. */
bool taken_encloses(const struct map *taken, const char *call);

#endif
