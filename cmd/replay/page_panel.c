/*
 * Tables say which members of which event are shown, under which heading. All text is escaped by
 * page_text.h. Images are shown only in formats that can contain nothing else, and as base64 that
 * was checked.
 */
#include "replay/page_panel.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/line_diff.h"
#include "base/memory.h"
#include "base/text.h"
#include "replay/page_text.h"
#include "storage/attached.h"
#include "storage/storage.h"
#include "transcript/blob.h"
#include "transcript/event_keys.h"
#include "transcript/filter.h"

#define BLOBS_MOST (INT64_C(1) << 20) /* most bytes of a line's blobs; if there are more, they are
                                         not put back */
#define MEMBERS_MOST 60               /* most members of an object, or elements of a list, that are
                                         shown */
#define DIFF_MOST 400                 /* most lines of a shown difference */
#define AROUND 3                      /* unchanged lines that are shown around a change */

void
page_record_open(struct page_record *r, const char *path, const char *run_id)
{
	struct error ignored = ERROR_INIT;

	r->open = reader_open(&r->reader, path, &ignored) == 0;
	r->blobs = transcript_blobs(path, run_id);
}

void
page_record_close(struct page_record *r)
{
	if (r->open)
		reader_close(&r->reader);
	free(r->blobs);
}

/* ---- parts ---- */

static void
add_heading(struct page_panel *p, const char *heading)
{
	buffer_format(p->out, "<h4>%s</h4>\n", heading);
}

static void
page_panel_add_text(struct page_panel *p, const char *class, struct span value)
{
	buffer_format(p->out, "<pre class=\"%s\">", class);
	page_value(p->out, value, p->text_most);
	buffer_text(p->out, "</pre>\n");
}

/* Writes an object as a list of its members, so that texts in it are shown as texts. */
static void
add_data(struct page_panel *p, struct span value)
{
	size_t count = 0;

	if (span_type(value) != 'o' || value.len <= 2) {
		page_panel_add_text(p, "text", value);
		return;
	}
	buffer_text(p->out, "<dl class=\"data\">\n");
	for (struct span_walk member = span_walk(value); span_next(&member); count++) {
		if (count == MEMBERS_MOST) {
			buffer_text(p->out, "<dt>…</dt><dd></dd>\n");
			break;
		}
		buffer_text(p->out, "<dt>");
		page_value(p->out, member.key, p->text_most);
		buffer_text(p->out, "</dt><dd><pre>");
		page_value(p->out, member.value, p->text_most);
		buffer_text(p->out, "</pre></dd>\n");
	}
	buffer_text(p->out, "</dl>\n");
}

/* The size of payload.KEY if it is in a blob; -1 if not. */
static long long
bytes_in_blob(const struct event_view *event, const char *key)
{
	char pointer[64];
	long long bytes = -1;

	snprintf(pointer, sizeof pointer, "/" KEY_PAYLOAD "/%s", key);
	for (struct span_walk ref = span_walk(event->refs); !ref.object && span_next(&ref);)
		if (span_is(span_member(ref.value, KEY_AT), pointer))
			span_integer(span_member(ref.value, KEY_BYTES), &bytes);
	return bytes;
}

/* Writes payload.KEY under a heading; for a large blob only its size. */
static void
add_member(struct page_panel *p, const struct event_view *event, const char *key,
    const char *heading)
{
	struct span value = span_member(event->payload, key);
	long long bytes = bytes_in_blob(event, key);
	struct buffer text = BUFFER_INIT;
	char size[32];

	if (bytes >= 0 && !member_set(value)) {
		add_heading(p, heading);
		buffer_format(p->out, "<p class=\"note\">%s, to be had by awf-replay --state</p>\n",
		    size_text(bytes, size, sizeof size));
	} else if (attached_output(value, event->refs, &text)) {
		add_heading(p, heading);
		buffer_text(p->out, "<pre class=\"text\">");
		page_lines(p->out, buffer_string(&text), text.len, p->text_most);
		buffer_text(p->out, "</pre>\n");
	} else if (member_set(value) && !span_is(value, "")) {
		add_heading(p, heading);
		add_data(p, value);
	}
	buffer_free(&text);
}

static void
add_error(struct page_panel *p, struct span error)
{
	struct span code = span_member(error, KEY_CODE), message = span_member(error, KEY_MESSAGE);

	if (!member_set(error))
		return;
	buffer_format(p->out, "<p class=\"error%s\"><b>", span_is(code, "waiting") ? " waits" : "");
	page_value(p->out, member_set(message) ? code : SPAN_NONE, p->text_most);
	buffer_text(p->out, "</b> ");
	page_value(p->out, member_set(message) ? message : error, p->text_most);
	buffer_text(p->out, "</p>\n");
}

static void
add_stderr(struct page_panel *p, const struct event_view *event)
{
	struct span text = span_member(event->payload, KEY_STDERR);

	if (!member_set(text) || span_is(text, ""))
		return;
	add_heading(p, "stderr");
	page_panel_add_text(p, "text stderr", text);
}

/* Lists the files that a call has changed. */
static void
add_changed(struct page_panel *p, struct span payload)
{
	static const struct { const char *key, *class, *sign; } counts[] = {
		{ KEY_ADDED, "new", "+" }, { KEY_REMOVED, "gone", "−" },
	};
	struct span changed = span_member(payload, KEY_CHANGED);
	long long count, more = 0;
	size_t shown = 0;

	if (span_type(changed) != 'a' || changed.len <= 2)
		return;
	span_integer(span_member(payload, KEY_CHANGED_MORE), &more);
	add_heading(p, "changed");
	buffer_text(p->out, "<ul class=\"changed\">\n");
	for (struct span_walk file = span_walk(changed); span_next(&file); shown++) {
		if (shown >= MEMBERS_MOST) {
			more++;
			continue;
		}
		buffer_text(p->out, "<li><code>");
		page_value(p->out, span_member(file.value, KEY_PATH), p->text_most);
		buffer_text(p->out, "</code> ");
		page_value(p->out, span_member(file.value, KEY_CHANGE), p->text_most);
		for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
			if (span_integer(span_member(file.value, counts[i].key), &count))
				buffer_format(p->out, " <span class=\"%s\">%s%lld</span>", counts[i].class,
				    counts[i].sign, count);
		buffer_text(p->out, "</li>\n");
	}
	if (more > 0)
		buffer_format(p->out, "<li>%lld more</li>\n", more);
	buffer_text(p->out, "</ul>\n");
}

/* ---- changes ---- */

struct shown_diff {
	struct page_panel *panel;
	size_t shown, left;   /* lines on the page, and lines that are left out here */
};

static void
add_left(struct page_panel *p, size_t *left, const char *behind)
{
	if (*left > 0)
		buffer_format(p->out, "<span class=\"left\">… %zu line%s%s\n</span>", *left,
		    *left == 1 ? "" : "s", behind);
	*left = 0;
}

static void
add_diff_line(void *user, char sign, const char *line, size_t len, bool lf)
{
	struct shown_diff *d = user;
	struct page_panel *p = d->panel;

	(void)lf;
	if (d->shown == DIFF_MOST) {
		d->left++;
		return;
	}
	add_left(p, &d->left, "");
	d->shown++;
	buffer_format(p->out, "<span class=\"%s\"><i>%c</i>", sign == '+' ? "new" :
	    sign == '-' ? "gone" : "same", sign == '=' ? ' ' : sign);
	page_lines(p->out, line, len, p->text_most);
	buffer_text(p->out, "\n</span>");
}

static void
add_diff(struct page_panel *p, struct span old, struct span now)
{
	struct shown_diff shown = { .panel = p };
	struct line_hunk hunk = LINE_HUNK_INIT;
	struct line_diff d;
	struct buffer a = BUFFER_INIT, b = BUFFER_INIT;
	size_t passed = 0; /* lines of the old text that were shown or left out */

	span_decode(old, &a);
	span_decode(now, &b);
	line_diff_begin(&d, buffer_string(&a), a.len, buffer_string(&b), b.len, false);
	buffer_text(p->out, "<pre class=\"diff\">");
	while (line_diff_next_hunk(&d, AROUND, &hunk)) {
		shown.left += hunk.old - passed;
		line_diff_hunk_lines(&d, &hunk, add_diff_line, &shown);
		passed = hunk.old + hunk.old_count;
	}
	shown.left += d.old.count - passed;
	add_left(p, &shown.left, shown.shown == DIFF_MOST ? " more" : "");
	buffer_text(p->out, "</pre>\n");
	line_diff_free(&d);
	buffer_free(&a);
	buffer_free(&b);
}

/* A member of an object under one of several names, as tools name it differently. */
static struct span
one_member(struct span object, const char *const *names)
{
	struct span value = SPAN_NONE;

	for (; *names && span_type(value) != 's'; names++)
		value = span_member(object, *names);
	return span_type(value) == 's' ? value : SPAN_NONE;
}

/* Writes the input of a tool: for a change of a file, the differences; anything else as data. */
static void
add_arguments(struct page_panel *p, const struct event_view *event)
{
	static const char *const olds[] = { "old_string", "old_str", "old_text", NULL };
	static const char *const news[] = { "new_string", "new_str", "new_text", NULL };
	static const char *const paths[] = { "file_path", "path", NULL };
	struct span input = span_member(event->payload, KEY_INPUT);
	struct span old = one_member(input, olds), now = one_member(input, news);

	if (!old.at || !now.at) {
		add_member(p, event, KEY_INPUT, "input");
		return;
	}
	buffer_text(p->out, "<h4>change of <code>");
	page_value(p->out, one_member(input, paths), p->text_most);
	buffer_text(p->out, "</code></h4>\n");
	add_diff(p, old, now);
}

/* ---- messages ---- */

/* Whether an image may be shown: its bytes are base64, and there is room for it on the page. */
static bool
takes_image(struct page_panel *p, struct span data)
{
	if (span_type(data) != 's' || data.len <= 2 || (int64_t)data.len > p->images_left)
		return false;
	for (size_t i = 1; i + 1 < data.len; i++) {
		char c = data.at[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		    c == '+' || c == '/' || c == '='))
			return false;
	}
	p->images_left -= (int64_t)data.len;
	return true;
}

static void
add_attachment(struct page_panel *p, struct span block, const char *label)
{
	static const char *const types[] = { "image/png", "image/jpeg", "image/gif", "image/webp", NULL };
	const char *type = span_one_of(span_member(block, KEY_MEDIA_TYPE), types);
	struct span data = span_member(block, KEY_DATA);

	buffer_text(p->out, "<figure>");
	if (type && takes_image(p, data)) {
		buffer_format(p->out, "<img src=\"data:%s;base64,", type);
		buffer_append(p->out, data.at + 1, data.len - 2);
		buffer_text(p->out, "\" alt=\"\">");
	}
	buffer_text(p->out, "<figcaption>");
	page_line(p->out, label, 0);
	buffer_text(p->out, "</figcaption></figure>\n");
}

static void
add_folded(struct page_panel *p, const char *heading, struct span value)
{
	if (!member_set(value) || span_is(value, ""))
		return;
	buffer_format(p->out, "<details class=\"fold\"><summary>%s</summary>\n", heading);
	add_data(p, value);
	buffer_text(p->out, "</details>\n");
}

static void
add_blocks(struct page_panel *p, struct span blocks)
{
	size_t count = 0;

	if (span_type(blocks) != 'a')
		return;
	for (struct span_walk block = span_walk(blocks); span_next(&block); count++) {
		struct span text = span_member(block.value, KEY_TEXT);
		struct span thinking = span_member(block.value, KEY_THINKING);
		struct span tool = span_member(block.value, KEY_TOOL_NAME);
		struct buffer label = BUFFER_INIT;

		if (count == MEMBERS_MOST) {
			buffer_text(p->out, "<p class=\"note\">…</p>\n");
			break;
		}
		if (attached_text(block.value, &label)) {
			add_attachment(p, block.value, buffer_string(&label));
		} else if (member_set(text)) {
			page_panel_add_text(p, "text prose", text);
		} else if (member_set(thinking)) {
			add_folded(p, "thinking", thinking);
		} else if (member_set(tool)) {
			buffer_text(p->out, "<p class=\"note\">calls <code>");
			page_value(p->out, tool, p->text_most);
			buffer_text(p->out, "</code></p>\n");
		} else {
			page_panel_add_text(p, "text", block.value);
		}
		buffer_free(&label);
	}
}

/* ---- panels ---- */

/* A member that is shown as a figure, with its name in the list of figures. */
struct figure {
	const char *key, *name;
};

static void
page_panel_add_figures(struct page_panel *p, struct span payload, const struct figure *figures)
{
	bool any = false;

	for (; figures->key; figures++) {
		struct span value = span_member(payload, figures->key);

		if (!member_set(value) || span_is(value, "") || value.len == 2)
			continue;
		buffer_format(p->out, "%s<div><dt>%s</dt><dd>", any ? "" : "<dl class=\"figures\">\n",
		    figures->name);
		page_value(p->out, value, p->text_most);
		buffer_text(p->out, "</dd></div>\n");
		any = true;
	}
	if (any)
		buffer_text(p->out, "</dl>\n");
}

/* Writes the command of a call, or those of its branches. */
static void
add_commands(struct page_panel *p, struct span blocks)
{
	bool any = false;

	if (span_type(blocks) != 'a')
		return;
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		struct span command = span_member(block.value, KEY_COMMAND);

		if (!member_set(command))
			continue;
		if (!any)
			add_heading(p, "runs");
		page_panel_add_text(p, "text command", command);
		any = true;
	}
}

/* Whether a message need not be shown: that of a hand-over, or one before a turn. */
static bool
says_nothing(struct span payload)
{
	return span_member(payload, KEY_BLOCKS).len <= 2 &&
	    !member_set(span_member(payload, KEY_SYSTEM_PROMPT));
}

static void
add_begin(struct page_panel *p, enum call_tree_kind what, const struct event_view *event)
{
	static const struct figure run[] = {
		{ KEY_ARGV, "command" }, { KEY_DIRECTORY, "directory" }, { KEY_FORKED_FROM, "forked from" },
		{ NULL, NULL },
	}, call[] = {
		{ KEY_CALL, "call" }, { KEY_KIND, "kind" }, { KEY_AGENT, "agent" }, { KEY_TOOL, "tool" },
		{ KEY_PROVIDER, "provider" }, { KEY_MODEL, "model" }, { KEY_EFFECTS, "effects" },
		{ KEY_SANDBOX, "sandbox" }, { KEY_STRATEGY, "strategy" }, { KEY_CONDITION, "condition" },
		{ NULL, NULL },
	}, tool[] = {
		{ KEY_EFFECTS, "effects" }, { KEY_SANDBOX, "sandbox" }, { KEY_WARNING, "warning" },
		{ NULL, NULL },
	};
	const struct span payload = event->payload;

	switch (what) {
	case CALL_TREE_RUN:
	case CALL_TREE_ATTEMPT:
		page_panel_add_figures(p, payload, run);
		add_member(p, event, KEY_INPUTS, "inputs");
		break;
	case CALL_TREE_CALL:
		page_panel_add_figures(p, payload, call);
		add_commands(p, span_member(payload, KEY_BLOCKS));
		add_member(p, event, KEY_INPUT, "input");
		break;
	case CALL_TREE_TURN:
		if (says_nothing(payload))
			break;
		add_heading(p, "prompt");
		add_folded(p, "system prompt", span_member(payload, KEY_SYSTEM_PROMPT));
		add_blocks(p, span_member(payload, KEY_BLOCKS));
		break;
	case CALL_TREE_TOOL:
		page_panel_add_figures(p, payload, tool);
		add_arguments(p, event);
		break;
	}
}

static void
add_end(struct page_panel *p, enum call_tree_kind what, const struct event_view *event)
{
	static const struct figure call[] = {
		{ KEY_EXIT_CODE, "exit status" }, { KEY_RETRIES, "retries" }, { KEY_SKIPPED, "skipped" },
		{ KEY_FAIL_FAST, "no further item was begun (--fail-fast)" },
		{ KEY_APPROVAL, "approval" }, { KEY_OUTCOME, "outcome" }, { KEY_REASON, "reason" },
		{ KEY_COMMIT, "commit" }, { NULL, NULL },
	}, turn[] = {
		{ KEY_MODEL, "model" }, { KEY_STOP_REASON, "stopped by" }, { NULL, NULL },
	};
	const struct span payload = event->payload;

	switch (what) {
	case CALL_TREE_RUN:
	case CALL_TREE_ATTEMPT:
		add_error(p, span_member(payload, KEY_ERROR));
		break;
	case CALL_TREE_TURN:
		add_heading(p, "answer");
		add_blocks(p, span_member(payload, KEY_BLOCKS));
		page_panel_add_figures(p, payload, turn);
		break;
	case CALL_TREE_CALL:
	case CALL_TREE_TOOL:
		add_error(p, span_member(payload, KEY_ERROR));
		add_member(p, event, what == CALL_TREE_TOOL ? KEY_OUTPUT : KEY_RESULT,
		    what == CALL_TREE_TOOL ? "output" : "result");
		add_stderr(p, event);
		add_changed(p, payload);
		page_panel_add_figures(p, payload, call);
		break;
	}
}

/* Adds the contents of a recorded line, with blobs put back unless they are large. */
static void
add_line(struct page_panel *p, enum call_tree_kind what, int64_t offset, uint32_t length,
    void (*add)(struct page_panel *p, enum call_tree_kind what, const struct event_view *event))
{
	struct error ignored = ERROR_INIT;
	struct buffer whole = BUFFER_INIT;
	struct event_view event, inlined;
	const char *bytes = NULL;
	int64_t in_blobs = 0;
	long long size;

	if (length > 0 && p->record->open)
		bytes = window_bytes(&p->record->reader.chunk, offset, offset + length);
	if (!bytes || event_view(bytes, length, &event) != 0)
		return;
	for (struct span_walk ref = span_walk(event.refs); !ref.object && span_next(&ref);)
		if (span_integer(span_member(ref.value, KEY_BYTES), &size) && size > 0)
			in_blobs += size > BLOBS_MOST ? BLOBS_MOST : size;
	if (in_blobs > 0 && in_blobs < BLOBS_MOST &&
	    blob_inline(p->record->blobs, bytes, length, &whole, &ignored) == 0 &&
	    event_view(whole.data, whole.len, &inlined) == 0)
		event = inlined;
	add(p, what, &event);
	buffer_free(&whole);
}

void
page_panel_begin(struct page_panel *p, const struct call_tree *tree, uint32_t entry)
{
	const struct call_tree_lines *lines = &tree->lines[entry];

	add_line(p, tree->entries[entry].what, lines->begin, lines->begin_length, add_begin);
}

void
page_panel_end(struct page_panel *p, const struct call_tree *tree, uint32_t entry)
{
	const struct call_tree_lines *lines = &tree->lines[entry];

	add_line(p, tree->entries[entry].what, lines->end, lines->end_length, add_end);
}
