/*
 * Ingest: records events and transcripts from other programs and machines, whether they arrive
 * through a pipe (awf-record) or as the body of a request. The caller feeds bytes as they arrive,
 * in pieces of any size; this code does not read, does not wait for a sender, and knows no
 * protocols.
 *
 * An input is one of two things, or both mixed:
 *
 *   - lines of transcripts, as awf-tail --json prints them, of any number of runs in any
 *     interleaving: each run's transcript here becomes the same, byte for byte (ingest/mirror.h);
 *   - events of other programs (ingest/foreign_event.h), one JSON object a line, or several as
 *     {"events": [...]}: they are appended to a run as events of ours (ingest/recorder.h), each id
 *     once. To which run the caller says; else each is made, or found, by the run that the sender
 *     names in it (runId or run_id).
 *
 * What the code relies on, and keeps:
 *   - What was refused changes nothing; what was taken before it stands. Whether what follows is
 *     looked at is for the caller.
 *   - What was taken is on disk when ingest_flush() has returned, and is acknowledged then
 *     (AWF_SYNC=none apart). What was there already is acknowledged, too.
 *   - Runs stay open from one input to the next, the last ones of them, as many as there are
 *     descriptors for, so that a long transcript is not read again for each request.
 *   - Memory is bounded by the longest line, the open runs' ids (8 to 24 bytes for each line of a
 *     transcript, 40 to 80 for each event of another program), and what is not flushed.
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
#include "ingest/mirror.h"
#include "ingest/recorder.h"
#include "storage/storage.h"

/* ---- for a program: one of them, for all senders ---- */

struct ingest_run;

struct ingest {
	const struct storage *storage;  /* prepared; the caller's */
	int64_t lease_ms;               /* how long a run lives after what was sent of it last */
	size_t line_limit;              /* bytes of a line, or of a document */
	int lock_ms;                    /* how long a run's locks are waited for: 30 s, if not set */
	void (*repaired)(const char *text); /* a torn line was moved away; may be NULL */

	/* Inside. */
	struct ingest_run **runs;       /* those that are open, the last used first */
	size_t run_count, run_limit;
	struct error lost;              /* what was sent could not be synced: nothing more is acknowledged,
	                                   for what that has left in memory may pass for being on disk */
};

enum ingest_fault {
	INGEST_NONE,
	INGEST_INVALID,    /* no JSON, no event, a line of a transcript that was changed */
	INGEST_TOO_LARGE,  /* above line_limit */
	INGEST_FORBIDDEN,  /* the run is another sender's, or this storage's own */
	INGEST_GAP,        /* lines are missing before it: wanted says from which seq on */
	INGEST_CONFLICT,   /* another line is there, or the run has ended */
	INGEST_TOO_FAST,   /* spec.pace said so: wanted says from which seq on it was not looked at */
	INGEST_FAILED      /* the system refused: ERROR_SYSTEM. Nothing more can be taken */
};

#define INGEST_KIND "record" /* of a run that is made of events */
#define INGEST_LEASE_MS (INT64_C(10) * 60 * 1000)

void ingest_begin(struct ingest *ingest, const struct storage *s);
/* The id here of a run that is made of events, by what its sender calls it: the same, if that is
 * one. */
void ingest_run_id(const char *sender, const char *name, size_t len, char run_id[ID_SIZE]);
/* How such a run may end: success, failed, cancelled, NULL. */
extern const char *const ingest_statuses[];
/* Ends it, as its sender wishes: a run.completed with one of these. A foreign event never does.
 * *err says what the fault is: INGEST_FORBIDDEN: it is not there, another's, or not made of
 * events; INGEST_CONFLICT: it has ended. */
enum ingest_fault ingest_finish(struct ingest *ingest, const char *sender, const char *run_id,
    const char *status, struct error *err);
/* Closes a run, of which something else is to be done. */
void ingest_close(struct ingest *ingest, const char *run_id);
/* Syncs and closes all. */
void ingest_end(struct ingest *ingest);

/* ---- for a sender: one for each body, or pipe ---- */

struct ingest_refusal {
	enum ingest_fault fault;
	int64_t line;          /* of the input, from 1; 0: of none, it could not be synced */
	int64_t event;         /* of those that the line holds, from 1; 0: it is one */
	char run_id[ID_SIZE];  /* "": not known */
	int64_t wanted;        /* seq, of INGEST_GAP, _CONFLICT and _TOO_FAST; 0: none */
	struct error error;    /* says why */
};

/* What is on disk now. */
struct ingest_taken {
	const char *run_id;
	struct span event_id;  /* of an event: as the sender gave it, JSON, else that which it has here;
	                          .at NULL: all lines of the run up to seq are */
	int64_t seq;           /* 0: of an event that was there already */
};

struct ingest_spec {
	const char *sender;    /* origin_name_valid(): whose the runs are that it sends */
	bool document;         /* all of the input is one JSON text, not lines */
	/* Where events are recorded, asked when the first comes; -1 with *err. The recorder is the
	 * caller's. NULL: in runs by their own names for them. */
	int (*recorder)(void *context, struct recorder **recorder, struct error *err);
	/* Told of what is on disk; may be NULL. */
	void (*taken)(void *context, const struct ingest_taken *taken);
	/* Told of what is refused; true: what follows is looked at, but nothing more of a run that was
	 * refused as such, or of which a line was; nor is that an event comes after its run's end told
	 * twice. NULL is false, and so is the answer to INGEST_FAILED and INGEST_TOO_FAST. */
	bool (*refused)(void *context, const struct ingest_refusal *refusal);
	/* Whether the sender may begin a run of this name, as its first line, or event, has it. NULL: any;
	 * else it is INGEST_FORBIDDEN. */
	bool (*named)(void *context, struct span name);
	/* Asked before anything of a run is looked at; -1 with *err: INGEST_FAILED, or INGEST_CONFLICT
	 * if that is ERROR_BLOCKED. NULL: nothing is to be done. */
	int (*prepare)(void *context, const char *run_id, struct error *err);
	/* Asked before lines or an event are taken for a run, with -1; false: they are not looked at, nor
	 * is what follows. Told afterwards how many have come that were not there: 0 or more. NULL: any
	 * number. */
	bool (*pace)(void *context, const char *run_id, int64_t taken);
	void *context;
};

struct ingest_input {
	struct ingest *ingest;
	struct ingest_spec spec;
	int64_t accepted, duplicates;     /* lines and events; 0 if they could not be synced */
	int64_t missing_blobs;            /* named by lines that were accepted, and not there */
	struct ingest_refusal refusal;    /* the first, or INGEST_FAILED; fault INGEST_NONE: there is none */

	/* Inside. */
	bool over;                        /* nothing more is looked at */
	bool skipping;                    /* to the next LF */
	int64_t line;                     /* the last */
	char seed[ID_SIZE];               /* of the ids of events that were sent without; "" */
	struct buffer bytes;              /* that are no whole line yet */
	size_t searched;
	struct mirror_lines lines;        /* that are not given to their mirror yet */
	char lines_run[ID_SIZE];
	int64_t lines_from;               /* the line of the first */
	struct recorder *recorder;        /* the caller's */
	struct ingest_pending *pending;   /* to be acknowledged */
	size_t pending_count, pending_capacity;
	struct map pending_lines;         /* run id → which of them is of its lines */
	struct map refused_runs;          /* run id → what no more is said, or looked at, of it */
	bool no_recorder;                 /* the caller's cannot be had */
	struct buffer event;              /* minified */
};

void ingest_input_begin(struct ingest_input *in, struct ingest *ingest,
    const struct ingest_spec *spec);
/* The next bytes. 0; -1: something was refused, and nothing more is looked at: in->refusal. */
int ingest_feed(struct ingest_input *in, const char *bytes, size_t len);
/* What came is on disk, and told to `taken`. -1: as above (INGEST_FAILED). After a refusal it still
 * does this for what was taken before. */
int ingest_flush(struct ingest_input *in);
/* That was all: the last line may lack its LF. Flushes. */
int ingest_input_end(struct ingest_input *in);
/* A place in the input, to come back to: what was taken behind it is not, for some reason that is
 * the caller's, and has to be taken out of the storage by him. Nothing was refused before it. */
struct ingest_mark {
	struct buffer bytes;              /* that were no whole line */
	int64_t line, accepted, duplicates, missing_blobs;
	bool skipping;
};
void ingest_mark(const struct ingest_input *in, struct ingest_mark *mark);
/* Goes on as if nothing had been fed since. */
void ingest_rewind(struct ingest_input *in, const struct ingest_mark *mark);
void ingest_mark_free(struct ingest_mark *mark);
/* Bytes that wait for the rest of their line, or document. */
size_t ingest_held(const struct ingest_input *in);
/* In any state. */
void ingest_input_free(struct ingest_input *in);

#endif
