/* Follows the answers in progress of a run from its start to its end, and reads them before each
 * drawing; drawings are few a second however fast models write. */
#include "view/live_feed.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void
live_feed_begin(struct live_feed *f, const struct storage *storage)
{
	*f = (struct live_feed){ .storage = storage };
	live_view_begin(&f->view);
}

static void
end_text(struct live_feed *f, const char *run_id)
{
	for (size_t i = 0; i < f->text_count; i++)
		if (strcmp(f->texts[i].run_id, run_id) == 0) {
			live_follow_end(&f->texts[i].follow);
			f->texts[i] = f->texts[--f->text_count];
			return;
		}
}

static void
begin_text(struct live_feed *f, const char *run_id)
{
	char *directory = storage_run_directory(f->storage, run_id);
	struct live_text *text;

	end_text(f, run_id);
	f->texts = memory_array(f->texts, f->text_count + 1, sizeof *f->texts);
	text = &f->texts[f->text_count++];
	memcpy(text->run_id, run_id, sizeof text->run_id);
	live_follow_begin(&text->follow, directory, NULL, live_view_write, &f->view);
	text->follow.items = live_view_note_items;
	text->follow.wants = live_view_wants;
	free(directory);
}

void
live_feed_take(struct live_feed *f, const struct placed *placed)
{
	live_view_take(&f->view, placed);
	if (placed->event->type == EVENT_RUN_STARTED)
		begin_text(f, placed->run->run_id);
	else if (placed->event->type == EVENT_RUN_COMPLETED)
		end_text(f, placed->run->run_id);
}

void
live_feed_died(struct live_feed *f, const char *run_id)
{
	end_text(f, run_id);
	live_view_died(&f->view, run_id);
}

size_t
live_feed_draw(struct live_feed *f, int64_t now, struct buffer *told, struct buffer *lines)
{
	for (size_t i = 0; i < f->text_count; i++)
		live_follow_look(&f->texts[i].follow);
	live_view_told(&f->view, now, told);
	return live_view_draw(&f->view, now, lines);
}

void
live_feed_free(struct live_feed *f)
{
	for (size_t i = 0; i < f->text_count; i++)
		live_follow_end(&f->texts[i].follow);
	free(f->texts);
	live_view_free(&f->view);
}
