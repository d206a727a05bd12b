/*
 * The causal graph of a recorded run: which event caused which, and the order that
 * follows from that alone, awf-transcript(5). Neither time nor the place of a line in
 * the file is part of it, so two recordings that differ in how concurrent calls were
 * interleaved have the same graph and the same order.
 *
 * The order is a topological one, by Kahn's algorithm. Of the events whose causes are
 * all out, the next is
 *   - one of the lowest attempt;
 *   - in it run.started first and run.completed last;
 *   - else the one with the smallest event_id.
 * The attempt of an event is the one that its run.started or step.started says, of
 * any other the latest of its causes: an attempt may go on with what an earlier one made,
 * never the reverse, and nothing follows from the end of its own attempt. Links into
 * other runs are no edges.
 *
 * It keeps 56 bytes for each event and 4 for each cause, and no line: those are read
 * again from the file, which only ever grows behind them.
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
	uint32_t cause;      /* index of its first one; the parent, if it has one */
	uint32_t causes;     /* how many */
	uint32_t call;       /* the start of the call that it is part of; GRAPH_NONE */
	int32_t attempt;
	uint8_t type;        /* enum event_type */
	bool parented;
	bool foreign;        /* another program made it */
	bool unlike;         /* a replay gives no stderr of the call as it was: it starts one that
	                        is a run of its own, or ends one that was cancelled */
};

struct graph {
	struct reader reader;
	struct window window;      /* the line that was read again last */
	struct graph_node *nodes;  /* ascending by id, so an index stands for its id */
	uint32_t count;
	struct uuid *named;    /* causes; NULL after graph_order() */
	uint32_t *causes;          /* the same as nodes, from then on */
	size_t cause_count;
	uint32_t lines;            /* read so far, damaged ones too */
};

/* Takes in the events that are in the file now. ERROR_INVALID_INPUT for a damaged
 * line; ERROR_SCHEMA, and the event for place, for one recorded twice. g is closed
 * then. A line that is still being written is not taken in. */
int graph_open(struct graph *g, const char *path, struct error *err);
/* The same, but damaged lines are told and passed over. */
int graph_open_damaged(struct graph *g, const char *path,
    void (*warn)(const struct error *warning), struct error *err);
/* Finds the causes, and calls and attempts with them, and makes the causal order: an
 * array of all nodes, the caller's. To be called once. NULL with ERROR_SCHEMA, and the
 * event for place: a cause that is not there, or not before it, or a circle of causes. */
uint32_t *graph_order(struct graph *g, struct error *err);
/* All nodes by their seq, the caller's; where that is the same, by their place. */
uint32_t *graph_order_seq(const struct graph *g);
/* The line of a node, its LF behind it, valid until the next call; NULL with *err. */
const char *graph_line(struct graph *g, const struct graph_node *node, struct error *err);
/* The node of an event id, or GRAPH_NONE. */
uint32_t graph_find(const struct graph *g, struct uuid id);
/* The id that a JSON string holds; false if it is none. */
bool graph_id_read(struct span value, struct uuid *id);
void graph_close(struct graph *g);

#endif
