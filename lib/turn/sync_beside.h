/*
 * Syncs the transcript in a thread, during work that does not depend on it.
 *
 *    sync_begin() → … → sync_end()
 *
 * Between these calls nothing may be written to the transcript. After them, the previous lines are
 * on disk, before anything is reported or done because of them.
 */
#ifndef AWF_TURN_SYNC_BESIDE_H
#define AWF_TURN_SYNC_BESIDE_H

#include <pthread.h>
#include <stdbool.h>

#include "base/error.h"
#include "transcript/transcript.h"

struct sync_beside {
	struct transcript *transcript;
	pthread_t thread;
	bool runs;           /* there is a thread */
	int reason;          /* errno; 0: it is on disk */
};

void sync_begin(struct sync_beside *s, struct transcript *t);
/* As transcript_sync(). Once for each sync_begin(). */
int sync_end(struct sync_beside *s, struct error *err);

#endif
