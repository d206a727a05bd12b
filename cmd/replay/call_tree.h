/*
 * The tree of calls of a recorded run, as people look at it: its attempts, in each the calls,
 * each within the group or call of a workflow that it is part of, with the turns and
 * tool calls of agents. It is made of what was recorded so far; a damaged line is told
 * and passed over, and what never ended is shown as that.
 *
 * Child runs lie beside their parent's transcript. Each attempt of one is taken in
 * once, below the call that was going on when it began, so records that name each
 * other in a circle end.
 *
 * It keeps one entry for each of these, and no line; where their lines stand, for who shows what
 * is in them.
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
#define CALL_TREE_DEPTH 128 /* what would be deeper stands beside what it is in */

/* From the greatest to the least. */
enum call_tree_kind {
	CALL_TREE_RUN, CALL_TREE_ATTEMPT, CALL_TREE_CALL, CALL_TREE_TURN, CALL_TREE_TOOL
};

/* Texts are the tree's, and may be NULL. They are as recorded: to be made harmless where they are
 * shown. */
struct call_tree_entry {
	enum call_tree_kind what : 8;
	enum view_saying status : 8;  /* model/told_state.h */
	unsigned depth : 15;
	bool behind : 1;              /* it waits for a call before it, as such ones do */
	uint32_t retries;
	uint32_t first, last, next;   /* entries below it and beside it, or CALL_TREE_NONE */
	uint32_t above;
	int64_t began, ended;         /* µs since 1970; ended 0: it did not */
	int64_t took;                 /* it did, after so many ms; -1: by the clock alone */
	int64_t known;                /* it did not: the last that is known of its attempt */
	int64_t attempt;              /* of an attempt, a turn's number of a turn */
	int64_t input_tokens, output_tokens; /* -1: not known */
	const char *label;            /* of a call "lint[1]" (view_label()), of a tool its name, of a run its
	                                 workflow's, of a turn the agent who took it over */
	const char *kind, *call, *model; /* of a call */
	const char *child;            /* run id */
	const char *differs;          /* of a call: in what it differs from others of its name beside it:
	                                 "in eu, STAGE=prod" */
	const char *does;             /* the command, the arguments: an excerpt */
	const char *why;              /* it failed, waits, was skipped, was decided about: an excerpt */
};

/* Where the two lines of an entry stand in its transcript: its begin and its end; of a turn, what
 * the model was given, and its answer. And what it cost. */
struct call_tree_lines {
	int64_t begin, end;
	uint32_t begin_length, end_length; /* 0: there is none */
	int64_t cost;                 /* nano-dollars, with all that is in it */
};

/* What a call depended on besides its input and definition, as recorded; NULL: nothing. */
struct call_tree_marks {
	const char *directory, *variables;
};

struct call_tree {
	char run_id[ID_SIZE];
	struct call_tree_entry *entries; /* the first is the run */
	struct call_tree_lines *lines; /* of each entry; NULL: not asked for */
	struct call_tree_marks *marks; /* of each entry, while it is read; NULL */
	uint32_t count;
	bool alive;
	struct map taken;              /* attempts of each run that were taken in */
	/* The texts: those that many entries have, once; and their places in the list. */
	struct arena memory;
	struct map shared;
	const char **list;
	size_t list_count;
};

struct call_tree_spec {
	enum call_tree_kind least;    /* CALL_TREE_CALL leaves turns and tool calls out */
	struct cost *cost;            /* lines are kept, with costs by these prices; NULL: not */
	/* Is told of damaged lines and missing child runs. */
	void (*warn)(const struct error *warning);
};

/* Takes in what there is. -1 with *err if the transcript cannot be read, or has no whole line. */
int call_tree_read(struct call_tree *tree, const struct run_ref *run,
    const struct call_tree_spec *spec, struct error *err);
/* The first entry to show below this one: an attempt that is the only one of its run
 * goes without saying. */
uint32_t call_tree_first(const struct call_tree *tree, uint32_t entry);
/* How long it took, has taken until now, or is known to have taken at least, in ms. */
int64_t call_tree_duration(const struct call_tree *tree, const struct call_tree_entry *entry);
void call_tree_free(struct call_tree *tree);

#endif
