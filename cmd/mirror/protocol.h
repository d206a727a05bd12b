/*
 * The messages (awf-ship(7)) by which awf-mirror reads from its filters, awf-mirror-NAME, what
 * awf-ship wrote to a database: one JSON object per line. Lines of a transcript are sent unchanged
 * among them; only these begin with seq.
 */
#ifndef AWF_MIRROR_PROTOCOL_H
#define AWF_MIRROR_PROTOCOL_H

#define FETCH_VERSION 1

/* The first message of a filter. */
#define FETCH_HELLO "awf_fetch"

/* Reports the current state of a run: KEY_RUN_ID comes first, then KEY_SEQ and the digest of its
 * last line; or KEY_ERROR. */
#define FETCH_DIGEST "digest"
#define FETCH_ORIGIN "origin"
#define FETCH_PRUNED "pruned"       /* lines up to this one were removed */
#define FETCH_IDLE "idle_ms"        /* since its last line arrived in the database */
#define FETCH_GONE "gone"           /* true: the database does not have it any more */

/* All runs were reported; the value is how many. */
#define FETCH_LISTED "listed"

/* Request: the lines of KEY_RUN_ID after this one. */
#define FETCH_AFTER "after"
/* End of an answer: KEY_RUN_ID, and the number of the last line. */
#define FETCH_SENT "sent"

/* A blob that the next line names; this member is first, then KEY_RUN_ID and its
 * bytes in base64. */
#define FETCH_BLOB "blob"
#define FETCH_DATA "data"
/* Larger ones are not sent: a message with one stays below 256 MiB. */
#define FETCH_BLOB_MOST (INT64_C(128) << 20)

#endif
