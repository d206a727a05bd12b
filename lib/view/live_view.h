/*
 * The live view: lines on a terminal that show what runs are doing at the moment and are redrawn
 * all the time, and permanent lines for what has ended.
 *
 *    slow.awf 56e42a39   12.4s   4 running, 1 failed, 1 waiting   $0.031   1.7k in 320 out
 *    … check           8.0s  waits: awf-ctl approve check:0:0 56e42a39
 *    / panel           3.4s  1 of 3
 *      / pro           3.4s  writing, 41 words  "…the price of lithium"
 *    / crunch          4.6s  85 of 120, 70 %, 1 failed, 3 running, about 2s left
 *      / [83] "83"     1.2s  ./crunch  17 of 40 pages
 *      / [85] "85"     0.4s  ./crunch
 *      … 1 more
 *
 * Its input is the events that the models of runs (model/model.h, level MODEL_INSIDE or higher)
 * have processed, and the answers in progress of their calls (view/live.h); the clock and the size
 * of the terminal are arguments. It does no I/O itself: callers write its lines to the terminal.
 *
 * What its users rely on:
 *   - A live run has a line, and below it a line for each call that waits for somebody; one for each
 *     kind of failure of which there are too many to print each; and a line for each active step.
 *     Branches, iterations and child runs in a step are below the step. Several calls of one step in
 *     the same enclosing call are counted in the step's line, and each has one below that.
 *   - If there is not room for all of them, what is inside such calls is left out, then calls are
 *     (live_view_rows.c): those are shown that wait, have failed and try again, or have gone on the
 *     longest. A line that is shown stays where it is as long as others do.
 *   - What has ended is printed once, in a permanent line with the names of what it is in: a step when
 *     none of its calls was active for a second, or when what contains it has ended; a failure, and a
 *     call that waits for a person, at once, each by itself; the run when it has ended. Of failures that
 *     are alike (base/folded_messages.h) the first three are printed, and the others counted.
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
#include "base/folded_messages.h"
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
#define LIVE_VIEW_OVER INT64_MAX       /* a time at which everything has ended */
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
	int64_t iteration;
	char *item;                   /* "[5] \"item 5\"" */
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
	size_t place;                 /* among the lines of its step's calls, from 1; 0: it has none */

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
	int64_t paced, paced_since;   /* calls that were made, succeeded or failed, and have ended; when the
	                                 first of them began */
	int64_t cost;                 /* nano-dollars, as far as it is known, also of what is inside */
	char **processes;             /* whose calls they are: their names without the number of the item */
	size_t process_count;
	char *ended;                  /* the text about the last call that ended; NULL: it was
	                                 printed */
	char *ended_label;
	enum view_saying how;
};

/* A call that waits for somebody. */
struct live_wait {
	uint32_t number;              /* of the call in the run's model */
	char *label, *said;           /* said: "waits: awf-ctl approve check:0:0 56e42a39" */
	int64_t since;
};

/* Failures that are alike. */
struct live_failures {
	char *kind;                   /* "con: exit status 1: line #: no such file" */
	int64_t count;
};

/* How many items a process of a step has. */
struct live_items {
	char *process;
	int64_t count;
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
	struct live_wait *waits;      /* in the order in which they began to wait */
	size_t wait_count;
	struct live_failures *failures; /* (no child) of it and its children */
	size_t failures_count;
	int64_t other_failures;       /* of kinds beyond FOLDED_KINDS_MOST */
	struct live_items *items;
	size_t items_count;
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
	size_t label_width, told_width; /* columns of the labels, so far, in lines that are redrawn and in
	                                 those that stay */
	char (*drawn)[ID_SIZE];       /* event ids of the starts of the calls that have a line */
	size_t drawn_count;

	/* An end that is still to be printed. */
	struct live_end {
		bool run;                 /* of a run, not of a step or call */
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
/* Handle text in progress, and how many items a step has; and tell whose text is shown: functions for
 * struct live_follow, with a struct live_view as context. */
void live_view_write(void *context, const struct live_news *news);
void live_view_note_items(void *context, const char *run_id, const char *step, int64_t items);
bool live_view_wants(const void *context, const char *call);
/* Removes a run whose process has died without recording the run's end. */
void live_view_died(struct live_view *v, const char *run_id);
/* Appends the permanent lines about what has ended by now (µs since 1970), each with LF. */
void live_view_told(struct live_view *v, int64_t now, struct buffer *out);
/* Appends the lines to be redrawn, each with LF, and returns their number. Call live_view_told()
 * first. */
size_t live_view_draw(struct live_view *v, int64_t now, struct buffer *out);
/* Whether the lines change with time, without any event. */
bool live_view_moves(const struct live_view *v);
void live_view_free(struct live_view *v);

/* For the files of the view only. */
void live_view_settle(struct live_view *v, int64_t now);
struct live_run *live_view_run(const struct live_view *v, const char *id);
/* Sums of what a run and its children used and of their results. */
struct live_figures live_view_figures(const struct live_view *v, const struct live_run *r);
/* Appends text with white space collapsed to single spaces. */
void live_view_flat(struct buffer *out, const char *bytes, size_t len);
/* How many items a step has; -1: that is not known. */
int64_t live_view_items(const struct live_step *s);
/* How many calls of a step have ended, in whatever way. */
int64_t live_view_ended(const struct live_step *s);
/* The run that a call has started, if it is shown and names the call's run as its parent. So no run
 * can be drawn inside itself, even if a transcript says so. */
const struct live_run *live_view_child(const struct live_view *v, const struct live_call *c);
/* The only open call of a child run, or inside a call; NULL if there are none or several. */
struct live_call *live_view_only_call(const struct live_steps *steps);

#endif
