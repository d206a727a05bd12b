/*
 * A run's text in progress (view/live.h), for all streams that want it. The files of its calls
 * are followed once; for each call, the text that it is writing is kept, as the events that are
 * sent. Each stream remembers how far it has sent them. A slow stream is never sent text that has
 * become invalid.
 *
 * What the code relies on, and keeps:
 *   - What a tool or a command prints is in progress while its call is open, or the call of its agent;
 *     the tool is named beside it.
 *   - Text is in progress while its call is open and its turn has no recorded answer. What the
 *     files say is checked against the run's overview (serve_runs/overview.h), since files remain
 *     while tools run, and when a process is killed.
 *   - A stream is sent text only after all lines. Text of a turn may still come after the answer
 *     to the turn, or before the answer to the previous turn. In any case, the client is told when
 *     the text is done.
 */
#ifndef AWF_SERVE_RUNS_LIVE_H
#define AWF_SERVE_RUNS_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "httpd/loop.h"
#include "model/watch.h"
#include "serve_runs/feed.h"
#include "serve_runs/overview.h"
#include "view/live.h"

/* A call that is producing text. */
struct live_call {
	char id[ID_SIZE];            /* event id of its step.started, or of a tool.call */
	char of[ID_SIZE];            /* of a tool.call: that of the step.started around it; "" */
	bool output;                 /* it is printed, not written by a model */
	uint32_t number;             /* calls are sent in this order */
	uint32_t generation;         /* incremented whenever told is cleared */
	int64_t turn;
	char *name, *call_id;        /* of the tool; NULL */
	struct buffer projected;     /* the same as told, for agent-event (awf-projections(7)): the output of
	                                tools alone */
	struct buffer told;          /* server-sent events with the text of the current turn */
};

struct live {
	struct lives *all;
	struct live *next;
	unsigned holders;
	struct feed *feed;           /* held */
	struct overview *overview;   /* held */
	struct overview_waiter waiter;
	bool reading, again;         /* the overview is being read; it must be read again after
	                                that */
	bool changed;
	struct watch watch;
	struct loop_source changes;  /* inotify; fd -1: not available, the files are checked
	                                often */
	struct loop_timer look;
	struct live_follow follow;
	struct live_call *calls;
	size_t count;
	uint32_t last;               /* the number of the newest call */
};

struct lives {
	struct loop *loop;
	struct overviews *overviews;
	const struct storage *storage;
	/* Called when there is more or less text to send to the streams of a feed. */
	void (*changed)(struct feed *feed);
	struct live *first;
};

/* How far a stream has sent the text of each call. */
struct live_cursor {
	struct live_position { char id[ID_SIZE], of[ID_SIZE]; uint32_t number, generation; size_t sent; } *list;
	size_t count;
};

void lives_open(struct lives *all, struct loop *loop, struct overviews *overviews,
    const struct storage *storage, void (*changed)(struct feed *feed));

/* The text in progress of a feed's run; the caller has a reference. */
struct live *live_hold(struct lives *all, struct feed *feed);
void live_release(struct live *live);
/* Called when the run has new lines, or has ended. */
void live_wake(struct live *live);
/* Appends about STREAM_PIECE bytes of what is new since the cursor, and moves the cursor; projected: for
 * agent-event. False if there is more. */
bool live_append_events(const struct live *live, struct live_cursor *cursor, bool projected,
    struct buffer *out);
void live_cursor_free(struct live_cursor *cursor);

#endif
