/*
 * The recorder: appends foreign events (ingest/foreign_event.h) to a transcript, each once.
 *
 * What the code relies on, and keeps:
 *   - Which events the run has is read from its transcript: all of it when the first event
 *     comes, and what others have appended since under its lock, before a line is. So of any
 *     number of senders of one event, be they killed and begin again, one records it.
 *   - seq is the transcript's. Nothing is appended behind the end of an attempt.
 *   - The parent is the event that the sender names if the run has it, else the one that
 *     encloses what is recorded.
 *   - What was taken is on disk after recorder_sync(), and not before. That is so of what was
 *     there already, too: another process may not have come to it.
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
	char parent[ID_SIZE];           /* of events without one; "": the last run.started */
	char *path;                     /* that theirs lie below; "" */
	const unsigned char *key;       /* of a masked run; else NULL */
	struct event_index events;
	struct reader reader;
	bool reading;
	bool unsynced;
};

enum recorder_result { RECORDER_REFUSED = -1, RECORDER_KNOWN, RECORDER_TAKEN };

/* parent and path as $AWF_PARENT and $AWF_PATH say; NULL: at the top of the run. */
void recorder_begin(struct recorder *r, struct transcript *t, const char *parent, const char *path,
    const unsigned char *key);
/* Takes an event, an object that is valid and holds no white space; id and seq are what it has here
 * (seq 0 if it is known). In id is what it is to have, if the sender gave it none. RECORDER_REFUSED with ERROR_INVALID_INPUT: it is none; ERROR_BLOCKED:
 * the run has ended; else ERROR_SYSTEM: nothing more can be recorded. */
enum recorder_result recorder_take(struct recorder *r, struct span object, char id[ID_SIZE],
    int64_t *seq, struct error *err);
/* Reads what has been recorded, so that r->parent is known. */
int recorder_look(struct recorder *r, struct error *err);
/* All that was taken, or known, is on disk (unless AWF_SYNC is none). */
int recorder_sync(struct recorder *r, struct error *err);
/* Lets go of memory that long events have needed. */
void recorder_trim(struct recorder *r);
void recorder_end(struct recorder *r);

#endif
