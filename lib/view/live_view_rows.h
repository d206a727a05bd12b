/*
 * Which lines the live view has: a list of rows, for what there is room. It is made anew for each drawing; only the
 * places of calls in the list of their step are kept.
 */
#ifndef AWF_VIEW_LIVE_VIEW_ROWS_H
#define AWF_VIEW_LIVE_VIEW_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "json/scan.h"
#include "view/live_view.h"

enum live_row_kind {
	ROW_RUN,      /* run */
	ROW_WAIT,     /* wait */
	ROW_FAILURES, /* failures; NULL: count of further kinds */
	ROW_STEP,     /* step, with several calls */
	ROW_CALL,     /* call, the only one of its step; or an item: one of several */
	ROW_ENDED,    /* step, whose only call has ended */
	ROW_TEXT,     /* text: a line of what an agent writes */
	ROW_MORE,     /* count things that are not shown */
	ROW_MORE_WAIT
};

struct live_row {
	enum live_row_kind kind;
	unsigned depth;
	const struct live_run *run;
	const struct live_wait *wait;
	const struct live_failures *failures;
	struct live_step *step;
	struct live_call *call;
	struct span text;
	size_t count;
	bool item;   /* (ROW_CALL) one of several calls of its step */
	bool folded; /* (ROW_CALL) what is inside of it has no rows */
	bool listed; /* (ROW_STEP) its calls have rows below it */
};

struct live_rows {
	const struct live_view *view;
	size_t most;             /* rows that there is room for */
	bool sole;               /* exactly one agent is writing */
	struct live_row *list;
	size_t count;

	/* While it is made. */
	enum live_room {
		ROOM_FOR_ALL,    /* everything has rows */
		ROOM_FOR_STEPS,  /* of the calls of a step as many as there is room for, without what is inside */
		ROOM_FOR_SOME    /* also of the branches of a group */
	} room;
	bool counts;             /* only count them, up to one more than there is room for */
	struct live_list {       /* calls of which some have rows, behind the row with this index */
		size_t behind;
		unsigned depth;
		struct live_call **calls;
		size_t count, given; /* given: rows */
		bool counted;        /* the row before them says how many they are */
	} *lists;
	size_t list_count;
};

/* Makes the rows of a view. Calls get, or lose, their places. */
void live_rows_make(struct live_rows *rows, const struct live_view *view);
/* The call that the row of c names, too, and whose work it shows: the only one in its child run, or, in a row
 * for one of several calls, inside of it; NULL: none. */
struct live_call *live_rows_inner_call(const struct live_view *v, const struct live_call *c, bool item);
void live_rows_free(struct live_rows *rows);

#endif
