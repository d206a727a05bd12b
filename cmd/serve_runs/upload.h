/*
 * Uploads: what clients send that must be on disk before they get an answer. There are two threads
 * for it, one for transcripts, one for blobs, so that the loop waits neither for a disk nor for a
 * lock, and a large blob does not delay events.
 *
 * What the code relies on, and keeps:
 *   - Bytes are processed as they arrive. Of one upload, at most UPLOAD_AHEAD bytes and those of
 *     one read wait in memory; the client is then not read until they were processed. An incomplete
 *     line or document is kept, too.
 *   - struct ingest, which has the open runs, is used only by its thread, and the loop's data only
 *     by the loop. What both need is protected by the lock.
 *   - Uploads that end while others are being synced are synced together.
 *   - What was received before a refusal, or before the client disconnected, is kept.
 *   - With a database (serve_runs/outbox.h), an upload is answered when the database has it. What
 *     several uploads have brought is sent together. If another server was first, it is processed
 *     again, after the lines of the other server.
 */
#ifndef AWF_SERVE_RUNS_UPLOAD_H
#define AWF_SERVE_RUNS_UPLOAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/id.h"
#include "httpd/loop.h"
#include "ingest/blobs.h"
#include "ingest/ingest.h"
#include "serve_runs/access.h"
#include "serve_runs/database.h"
#include "serve_runs/outbox.h"
#include "serve_runs/pace.h"
#include "serve_runs/tokens.h"
#include "storage/storage.h"

#define UPLOAD_AHEAD ((size_t)256 << 10)
#define UPLOAD_RUNS 64           /* whose ids are told */
#define UPLOAD_BLOB_MOST (INT64_C(1) << 30)
#define UPLOAD_BLOB_DATABASE (INT64_C(128) << 20) /* of one that is fetched from a database
                                                     (awf-ship(7)) */

struct upload;

/* A thread, and its queue. */
struct upload_thread {
	struct uploads *all;
	pthread_t id;
	bool running, stop;
	pthread_cond_t more;
	struct upload *first, *last; /* uploads that it has to work on */
};

struct uploads {
	struct loop *loop;
	const struct storage *storage;
	struct loop_source told;     /* eventfd; -1: it has not begun */
	pthread_mutex_t lock;
	struct upload_thread transcripts, blobs;
	struct upload *first_told;   /* of which the loop is to hear */
	size_t count;                /* of all, the loop's */
	int64_t rate, blob_quota;
	/* The first thread's. */
	struct ingest ingest;
	struct pace pace;
	size_t held;                 /* bytes of lines that are not whole */
	/* The database; url NULL: there is none. The second is used by the second thread. */
	struct outbox outbox, blob_outbox;
};

enum upload_kind {
	UPLOAD_LINES,                /* of transcripts, or events */
	UPLOAD_DOCUMENT,             /* {"events": […]} */
	UPLOAD_END,                  /* the end of a run that is made of events: without a body */
	UPLOAD_BLOB,
	UPLOAD_FETCH                 /* fetches a blob from the database for what is served:
	                                without a body */
};

/* The child's answer. */
struct upload_result {
	int64_t accepted, duplicates, missing_blobs;
	char runs[UPLOAD_RUNS][ID_SIZE]; /* the runs for which it had something */
	size_t run_count;
	struct ingest_refusal refusal; /* fault INGEST_NONE: not refused */
	int64_t wait_ms;             /* of INGEST_TOO_FAST */
};

struct upload {
	struct uploads *all;
	struct upload_thread *thread;
	enum upload_kind kind;
	struct token *token;         /* held */
	char *sender;
	char address[PEER_ADDRESS];
	char run_id[ID_SIZE];        /* of UPLOAD_BLOB, _FETCH and _END */
	char sha256[DIGEST_SIZE];
	const char *status;          /* of UPLOAD_END: one of ingest_statuses */
	int64_t size;                /* of UPLOAD_BLOB; -1: not known */

	/* The loop's: */
	void *context;               /* NULL: the answer is not wanted any more */
	void (*done)(void *context);
	void (*taken)(void *context);
	bool is_done, full;
	/* Under the lock: */
	struct {
		struct buffer come;          /* and not taken yet */
		bool whole;                  /* that is all */
		bool gone;                   /* and its client, too */
		bool queued, at_work;        /* a thread's list has it; a thread has it */
		bool over;                   /* nothing more is done about it */
		bool is_told;
	} shared;                     /* under the lock */
	struct upload *next, *next_told;
	/* The thread's, until it is over: */
	struct {
		struct buffer piece;         /* that is taken just now */
		bool last;                   /* and that is all */
		bool ended;                  /* the input was */
		bool again;                  /* it must be processed again */
		struct ingest_mark mark;     /* before it */
		char (*touched)[ID_SIZE];    /* runs that got something from the piece */
		size_t touched_count;
		bool begun, refused;
		struct ingest_input input;
		size_t held;
		struct blob_upload blob;
	} work;                       /* the thread's, until it is over */
	struct upload_result result; /* then the loop's */
};

/* rate: of events, see serve_runs/pace.h; quota: bytes of blobs that wait for their runs. The
 * threads begin with the first upload. */
void uploads_open(struct uploads *all, struct loop *loop, const struct storage *storage,
    int64_t rate, int64_t quota);
/* From then on, what is received is sent to a database, and acknowledged when it is there; served:
 * the copy of the database. Must be called before the first upload. */
int uploads_to_database(struct uploads *all, const struct database *d, const struct storage *served,
    struct error *err);
/* No upload is waited for any more; what has arrived is on disk. */
void uploads_close(struct uploads *all);

/* Begins an upload; the caller may then set run_id, sha256, status and size. NULL with *err,
 * ERROR_BLOCKED if there are too many. taken: called after upload_bytes() has returned false, when
 * the bytes were processed; done: called when u->result is set. The loop calls both. */
struct upload *upload_begin(struct uploads *all, enum upload_kind kind, struct token *token,
    const char *address, struct error *err);
/* The next bytes. False: it is full, until taken() is called. */
bool upload_bytes(struct upload *u, const char *bytes, size_t len);
/* That was all. */
void upload_end(struct upload *u);
/* The caller does not need it any more, whether it is done or not. */
void upload_free(struct upload *u);

#endif
