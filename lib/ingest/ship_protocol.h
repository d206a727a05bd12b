/*
 * The words of awf-ship(7): what awf-ship and its filters, awf-ship-NAME, say to each other, a
 * JSON object in each line. A line of a transcript stands among them as it is; it alone begins
 * with its seq.
 */
#ifndef AWF_INGEST_SHIP_PROTOCOL_H
#define AWF_INGEST_SHIP_PROTOCOL_H

#define SHIP_VERSION 1

/* A filter begins with what it is, and what it takes beside lines. */
#define SHIP_HELLO "awf_ship"
#define SHIP_TAKES "takes"
#define SHIP_TAKES_ABOUT "about"
#define SHIP_TAKES_BLOBS "blobs"
#define SHIP_TAKES_ALONE "lone_blobs"
#define SHIP_TAKES_FETCH "fetch_blobs"

/* It is asked what it has of a run. KEY_RUN_ID comes first. */
#define SHIP_ORIGIN "origin"
#define SHIP_TRANSCRIPT "transcript" /* its path */
#define SHIP_SIZE "size"             /* bytes of it that are on disk */

/* What it has: KEY_RUN_ID, KEY_SEQ and the digest of that line; or KEY_ERROR. */
#define SHIP_DIGEST "digest"
#define SHIP_PRUNED "pruned"        /* lines up to that were removed there */

/* A blob that the next line names: this comes first; then KEY_RUN_ID and the path. */
#define SHIP_BLOB "blob"
#define SHIP_PATH "path"
/* true: no line follows; the filter says the blob and KEY_RUN_ID once it is safe. */
#define SHIP_ALONE "alone"
/* true: it is not sent, but asked for, as the file at the path; the filter says the blob and
 * KEY_RUN_ID once that is there, or that there is none. */
#define SHIP_FETCH "fetch"
#define SHIP_MISSING "missing"

/* What does not stand in the next line: KEY_CALL, the event that began the call that it is of, and
 * what it cost. One of the two comes first. */
#define SHIP_COST "cost_usd"

#endif
