/*
 * The input of a live view: the events of followed runs (model/follow.h), which the caller passes
 * on when it feeds their models, and answers in progress, which are read here each time the view
 * is drawn. It never waits, and data that cannot be read is not shown.
 */
#ifndef AWF_VIEW_LIVE_FEED_H
#define AWF_VIEW_LIVE_FEED_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "storage/storage.h"
#include "view/live.h"
#include "view/live_view.h"

struct live_feed {
	struct live_view view;
	const struct storage *storage; /* the caller's: contains the answers in progress */
	struct live_text {
		char run_id[ID_SIZE];
		struct live_follow follow;
	} *texts;                      /* of runs that go on */
	size_t text_count;
};

void live_feed_begin(struct live_feed *f, const struct storage *storage);
void live_feed_take(struct live_feed *f, const struct placed *placed);
/* Called when a run's process has died without recording the run's end. */
void live_feed_died(struct live_feed *f, const char *run_id);
/* Appends the permanent lines to told, and those to be redrawn to lines; returns the number of the
 * latter. */
size_t live_feed_draw(struct live_feed *f, int64_t now, struct buffer *told, struct buffer *lines);
void live_feed_free(struct live_feed *f);

#endif
