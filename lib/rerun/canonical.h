/*
 * The canonical form of a transcript: what remains without the effects of time and chance. Its
 * lines are in causal order (lib/rerun/graph.h), and each lacks:
 *   - seq, timestamp and prev;
 *   - payload.duration_ms, also in each element of payload.retries;
 *   - the seal of run.completed, which signs prev;
 *   - payload.stderr of a call that contains another run, whose stderr is part of it: a replay
 *     takes that run's result from the recording, which does not have its stderr;
 *     payload.stderr of a cancelled call, of calls in it and of calls around it, since a replay
 *     does not make it again;
 *   - payload.stderr of a call whose request was refused because it is not in the recording
 *     (divergence): the program reports that in its own words;
 *   - payload.changed, changed_more and commit: what a call changed depends on earlier files, of
 *     which a replay may have no snapshot, and on chance, such as byte code and dates in archives.
 *
 * Events of other programs (awf-record) are removed: they are not what the run itself did. But of a
 * run that consists of such events, of the kind "record", they are all that remains: type, path,
 * iteration and payload of each, without what AWF has added. So in whatever order they came, and
 * into whichever run, they have the same canonical bytes, if their sender gave them UUIDs as ids.
 *
 * Everything else stays, byte for byte and in its order; also refs, which contain the digests of
 * blobs. Two recordings of the same work that differ only in how concurrent calls were interleaved,
 * and in durations, have the same canonical bytes.
 */
#ifndef AWF_RERUN_CANONICAL_H
#define AWF_RERUN_CANONICAL_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/map.h"
#include "json/scan.h"
#include "rerun/graph.h"

/* Appends the canonical form of a line whose call contains no other run. Neither has an LF. */
void canonical_line(const char *line, size_t len, struct buffer *out);

/* An iteration over the events of a transcript in causal order. */
struct canonical {
	struct graph graph;
	struct map around;             /* calls around a call whose stderr cannot be the same in a
	                                  replay */
	uint32_t *order;
	uint32_t next;
	bool sent;                     /* the run consists of events of other programs */
	const struct graph_node *node; /* the current event */
	struct buffer bytes;           /* its canonical form, without LF */
};

/* Errors as for graph_open() and graph_order(); c is closed then. */
int canonical_open(struct canonical *c, const char *path, struct error *err);
/* Opens two transcripts for comparison. If stderr of a call is removed in one, because a call in it
 * was cancelled, it is removed in the other, too, since a replay may not make the cancelled call.
 * Opens both or neither. */
int canonical_open_both(struct canonical *a, struct canonical *b, const char *first,
    const char *second, struct error *err);
/* Goes to the next event. 1: node and bytes are set, and valid until the next call; 0: there is
 * none; -1: *err. */
int canonical_next(struct canonical *c, struct error *err);
/* Whether an event is the end of a call around another run, whose stderr is removed: 1, 0, or -1
 * with *err. */
int canonical_is_around(struct canonical *c, const struct graph_node *node, struct error *err);
/* Appends the canonical form of an event, without LF; around: as the end of a call around another
 * run. */
int canonical_read_as(struct canonical *c, const struct graph_node *node, bool around, struct buffer *out,
    struct error *err);
int canonical_read(struct canonical *c, const struct graph_node *node, struct buffer *out,
    struct error *err);
/* Appends the name of the call that an event belongs to ("research:0:0"); nothing for events of the
 * run itself. */
int canonical_call(struct canonical *c, const struct graph_node *node, struct buffer *out,
    struct error *err);
void canonical_close(struct canonical *c);

/* The first difference of two transcripts, in the causal order of the first. */
enum difference_kind {
	DIFFERENCE_VALUE,      /* an event that both have differs */
	DIFFERENCE_FIRST_ONLY, /* only the first has the event */
	DIFFERENCE_SECOND_ONLY
};

struct difference {
	enum difference_kind kind;
	char event_id[ID_SIZE];
	enum event_type type;
	struct buffer call;          /* "" for an event of the run itself */
	struct buffer pointer;       /* DIFFERENCE_VALUE: the first value that differs */
	struct buffer first, second; /* both values as printable, shortened JSON; "" if absent */
	struct buffer lines;         /* for texts of several lines: the differing ones, printable */
	struct buffer failure;       /* why the call failed only in the second; "" if it did not */
	struct buffer errors;        /* stderr of that failed call */
};

/* 0: no difference; 1: *d is the first one; -1: *err. Call difference_free() in all cases. */
int canonical_compare(const char *first, const char *second, struct difference *d,
    struct error *err);
/* Describes the event at which two transcripts differ. */
int difference_event(struct difference *d, enum difference_kind kind, struct canonical *c,
    const struct graph_node *node, struct error *err);
/* Finds the first difference inside two JSON values that differ, and stores it in *d. */
void difference_values(struct difference *d, struct span first, struct span second);
/* Appends an excerpt of a text that differs from another at byte `from`: it begins a little before
 * that byte, is shortened, and is printable. Appends nothing if the value is absent. */
void difference_excerpt(struct span value, size_t from, struct buffer *out);
/* Appends lines for users, each with LF; the names are those of the two transcripts
 * ("recording", "replay"). */
void difference_text(const struct difference *d, const char *first, const char *second,
    struct buffer *out);
void difference_free(struct difference *d);

#endif
