/*
 * Projections: the record of a run in the vocabulary of another system, one JSON
 * object per line, awf-projections(7). A projection is a table of rows, each saying
 * which events become which line, and one function that writes what all its lines
 * have. To add one: such a file, its schema in lib/json, and a place in the table of
 * projection.c.
 *
 * One that is a file rather than a stream is a document: it takes in the events, with
 * the messages whole, and is written when all were read.
 *
 * What all lines promise:
 *   - Lines depend on the record alone: the same file gives the same lines, live or
 *     later, whatever part of it is shown.
 *   - The lines of a run are counted from its first event on, without a gap; each
 *     names the event that it was made of (source_seq).
 *   - Long texts are cut (cmd/inspect/excerpt.h); nothing is read but the transcript.
 */
#ifndef AWF_INSPECT_PROJECTION_H
#define AWF_INSPECT_PROJECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/writer.h"
#include "run/model.h"

struct projection_line {
	const struct placed *at;           /* the event that it is made of */
	const struct projection_row *row;
	int64_t number;
	size_t index;                      /* among those that the row makes of the event */
};

struct projection_row {
	enum event_type event;
	bool tools;                        /* made on request only */
	const char *type;                  /* of the line */
	size_t (*count)(const struct placed *at); /* lines to make; NULL: one */
	void (*body)(struct writer *w, const struct projection_line *line);
};

struct projection_document {
	size_t size;                       /* of the state, zeroed at the start */
	/* payload: the event's; of a message with its blobs put back. */
	void (*take)(void *state, const struct placed *at, struct span payload, int64_t *number);
	void (*write)(const void *state, struct buffer *out);
	void (*free)(void *state);
};

struct projection {
	const char *name, *schema;
	int64_t first;                     /* number of the first line */
	const struct projection_row *rows; /* the last has no type */
	/* Writes all members but source_seq. */
	void (*line)(struct writer *w, const struct projection_line *line);
	const struct projection_document *document; /* NULL: it has lines */
};

/* NULL with ERROR_USAGE, and the option for place, if there is none of that name. */
const struct projection *projection_find(const char *name, const char *option,
    struct error *err);
/* All names, then NULL. */
const char *const *projection_names(void);
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
	struct projected_run *runs;
	size_t count;
	void *state;                       /* of a document, of all runs; NULL: nothing yet */
};
/* Makes the lines of the line that begins at `start` in a transcript: appends them to
 * out. Reads what stands before it and was not taken in yet. A damaged line makes
 * none. -1 with *err if the transcript, or a blob that is needed, cannot be read. */
int projector_line(struct projector *p, const char *path, int64_t start, const char *line,
    size_t len, struct buffer *out, struct error *err);
/* Appends the document of what was taken in; nothing if there is none. */
void projector_document(const struct projector *p, struct buffer *out);
void projector_free(struct projector *p);

/* Appends the lines that a projection makes of an event, from *number on; none of those
 * that are made on request. */
void projection_lines(const struct projection *projection, const struct placed *at,
    int64_t *number, struct buffer *out);

/* What the tables share. */
size_t placed_failed(const struct placed *at);   /* what failed here, and not before */
size_t placed_by_agent(const struct placed *at); /* part of an agent's call */
size_t placed_whole(const struct placed *at);    /* no piece of a message */
size_t placed_blocked(const struct placed *at);  /* refused by a rule */
/* Agent of the call, else its name, else that of the workflow. */
const char *placed_actor(const struct placed *at);
const char *call_actor(const struct model_call *call);
/* The status of a run.completed, "" if it has none. */
const char *placed_status(const struct placed *at);
/* How it ended: well; waiting for a person; in any other way. */
size_t run_succeeded(const struct placed *at);
size_t run_waits(const struct placed *at);
size_t run_failed(const struct placed *at);
/* "success", "failed", "skipped" or "waiting", of what ended. */
const char *placed_outcome(const struct placed *at);
/* Writes payload.MEMBER under another key; nothing if there is none. */
void placed_copy(struct writer *w, const char *key, const struct placed *at,
    const char *member);
/* Member error: {code, message}, the message an excerpt; nothing if there is none. */
void placed_error(struct writer *w, const struct placed *at);
int64_t placed_duration(const struct placed *at); /* ms */
/* The first digits hex digits of the SHA-256 of "label:id", and a NUL. */
void derive_hex(const char *label, const char *id, size_t digits, char *out);

extern const struct projection projection_interagent, projection_agent_event,
    projection_daemon_event, projection_runtime, projection_otlp, projection_agentloom;

#endif
