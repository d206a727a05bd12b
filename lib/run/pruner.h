/*
 * A pruning (run/prune.h) while it goes on: what prune.c, which removes, and
 * prune_plan.c, which finds what there is and decides what goes, share.
 */
#ifndef AWF_RUN_PRUNER_H
#define AWF_RUN_PRUNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/id.h"
#include "base/map.h"
#include "run/prune.h"
#include "run/retention.h"
#include "run/storage.h"
#include "run/summary.h"

#define PRUNER_NONE SIZE_MAX

/* A run as it was found. */
struct found {
	char run_id[ID_SIZE];
	struct summary summary;
	int64_t size;      /* of its transcript, -1: it has none */
	int64_t bytes;     /* of all of it; 0 unless asked for */
	bool pruned;       /* is being removed already */
	bool protected;
	size_t root;       /* the outermost run around it; itself */
	size_t next;       /* another one that has the same root */
	bool held;         /* its lock is taken already, */
	int lock;          /* as this */
};

/* A replay that was left, or is being made. */
struct replay {
	char run_id[ID_SIZE];
	char *place;
};

struct pruner {
	const struct storage *storage;
	const struct prune_spec *spec;
	bool sync;
	int64_t now;
	struct found *runs; /* the newest start first */
	struct retention_item *items; /* one for each; those of roots count */
	size_t **origins;  /* theirs */
	size_t count;
	struct map index;
	struct replay *replays;
	size_t replay_count;
	bool failed;
	struct error *err;
};

/* prune_plan.c. Keeps the first error, tells the others. */
void pruner_fail(struct pruner *p, const struct error *error);
/* Calls take for each entry of a directory of the storage; one that is not there has
 * none. */
int pruner_each(struct pruner *p, const char *directory,
    void (*take)(struct pruner *p, const char *directory, const char *name),
    struct error *err);
/* Finds the runs and replays, and whose roots they have. */
int pruner_load(struct pruner *p, struct error *err);
/* PRUNER_NONE: it is not there. */
size_t pruner_find(const struct pruner *p, const char *run_id);
/* When a file was changed, in µs. */
int64_t pruner_changed(const struct stat *status);
/* Decides by the rule which roots go. */
void pruner_plan(struct pruner *p);
/* Whether a run goes: by the plan, or because that was decided before. */
bool pruner_goes(const struct pruner *p, size_t at);
/* All that the storage has of a run beside its transcript, its directory and its replays;
 * ends with NULL. Free the texts and the array. */
char **pruner_parts(const struct pruner *p, const char *run_id);
void pruner_free(struct pruner *p);

#endif
