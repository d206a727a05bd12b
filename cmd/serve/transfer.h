/*
 * How the content of a request comes: so many bytes, or in chunks (RFC 9112, section 7.1), whose
 * framing is taken off here. Chunks are a size and CR LF and nothing else: extensions and
 * trailers, which nobody sends, are what two programs read differently, and are refused.
 */
#ifndef AWF_SERVE_TRANSFER_H
#define AWF_SERVE_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/scan.h"

enum transfer_state {
	TRANSFER_MORE,           /* all bytes were taken, and more have to come */
	TRANSFER_END,            /* this was the last of it; bytes that are left are of what follows */
	TRANSFER_BROKEN          /* it is not framed as it must be */
};

struct transfer {
	bool chunked;
	unsigned char place;     /* in the framing of chunks */
	unsigned char digits;    /* of a chunk's size, so far */
	int64_t left;            /* bytes of it all, or of this chunk */
};

void transfer_begin(struct transfer *t, bool chunked, int64_t length);
/* Takes of some bytes a first part: *used of them, and *piece is what of the content is in it
 * (.len 0: nothing). It is called again while there are bytes left. */
enum transfer_state transfer_take(struct transfer *t, const char *bytes, size_t len, size_t *used,
    struct span *piece);

#endif
