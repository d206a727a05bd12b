/*
 * The reader: reads lines of a transcript, which may be growing, being repaired, or damaged. It
 * takes no lock and does not map the file.
 *
 * What the code relies on:
 *   - The position is 0 or just after a LF. Bytes after the last LF are never kept, but read again
 *     (asserted). If the file has become shorter than the position, the reader goes back to the
 *     last LF (tests/unit/test_reader: test_shorter_file).
 *   - What lies before a LF does not change. What a killed writer left after the last LF may be
 *     cut off and written over at any moment, also during a read. So the reader looks for the last
 *     LF first, and reads only lines before it (test_cut_while_reading).
 */
#ifndef AWF_TRANSCRIPT_READER_H
#define AWF_TRANSCRIPT_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "transcript/window.h"

struct reader {
	int fd;
	char *path;
	int64_t position;      /* offset of the next line */
	int64_t line_start;    /* of the last line that was returned */
	int64_t settled;       /* offset after the last LF that was seen */
	struct window chunk;   /* bytes before that offset */
};

int reader_open(struct reader *r, const char *path, struct error *err);
/* Reads the next line. 1: *line and *len (without LF) are set, valid until the next call; 0: there
 * is no complete line at present; -1: *err (ERROR_SYSTEM, or ERROR_INVALID_INPUT for a line above
 * 256 MiB). */
int reader_next(struct reader *r, const char **line, size_t *len, struct error *err);
/* How many bytes follow the last LF now; 0: none. */
int64_t reader_unfinished(struct reader *r);
/* Moves to the position after the line with this seq, or after the last one with a lower seq, by
 * bisection: O(log size) reads. Lines without a seq are skipped. */
int reader_seek_after(struct reader *r, int64_t seq, struct error *err);
/* Moves to the position after the last line whose time is before `since` (clock_text()), by
 * bisection. This assumes that times never decrease; if they do, some lines after the position may
 * be earlier, and some before it later. Lines without a time at its usual place are skipped. */
int reader_seek_since(struct reader *r, const char since[CLOCK_TEXT_SIZE], struct error *err);
/* Moves to the beginning of the last count lines, or of all if there are fewer, reading from the
 * end. */
int reader_seek_last(struct reader *r, int64_t count, struct error *err);
/* Reads the line before the position, and moves the position to its beginning. Otherwise like
 * reader_next(), but lines that were added since are not seen. */
int reader_previous(struct reader *r, const char **line, size_t *len, struct error *err);
/* Frees memory that long lines have needed: for callers that keep many readers open. */
void reader_trim(struct reader *r);
/* Moves to an offset, which must be 0 or just after an LF. */
void reader_seek(struct reader *r, int64_t position);
void reader_close(struct reader *r);

/* Where a line is in its file, and its length without the LF. length 0: there is none. */
struct event_place {
	int64_t offset;
	uint32_t length;
};
/* Appends the line at a place of the file at path. ERROR_SYSTEM if it cannot be read. */
int event_load(const char *path, struct event_place place, struct buffer *line,
    struct error *err);

/* Whether the transcript at path exists and has a line. A run whose transcript was left empty by a
 * crash has never begun. */
bool transcript_begun(const char *path);

#endif
