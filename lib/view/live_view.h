/*
 * The live view: lines on a terminal that show what runs are doing at the moment and are redrawn
 * all the time, and permanent lines for what has ended.
 *
 *    slow.awf 56e42a39   12.4s   2 running, 1 failed   $0.031   1.7k in 320 out
 *    / panel           3.4s  1 of 3
 *      / pro           3.4s  writing, 41 words  "...the price of lithium"
 *    / crunch          4.6s  84 done, 1 failed, 30 running, oldest crunch[33] 4.6s
 *
 * Its input is the events of the models of runs (model/model.h), of MODEL_INSIDE at least, and the
 * answers in progress of their calls (view/live.h); the clock and the size of the terminal are
 * arguments. It does no input or output: callers write its lines to the terminal.
 *
 * What its users rely on:
 *   - A live run has a line, and below it a line for each active step; branches, iterations and
 *     child runs in a step are below the step. Calls of one step in the same enclosing call share
 *     one line, which counts them.
 *   - What has ended is printed once, in a permanent line: a step when none of its calls was active
 *     for a second, or when what contains it has ended; a failure, and a call that waits for a
 *     person, at once, each by itself; the run when it has ended.
 *   - No line is wider than the terminal's columns minus one, except for failures and waiting
 *     calls, which are printed completely; control characters in foreign text are escaped; and
 *     there are at most as many redrawn lines as the terminal's rows minus one.
 *   - Memory is needed for what is active, for the last end of each step in it, and for some
 *     thousand names of items.
 */
#ifndef AWF_VIEW_LIVE_VIEW_H
#define AWF_VIEW_LIVE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/id.h"
#include "model/cost.h"
#include "model/item_name.h"
#include "model/model.h"
#include "view/live.h"
#include "view/view.h"

#define LIVE_VIEW_TEXT ((size_t)4096)  /* bytes of an answer in progress that are kept for a call */
#define LIVE_VIEW_SETTLED_US 1000000   /* a step without active calls for so long has ended */
#define LIVE_VIEW_INTERVAL 100         /* ms between two drawings of the live lines */

struct live_step;
struct live_run;

/* Steps in one call, or in a run, in the order in which they began. */
struct live_steps {
	struct live_step **list;
	size_t count;
};

/* A call that is open. */
struct live_call {
	uint32_t number;              /* of its run's model */
	struct live_run *run;
	struct live_step *step;
	struct live_steps inside;
	char *label;
	char start[ID_SIZE];          /* event id of its step.started */
	int64_t started;              /* µs since 1970 */
	bool agent, asks;             /* asks a person for a decision or its result */
	bool told_inside;             /* an end inside of it was printed */
	int64_t open_inside;          /* calls that are open, right in it */
	int64_t branches, branches_done; /* of a parallel group; 0: not one */
	int64_t rounds;               /* that have begun in it */
	char *child;                  /* id of the child run that it is; NULL */
	char *command;                /* that it runs, or that answers its question; NULL */
	char *whom;                   /* "openai/gpt-5", the model that is asked; NULL */

	/* Of an agent. */
	struct {
		int64_t turns, answered;      /* number of answers; number of the last turn
		                                 that has one */
		struct live_tool { char *name; unsigned times; } *tools;
		size_t tool_count;
		size_t open_tools;
		const char *tool;             /* that was called last: one of these */
		bool asked;                   /* it has asked a model that has not answered yet */
		char *retry;                  /* "HTTP 429, try 2 of 3"; NULL */
		int64_t retry_at;             /* when the retry is due */
		int64_t turn;                 /* of the text */
		enum live_kind kind;
		struct buffer text;           /* under way: the end of it */
		int64_t words;                /* of all of it */
		bool in_word;
	} asking;                     /* of an agent */
};

/* Calls of one step, in the same call around them. A round or branch is one by itself. */
struct live_step {
	struct live_run *run;
	struct live_call *around;     /* NULL: the run */
	char *path, *name;
	bool member;                  /* an iteration or branch of the enclosing group */
	int64_t iteration;            /* of a member */
	int64_t begun, done, failed, cancelled, skipped, waiting;
	struct live_call **open;      /* in the order in which they began */
	size_t open_count;
	int64_t first, last;          /* µs: when the first began, and the last ended */
	char *ended;                  /* line about the last call that ended; NULL: all
	                                 were printed */
	char *ended_label;
	enum view_saying how;
};

struct live_figures {
	int64_t input, output;        /* tokens */
	int64_t cost;                 /* nano-dollars, as far as known */
	bool unknown;                 /* some of it is not */
	int64_t failed, waiting;
};

/* A live run. */
struct live_run {
	char id[ID_SIZE];
	char *name;                   /* of its workflow */
	struct live_run *parent;      /* NULL: it is not a child, or its parent is not shown */
	int64_t started;
	struct live_figures own, children; /* of children that have ended */
	struct live_steps steps;
	struct live_call **open;      /* in the order of their numbers */
	size_t open_count;
};

struct live_view {
	/* Set by the caller, at any time. */
	size_t width, height;         /* of the terminal */
	bool colour, utf8;
	struct cost *cost;            /* to show the costs of answers; NULL */
	bool ends;                    /* print a line for the end of runs too */

	struct live_run **runs;       /* a child after its parent */
	size_t run_count;
	struct live_steps settling;   /* of which nothing is active, in the order of their ends */
	struct item_names items;
	size_t label_width;

	/* An end that was not printed yet. */
	struct live_end {
		unsigned depth;           /* 0: a run */
		enum view_saying how;
		char *label;
		int64_t took;             /* µs; -1: not said */
		char *said;
	} *told;
	size_t told_count;
};

void live_view_begin(struct live_view *v);
/* Handles the next event of a run. */
void live_view_take(struct live_view *v, const struct placed *placed);
/* Takes text under way; it is live_follow's `told`, and context a struct live_view. */
void live_view_write(void *context, const struct live_news *news);
/* A run has ended without saying so: it is shown no more. */
void live_view_died(struct live_view *v, const char *run_id);
/* Appends the lines of what has ended by now (µs since 1970), each with its LF. They stay. */
void live_view_told(struct live_view *v, int64_t now, struct buffer *out);
/* Appends the current lines, each with its LF, and returns how many. Print what has
 * ended before. */
size_t live_view_draw(const struct live_view *v, int64_t now, struct buffer *out);
/* Whether its lines change by themselves. */
bool live_view_moves(const struct live_view *v);
void live_view_free(struct live_view *v);

/* Shared by the two files of the view. */
void live_view_settle(struct live_view *v, int64_t now);
struct live_run *live_view_run(const struct live_view *v, const char *id);
/* What a run used, and its result, with its children; appends " $0.031 1.7k in 320 out". */
struct live_figures live_view_figures(const struct live_view *v, const struct live_run *r,
    struct buffer *out);
/* Appends data with each run of white space as one space. */
void live_view_flat(struct buffer *out, const char *bytes, size_t len);

#endif
