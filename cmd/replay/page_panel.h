/*
 * Panels: the details in a row of the page. The lines of an entry are read again from its
 * transcript, with their blobs unless those are large, and shown as texts, data, diffs and images:
 * for a call its input, result, error and standard error; for a turn the prompt and the answer; for
 * a tool call its arguments and output.
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
	bool open;          /* the transcript could be opened */
};

struct page_panel {
	struct buffer *out;
	struct page_record *record;
	size_t text_most;   /* most bytes of a text */
	int64_t images_left; /* bytes of images for which the page still has room */
};

/* Opens a transcript. If it cannot be read, its panels stay empty. */
void page_record_open(struct page_record *r, const char *path, const char *run_id);
void page_record_close(struct page_record *r);

/* Append what was recorded at the start and at the end of an entry; nothing if the event is
 * missing. */
void page_panel_begin(struct page_panel *p, const struct call_tree *tree, uint32_t entry);
void page_panel_end(struct page_panel *p, const struct call_tree *tree, uint32_t entry);

#endif
