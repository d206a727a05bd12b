/* How a line is sent in a stream: as a server-sent event (the HTML standard, section 9.2). */
#ifndef AWF_SERVE_RUNS_FRAME_H
#define AWF_SERVE_RUNS_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define FRAME_LINE_MOST ((size_t)1 << 20) /* of a longer line, only its first members and its size
                                             are sent */
#define FRAME_ID_SIZE 32                  /* "SEQ-DIGEST8" and a NUL */
#define FRAME_DIGITS 8                    /* digits of a digest in an id */

/* Makes the id of a line: its seq and the first digits of its digest. False if it has no seq. */
bool frame_id(const char *line, size_t len, char id[FRAME_ID_SIZE]);
/* Appends the line as an event; of a line that is too long, only its first members and its size;
 * nothing if it has no seq. */
void frame_line(struct buffer *out, const char *line, size_t len);
/* Appends an event. name, id: NULL if it has none. CR and LF in the data cannot end the data
 * field. */
void frame_event(struct buffer *out, const char *name, const char *id, const char *data,
    size_t len);
/* Splits "SEQ-DIGEST8" or "SEQ": false if it is neither. digest "" if there is none. */
bool frame_id_read(const char *id, int64_t *seq, char digest[FRAME_DIGITS + 1]);

#endif
