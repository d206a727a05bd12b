/*
 * Ingest: records events and transcripts from other programs and machines, whether they arrive
 * through a pipe (awf-record) or as the body of a request. The caller feeds bytes as they
 * arrive, in pieces of any size; this code does not read, does not wait for a sender, and
 * knows no protocols.
 *
 * An input contains one of these, or both:
 *
 *   - lines of transcripts, as printed by awf-tail --json, of any number of runs, interleaved in
 *     any way: each run's transcript here becomes the same, byte for byte (ingest/mirror.h);
 *   - events of other programs (ingest/foreign_event.h), one JSON object per line, or several as
 *     {"events": [...]}: each is appended once, as an event of AWF, to a run (ingest/recorder.h).
 *     The caller says which run; otherwise it is the run that the sender names in the event (runId
 *     or run_id), which is created if needed.
 *
 * What the code relies on, and keeps:
 *   - What was refused changes nothing; what was recorded before it remains. The caller decides
 *     whether the rest of the input is processed.
 *   - What was recorded is on disk when ingest_flush() has returned, and is then acknowledged (not
 *     synced with AWF_SYNC=none). What existed already is acknowledged, too.
 *   - The runs that were used last stay open from one input to the next, as many as there are
 *     descriptors for, so that a long transcript is not read again for each request.
 *   - An event that names a cause which has not come waits for it (ingest/awaited.h), in memory and
 *     not acknowledged. If what waits is more than 64 MiB, all of it is recorded without its causes.
 *   - Memory is bounded by the longest line, the open runs' ids (8 to 24 bytes for each line of a
 *     transcript, 40 to 80 for each event of another program), what waits, and what is not flushed.
 */
#ifndef AWF_INGEST_INGEST_H
#define AWF_INGEST_INGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/id.h"
#include "base/map.h"
#include "ingest/awaited.h"
#include "ingest/mirror.h"
#include "ingest/recorder.h"
#include "storage/storage.h"

/* ---- for a program: one of them, for all senders ---- */

struct ingest_run;

struct ingest {
	const struct storage *storage;  /* prepared; the caller's */
	int64_t lease_ms;               /* how long a run counts as alive after its last line */
	size_t line_limit;              /* bytes of a line, or of a document */
	int lock_ms;                    /* how long to wait for a run's locks; default 30 s */
	void (*repaired)(const char *text); /* called when a torn line was moved away; may be NULL */

	/* Inside. */
	struct ingest_run **runs;       /* open runs, the last used first */
	size_t run_count, run_limit;
	struct error lost;              /* data could not be synced: nothing more is
	                                   acknowledged, since what is in memory may wrongly
	                                   count as on disk */
};

enum ingest_fault {
	INGEST_NONE,
	INGEST_INVALID,    /* not JSON, not an event, or a transcript line that was changed */
	INGEST_TOO_LARGE,  /* above line_limit */
	INGEST_FORBIDDEN,  /* the run belongs to another sender, or to this storage */
	INGEST_GAP,        /* lines before it are missing; wanted: the seq of the first of them */
	INGEST_CONFLICT,   /* a different line is there, or the run has ended */
	INGEST_TOO_FAST,   /* spec.pace refused it: wanted is the seq from which on nothing was
	                      processed */
	INGEST_FAILED      /* the system failed: ERROR_SYSTEM. Nothing more can be received */
};

#define INGEST_KIND "record" /* of a run that consists of events */
#define INGEST_LEASE_MS (INT64_C(10) * 60 * 1000)

void ingest_begin(struct ingest *ingest, const struct storage *s);
/* The id in this storage of a run that consists of events, from its sender's name for it; an id
 * stays the same. */
void ingest_run_id(const char *sender, const char *name, size_t len, char run_id[ID_SIZE]);
/* How such a run may end: success, failed, cancelled, NULL. */
extern const char *const ingest_statuses[];
/* Ends it at its sender's request, with a run.completed of this status. A foreign event never
 * does. The fault, with *err: INGEST_FORBIDDEN: it does not exist, is another's, or does not
 * consist of events; INGEST_CONFLICT: it has ended. */
enum ingest_fault ingest_finish(struct ingest *ingest, const char *sender, const char *run_id,
    const char *status, struct error *err);
/* Closes a run, so that other code can use it. */
void ingest_close(struct ingest *ingest, const char *run_id);
/* Syncs and closes all. */
void ingest_end(struct ingest *ingest);

/* ---- for a sender: one for each body, or pipe ---- */

struct ingest_refusal {
	enum ingest_fault fault;
	int64_t line;          /* line of the input, from 1; 0: of no line, it could not be synced */
	int64_t event;         /* number of the event in the line, from 1; 0: the line is the event */
	char run_id[ID_SIZE];  /* "": not known */
	int64_t wanted;        /* seq, for INGEST_GAP, _CONFLICT and _TOO_FAST; 0: none */
	struct error error;    /* says why */
};

/* Something that is now on disk. */
struct ingest_taken {
	const char *run_id;
	struct span event_id;  /* for an event: the sender's id, JSON, else the id that it has
	                          here; .at NULL: all lines of the run up to seq */
	int64_t seq;           /* 0: for an event that was there already */
};

struct ingest_spec {
	const char *sender;    /* origin_name_valid(): the owner of the runs that it sends */
	bool document;         /* the whole input is one JSON text, not lines */
	/* Sets the recorder of all events; called with the vocabulary of the first one (NULL: it is not
	 * known). The caller owns the recorder. -1 with *err. If this is NULL, events are recorded in
	 * the runs that they name. */
	int (*recorder)(void *context, const char *vocabulary, struct recorder **recorder,
	    struct error *err);
	/* Called for each thing that is on disk; may be NULL. */
	void (*taken)(void *context, const struct ingest_taken *taken);
	/* Called for what is refused. If it returns true, the rest of the input is processed,
	 * except for a run that was refused or of which a line was refused; an event after its
	 * run's end is reported only once. NULL means false; for INGEST_FAILED and
	 * INGEST_TOO_FAST the result is ignored and processing ends. */
	bool (*refused)(void *context, const struct ingest_refusal *refusal);
	/* Whether the sender may begin a run with this name, as in its first line or event.
	 * NULL: any; otherwise INGEST_FORBIDDEN. */
	bool (*named)(void *context, struct span name);
	/* Called before a run is accessed; -1 with *err: INGEST_FAILED, or INGEST_CONFLICT if
	 * that is ERROR_BLOCKED. NULL: nothing to do. */
	int (*prepare)(void *context, const char *run_id, struct error *err);
	/* Called before lines or an event of a run are recorded, with -1; if it returns false,
	 * these and all that follow are not processed. Called again afterwards with the number
	 * of new ones: 0 or more. NULL: no limit. */
	bool (*pace)(void *context, const char *run_id, int64_t taken);
	void *context;
};

struct ingest_input {
	struct ingest *ingest;
	struct ingest_spec spec;
	int64_t accepted, duplicates;     /* lines and events; 0 if they could not be synced */
	int64_t missing_blobs;            /* named by accepted lines, and not there */
	struct ingest_refusal refusal;    /* the first one, or INGEST_FAILED; fault INGEST_NONE:
	                                     there is none */

	/* Inside. */
	bool over;                        /* nothing more is looked at */
	bool skipping;                    /* to the next LF */
	int64_t line;                     /* the last */
	char seed[ID_SIZE];               /* for the ids of events without one; "" */
	struct buffer bytes;              /* that are no whole line yet */
	size_t searched;
	struct mirror_lines lines;        /* not passed to their mirror yet */
	char lines_run[ID_SIZE];
	int64_t lines_from;               /* the line of the first */
	struct recorder *recorder;        /* the caller's */
	struct ingest_pending *pending;   /* to be acknowledged */
	size_t pending_count, pending_capacity;
	struct map pending_lines;         /* run id → which of them is of its lines */
	struct map refused_runs;          /* run id → what is not reported or processed any more */
	bool no_recorder;                 /* the caller's cannot be had */
	struct buffer event;              /* minified */
	struct awaited awaited;           /* events whose cause has not come */
	bool unpaced;                     /* what has waited is recorded, however much comes: what came
	                                     after it may have been accepted */
};

void ingest_input_begin(struct ingest_input *in, struct ingest *ingest,
    const struct ingest_spec *spec);
/* Feeds the next bytes. 0; -1: something was refused, and nothing more is processed:
 * in->refusal. */
int ingest_feed(struct ingest_input *in, const char *bytes, size_t len);
/* Syncs what was recorded, and reports it to `taken`. -1: as above (INGEST_FAILED). After a
 * refusal, it does so for what was recorded before. */
int ingest_flush(struct ingest_input *in);
/* Records the events that have waited for their cause since this time (clock_monotonic()), without it.
 * 0; -1: as above. */
int ingest_settle(struct ingest_input *in, int64_t before);
/* The input has ended: the last line may lack its LF. Settles everything, and flushes. */
int ingest_input_end(struct ingest_input *in);
/* A position in the input to return to, if the caller finds that what was recorded after it must
 * not stay; the caller removes it from the storage. Nothing was refused before it. */
struct ingest_mark {
	struct buffer bytes;              /* that were no whole line */
	int64_t line, accepted, duplicates, missing_blobs;
	bool skipping;
	struct awaited awaited;
};
void ingest_mark(const struct ingest_input *in, struct ingest_mark *mark);
/* Continues as if nothing had been fed since. */
void ingest_rewind(struct ingest_input *in, const struct ingest_mark *mark);
void ingest_mark_free(struct ingest_mark *mark);
/* Bytes of an incomplete line, or document. */
size_t ingest_held(const struct ingest_input *in);
/* In any state. */
void ingest_input_free(struct ingest_input *in);

#endif
