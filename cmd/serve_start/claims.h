/*
 * Claims: which deliveries of a hook have been received, so that none of them starts its workflow
 * twice, even if a process is killed at any moment.
 *
 *    serve/hooks/NAME/SHA256 (0600)   "RUN_ID\n", then "RUN_ID started\n"
 *
 * A delivery is identified by its id and by its body. Each of these has a file, named by a digest.
 *
 * What the code relies on, and keeps:
 *   - The lock of the directory is held from reading the claims until it is known whether the run
 *     has begun.
 *   - A claim, with the id for the run, is on disk before the run is started. If a crash follows,
 *     the next delivery starts a run with that id, or none: awf-run --id never starts a run twice.
 *   - The claim of a run that failed to start is removed; any other is removed after 90 days, which
 *     is far longer than any sender repeats a delivery.
 */
#ifndef AWF_SERVE_START_CLAIMS_H
#define AWF_SERVE_START_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/id.h"
#include "json/scan.h"
#include "storage/storage.h"

struct claims {
	char *directory;
	int lock;                    /* descriptor of the locked directory; -1: not locked */
	char names[2][DIGEST_SIZE];  /* names of the claims' files */
	size_t count;
	char run_id[ID_SIZE];
	bool started;                /* an earlier delivery has already started the run */
};

/* Waits for the lock, then looks whether the delivery of a hook has been claimed: under its id
 * (delivery; NULL: it has none) or under the digest of its body (body.at NULL: the body is not
 * used). If it has, c->run_id is that of the earlier claim; otherwise c->run_id is a new id, and the
 * claim is stored. With neither id nor body every delivery gets a new run id, and nothing is
 * stored. */
int claims_take(struct claims *c, const struct storage *s, const char *hook,
    const char *delivery, struct span body, struct error *err);
/* Records that the run has begun. */
int claims_keep(struct claims *c, struct error *err);
/* The run has not begun and will not: removes the claims, so that the delivery may be sent
 * again. */
void claims_drop(struct claims *c);
/* Releases the lock; to be called whatever claims_take() has returned. */
void claims_close(struct claims *c);

#endif
