/*
 * The recorder: appends foreign events (ingest/foreign_event.h) to a transcript, each once.
 *
 * What the code relies on, and keeps:
 *   - Which events the run has is read from its transcript: all of it when the first event comes,
 *     and, under its lock before each line is appended, what other processes have appended. So an
 *     event is recorded once, even if several senders send it, or are killed and start again.
 *   - The transcript assigns seq. Nothing is appended after the end of an attempt.
 *   - The parent is the event that the sender names if the run has it; otherwise the event waits
 *     for it (ingest/awaited.h), and if it does not come, the parent is the event that encloses
 *     what is recorded.
 *   - What was recorded is on disk after recorder_sync(), and not before. That applies to existing
 *     events, too: another process may not have synced them yet.
 */
#ifndef AWF_INGEST_RECORDER_H
#define AWF_INGEST_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"
#include "json/scan.h"
#include "model/event_index.h"
#include "transcript/reader.h"
#include "transcript/transcript.h"

struct recorder {
	struct transcript *transcript;  /* the caller's */
	char parent[ID_SIZE];           /* the parent of events without one; "": the last run.started */
	char *path;                     /* that theirs lie below; "" */
	const unsigned char *key;       /* of a masked run; otherwise NULL */
	struct event_index events;
	struct reader reader;
	bool reading;
	bool unsynced;
};

enum recorder_result { RECORDER_REFUSED = -1, RECORDER_KNOWN, RECORDER_TAKEN, RECORDER_AWAITS };

/* parent and path as in $AWF_PARENT and $AWF_PATH; NULL: at the top level of the run. */
void recorder_begin(struct recorder *r, struct transcript *t, const char *parent, const char *path,
    const unsigned char *key);
/* Records an event, an object that is valid and has no white space; sets id and seq (seq 0 if it
 * was there already). id contains the id to use if the sender gave none. RECORDER_REFUSED with
 * ERROR_INVALID_INPUT: it is not an event; ERROR_BLOCKED: the run has ended; otherwise
 * ERROR_SYSTEM: nothing more can be recorded. cause: if the event names a cause that the run does not
 * have, it is set to the id of that, and the result is RECORDER_AWAITS: nothing was recorded. NULL:
 * the event is recorded nevertheless. */
enum recorder_result recorder_take(struct recorder *r, struct span object, char id[ID_SIZE],
    int64_t *seq, char cause[ID_SIZE], struct error *err);
/* Reads what was added to the transcript, so that r->parent is up to date. */
int recorder_look(struct recorder *r, struct error *err);
/* Makes everything that was recorded, or was there, safe on disk (unless AWF_SYNC is none). */
int recorder_sync(struct recorder *r, struct error *err);
/* Frees memory that long events needed. */
void recorder_trim(struct recorder *r);
void recorder_end(struct recorder *r);

#endif
