/*
 * Projections: the events of a run in the vocabulary of another system, one JSON object per line,
 * awf-projections(7). A projection is a table of rows, each saying which events become which line,
 * and one function that writes the members that all its lines have
 * (lib/projection/projection_write.h). To add one: write such a file, put its schema beside it, and
 * add it to the tables of projection.c and projection_names.c.
 *
 * A projection that is a file rather than a stream is a document: it collects the events, with
 * whole messages, and is written when all were read.
 *
 * What all lines promise:
 *   - Lines depend only on the transcript: the same file gives the same lines, live or later,
 *     whatever part of it is shown.
 *   - The lines of a run are numbered from its first event on, without a gap; each names the event
 *     from which it was made (source_seq).
 *   - Long texts are cut (lib/model/excerpt.h); nothing is read but the transcript.
 *   - Events that were reported in the same vocabulary come out as they came, with their own numbers
 *     and whole texts (projection_foreign.h).
 */
#ifndef AWF_PROJECTION_PROJECTION_H
#define AWF_PROJECTION_PROJECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "model/model.h"
#include "projection/projection_foreign.h"
#include "projection/projection_names.h"
#include "projection/projection_write.h"

/* NULL with ERROR_USAGE, and the option as the place, if there is no projection with that name. */
const struct projection *projection_find(const char *name, const char *option,
    struct error *err);
/* Whether some of its lines are made only on request. */
bool projection_has_tools(const struct projection *projection);

/* The state of a run's projection. */
struct projected_run {
	char *path;                        /* of its transcript */
	int64_t position;                  /* in that file: everything before it has been read */
	int64_t next;                      /* number of the next line */
	struct model model;
	struct projection_past past;
	struct projection_sender sender;
};
struct projector {
	const struct projection *projection;
	bool tools;
	struct projected_run **runs;       /* they must not move: events point at their models */
	size_t count;
	void *state;                       /* of a document, for all runs; NULL: nothing yet */
};
/* Appends the projected lines for the line that begins at offset `start` of a transcript. Reads the
 * lines before it that have not been read yet. A damaged line gives none. -1 with *err if the
 * transcript, or a blob that is needed, cannot be read. */
int projector_line(struct projector *p, const char *path, int64_t start, const char *line,
    size_t len, struct buffer *out, struct error *err);
/* The transcript was replaced by another one: read it again from its first line. Not for
 * documents. */
void projector_forget(struct projector *p, const char *path);
/* Appends the document of the events so far; nothing if the projection is not a document. */
void projector_document(const struct projector *p, struct buffer *out);
void projector_free(struct projector *p);

#endif
