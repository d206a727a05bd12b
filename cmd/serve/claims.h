/*
 * Claims: which deliveries of a hook have been taken, so that none of them starts its workflow
 * twice, whoever is killed when.
 *
 *     serve/hooks/NAME/SHA256 (0600)   "RUN_ID\n", then "RUN_ID started\n"
 *
 * A delivery is known by its id, and by its body: each that counts is a file, named by a digest.
 *
 * What the code relies on, and keeps:
 *   - The lock of the directory is held from the look at the claims on until the run is known to
 *     have begun, or not to.
 *   - A claim is on disk, with the id that the run will have, before the run is started. Whoever
 *     comes after a crash starts that run or none: awf-run --id starts none twice.
 *   - A claim whose run has failed to start goes again; any other after 90 days, which is far
 *     longer than anybody delivers the same again.
 */
#ifndef AWF_SERVE_CLAIMS_H
#define AWF_SERVE_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/id.h"
#include "json/scan.h"
#include "storage/storage.h"

struct claims {
	char *directory;
	int lock;                    /* -1: not held */
	char names[2][DIGEST_SIZE];  /* of the files */
	size_t count;
	char run_id[ID_SIZE];
	bool started;                /* it was, by an earlier delivery */
};

/* Claims a delivery of a hook, waiting for the lock: by its id (NULL: it has none), and by its
 * body (.at NULL: it does not count). Neither: the run has a new id, and nothing is kept. */
int claims_take(struct claims *c, const struct storage *s, const char *hook,
    const char *delivery, struct span body, struct error *err);
/* Its run has begun. */
int claims_keep(struct claims *c, struct error *err);
/* It has not, and does not: the same delivery may come again. */
void claims_drop(struct claims *c);
/* Lets go of the lock; called whatever claims_take() has returned. */
void claims_close(struct claims *c);

#endif
