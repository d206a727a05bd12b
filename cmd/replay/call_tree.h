/*
 * The tree of calls of a recorded run as shown to users: its attempts, in each the calls, each
 * inside the group or workflow call that it is part of, with the turns and tool calls of agents.
 * It contains what was recorded so far; a damaged line is reported and skipped, and what did not
 * end is shown so.
 *
 * Child runs are beside their parent's transcript. Each attempt of a child is added once, below the
 * call that was running when it began, so records that name each other in a cycle do no harm.
 *
 * Lines are not kept in memory, only their positions, for displays that show their contents.
 */
#ifndef AWF_REPLAY_CALL_TREE_H
#define AWF_REPLAY_CALL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/id.h"
#include "base/map.h"
#include "model/cost.h"
#include "storage/storage.h"
#include "view/view.h"

#define CALL_TREE_NONE UINT32_MAX
#define CALL_TREE_DEPTH 128 /* entries deeper than this are put next to the one that contains
                               them */

/* From the outermost level to the innermost. */
enum call_tree_kind {
	CALL_TREE_RUN, CALL_TREE_ATTEMPT, CALL_TREE_CALL, CALL_TREE_TURN, CALL_TREE_TOOL
};

/* Texts belong to the tree, and may be NULL. They are as recorded: escape control characters when
 * showing them. */
struct call_tree_entry {
	enum call_tree_kind what : 8;
	enum view_saying status : 8;  /* see model/told_state.h */
	unsigned depth : 15;
	bool behind : 1;              /* it could not begin because an earlier call waits */
	uint32_t retries;
	uint32_t first, last, next;   /* child entries, and the next sibling; CALL_TREE_NONE */
	uint32_t above;
	int64_t began, ended;         /* µs since 1970; ended 0: it did not end */
	int64_t took;                 /* duration in ms if it ended; -1: use the times */
	int64_t known;                /* if it did not end: the last known time of its attempt */
	int64_t attempt;              /* number of an attempt, or of a turn */
	int64_t input_tokens, output_tokens; /* -1: unknown */
	const char *label;            /* for a call "lint[1]" (view_label()); else the name of a
	                                 tool, of a run's workflow, or of the agent that took over
	                                 in a turn */
	const char *kind, *call, *model; /* for a call */
	const char *child;            /* id of the child run */
	const char *differs;          /* for a call: how it differs from siblings with the same
	                                 name, such as "in eu, STAGE=prod" */
	const char *does;             /* the command or arguments, an excerpt */
	const char *why;              /* why it failed, waits or was skipped, or the decision about
	                                 it; an excerpt */
};

/* Where the lines of an entry are in its transcript: start and end; for a turn, the model's input
 * and its answer. And its cost. */
struct call_tree_lines {
	int64_t begin, end;
	uint32_t begin_length, end_length; /* 0: none */
	int64_t cost;                 /* nano-dollars, including everything inside */
};

/* The directory and variables that a call depended on, as recorded; NULL: not recorded. */
struct call_tree_marks {
	const char *directory, *variables;
};

struct call_tree {
	char run_id[ID_SIZE];
	struct call_tree_entry *entries; /* the first one is the run */
	struct call_tree_lines *lines; /* for each entry; NULL: not requested */
	struct call_tree_marks *marks; /* for each entry, only while reading; NULL */
	uint32_t count;
	bool alive;
	struct map taken;              /* number of attempts that were added, by run id */
	/* Memory for texts; a text that several entries have is stored once. */
	struct arena memory;
	struct map shared;
	const char **list;
	size_t list_count;
};

struct call_tree_spec {
	enum call_tree_kind least;    /* CALL_TREE_CALL: without turns and tool calls */
	struct cost *cost;            /* prices; if set, lines and costs are kept; NULL: they are
	                                 not */
	/* Called for damaged lines and missing child runs. */
	void (*warn)(const struct error *warning);
};

/* Reads everything that was recorded. -1 with *err: the transcript cannot be read, or has no
 * complete line. */
int call_tree_read(struct call_tree *tree, const struct run_ref *run,
    const struct call_tree_spec *spec, struct error *err);
/* The first entry to be shown below one: if a run has only one attempt, that is skipped. */
uint32_t call_tree_first(const struct call_tree *tree, uint32_t entry);
/* Duration in ms: until its end; if it did not end, until now, or until the last known time. */
int64_t call_tree_duration(const struct call_tree *tree, const struct call_tree_entry *entry);
void call_tree_free(struct call_tree *tree);

#endif
