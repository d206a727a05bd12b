/*
 * Projections: the record of a run in the vocabulary of another system, one JSON
 * object per line, awf-projections(7). A projection is a table of rows, each saying
 * which events become which line, and one function that writes what all its lines
 * have (lib/projection/projection_write.h). To add one: such a file, its schema beside it, and a
 * place in the tables of projection.c and projection_names.c.
 *
 * One that is a file rather than a stream is a document: it takes in the events, with
 * the messages whole, and is written when all were read.
 *
 * What all lines promise:
 *   - Lines depend on the record alone: the same file gives the same lines, live or
 *     later, whatever part of it is shown.
 *   - The lines of a run are counted from its first event on, without a gap; each
 *     names the event that it was made of (source_seq).
 *   - Long texts are cut (lib/model/excerpt.h); nothing is read but the transcript.
 */
#ifndef AWF_PROJECTION_PROJECTION_H
#define AWF_PROJECTION_PROJECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "model/model.h"
#include "projection/projection_names.h"
#include "projection/projection_write.h"

/* NULL with ERROR_USAGE, and the option for place, if there is none of that name. */
const struct projection *projection_find(const char *name, const char *option,
    struct error *err);
/* Whether some of its lines are made on request only. */
bool projection_has_tools(const struct projection *projection);

/* A run on its way through a projection. */
struct projected_run {
	char *path;                        /* of its transcript */
	int64_t position;                  /* in it: what was taken in */
	int64_t next;                      /* number */
	struct model model;
};
struct projector {
	const struct projection *projection;
	bool tools;
	struct projected_run **runs;       /* placed events point at their models */
	size_t count;
	void *state;                       /* of a document, of all runs; NULL: nothing yet */
};
/* Makes the lines of the line that begins at `start` in a transcript: appends them to
 * out. Reads what stands before it and was not taken in yet. A damaged line makes
 * none. -1 with *err if the transcript, or a blob that is needed, cannot be read. */
int projector_line(struct projector *p, const char *path, int64_t start, const char *line,
    size_t len, struct buffer *out, struct error *err);
/* The transcript is another one now: it is read anew. Not for documents. */
void projector_forget(struct projector *p, const char *path);
/* Appends the document of what was taken in; nothing if there is none. */
void projector_document(const struct projector *p, struct buffer *out);
void projector_free(struct projector *p);

#endif
