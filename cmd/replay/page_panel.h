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
	bool open;          /* it could be opened */
};

struct page_panel {
	struct buffer *out;
	struct page_record *record;
	size_t text_most;   /* limit for a text */
	int64_t images_left; /* bytes of images that the page may still contain */
};

/* If a transcript cannot be read, its panels stay empty. */
void page_record_open(struct page_record *r, const char *path, const char *run_id);
void page_record_close(struct page_record *r);

/* Appends what was recorded at the begin and at the end of the entry; nothing for a
 * missing event. */
void page_panel_begin(struct page_panel *p, const struct call_tree *tree, uint32_t entry);
void page_panel_end(struct page_panel *p, const struct call_tree *tree, uint32_t entry);

#endif
