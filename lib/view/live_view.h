/*
 * The live view: lines on a terminal that show what runs are doing at the moment and are redrawn
 * all the time, and permanent lines for what has ended.
 *
 *    slow.awf 56e42a39   12.4s   2 running, 1 failed   $0.031   1.7k in 320 out
 *    / panel           3.4s  1 of 3
 *      / pro           3.4s  writing, 41 words  "...the price of lithium"
 *    / crunch          4.6s  84 done, 1 failed, 30 running, oldest crunch[33] 4.6s
 *
 * Its input is the events that the models of runs (model/model.h, level MODEL_INSIDE or higher)
 * have processed, and the answers in progress of their calls (view/live.h); the clock and the size
 * of the terminal are arguments. It does no I/O itself: callers write its lines to the terminal.
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
#define LIVE_VIEW_OUTPUT ((size_t)1024) /* bytes of an output that are kept for a call */
#define LIVE_VIEW_SETTLED_US 1000000   /* a step without active calls for this long counts as
                                          ended */
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
	uint32_t number;              /* its number in the run's model */
	struct live_run *run;
	struct live_step *step;
	struct live_steps inside;
	char *label;
	char start[ID_SIZE];          /* event id of its step.started */
	int64_t started;              /* µs since 1970 */
	bool agent, asks;             /* asks: waits for a person's decision or result */
	bool attended;                /* (asks) not at its terminal */
	bool told_inside;             /* the end of a call inside it was printed */
	int64_t open_inside;          /* open calls directly inside it */
	int64_t branches, branches_done; /* of a parallel group; 0: it is none */
	int64_t rounds;               /* iterations that have begun */
	char *child;                  /* id of the child run that the call has started; NULL */
	char *command;                /* command that the call runs, or that answers its question;
	                                 NULL */
	struct buffer output;         /* the end of what its command, or its tool, prints at the moment */
	char *whom;                   /* the model that is asked, "openai/gpt-5"; NULL */

	/* For calls of an agent. */
	struct {
		int64_t turns, answered;      /* number of answers; number of the last turn with an
		                                 answer */
		struct live_tool { char *name; unsigned times; } *tools;
		size_t tool_count;
		size_t open_tools;
		const char *tool;             /* the tool in tools that was called last */
		bool asked;                   /* it has asked a model that has not answered yet */
		char *retry;                  /* "HTTP 429, try 2 of 3"; NULL */
		int64_t retry_at;             /* when the retry is due */
		int64_t turn;                 /* the turn of the text */
		enum live_kind kind;
		struct buffer text;           /* the end of the text in progress */
		int64_t words;                /* in the whole text in progress */
		bool in_word;
	} asking;
};

/* Calls of one step in the same enclosing call, or in the run. Each iteration or branch has a
 * live_step of its own. */
struct live_step {
	struct live_run *run;
	struct live_call *around;     /* the enclosing call; NULL: directly in the run */
	char *path, *name;
	bool member;                  /* an iteration or branch of the enclosing group */
	int64_t iteration;            /* number of the iteration or branch, if member is set */
	int64_t begun, done, failed, cancelled, skipped, waiting;
	struct live_call **open;      /* in the order in which they began */
	size_t open_count;
	int64_t first, last;          /* µs: start of the first call, end of the last */
	char *ended;                  /* the text about the last call that ended; NULL: it was
	                                 printed */
	char *ended_label;
	enum view_saying how;
};

struct live_figures {
	int64_t input, output;        /* tokens */
	int64_t cost;                 /* nano-dollars; only the known part */
	bool unknown;                 /* a part of the cost is not known */
	int64_t failed, waiting;
};

/* A live run. */
struct live_run {
	char id[ID_SIZE];
	char *name;                   /* name of its workflow */
	struct live_run *parent;      /* NULL: it is no child, or its parent is not shown */
	int64_t started;
	struct live_figures own, children; /* children: sums of the children that have ended */
	struct live_steps steps;
	struct live_call **open;      /* open calls by number */
	size_t open_count;
};

struct live_view {
	/* Set by the caller, at any time. */
	size_t width, height;         /* of the terminal */
	bool colour, utf8;
	struct cost *cost;            /* to show the cost of answers; NULL: not shown */
	bool ends;                    /* print a permanent line for the end of a run */

	struct live_run **runs;       /* parents before their children */
	size_t run_count;
	struct live_steps settling;   /* steps without active calls, in the order of their ends */
	struct item_names items;
	size_t label_width;

	/* An end that is still to be printed. */
	struct live_end {
		unsigned depth;           /* 0: a run */
		enum view_saying how;
		char *label;
		int64_t took;             /* µs; -1: unknown */
		char *said;
	} *told;
	size_t told_count;
};

void live_view_begin(struct live_view *v);
/* Handles the next event of a run. */
void live_view_take(struct live_view *v, const struct placed *placed);
/* Handles text in progress: the function `told` for live_follow_begin(), with a struct live_view as
 * context. */
void live_view_write(void *context, const struct live_news *news);
/* Removes a run whose process has died without recording the run's end. */
void live_view_died(struct live_view *v, const char *run_id);
/* Appends the permanent lines about what has ended by now (µs since 1970), each with LF. */
void live_view_told(struct live_view *v, int64_t now, struct buffer *out);
/* Appends the lines to be redrawn, each with LF, and returns their number. Call live_view_told()
 * first. */
size_t live_view_draw(const struct live_view *v, int64_t now, struct buffer *out);
/* Whether the lines change with time, without any event. */
bool live_view_moves(const struct live_view *v);
void live_view_free(struct live_view *v);

/* For the two files of the view only. */
void live_view_settle(struct live_view *v, int64_t now);
struct live_run *live_view_run(const struct live_view *v, const char *id);
/* Sums of what a run and its children used and of their results; and appends them as text, " $0.031
 * 1.7k in 320 out". */
struct live_figures live_view_figures(const struct live_view *v, const struct live_run *r,
    struct buffer *out);
/* Appends text with white space collapsed to single spaces. */
void live_view_flat(struct buffer *out, const char *bytes, size_t len);

#endif
