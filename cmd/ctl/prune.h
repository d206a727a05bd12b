/*
 * awf-ctl prune: removes runs by age, count or size, and says which.
 */
#ifndef AWF_CTL_PRUNE_H
#define AWF_CTL_PRUNE_H

#include <stdbool.h>

#include "base/error.h"
#include "run/retention.h"

/* name: of the runs; NULL: all. told: what goes is on stdout; dry: and it stays. -1 with
 * *err. */
int prune_runs(const struct retention_rule *rule, const char *name, bool dry, bool told,
    void (*warn)(const struct error *warning), struct error *err);

#endif
