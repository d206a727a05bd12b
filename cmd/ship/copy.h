/*
 * The rows of COPY FROM STDIN (FORMAT binary), as PostgreSQL reads them: a header, rows of fields,
 * each with its length, and an end. The server takes texts as they are, where the form as text has
 * it look at each byte of a row twice.
 */
#ifndef AWF_SHIP_COPY_H
#define AWF_SHIP_COPY_H

#include <stdint.h>

#include "base/buffer.h"
#include "json/scan.h"

void copy_begin(struct buffer *out);
void copy_row(struct buffer *out, int fields);
void copy_end(struct buffer *out);

/* One field each, named after the type of its column. */
void copy_null(struct buffer *out);
void copy_text(struct buffer *out, const char *text, size_t len);
void copy_jsonb(struct buffer *out, struct span json);
void copy_uuid(struct buffer *out, const char *id); /* "": null */
void copy_bigint(struct buffer *out, int64_t number);
void copy_date(struct buffer *out, int64_t wall);   /* the day of this time, clock_wall() */
void copy_timestamptz(struct buffer *out, int64_t wall);
/* number is a JSON number. -1, and nothing is appended: one that the type cannot represent. */
int copy_numeric(struct buffer *out, const char *number);

#endif
