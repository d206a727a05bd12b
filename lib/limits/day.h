/*
 * What answers may cost in a day, from midnight to midnight UTC, over all runs of a storage
 * (cost-per-day of limits/limits_file.h): for each provider, model and workflow, and together.
 *
 * The ledger is a file of the storage, limits/.day, with the sum of the day for each of these. Who asks
 * a model looks into it under its lock, and adds what the request costs at least; the answer puts its
 * real cost in place of that. So of any number of runs none asks when a limit is reached; requests
 * that are under way may exceed it with their answers. What a process had added that was killed stays,
 * as its API may have charged it.
 *
 * A run inside of others counts for the workflows of all of them.
 */
#ifndef AWF_LIMITS_DAY_H
#define AWF_LIMITS_DAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "limits/limits_file.h"

#define DAY_FILE "limits/.day"

struct day {
	struct limits_file file;
	char *path;               /* of the ledger */
	char **workflows;         /* their names, a list (base/list.h) */
};

/* Reads the user's file of limits. 1: it has such limits, or a wrong line, which each call reports; 0: it has
 * none; -1 with *err. workflows: a list, which *d owns from now on. The caller calls day_end() in any case. */
int day_begin(struct day *d, const char *storage_root, char **workflows, struct error *err);
/* Whether any of these limits applies to requests to this model. */
bool day_limits(const struct day *d, const char *provider, const char *model);
/* Checks that the limits, as the user's file has them now, allow a request that costs at least so many
 * nano-dollars; otherwise ERROR_MAX_COST. If hold is true, adds these to the sums. */
int day_reserve(const struct day *d, const char *provider, const char *model, int64_t least, bool hold,
    const char *agent, struct error *err);
/* Adds to the sums; the amount may be less than 0. */
int day_add(const struct day *d, const char *provider, const char *model, int64_t amount,
    struct error *err);
void day_end(struct day *d);

/* A sum of today in the ledger. Names are as in the user's file: PROVIDER, PROVIDER/MODEL, @WORKFLOW, and @
 * for all. */
struct day_sum {
	char name[240];
	int64_t spent;        /* nano-dollars */
};
/* *sums: to be freed by the caller. */
int day_read(const char *storage_root, struct day_sum **sums, size_t *count, struct error *err);

#endif
