/*
 * The copy of a transcript that a server has: a file that grows as lines come.
 *
 * What the code relies on, and keeps:
 *   - It is a beginning of the record, or of what was not skipped of it, byte for byte, in whole
 *     lines, at any time.
 *   - Each answer begins before the last line that is here, which has to come the same again: so
 *     no line comes twice or is missing, however often the connection is lost; and where the
 *     record has other lines than before (after a power cut, or in another storage) this is seen.
 *   - Then all of it is copied anew, to another file, which takes the name of this one when all
 *     is there: who reads the old one is told as far as the two are the same.
 */
#ifndef AWF_FETCH_COPY_H
#define AWF_FETCH_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

struct copy {
	char *path, *new_path;
	int fd;                  /* that is written */
	int old;                 /* that it replaces; -1 */
	int64_t end;             /* of what it has; what is unwritten too */
	struct buffer unwritten;
	int64_t at;              /* where the answer's next line belongs; before end: it is there */
	/* The last line that has a number, and the one before it. */
	struct { int64_t seq, end; } last, before;
	bool whole;              /* its numbers lead nowhere: all is asked for each time */
};

/* Makes the file. */
int copy_open(struct copy *c, const char *path, struct error *err);
/* Nothing is in it yet: it begins behind the event with this number. */
void copy_skip(struct copy *c, int64_t seq);
void copy_close(struct copy *c);

/* Another answer begins: of the lines after this number. */
int64_t copy_begin(struct copy *c);
/* A line of it, without its LF. */
enum copied { COPY_NEW, COPY_KNOWN, COPY_OTHER, COPY_FAILED };
enum copied copy_compare(const struct copy *c, const char *line, size_t len, struct error *err);
/* It is the next: one that is new is added. */
void copy_take(struct copy *c, enum copied copied, const char *line, size_t len);
/* Whether what is here has not all come again: if there is no more, the record is shorter. */
bool copy_is_ahead(const struct copy *c);
/* Writes what was added. */
int copy_write(struct copy *c, struct error *err);

/* The record is another one: begins anew. */
int copy_renew(struct copy *c, struct error *err);
/* All is there that was before: it replaces the old one. *same: so many bytes of them are the
 * same; *seq: the number of the last event in these. 1; 0: all are, and nothing was replaced. */
int copy_replace(struct copy *c, int64_t *same, int64_t *seq, struct error *err);

#endif
