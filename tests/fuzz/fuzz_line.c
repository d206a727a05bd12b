/*
 * Any bytes as a line of a transcript: every look into it stays within it, what is
 * checked as a line can be read as one, and nothing of it reaches a terminal as a
 * control character. What stands before the first LF is a prompt for the same line.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/prompt.h"
#include "rerun/canonical.h"
#include "transcript/blob.h"
#include "transcript/event.h"
#include "transcript/form.h"
#include "view/progress.h"
#include "view/view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct error err;

static void
look(const char *line, size_t len)
{
	struct form_fault fault;
	struct event_view view;
	struct form form;
	struct event_head head;
	size_t from_head, from_begin;
	bool seen = event_view(line, len, &view) == 0;

	/* What a head of ours leaves to be checked is all that is wrong with the line. */
	if (event_peek(line, len, &head) == 0)
		assert((scan_object(line, len, head.len, SCAN_LINE_DEPTH, &from_head) == NULL) ==
		    (scan_within(line, len, SCAN_LINE_DEPTH, &from_begin) == NULL));
	if (form_check(line, len, &form, &fault) == 0)
		assert(seen && view.seq == form.seq);
}

static void
show(const char *line, size_t len)
{
	struct view view = { .width = 80, .errors = true, .symbols = true };
	struct progress progress = PROGRESS_INIT;
	struct buffer out = BUFFER_INIT;
	struct event_view event;
	struct placed placed;
	struct model model;

	view_event(&view, line, len, 0, &out);
	model_begin(&model, MODEL_LIVE);
	model_line(&model, line, len, (struct event_place){ 0, (uint32_t)len }, &event, &placed);
	progress_add(&progress, &model);
	progress_text(&progress, 0, &out);
	for (size_t i = 0; i < out.len; i++)
		assert(out.data[i] == '\n' || (unsigned char)out.data[i] >= 0x20);
	progress_free(&progress);
	model_free(&model);
	view_free(&view);
	buffer_free(&out);
}

static void
put_back(const char *line, size_t len)
{
	struct buffer whole = BUFFER_INIT;
	size_t bad;
	bool valid = scan_within(line, len, SCAN_LINE_DEPTH, &bad) == NULL;

	if (blob_inline("/nowhere", line, len, &whole, &err) == 0 && valid)
		assert(scan_within(whole.data, whole.len, SCAN_LINE_DEPTH, &bad) == NULL);
	buffer_free(&whole);
}

/* What time and chance put in goes at once: nothing more is dropped of what is left. */
static void
make_canonical(const char *line, size_t len)
{
	struct buffer once = BUFFER_INIT, twice = BUFFER_INIT;
	size_t bad;

	if (len > 0 && scan_within(line, len, SCAN_LINE_DEPTH, &bad) == NULL) {
		canonical_line(line, len, &once);
		assert(scan_within(once.data, once.len, SCAN_LINE_DEPTH, &bad) == NULL);
		canonical_line(once.data, once.len, &twice);
		assert(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
	}
	buffer_free(&once);
	buffer_free(&twice);
}

static void
ask(const char *prompt, size_t prompt_len, struct span line)
{
	struct buffer out = BUFFER_INIT;
	char *text = memory_copy(prompt, prompt_len);
	size_t bad;

	if (scan_check(line.at, line.len, &bad) == NULL)
		prompt_render(text, line, line, "prompt", &out, &err);
	free(text);
	buffer_free(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *lf = size > 0 ? memchr(data, '\n', size) : NULL;
	size_t prompt = lf == NULL ? 0 : (size_t)(lf - (const char *)data);
	size_t len = lf == NULL ? size : size - prompt - 1;
	/* A copy of its own, so that a byte too far is seen. */
	char *line = memory_alloc(len);

	if (len > 0)
		memcpy(line, data + size - len, len);
	look(line, len);
	show(line, len);
	put_back(line, len);
	make_canonical(line, len);
	ask((const char *)data, prompt, span_of(line, len));
	free(line);
	return 0;
}
