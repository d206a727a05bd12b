/*
 * The causal graph of a recorded run: which event caused which, and the order that follows
 * from that alone, awf-transcript(5). It contains neither times nor positions in the file, so
 * two recordings that differ in how concurrent calls were interleaved have the same graph and
 * the same order.
 *
 * The order is a topological one, by Kahn's algorithm. Of the events whose causes have all been
 * output, the next is
 *   - one of the lowest attempt;
 *   - in that attempt, run.started is first and run.completed last;
 *   - otherwise the one with the smallest event_id.
 *
 * The attempt of an event is the one in its run.started or step.started, for other events the
 * latest of its causes: an attempt may continue what an earlier one made, never the reverse, and
 * nothing follows the end of its own attempt. Links to other runs are not edges.
 *
 * It needs 56 bytes for each event and 4 for each cause; lines are read again from the file, to
 * which lines are only ever appended.
 */
#ifndef AWF_RERUN_GRAPH_H
#define AWF_RERUN_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"
#include "transcript/event.h"
#include "transcript/reader.h"

#define GRAPH_NONE UINT32_MAX /* no such event */

struct graph_node {
	struct uuid id;
	int64_t offset;      /* of its line in the file */
	int64_t seq;
	uint32_t length;     /* of its line, without the LF */
	uint32_t cause;      /* index of its first cause, which is the parent if it has one */
	uint32_t causes;     /* number of causes */
	uint32_t call;       /* start of the call that it belongs to; GRAPH_NONE */
	int32_t attempt;
	uint8_t type;        /* enum event_type */
	bool parented;
	bool foreign;        /* made by another program */
	bool unlike;         /* stderr of the call cannot be the same in a replay: the call is
	                        another run, or was cancelled */
};

struct graph {
	struct reader reader;
	struct window window;      /* on the line that was read last */
	struct graph_node *nodes;  /* sorted by id, so an index identifies an id */
	uint32_t count;
	struct uuid *named;    /* ids of all causes; NULL after graph_order() */
	uint32_t *causes;          /* the same causes as indexes of nodes, after graph_order() */
	size_t cause_count;
	uint32_t lines;            /* read so far, including damaged ones */
};

/* Reads the events that the file has now. ERROR_INVALID_INPUT for a damaged line; ERROR_SCHEMA,
 * with the event as place, for one recorded twice; g is closed then. A line that is still being
 * written is ignored. */
int graph_open(struct graph *g, const char *path, struct error *err);
/* The same, but damaged lines are reported with warn() and skipped. */
int graph_open_damaged(struct graph *g, const char *path,
    void (*warn)(const struct error *warning), struct error *err);
/* Resolves causes, determines calls and attempts, and returns the causal order: an array of all
 * nodes, to be freed by the caller. Call it once. NULL with ERROR_SCHEMA and the event as place: a
 * cause is missing or does not precede it, or causes form a cycle. */
uint32_t *graph_order(struct graph *g, struct error *err);
/* All nodes by seq, then by position in the file; to be freed by the caller. */
uint32_t *graph_order_seq(const struct graph *g);
/* The line of a node, followed by its LF, valid until the next call; NULL with *err. */
const char *graph_line(struct graph *g, const struct graph_node *node, struct error *err);
/* The node with an event id, or GRAPH_NONE. */
uint32_t graph_find(const struct graph *g, struct uuid id);
/* Parses the id in a JSON string; false if it is not one. */
bool graph_id_read(struct span value, struct uuid *id);
void graph_close(struct graph *g);

#endif
