/*
 * Text under way of a run (view/live.h), for all streams that want it: the files of its calls are
 * followed once, and of each call is kept what it is writing just now, as the events that are
 * sent of it. A stream keeps how far it has sent that, and asks for the rest: who is slow is
 * never sent what is void by then.
 *
 * What the code relies on, and keeps:
 *   - Text is under way as long as its call is open and its turn has no answer in the record. What
 *     the files say, the overview of the run (serve_runs/overview.h) has to bear out: files stay
 *     while tools run, and when a process is killed.
 *   - A stream is sent text only when it has been sent all lines. Text of a turn may still follow
 *     the answer to it, or come before that of the turn before: that it is done is told anyhow.
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

/* A call that is writing. */
struct live_call {
	char id[ID_SIZE];            /* event id of its step.started */
	uint32_t number;             /* they come in the order of these */
	uint32_t generation;         /* another whenever told begins anew */
	int64_t turn;
	struct buffer told;          /* events of its turn, since that was last asked */
};

struct live {
	struct lives *all;
	struct live *next;
	unsigned holders;
	struct feed *feed;           /* held */
	struct overview *overview;   /* held */
	struct overview_waiter waiter;
	bool reading, again;         /* the overview is read just now; and is to be once more */
	bool changed;
	struct watch watch;
	struct loop_source changes;  /* fd -1: nothing tells of changes, it is looked at often */
	struct loop_timer look;
	struct live_follow follow;
	struct live_call *calls;
	size_t count;
	uint32_t last;               /* number of a call, so far */
};

struct lives {
	struct loop *loop;
	struct overviews *overviews;
	const struct storage *storage;
	/* Called when there is more to be sent to the streams of a feed, or less. */
	void (*changed)(struct feed *feed);
	struct live *first;
};

/* How far a stream has sent the text of each call. */
struct live_cursor {
	struct live_position { char id[ID_SIZE]; uint32_t number, generation; size_t sent; } *list;
	size_t count;
};

void lives_open(struct lives *all, struct loop *loop, struct overviews *overviews,
    const struct storage *storage, void (*changed)(struct feed *feed));

/* That of a feed's run, held from then on. */
struct live *live_hold(struct lives *all, struct feed *feed);
void live_release(struct live *live);
/* Something of the run is not as it was: lines have come, or it has ended. */
void live_wake(struct live *live);
/* Appends what is new for who has sent this much, some STREAM_PIECE bytes, and notes it. False:
 * there is more. */
bool live_append_events(const struct live *live, struct live_cursor *cursor, struct buffer *out);
void live_cursor_free(struct live_cursor *cursor);

#endif
