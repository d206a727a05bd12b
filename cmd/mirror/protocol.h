/*
 * The words of awf-ship(7) by which awf-mirror and its filters, awf-mirror-NAME, bring back what
 * awf-ship took to a database: a JSON object in each line. A line of a transcript stands among them
 * as it is; it alone begins with its seq.
 */
#ifndef AWF_MIRROR_PROTOCOL_H
#define AWF_MIRROR_PROTOCOL_H

#define FETCH_VERSION 1

/* A filter begins with what it is. */
#define FETCH_HELLO "awf_fetch"

/* A run, as it is there now: KEY_RUN_ID comes first, then KEY_SEQ and the digest of its last line;
 * or KEY_ERROR. */
#define FETCH_DIGEST "digest"
#define FETCH_ORIGIN "origin"
#define FETCH_PRUNED "pruned"       /* lines up to that were removed */
#define FETCH_IDLE "idle_ms"        /* since its last line came there */
#define FETCH_GONE "gone"           /* true: nothing is known of it any more */

/* All runs were told, so many. */
#define FETCH_LISTED "listed"

/* It is asked for what follows this line of KEY_RUN_ID. */
#define FETCH_AFTER "after"
/* The answer is over: KEY_RUN_ID, and up to which line. */
#define FETCH_SENT "sent"

/* A blob that a line behind it names: this comes first; then KEY_RUN_ID and its bytes as base64. */
#define FETCH_BLOB "blob"
#define FETCH_DATA "data"
/* Larger ones are not sent: a line that holds one stays below 256 MiB. */
#define FETCH_BLOB_MOST (INT64_C(128) << 20)

#endif
