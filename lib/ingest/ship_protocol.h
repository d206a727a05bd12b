/*
 * The keys of the protocol of awf-ship(7): awf-ship and its filters, awf-ship-NAME, send each other
 * JSON objects, one per line. Lines of a transcript are sent unchanged; they are recognized by the
 * seq with which they begin.
 */
#ifndef AWF_INGEST_SHIP_PROTOCOL_H
#define AWF_INGEST_SHIP_PROTOCOL_H

#define SHIP_VERSION 1

/* The first message of a filter: what it is, and what it accepts besides lines. */
#define SHIP_HELLO "awf_ship"
#define SHIP_TAKES "takes"
#define SHIP_TAKES_ABOUT "about"
#define SHIP_TAKES_BLOBS "blobs"
#define SHIP_TAKES_ALONE "lone_blobs"
#define SHIP_TAKES_FETCH "fetch_blobs"

/* Asks the filter what it has of a run. KEY_RUN_ID comes first. */
#define SHIP_ORIGIN "origin"
#define SHIP_TRANSCRIPT "transcript" /* its path */
#define SHIP_SIZE "size"             /* bytes of it that are on disk */

/* The answer: KEY_RUN_ID, KEY_SEQ and the digest of that line; or KEY_ERROR. */
#define SHIP_DIGEST "digest"
#define SHIP_PRUNED "pruned"        /* lines up to that were removed there */

/* A blob that the next line names: this key first, then KEY_RUN_ID and the path. */
#define SHIP_BLOB "blob"
#define SHIP_PATH "path"
/* true: no line follows; the filter sends the blob's digest and KEY_RUN_ID once it is safe. */
#define SHIP_ALONE "alone"
/* true: the blob is requested, to be written to the path; the filter sends its digest and
 * KEY_RUN_ID once it is there, or that it does not exist. */
#define SHIP_FETCH "fetch"
#define SHIP_MISSING "missing"

/* What the next line does not contain: KEY_CALL, the event that began its call, and its cost.
 * One of the two comes first. */
#define SHIP_COST "cost_usd"

#endif
