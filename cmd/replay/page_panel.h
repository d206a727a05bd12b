/*
 * Panels: what one opens a row of the page for. The lines of an entry are read again from its
 * transcript, with their blobs if those are not large, and shown as texts, data, changes and
 * images: of a call its input, result, error and standard error; of a turn the prompt and the
 * answer; of a tool call its arguments and output.
 */
#ifndef AWF_REPLAY_PAGE_PANEL_H
#define AWF_REPLAY_PAGE_PANEL_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/call_tree.h"
#include "transcript/reader.h"

/* A transcript whose lines are shown. */
struct page_record {
	struct reader reader;
	char *blobs;
	bool open;          /* it could be */
};

struct page_panel {
	struct buffer *out;
	struct page_record *record;
	size_t text_most;   /* bytes of a text */
	int64_t images_left; /* bytes of images that the page may still have */
};

/* A transcript that cannot be read leaves its panels empty. */
void page_record_open(struct page_record *r, const char *path, const char *run_id);
void page_record_close(struct page_record *r);

/* Appends what was known when the entry began, and what came of it; nothing of an event that the
 * record has not. */
void page_panel_begin(struct page_panel *p, const struct call_tree *tree, uint32_t entry);
void page_panel_end(struct page_panel *p, const struct call_tree *tree, uint32_t entry);

#endif
