/*
 * What gzip has compressed. gzip(1) decompresses it, and checks its length and its sum; it is ended when more comes than is
 * wanted, however little was compressed.
 */
#ifndef AWF_INGEST_GUNZIP_H
#define AWF_INGEST_GUNZIP_H

#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

enum gunzipped {
	GUNZIP_FAILED = -1,      /* *err: ERROR_SYSTEM */
	GUNZIP_DONE,
	GUNZIP_DAMAGED,
	GUNZIP_TOO_LARGE         /* more than limit bytes */
};

/* Appends what one gzip file after the other contains. The process must have ignored SIGPIPE and called
 * descendants_adopt(). */
enum gunzipped gunzip(const char *bytes, size_t len, size_t limit, struct buffer *out, struct error *err);

#endif
