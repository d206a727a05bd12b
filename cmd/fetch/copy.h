/*
 * The local copy of a transcript that a server has: a file that grows as lines arrive.
 *
 * What the code relies on, and keeps:
 *   - At any time it is a prefix of the record (without the lines that were skipped), byte for
 *     byte, in whole lines.
 *   - Each answer begins with the last line that is already here, which must be the same: so no
 *     line is duplicated or missing, however often the connection is lost; and a record that has
 *     changed (after a power failure, or in another storage) is noticed.
 *   - Then everything is copied again, to another file, which is renamed over this one when it is
 *     complete; readers of the old file are told up to where the two are equal.
 */
#ifndef AWF_FETCH_COPY_H
#define AWF_FETCH_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

struct copy {
	char *path, *new_path;
	int fd;                  /* being written */
	int old;                 /* the file that it replaces; -1 */
	int64_t end;             /* of its content, including unwritten */
	struct buffer unwritten;
	int64_t at;              /* offset of the answer's next line; less than end: it must be the
	                            same as the line there */
	/* The last line that has a number, and the one before it. */
	struct { int64_t seq, end; } last, before;
	bool whole;              /* numbers cannot be used: the whole record is
	                            requested each time */
};

/* Creates the file. */
int copy_open(struct copy *c, const char *path, struct error *err);
/* The file is empty: it begins after the event with this number. */
void copy_skip(struct copy *c, int64_t seq);
void copy_close(struct copy *c);

/* Begins another answer. Returns the number of the event after which to request lines. */
int64_t copy_begin(struct copy *c);
/* Compares a line of the answer, without its LF, with the copy. */
enum copied { COPY_NEW, COPY_KNOWN, COPY_OTHER, COPY_FAILED };
enum copied copy_compare(const struct copy *c, const char *line, size_t len, struct error *err);
/* Accepts the line: a new one is added. */
void copy_take(struct copy *c, enum copied copied, const char *line, size_t len);
/* Whether the answer has not yet repeated all that is here: if it ends now, the record has
 * become shorter. */
bool copy_is_ahead(const struct copy *c);
/* Writes the added lines. */
int copy_write(struct copy *c, struct error *err);

/* The record is another one: begins a new copy. */
int copy_renew(struct copy *c, struct error *err);
/* The new copy has as much as the old one had, and replaces it. *same: how many bytes of the two
 * are equal; *seq: the number of the last event in these. Returns 1; 0: all are equal, and the old
 * file was kept; -1. */
int copy_replace(struct copy *c, int64_t *same, int64_t *seq, struct error *err);

#endif
