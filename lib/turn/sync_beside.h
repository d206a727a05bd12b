/*
 * A sync of the transcript beside what depends on nothing of it: a thread waits for the disk.
 *
 *     sync_begin() → … → sync_end()
 *
 * Between them the transcript is left alone. What is told afterwards, or done because of it, is
 * so when the lines before are on disk.
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
