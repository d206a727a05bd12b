/*
 * The framing of a request's content: a length, or chunks (RFC 9112, section 7.1), which are
 * decoded here. A chunk has a size and CR LF and nothing else: extensions and trailers, which
 * nobody sends, are parsed differently by different programs, and are refused.
 */
#ifndef AWF_HTTPD_FRAMING_H
#define AWF_HTTPD_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "json/scan.h"

enum framing_state {
	FRAMING_MORE,           /* all bytes were used, and more must come */
	FRAMING_END,            /* the content is complete; remaining bytes belong to what follows */
	FRAMING_BROKEN          /* the framing is invalid */
};

struct framing {
	bool chunked;
	unsigned char place;     /* which part of a chunk's framing comes next */
	unsigned char digits;    /* of a chunk's size, so far */
	int64_t left;            /* remaining bytes of all, or of this chunk */
};

void framing_begin(struct framing *f, bool chunked, int64_t length);
/* Processes the first part of some bytes: *used of them; *piece is the content in it (.len 0:
 * none). Call it again while bytes are left. */
enum framing_state framing_take(struct framing *f, const char *bytes, size_t len, size_t *used,
    struct span *piece);

/* The same for content that is sent. */

/* Begins a chunk, which contains everything appended until framing_chunk_end(). Returns its
 * offset. */
size_t framing_chunk(struct buffer *out);
/* Ends it; an empty chunk is removed. */
void framing_chunk_end(struct buffer *out, size_t start);

#endif
