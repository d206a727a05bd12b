/*
 * How the content of a request comes: so many bytes, or in chunks (RFC 9112, section 7.1), whose
 * framing is taken off here. Chunks are a size and CR LF and nothing else: extensions and
 * trailers, which nobody sends, are what two programs read differently, and are refused.
 */
#ifndef AWF_HTTPD_FRAMING_H
#define AWF_HTTPD_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "json/scan.h"

enum framing_state {
	FRAMING_MORE,           /* all bytes were taken, and more have to come */
	FRAMING_END,            /* this was the last of it; bytes that are left are of what follows */
	FRAMING_BROKEN          /* it is not framed as it must be */
};

struct framing {
	bool chunked;
	unsigned char place;     /* in the framing of chunks */
	unsigned char digits;    /* of a chunk's size, so far */
	int64_t left;            /* bytes of it all, or of this chunk */
};

void framing_begin(struct framing *f, bool chunked, int64_t length);
/* Takes of some bytes a first part: *used of them, and *piece is what of the content is in it
 * (.len 0: nothing). It is called again while there are bytes left. */
enum framing_state framing_take(struct framing *f, const char *bytes, size_t len, size_t *used,
    struct span *piece);

/* The same of what is sent. */

/* Begins a chunk; what is appended until framing_chunk_end() is in it. Where it begins. */
size_t framing_chunk(struct buffer *out);
/* Ends it; one that holds nothing is taken back. */
void framing_chunk_end(struct buffer *out, size_t start);

#endif
