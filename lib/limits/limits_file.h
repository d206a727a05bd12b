/*
 * The user's limits for the calls of each provider, awf-limits(5): ~/.config/awf/limits, with a
 * line for each provider, and comments that begin with #:
 *
 *     PROVIDER  at-once=N per-minute=N tokens-per-minute=N down-after=N cost-per-day=USD
 *
 * A line for * is for each provider that has none of its own. The last line for one counts. What may
 * be spent in a day is limited also for a model (PROVIDER/MODEL), for a workflow (@NAME), where a
 * pattern is for each that matches, and for all together (@).
 */
#ifndef AWF_LIMITS_LIMITS_FILE_H
#define AWF_LIMITS_LIMITS_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define LIMITS_FILE "limits"
#define LIMITS_ANY "*"
#define LIMITS_ALL "@"
#define LIMITS_AT_ONCE_MOST 1024
#define LIMITS_PER_MINUTE_MOST 16384
#define LIMITS_TOKENS_PER_MINUTE_MOST 1000000000

/* Of one provider's calls; 0: there is no such limit. Of others the cost alone. */
struct limits {
	int at_once;
	int per_minute;
	int tokens_per_minute; /* of requests and answers */
	int down_after; /* failures in a row, after which it is taken for down */
	int64_t cost_per_day; /* nano-dollars; -1: no limit */
};

struct limits_file {
	char *path;     /* NULL: there is no home */
	/* provider: also PROVIDER/MODEL, @WORKFLOW and @ */
	struct limits_line { char *provider; struct limits limits; } *list;
	size_t count;   /* 0 also where there is no file */
};

/* Costs one open(2) where there is no file. -1: it cannot be read (ERROR_SYSTEM), or has a line
 * that is none (ERROR_DEFINITION with FILE:LINE); limits_file_free() is called either way. */
int limits_file_read(struct limits_file *f, struct error *err);
/* What holds for a provider; NULL: nothing. The file's. */
const struct limits *limits_file_find(const struct limits_file *f, const char *provider);
/* cost-per-day of PROVIDER, PROVIDER/MODEL, @WORKFLOW or @; -1: it is not limited. */
int64_t limits_file_cost(const struct limits_file *f, const char *name);
void limits_file_free(struct limits_file *f);

#endif
