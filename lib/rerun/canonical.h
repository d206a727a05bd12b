/*
 * The canonical form of a transcript: what is left of it without time and chance. Its
 * lines stand in causal order (lib/rerun/graph.h), each without
 *   - seq, timestamp and prev;
 *   - payload.duration_ms, and that of each element of payload.retries;
 *   - the seal of run.completed, which signs what prev says;
 *   - payload.stderr of a call in which another run was made, whose own stderr is in it: a
 *     replay takes what that run gave from the recording, which has no stderr of it; nor of
 *     one that was cancelled, which is not made again, and not what was made in it, or of a
 *     call around it;
 *   - payload.stderr of a call that was refused what the recording has not (divergence), which
 *     tells that in the program's own words, with what chance puts there;
 *   - payload.changed, changed_more and commit: what a call changed depends on what was
 *     there, of which a replay may have no snapshot, and has chance in it, as byte code
 *     and the dates in archives.
 * Events that other programs handed over (awf-record) are no part of it: they are what these
 * say, and not what the run did.
 * All else stays as it is, byte for byte and in its order; so do refs, which name the
 * digests of blobs. Two recordings of the same work that differ in nothing but how
 * concurrent calls were interleaved, and how long things took, have the same canonical
 * bytes.
 */
#ifndef AWF_RERUN_CANONICAL_H
#define AWF_RERUN_CANONICAL_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/map.h"
#include "json/scan.h"
#include "rerun/graph.h"

/* Appends the canonical form of a line, which is without its LF, as the form is, where no
 * run was made in its call. */
void canonical_line(const char *line, size_t len, struct buffer *out);

/* A transcript on its way through its events in causal order. */
struct canonical {
	struct graph graph;
	struct map around;             /* calls with others in them that have no stderr */
	uint32_t *order;
	uint32_t next;
	const struct graph_node *node; /* of the event at hand */
	struct buffer bytes;           /* its canonical form, without LF */
};

/* Errors as those of graph_open() and graph_order(); c is closed then. */
int canonical_open(struct canonical *c, const char *path, struct error *err);
/* Opens two that are compared: what has no stderr in one, as something in it was cancelled, has
 * none in the other, for a replay may not make that at all. Both or neither. */
int canonical_open_both(struct canonical *a, struct canonical *b, const char *first,
    const char *second, struct error *err);
/* 1: node and bytes are set, until the next call; 0: there are no more; -1: *err. */
int canonical_next(struct canonical *c, struct error *err);
/* Whether an event ends a call with another run in it, whose stderr is left out: 1, 0, or -1 with *err. */
int canonical_is_around(struct canonical *c, const struct graph_node *node, struct error *err);
/* Appends the canonical form of an event, without LF; around: with what is left out of such an end. */
int canonical_read_as(struct canonical *c, const struct graph_node *node, bool around, struct buffer *out,
    struct error *err);
int canonical_read(struct canonical *c, const struct graph_node *node, struct buffer *out,
    struct error *err);
/* Appends the name of the call that an event is part of ("research:0:0"); nothing for
 * one of the run itself. */
int canonical_call(struct canonical *c, const struct graph_node *node, struct buffer *out,
    struct error *err);
void canonical_close(struct canonical *c);

/* The first difference of two transcripts, in the causal order of the first. */
enum difference_kind {
	DIFFERENCE_VALUE,      /* of an event that both have */
	DIFFERENCE_FIRST_ONLY, /* only the first has the event */
	DIFFERENCE_SECOND_ONLY
};

struct difference {
	enum difference_kind kind;
	char event_id[ID_SIZE];
	enum event_type type;
	struct buffer call;          /* "" for an event of the run itself */
	struct buffer pointer;       /* DIFFERENCE_VALUE: the first value that differs */
	struct buffer first, second; /* both, as JSON made short and harmless; "" if absent */
	struct buffer lines;         /* of texts of several lines, those that differ, for people */
	struct buffer failure;       /* why its call failed in the second alone; "" if it did not */
	struct buffer errors;        /* what it wrote on stderr then */
};

/* 0: none; 1: *d is it; -1: *err. d is for difference_free() in all cases. */
int canonical_compare(const char *first, const char *second, struct difference *d,
    struct error *err);
/* Says in *d which event it is about. */
int difference_event(struct difference *d, enum difference_kind kind, struct canonical *c,
    const struct graph_node *node, struct error *err);
/* Makes *d, whose other members are set, the first difference of two JSON values that
 * do differ. */
void difference_values(struct difference *d, struct span first, struct span second);
/* Appends what is shown of a text that differs from another: from a little before the byte
 * at which it does, short and harmless. Nothing of one that is not there. */
void difference_excerpt(struct span value, size_t from, struct buffer *out);
/* Appends lines for people, each with its LF; the names are those of the
 * two transcripts ("recording", "replay"). */
void difference_text(const struct difference *d, const char *first, const char *second,
    struct buffer *out);
void difference_free(struct difference *d);

#endif
