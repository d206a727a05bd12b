/*
 * Uploads: what clients send that must be on disk before they get an answer. There are two threads
 * for it, one for transcripts, one for blobs, so that the loop waits neither for a disk nor for a
 * lock, and a large blob does not delay events.
 *
 * What the code relies on, and keeps:
 *   - Bytes are processed as they arrive. Of one upload, at most UPLOAD_AHEAD bytes and those of
 *     one read wait in memory; then nothing more is read from the client until they have been
 *     processed. In addition, an incomplete line or document is kept in memory.
 *   - struct ingest, which has the open runs, is used only by its thread, and the loop's data only
 *     by the loop. What both need is protected by the lock.
 *   - Uploads that end while others are being synced are synced together.
 *   - What was received before a refusal, or before the client disconnected, is kept.
 *   - With a database (serve_runs/outbox.h), an upload is answered when the database has stored it.
 *     The lines of several uploads are sent together. If another server has stored lines of the
 *     same run first, they are processed again, after the lines of the other server.
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
#define UPLOAD_RUNS 64           /* run ids that an answer lists */
#define UPLOAD_BLOB_MOST (INT64_C(1) << 30)
#define UPLOAD_BLOB_DATABASE (INT64_C(128) << 20) /* limit for a blob that is fetched from a
                                                     database (awf-ship(7)) */

struct upload;

/* A thread, and its queue. */
struct upload_thread {
	struct uploads *all;
	pthread_t id;
	bool running, stop;
	pthread_cond_t more;
	struct upload *first, *last; /* the uploads in its queue */
};

struct uploads {
	struct loop *loop;
	const struct storage *storage;
	struct loop_source told;     /* eventfd that wakes the loop; -1: the threads were not
	                                started */
	pthread_mutex_t lock;
	struct upload_thread transcripts, blobs;
	struct upload *first_told;   /* uploads that the loop must look at */
	size_t count;                /* number of uploads; used only by the loop */
	int64_t rate, blob_quota;
	/* Used only by the thread for transcripts. */
	struct ingest ingest;
	struct pace pace;
	size_t held;                 /* bytes of incomplete lines */
	/* Connections to the database, one for each thread; url NULL: there is no database. */
	struct outbox outbox, blob_outbox;
};

/* The origin of the runs that a client sends, to be freed: the label of its token, or the token's digest; for
 * a session, those of the token with which it was begun. Without a token, or with the login link that
 * awf-serve printed, it is the local user, who runs awf-record. */
char *upload_sender(const struct token *token);

enum upload_kind {
	UPLOAD_LINES,                /* lines of transcripts, or single events */
	UPLOAD_DOCUMENT,             /* {"events": […]} */
	UPLOAD_END,                  /* the end of a run that is made of events: without a body */
	UPLOAD_BLOB,
	UPLOAD_FETCH                 /* fetches a blob from the database for what is served:
	                                without a body */
};

/* The result of an upload. */
struct upload_result {
	int64_t accepted, duplicates, missing_blobs;
	char runs[UPLOAD_RUNS][ID_SIZE]; /* the runs of which it had lines */
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
	char run_id[ID_SIZE];        /* for UPLOAD_BLOB, _FETCH and _END */
	char sha256[DIGEST_SIZE];
	const char *status;          /* for UPLOAD_END: one of ingest_statuses */
	int64_t size;                /* for UPLOAD_BLOB; -1: not known */

	/* Used only by the loop: */
	void *context;               /* NULL: nobody waits for the answer any more */
	void (*done)(void *context);
	void (*taken)(void *context);
	bool is_done, full;
	/* Protected by the lock: */
	struct {
		struct buffer come;          /* received, but not processed yet */
		bool whole;                  /* the last byte was received */
		bool gone;                   /* the client has disconnected */
		bool queued, at_work;        /* it is in a thread's queue; a thread is working on
		                                it */
		bool over;                   /* a thread has finished with it */
		bool is_told;
	} shared;                     /* protected by the lock */
	struct upload *next, *next_told;
	/* Used only by the thread, until over is set: */
	struct {
		struct buffer piece;         /* the bytes that are being processed */
		bool last;                   /* no bytes follow these */
		bool ended;                  /* the end of the input was processed */
		bool again;                  /* it must be processed again */
		struct ingest_mark mark;     /* state of the input before the piece */
		char (*touched)[ID_SIZE];    /* runs that got lines from this piece */
		size_t touched_count;
		bool begun, refused;
		struct ingest_input input;
		size_t held;
		struct blob_upload blob;
	} work;                       /* the thread's, until it is over */
	struct upload_result result; /* the thread's, then the loop's */
};

/* rate: most events a second, see serve_runs/pace.h; quota: bytes of blobs that wait for their
 * runs. The threads begin with the first upload. */
void uploads_open(struct uploads *all, struct loop *loop, const struct storage *storage,
    int64_t rate, int64_t quota);
/* With this, what is received is sent to a database and acknowledged when it is there; served: the
 * copy of the database. Must be called before the first upload. */
int uploads_to_database(struct uploads *all, const struct database *d, const struct storage *served,
    struct error *err);
/* Stops the threads without waiting for further uploads; bytes that have arrived are stored. */
void uploads_close(struct uploads *all);

/* Begins an upload; the caller may then set run_id, sha256, status and size. NULL with *err,
 * ERROR_BLOCKED if there are too many. taken: called after upload_bytes() has returned false, when
 * the bytes were processed; done: called when u->result is set. The loop calls both. */
struct upload *upload_begin(struct uploads *all, enum upload_kind kind, struct token *token,
    const char *address, struct error *err);
/* Adds the next bytes. False: wait for taken() before adding more. */
bool upload_bytes(struct upload *u, const char *bytes, size_t len);
/* All bytes were added. */
void upload_end(struct upload *u);
/* The caller does not need the upload any more, whether it is done or not. */
void upload_free(struct upload *u);

#endif
